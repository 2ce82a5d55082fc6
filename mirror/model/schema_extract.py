"""What of a schema a language model is shown: all of a small one, else what the words of a question lead to."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import Any

from db.plain_text import plain_text
from mirror.language.reading.covers import linker_of, spans_of, tokens_of
from mirror.query.other_data.paths import shortest
from mirror.schema.database import Column, Database, ForeignKey, Relation

MAX_SCHEMA = 16_000  # characters of tables and columns
MAX_KEYS = 4_000  # characters of foreign keys
MAX_SAMPLES = 8  # of a column
MAX_SAMPLE = 60  # characters; a longer one is left out
MAX_FOUND = 20  # values that words of the question name
MAX_VALUE = 200  # characters of such a value; a cut one would match nothing
_MOST_TOKENS = 300
_MAX_NAME = 200
_MAX_COMMENT = 160
_MOST_NAMED = 12  # tables that the words may lead to
_MOST_LINKED = 6  # of which the tables between them are looked for
_SURE = 1.0  # what costs more is a value that is hardly meant

# How near a column is to the question, the nearest first.
_LINKED, _ON_THE_WAY, _BESIDE, _BESIDE_THE_WAY, _FAR_KEY, _FAR = range(6)


@dataclass(frozen=True)
class Extract:
    """What is shown.

    Attributes:
        tables: as JSON can hold them, with their columns.
        keys: foreign keys among these.
        left_out: how many tables and columns there are besides.
        values: values in the data that words of the question name, with their places.
    """

    tables: list[dict[str, Any]]
    keys: list[str]
    left_out: dict[str, int]
    values: list[dict[str, str]]

    def to_json(self) -> dict[str, Any]:
        """The parts that hold something."""
        return {name: part for name, part in vars(self).items() if part}


@dataclass(frozen=True)
class _Place:
    """A column, how near it is to the question, and how it is shown."""

    relation: Relation
    column: Column
    rank: int
    shown: dict[str, Any]


def extract(question: str, database: Database, now: datetime, with_rows: bool = False) -> Extract:
    """What of the schema a question needs.

    Args:
        question: in plain words.
        database: what it is about.
        now: the present.
        with_rows: whether values of rows may be shown; otherwise only those of columns in which they repeat are, and
            those that the question names.
    """
    tokens, times = tokens_of(question, now)
    spans = spans_of(tokens[:_MOST_TOKENS], times, linker_of(database))
    links = sorted((s.link for here in spans for s in here if s.link), key=lambda link: link.cost)
    named = list(dict.fromkeys(link.table for link in links))[:_MOST_NAMED]
    linked = {(link.table, link.column) for link in links if link.column is not None}
    ranks = _Ranks(database, named, linked)
    places = [
        _Place(r, c, ranks.of(r, c), _column(r, c, with_rows))
        for r in database.relations
        for c in r.columns
        if len(r.name) <= _MAX_NAME and len(c.name) <= _MAX_NAME
    ]
    chosen = _fitting(places)
    if len(chosen) < len(places):  # names before samples
        places = [p if p.rank == _LINKED else replace(p, shown=_without_values(p.shown)) for p in places]
        chosen = _fitting(places)
    tables = _tables(chosen)
    values = [{"table": k.table, "column": str(k.column), "value": str(k.value)} for k in links if k.kind == "val"
              and k.cost <= _SURE and len(str(k.value)) <= MAX_VALUE]  # fmt: skip
    columns = sum(len(r.columns) for r in database.relations)
    left = {"tables": len(database.relations) - len(tables), "columns": columns - len(chosen)}
    return Extract(
        tables,
        _keys(database, {t["name"] for t in tables}),
        {kind: number for kind, number in left.items() if number},
        [v for i, v in enumerate(values) if v not in values[:i]][:MAX_FOUND],
    )


class _Ranks:
    """How near columns are to a question that names some tables and columns."""

    def __init__(self, database: Database, named: Sequence[str], linked: set[tuple[str, str]]) -> None:
        self._named = set(named)
        self._linked = linked
        pairs = combinations(named[:_MOST_LINKED], 2)
        paths = (path for pair in pairs for path in shortest(database, *pair)[:1])
        self._way = {step.to for path in paths for step in path} - self._named
        self._keys = {(r.name, name) for r in database.relations for name in r.key}
        for key in database.foreign_keys:
            self._keys |= {(key.table, name) for name in key.columns} | {(key.to, name) for name in key.to_columns}

    def of(self, relation: Relation, column: Column) -> int:
        """The rank of a column, the nearest first."""
        table, place = relation.name, (relation.name, column.name)
        if table in self._named:
            if place in self._linked:
                return _LINKED
            return _ON_THE_WAY if place in self._keys else _BESIDE
        if table in self._way:
            return _ON_THE_WAY if place in self._keys else _BESIDE_THE_WAY
        return _FAR_KEY if place in self._keys else _FAR


def _fitting(places: Sequence[_Place]) -> list[_Place]:
    """The nearest places that there is room for, in the order of the schema."""
    left = MAX_SCHEMA
    tables: set[str] = set()
    chosen: set[int] = set()
    for at, place in sorted(enumerate(places), key=lambda item: item[1].rank):
        size = len(json.dumps(place.shown)) + 2
        if place.relation.name not in tables:
            size += len(json.dumps(_table(place.relation)))
        if size > left:
            break
        left -= size
        tables.add(place.relation.name)
        chosen.add(at)
    return [place for at, place in enumerate(places) if at in chosen]


def _tables(places: Sequence[_Place]) -> list[dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for place in places:
        tables.setdefault(place.relation.name, _table(place.relation))["columns"].append(place.shown)
    return list(tables.values())


def _table(relation: Relation) -> dict[str, Any]:
    about: dict[str, Any] = {"name": relation.name}
    if relation.comment:
        about["comment"] = plain_text(relation.comment, _MAX_COMMENT)
    if relation.key:
        about["key"] = list(relation.key)
    return {**about, "columns": []}


def _column(relation: Relation, column: Column, with_rows: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"name": column.name, "type": column.type}
    if column.comment:
        about["comment"] = plain_text(column.comment, _MAX_COMMENT)
    samples = [v for v in _samples(relation, column, with_rows) if len(v) <= MAX_SAMPLE][:MAX_SAMPLES]
    if samples:
        about["values"] = samples
    if with_rows and column.low is not None:
        about["from"], about["to"] = (v if isinstance(v, int | float) else str(v)[:MAX_SAMPLE] for v in _ends(column))
    return about


def _ends(column: Column) -> Iterator[Any]:
    yield column.low
    yield column.high


def _samples(relation: Relation, column: Column, with_rows: bool) -> tuple[str, ...]:
    """Values of a column; unless rows may be shown, none of a column whose values name single rows."""
    if with_rows:
        return column.values or column.index
    names_rows = column.unique or (relation.rows is not None and 2 * len(column.values) > relation.rows)
    return () if names_rows else column.values


def _without_values(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in shown.items() if name not in ("values", "from", "to")}


def _keys(database: Database, tables: set[str]) -> list[str]:
    """The foreign keys between tables that are shown, as long as there is room."""
    keys: list[str] = []
    left = MAX_KEYS
    for key in database.foreign_keys:
        if key.table in tables and key.to in tables:
            text = _key(key)
            left -= len(json.dumps(text)) + 2
            if left < 0:
                break
            keys.append(text)
    return keys


def _key(key: ForeignKey) -> str:
    pairs = zip(key.columns, key.to_columns, strict=True)
    joined = " and ".join(f"{key.table}.{own} = {key.to}.{other}" for own, other in pairs)
    return joined if key.declared else f"{joined} (found, not declared)"
