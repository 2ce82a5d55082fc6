"""The kernels that compile beside the app: whether they still do, and why not where that failed.

`mirror app` starts the compiler and then becomes the app, which is thus its parent: an environment variable tells it
which process that is, since a variable is all that outlives the change.
"""

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = "_MIRROR_BUILD"  # process:start:log
_NICE = 10  # the page comes first
_LOG_BYTES = 20_000
_waiting = threading.Lock()
_ended: dict[int, int] = {}  # process -> exit status, which the system tells once


@dataclass(frozen=True)
class Building:
    """How the compiler stands.

    Attributes:
        going: whether it is at work.
        seconds: for how long.
        failed: the sentence that says why not; empty where it did not fail, and where nothing was started.
    """

    going: bool = False
    seconds: float = 0.0
    failed: str = ""


def start(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Start the compiler; returns the environment that tells the program in this one's place about it."""
    handle, log = tempfile.mkstemp(prefix="mirror-build-", suffix=".log")
    with os.fdopen(handle, "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=dict(environment),
            preexec_fn=lambda: os.nice(_NICE),
        )  # fmt: skip
    return {**environment, _VARIABLE: f"{process.pid}:{time.time():.0f}:{log}"}


def state() -> Building:
    """How the compiler stands that was started before this program. Quick."""
    told = os.environ.get(_VARIABLE, "").split(":", 2)
    if len(told) != 3 or not told[0].isdigit():
        return Building()
    process, began, log = int(told[0]), float(told[1]), told[2]
    status = _status(process)
    if status is None:
        return Building(going=True, seconds=max(0.0, time.time() - began))
    return Building(failed=_last_line(Path(log)) if status else "")


def _status(process: int) -> int | None:
    """The exit status of a child, None while it runs; 0 for one that nobody knows any more."""
    with _waiting:
        if process not in _ended:
            try:
                found, status = os.waitpid(process, os.WNOHANG)
            except ChildProcessError:
                found, status = process, 0
            if not found:
                return None
            _ended[process] = os.waitstatus_to_exitcode(status)
        return _ended[process]


def _last_line(log: Path) -> str:
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = log.read_bytes()[-_LOG_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "The compiler ended without a word."
