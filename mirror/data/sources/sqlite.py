"""SQLite files: opened for reading alone, with an authorizer and a clock that the engine itself asks."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import sqlalchemy as sa

from mirror.data.data_source import QueryError
from mirror.data.plain_values import take
from mirror.data.sources import structure
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import LOCK_LIMIT_S, ROW_CAP, TIME_LIMIT_S, Fetched, Reader, Structure, too_slow
from mirror.data.sql_text import quoted
from mirror.schema.database import Column, Relation

SAMPLE_ROWS = 100_000
LOOK_S = 1.0  # at what one view or column holds
STRUCTURE_S = 10.0  # at all of them: what is not looked at then is taken as it was declared
_STEPS_BETWEEN_LOOKS = 10_000
_MOST_BYTES = 50_000_000  # of one value
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_ISO = "____-__-__*".replace("_", "[0-9]")


class SqliteReader(Reader):
    """A SQLite file. Each question opens it anew, so that no lock outlives an answer."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._path = location.paths[0]

    @contextlib.contextmanager
    def session(self) -> Iterator["SqliteSession"]:
        """A connection that may only SELECT."""
        with self._connection() as connection:
            connection.set_authorizer(_authorize)
            yield SqliteSession(self, connection)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with contextlib.closing(
                sqlite3.connect(
                    f"file:{quote(str(self._path))}?mode=ro", uri=True, timeout=LOCK_LIMIT_S, check_same_thread=False
                )
            ) as connection:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
                connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                connection.text_factory = lambda raw: raw.decode(errors="replace")
                connection.execute("PRAGMA query_only = ON")
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                yield connection
        except sqlite3.Error as error:
            raise SourceError(self.sentence(error)) from None

    def structure(self) -> Structure:
        """Tables, columns and keys of what can be read; a column of ISO texts that is declared a date is one."""
        until = time.monotonic() + STRUCTURE_S
        with self._connection() as connection:
            readable, notes = self._readable(connection)
            engine = sa.create_engine("sqlite://", creator=lambda: connection, poolclass=sa.StaticPool)
            try:
                with engine.connect() as inspected:
                    found = structure.read(sa.inspect(inspected), None, only=readable)
            except sa.exc.DBAPIError as error:
                raise SourceError(self.sentence(error.orig or error)) from None
            relations = [self._as_stored(connection, relation, until) for relation in found.relations]
            return replace(found, relations=relations, notes=(*found.notes, *notes))

    def _readable(self, connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
        """Tables and views that can be read, and a sentence on each that cannot, such as a view of a dropped table."""
        names, notes = [], []
        for name, kind in connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"):
            try:
                with _clock(connection, LOOK_S):
                    connection.execute(f"SELECT * FROM {quoted(name)} LIMIT 0").fetchall()
                names.append(name)
            except sqlite3.Error as error:
                if not isinstance(error, sqlite3.OperationalError):
                    raise
                notes.append(f"The {kind} {name} cannot be read and is left out: {str(error).rstrip('.')}.")
        return names, notes

    def _as_stored(self, connection: sqlite3.Connection, relation: Relation, until: float) -> Relation:
        """SQLite stores what it is given: the values decide what a column holds, not the declaration."""
        columns = list(relation.columns)
        for i, column in enumerate(columns):
            name = quoted(column.name)
            rows = f"(SELECT {name} AS v FROM {quoted(relation.name)} WHERE {name} IS NOT NULL LIMIT {SAMPLE_ROWS})"
            try:
                with _clock(connection, min(LOOK_S, until - time.monotonic())):
                    counts = connection.execute(
                        "SELECT count(*), sum(typeof(v) = 'integer'), sum(typeof(v) = 'real'), "
                        f"sum(typeof(v) = 'text'), sum(typeof(v) = 'text' AND v GLOB '{_ISO}'), max(length(v)) "
                        f"FROM {rows}"
                    ).fetchone()
            except sqlite3.Error:  # a view that takes too long, or fails on some row
                break
            columns[i] = _typed(column, *(int(n or 0) for n in counts))
        return replace(relation, columns=tuple(columns))

    def sample(self, relation: Relation) -> tuple[int, str]:
        """The first rows."""
        return SAMPLE_ROWS, quoted(relation.name)

    def sentence(self, error: BaseException) -> str:
        """What went wrong with the file, and what to do."""
        text = str(error)
        name = self.location.name
        if "not a database" in text or "malformed" in text:
            return f"{name} is not a whole SQLite file: copy it anew."
        if "locked" in text or "busy" in text:
            return f"{name} is being written by another program: try again in a moment."
        if "unable to open" in text:
            return f"{name} cannot be opened: it is not there any more, or may not be read."
        return f"{name} cannot be read: {text}."


def _typed(column: Column, count: int, integers: int, reals: int, texts: int, iso: int, longest: int) -> Column:
    """The column with the type that its values have; mixed ones are text, so that nothing is added up by accident."""
    if not count or (column.type == "boolean" and integers + reals == count):
        return column
    if texts == count and iso == count:
        return replace(column, type="date" if longest == 10 else "timestamp")
    if texts == count:
        return replace(column, type="text")
    if integers + reals == count:
        return replace(column, type="integer" if integers == count and column.type != "real" else "real")
    return replace(column, type="text" if texts else "other")


class SqliteSession:
    """One open file."""

    parser: None = None

    def __init__(self, reader: SqliteReader, connection: sqlite3.Connection) -> None:
        self._reader = reader
        self._connection = connection

    def fetch(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> Fetched:
        """Run one statement."""
        try:
            with _clock(self._connection, time_limit_s):
                cursor = self._connection.execute(sql)
                columns = tuple(d[0] for d in cursor.description or ())
                rows, truncated = take(cursor.fetchmany, row_cap)
                cursor.close()
                return Fetched(columns, rows, truncated)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise too_slow(time_limit_s) from None
            if "locked" in str(error) or "unable to open" in str(error):
                raise SourceError(self._reader.sentence(error)) from None
            if "integer overflow" in str(error):
                raise QueryError("The sum is beyond the whole numbers of SQLite: ask for the average.") from None
            raise QueryError(f"{str(error).rstrip('.')}.") from None
        except sqlite3.DatabaseError as error:
            if "malformed" in str(error) or "not a database" in str(error):
                raise SourceError(self._reader.sentence(error)) from None
            raise QueryError(f"{str(error).rstrip('.')}.") from None
        except OverflowError as error:
            raise QueryError(f"A number is too large: {error}.") from None


@contextlib.contextmanager
def _clock(connection: sqlite3.Connection, time_limit_s: float) -> Iterator[None]:
    """Statements of the context are interrupted once the time is up; the engine itself asks."""
    end = time.monotonic() + time_limit_s
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action not in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
