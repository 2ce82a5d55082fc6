"""What sources whose SQL runs in a process have in common: turns, a process's start, requests and replies, its end."""

import contextlib
import itertools
import json
import logging
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from db.installation import python_path
from mirror.data.data_source import OUT_OF_MEMORY, QueryCancelled, QueryError, QueryStopped, UnreadableError
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.turns import RoundRobin, Turn

INTERRUPT_S = 0.5
_TICK_S = 0.05  # between two looks at a query that runs

# What such a process needs of the environment: to start, to reach a database server, and to tell the time. No setting
# of this process and no key is there to be found: `with_password` hands one on.
_ENVIRONMENT = re.compile(
    "PATH|HOME|USERPROFILE|SYSTEMROOT|TZ|TMPDIR|TEMP|TMP|LANG|VIRTUAL_ENV|(LC_|LD_|DYLD_|KRB5|SSL_).*|"
    "PG(?!PASSWORD).*|"
    "PYTHON(PATH|HOME|UTF8|IOENCODING|HASHSEED|WARNINGS|UNBUFFERED|DONTWRITEBYTECODE|PYCACHEPREFIX|NOUSERSITE)"
)

_log = logging.getLogger(__name__)


# -- turns -------------------------------------------------------------------------------------------------------------


Process = TypeVar("Process", bound="SqlProcess")


class SomebodyElsesTurnError(Exception):
    """Another person's call has the process, and kept it for longer than a caller was willing to wait."""


class ProcessSource(Generic[Process]):
    """A source whose statements run in one process, one after the other; people take turns. Safe to share between
    threads."""

    def __init__(self) -> None:
        self._order = RoundRobin()
        self._changed = threading.Condition()
        self._child: Process | None = None
        self._version = ""

    def cancel(self, thread: int | None = None) -> None:
        """Stop the query that runs now, if any: it raises QueryCancelled. To be called from another thread.

        Never stops a later query, however often it is called. What does not stop by itself within INTERRUPT_S is ended
        with its process.

        Args:
            thread: stop only what this thread (`threading.get_ident()`) asked, also where it still waits for its turn:
                a source may be shared between people.
        """
        with self._changed:
            for turn in self._order.turns:
                chosen = turn is self._order.running if thread is None else turn.thread == thread
                if chosen and turn.thread is not None:
                    turn.cancelled = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the process once its query is done; a later query starts a new one."""
        with self._turn(None):
            self._end()

    @contextlib.contextmanager
    def _turn(self, thread: int | None, patience_s: float | None = None) -> Iterator[Turn]:
        """Wait until the process is free, and have it for the context. Raises QueryCancelled.

        Raises SomebodyElsesTurnError where another person still has it after `patience_s` seconds.
        """
        turn = Turn(thread)
        with self._changed:
            self._order.turns.append(turn)
            self._changed.notify_all()
        try:
            with self._changed:
                mine = self._changed.wait_for(lambda: turn.cancelled or self._order.is_next(turn), patience_s)
                running = self._order.running
                if not mine and running and running.whose != turn.whose:
                    raise SomebodyElsesTurnError
                self._changed.wait_for(lambda: turn.cancelled or self._order.is_next(turn))
                if turn.cancelled:
                    raise QueryCancelled
                self._order.begin(turn)
            yield turn
        finally:
            with self._changed:
                self._order.end(turn)
                self._changed.notify_all()

    def _end(self) -> None:
        if self._child:
            self._child.kill()
        self._child = None


# -- processes ---------------------------------------------------------------------------------------------------------


NO_ROOM = "make room in the folder for temporary files, or in memory, and ask again."


class SqlProcess:
    """A module that runs as a process of its own: it takes an object of JSON per line and answers each with another.

    It ends with `kill`, or when nobody holds this object any more. `healthy` is False once it must not be asked again.
    """

    crash = "The query crashed the database engine: nothing is lost, write it in another way."
    takes_interrupts = True  # else what is to stop is ended with the process

    def __init__(self, module: str) -> None:
        self.healthy = True
        self._most_mb = self._spare_mb = float("inf")  # that it may hold in all, and beyond what it holds when asked
        self._ids = itertools.count()
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

    def ask(self, request: dict[str, Any], time_limit_s: float, turn: Turn) -> dict[str, Any]:
        """Send a request and wait for the reply. Raises QueryStopped or QueryCancelled."""
        number = next(self._ids)
        self.healthy = False  # until a reply is in: whatever is raised meanwhile leaves a process in an unknown state
        # What a load, or a query, has freed is given back to the system only later.
        self._most_mb = min(self._most_mb, self._resident_mb() + self._spare_mb)
        self._send({"id": number, **request})
        reply = self._wait(number, time_limit_s, turn)
        self.healthy = reply.get("error") not in ("memory", "crash")
        return reply

    def _wait(self, number: int, time_limit_s: float, turn: Turn) -> dict[str, Any]:
        """The reply; one that says "stopped" is told why. A result that was quicker than what should stop it counts."""
        stop: QueryStopped | None = None
        deadline = time.monotonic() + time_limit_s
        while True:
            with contextlib.suppress(queue.Empty):
                line = self._replies.get(timeout=max(0.0, min(_TICK_S, deadline - time.monotonic())))
                if line is None:
                    raise stop or QueryStopped(self._ended_because(self.crash))
                reply: dict[str, Any] = json.loads(line)
                if reply.get("error") == "stopped" and stop:
                    self.healthy = True
                    raise stop
                return reply
            late = time.monotonic() >= deadline
            if (stop and late) or self._resident_mb() > self._most_mb:
                raise stop or QueryStopped(OUT_OF_MEMORY)
            if not stop and (turn.cancelled or late):
                stop = QueryCancelled() if turn.cancelled else QueryStopped(self._late(time_limit_s))
                if not self.takes_interrupts:
                    raise stop
                deadline = time.monotonic() + INTERRUPT_S
            if stop:  # at every tick: between two statements of a query an interrupt finds nothing to stop
                self._send({"interrupt": number})

    def _late(self, time_limit_s: float) -> str:
        return f"The query was stopped after {time_limit_s:g} s: ask for less, by a filter or fewer joined rows."

    def _resident_mb(self) -> float:
        """Memory that the process holds / 1e6 bytes; 0 where the system does not tell.

        The system's own cap counts addresses, of which a process that has loaded much keeps many that it can fill.
        """
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return 0.0

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self.healthy and self._process.poll() is None

    def kill(self) -> None:
        """End the process, whatever it does."""
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


def error_of(reply: dict[str, Any], **others: type[Exception]) -> Exception:
    """The exception that a reply tells of; `others` are the kinds that only some processes know."""
    kind, message = reply["error"], reply["message"]
    if kind == "memory":
        return QueryStopped(OUT_OF_MEMORY)
    known: dict[str, type[Exception]] = {
        "guard": GuardError,
        "unreadable": UnreadableError,
        "query": QueryError,
        **others,
    }
    if kind in known:
        return known[kind](message)
    _log.warning("DuckDB failed inside: %s", message)
    return QueryStopped("DuckDB failed on this query by a fault of its own: write it in another way.")


def with_password(url: str) -> str:
    """The URL of a PostgreSQL server with the password of PGPASSWORD where it has none of its own.

    What a process is told goes through its pipe alone; its environment and its arguments can be read by others.
    """
    password = os.environ.get("PGPASSWORD")
    if not password or not url.startswith(("postgresql", "postgres")):
        return url
    import sqlalchemy as sa  # takes longer to load than most questions take, and files need none of it

    with contextlib.suppress(sa.exc.ArgumentError, ValueError):  # whoever connects says what is wrong with it
        parts = sa.make_url(url)
        if parts.password is None and "password" not in parts.query:
            return parts.update_query_dict({"password": password}).render_as_string(hide_password=False)
    return url


def _environment() -> dict[str, str]:
    needed = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name.upper())}
    # Fewer reserved but unused addresses: the cap on the process counts them.
    return {**needed, "PYTHONPATH": python_path(), "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}


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
