"""Configurations of a result: rows that differ in nothing but the seed, their mean, and the Pareto front of them."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from mirror.query.roles import Roles, compared, deviation_of
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
    """

    key: dict[str, Value | None]
    means: dict[str, float]
    deviations: dict[str, float] = field(default_factory=dict)
    trials: int = 1


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
    for values, rows in groups.items():
        means, deviations = {}, {}
        for m in metrics:
            column = table.values(m)
            samples = [float(v) for i in rows if is_number(v := column[i])]
            means[m] = statistics.fmean(samples)
            deviation = deviation_of(table, m)
            known = table.values(deviation)[rows[0]] if deviation else None
            if len(samples) > 1:
                deviations[m] = statistics.stdev(samples)
            elif is_number(known):
                deviations[m] = float(known)
        counted = table.values(roles.count)[rows[0]] if roles.count else None
        trials = int(counted) if is_number(counted) else len(rows)
        found.append(Configuration(dict(zip(keys, values, strict=False)), means, deviations, trials))
    return found


def badness(column: Column, value: float) -> float:
    """The value, turned so that less is better."""
    return -value if column.better == "higher" else value


def pareto_front(found: Sequence[Configuration], x: Column, y: Column) -> list[Configuration]:
    """The configurations that no other one beats: at least as good in both metrics and better in one.

    Sorted by x, ascending. Equal ones are all kept.
    """
    points = [(badness(x, c.means[x.name]), badness(y, c.means[y.name])) for c in found]
    front = [
        c
        for c, (a, b) in zip(found, points, strict=True)
        if not any(p <= a and q <= b and (p, q) != (a, b) for p, q in points)
    ]
    return sorted(front, key=lambda c: (c.means[x.name], c.means[y.name]))


def repeats(table: Table, columns: Sequence[str]) -> float:
    """Median number of rows that agree in all of the columns."""
    values = [table.values(c) for c in columns]
    return statistics.median(Counter(tuple(v[i] for v in values) for i in range(len(table.rows))).values())
