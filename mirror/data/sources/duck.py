"""DuckDB files, read in place, and CSV and Parquet files, which a DuckDB of our own holds or reads; all locked."""

import contextlib
import csv
import io
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from mirror.data.process.sandbox_child import lock, sentence
from mirror.data.process.sql_process import QueryError, QueryStopped
from mirror.data.sources import csv_table, encoding
from mirror.data.sources.location import Source, SourceError
from mirror.data.sources.reader import ROW_CAP, TIME_LIMIT_S, Fetched, Structure, take, too_slow
from mirror.data.sources.semantic_types import convert
from mirror.data.sources.text_values import literal, quoted
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


class DuckReader:
    """A DuckDB file. Each question opens it anew for reading, so that its owner can write in between."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @contextlib.contextmanager
    def session(self) -> Iterator["DuckSession"]:
        """A locked connection."""
        with self._connection() as connection:
            lock(connection, QUERY_MB)
            yield DuckSession(self.source, connection)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        path = self.source.paths[0]
        if not path.is_file():
            raise SourceError(f"There is no file {path.name}: mend the path.")
        try:
            with contextlib.closing(duckdb.connect(str(path), read_only=True, config=_SETTINGS)) as connection:
                if schema := _schema(self.source, connection):
                    connection.execute(f"SET schema = {literal(schema)}")
                yield connection
        except duckdb.Error as error:
            raise SourceError(_file_sentence(self.source, error)) from None

    def structure(self) -> Structure:
        """Tables, columns and keys of the file's schema."""
        with self._connection() as connection:
            return _structure(connection)

    def version(self) -> str:
        """The file's own stamp says it."""
        return ""

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


class FilesReader:
    """CSV files, which are read once, into memory or where that is too small into a file, and Parquet files in place.

    Args:
        source: the files.
        scratch: an empty folder for CSV files that memory does not hold; somebody else removes it.
    """

    def __init__(self, source: Source, scratch: Path) -> None:
        self.source = source
        self._tables = _table_names(source.paths)
        self._scratch = scratch
        self._notes: list[str] = []
        try:
            self._connection = self._loaded(":memory:", "")
        except _TooLargeError:
            self._connection = self._stored(scratch)
        parquet = [str(path) for path in source.paths if _is_parquet(path)]
        if parquet:
            self._connection.execute(f"SET allowed_paths = [{', '.join(map(literal, parquet))}]")
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
        self._notes.clear()
        try:
            for table, path in self._tables.items():
                self._notes += _load(connection, table, path, self._scratch)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def session(self) -> Iterator["DuckSession"]:
        """The one connection that there is."""
        yield DuckSession(self.source, self._connection)

    def structure(self) -> Structure:
        """One table per file, without declared keys."""
        found = _structure(self._connection)
        relations = [replace(r, view=False) for r in found.relations]
        told = [note for r in relations for c in r.columns if (note := self._odd_value(r, c))]
        return replace(found, relations=relations, notes=tuple(dict.fromkeys([*self._notes, *told])))

    def _odd_value(self, relation: Relation, column: Column) -> str:
        """What keeps a column of numbers from being one, where it is little; else empty."""
        if column.type != "text" or any(n.startswith(f"{relation.name}.{column.name} ") for n in self._notes):
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

    def version(self) -> str:
        """The files' own stamps say it."""
        return ""

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


class _TooLargeError(Exception):
    """Memory does not hold a file; the message is its name."""


def _load(connection: duckdb.DuckDBPyConnection, table: str, path: Path, scratch: Path) -> tuple[str, ...]:
    """Make the table of a file; sentences that say how it was read."""
    copy = scratch / f"utf8-{table}.csv"
    try:
        if _is_parquet(path):
            connection.execute(f"CREATE VIEW {quoted(table)} AS SELECT * FROM read_parquet({literal(str(path))})")
            return ()
        if _is_json(path):
            csv_table.load_json_lines(connection, table, path)
            return convert(connection, table)
        return _load_csv(connection, table, path, copy)
    except duckdb.OutOfMemoryException:
        raise _TooLargeError(path.name) from None
    except duckdb.Error as error:
        raise SourceError(_line_sentence(path, str(error).replace(str(copy), path.name))) from None
    finally:
        copy.unlink(missing_ok=True)


def _load_csv(connection: duckdb.DuckDBPyConnection, table: str, path: Path, copy: Path) -> tuple[str, ...]:
    """A file that is not UTF-8 is read from a copy that is."""
    told = encoding.as_utf8(path, copy) if encoding.is_utf16(path) else ""
    try:
        form = _csv_form(copy if told else path, path.name)
        csv_table.load(connection, table, copy if told else path, form)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        if told or not encoding.is_other_text(path):
            raise
        told = encoding.as_utf8(path, copy)
        form = _csv_form(copy, path.name)
        csv_table.load(connection, table, copy, form)
    return (*filter(None, [told]), *convert(connection, table, form.english))


class DuckSession:
    """A locked DuckDB connection."""

    def __init__(self, source: Source, connection: duckdb.DuckDBPyConnection) -> None:
        self._source = source
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
            raise QueryStopped(
                "The query needed more memory than it may use: ask for fewer rows or shorter text."
            ) from None
        except duckdb.IOException as error:
            raise SourceError(_file_sentence(self._source, error)) from None
        except duckdb.Error as error:
            raise QueryError(self._source.without_password(sentence(str(error)))) from None
        finally:
            clock.cancel()


def tables_of(source: Source) -> set[str]:
    """Names of the tables and views of a DuckDB file. Raises SourceError."""
    with DuckReader(source)._connection() as connection:
        rows = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = current_database()"
        ).fetchall()
    return {name for (name,) in rows}


# -- structure ---------------------------------------------------------------------------------------------------------


def _schema(source: Source, connection: duckdb.DuckDBPyConnection) -> str:
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
        raise SourceError(f"{source.name} has tables in the schemas {shown(there)}: one database can hold only one.")
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


def _is_json(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


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


def _csv_form(path: Path, name: str) -> csv_table.CsvForm:
    """How a CSV file is to be read; `name` is what to call it.

    Left to guess, DuckDB takes a file with one bad row for one of a single column.
    """
    head = _head(path)
    header, *rest = head.splitlines() or [""]
    if not header.strip():
        raise SourceError(f"{name} is empty: its first line should name the columns.")
    try:
        delimiter = max(_DELIMITERS, key=lambda d: len(next(csv.reader([header], delimiter=d))))
        cells = csv.reader(io.StringIO(head), delimiter=delimiter)
        names = [cell.strip() for cell in next(cells)]
    except csv.Error:  # bytes that are no text
        raise SourceError(f"{name} holds no CSV: its first line should name the columns.") from None
    if not any(words_of(column) and not _is_number(column) for column in names) or any(map(_is_number, names)):
        raise SourceError(
            f"The first line of {name} is “{header[:60]}”: it should name the columns, as in id,name,amount."
        )
    decimal = "."
    if delimiter != "," and re.search(r"\d,\d", "\n".join(rest)) and not re.search(r"\d\.\d", "\n".join(rest)):
        decimal = ","
    distinct = [column or f"column{i}" for i, column in enumerate(names)]
    if len({column.lower() for column in distinct}) < len(distinct):
        raise SourceError(f"The first line of {name} names a column twice: every column needs a name of its own.")
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # as of a line that is longer than any line of a table
        rows.extend(cells)
    return csv_table.CsvForm(distinct, delimiter, decimal, rows)


def _head(path: Path) -> str:
    try:
        with encoding.opened(path) as file:
            return file.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError) as error:
        raise SourceError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text.strip(), re.IGNORECASE))


def _line_sentence(path: Path, message: str) -> str:
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
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where} is not UTF-8 text: save the file as UTF-8."
    if "quote" in message.lower():
        return f"{where}{text} has a quotation mark that is not closed: mend the line."
    return f"{where}{text} cannot be read: mend the line."


def _file_sentence(source: Source, error: duckdb.Error) -> str:
    text = str(error)
    if "Could not set lock" in text or "Conflicting lock" in text:
        return f"{source.name} is being written by another program: try again when it is done."
    if "not a valid DuckDB database file" in text:
        return f"{source.name} is neither a DuckDB nor a SQLite file, nor CSV or Parquet by its suffix."
    if "No files found" in text or "No such file" in text or "Cannot open file" in text:
        return f"{source.name} is not there any more, or may not be read."
    return f"{source.name} cannot be read: {source.without_password(sentence(text))}"
