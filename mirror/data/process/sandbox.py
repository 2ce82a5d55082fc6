"""The sandbox: runs SQL in a process of its own that holds a locked snapshot and is replaced when it misbehaves."""

import contextlib
import itertools
import json
import logging
import os
import queue
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.schema import EXPOSED
from db.settings import db_url
from db.store import Store, StoreBusyError, StoreError
from mirror.data.guard.duckdb import GuardError, check_text
from mirror.data.process.sql_process import OUT_OF_MEMORY, SqlProcess
from mirror.schema.profile import Profile
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

INTERRUPT_S = 0.5
_TICK_S = 0.05  # between two looks at a query that runs

# The view that holds many rows of each trial, and that few questions read: it is loaded for the first that does.
_LARGE = "samples"
_USUAL = tuple(view for view in EXPOSED if view != _LARGE)
_NAMES_LARGE = re.compile(rf"\b{_LARGE}\b", re.IGNORECASE)
_CRASH = "The query crashed the database engine: nothing is lost, write it in another way."

_log = logging.getLogger(__name__)


class QueryError(ValueError):
    """The SQL is wrong; the message is a sentence, with DuckDB's own hints."""


class UnreadableError(QueryError):
    """The text cannot even be parsed: perhaps it is no SQL at all."""


class QueryStopped(RuntimeError):
    """The query did not end by itself: time limit, memory, or a crash. The message is a sentence."""


class QueryCancelled(QueryStopped):
    """Somebody stopped the query: see Sandbox.cancel."""

    def __init__(self) -> None:
        super().__init__("The query was cancelled.")


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
    load_s: float = 300.0


@dataclass(eq=False)
class _Turn:
    """One call that needs the process. `thread` is the caller's, None for what nobody may cancel."""

    thread: int | None
    cancelled: bool = False


class Sandbox:
    """One warm process with a snapshot of the results at a SQLAlchemy URL. Safe to share between threads.

    Queries take turns, in the order in which they come. When the results have changed, the next query starts a process
    with a new snapshot.
    """

    def __init__(self, url: str | None = None, limits: Limits = Limits()) -> None:
        self._store = Store(url)
        self._limits = limits
        self._turns: list[_Turn] = []  # the first one has the process
        self._changed = threading.Condition()
        self._child: _Child | None = None
        self._version = ""

    def run(self, sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        """Check and run one SELECT; at most `row_cap` rows come back.

        Raises GuardError (may not run), QueryError (wrong SQL), QueryStopped (limit, crash), QueryCancelled, or
        StoreError (no results to read).
        """
        check_text(sql)
        request = {"sql": sql, "row_cap": row_cap}
        with self._turn(threading.get_ident()) as turn:
            try:
                # Where a process must be started anyway, it may as well load what the text seems to read.
                views = EXPOSED if _NAMES_LARGE.search(sql) else _USUAL
                reply = self._current(turn, views).ask(request, time_limit_s, turn)
                if reply.get("error") == "unloaded":
                    reply = self._current(turn, EXPOSED, needed=EXPOSED).ask(request, time_limit_s, turn)
                return _table(reply)
            finally:
                if self._child and not self._child.healthy:
                    self._end()

    def cancel(self, thread: int | None = None) -> None:
        """Stop the query that runs now, if any: it raises QueryCancelled. To be called from another thread.

        Never stops a later query, however often it is called. What does not stop by itself within INTERRUPT_S is ended
        with its process.

        Args:
            thread: stop only what this thread (`threading.get_ident()`) asked, also where it still waits for its turn:
                a sandbox may be shared between people.
        """
        with self._changed:
            for turn in self._turns:
                chosen = turn is self._turns[0] if thread is None else turn.thread == thread
                if chosen and turn.thread is not None:
                    turn.cancelled = True
            self._changed.notify_all()

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the results."""
        return self._store.url

    def profile(self) -> Profile:
        """What the results hold now. Raises StoreError, or QueryCancelled."""
        with self._turn(threading.get_ident()) as turn:
            return self._current(turn, _USUAL).profile

    def version(self) -> str:
        """A text that changes whenever the results may have changed; cheap. Raises StoreError."""
        return self._store.version()

    def close(self) -> None:
        """End the process once its query is done; a later query starts a new one."""
        with self._turn(None):
            self._end()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _turn(self, thread: int | None) -> Iterator[_Turn]:
        """Wait until the process is free, and have it for the context. Raises QueryCancelled."""
        turn = _Turn(thread)
        with self._changed:
            self._turns.append(turn)
        try:
            with self._changed:
                self._changed.wait_for(lambda: turn.cancelled or self._turns[0] is turn)
                if turn.cancelled:
                    raise QueryCancelled
            yield turn
        finally:
            with self._changed:
                self._turns.remove(turn)
                self._changed.notify_all()

    def _current(self, turn: _Turn, views: Sequence[str], needed: Sequence[str] = ()) -> "_Child":
        """The process; one that has to be started loads `views`, and one that lacks any of `needed` is replaced."""
        version = self._store.version()  # before the load: a change meanwhile is then seen by the next query
        child = self._child
        if child is None or not child.alive or version != self._version or not set(needed) <= set(child.views):
            self._end()
            self._child = child = _Child(self._store.url, tuple(views), self._limits, turn)
            self._version = version
        return child

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


class _Child(SqlProcess):
    """The other process, with a snapshot of `views`."""

    def __init__(self, url: str, views: tuple[str, ...], limits: Limits, turn: _Turn) -> None:
        super().__init__("mirror.data.process.sandbox_child")
        self.views = views
        self._most_mb = self._spare_mb = float("inf")  # while it loads
        self._ids = itertools.count()
        try:
            hello = {"url": url, "views": views, "threads": limits.threads, "memory_mb": limits.memory_mb}
            reply = self.ask(hello, limits.load_s, turn)
            if "error" in reply:
                raise _error(reply)
        except QueryStopped as error:
            self.kill()
            if isinstance(error, QueryCancelled):
                raise
            raise StoreError(
                "The results could not be loaded for queries: the log says why; try again, or a smaller results file."
            ) from error
        except BaseException:
            self.kill()
            raise
        self._spare_mb = 2 * limits.memory_mb
        self.profile = Profile.from_dict(reply["profile"])

    def ask(self, request: dict[str, Any], time_limit_s: float, turn: _Turn) -> dict[str, Any]:
        """Send a request and wait for the reply. Raises QueryStopped or QueryCancelled."""
        number = next(self._ids)
        self.healthy = False  # until a reply is in: whatever is raised meanwhile leaves a process in an unknown state
        # What a load, or a query, has freed is given back to the system only later.
        self._most_mb = min(self._most_mb, self._resident_mb() + self._spare_mb)
        self._send({"id": number, **request})
        reply = self._wait(number, time_limit_s, turn)
        self.healthy = reply.get("error") not in ("memory", "crash")
        return reply

    def _wait(self, number: int, time_limit_s: float, turn: _Turn) -> dict[str, Any]:
        """The reply; one that says "stopped" is told why. A result that was quicker than what should stop it counts."""
        stop: QueryStopped | None = None
        deadline = time.monotonic() + time_limit_s
        while True:
            with contextlib.suppress(queue.Empty):
                line = self._replies.get(timeout=max(0.0, min(_TICK_S, deadline - time.monotonic())))
                if line is None:
                    raise stop or QueryStopped(self._ended_because(_CRASH))
                reply: dict[str, Any] = json.loads(line)
                if reply.get("error") == "stopped" and stop:
                    self.healthy = True
                    raise stop
                return reply
            late = time.monotonic() >= deadline
            if (stop and late) or self._resident_mb() > self._most_mb:
                raise stop or QueryStopped(OUT_OF_MEMORY)
            if not stop and (turn.cancelled or late):
                stop = QueryCancelled() if turn.cancelled else QueryStopped(_late_sentence(time_limit_s))
                deadline = time.monotonic() + INTERRUPT_S
            if stop:  # at every tick: between two statements of a query an interrupt finds nothing to stop
                self._send({"interrupt": number})

    def _resident_mb(self) -> float:
        """Memory that the process holds / 1e6 bytes; 0 where the system does not tell.

        The system's own cap counts addresses, of which a process that has loaded much keeps many that it can fill.
        """
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return 0.0


def _late_sentence(time_limit_s: float) -> str:
    return f"The query was stopped after {time_limit_s:g} s: ask for less, by a filter or fewer joined rows."


def _table(reply: dict[str, Any]) -> Table:
    if "error" in reply:
        raise _error(reply)
    return result_table(reply["columns"], [tuple(r) for r in reply["rows"]], reply["truncated"], reply["milliseconds"])


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
        return QueryStopped(OUT_OF_MEMORY)
    _log.warning("DuckDB failed inside: %s", message)
    return QueryStopped("DuckDB failed on this query by a fault of its own: write it in another way.")
