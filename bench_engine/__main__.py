"""`python -m bench_engine`: see bench_engine.command.cli."""

import sys

if __name__ == "__main__":
    try:
        from bench_engine.command.cli import main

        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
