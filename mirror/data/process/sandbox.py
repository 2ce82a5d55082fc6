"""The sandbox: runs SQL in a process of its own that holds a locked snapshot and is replaced when it misbehaves."""

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from db.journal import bring_timings
from db.schema import EXPOSED
from db.settings import SettingsError, db_url
from db.store import Store, StoreBusyError, StoreError
from mirror.data.data_source import QueryCancelled, QueryStopped
from mirror.data.guard.guard_errors import check_text
from mirror.data.process.sql_process import (
    NO_ROOM,
    ProcessSource,
    SomebodyElsesTurnError,
    SqlProcess,
    error_of,
    with_password,
)
from mirror.data.process.turns import Turn
from mirror.schema import catalog, own_metrics
from mirror.schema.profile import Profile
from mirror.schema.result_columns import result_table
from mirror.table.table import Table
from mirror.table.values import Value

# The views that hold many rows of each trial, and that few questions read: each is loaded for the first that does.
_LARGE = ("samples", "curves")
PATIENCE_S = 0.5  # before a second process is asked while somebody else's query has the first
RELIEF_S = 60.0  # that the second one is kept after its last query
_USUAL = tuple(view for view in EXPOSED if view not in _LARGE)


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


class Sandbox(ProcessSource["_Child"]):
    """One warm process with a snapshot of the results at a SQLAlchemy URL. Safe to share between threads.

    People take turns, each with their queries in the order in which they come. When the results have changed, the next
    query starts a process with a new snapshot. One that is `relieved` has a second process for those who wait behind a
    long query of somebody else. One that `keeps` the results as they are does not bring raw timings into them.
    """

    def __init__(
        self, url: str | None = None, limits: Limits = Limits(), relieved: bool = False, keeps: bool = False
    ) -> None:
        super().__init__()
        self._store = Store(url)
        self._limits = limits
        self._patience_s = PATIENCE_S if relieved else None
        self._keeps = keeps
        self._relieving = threading.Lock()
        self._relief: Sandbox | None = None
        self._relief_ends: threading.Timer | None = None

    def run(self, sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        """Check and run one SELECT; at most `row_cap` rows come back.

        Raises GuardError (may not run), QueryError (wrong SQL), QueryStopped (limit, crash), QueryCancelled, or
        StoreError (no results to read).
        """
        check_text(sql)
        try:
            return self._run(sql, row_cap, time_limit_s)
        except SomebodyElsesTurnError:
            with self._relieved() as relief:
                return relief.run(sql, row_cap, time_limit_s)

    def _run(self, sql: str, row_cap: int, time_limit_s: float) -> Table:
        request = {"sql": sql, "row_cap": row_cap}
        with self._turn(threading.get_ident(), self._patience_s) as turn:
            try:
                # Where a process must be started anyway, it may as well load what the text seems to read.
                views = _read_by(sql)
                reply = self._current(turn, views).ask(request, time_limit_s, turn)
                if reply.get("error") == "unloaded":
                    there = self._child.views if self._child else ()  # what it has is read again by the next
                    views = tuple(view for view in EXPOSED if view in (*views, *there))
                    reply = self._current(turn, views, needed=views).ask(request, time_limit_s, turn)
                return _table(reply)
            finally:
                if self._child and not self._child.healthy:
                    self._end()

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the results."""
        return self._store.url

    def schema(self) -> Profile:
        """What the results hold now. Raises StoreError, or QueryCancelled."""
        try:
            with self._turn(threading.get_ident(), self._patience_s) as turn:
                profile = self._current(turn, _USUAL).profile
                own_metrics.know(profile.own_metrics)
                return profile
        except SomebodyElsesTurnError:
            with self._relieved() as relief:
                return relief.schema()

    def version(self) -> str:
        """A text that changes whenever the results may have changed; cheap. Raises StoreError."""
        return self._store.version()

    def cancel(self, thread: int | None = None) -> None:
        """As ProcessSource.cancel, wherever the query runs."""
        super().cancel(thread)
        if relief := self._relief:
            relief.cancel(thread)

    def close(self) -> None:
        """End the processes once their queries are done; a later query starts a new one."""
        super().close()
        self._end_relief()

    @contextlib.contextmanager
    def _relieved(self) -> Iterator["Sandbox"]:
        """The second process, which ends when nobody has needed it for a while: it holds the results once more."""
        with self._relieving:
            if self._relief_ends:
                self._relief_ends.cancel()
            self._relief = self._relief or Sandbox(self._store.url, self._limits, keeps=self._keeps)
            relief = self._relief
        try:
            yield relief
        finally:
            with self._relieving:
                if self._relief_ends:
                    self._relief_ends.cancel()
                self._relief_ends = threading.Timer(RELIEF_S, self._end_relief)
                self._relief_ends.daemon = True
                self._relief_ends.start()

    def _end_relief(self) -> None:
        with self._relieving:
            relief, self._relief = self._relief, None
            if self._relief_ends:
                self._relief_ends.cancel()
        if relief:
            relief.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _current(self, turn: Turn, views: Sequence[str], needed: Sequence[str] = ()) -> "_Child":
        """The process; one that has to be started loads `views`, and one that lacks any of `needed` is replaced."""
        if "samples" in views and (self._child is None or "samples" not in self._child.views):
            with contextlib.suppress(StoreError):  # somebody writes: what is there is shown
                if not self._keeps:
                    bring_timings(self._store)
        version = self._store.version()  # before the load: a change meanwhile is then seen by the next query
        child = self._child
        if child is None or not child.alive or version != self._version or not set(needed) <= set(child.views):
            self._end()
            self._child = child = _Child(self._store.url, tuple(views), self._limits, turn)
            self._version = version
        return child


def _read_by(sql: str) -> tuple[str, ...]:
    """The views that a text seems to read, and all that are small."""
    return tuple(v for v in EXPOSED if v not in _LARGE or re.search(rf"\b{v}\b", sql, re.IGNORECASE))


_shared: dict[tuple[str, bool], Sandbox] = {}
_shared_lock = threading.Lock()


def shared(url: str | None = None, keeps: bool = False) -> Sandbox:
    """The one sandbox of this process for a URL; `keeps` is that of Sandbox."""
    with _shared_lock:
        return _shared.setdefault((db_url(url), keeps), Sandbox(url, relieved=True, keeps=keeps))


class _Child(SqlProcess):
    """The other process, with a snapshot of `views`."""

    def __init__(self, url: str, views: tuple[str, ...], limits: Limits, turn: Turn) -> None:
        hello = {
            "url": with_password(url),
            "views": views,
            "usual": _usual_values(),
            "threads": limits.threads,
            "memory_mb": limits.memory_mb,
        }
        try:
            super().__init__("mirror.data.process.sandbox_child")
        except OSError as error:
            raise StoreError(f"The results cannot be read ({error.strerror}): {NO_ROOM}") from error
        self.views = views
        try:
            reply = self.ask(hello, limits.load_s, turn)
            if "error" in reply:
                raise _error_of(reply)
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
        own_metrics.know(self.profile.own_metrics)


def _usual_values() -> dict[str, Value]:
    """The catalogue's, which the process need not read too. Raises StoreError."""
    try:
        return dict(catalog.words()["defaults"])
    except SettingsError as error:
        raise StoreError(str(error)) from error


def _table(reply: dict[str, Any]) -> Table:
    if "error" in reply:
        raise _error_of(reply)
    return result_table(reply["columns"], [tuple(r) for r in reply["rows"]], reply["truncated"], reply["milliseconds"])


def _error_of(reply: dict[str, Any]) -> Exception:
    return error_of(reply, StoreBusyError=StoreBusyError, StoreError=StoreError, NewerDatabaseError=StoreError)
