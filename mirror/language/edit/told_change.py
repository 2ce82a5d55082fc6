"""What a follow-up over the results has changed, in notes beside "Read as"."""

from collections.abc import Callable, Iterator, Sequence

from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Filter, QuerySpec
from mirror.schema import catalog
from mirror.table.numbers import format_value
from mirror.table.wording import join

_MOST_CHANGES = 3


def changes_told(before: QuerySpec, now: QuerySpec) -> tuple[str, ...]:
    """A note for each condition, metric and group that is not as it was; none for a question of its own, of which
    hardly anything is."""
    if (before.shape == "count") != (now.shape == "count") or before.source != now.source:
        return ()  # another question rather than a change
    was, is_now = ([m.name or m.column for m in spec.metrics] for spec in (before, now))
    told = (
        *_conditions(before, now),
        *_names(was, is_now, lambda names: join(map(_label, names))),
        *_names(before.dimensions, now.dimensions, lambda names: f"by {join(map(_label, names))}"),
    )
    return told if len(told) <= _MOST_CHANGES else ()


def _conditions(before: QuerySpec, now: QuerySpec) -> Iterator[str]:
    old, new = _by_column(before), _by_column(now)
    for column in dict.fromkeys([*old, *new]):
        was, is_now = old.get(column, []), new.get(column, [])
        if set(map(str, was)) == set(map(str, is_now)) or column == "metric":
            continue
        if not is_now:
            yield f"any {_label(column)}"
        elif not was:
            yield f"{_said(is_now)} only"
        else:
            values = _values(was) if _values(is_now) else ""
            yield f"{_said(is_now)} instead of {values or join(map(filter_in_words, was))}"


def _by_column(spec: QuerySpec) -> dict[str, list[Filter]]:
    found: dict[str, list[Filter]] = {}
    for f in spec.filters:
        found.setdefault(f.column, []).append(f)
    return found


def _said(filters: Sequence[Filter]) -> str:
    """`compression 0.5`, and of what is no value `memory < 5 MB`."""
    values = _values(filters)
    return f"{_label(filters[0].column)} {values}" if values else join(map(filter_in_words, filters))


def _values(filters: Sequence[Filter]) -> str:
    """The values of a condition that names some; empty for any other."""
    if len(filters) > 1 or filters[0].operator not in ("=", "in"):
        return ""
    return join(format_value(catalog.entry(filters[0].column), value) for value in filters[0].values)


def _names(old: Sequence[str], new: Sequence[str], said: Callable[[list[str]], str]) -> Iterator[str]:
    more, less = [n for n in new if n not in old], [n for n in old if n not in new]
    if more:
        yield f"{said(more)} instead of {said(less).removeprefix('by ')}" if less else f"{said(more)} as well"
    elif less and new:
        yield f"not {said(less)}"


def _label(column: str) -> str:
    return catalog.entry(column).label
