"""`python -m bench_engine`: see bench_engine.command.cli."""

import sys

from bench_engine.plugin import PluginError


def main(arguments: list[str]) -> int:
    """Run a command. Those that need more than a kernel does say so where it is not installed."""
    if arguments == ["build"]:
        from bench_engine.command.build import build

        return build()
    try:
        from bench_engine.command.cli import main as command_line
    except ModuleNotFoundError as error:
        from db import installation

        print(installation.missing(error, "python -m bench_engine", "bench"), file=sys.stderr)
        return 1
    except PluginError as error:
        print(error, file=sys.stderr)
        return 1
    return command_line(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
