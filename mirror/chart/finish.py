"""What follows from the places of a chart: symbols, Pareto fronts, what is drawn alone, scales, and why this chart."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mirror.chart.chart_facts import Facts
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import TWO_DECADES, axes, hardly_differ, is_unique, narrowed, spans
from mirror.chart.places import alike, cell, one_value, rest_of_lines, telling
from mirror.chart.scaling import scales
from mirror.table.table import Table
from mirror.table.wording import join

_MOST_FRONTS = 3  # in one panel
_VALUES_OF_A_LINE = 3


def completed(chart: ChartSpec, facts: Facts) -> ChartSpec:
    """The chart with the symbols, the fronts, what is drawn alone, and the reason that its columns bring about."""
    table, roles = facts.table, facts.roles
    keys = [k for k in facts.keys if k not in (chart.x, chart.y)]
    several = chart.type in ("bar", "line") and chart.metrics[:1] == (chart.y,) and chart.facet is None
    metrics = chart.metrics if several else axes(chart, table) if chart.type == "parallel" else ()
    chart = replace(chart, symbol=None, metrics=metrics, pareto=False, fronts=(), dots=False, ideal=False, only=())
    if chart.type == "scatter" and chart.x and chart.y:
        chart = _with_fronts(chart, facts, keys)
    elif chart.type == "line" and chart.x:
        # Trials along time are of all kinds of work: each is drawn, and lines join those that are alike.
        chart = _with_series(chart, facts, keys, narrow=not (roles.raw and chart.x in roles.times))
    else:
        chart = _with_one_value(chart, facts, keys)
    others = [table.label(m) for m in roles.metrics if m not in (chart.x, chart.y, chart.color, *metrics)]
    if others and chart.type in ("scatter", "line", "bar"):
        chart = replace(chart, reason=f"{chart.reason} The table holds {join(others)} as well.")
    return chart


def _with_fronts(chart: ChartSpec, facts: Facts, keys: Sequence[str]) -> ChartSpec:
    """A scatter with its symbols and its Pareto front: different work has a front each, or none where it is much."""
    table, domain = facts.table, facts.domain
    trials = facts.roles.raw and not {domain.rival, *domain.repeated_by}.isdisjoint(table.names)
    apart = next((k for k in (domain.machine, facts.lead) if k in keys and k not in (chart.color, chart.facet)), None)
    row = domain.row if trials else "row"
    reason = f"{table.label(chart.x)} against {table.label(chart.y)}, one point per {row}."
    chart = replace(chart, symbol=apart or chart.color, reason=reason)
    if not all(table.column(c).better for c in (chart.x, chart.y) if c):
        return chart
    # Neither different work nor what has a panel of its own can be on one front, whatever its colour.
    work = [k for k in keys if k in (*domain.work, *domain.apart, chart.facet)]
    every = table.everything
    mixed = [k for k in telling(every, work) if k != chart.facet]
    if not mixed:
        return replace(chart, pareto=True)
    values = [every.values(chart.facet) if chart.facet else [None] * len(every.rows), *map(every.values, mixed)]
    rows = Counter(zip(*values, strict=True))
    panels = Counter(panel for panel, *_ in rows)
    names = " and ".join(map(table.label, mixed))
    together = not set(mixed) & set(domain.apart) - {domain.machine}  # fronts of two data sets would cross in one panel
    if together and max(panels.values()) <= _MOST_FRONTS and max(rows.values()) > 1:
        return replace(chart, fronts=tuple(mixed), reason=f"{reason} Each {names} has a Pareto front of its own.")
    differ = "differs" if len(mixed) == 1 else "differ"
    return replace(chart, reason=f"{reason} No Pareto front, since {names} {differ} as well.")


def _with_series(chart: ChartSpec, facts: Facts, keys: Sequence[str], narrow: bool) -> ChartSpec:
    """Lines with their symbols, what is drawn alone, and the ideal course along threads."""
    table = facts.table
    symbol, only = rest_of_lines(facts, chart, keys)
    chart = replace(chart, symbol=symbol or chart.color, only=only if narrow else ())
    chart = replace(chart, ideal=scales(chart, narrowed(table, chart.only)))
    reason = f"{join(map(table.label, chart.metrics or (chart.y,)))} along {table.label(chart.x)}."
    if chart.ideal:
        reason += " Dotted: every thread does as much as the first ones."
    if same := alike(table, keys, chart):
        reason += f" Lines that look alike differ in {join(map(table.label, same))}."
    return replace(chart, reason=reason)


def _with_one_value(chart: ChartSpec, facts: Facts, keys: Sequence[str]) -> ChartSpec:
    """A chart of areas: what has no place is drawn for one value, where marks would lie on one another."""
    table = facts.table
    rest = [k for k in telling(table, keys) if k not in (chart.facet, chart.color)]
    if chart.type == "heatmap":
        chart = replace(chart, only=one_value(table, rest, (chart.x, chart.y)))
    elif chart.type == "bar" and chart.x and not is_unique(table, cell(chart)):
        chart = replace(chart, only=one_value(table, rest, cell(chart), facts.lead))
    return replace(chart, dots=chart.type == "bar" and _would_look_alike(chart, table), reason=_what(chart, table))


def _what(chart: ChartSpec, table: Table) -> str:
    """What a chart shows that has neither fronts nor series, as a sentence."""
    x, y = table.label(chart.x), join(map(table.label, chart.metrics or (chart.y,)))
    if chart.type == "parallel":
        known = [table.label(m) for m in chart.metrics if table.column(m).better]
        up = "; better is up" if known else ""
        up += f" for {join(known)}" if 0 < len(known) < len(chart.metrics) else ""
        return f"{y}: a line for each row, an axis for each number{up}."
    return {
        "bar": f"{y} by {x}." if chart.x else f"{y} of each row.",
        "box": f"How {y} is distributed.",
        "histogram": f"How {x} is distributed.",
        "heatmap": f"{table.label(chart.color)} for every {x} and {y}.",
        "table": "Shown as a table.",
    }.get(chart.type, "")


def _would_look_alike(chart: ChartSpec, table: Table) -> bool:
    """Whether some number that is drawn differs too little for bars from zero.

    Of other data, money among them, nobody knows whether a small difference matters: their bars start at zero, as
    those of a number of trials do.
    """
    shown = narrowed(table, chart.only)
    columns = [
        m for m in chart.metrics or (chart.y,) if m and table.column(m).role != "count" and table.column(m).source
    ]
    return any(hardly_differ(shown, c) for c in columns)


def scaled(chart: ChartSpec, table: Table) -> ChartSpec:
    """The chart with logarithmic axes where the numbers ask for them."""
    shown = narrowed(table, chart.only)
    if chart.type == "scatter":
        log_x, log_y = (spans(shown, c, TWO_DECADES, chart.facet) for c in (chart.x, chart.y))
        return replace(chart, log_x=log_x, log_y=log_y)
    if chart.type == "line" and chart.x:
        numbers = shown.values(chart.x).numbers
        doubling = len(numbers) >= _VALUES_OF_A_LINE and all(v > 0 and math.log2(v).is_integer() for v in numbers)
        log_x = doubling or (table.column(chart.x).setting and spans(shown, chart.x, 10, chart.facet))
        # The ideal course is straight where both axes are logarithmic.
        ratio = 1.0 if chart.ideal and log_x else TWO_DECADES
        log_y = any(spans(shown, m, ratio, chart.facet) for m in chart.metrics or (chart.y,))
        return replace(chart, log_x=log_x, log_y=log_y)
    return chart
