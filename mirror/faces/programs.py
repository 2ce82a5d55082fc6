"""The programs that the command `mirror` becomes: the app, which Streamlit runs, and the engine's command line.

Each takes this process's place, so that Ctrl-C and the exit status are its own.
"""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NoReturn

from db import installation
from mirror.runs import building


def app(port: int | None) -> NoReturn:
    """The app, while the kernels compile if they are not built. Raises ModuleNotFoundError without Streamlit."""
    for package in ("streamlit", "sqlalchemy", "plotly"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    environment = building.start(_engine(["build"]), _environment())
    options = [] if port is None else ["--server.port", str(port)]
    _become([sys.executable, "-P", "-m", "streamlit", "run", str(installation.path("app.py")), *options], environment)


def engine(arguments: Sequence[str]) -> NoReturn:
    """The engine's command line."""
    _become(_engine(arguments), _environment())


def _engine(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "bench_engine", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": installation.python_path()}


def _become(command: list[str], environment: dict[str, str]) -> NoReturn:
    os.execve(command[0], command, environment)
