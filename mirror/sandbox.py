"""The sandbox: runs SQL in a process of its own that holds a locked snapshot and is replaced when it misbehaves."""

import contextlib
import itertools
import json
import logging
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from typing import IO, Any

from db.settings import ROOT, db_url
from db.store import Store, StoreBusyError, StoreError
from mirror.guard import GuardError
from mirror.profile import Profile
from mirror.query_spec import Table

INTERRUPT_S = 0.5

_log = logging.getLogger(__name__)


class QueryError(ValueError):
    """The SQL is wrong; the message is a sentence, with DuckDB's own hints."""


class UnreadableError(QueryError):
    """The text cannot even be parsed: perhaps it is no SQL at all."""


class QueryStopped(RuntimeError):
    """The query did not end by itself: time limit, memory, or a crash. The message is a sentence."""


@dataclass(frozen=True)
class Limits:
    """What the process may use.

    Attributes:
        memory_mb: memory of a query beside the snapshot, in units of 1e6 bytes; the operating system's cap is at twice.
        threads: threads of a query.
        load_s: time to read the results, in seconds.
    """

    memory_mb: int = 512
    threads: int = 2
    load_s: float = 120.0


class Sandbox:
    """One warm process with a snapshot of the results at a SQLAlchemy URL. Safe to share between threads.

    Queries take turns. When the results have changed, the next query starts a process with a new snapshot.
    """

    def __init__(self, url: str | None = None, limits: Limits = Limits()) -> None:
        self._store = Store(url)
        self._limits = limits
        self._turn = threading.Lock()
        self._child: _Child | None = None
        self._version = ""

    def run(self, sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        """Check and run one SELECT; at most `row_cap` rows come back.

        Raises GuardError (may not run), QueryError (wrong SQL), QueryStopped (limit, crash) or StoreError (no results
        to read).
        """
        with self._turn:
            child = self._current()
            try:
                reply = child.ask({"sql": sql, "row_cap": row_cap}, time_limit_s)
                return _table(reply)
            finally:
                if not child.healthy:
                    self._end()

    def profile(self) -> Profile:
        """What the results hold now. Raises StoreError."""
        with self._turn:
            return self._current().profile

    def version(self) -> str:
        """A text that changes whenever the results may have changed; cheap. Raises StoreError."""
        return self._store.version()

    def close(self) -> None:
        """End the process once its query is done; a later query starts a new one."""
        with self._turn:
            self._end()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _current(self) -> "_Child":
        version = self._store.version()  # before the load: a change meanwhile is then seen by the next query
        if self._child is None or not self._child.alive or version != self._version:
            self._end()
            self._child = _Child(self._store.url, self._limits)
            self._version = version
        return self._child

    def _end(self) -> None:
        if self._child:
            self._child.kill()
        self._child = None


_shared: dict[str, Sandbox] = {}
_shared_lock = threading.Lock()


def shared(url: str | None = None) -> Sandbox:
    """The one sandbox of this process for a URL."""
    with _shared_lock:
        return _shared.setdefault(db_url(url), Sandbox(url))


class _Child:
    """The other process. `healthy` is False once it must not be asked again."""

    def __init__(self, url: str, limits: Limits) -> None:
        self.healthy = True
        self._ids = itertools.count()
        self._replies: queue.Queue[bytes | None] = queue.Queue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by the finalizer)
        self._process = subprocess.Popen(
            # -P: a file of the working directory must not stand in for a module.
            [sys.executable, "-P", "-m", "mirror.sandbox_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in a terminal is the parent's to handle
        )
        self._finalizer = weakref.finalize(self, _end_process, self._process, self._errors)
        assert self._process.stdout
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._replies), daemon=True).start()
        try:
            hello = {"url": url, "threads": limits.threads, "memory_mb": limits.memory_mb}
            reply = self.ask(hello, limits.load_s)
            if "error" in reply:
                raise _error(reply)
        except QueryStopped as error:
            self.kill()
            raise StoreError(
                "The results could not be loaded for queries: the log says why; try again, or a smaller results file."
            ) from error
        except BaseException:
            self.kill()
            raise
        self.profile = Profile.from_dict(reply["profile"])

    @property
    def alive(self) -> bool:
        return self.healthy and self._process.poll() is None

    def ask(self, request: dict[str, Any], time_limit_s: float) -> dict[str, Any]:
        """Send a request and wait for the reply. Raises QueryStopped."""
        number = next(self._ids)
        self.healthy = False  # until a reply is in: whatever is raised meanwhile leaves a process in an unknown state
        self._send({"id": number, **request})
        reply = self._wait(number, time_limit_s)
        self.healthy = reply.get("error") not in ("memory", "crash")
        return reply

    def _wait(self, number: int, time_limit_s: float) -> dict[str, Any]:
        reason = ""
        deadline = time.monotonic() + time_limit_s
        while True:
            try:
                line = self._replies.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                if reason:
                    raise QueryStopped(reason) from None
                reason = (
                    f"The query was stopped after {time_limit_s:g} s: ask for less, by a filter or fewer joined rows."
                )
            else:
                if line is None:
                    raise QueryStopped(reason or self._crash_sentence())
                return _finished(json.loads(line), reason)
            self._send({"interrupt": number})
            deadline = time.monotonic() + INTERRUPT_S

    def kill(self) -> None:
        self._finalizer()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):  # it has died: the end of its replies says so, with the reason
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _crash_sentence(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read(100_000).decode(errors="replace")
        _log.warning("The SQL process ended with status %d: %s", code, text)
        if "bad_alloc" in text or "MemoryError" in text or "allocate" in text:
            return _MEMORY
        return "The query crashed the database engine: nothing is lost, write it in another way."


_MEMORY = "The query needed more memory than it may use: ask for fewer rows or shorter text."


def _finished(reply: dict[str, Any], reason: str) -> dict[str, Any]:
    """A reply, `reason` being why the query was told to stop, if it was; a result that was quicker counts."""
    if reply.get("error") == "stopped":
        return {"error": "stopped", "message": reason}
    return reply


def _table(reply: dict[str, Any]) -> Table:
    if "error" in reply:
        raise _error(reply)
    return Table(
        tuple(reply["columns"]), tuple(tuple(r) for r in reply["rows"]), reply["truncated"], reply["milliseconds"]
    )


def _error(reply: dict[str, Any]) -> Exception:
    kind, message = reply["error"], reply["message"]
    if kind == "guard":
        return GuardError(message)
    if kind == "query":
        return QueryError(message)
    if kind == "unreadable":
        return UnreadableError(message)
    if kind == "StoreBusyError":
        return StoreBusyError(message)
    if kind in ("StoreError", "NewerDatabaseError"):
        return StoreError(message)
    if kind == "memory":
        return QueryStopped(_MEMORY)
    if kind == "stopped":
        return QueryStopped(message)
    _log.warning("DuckDB failed inside: %s", message)
    return QueryStopped("DuckDB failed on this query by a fault of its own: write it in another way.")


def _environment() -> dict[str, str]:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    # Fewer reserved but unused addresses: the cap on the process counts them.
    return {**os.environ, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def _read_lines(pipe: IO[bytes], lines: "queue.Queue[bytes | None]") -> None:
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _end_process(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    errors.close()
