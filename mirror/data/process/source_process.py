"""The other side of the module `source_child`: one process per source, asked in turns, ended when it misbehaves."""

import json
import queue
import threading
from typing import Any

from mirror.data.guard.duckdb import GuardError
from mirror.data.process.sandbox import QueryError, QueryStopped, UnreadableError
from mirror.data.process.sql_process import OUT_OF_MEMORY, SqlProcess
from mirror.data.sources.location import Source, SourceError
from mirror.data.sources.reader import ROW_CAP, TIME_LIMIT_S
from mirror.schema.database import Database
from mirror.table.table import Table, plain_table

MEMORY_MB = 2048  # the operating system's cap is at twice that
START_S = 120.0  # to read CSV files, or to count the values of a large database
GRACE_S = 3.0  # beyond the limit that the database keeps itself
MOST_PROCESSES = 4

_CRASH = "Reading the data failed by a fault of its own: nothing is lost, ask in another way."


class OutsideData:
    """What can be asked about at one source, and what comes of asking. Safe to share between threads."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._turn = threading.Lock()
        self._child: _Child | None = None
        self._version = ""
        self._stamp = ""
        self._database: Database | None = None

    def database(self) -> Database:
        """The tables, as of now. Raises SourceError or QueryStopped."""
        with self._turn:
            return self._described()

    def _described(self) -> Database:
        reply = self._ask({"what": "database", "have": self._stamp}, START_S)
        if reply["database"] is not None:
            self._database = Database.from_dict(reply["database"])
            self._stamp = reply["stamp"]
        assert self._database
        return self._database

    def run(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> tuple[Table, int]:
        """Check and run one SELECT. Returns its rows, and how many of their numbers are none (NaN, infinity).

        Raises GuardError, QueryError, QueryStopped or SourceError.
        """
        with self._turn:
            self._described()
            request = {"what": "query", "sql": sql, "row_cap": row_cap, "time_limit_s": time_limit_s}
            reply = self._ask(request, time_limit_s + GRACE_S)
        rows = [tuple(row) for row in reply["rows"]]
        table = plain_table(reply["columns"], rows, reply["truncated"], reply["milliseconds"])
        return table, reply["not_finite"]

    def close(self) -> None:
        """End the process once its question is done; a later one starts a new one."""
        with self._turn:
            self._end()

    def _ask(self, request: dict[str, Any], time_limit_s: float) -> dict[str, Any]:
        child = self._current()
        try:
            reply = child.ask(request, time_limit_s)
        finally:
            if not child.healthy:
                self._end()
        if "error" in reply:
            raise _error(reply)
        return reply

    def _current(self) -> "_Child":
        version = self.source.version()
        if self._child is None or not self._child.alive or version != self._version:
            self._end()
            self._child = _Child(self.source)
            self._version = version
        return self._child

    def _end(self) -> None:
        if self._child:
            self._child.kill()
        self._child = None
        self._stamp = ""


_shared: dict[tuple[str, str], OutsideData] = {}
_shared_lock = threading.Lock()


def shared(source: Source) -> OutsideData:
    """The one process of a source; the one that was asked longest ago ends where there are too many."""
    key = (source.url, "/".join(map(str, source.paths)))
    with _shared_lock:
        data = _shared.pop(key, None) or OutsideData(source)
        _shared[key] = data
        old = [_shared.pop(next(iter(_shared))) for _ in range(len(_shared) - MOST_PROCESSES)]
    for data_of_old in old:
        data_of_old.close()
    return data


class _Child(SqlProcess):
    """The process."""

    def __init__(self, source: Source) -> None:
        super().__init__("mirror.data.process.source_child")
        self._source = source
        self._number = 0
        given = {"kind": source.kind, "url": source.url, "paths": [str(p) for p in source.paths], "name": source.name}
        try:
            self._send({"source": given, "memory_mb": MEMORY_MB})
            reply = self._wait(START_S)
            if "error" in reply:
                raise _error(reply)
        except BaseException:
            self.kill()
            raise

    def ask(self, request: dict[str, Any], time_limit_s: float) -> dict[str, Any]:
        """Send a request and wait for the reply. Raises QueryStopped."""
        self._number += 1
        self.healthy = False  # until a reply is in: whatever is raised meanwhile leaves a process in an unknown state
        self._send({"id": self._number, **request})
        reply = self._wait(time_limit_s)
        self.healthy = reply.get("error") != "memory"
        return reply

    def _wait(self, time_limit_s: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=time_limit_s)
        except queue.Empty:
            raise QueryStopped(
                f"The database did not answer within {time_limit_s:g} s: ask for less, by a filter or fewer joins."
            ) from None
        if line is None:
            raise QueryStopped(self._ended_because(_CRASH))
        return dict(json.loads(line))

    def _to_log(self, text: str) -> str:
        return self._source.without_password(text)


def _error(reply: dict[str, Any]) -> Exception:
    kind, message = reply["error"], reply["message"]
    if kind == "memory":
        return QueryStopped(OUT_OF_MEMORY)
    known = {
        "guard": GuardError, "unreadable": UnreadableError, "query": QueryError, "stopped": QueryStopped,
        "source": SourceError,
    }  # fmt: skip
    return known[kind](message)
