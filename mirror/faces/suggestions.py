"""What is suggested while a question is typed: whole questions, and words that the results know."""

from collections.abc import Iterable

from mirror.schema import catalog
from mirror.schema.database import Database
from mirror.schema.profile import Profile
from mirror.table.values import Value

_NAMED = ("method", "dataset", "benchmark", "operator", "machine", "sweep")  # columns whose values are words to type
_MOST_QUESTIONS = 200
_MOST_WORDS = 1_000


def questions(saved: Iterable[str], earlier: Iterable[str], examples: Iterable[str]) -> tuple[str, ...]:
    """Questions to complete to: earlier ones of this session, the newest first, saved ones, examples."""
    given = (*reversed(tuple(earlier)), *saved, *examples)
    return tuple(dict.fromkeys(q for q in given if q.strip()))[:_MOST_QUESTIONS]


def words(profile: Profile) -> tuple[str, ...]:
    """Names of metrics and axes that the results hold, and the values that have names."""
    metrics = set[str]().union(*(profile.metrics(b) for b in profile.benchmarks))
    held = [e.label for e in catalog.entries().values() if e.name in metrics or profile.values(e.name)]
    values: list[Value] = [v for column in _NAMED for v in profile.values(column)]
    return tuple(dict.fromkeys([*held, *map(str, values)]))


def words_of_database(database: Database) -> tuple[str, ...]:
    """Names of tables and columns, and the values of columns that hold few."""
    columns = [c for relation in database.relations for c in relation.columns]
    names = [*(relation.name for relation in database.relations), *(c.name for c in columns)]
    values = [value for column in columns for value in column.values]
    return tuple(dict.fromkeys([*names, *values]))[:_MOST_WORDS]
