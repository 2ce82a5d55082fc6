"""The process that reads other data: it connects, counts, checks and runs one statement at a time.

Started by the module `other_data_process`. It speaks JSON, one object per line. First comes
`{location, memory_mb, scratch}`, then any number of `{id, what: "database", have}` (what can be asked about; only where
it is not the version that the other side has) and `{id, what: "query", sql, row_cap, time_limit_s}`. Each is answered
by an object, or by `{error: kind, message}`.
"""

import math
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from mirror.data.confinement import cap_files, cap_memory
from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.guard.check_sql import check
from mirror.data.guard.guard_errors import GuardError, NotSqlError
from mirror.data.plain_values import plain, unique_names
from mirror.data.process.sql_serving import Request, Requests, serve
from mirror.data.sources import facts
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.open_reader import open_reader
from mirror.data.sources.reader import Reader
from mirror.schema.database import Database

# Values may change without any change of tables: they are counted anew after this time.
OLDEST_S = 600.0
MOST_WRITTEN_MB = 20_000  # to a file in the scratch folder: what memory does not hold of files that are read
# What a reply calls that which went wrong; of an error that is another as well, the first.
_KINDS: dict[type[Exception], str] = {
    NotSqlError: "unreadable", GuardError: "guard", QueryStopped: "stopped", QueryError: "query",
    SourceError: "source", MemoryError: "memory",
}  # fmt: skip


class Server:
    """Answers requests about one location."""

    def __init__(self, location: Location, scratch: Path | None = None) -> None:
        self._reader: Reader = open_reader(location, scratch)
        self._database: Database | None = None
        self._version = ""
        self._counted = 0.0

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a request; whatever goes wrong is one of the known kinds of error."""
        try:
            if request["what"] == "database":
                return self._describe(str(request.get("have", "")))
            return self._query(request)
        except tuple(_KINDS) as error:
            return _failure(error)

    def _current(self) -> Database:
        version = self._reader.version()
        if self._database is None or version != self._version or time.monotonic() - self._counted > OLDEST_S:
            self._database = facts.database(self._reader)
            self._version, self._counted = version, time.monotonic()
        return self._database

    def _describe(self, have: str) -> dict[str, Any]:
        database = self._current()
        stamp = f"{self._version}-{self._counted}"
        return {"stamp": stamp, "database": None if have == stamp else database.to_dict()}

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        started = time.perf_counter()
        database = self._database or self._current()
        with self._reader.session() as session:
            sql = check(request["sql"], session.parser, database, request["row_cap"])
            found = session.fetch(sql, request["row_cap"], request["time_limit_s"])
        odd = 0
        rows = []
        for row in found.rows:
            odd += sum(isinstance(v, float | Decimal) and not math.isfinite(v) for v in row)
            rows.append([plain(value) for value in row])
        return {
            "columns": unique_names(found.columns),
            "rows": rows,
            "truncated": found.truncated,
            "milliseconds": (time.perf_counter() - started) * 1000,
            "not_finite": odd,
        }


def _failure(error: Exception) -> dict[str, Any]:
    return {"error": next(kind for known, kind in _KINDS.items() if isinstance(error, known)), "message": str(error)}


def _serving(hello: Request) -> tuple[Callable[[Request, Requests], dict[str, Any]] | None, dict[str, Any]]:
    given = hello["location"]
    location = Location(**{**given, "paths": tuple(map(Path, given["paths"]))})
    cap_memory(hello["memory_mb"])
    cap_files(MOST_WRITTEN_MB)
    try:
        server = Server(location, Path(hello["scratch"]))
    except (SourceError, MemoryError) as error:
        return None, _failure(error)
    return lambda request, _: {"id": request["id"], **server.reply(request)}, {"ready": True}


if __name__ == "__main__":
    serve(_serving)
