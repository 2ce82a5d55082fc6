"""Whether a form counts each row once: a number must not be added up over a join that repeats the rows it is of."""

from collections.abc import Iterator

from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Measure
from mirror.query.other_data.paths import Path
from mirror.schema.database import Database

# What is the same of rows that are repeated; how many there are is counted by their keys.
_UNMOVED = ("count", "distinct", "min", "max")


def is_counted_once(asked: Asked, database: Database) -> bool:
    """Whether no number of a form would be added up, and no row be listed, once for each row of another table."""
    for measure in (part for m in asked.measures for part in m.parts):
        of_rows = list(_ways(measure, asked, database))
        by_groups = [_way(database, measure.table, g, asked.via) for g in asked.groups]
        if any(map(paths.multiplies, of_rows)) or any(map(paths.turns_down, by_groups)):
            return False
        if measure.aggregate not in _UNMOVED and any(map(paths.multiplies, by_groups)):
            return False
    return not any(paths.multiplies(_way(database, asked.table, place, asked.via)) for place in asked.columns)


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
