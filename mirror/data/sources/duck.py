"""DuckDB files, read in place, and CSV and Parquet files, which a DuckDB of our own holds or reads; all locked."""

import contextlib
import csv
import gzip
import io
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from mirror.data.confinement import lock
from mirror.data.data_source import OUT_OF_MEMORY, QueryError, QueryStopped
from mirror.data.plain_values import sentence, take
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import ROW_CAP, TIME_LIMIT_S, Fetched, Reader, Structure, quoted, too_slow
from mirror.schema.database import Column, ForeignKey, Relation, Type, shown
from mirror.schema.names import words_of

QUERY_MB = 1024  # of a query, beside what is held
LOAD_MB = 3072  # of reading CSV files
SAMPLE_ROWS = 5_000_000
_HEADER_BYTES = 1_000_000
_FEW_ODD = 0.05  # share of texts among numbers that looks like a slip
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "temp_directory": "",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
}
_DELIMITERS = ",;\t|"
_OURS = ("system", "temp", "information_schema", "pg_catalog")

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
            with contextlib.closing(duckdb.connect(str(path), read_only=True, config=_SETTINGS)) as connection:
                if schema := _schema(self.location, connection):
                    connection.execute(f"SET schema = {_literal(schema)}")
                yield connection
        except duckdb.Error as error:
            raise SourceError(_file_sentence(self.location, error)) from None

    def structure(self) -> Structure:
        """Tables, columns and keys of the file's schema."""
        with self._connection() as connection:
            return _structure(connection)

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


class FilesReader(Reader):
    """CSV files, which are read once, into memory or where that is too small into a file, and Parquet files in place.

    Args:
        location: the files.
        scratch: an empty folder for CSV files that memory does not hold; somebody else removes it.
    """

    def __init__(self, location: Location, scratch: Path) -> None:
        self.location = location
        self._tables = _table_names(location.paths)
        try:
            self._connection = self._loaded(":memory:", "")
        except _TooLargeError:
            self._connection = self._stored(scratch)
        parquet = [str(path) for path in location.paths if _is_parquet(path)]
        if parquet:
            self._connection.execute(f"SET allowed_paths = [{', '.join(map(_literal, parquet))}]")
        lock(self._connection, QUERY_MB)

    def _stored(self, scratch: Path) -> duckdb.DuckDBPyConnection:
        """A database file: loading it may spill to disk; opened anew for reading, nothing is written any more."""
        path = scratch / "files.duckdb"
        try:
            self._loaded(str(path), str(scratch / "spill")).close()
        except _TooLargeError as error:
            raise SourceError(
                f"{error} needs more than {LOAD_MB:,} MB of memory: store it as Parquet, which is read in place."
            ) from None
        return duckdb.connect(str(path), read_only=True, config=_SETTINGS)

    def _loaded(self, database: str, spill: str) -> duckdb.DuckDBPyConnection:
        settings = {**_SETTINGS, "memory_limit": f"{LOAD_MB}MB", "temp_directory": spill}
        connection = duckdb.connect(database, config=settings)
        try:
            for table, path in self._tables.items():
                _load(connection, table, path)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def session(self) -> Iterator["DuckSession"]:
        """The one connection that there is."""
        yield DuckSession(self.location, self._connection)

    def structure(self) -> Structure:
        """One table per file, without declared keys."""
        found = _structure(self._connection)
        relations = [replace(r, view=False) for r in found.relations]
        notes = tuple(note for r in relations for c in r.columns if (note := self._odd_value(r, c)))
        return replace(found, relations=relations, notes=notes)

    def _odd_value(self, relation: Relation, column: Column) -> str:
        """What keeps a column of numbers from being one, where it is little; else empty."""
        if column.type != "text":
            return ""
        name, table = quoted(column.name), quoted(relation.name)
        odd = f"{name} IS NOT NULL AND try_cast({name} AS DOUBLE) IS NULL"
        row = self._connection.execute(
            f"SELECT count({name}), count(*) FILTER ({odd}) FROM (SELECT {name} FROM {table} LIMIT {SAMPLE_ROWS})"
        ).fetchone()
        if not row or not row[1] or row[1] > _FEW_ODD * row[0]:
            return ""
        first = self._connection.execute(
            f"SELECT * FROM (SELECT row_number() OVER () AS place, {name} FROM {table}) WHERE {odd} LIMIT 1"
        ).fetchone()
        assert first
        return (
            f"{relation.name}.{column.name} is read as text and not as numbers, since row {first[0]:,} below the "
            f"header holds “{str(first[1])[:40]}”."
        )

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


class _TooLargeError(Exception):
    """Memory does not hold a file; the message is its name."""


def _load(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    literal = _literal(str(path))
    try:
        if _is_parquet(path):
            connection.execute(f"CREATE VIEW {quoted(table)} AS SELECT * FROM read_parquet({literal})")
        else:
            _load_csv(connection, table, path, literal)
    except duckdb.OutOfMemoryException:
        raise _TooLargeError(path.name) from None
    except duckdb.Error as error:
        raise SourceError(_csv_sentence(path, str(error))) from None


def _load_csv(connection: duckdb.DuckDBPyConnection, table: str, path: Path, literal: str) -> None:
    names, options = _csv_options(path)
    try:
        connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM read_csv({literal}, {options})")
    except duckdb.InvalidInputException as error:
        if "sniffing" not in str(error):
            raise
        # Guessing tells nothing of the line at fault; reading texts does.
        columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names)
        connection.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT * FROM read_csv({literal}, {options}, auto_detect = false, "
            f"columns = {{{columns}}}))"
        )
        raise


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
        finally:
            clock.cancel()


def tables_of(location: Location) -> set[str]:
    """Names of the tables and views of a DuckDB file. Raises SourceError."""
    with DuckReader(location)._connection() as connection:
        rows = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = current_database()"
        ).fetchall()
    return {name for (name,) in rows}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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


def _structure(connection: duckdb.DuckDBPyConnection) -> Structure:
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


# -- files -------------------------------------------------------------------------------------------------------------


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _table_names(paths: tuple[Path, ...]) -> dict[str, Path]:
    """A table for each file, called like it. Raises SourceError for two of one name."""
    found: dict[str, Path] = {}
    for path in paths:
        stem = re.sub(r"(\.(csv|tsv))?\.[^.]+$", "", path.name, flags=re.IGNORECASE)
        name = re.sub(r"\W+", "_", stem).strip("_") or "table"
        if name in found:
            raise SourceError(f"{found[name].name} and {path.name} would both be the table {name}: rename one.")
        found[name] = path
    return found


def _csv_options(path: Path) -> tuple[list[str], str]:
    """The names of its header, and how a CSV file is to be read.

    Left to guess, DuckDB takes a file with one bad row for one of a single column.
    """
    head = _head(path)
    header, *rest = head.splitlines() or [""]
    if not header.strip():
        raise SourceError(f"{path.name} is empty: its first line should name the columns.")
    try:
        delimiter = max(_DELIMITERS, key=lambda d: len(next(csv.reader([header], delimiter=d))))
        names = [name.strip() for name in next(csv.reader(io.StringIO(head), delimiter=delimiter))]
    except csv.Error:  # bytes that are no text
        raise SourceError(f"{path.name} holds no CSV: its first line should name the columns.") from None
    if not any(words_of(name) and not _is_number(name) for name in names) or any(map(_is_number, names)):
        raise SourceError(
            f"The first line of {path.name} is “{header[:60]}”: it should name the columns, as in id,name,amount."
        )
    decimal = "."
    if delimiter != "," and re.search(r"\d,\d", "\n".join(rest)) and not re.search(r"\d\.\d", "\n".join(rest)):
        decimal = ","
    distinct = [name or f"column{i}" for i, name in enumerate(names)]
    if len({name.lower() for name in distinct}) < len(distinct):
        raise SourceError(f"The first line of {path.name} names a column twice: every column needs a name of its own.")
    return distinct, (
        f"delim = '{delimiter}', quote = '\"', escape = '\"', header = true, strict_mode = true, "
        f"null_padding = false, decimal_separator = '{decimal}', sample_size = 100000"
    )


def _head(path: Path) -> str:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            return file.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError) as error:
        raise SourceError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text.strip(), re.IGNORECASE))


def _csv_sentence(path: Path, message: str) -> str:
    """What is wrong with a file and in which line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if not line:
        return f"{path.name} cannot be read: {sentence(message).replace(str(path), path.name)}"
    where = f"Line {int(line[1]):,} of {path.name}"
    original = re.search(r"Original Line: (.*)", message)
    text = f" (“{original[1][:60]}”)" if original and original[1].strip() else ""
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        than = "fewer" if int(counts[2]) < int(counts[1]) else "more"
        return f"{where}{text} has {than} columns than the {counts[1]} that the header names: mend the line."
    if wrong := re.search(r'converting column "(.*?)"\. Could not convert string "(.*?)" to \'(\w+)\'', message):
        kind = {"DOUBLE": "number", "BIGINT": "whole number", "DATE": "date", "TIMESTAMP": "time"}.get(
            wrong[3], wrong[3]
        )
        return f"{where} has “{wrong[2][:60]}” in the column {wrong[1]}, which is no {kind} like the rest: mend it."
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where} is not UTF-8 text: save the file as UTF-8."
    if "quote" in message.lower():
        return f"{where}{text} has a quotation mark that is not closed: mend the line."
    return f"{where}{text} cannot be read: mend the line."


def _file_sentence(location: Location, error: duckdb.Error) -> str:
    text = str(error)
    if "Could not set lock" in text or "Conflicting lock" in text:
        return f"{location.name} is being written by another program: try again when it is done."
    if "not a valid DuckDB database file" in text:
        return f"{location.name} is neither a DuckDB nor a SQLite file, nor CSV or Parquet by its suffix."
    if "No files found" in text or "No such file" in text or "Cannot open file" in text:
        return f"{location.name} is not there any more, or may not be read."
    return f"{location.name} cannot be read: {location.without_password(sentence(text))}"
