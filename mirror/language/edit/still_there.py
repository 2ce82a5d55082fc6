"""What a form is about that a database no longer has: tables and columns change between a question and the next."""

from mirror.language.reading.held import parts_of
from mirror.query.other_data.form import Asked, ColumnRef, Measure, Predicate
from mirror.schema.database import Database

_OF_NUMBERS = ("sum", "avg", "median", "stddev")


def missing(asked: Asked, database: Database) -> tuple[str, ...]:
    """Tables and columns of a form that are not there, or that hold texts where it adds up or compares numbers."""
    known = {(r.name, c.name): c.type for r in database.relations for c in r.columns}
    tables = {asked.table: None} | dict.fromkeys(asked.via) | {g.table: None for g in asked.groups}
    tables |= {m.table: None for m in parts_of(asked, Measure)}
    tables |= {t: None for p in asked.presences for t in (p.table, p.owner)}
    there = {r.name for r in database.relations}
    places = [(p.table, p.column) for p in parts_of(asked, ColumnRef) if p.table in there]
    lost = [t for t in tables if t not in there]
    lost += [f"{table}.{column}" for table, column in places if (table, column) not in known]
    numbers = [f for m in parts_of(asked, Measure) if m.aggregate in _OF_NUMBERS for f in m.factors]
    numbers += [p.place for p in parts_of(asked, Predicate) if not p.bucket and any(map(_is_number, p.plain))]
    lost += [f"{p.table}.{p.column}" for p in numbers if known.get((p.table, p.column)) == "text"]
    return tuple(dict.fromkeys(lost))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
