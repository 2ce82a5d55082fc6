"""Sentences about groups held against one another: relative to a reference, on a Pareto front, and why two differ."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from mirror.chart.configurations import by, configurations
from mirror.query.roles import Roles, differing
from mirror.query.spec import QuerySpec
from mirror.sentence.configuration_words import members
from mirror.table.numbers import describe, format_factor, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number
from mirror.table.wording import capital, counted, join, shortened, where

MOST_NAMED = 6
_MOST_FRONTS = 3
# Metrics nearer than this, as a fraction, count as alike when it is told what differs.
_ALIKE = 0.02


def relative_sentences(table: Table, spec: QuerySpec) -> list[str]:
    """How the groups stand to the reference in the leading metric: the mean over equal work, and its ends."""
    assert spec.against
    metric = table.column(spec.metrics[0].alias)
    outcome = table.names.index(spec.drawn[0])
    who = table.names.index(spec.against.column)
    against = table.column(spec.against.column)
    found: dict[str, list[float]] = defaultdict(list)
    for row in table.rows:
        if is_number(row[outcome]):
            found[describe(against, row[who])].append(float(row[outcome]))  # type: ignore[arg-type]
    reference = describe(against, spec.against.values[0])
    if not found:
        return [f"No configuration has {metric.label} both there and for {reference}."]
    what = f"times less {metric.label}" if spec.inverse and metric.unit else metric.label
    parts = [f"{name} {outcome_in_words(metric, values)}" for name, values in _ranked(metric, spec.inverse, found)]
    head = f"{capital(what)} against {reference}"
    more = [table.label(m.alias) for m in spec.metrics[1:]]
    besides = f" The table holds {join(more)} as well." if more else ""
    return [
        f"{head}: {shortened(parts, MOST_NAMED, '; ')}.{besides}",
        f"Rests on {counted(sum(map(len, found.values())), 'pair')} at equal work.",
    ]


def _ranked(metric: Column, inverse: bool, found: dict[str, list[float]]) -> list[tuple[str, list[float]]]:
    lower = (metric.better == "lower") != (inverse and bool(metric.unit))
    return sorted(found.items(), key=lambda f: _mean(metric, f[1]), reverse=not lower)


def _mean(metric: Column, values: Sequence[float]) -> float:
    if metric.unit and all(v > 0 for v in values):
        return statistics.geometric_mean(values)
    return statistics.fmean(values)


def outcome_in_words(metric: Column, values: Sequence[float]) -> str:
    """`0.104x (0.0998x to 0.11x in 6 pairs)`."""
    shown = [_one(metric, v) for v in (_mean(metric, values), min(values), max(values))]
    if len(values) == 1 or shown[1] == shown[2]:
        return shown[0]
    return f"{shown[0]} ({shown[1]} to {shown[2]} in {counted(len(values), 'pair')})"


def _one(metric: Column, value: float) -> str:
    if metric.unit:
        return format_factor(value)
    return f"{'+' if value > 0 else ''}{format_value(metric, value)}"


def front_sentences(table: Table, spec: QuerySpec, roles: Roles) -> list[str]:
    """Who is on the front, per work that must not be compared across."""
    x, y = (m.alias for m in spec.metrics[:2])
    partitions = [p for p in spec.partitions if p in differing(table, roles.dimensions)]
    groups = by(configurations(table, roles, (x, y), partitions), partitions)
    if not groups:
        return []
    parts = [
        " ".join(filter(None, (members(table, found), where(table, key, partitions)))) for key, found in groups.items()
    ]
    each = f" for each of {len(groups)} kinds of work" if len(groups) > 1 else ""
    how, place = ("by another", "behind") if spec.claim == "worse" else ("by no other", "on")
    return [
        f"Beaten {how} in both {table.label(x)} and {table.label(y)}{each}: {shortened(parts, _MOST_FRONTS, '; ')}.",
        f"{counted(len(table.rows), table.domain.kind)} {place} the front.",
    ]


def difference_sentences(table: Table, spec: QuerySpec, roles: Roles) -> list[str]:
    """What differs between two methods or machines at the same work; nothing where the table does not hold two."""
    first = next(iter(spec.dimensions), "")
    values = list(dict.fromkeys(table.values(first))) if first else []
    if len(values) != 2:
        return []
    a, b = values
    of = table.column(first)
    asked = next((v for f in spec.filters if f.column == first for v in f.values), a)
    a, b = (a, b) if a == asked else (b, a)
    keys = [d for d in differing(table, roles.dimensions) if d != first]
    work = [k for k in keys if not tells_apart(table, k, first)]
    rows = pairs(table, first, (a, b), work)
    if not rows:
        return [f"{describe(of, a)} and {describe(of, b)} were never measured at the same work."]
    differ: list[str] = []
    alike: list[str] = []
    for metric in map(table.column, roles.metrics):
        both = numbers(table, metric.name, rows)
        outcomes = [p / q if metric.unit and q else p - q for p, q in both if q or not metric.unit]
        if not outcomes:
            continue
        middle = statistics.median(outcomes)
        same = abs(middle - 1) < _ALIKE if metric.unit else abs(middle) < 0.001
        (alike if same else differ).append(metric.label if same else f"{metric.label} {_one(metric, middle)}")
    besides = [apart(table, k, first, a, b) for k in keys if k not in work]
    sentences = [
        f"{capital(describe(of, a))} against {describe(of, b)}, median of {counted(len(rows), 'pair')} at the "
        f"same work: {join(differ) if differ else 'no metric differs'}."
    ]
    if besides:
        sentences.append(f"They differ besides in {join(besides)}.")
    if alike:
        sentences.append(f"Alike: {join(alike)}.")
    return [*sentences, "What differs may be the reason; the results do not tell causes."]


def pairs(table: Table, axis: str, two: Sequence[Value | None], work: Sequence[str]) -> list[tuple[int, int]]:
    """The rows with the one and with the other value of the axis, wherever the work is the same."""
    rows: dict[tuple[object, ...], dict[object, int]] = defaultdict(dict)
    same = [table.values(k) for k in work]
    for i, value in enumerate(table.values(axis)):
        rows[tuple(v[i] for v in same)][value] = i
    a, b = two
    return [(found[a], found[b]) for found in rows.values() if a in found and b in found]


def numbers(table: Table, metric: str, rows: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """What pairs of rows have of a metric, where both have a number."""
    values = table.values(metric)
    both = ((values[i], values[j]) for i, j in rows)
    return [(float(p), float(q)) for p, q in both if is_number(p) and is_number(q)]


def tells_apart(table: Table, column: str, first: str) -> bool:
    """Whether the column has one value for each of the two, and another for the other."""
    pairs = set(zip(table.values(first), table.values(column), strict=True))
    return len(pairs) == len(set(table.values(first))) and len({v for _, v in pairs}) > 1


def apart(table: Table, column: str, first: str, a: Value | None, b: Value | None) -> str:
    """`bag size (4 against 10)`: what another column holds for either."""
    of, besides = dict(zip(table.values(first), table.values(column), strict=True)), table.column(column)
    return f"{besides.label} ({describe(besides, of[a])} against {describe(besides, of[b])})"
