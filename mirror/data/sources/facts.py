"""Counts what tables hold, with bounded work: rows, ranges, and the distinct values of text columns that have few."""

import time
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.plain_values import plain
from mirror.data.sources.location import SourceError
from mirror.data.sources.reader import Reader, Session, Structure
from mirror.query.other_data.dialects import without_nan
from mirror.schema import keys
from mirror.schema.database import MAX_INDEXED, MAX_VALUES, Column, Database, Relation, shown
from mirror.schema.names import is_key, label_columns
from mirror.table.values import Value
from mirror.table.wording import counted

STATEMENT_LIMIT_S = 5.0
BUDGET_S = 20.0
LONGEST_VALUE = 100
_UNPRINTABLE = "with characters in the name that cannot be shown"


def database(reader: Reader) -> Database:
    """Everything that can be asked about. Raises SourceError, also for a database without tables."""
    structure = _printable(reader.structure())
    name = reader.location.name
    if not structure.relations:
        raise SourceError(f"{name} has no tables that could be asked about.")
    with reader.session() as session:
        counter = _Counter(reader, session, structure)
        relations = keys.with_keys([counter.relation(r) for r in structure.relations])
        foreign_keys = [*structure.foreign_keys, *keys.inferred(relations, structure.foreign_keys, counter.overlap)]
    relations = [_marked(r) for r in relations]
    notes = [*structure.notes, keys.note(foreign_keys), *counter.notes(relations)]
    said = tuple(n for n in notes if n)
    where = structure.schema, structure.any_case
    return Database(reader.location.dialect, name, tuple(relations), tuple(foreign_keys), said, *where)


def _printable(structure: Structure) -> Structure:
    """Without tables and columns whose names would do something to a terminal, which is noted."""
    relations = [
        replace(r, columns=tuple(c for c in r.columns if c.name.isprintable()))
        for r in structure.relations
        if r.name.isprintable()
    ]
    known = {(r.name, c.name) for r in relations for c in r.columns}
    foreign_keys = [
        k
        for k in structure.foreign_keys
        if {(k.table, c) for c in k.columns} | {(k.to, c) for c in k.to_columns} <= known
    ]
    notes = list(structure.notes)
    for one in structure.relations:
        if left := [c.name for c in one.columns if one.name.isprintable() and not c.name.isprintable()]:
            notes.append(
                f"Left out of {one.name}: {counted(len(left), 'column')} {_UNPRINTABLE} ({shown(map(ascii, left), 3)})."
            )
    if lost := [r.name for r in structure.relations if not r.name.isprintable()]:
        notes.append(f"Left out: {counted(len(lost), 'table')} {_UNPRINTABLE} ({shown(map(ascii, lost), 3)}).")
    kept = [r for r in relations if r.columns]
    return replace(structure, relations=kept, foreign_keys=foreign_keys, notes=tuple(notes))


def _marked(relation: Relation) -> Relation:
    """A primary key of one column is unique."""
    alone = relation.key if len(relation.key) == 1 else ()
    return replace(relation, columns=tuple(replace(c, unique=c.unique or c.name in alone) for c in relation.columns))


class _Counter:
    """Asks the source until the time is up; what is not asked then is simply not known."""

    def __init__(self, reader: Reader, session: Session, structure: Structure) -> None:
        self._reader = reader
        self._session = session
        self._until = time.monotonic() + BUDGET_S
        self._late: list[str] = []
        relations, foreign_keys = tuple(structure.relations), tuple(structure.foreign_keys)
        self._database = Database(reader.location.dialect, "", relations, foreign_keys)

    def relation(self, relation: Relation) -> Relation:
        """The table with its counts, ranges and values."""
        most, place = self._reader.sample(relation)
        estimate = self._reader.estimate(relation.name)
        large = estimate is not None and estimate > most
        rows = (
            None if large else self._number(relation, f"SELECT count(*) FROM (SELECT 1 FROM {place} LIMIT {most + 1})")
        )
        if rows is None and not large:
            return replace(relation, rows=estimate)
        sampled = rows is None or rows > most
        columns = self._columns(relation, most, place, sampled)
        return replace(
            relation, rows=estimate if sampled else rows, exact=not sampled, sampled=sampled, columns=columns
        )

    def _columns(self, relation: Relation, most: int, place: str, sampled: bool) -> tuple[Column, ...]:
        """The columns with their ranges, all in one statement, and with their values, one statement each."""
        part = f"(SELECT * FROM {place} LIMIT {most}) AS part"
        asked: list[tuple[int, str]] = []
        selected: list[str] = []
        for i, column in enumerate(relation.columns):
            name = self._name(column.name)
            if column.numeric or column.temporal:
                held = self._finite(column, name)
                selected += [f"min({held})", f"max({held})"]
                asked += [(i, "low"), (i, "high")]
            if column.type == "real" and held != name:
                selected.append(f"sum(CASE WHEN {name} IS NOT NULL AND {held} IS NULL THEN 1 ELSE 0 END)")
                asked.append((i, "nan"))
            if (
                not sampled
                and not column.unique
                and column.type in ("integer", "text")
                and self._may_be_key(relation, column)
            ):
                selected += [f"count(DISTINCT {name})", "count(*)", f"count({name})"]
                asked += [(i, "distinct"), (i, "rows"), (i, "filled")]
        found: dict[int, dict[str, Value | None]] = {}
        if selected:
            row = self._row(relation, f"SELECT {', '.join(selected)} FROM {part}")
            for (i, what), value in zip(asked, row or (), strict=False):
                found.setdefault(i, {})[what] = plain(value)
        return tuple(
            self._with_values(relation, _counted(column, found.get(i, {})), most, place)
            for i, column in enumerate(relation.columns)
        )

    def _may_be_key(self, relation: Relation, column: Column) -> bool:
        """Whether it matters that no two rows share a value: keys, and names that people know rows by."""
        first = column.name == relation.columns[0].name
        return first or is_key(self._database, relation, column) or column.name in label_columns(relation)

    def _finite(self, column: Column, name: str) -> str:
        """Without NaN, which PostgreSQL and DuckDB take for the largest number."""
        if column.type != "real":
            return name
        return without_nan(exp.column(exp.to_identifier(column.name, quoted=True)), self._database.dialect).sql(
            self._database.dialect
        )

    def _with_values(self, relation: Relation, column: Column, most: int, place: str) -> Column:
        if column.type != "text" or is_key(self._database, relation, column):
            return column
        name = self._name(column.name)
        as_text = exp.cast(exp.column(exp.to_identifier(column.name, quoted=True)), "text").sql(self._database.dialect)
        rows = self._rows(
            relation,
            f"SELECT DISTINCT {as_text} FROM (SELECT {name} FROM {place} LIMIT {most}) AS part "
            f"WHERE {name} IS NOT NULL LIMIT {MAX_INDEXED + 1}",
        )
        values = sorted(str(value) for (value,) in rows or ())
        if not values or len(values) > MAX_INDEXED or max(map(len, values)) > LONGEST_VALUE:
            return column
        printable = tuple(v for v in values if v.isprintable())
        return replace(column, values=printable) if len(values) <= MAX_VALUES else replace(column, index=printable)

    def overlap(self, table: str, column: str, other: str, key: str) -> float | None:
        """Share of the values of a column that are found in another table's key."""
        relation = self._database.relation(table)
        most, place = self._reader.sample(relation)
        other_most, other_place = self._reader.sample(self._database.relation(other))
        own, to = self._name(column), self._name(key)
        keys_there = f"SELECT {to} FROM (SELECT {to} FROM {other_place} LIMIT {other_most}) AS there"
        row = self._row(
            relation,
            f"SELECT count(*), sum(CASE WHEN v IN ({keys_there}) THEN 1 ELSE 0 END) FROM "
            f"(SELECT DISTINCT {own} AS v FROM (SELECT {own} FROM {place} "
            f"LIMIT {most}) AS part WHERE {own} IS NOT NULL LIMIT 10000) AS here",
        )
        if not row or not row[0]:
            return None
        return float(row[1] or 0) / float(row[0])

    def notes(self, relations: list[Relation]) -> list[str]:
        """What was not counted."""
        sampled = [r.name for r in relations if r.sampled]
        found = []
        if sampled:
            found.append(
                f"The values of {shown(sampled)} that questions may name are those of a sample; answers read all rows."
            )
        if self._late:
            found.append(f"Values of {shown(dict.fromkeys(self._late))} are not known: counting them took too long.")
        return found

    # -- statements ------------------------------------------------------------------------------------------------

    def _name(self, name: str) -> str:
        return exp.to_identifier(name, quoted=True).sql(self._database.dialect)

    def _number(self, relation: Relation, sql: str) -> int | None:
        row = self._row(relation, f"{sql} AS counted")
        return int(row[0]) if row else None

    def _row(self, relation: Relation, sql: str) -> tuple[Any, ...] | None:
        rows = self._rows(relation, sql)
        return rows[0] if rows else None

    def _rows(self, relation: Relation, sql: str) -> list[tuple[Any, ...]] | None:
        left = self._until - time.monotonic()
        if left <= 0 or (relation.view and relation.name in self._late):  # a slow view is slow whatever is asked
            self._late.append(relation.name)
            return None
        try:
            return self._session.fetch(sql, MAX_INDEXED + 1, min(left, STATEMENT_LIMIT_S)).rows
        except QueryStopped:
            self._late.append(relation.name)
        except QueryError:  # no permission, or a view that is broken: the rest can still be asked about
            pass
        return None


def _counted(column: Column, found: dict[str, Value | None]) -> Column:
    whole = found.get("rows") is not None and found["rows"] == found["distinct"] == found["filled"]
    low, high = (_shown(column, found.get(end)) for end in ("low", "high"))
    nullable = column.nullable and not (found.get("rows") is not None and found["filled"] == found["rows"])
    unique = column.unique or bool(whole and found["rows"])
    return replace(column, low=low, high=high, unique=unique, nullable=nullable, nan=bool(found.get("nan")))


def _shown(column: Column, value: Value | None) -> Value | None:
    """Dates as ISO text, whatever the driver makes of them."""
    if column.temporal and isinstance(value, str):
        try:
            return datetime.fromisoformat(value).isoformat().removesuffix("T00:00:00")
        except ValueError:
            return None
    return value
