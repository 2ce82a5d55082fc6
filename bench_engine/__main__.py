"""`python -m bench_engine`: see bench_engine.command.cli."""

import sys


def main(arguments: list[str]) -> int:
    """Run a command. Those that need more than a kernel does say so where it is not installed."""
    if arguments == ["build"]:
        from bench_engine.command.build import build

        return build()
    from bench_engine.plugin import PluginError  # here, so that Ctrl-C meanwhile is no traceback

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
