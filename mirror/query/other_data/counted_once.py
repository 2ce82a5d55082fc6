"""Whether a form counts each row once: a number must not be added up over a join that repeats the rows it is of."""

from collections.abc import Iterator

from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Measure
from mirror.query.other_data.paths import Path
from mirror.schema.database import Database
from mirror.schema.names import column_words, many, one

# What is the same of rows that are repeated; how many there are is counted by their keys.
_UNMOVED = ("count", "distinct", "min", "max")


def is_counted_once(asked: Asked, database: Database) -> bool:
    """Whether no number of a form would be added up, and no row be listed, once for each row of another table."""
    return why_counted_twice(asked, database) is None


def why_counted_twice(asked: Asked, database: Database) -> str | None:
    """The sentence that says which rows a form would count several times; None where it counts each once."""
    for measure in (part for m in asked.measures for part in m.parts):
        if way := next((w for w in _ways(measure, asked, database) if paths.multiplies(w)), None):
            return _several(measure.table, way, _what(measure))
        for group in asked.groups:
            way = _way(database, measure.table, group, asked.via)
            if paths.turns_down(way):
                return (
                    f"{many(measure.table).capitalize()} and {many(group.table)} only share {many(way[0].to)}: neither "
                    "belongs to the other, so one cannot be split by the other."
                )
            if paths.multiplies(way) and measure.aggregate not in _UNMOVED:
                return _several(measure.table, way, _what(measure))
    for place in asked.columns:
        if paths.multiplies(_way(database, asked.table, place, asked.via)):
            return (
                f"{_a(asked.table)} has several {many(place.table)}, so {place.table}.{place.column} cannot stand "
                f"beside it: ask for {many(place.table)}."
            )
    return None


def _several(table: str, way: Path, what: str) -> str:
    several = many(next(step.to for step in way if step.multiplies))
    return (
        f"{_a(table)} has several {several}, so its {what} would be counted once for each of them: ask for a number "
        f"of {several}, or for the number of {many(table)}."
    )


def _what(measure: Measure) -> str:
    return column_words(measure.factors[0].column) if measure.factors else "number"


def _a(table: str) -> str:
    """`An order`."""
    return f"{'An' if one(table)[:1] in 'aeiou' else 'A'} {one(table)}"


def _ways(measure: Measure, asked: Asked, database: Database) -> Iterator[Path]:
    """The ways to all columns that a measure is made of, and to those of its own conditions."""
    until = (measure.until,) if measure.until else ()
    for place in (*measure.factors, *until, *(c.place for c in measure.conditions)):
        yield _way(database, measure.table, place, asked.via)


def _way(database: Database, start: str, to: ColumnRef | GroupBy, via: tuple[str, ...]) -> Path:
    """The way that the statement goes; empty where there is none, which `build` says."""
    role = to.place.role if isinstance(to, GroupBy) and to.place else to.role
    found = paths.shortest(database, start, to.table, role, via)
    return found[0] if found else ()
