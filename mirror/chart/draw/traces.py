"""The marks of points and lines for one panel, as Plotly traces built from lists; and what all marks share."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import badness, by, configurations, pareto_front
from mirror.chart.draw.palette import Look, faint
from mirror.chart.draw.panel import GREY, Panel, Style, hover, rows_behind, safe, value_axis
from mirror.chart.drawable import MOST_BANDS, MOST_WHISKERS
from mirror.chart.scaling import has_ideal, ideal
from mirror.query.roles import spread
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table

_POINT = 9
_RIM, _MOST_RIMS = 5, 3  # pixels by which a point is larger than the one on it, and how often
_RING = 15
_MOST_UNSEEN = 200  # points of a line
_MOST_COUNTS = 20  # of places with several equal points: more numbers beside them would hide points in turn
OUTLINE = {"width": 1, "color": "white"}
HOVER = {"hoverinfo": "text"}
SILENT = {"hoverinfo": "skip"}
GUIDE = {"color": GREY, "width": 1.5, "dash": "dot"}


def scatter(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """One point per row; the Pareto front of the configurations' means behind them."""
    x, y = table.values(chart.x or ""), table.values(chart.y or "")
    traces: list[Any] = _fronts(table, chart, style)
    series = groups(table, range(len(table.rows)), chart.color, chart.symbol)
    places = list(zip(x, y, strict=True))
    sizes = _sizes(places, list(series.values()))
    for (color, symbol), rows in series.items():
        look = style.look(color, symbol)
        here: dict[Any, list[int]] = defaultdict(list)
        for i in rows:
            here[places[i]].append(i)
        equal = 0 < sum(len(same) > 1 for same in here.values()) <= _MOST_COUNTS
        last = {places[i]: i for i in rows}  # drawn last, it bears the count of those that it hides
        traces.append(
            go.Scatter(
                x=[x[i] for i in rows],
                y=[y[i] for i in rows],
                mode="markers+text" if equal else "markers",
                text=[f"×{n}" if (n := len(here[places[i]])) > 1 and last[places[i]] == i else "" for i in rows]
                if equal
                else None,
                textposition="middle right",
                textfont={"size": 10},
                marker={
                    "color": look.color,
                    "symbol": look.symbol,
                    "size": [sizes.get(i, _POINT) for i in rows] if any(i in sizes for i in rows) else _POINT,
                    "line": OUTLINE,
                },
                error_x=whiskers(table, chart.x, rows),
                error_y=whiskers(table, chart.y, rows),
                hovertext=[_hover_of_equals(table, i, len(here[places[i]])) for i in rows],
                customdata=rows_behind(table, (here[places[i]] for i in rows)),
                **HOVER,
                **style.legend(color, symbol),
            )
        )
    return Panel(
        traces,
        value_axis(table, chart.x or "", chart.log_x, at_values=table.column(chart.x or "").setting, room=style.room),
        value_axis(table, chart.y or "", chart.log_y),
    )


def _hover_of_equals(table: Table, row: int, count: int) -> str:
    return f"one of {count:,} at this place<br>{hover(table, row)}" if count > 1 else hover(table, row)


def _sizes(places: Sequence[tuple[Any, Any]], series: Sequence[Sequence[int]]) -> dict[int, int]:
    """Sizes of the points that others lie on: what is drawn first is larger, so that a rim of each series shows."""
    above: Counter[tuple[Any, Any]] = Counter()
    sizes = {}
    for rows in reversed(series):
        sizes.update({i: _POINT + _RIM * min(n, _MOST_RIMS) for i in rows if (n := above[places[i]])})
        above.update({places[i] for i in rows})
    return sizes


def line(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """A line per series along x, with whiskers or a band where the table says how far values spread.

    Several rows at one x are drawn as points, and the line goes through their mean; where they are too many for
    points, a band goes from the lowest to the highest.
    """
    x, y = table.values(chart.x or ""), table.values(chart.y or "")
    traces: list[Any] = []
    # Along time a line tells how one configuration changed, so trials of two seeds are not on one.
    along_time = table.values(chart.x or "").temporal
    repeats = [c.name for c in table.columns if along_time and c.role == "repetition"]
    others = [k for k in (*style.keys, *repeats) if k not in (chart.x, chart.color, chart.symbol, chart.facet)]
    series = groups(table, range(len(table.rows)), chart.color, chart.symbol, *others)
    longest = max((len({x[i] for i in rows}) for rows in series.values()), default=0)
    metric, reach = table.column(chart.y or ""), spread(table, chart.y or "")
    for (color, symbol, *_), rows in series.items():
        look, legend = style.look(color, symbol), style.legend(color, symbol)
        at: dict[Any, list[int]] = defaultdict(list)
        for i in sorted(rows, key=lambda i: x[i]):  # type: ignore[arg-type, return-value]
            at[x[i]].append(i)
        repeated, long = len(at) < len(rows), len(at) > MOST_WHISKERS
        means = [sum(y[i] for i in same) / len(same) for same in at.values()]  # type: ignore[misc]
        marker = {"color": look.color, "symbol": look.symbol, "size": _POINT - 1}
        if long and len(series) <= MOST_BANDS:
            traces += _band(table, chart, at, reach, look.color, legend)
        if repeated and not long:
            traces.append(
                go.Scatter(
                    x=[x[i] for i in rows],
                    y=[y[i] for i in rows],
                    mode="markers",
                    marker={**marker, "size": _POINT - 3},
                    opacity=0.55,
                    hovertext=[hover(table, i) for i in rows],
                    customdata=rows_behind(table, ([i] for i in rows)),
                    **HOVER,
                    **legend,
                )
            )
        plain = len(at) > 1 and (repeated or long)
        # Points that are not seen can be clicked; very many would slow the page down.
        unseen = long and len(at) <= _MOST_UNSEEN
        traces.append(
            go.Scatter(
                x=list(at),
                y=means,
                mode="lines" if plain and not unseen else "lines+markers",
                line={"color": look.color, "width": 1 if style.is_other(color) else 2, "dash": style.dash(symbol)},
                marker={**marker, "opacity": 0} if unseen else marker,
                error_y=None if repeated or long else whiskers(table, chart.y, [same[0] for same in at.values()]),
                hovertext=[_hover_of_mean(table, chart, same, m) for same, m in zip(at.values(), means, strict=True)],
                customdata=rows_behind(table, at.values()),
                **HOVER,
                **legend,
            )
        )
        if chart.x and chart.x == table.domain.size and len(at) == 1 and longest > 1:
            # What is not compressed has no line: a guide across lets the others be read against it.
            ends = table.values(chart.x).distinct
            guide = {"color": look.color, "width": 1, "dash": "dot"}
            traces.append(go.Scatter(x=[ends[0], ends[-1]], y=means * 2, mode="lines", line=guide, **SILENT, **legend))
        if chart.ideal and has_ideal(metric):
            first, ends = next(iter(at)), table.values(chart.x or "").distinct
            course = [ideal(metric, first, means[0], v) for v in ends]  # type: ignore[arg-type]
            traces.append(go.Scatter(x=ends, y=course, mode="lines", line=GUIDE, **SILENT, **entry("ideal")))
    return Panel(
        traces,
        value_axis(table, chart.x or "", chart.log_x, at_values=True, room=style.room),
        value_axis(table, chart.y or "", chart.log_y),
        reference=like_the_baseline(metric),
    )


def groups(table: Table, rows: Sequence[int], *columns: str | None) -> dict[tuple[Any, ...], list[int]]:
    """The rows by their values in the columns, in the order of the values; None stands for an unused column."""
    values = [table.values(c) if c else None for c in columns]
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i in rows:
        found[tuple(v[i] if v else None for v in values)].append(i)
    order = [{v: k for k, v in enumerate(table.values(c).distinct)} if c else {None: 0} for c in columns]
    return dict(sorted(found.items(), key=lambda g: [o[v] for o, v in zip(order, g[0], strict=True)]))


def _fronts(table: Table, chart: ChartSpec, style: Style) -> list[Any]:
    """The Pareto front as steps: below and beside them nothing measured is better. Different work has one each.

    Rings mark the points that it goes through: of trials that differ in the seed alone it is their mean.
    """
    x, y = chart.x or "", chart.y or ""
    across, up = table.column(x), table.column(y)
    if not (chart.pareto or chart.fronts) or not (across.better and up.better):
        return []
    traces = []
    found = configurations(_measured(table, chart), style.roles, (x, y), chart.fronts)
    for work, members in by(found, chart.fronts).items():
        front = [
            c
            for c in pareto_front(members, across, up)
            if (c.means[x] > 0 or not chart.log_x) and (c.means[y] > 0 or not chart.log_y)
        ]
        told = [safe(describe(table.column(k), v)) for k, v in zip(chart.fronts, work, strict=True)]
        if front:
            traces.append(
                go.Scatter(
                    x=[c.means[x] for c in front],
                    y=[c.means[y] for c in front],
                    mode="lines+markers",
                    marker={"symbol": "circle-open", "size": _RING, "color": GREY, "line": {"width": 1}},
                    # Between two of its points, what can be had is the one on the better side in x.
                    line={**GUIDE, "shape": "hv" if badness(across, 1.0) > 0 else "vh"},
                    hovertext=" · ".join(["Pareto front", *told]),
                    hoverinfo="text" if told else "skip",
                    **entry("Pareto front"),
                )
            )
    return traces


def _measured(table: Table, chart: ChartSpec) -> Table:
    """The rows of a panel; where the row cap cut them, all that were measured."""
    whole = table.everything
    if any(whole.values(c).empty for c in (chart.x, chart.y, chart.facet, *chart.fronts) if c):
        return table
    if not chart.facet:
        return whole
    panel, values = table.values(chart.facet)[0], whole.values(chart.facet)
    return whole.kept(v == panel for v in values)


def entry_trace(kind: str, legend: dict[str, Any], look: Look, dash: str) -> go.Scatter:
    """An entry of the legend that names a colour or a symbol alone; it draws nothing."""
    return go.Scatter(
        x=[None], y=[None], mode="lines+markers" if kind == "line" else "markers",
        line={"color": look.color, "width": 2, "dash": dash},
        marker={"color": look.color, "symbol": look.symbol, "size": _POINT - 1}, **SILENT, **legend,
    )  # fmt: skip


def entry(name: str) -> dict[str, Any]:
    """The legend of what is drawn beside the rows."""
    return {"name": name, "legendgroup": name, "legendrank": 1000, "showlegend": False}


def _band(
    table: Table,
    chart: ChartSpec,
    at: dict[Any, list[int]],
    reach: tuple[list[float], list[float]] | None,
    color: str,
    legend: dict[str, Any],
) -> list[Any]:
    """How far the values along a line spread: their deviation or interval, or from the lowest to the highest row."""
    y = table.values(chart.y or "")
    if reach is None and len(at) == sum(map(len, at.values())):
        return []
    below, above = reach or ([0.0] * len(y), [0.0] * len(y))
    low = [min(y[i] - below[i] for i in same) for same in at.values()]  # type: ignore[operator]
    high = [max(y[i] + above[i] for i in same) for same in at.values()]  # type: ignore[operator]
    if chart.log_y and min(low) <= 0:
        return []
    return [
        go.Scatter(
            x=[*at, *reversed(at)],
            y=[*high, *reversed(low)],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=faint(color),
            **SILENT,
            **legend,
        )
    ]


def whiskers(table: Table, column: str | None, rows: Sequence[int]) -> dict[str, Any] | None:
    """Error bars of the rows, or None where the table does not say how far values spread."""
    reach = spread(table, column or "")
    if reach is None:
        return None
    below, above = reach
    return {
        "type": "data", "array": [above[i] for i in rows], "arrayminus": [below[i] for i in rows], "symmetric": False,
        "thickness": 1, "width": 3, "color": GREY,
    }  # fmt: skip


def _hover_of_mean(table: Table, chart: ChartSpec, rows: Sequence[int], mean: float) -> str:
    if len(rows) == 1:
        return hover(table, rows[0])
    return f"mean of {len(rows)}: <b>{safe(format_value(table.column(chart.y or ''), mean))}</b>"


def like_the_baseline(column: Column) -> float | None:
    """Where a factor says that nothing differs."""
    return 1.0 if column.unit == "x" else None
