"""What the processes that run SQL have in common: their start, replies as lines, their end, and column names."""

import contextlib
import json
import logging
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable
from typing import IO, Any

from db.settings import ROOT

OUT_OF_MEMORY = "The query needed more memory than it may use: ask for fewer rows or shorter text."

# What such a process needs of the environment: to start, to reach a database server, to tell the time, and the words of
# the catalogue. No other setting of this process and no key is there to be found.
_ENVIRONMENT = re.compile(
    "PATH|HOME|USERPROFILE|SYSTEMROOT|TZ|TMPDIR|TEMP|TMP|LANG|VIRTUAL_ENV|MIRROR_CATALOG|"
    "(LC_|LD_|DYLD_|KRB5|SSL_|PG|PYTHON).*"
)

_log = logging.getLogger(__name__)


class SqlProcess:
    """A module that runs as a process of its own: it takes an object of JSON per line and answers each with another.

    It ends with `kill`, or when nobody holds this object any more. `healthy` is False once it must not be asked again.
    """

    def __init__(self, module: str) -> None:
        self.healthy = True
        self._module = module
        self._replies: queue.Queue[bytes | None] = queue.Queue()  # None: there will be no more
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by the finalizer)
        self._process = subprocess.Popen(
            # -P: a file of the working directory must not stand in for a module.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in a terminal is the parent's to handle
        )
        self._finalizer = weakref.finalize(self, _end, self._process, self._errors)
        assert self._process.stdout
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._replies), daemon=True).start()

    @property
    def alive(self) -> bool:
        return self.healthy and self._process.poll() is None

    def kill(self) -> None:
        self._finalizer()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):  # it has died: the end of its replies says so, with the reason
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _ended_because(self, otherwise: str) -> str:
        """Why there are no more replies, as a sentence: memory, or `otherwise`. What the process wrote is logged."""
        code = self._process.wait()
        self._errors.seek(0)
        text = self._to_log(self._errors.read(100_000).decode(errors="replace"))
        _log.warning("%s ended with status %d: %s", self._module, code, text)
        return OUT_OF_MEMORY if re.search("bad_alloc|MemoryError|allocate", text) else otherwise

    def _to_log(self, text: str) -> str:
        """The text without what no log may hold."""
        return text


def _environment() -> dict[str, str]:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    needed = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name.upper())}
    # Fewer reserved but unused addresses: the cap on the process counts them.
    return {**needed, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def _read_lines(pipe: IO[bytes], lines: "queue.Queue[bytes | None]") -> None:
    """Put each line of a pipe into the queue, and None at its end. Closes the pipe."""
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _end(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
    """Kill the process, and close what it was asked and has complained through."""
    process.kill()
    process.wait()
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    errors.close()


def unique_names(names: Iterable[str]) -> list[str]:
    """`a, a` becomes `a, a_2`: a chart must be able to name a column."""
    taken: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free] = None
    return list(taken)
