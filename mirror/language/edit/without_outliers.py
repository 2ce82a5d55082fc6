"""Outliers of a result, and the filters that leave them out: beyond 1.5 interquartile ranges (Tukey 1977)."""

import math
import statistics
from collections.abc import Sequence

from mirror.query.errors import Refusal
from mirror.query.roles import roles_of
from mirror.query.spec import Filter, QuerySpec
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.numbers import format_value
from mirror.table.table import Table
from mirror.table.values import Value, is_number
from mirror.table.wording import counted, in_words, shortened

_RANGES = 1.5
_FEWEST = 4  # values that have quartiles


def outlier_filters(before: QuerySpec, table: Table | None) -> tuple[tuple[Filter, ...], list[str]]:
    """Filters that leave the outliers of the leading metric out, and notes that name them.

    Single trials are left out by a limit on the metric. Groups are left out by the dimension that tells them from all
    others where there is one, else by a limit on the trials behind them.

    Args:
        before: the question whose result it is.
        table: the result, or None.

    Raises Refusal where there is no result, no outlier, or no way to tell them apart.
    """
    if table is None:
        raise Refusal("There is no result to look for outliers in: ask for one first, such as “latency by method”.")
    roles = roles_of(table, before)
    if not roles.metrics:
        raise Refusal("The result holds no numbers to look for outliers in: ask for a metric first.")
    metric = roles.metrics[0]
    column, values = table.column(metric), table.values(metric)
    numbers = [float(v) for v in values if is_number(v)]
    label = column.label
    if len(numbers) < _FEWEST:
        raise Refusal(f"{counted(len(numbers), 'value')} of {label} are too few to tell outliers by.")
    low, high = _fences(numbers)
    rows = [i for i, v in enumerate(values) if is_number(v) and not low <= v <= high]
    if not rows:
        span = f"{format_value(column, min(numbers))} to {format_value(column, max(numbers))}"
        raise Refusal(
            f"No outlier: all {counted(len(numbers), 'value')} of {label} ({span}) lie within {_RANGES} interquartile "
            "ranges of the middle half."
        )
    named = shortened([_name(table, i, roles.dimensions, metric) for i in rows])
    notes = [f"without {counted(len(rows), 'outlier')} of {label}: {named}"]
    if table.truncated:
        notes.append(f"outliers among the first {len(table.rows):,} rows")
    by_dimension = None if roles.raw else _telling(table, rows, roles.dimensions, before)
    if by_dimension:
        return (by_dimension,), notes
    limited = before.metrics[0].column if before.metrics else metric
    if limited not in KNOWN_COLUMNS[before.source] or metric not in (limited, *(m.alias for m in before.metrics)):
        raise Refusal(
            f"No single value tells the outliers apart ({named}): exclude them by name, as in “without dense”."
        )
    limits = _limits(limited, numbers, low, high)
    if not roles.raw:
        limit = " and ".join(f"{f.operator} {format_value(column, f.values[0])}" for f in limits)
        notes.append(f"told apart by a limit on their trials: {label} {limit}")
    return limits, notes


def _fences(numbers: Sequence[float]) -> tuple[float, float]:
    first, _, third = statistics.quantiles(numbers, n=4, method="inclusive")
    reach = _RANGES * (third - first)
    return first - reach, third + reach


def _telling(table: Table, rows: Sequence[int], dimensions: Sequence[str], before: QuerySpec) -> Filter | None:
    """The dimension whose values the outliers alone have, the asked ones first; None where there is none."""
    asked = [d for d in before.dimensions if d in dimensions]
    for column in dict.fromkeys([*asked, *dimensions]):
        values = table.values(column)
        theirs = {values[i] for i in rows}
        others = {v for i, v in enumerate(values) if i not in rows}
        if others and None not in theirs | others and not theirs & others and column in KNOWN_COLUMNS[before.source]:
            found = tuple(sorted((v for v in theirs if v is not None), key=str))
            return Filter(column, "<>" if len(found) == 1 else "not in", found)
    return None


def _limits(column: str, numbers: Sequence[float], low: float, high: float) -> tuple[Filter, ...]:
    """Limits on the metric between the outliers and the rest, as short as numbers between them can be."""
    inside = [v for v in numbers if low <= v <= high]
    found = []
    if below := [v for v in numbers if v < low]:
        found.append(Filter(column, ">", (_between(max(below), min(inside)),)))
    if above := [v for v in numbers if v > high]:
        found.append(Filter(column, "<", (_between(min(above), max(inside)),)))
    return tuple(found)


def _between(outlier: float, inlier: float) -> Value:
    """The shortest number that parts them; the outlier itself where there is none."""
    middle = (outlier + inlier) / 2
    bottom, top = sorted((outlier, inlier))
    for digits in range(1, 16):
        short = float(f"{middle:.{digits}g}")
        if bottom < short < top:
            return int(short) if short.is_integer() and math.fabs(short) < 1e15 else short
    return outlier


def _name(table: Table, row: int, dimensions: Sequence[str], metric: str) -> str:
    """`hashed at batch size 64 (1.20 ms)`."""
    key = {d: table.values(d)[row] for d in dimensions if len(set(table.values(d))) > 1}
    value = format_value(table.column(metric), table.values(metric)[row])
    return f"{in_words(table, key)} ({value})" if key else f"{table.label(metric)} {value}"
