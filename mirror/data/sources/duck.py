"""DuckDB files, read in place through a locked connection."""

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb

from mirror.data.confinement import SETTINGS, lock
from mirror.data.data_source import OUT_OF_MEMORY, QueryError, QueryStopped
from mirror.data.plain_values import sentence, take
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import ROW_CAP, TIME_LIMIT_S, Fetched, Reader, Structure, too_slow
from mirror.data.sql_text import literal, quoted
from mirror.schema.database import Column, ForeignKey, Relation, Type, shown

QUERY_MB = 1024  # of a query, beside what is held
SAMPLE_ROWS = 5_000_000
_TYPES: tuple[tuple[str, Type], ...] = (
    (r"BOOLEAN", "boolean"), (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", "integer"), (r"DOUBLE|FLOAT|DECIMAL.*", "real"),
    (r"DATE", "date"), (r"TIMESTAMP.*", "timestamp"), (r"VARCHAR|ENUM.*", "text"),
)  # fmt: skip


class DuckReader(Reader):
    """A DuckDB file. Each question opens it anew for reading, so that its owner can write in between."""

    def __init__(self, location: Location) -> None:
        self.location = location

    @contextlib.contextmanager
    def session(self) -> Iterator["DuckSession"]:
        """A locked connection."""
        with self._connection() as connection:
            lock(connection, QUERY_MB)
            yield DuckSession(self.location, connection)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        path = self.location.paths[0]
        if not path.is_file():
            raise SourceError(f"There is no file {path.name}: mend the path.")
        try:
            with contextlib.closing(duckdb.connect(str(path), read_only=True, config=SETTINGS)) as connection:
                if schema := _schema(self.location, connection):
                    connection.execute(f"SET schema = {literal(schema)}")
                yield connection
        except duckdb.Error as error:
            raise SourceError(_file_sentence(self.location, error)) from None

    def structure(self) -> Structure:
        """Tables, columns and keys of the file's schema."""
        with self._connection() as connection:
            lock(connection, QUERY_MB)  # a view may be bound to be described
            return structure_of(connection)

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


class DuckSession:
    """A locked DuckDB connection."""

    def __init__(self, location: Location, connection: duckdb.DuckDBPyConnection) -> None:
        self._location = location
        self._connection = connection
        self.parser: duckdb.DuckDBPyConnection | None = connection

    def fetch(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> Fetched:
        """Run one statement."""
        clock = threading.Timer(time_limit_s, self._connection.interrupt)
        clock.start()
        try:
            self._connection.execute(sql)
            columns = tuple(d[0] for d in self._connection.description or ())
            rows, truncated = take(self._connection.fetchmany, row_cap)
            return Fetched(columns, rows, truncated)
        except duckdb.InterruptException:
            raise too_slow(time_limit_s) from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise QueryStopped(OUT_OF_MEMORY) from None
        except duckdb.IOException as error:
            raise SourceError(_file_sentence(self._location, error)) from None
        except duckdb.Error as error:
            raise QueryError(self._location.without_password(sentence(str(error)))) from None
        except (ArithmeticError, ValueError, OSError, ImportError):
            raise QueryError("A value of the result cannot be shown as it is: cast it to text.") from None
        finally:
            clock.cancel()


def tables_of(location: Location) -> set[str]:
    """Names of the tables and views of a DuckDB file. Raises SourceError."""
    with DuckReader(location)._connection() as connection:
        rows = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = current_database()"
        ).fetchall()
    return {name for (name,) in rows}


# -- structure ---------------------------------------------------------------------------------------------------------


def _schema(location: Location, connection: duckdb.DuckDBPyConnection) -> str:
    """The one schema with tables where `main` has none; empty for `main`. Raises SourceError for several."""
    there = [
        name
        for (name,) in connection.execute(
            "SELECT DISTINCT table_schema FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY 1"
        ).fetchall()
    ]
    if not there or "main" in there:
        return ""
    if len(there) > 1:
        raise SourceError(f"{location.name} has tables in the schemas {shown(there)}: one database can hold only one.")
    return str(there[0])


def structure_of(connection: duckdb.DuckDBPyConnection) -> Structure:
    """Tables, views, columns and keys of the schema that the connection reads."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql).fetchall()

    here = "database_name = current_database() AND schema_name = current_schema()"
    columns: dict[str, list[Column]] = {}
    for table, name, kind, nullable, comment in rows(
        f"SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE {here} "
        "AND NOT internal ORDER BY table_name, column_index"
    ):
        columns.setdefault(table, []).append(Column(name, _type(kind), bool(nullable), comment or ""))
    keys: dict[str, tuple[str, ...]] = {}
    alone: dict[str, set[tuple[str, ...]]] = {}
    foreign: list[tuple[str, tuple[str, ...], str, tuple[str, ...]]] = []
    for table, kind, own, other, to in rows(
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
        f"FROM duckdb_constraints() WHERE {here}"
    ):
        if kind == "PRIMARY KEY":
            keys[table] = tuple(own)
        if kind in ("PRIMARY KEY", "UNIQUE"):
            alone.setdefault(table, set()).add(tuple(own))
        if kind == "FOREIGN KEY" and other in columns:
            foreign.append((table, tuple(own), other, tuple(to)))
    comments = dict(rows(f"SELECT table_name, comment FROM duckdb_tables() WHERE {here} AND NOT internal"))
    views = dict(rows(f"SELECT view_name, comment FROM duckdb_views() WHERE {here} AND NOT internal"))
    relations = []
    for name in sorted(columns, key=lambda n: (n in views, n)):
        found = tuple(
            replace(
                c,
                nullable=c.nullable and c.name not in keys.get(name, ()),
                unique=(c.name,) in alone.get(name, ()),
            )
            for c in columns[name]
        )
        comment = (views if name in views else comments).get(name) or ""
        relations.append(Relation(name, found, keys.get(name, ()), comment, view=name in views))
    foreign_keys = []
    for table, own, other, to in foreign:
        optional = any(c.nullable for c in columns[table] if c.name in own)
        foreign_keys.append(ForeignKey(table, own, other, to, True, own in alone.get(table, ()), optional))
    return Structure(relations, foreign_keys, schema=rows("SELECT current_database(), current_schema()")[0])


def _type(declared: str) -> Type:
    for pattern, kind in _TYPES:
        if re.fullmatch(pattern, declared):
            return kind
    return "other"


def _file_sentence(location: Location, error: duckdb.Error) -> str:
    text = str(error)
    if "Could not set lock" in text or "Conflicting lock" in text:
        return f"{location.name} is being written by another program: try again when it is done."
    if "not a valid DuckDB database file" in text:
        return f"{location.name} is neither a DuckDB nor a SQLite file, nor CSV or Parquet by its suffix."
    if "No files found" in text or "No such file" in text or "Cannot open file" in text:
        return f"{location.name} is not there any more, or may not be read."
    return f"{location.name} cannot be read: {location.without_password(sentence(text))}"
