"""How a metric would run along threads if all of them did as much as the first ones do."""

from collections import defaultdict

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.places import most_lines
from mirror.table.table import Column, Table
from mirror.table.values import is_number

# Units of what twice the threads would double, and of what they would halve.
_RATES = ("examples/s", "GB/s")
_TIMES = ("µs", "s")
_MOST_LINES = 4  # each has an ideal of its own


def scales(chart: ChartSpec, table: Table) -> bool:
    """Whether to draw the ideal course beside lines: along threads, for rates and times, and for few lines.

    A speedup has one where it is over the fewest threads: every line starts at 1 and leaves it. The speedup of the
    results is over the baseline with the same threads, so the baseline stays at 1, and there is no ideal.
    """
    if chart.x is None or chart.x != table.domain.parallel or not table.values(chart.x).numeric:
        return False
    if most_lines(table, chart.facet, chart.color, chart.symbol) > _MOST_LINES:
        return False
    columns = chart.metrics or (chart.y or "",)
    return any(
        has_ideal(table.column(m)) and (table.column(m).unit != "x" or _starts_at_one(chart, table, m)) for m in columns
    )


def has_ideal(column: Column) -> bool:
    """Whether the unit of a column says how it would follow the threads."""
    return column.unit in (*_RATES, *_TIMES, "x")


def ideal(column: Column, threads: float, value: float, at: float) -> float:
    """What a line with this value at some threads would reach at others."""
    return value * threads / at if column.unit in _TIMES else value * at / threads


def _starts_at_one(chart: ChartSpec, table: Table, column: str) -> bool:
    names = [table.values(c) for c in (chart.facet, chart.color, chart.symbol) if c]
    lines: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)
    for i, (threads, value) in enumerate(zip(table.values(chart.x or ""), table.values(column), strict=True)):
        if is_number(threads) and is_number(value):
            lines[tuple(n[i] for n in names)].append((threads, value))
    courses = [[v for _, v in sorted(line)] for line in lines.values()]
    return all(abs(c[0] - 1) < 1e-6 and max(c) - min(c) > 1e-6 for c in courses)
