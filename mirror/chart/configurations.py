"""Configurations of a result: rows that differ in nothing but the seed, their mean, and the Pareto front of them."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mirror.query.roles import Roles, compared
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number


@dataclass(frozen=True)
class Configuration:
    """One configuration.

    Attributes:
        key: the dimensions that differ within the table (the method always), and their values here.
        means: per metric; every metric that was asked for is there.
        deviations: standard deviation per metric over the trials; absent where nobody knows it.
        trials: number of trials behind the means.
        ends: the smallest and the largest value per metric.
    """

    key: dict[str, Value | None]
    means: dict[str, float]
    deviations: dict[str, float] = field(default_factory=dict)
    trials: int = 1
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)


Groups = dict[tuple[Value | None, ...], list[Configuration]]


def configurations(
    table: Table, roles: Roles, metrics: Sequence[str], named: Sequence[str] = ()
) -> list[Configuration]:
    """The configurations with a value of every metric, in the order of the table.

    `named` are columns that the keys hold whether or not they say anything new.
    """
    rival = [c for c in table.names if c == table.domain.rival]
    keys = list(dict.fromkeys([*rival, *compared(table, roles), *named]))
    groups: dict[tuple[Value | None, ...], list[int]] = defaultdict(list)
    measured, named_by = ([table.names.index(c) for c in columns] for columns in (metrics, keys))
    for i, row in enumerate(table.rows):
        if all(is_number(row[m]) for m in measured):
            key = tuple(row[k] for k in named_by)
            groups[key if roles.raw else (*key, i)].append(i)
    found = []
    spreads = {m: _Spread(table, m) for m in metrics}
    counts = table.values(roles.count) if roles.count else None
    for values, rows in groups.items():
        means, deviations, ends = {}, {}, {}
        for m, spread in spreads.items():
            means[m], deviation = spread.pooled(rows)
            if deviation is not None:
                deviations[m] = deviation
            ends[m] = spread.ends(rows)
        counted = counts[rows[0]] if counts else None
        trials = int(counted) if is_number(counted) else sum(table.tallies[i] for i in rows)
        found.append(Configuration(dict(zip(keys, values, strict=False)), means, deviations, trials, ends))
    return found


class _Spread:
    """The values of a metric, and how they spread where each stands for several."""

    def __init__(self, table: Table, metric: str) -> None:
        self._values, self._tallies = table.values(metric), table.tallies
        column = table.spread_column(metric, "deviation")
        self._deviations: Sequence[Value | None] = table.values(column) if column else (None,) * len(table.rows)
        self._low, self._high = (
            table.values(table.spread_column(metric, end) or metric) for end in ("smallest", "largest")
        )

    def ends(self, rows: Sequence[int]) -> tuple[float, float]:
        """The smallest and the largest value of rows."""
        if len(rows) == 1 and is_number(low := self._low[rows[0]]) and is_number(high := self._high[rows[0]]):
            return float(low), float(high)
        return min(_numbers(self._low, rows)), max(_numbers(self._high, rows))

    def pooled(self, rows: Sequence[int]) -> tuple[float, float | None]:
        """The mean and the standard deviation over rows that each may stand for several."""
        if len(rows) == 1 and is_number(value := self._values[rows[0]]):  # most of them, in a long table
            deviation = self._deviations[rows[0]]
            return float(value), float(deviation) if is_number(deviation) else None
        means, counts = _numbers(self._values, rows), [self._tallies[i] for i in rows]
        known = [self._deviations[i] for i in rows]
        if set(counts) == {1}:
            return statistics.fmean(means), statistics.stdev(means)
        mean = statistics.fmean(means, counts) if len(set(means)) > 1 else means[0]
        within = sum(_squares(n, d) for n, d in zip(counts, known, strict=True))
        between = sum(n * (m - mean) ** 2 for n, m in zip(counts, means, strict=True))
        spread = math.sqrt((within + between) / (sum(counts) - 1))
        return mean, None if math.isnan(spread) else spread


def _numbers(values: Sequence[Value | None], rows: Sequence[int]) -> list[float]:
    return [float(v) for i in rows if is_number(v := values[i])]


def _squares(count: int, deviation: Value | None) -> float:
    """The sum of the squares around a mean; NaN where nobody knows it."""
    if is_number(deviation):
        return (count - 1) * float(deviation) ** 2
    return 0.0 if count == 1 else math.nan


def by(found: Iterable[Configuration], columns: Sequence[str]) -> Groups:
    """The configurations by what they have in the columns."""
    groups: Groups = defaultdict(list)
    for c in found:
        groups[tuple(c.key.get(k) for k in columns)].append(c)
    return dict(groups)


def badness(column: Column, value: float) -> float:
    """The value, turned so that less is better."""
    return -value if column.better == "higher" else value


def pareto_front(found: Sequence[Configuration], x: Column, y: Column) -> list[Configuration]:
    """The configurations that no other one beats: at least as good in both metrics and better in one.

    Sorted by x, ascending. Equal ones are all kept.
    """
    points = [(badness(x, c.means[x.name]), badness(y, c.means[y.name])) for c in found]
    unbeaten: set[tuple[float, float]] = set()
    least = math.inf
    for across, up in sorted(set(points)):
        if up < least:
            unbeaten.add((across, up))
            least = up
    front = [c for c, point in zip(found, points, strict=True) if point in unbeaten]
    return sorted(front, key=lambda c: (c.means[x.name], c.means[y.name]))


def repeats(table: Table, columns: Sequence[str]) -> float:
    """Median number of rows that agree in all of the columns."""
    values = [table.values(c) for c in columns]
    return statistics.median(Counter(tuple(v[i] for v in values) for i in range(len(table.rows))).values())
