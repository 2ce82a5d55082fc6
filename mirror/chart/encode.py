"""The places of a chart of each kind: which column is on x and y, which tells colours, and which has panels."""

import math
from collections.abc import Callable
from dataclasses import replace

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import MOST_COLORS, MOST_FACETS, MOST_METRICS, fits, is_unique, narrowed
from mirror.chart.facts import Facts
from mirror.chart.finish import completed, scaled
from mirror.chart.places import cell, for_bars, for_lines, for_points, one_value, own_panel, telling
from mirror.query.spec import ChartType

MOST_BARS_OF_ROWS = 20  # a bar per row, named by all that differs; with more, metrics have axes instead of panels
_MOST_HISTOGRAMS = 3  # in one panel


def encoded(kind: ChartType, facts: Facts) -> ChartSpec:
    """A chart of the kind with the columns that suit it best; `fits` says whether it can be drawn."""
    place = _PLACES.get(kind)
    return finished(place(facts) if place else ChartSpec(kind), facts)


def finished(chart: ChartSpec, facts: Facts) -> ChartSpec:
    """A chart with all that its columns bring about."""
    return scaled(completed(chart, facts), facts.table)


def _scatter(facts: Facts) -> ChartSpec:
    # One metric along a parameter is a scatter as well.
    columns = facts.metrics[:2] if len(facts.metrics) > 1 else (*facts.parameters[:1], *facts.metrics)
    if len(columns) < 2:
        return ChartSpec("scatter", y=columns[0] if columns else None)
    x, y = columns
    color = for_points(facts, [k for k in facts.keys if k != x], facts.lead)
    facet = next((k for k in facts.domain.apart if k in facts.keys and k not in (x, color)), None)
    return ChartSpec("scatter", x=x, y=y, color=color, facet=facet)


def _line(facts: Facts) -> ChartSpec:
    roles, times, parameters = facts.roles, facts.times, facts.parameters
    # Trials carry their start beside what they measure; only a grouped time, or one that comes first, is the x axis.
    along_time = times and (not parameters or not roles.raw or facts.table.names[0] == times[0])
    few = [k for k in facts.keys if k in roles.parameters]  # two values make a line only where it is wished
    x = next(iter(times if along_time else (*parameters, *times, *few)), None)
    metrics = facts.metrics[:MOST_METRICS]
    color, facet = for_lines(facts, x, panels=len(metrics) < 2)
    if along_time and roles.raw:
        # Machines stand side by side on one time axis.
        facet = own_panel(facts.table, [k for k in facts.keys if k not in (x, facts.domain.machine)])
        color = for_points(facts, [k for k in facts.keys if k not in (x, facet)])
    several = metrics if len(metrics) > 1 and facet is None else ()
    return ChartSpec("line", x=x, y=facts.metric, color=color, facet=facet, metrics=several)


def _bars(facts: Facts) -> ChartSpec:
    table, metrics = facts.table, _panels_of_bars(facts)
    x, color, facet = for_bars(facts, facts.keys, panels=not metrics, lead=facts.lead)
    chart = ChartSpec("bar", x=x, y=facts.metric, color=color, facet=facet, metrics=metrics)
    few = len(table.rows) <= MOST_BARS_OF_ROWS
    if is_unique(table, cell(chart)) and not (few and _mostly_empty(facts, chart)):
        return chart
    if x and not few and not fits(whole := completed(chart, facts), table):
        several = len(narrowed(table, whole.only).values(x).different) > 1
        return chart if several else _replaced(chart, facts)
    return replace(chart, x=None, color=facts.lead or facts.rival, facet=None)


def ranked_bars(facts: Facts) -> ChartSpec:
    """Bars in the order of a ranking, named by the one thing that is ranked where there is one."""
    others = [k for k in facts.keys if k != facts.domain.rival]
    name = others[0] if len(others) == 1 and others[0] in facts.roles.names else None
    x = facts.keys[0] if len(facts.keys) == 1 else name
    x = x if x and is_unique(facts.table, [x]) else None
    # Who won is told even where it is always the same.
    color = next((n for n in facts.roles.names if n == facts.domain.rival), None)
    chart = ChartSpec("bar", x=x, y=facts.metric, color=color, metrics=_panels_of_bars(facts))
    return finished(chart, facts)


def _panels_of_bars(facts: Facts) -> tuple[str, ...]:
    """The metrics that have a panel each; empty for one alone."""
    several = len(facts.metrics) > 1 and len(facts.table.rows) <= MOST_BARS_OF_ROWS
    return facts.metrics[:MOST_METRICS] if several else ()


def _mostly_empty(facts: Facts, chart: ChartSpec) -> bool:
    """Whether bars would stand at less than half of the places: then each row has a bar with a name of its own."""
    return len(facts.table.rows) * 2 < math.prod(map(facts.size, set(cell(chart))))


def _replaced(chart: ChartSpec, facts: Facts) -> ChartSpec:
    """The bars along the key, in panels of the key, that leave the most to draw; of equals the longest axis.

    For settings that are no grid: one value of each other key may leave a single place.
    """
    rest = [k for k in facts.keys if k != chart.color]
    panels = [chart.facet] if chart.facet else [None, *facts.few(rest, MOST_FACETS)]
    charts = [replace(chart, x=x, facet=facet) for x in rest for facet in panels if x != facet]

    def drawn(chart: ChartSpec) -> tuple[int, int]:
        others = [k for k in rest if k not in cell(chart)]
        shown = narrowed(facts.table, one_value(facts.table, others, cell(chart)))
        return len(shown.rows), len(shown.values(chart.x or "").different)

    return max(charts, key=drawn)


def _boxes(facts: Facts) -> ChartSpec:
    facet = own_panel(facts.table, [k for k in facts.keys if k != facts.lead])
    rest = [k for k in facts.keys if k != facet]
    x, color, _ = for_bars(facts, rest, panels=False)
    if len(rest) > 2:
        color, machine = facts.rival or rest[0], facts.domain.machine
        x = machine if machine in rest else facts.lead or color  # boxes never hold two machines
    color = color if color and facts.few([color], MOST_COLORS) else None
    return ChartSpec("box", x=x, y=facts.metric, color=color, facet=facet)


def _histogram(facts: Facts) -> ChartSpec:
    facet = next((k for k in facts.domain.apart if k in facts.keys), None)
    few = facts.few([k for k in telling(facts.table, facts.keys) if k != facet], _MOST_HISTOGRAMS)
    color = next((k for k in (facts.rival, facts.domain.machine, *facts.keys[:1]) if k in few), None)
    return ChartSpec("histogram", x=facts.metric, color=color, facet=facet)


def _heatmap(facts: Facts) -> ChartSpec:
    x = next(iter((*facts.parameters, *facts.keys)), None)
    y = next((k for k in facts.keys if k != x), None)
    return ChartSpec("heatmap", x=x, y=y, color=facts.metric)


def _parallel(facts: Facts) -> ChartSpec:
    facet = own_panel(facts.table, facts.keys)
    color = facts.lead or for_points(facts, [k for k in facts.keys if k != facet])
    return ChartSpec("parallel", color=color, facet=facet, metrics=facts.metrics[:MOST_METRICS])


_PLACES: dict[ChartType, Callable[[Facts], ChartSpec]] = {
    "scatter": _scatter, "line": _line, "bar": _bars, "box": _boxes, "histogram": _histogram, "heatmap": _heatmap,
    "parallel": _parallel,
}  # fmt: skip
