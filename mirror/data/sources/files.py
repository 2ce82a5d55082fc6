"""CSV, JSON, Excel and Parquet files, which a locked DuckDB of our own holds, or reads in place."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb

from mirror.data.confinement import SETTINGS, lock
from mirror.data.loading import csv_form, csv_table, encoding, workbook
from mirror.data.loading.csv_form import FileError
from mirror.data.loading.semantic_types import convert
from mirror.data.sources.duck import QUERY_MB, SAMPLE_ROWS, DuckSession, structure_of
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import Reader, Structure
from mirror.data.sql_text import file_literal, literal, quoted
from mirror.schema.database import Column, Relation

LOAD_MB = 3072  # of reading files
_FEW_ODD = 0.05  # share of texts among numbers that looks like a slip


class FilesReader(Reader):
    """Files that are read once, into memory or where that is too small into a file, and Parquet files in place.

    Args:
        location: the files.
        scratch: an empty folder for copies, and for what memory does not hold; somebody else removes it.
    """

    def __init__(self, location: Location, scratch: Path) -> None:
        self.location = location
        self._scratch = scratch
        self._notes: list[str] = []
        try:
            self._connection = self._loaded(":memory:", "")
        except _TooLargeError:
            self._connection = self._stored(scratch)
        parquet = [str(path) for path in location.paths if _is_parquet(path)]
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
        return duckdb.connect(str(path), read_only=True, config=SETTINGS)

    def _loaded(self, database: str, spill: str) -> duckdb.DuckDBPyConnection:
        settings = {**SETTINGS, "memory_limit": f"{LOAD_MB}MB", "temp_directory": spill}
        connection = duckdb.connect(database, config=settings)
        try:
            self._notes = _Loader(connection, self._scratch).load(self.location.paths)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def session(self) -> Iterator[DuckSession]:
        """The one connection that there is."""
        yield DuckSession(self.location, self._connection)

    def structure(self) -> Structure:
        """One table per file, and per sheet of a workbook with several, without declared keys."""
        found = structure_of(self._connection)
        odd = [note for r in found.relations if r.view for c in r.columns if (note := self._odd_value(r, c))]
        relations = [replace(r, view=False) for r in found.relations]
        return replace(found, relations=relations, notes=(*self._notes, *odd))

    def _odd_value(self, relation: Relation, column: Column) -> str:
        """What keeps a column of a Parquet file from being one of numbers, where it is little; else empty."""
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
            f"{relation.name}.{column.name} is read as text and not as numbers, since row {first[0]:,} "
            f"holds “{str(first[1])[:40]}”."
        )

    def sample(self, relation: Relation) -> tuple[int, str]:
        """Nearly always all rows."""
        return SAMPLE_ROWS, quoted(relation.name)


# -- loading -----------------------------------------------------------------------------------------------------------


class _TooLargeError(Exception):
    """Memory does not hold a file; the message is its name."""


class _Loader:
    """Makes tables of files; what it says of them is kept in `notes`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> None:
        self._connection = connection
        self._copy = scratch / "copy.csv"
        self._files: dict[str, str] = {}  # names in lower case, as DuckDB tells tables apart, and the files' own
        self._notes: list[str] = []

    def load(self, paths: tuple[Path, ...]) -> list[str]:
        """Sentences that say how the files were read. Raises SourceError or _TooLargeError."""
        for path in paths:
            if not workbook.is_workbook(path):
                self._reserve(_table_name(path.name), path)
        for path in paths:
            try:
                self._load(path, alone=len(paths) == 1)
            except duckdb.OutOfMemoryException:
                raise _TooLargeError(path.name) from None
            except FileError as error:
                raise SourceError(str(error)) from None
            except encoding.CUT_OFF:
                told = f"{path.name} is no whole gzip file: it may have been cut off on its way; copy it anew."
                raise SourceError(told) from None
            except OSError as error:  # a full disk, or a file that may not be read
                raise SourceError(f"{path.name} cannot be read ({error.strerror or error}).") from None
            except duckdb.Error as error:
                message = str(error).replace(str(self._copy), path.name)
                raise SourceError(csv_form.line_sentence(path, message)) from None
            finally:
                self._copy.unlink(missing_ok=True)
        return self._notes

    def _reserve(self, table: str, path: Path) -> str:
        taken = self._files.setdefault(table.lower(), path.name)
        if taken != path.name:
            raise SourceError(f"{taken} and {path.name} would both be the table {table}: rename one.")
        return table

    def _load(self, path: Path, alone: bool) -> None:
        table = _table_name(path.name)
        if workbook.is_workbook(path):
            told = "" if alone else workbook.missing(path)
            if told:  # nothing that keeps the other files from being read
                self._notes.append(told)
            else:
                self._load_workbook(path, alone)
        elif _is_parquet(path):
            read = f"SELECT * FROM read_parquet({file_literal(path)})"
            self._connection.execute(f"CREATE VIEW {quoted(table)} AS {read}")
        elif _is_json(path):
            csv_table.load_json_lines(self._connection, table, path)
            self._notes += convert(self._connection, table)
        else:
            self._load_csv(table, path)

    def _load_csv(self, table: str, path: Path) -> None:
        """A file that is not UTF-8 is read from a copy that is."""
        if encoding.is_no_text(path):
            raise FileError(f"{path.name} is no text file, so no CSV: name a CSV, or rename it after what it is.")
        told = encoding.as_utf8(path, self._copy) if encoding.is_utf16(path) else ""
        try:
            form = csv_form.form_of(self._copy if told else path, path.name)
            csv_table.load(self._connection, table, self._copy if told else path, form)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            if told or not encoding.is_other_text(path):
                raise
            told = encoding.as_utf8(path, self._copy)
            form = csv_form.form_of(self._copy, path.name)
            csv_table.load(self._connection, table, self._copy, form)
        self._notes += (*filter(None, [told]), *convert(self._connection, table, form.english))

    def _load_workbook(self, path: Path, alone: bool) -> None:
        """A table called like the file, or one for each of several sheets."""
        file = _table_name(path.name)
        with workbook.opened(path) as sheets:
            for sheet in sheets:
                own = _table_name(sheet.name, suffix=False)
                table = file if len(sheets) == 1 else own if alone else f"{file}_{own}"
                form = sheet.write(self._copy)
                csv_table.load(self._connection, self._reserve(table, path), self._copy, form)
                if sheet.above:
                    rows = "One row" if sheet.above == 1 else f"{sheet.above} rows"
                    verb = "is" if sheet.above == 1 else "are"
                    self._notes.append(f"{rows} above the header of {table} {verb} left out.")
                self._notes += convert(self._connection, table)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _is_json(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _table_name(name: str, suffix: bool = True) -> str:
    stem = re.sub(r"(\.(csv|tsv))?\.[^.]+$", "", name, flags=re.IGNORECASE) if suffix else name
    return re.sub(r"\W+", "_", stem).strip("_") or "table"
