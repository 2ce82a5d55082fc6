"""Other people's databases with questions of their own: each made by a script of SQL, a third of them sealed.

A database is `NAME.sql`, statements of DuckDB that make its tables, beside `NAME.yaml`: what it is of, what kind of
file people have of it, and the questions. Open ones lie in `foreign/open`. Sealed ones are packed, a zip each, in
`foreign/sealed`, so that nobody who builds a reader reads them by accident: their texts are never printed.
"""

import contextlib
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb
import yaml

from mirror.evaluation.golds import plain_cell
from mirror.table.table import Table, plain_table
from mirror.table.values import Value

FOLDER = Path(__file__).parent / "foreign"
Form = Literal["duckdb", "sqlite", "csv"]
# What columns are declared as in SQLite; of all other types, times among them, it holds texts.
_SQLITE_TYPES = {
    "INTEGER": "INTEGER", "BIGINT": "INTEGER", "SMALLINT": "INTEGER", "TINYINT": "INTEGER", "HUGEINT": "INTEGER",
    "DOUBLE": "REAL", "FLOAT": "REAL", "DECIMAL": "REAL", "BOOLEAN": "BOOLEAN",
}  # fmt: skip


class ForeignError(ValueError):
    """A database that cannot be used; the message says which and why."""


@dataclass(frozen=True)
class ForeignDatabase:
    """One database.

    Attributes:
        name: its name, which no other has.
        about: what it is of, in a few words.
        form: the kind of file that is asked.
        script: DuckDB statements that make and fill its tables, the same rows each time.
        questions: as its file holds them.
        sealed: whether nobody who builds a reader may look at it.
    """

    name: str
    about: str
    form: Form
    script: str
    questions: tuple[Mapping[str, Any], ...]
    sealed: bool = False


@cache
def databases(folder: Path = FOLDER) -> tuple[ForeignDatabase, ...]:
    """All of them, by name. Raises ForeignError."""
    found = opened(folder / "open") + [_unpacked(path) for path in folder.glob("sealed/*.zip")]
    return tuple(sorted(found, key=lambda d: d.name))


def opened(folder: Path) -> list[ForeignDatabase]:
    """Those of a folder with `NAME.sql` beside `NAME.yaml`, by name. Raises ForeignError."""
    found = []
    for path in sorted(folder.glob("*.yaml")):
        script = path.with_suffix(".sql")
        if not script.is_file():
            raise ForeignError(f"{path.name} has no {script.name} beside it, which makes its tables: add it.")
        found.append(_database(path.stem, script.read_text(), path.read_text()))
    return found


def _unpacked(path: Path) -> ForeignDatabase:
    """A sealed one. Raises ForeignError."""
    try:
        with zipfile.ZipFile(path) as packed:
            script, questions = (packed.read(path.stem + end).decode() for end in (".sql", ".yaml"))
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError):
        raise ForeignError(f"{path.name} lacks {path.stem}.sql or {path.stem}.yaml: seal it anew.") from None
    return _database(path.stem, script, questions, sealed=True)


def _database(name: str, script: str, text: str, sealed: bool = False) -> ForeignDatabase:
    try:
        held = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        about, form, questions = held["about"], held.get("as", "duckdb"), tuple(held["questions"])
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise ForeignError(f"{name}.yaml needs `about`, `as` and `questions` ({type(error).__name__}).") from None
    if form not in get_args(Form):
        raise ForeignError(f"{name}.yaml: `as` is {form!r}: name one of {', '.join(get_args(Form))}.")
    return ForeignDatabase(name, about, form, script, questions, sealed)


def seal(folder: Path, into: Path = FOLDER / "sealed") -> list[str]:
    """Pack the databases of a folder; the names of those packed. Raises ForeignError."""
    names = [database.name for database in opened(folder)]
    for name in names:
        with zipfile.ZipFile(into / f"{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for part in (f"{name}.sql", f"{name}.yaml"):
                packed.writestr(zipfile.ZipInfo(part), (folder / part).read_bytes(), zipfile.ZIP_DEFLATED)
    return names


class ForeignGolds:
    """Answers to gold SQL over one database. What it raises holds no text of a sealed one."""

    def __init__(self, database: ForeignDatabase) -> None:
        """Raises ForeignError where the script does not run."""
        self.database = database
        self._connection = duckdb.connect(config={"threads": 1})
        try:
            self._connection.execute(database.script)
        except duckdb.Error as error:
            raise self._error("its script does not run", error) from None

    def table(
        self, sql: str, _fixed: Mapping[str, Value] | None = None, _of: Literal["runs", "results"] = "runs", /
    ) -> Table:
        """The rows of a gold; times as ISO text, and columns of one name told apart.

        Raises ForeignError where it is no SQL over the tables.
        """
        try:
            result = self._connection.execute(sql)
            rows = [tuple(map(plain_cell, row)) for row in result.fetchall()]
        except (duckdb.Error, ValueError) as error:
            raise self._error("a gold does not run", error) from None
        names: list[str] = []
        for name, *_ in result.description or ():
            names.append(f"{name} {len(names) + 1}" if name in names else name)
        return plain_table(names, rows)

    def write(self, folder: Path) -> Path:
        """The database as a file that people would have, or as a folder of CSV files. Raises ForeignError."""
        path = folder / self.database.name
        try:
            if self.database.form == "csv":
                return self._write_csv(path)
            if self.database.form == "sqlite":
                return self._write_sqlite(path.with_suffix(".sqlite"))
            with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
                connection.execute(self.database.script)
            return path.with_suffix(".duckdb")
        except (duckdb.Error, sqlite3.Error, ValueError) as error:
            raise self._error(f"it cannot be written as {self.database.form}", error) from None

    def _write_csv(self, path: Path) -> Path:
        """A file for each table; the file alone where there is one."""
        path.mkdir()
        tables = self._tables()
        for table in tables:
            file = str(path / f"{table}.csv").replace("'", "''")
            self._connection.execute(f"COPY {_quoted(table)} TO '{file}' (HEADER)")
        return path / f"{tables[0]}.csv" if len(tables) == 1 else path

    def _write_sqlite(self, path: Path) -> Path:
        """With the keys that the script declares."""
        with contextlib.closing(sqlite3.connect(path)) as into, into:
            for table in self._tables():
                columns = self._connection.execute(
                    "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
                    [table],
                ).fetchall()
                parts = [f"{_quoted(name)} {_SQLITE_TYPES.get(of.partition('(')[0], 'TEXT')}" for name, of in columns]
                into.execute(f"CREATE TABLE {_quoted(table)} ({', '.join([*parts, *self._keys(table)])})")
                rows = self._connection.execute(f"SELECT * FROM {_quoted(table)}").fetchall()
                marks = ", ".join("?" * len(columns))
                statement = f"INSERT INTO {_quoted(table)} VALUES ({marks})"
                into.executemany(statement, [tuple(map(plain_cell, row)) for row in rows])
        return path

    def _tables(self) -> list[str]:
        found = self._connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_oid").fetchall()
        return [str(name) for (name,) in found]

    def _keys(self, table: str) -> list[str]:
        """Its primary and foreign keys, as SQL."""
        found = self._connection.execute(
            "SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names "
            "FROM duckdb_constraints() WHERE table_name = ? AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')",
            [table],
        ).fetchall()
        return [
            f"{kind} ({_listed(own)})" + (f" REFERENCES {_quoted(other)} ({_listed(theirs)})" if other else "")
            for kind, own, other, theirs in found
        ]

    def _error(self, what: str, error: Exception) -> ForeignError:
        why = " (it is sealed, so no more is told)" if self.database.sealed else f": {str(error).splitlines()[0]}"
        return ForeignError(f"{self.database.name}: {what}{why.rstrip('.')}.")

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def __enter__(self) -> "ForeignGolds":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))
