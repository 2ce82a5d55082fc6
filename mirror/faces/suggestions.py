"""What is suggested while a question is typed: whole questions, and words that the results know."""

from collections.abc import Iterable

from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value

_NAMED = ("method", "dataset", "benchmark", "operator", "machine", "sweep")  # columns whose values are words to type
_MOST_QUESTIONS = 200


def questions(saved: Iterable[str], earlier: Iterable[str]) -> tuple[str, ...]:
    """Questions to complete to: earlier ones of this session, the newest first, saved ones, examples."""
    given = (*reversed(tuple(earlier)), *saved, *catalog.examples())
    return tuple(dict.fromkeys(q for q in given if q.strip()))[:_MOST_QUESTIONS]


def words(profile: Profile) -> tuple[str, ...]:
    """Names of metrics and axes that the results hold, and the values that have names."""
    metrics = set[str]().union(*(profile.metrics(b) for b in profile.benchmarks))
    held = [e.label for e in catalog.entries().values() if e.name in metrics or profile.values(e.name)]
    values: list[Value] = [v for column in _NAMED for v in profile.values(column)]
    return tuple(dict.fromkeys([*held, *map(str, values)]))
