"""Other data as a source: a process per location, of `other_data_child`, asked in turns, ended when it misbehaves."""

import tempfile
import threading
from dataclasses import asdict, replace
from typing import Any

from mirror.data.data_source import QueryStopped
from mirror.data.process.sql_process import NO_ROOM, ProcessSource, SqlProcess, error_of, with_password
from mirror.data.process.turns import Turn
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import ROW_CAP, TIME_LIMIT_S
from mirror.schema.database import Database
from mirror.table.table import Table, plain_table

MEMORY_MB = 2048  # the operating system's cap is at twice that
START_S = 120.0  # to read CSV files, or to count the values of a large database
GRACE_S = 3.0  # beyond the limit that the database keeps itself
MOST_PROCESSES = 4
_READINGS = 3  # of files that change meanwhile


class OtherDataSource(ProcessSource["_Child"]):
    """Other data at one location: what can be asked about, and what comes of asking. Safe to share between threads."""

    def __init__(self, location: Location) -> None:
        super().__init__()
        self.location = location
        self._stamp = ""
        self._database: Database | None = None

    def schema(self) -> Database:
        """The tables, as of now. Raises SourceError or QueryStopped."""
        with self._turn(threading.get_ident()) as turn:
            return self._described(turn)

    def _described(self, turn: Turn) -> Database:
        reply = self._ask({"what": "database", "have": self._stamp}, START_S, turn)
        if reply["database"] is not None:
            self._database = Database.from_dict(reply["database"])
            self._stamp = reply["stamp"]
        assert self._database
        return self._database

    def run(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> Table:
        """Check and run one SELECT. Raises GuardError, QueryError, QueryStopped or SourceError."""
        return self.counted(sql, row_cap, time_limit_s)[0]

    def counted(
        self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S, over: Database | None = None
    ) -> tuple[Table, int]:
        """The same, with how many numbers of the rows are none (NaN, infinity).

        With `over`, the database that the statement was made for, it runs only while the tables are those.
        """
        with self._turn(threading.get_ident()) as turn:
            now = self._described(turn)
            if over is not None and not now.has_tables_of(over):
                raise SourceError(f"The tables of {now.name} changed while this was answered: ask it again.")
            request = {"what": "query", "sql": sql, "row_cap": row_cap, "time_limit_s": time_limit_s}
            reply = self._ask(request, time_limit_s + GRACE_S, turn)
        rows = tuple(tuple(row) for row in reply["rows"])
        table = plain_table(reply["columns"], rows, reply["truncated"], reply["milliseconds"])
        return table, reply["not_finite"]

    def _ask(self, request: dict[str, Any], time_limit_s: float, turn: Turn) -> dict[str, Any]:
        child = self._current(turn)
        try:
            reply = child.ask(request, time_limit_s, turn)
        finally:
            if not child.healthy:
                self._end()
        if "error" in reply:
            raise error_of(reply, source=SourceError, stopped=QueryStopped)
        return reply

    def _current(self, turn: Turn) -> "_Child":
        version = self.location.version()
        for _ in range(_READINGS):
            if self._child is not None and self._child.alive and version == self._version:
                return self._child
            self._end()
            self._child, self._version = _Child(self.location, turn), version
            version = self.location.version()
            if self.location.kind != "files":  # which alone are read while the process starts
                return self._child
        self._end()
        raise SourceError(f"{self.location.name} changes while it is read: try again when it is written.")

    def _end(self) -> None:
        super()._end()
        self._stamp = ""


_shared: dict[Location, OtherDataSource] = {}
_shared_lock = threading.Lock()


def shared(location: Location) -> OtherDataSource:
    """The one process of a location; the one that was asked longest ago ends where there are too many."""
    with _shared_lock:
        data = _shared.pop(location, None) or OtherDataSource(location)
        _shared[location] = data
        old = [_shared.pop(next(iter(_shared))) for _ in range(len(_shared) - MOST_PROCESSES)]
    for data_of_old in old:
        data_of_old.close()
    return data


class _Child(SqlProcess):
    """The process. The database itself keeps the limits; what does not is ended."""

    crash = "Reading the data failed by a fault of its own: nothing is lost, ask in another way."
    takes_interrupts = False

    def __init__(self, location: Location, turn: Turn) -> None:
        try:
            scratch = tempfile.TemporaryDirectory(prefix="mirror-", ignore_cleanup_errors=True)
            super().__init__("mirror.data.process.other_data_child")
        except OSError as error:
            raise SourceError(f"The data cannot be read ({error.strerror}): {NO_ROOM}") from error
        self._scratch = scratch
        self._location = location = replace(location, url=with_password(location.url))
        given = {**asdict(location), "paths": [str(path) for path in location.paths]}
        try:
            reply = self.ask({"location": given, "memory_mb": MEMORY_MB, "scratch": self._scratch.name}, START_S, turn)
            if "error" in reply:
                raise error_of(reply, source=SourceError, stopped=QueryStopped)
        except BaseException:
            self.kill()
            raise

    def _late(self, time_limit_s: float) -> str:
        return f"The database did not answer within {time_limit_s:g} s: ask for less, by a filter or fewer joins."

    def kill(self) -> None:
        super().kill()
        self._scratch.cleanup()

    def _to_log(self, text: str) -> str:
        return self._location.without_password(text)
