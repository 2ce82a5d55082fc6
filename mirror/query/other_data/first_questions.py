"""Questions that a database can answer, made from its tables: for a first visit, and beside a refusal."""

from collections.abc import Iterator

from mirror.query.other_data import paths
from mirror.schema.database import Column, Database, Relation
from mirror.schema.names import (
    column_words,
    dates,
    is_key,
    is_measure,
    label_columns,
    many,
    qualified,
    usual_aggregate,
)

MOST = 6


def first_questions(database: Database) -> tuple[str, ...]:
    """Up to six questions, those about the largest tables first."""
    tables = sorted((r for r in database.relations if not r.view), key=lambda r: -(r.rows or 0))
    found: dict[str, None] = {}
    for questions in zip(*(list(_about(database, r)) + [""] * MOST for r in tables[:4]), strict=False):
        found |= dict.fromkeys(q for q in questions if q)
    return tuple(found)[:MOST]


def _about(database: Database, relation: Relation) -> Iterator[str]:
    by = _dimensions(database, relation)
    measures = [c for c in relation.columns if is_measure(database, relation, c)]
    for column in measures:
        if word := {"sum": "total", "avg": "average"}.get(usual_aggregate(column)):
            place = f" by {by[0]}" if by else ""
            yield f"{word} {_named(database, relation, column)}{place}"
            break
    if len(dates(relation)) == 1:
        yield f"number of {many(relation.name)} by month"
    if len(by) > 1:
        yield f"number of {many(relation.name)} by {by[1]}"
    yield f"how many {many(relation.name)}"


def _dimensions(database: Database, relation: Relation) -> list[str]:
    """Columns with few values, of the table and of those that each of its rows names."""
    found: list[str] = []
    names: list[str] = []
    for other in database.relations:
        if other.view or not (other is relation or paths.reaches_up(database, relation.name, other.name)):
            continue
        labels = label_columns(other)
        for column in other.columns:
            if column.values and not is_key(database, other, column):
                (names if column.name in labels else found).append(_named(database, other, column))
    return found + names


def _named(database: Database, relation: Relation, column: Column) -> str:
    """The words of a column, with its table's where there are others."""
    return qualified(relation.name, column.name) if len(database.relations) > 1 else column_words(column.name)
