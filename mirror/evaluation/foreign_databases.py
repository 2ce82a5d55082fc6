"""Other people's databases with questions of their own: small ones, each made by a script of SQL, half of them sealed.

A database is `NAME.sql`, statements of DuckDB that make its tables, beside `NAME.yaml`, what it is of, what kind of file
people have of it, and the questions. Open ones lie in `foreign/open`. Sealed ones are packed, a zip each, in
`foreign/sealed`, so that nobody who builds a reader reads them by accident: their texts are never printed.
"""

import sqlite3
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb
import yaml

from mirror.evaluation.databases import plain_cell
from mirror.table.table import Table, plain_table
from mirror.table.values import Value

FOLDER = Path(__file__).parent / "foreign"
Form = Literal["duckdb", "sqlite", "csv"]
# Columns are written as SQLite and CSV files hold them.
_SQLITE_TYPES = {"INTEGER": "INTEGER", "BIGINT": "INTEGER", "DOUBLE": "REAL", "VARCHAR": "TEXT"}


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
    found = [_database(p.stem, p.with_suffix(".sql").read_text(), p.read_text()) for p in folder.glob("open/*.yaml")]
    for path in folder.glob("sealed/*.zip"):
        with zipfile.ZipFile(path) as packed:
            script, questions = (packed.read(path.stem + end).decode() for end in (".sql", ".yaml"))
        found.append(_database(path.stem, script, questions, sealed=True))
    return tuple(sorted(found, key=lambda d: d.name))


def _database(name: str, script: str, text: str, sealed: bool = False) -> ForeignDatabase:
    try:
        held = yaml.safe_load(text)
        about, form, questions = held["about"], held.get("as", "duckdb"), held["questions"]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise ForeignError(f"{name}.yaml needs `about`, `as` and `questions` ({type(error).__name__}).") from None
    if form not in get_args(Form):
        raise ForeignError(f"{name}.yaml: `as` is {form!r}: name one of {', '.join(get_args(Form))}.")
    return ForeignDatabase(name, about, form, script, tuple(questions), sealed)


def seal(folder: Path, into: Path = FOLDER / "sealed") -> list[str]:
    """Pack the databases of a folder (`NAME.sql` beside `NAME.yaml`); the names of those packed."""
    packed = []
    for path in sorted(folder.glob("*.yaml")):
        with zipfile.ZipFile(into / f"{path.stem}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as held:
            for part in (path.with_suffix(".sql"), path):
                held.writestr(zipfile.ZipInfo(part.name), part.read_bytes(), zipfile.ZIP_DEFLATED)
        packed.append(path.stem)
    return packed


class ForeignGolds:
    """Answers to gold SQL over one database."""

    def __init__(self, database: ForeignDatabase) -> None:
        self.database = database
        self._connection = duckdb.connect(config={"threads": 1})
        try:
            self._connection.execute(database.script)
        except duckdb.Error as error:
            where = "" if database.sealed else f": {error}"
            raise ForeignError(f"The script of {database.name} does not run{where}") from None

    def table(self, sql: str, fixed: Mapping[str, Value] | None = None, of: str = "") -> Table:
        """The rows of a gold; times as ISO text. Raises duckdb.Error where the gold is no SQL over the tables."""
        result = self._connection.execute(sql)
        names = tuple(c[0] for c in result.description or ())
        return plain_table(names, [tuple(map(plain_cell, row)) for row in result.fetchall()])

    def write(self, folder: Path) -> str:
        """The database as a file that people would have, or as a folder of CSV files; its path."""
        tables = [str(t) for (t,) in self._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        path = folder / self.database.name
        if self.database.form == "csv":
            path.mkdir()
            for table in tables:
                self._connection.execute(f"COPY \"{table}\" TO '{path / table}.csv' (HEADER)")
            return str(path / f"{tables[0]}.csv") if len(tables) == 1 else str(path)
        if self.database.form == "sqlite":
            self._write_sqlite(path.with_suffix(".sqlite"), tables)
            return str(path.with_suffix(".sqlite"))
        file = path.with_suffix(".duckdb")
        with duckdb.connect(str(file)) as connection:
            connection.execute(self.database.script)
        return str(file)

    def _write_sqlite(self, path: Path, tables: list[str]) -> None:
        """With the keys that the script declares."""
        with sqlite3.connect(path) as into:
            for table in tables:
                columns = self._connection.execute(
                    "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
                    [table],
                ).fetchall()
                keys = self._connection.execute(
                    "SELECT constraint_text FROM duckdb_constraints() WHERE table_name = ? "
                    "AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')",
                    [table],
                ).fetchall()
                parts = [f'"{name}" {_SQLITE_TYPES.get(type_, "TEXT")}' for name, type_ in columns]
                into.execute(f'CREATE TABLE "{table}" ({", ".join([*parts, *(k for (k,) in keys)])})')
                rows = self._connection.execute(f'SELECT * FROM "{table}"').fetchall()
                marks = ", ".join("?" * len(columns))
                into.executemany(
                    f'INSERT INTO "{table}" VALUES ({marks})', [tuple(map(plain_cell, row)) for row in rows]
                )
        into.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def __enter__(self) -> "ForeignGolds":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
