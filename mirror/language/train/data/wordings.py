"""Queries over forty-two databases, each worded by four people of eight kinds: what the second reader learns from.

`wordings/NAME.yaml` holds the queries of a database as forms (`mirror.query.other_data.form_text`) with their wordings,
by voice, and questions that its data cannot answer; `wordings/NAME.sql` makes the database, unless it is one of the
evaluation's open ones. A tenth of the queries of each is sealed: packed in `sealed/NAME.zip`, and read by no person who
builds a reader. The writers saw the databases and the forms, and neither a reader nor its words.
"""

import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml

from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_text import asked_of
from mirror.schema.database import Database
from mirror.table.values import Value

Rows = tuple[tuple[Value | None, ...], ...]
FOLDER = Path(__file__).parent
_OPEN_DATABASES = FOLDER.parents[1] / "evaluation" / "foreign" / "open"
_MOST_ROWS = 1000
_RANKING = "nop"  # writers


@dataclass(frozen=True)
class Wording:
    """A query in somebody's words.

    Attributes:
        database: name of the database.
        query: which of its queries, from 0 on, open and sealed ones each by themselves.
        voice: plain, terse, boss, chatty, analyst, foreign, typo or spoken.
        text: the words.
        asked: what they ask for.
        sealed: whether nobody may read it who builds a reader.
    """

    database: str
    query: int
    voice: str
    text: str
    asked: Asked
    sealed: bool


def names() -> list[str]:
    """Names of the databases."""
    return sorted(path.stem for path in (FOLDER / "wordings").glob("*.yaml"))


def wordings(name: str, sealed: bool = False) -> Iterator[Wording]:
    """The wordings of one database. Raises FormError, without the text of a sealed one."""
    database = database_of(name)
    for i, query in enumerate(_held(name, sealed)["queries"]):
        asked = asked_of(query["form"], database)
        for voice, text in query["ask"].items():
            yield Wording(name, i, voice, str(text), asked, sealed)


def not_here(name: str, sealed: bool = False) -> list[str]:
    """Questions that the data of a database cannot answer."""
    return [str(text) for text in _held(name, sealed)["not_here"]]


@cache
def _held(name: str, sealed: bool) -> Mapping[str, Any]:
    if not sealed:
        text = (FOLDER / "wordings" / f"{name}.yaml").read_text()
    else:
        with zipfile.ZipFile(FOLDER / "sealed" / f"{name}.zip") as packed:
            text = packed.read(f"{name}.yaml").decode()
    held: Mapping[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return held


def for_ranking() -> list[str]:
    """The databases whose questions the ranker learns from, which the second reader must not have seen."""
    return [name for name in names() if _held(name, False)["writer"] in _RANKING]


def for_reading() -> list[str]:
    """The databases whose questions the second reader learns from."""
    return [name for name in names() if name not in for_ranking()]


@cache
def database_of(name: str) -> Database:
    """The database as Mirror sees it."""
    with opened(name) as (database, _):
        return database


@contextmanager
def opened(name: str) -> Iterator[tuple[Database, Callable[[str], Rows | None]]]:
    """The database as Mirror sees it, made by its script, and what runs a statement there; None where it fails."""
    own = FOLDER / "wordings" / f"{name}.sql"
    script = own if own.is_file() else _OPEN_DATABASES / f"{name}.sql"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(script.read_text())
        source = shared(find(str(path)))
        database = source.schema()
        source.close()

        @cache
        def run(sql: str) -> Rows | None:
            try:
                found = connection.execute(sql).fetchmany(_MOST_ROWS)
            except duckdb.Error:
                return None
            return tuple(tuple(_plain(value) for value in row) for row in found)

        # The scripts are our own, so the statements need no process of their own.
        with duckdb.connect(str(path), read_only=True) as connection:
            yield database, run


def _plain(value: object) -> Value | None:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
