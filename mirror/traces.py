"""The marks of each kind of chart for one panel, as Plotly traces built from lists."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from mirror import catalog
from mirror.configurations import badness, configurations, has_direction, pareto_front
from mirror.drawable import MOST_BARS
from mirror.numbers import format_number, format_value
from mirror.panel import GREY, Panel, Style, category_axis, hover, is_ordered, safe, title, value_axis
from mirror.query_spec import ChartSpec, Table, Value
from mirror.roles import distinct, is_number, spread

_MOST_VALUE_LABELS = 30
_MOST_CELL_LABELS = 100
_POINT = 9
_OUTLINE = {"width": 1, "color": "white"}
_HOVER = {"hoverinfo": "text"}


def scatter(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """One point per row; the Pareto front of the configurations' means behind them."""
    x, y = table.column(chart.x or ""), table.column(chart.y or "")
    front = chart.pareto and has_direction(chart.x or "") and has_direction(chart.y or "")
    traces: list[Any] = _front(table, chart, style) if front else []
    for (color, symbol), rows in _groups(table, _all(table), chart.color, chart.symbol).items():
        look = style.look(color, symbol)
        traces.append(
            go.Scatter(
                x=[x[i] for i in rows],
                y=[y[i] for i in rows],
                mode="markers",
                marker={"color": look.color, "symbol": look.symbol, "size": _POINT, "line": _OUTLINE},
                error_x=_whiskers(table, chart.x, rows),
                error_y=_whiskers(table, chart.y, rows),
                hovertext=[hover(table, i) for i in rows],
                **_HOVER,
                **style.legend(color, symbol),
            )
        )
    return Panel(
        traces,
        value_axis(table, chart.x or "", chart.log_x, at_values=_is_parameter(chart.x)),
        value_axis(table, chart.y or "", chart.log_y),
    )


def line(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """A line per series along x. Several rows at one x are drawn as points, and the line goes through their mean."""
    x, y = table.column(chart.x or ""), table.column(chart.y or "")
    traces: list[Any] = []
    others = [k for k in style.keys if k not in (chart.x, chart.color, chart.symbol, chart.facet)]
    groups = _groups(table, _all(table), chart.color, chart.symbol, *others)
    longest = max(len({x[i] for i in rows}) for rows in groups.values())
    for (color, symbol, *_), rows in groups.items():
        look = style.look(color, symbol)
        at: dict[Any, list[int]] = defaultdict(list)
        for i in sorted(rows, key=lambda i: x[i]):  # type: ignore[arg-type, return-value]
            at[x[i]].append(i)
        repeated = len(at) < len(rows)
        marker = {"color": look.color, "symbol": look.symbol, "size": _POINT - 1}
        if repeated:
            traces.append(
                go.Scatter(
                    x=[x[i] for i in rows],
                    y=[y[i] for i in rows],
                    mode="markers",
                    marker={**marker, "size": _POINT - 3},
                    opacity=0.55,
                    hovertext=[hover(table, i) for i in rows],
                    **_HOVER,
                    **style.legend(color, symbol),
                )
            )
        means = [sum(y[i] for i in same) / len(same) for same in at.values()]  # type: ignore[misc]
        traces.append(
            go.Scatter(
                x=list(at),
                y=means,
                mode="lines" if repeated and len(at) > 1 else "lines+markers",
                line={"color": look.color, "width": 2},
                marker=marker,
                error_y=None if repeated else _whiskers(table, chart.y, [same[0] for same in at.values()]),
                hovertext=[_hover_of_mean(table, chart, same, m) for same, m in zip(at.values(), means, strict=True)],
                **_HOVER,
                **style.legend(color, symbol),
            )
        )
        if chart.x == "compression" and len(at) == 1 and longest > 1:
            # What is not compressed has no line: a guide across lets the others be read against it.
            ends = distinct(table, chart.x)
            guide = {"color": look.color, "width": 1, "dash": "dot"}
            traces.append(
                go.Scatter(
                    x=[ends[0], ends[-1]], y=means * 2, mode="lines", line=guide, hoverinfo="skip",
                    **style.legend(color, symbol),
                )
            )  # fmt: skip
    return Panel(
        traces,
        value_axis(table, chart.x or "", chart.log_x, at_values=True),
        value_axis(table, chart.y or "", chart.log_y),
        reference=_like_the_baseline(chart),
    )


def bar(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """Bars from zero: side by side along an ordered x, else lying, the best on top."""
    y = table.column(chart.y or "")
    upright = is_ordered(table, chart.x)
    rows = _in_order(table, chart)
    at, axis = _places(table, chart, style, rows)
    rows = [i for i in rows if i in at]
    whiskers = spread(table, chart.y or "")
    bars = len(axis["tickvals"])
    shared = len({at[i] for i in rows}) < len(rows)
    traces = []
    for (color,), group in _groups(table, rows, chart.color).items():
        places, values = [at[i] for i in group], [y[i] for i in group]
        labels = [format_value(chart.y or "", v) for v in values] if len(rows) <= _MOST_VALUE_LABELS else None
        traces.append(
            go.Bar(
                x=places if upright else values,
                y=values if upright else places,
                orientation="v" if upright else "h",
                # Alone at its place a bar is wide; Plotly would widen those that have no neighbour of their colour.
                width=None if shared else 0.75,
                marker={"color": style.look(color).color, "line": {"width": 0}},
                text=labels,
                textposition="inside" if whiskers else "auto",
                insidetextanchor="start" if whiskers else "end",
                textangle=0,
                cliponaxis=False,
                # The same place in every panel; bars that stand alone must not be moved aside.
                offsetgroup=style.legend(color)["legendgroup"] if shared else None,
                hovertext=[hover(table, i) for i in group],
                **{"error_y" if upright else "error_x": _whiskers(table, chart.y, group)},
                **_HOVER,
                **style.legend(color),
            )
        )
    scale = {**value_axis(table, chart.y or ""), "rangemode": "tozero"}
    mode, reference = "group" if shared else "overlay", _like_the_baseline(chart)
    if upright:
        return Panel(traces, axis, scale, mode=mode, reference=reference)
    lying = {**axis, "autorange": "reversed"}
    return Panel(traces, scale, lying, bars=len(rows) if shared else bars, mode=mode, reference=reference)


def box(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """A box per group with every row as a point."""
    y = table.column(chart.y or "")
    upright = is_ordered(table, chart.x)
    values = distinct(table, chart.x) if chart.x else []
    place = {v: k for k, v in enumerate(values)}
    mode = "group" if chart.color != chart.x else "overlay"
    traces = []
    for (color,), group in _groups(table, _all(table), chart.color).items():
        look = style.look(color)
        places = [place[table.column(chart.x)[i]] if chart.x else 0 for i in group]
        numbers = [y[i] for i in group]
        traces.append(
            go.Box(
                x=places if upright else numbers,
                y=numbers if upright else places,
                orientation="v" if upright else "h",
                boxpoints="all",
                jitter=0.4,
                pointpos=0,
                line={"width": 1.5, "color": look.color},
                fillcolor="rgba(0,0,0,0.04)",
                marker={"color": look.color, "symbol": look.symbol, "size": 5, "opacity": 0.7},
                offsetgroup=style.legend(color)["legendgroup"] if mode == "group" else None,
                hovertext=[hover(table, i) for i in group],
                hoveron="points",
                **_HOVER,
                **style.legend(color),
            )
        )
    axis = category_axis(chart.x, values, upright) if chart.x else {"showticklabels": False}
    scale = value_axis(table, chart.y or "", chart.log_y)
    if upright:
        return Panel(traces, axis, scale, mode=mode)
    return Panel(traces, scale, {**axis, "autorange": "reversed"}, bars=max(3, 2 * len(values)), mode=mode)


def histogram(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """How many rows fall into each interval of values."""
    x = table.column(chart.x or "")
    groups = _groups(table, _all(table), chart.color)
    traces = [
        go.Histogram(
            x=[x[i] for i in rows],
            marker={"color": style.look(color).color, "line": _OUTLINE},
            opacity=1.0 if len(groups) == 1 else 0.6,
            **style.legend(color),
        )
        for (color,), rows in groups.items()
    ]
    return Panel(traces, value_axis(table, chart.x or ""), {"title": {"text": "Rows"}, "rangemode": "tozero"})


def heatmap(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """One cell for every pair of values, its number as colour; cells without a row stay empty."""
    x, y, z = (table.column(c or "") for c in (chart.x, chart.y, chart.color))
    across, down = distinct(table, chart.x or ""), distinct(table, chart.y or "")
    cells = {(x[i], y[i]): i for i in _all(table)}
    grid = [[cells.get((a, b)) for a in across] for b in down]
    traces = [
        go.Heatmap(
            x=list(range(len(across))),
            y=list(range(len(down))),
            z=[[None if i is None else z[i] for i in line] for line in grid],
            text=[["" if i is None else _short(z[i]) for i in line] for line in grid],
            texttemplate="%{text}" if len(across) * len(down) <= _MOST_CELL_LABELS else None,
            hovertext=[["" if i is None else hover(table, i) for i in line] for line in grid],
            colorscale="Cividis",
            colorbar={"title": {"text": title(chart.color or ""), "side": "right"}, "thickness": 12},
            hoverongaps=False,
            xgap=1,
            ygap=1,
            showlegend=False,
            **_HOVER,
        )
    ]
    x_axis, y_axis = (category_axis(c or "", v, is_ordered(table, c)) for c, v in ((chart.x, across), (chart.y, down)))
    return Panel(traces, x_axis, y_axis)


DRAW: dict[str, Callable[[Table, ChartSpec, Style], Panel]] = {
    "scatter": scatter, "line": line, "bar": bar, "box": box, "histogram": histogram, "heatmap": heatmap,
}  # fmt: skip


def _all(table: Table) -> range:
    return range(len(table.rows))


def _groups(table: Table, rows: Sequence[int], *columns: str | None) -> dict[tuple[Any, ...], list[int]]:
    """The rows by their values in the columns, in the order of the values; None stands for an unused column."""
    values = [table.column(c) if c else None for c in columns]
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i in rows:
        groups[tuple(v[i] if v else None for v in values)].append(i)
    order = [{v: k for k, v in enumerate(distinct(table, c))} if c else {None: 0} for c in columns]
    return dict(sorted(groups.items(), key=lambda g: [o[v] for o, v in zip(order, g[0], strict=True)]))


def _front(table: Table, chart: ChartSpec, style: Style) -> list[Any]:
    """The Pareto front as steps: below and beside them nothing measured is better."""
    x, y = chart.x or "", chart.y or ""
    front = [
        c
        for c in pareto_front(configurations(table, style.roles, (x, y)), x, y)
        if (c.means[x] > 0 or not chart.log_x) and (c.means[y] > 0 or not chart.log_y)
    ]
    if not front:
        return []
    return [
        go.Scatter(
            x=[c.means[x] for c in front],
            y=[c.means[y] for c in front],
            mode="lines",
            # Between two of its points, what can be had is the one on the better side in x.
            line={"color": GREY, "width": 1.5, "dash": "dot", "shape": "hv" if badness(x, 1.0) > 0 else "vh"},
            hoverinfo="skip",
            name="Pareto front",
            legendgroup="Pareto front",
            legendrank=1000,
            showlegend=False,
        )
    ]


def _whiskers(table: Table, column: str | None, rows: Sequence[int]) -> dict[str, Any] | None:
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
    return f"mean of {len(rows)}: <b>{safe(format_value(chart.y or '', mean))}</b>"


def _like_the_baseline(chart: ChartSpec) -> float | None:
    """Where a factor says that nothing differs."""
    return 1.0 if catalog.entry(chart.y or "").unit == "x" else None


def _is_parameter(column: str | None) -> bool:
    return catalog.entry(column or "").role == "axis"


def _in_order(table: Table, chart: ChartSpec) -> list[int]:
    """Rows in the order of their bars: as the table ranks them, else the better (without a direction: larger) first."""
    values = [float(v) for v in table.column(chart.y or "") if is_number(v)]
    if values in (sorted(values), sorted(values, reverse=True)):
        return list(_all(table))
    sign = 1 if catalog.entry(chart.y or "").better == "lower" else -1
    return sorted(_all(table), key=lambda i: sign * values[i])


def _places(table: Table, chart: ChartSpec, style: Style, rows: Sequence[int]) -> tuple[dict[int, int], dict[str, Any]]:
    """The place of each row's bar, and the axis that names the places; at most MOST_BARS places."""
    if chart.x is None:
        shown = list(rows[:MOST_BARS])
        axis = {"tickmode": "array", "tickvals": list(range(len(shown))), "showgrid": False}
        return {i: k for k, i in enumerate(shown)}, {**axis, "ticktext": [style.row_label(table, i) for i in shown]}
    column = table.column(chart.x)
    ordered = is_ordered(table, chart.x)
    values = (distinct(table, chart.x) if ordered else list(dict.fromkeys(column[i] for i in rows)))[:MOST_BARS]
    place = {v: k for k, v in enumerate(values)}
    return {i: place[column[i]] for i in rows if column[i] in place}, category_axis(chart.x, values, ordered)


def _short(value: Value | None) -> str:
    return format_number(value) if is_number(value) else ""
