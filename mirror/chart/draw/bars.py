"""The marks that fill an area, for one panel: bars, boxes, histograms and heatmaps, as Plotly traces."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw import bins
from mirror.chart.draw.palette import Look
from mirror.chart.draw.panel import (
    Panel,
    Style,
    category_axis,
    hover,
    is_ordered,
    rows_behind,
    safe,
    title,
    value_axis,
)
from mirror.chart.draw.traces import HOVER, OUTLINE, groups, like_the_baseline, whiskers
from mirror.chart.drawable import MOST_BARS, hardly_differ
from mirror.query.roles import spread
from mirror.table.numbers import format_plain, format_value
from mirror.table.table import Table
from mirror.table.values import is_number

_MOST_VALUE_LABELS = 30
_DOT, _RING = 10, 22
_BEYOND = 0.04  # of the range, between the last mark and its end
_MOST_LABELLED_ROWS = 25
_PIXELS_OF_A_DIGIT = 9


def bar(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """Bars from zero, or dots, side by side along an ordered x, else lying, the best on top."""
    metric, y = table.column(chart.y or ""), table.values(chart.y or "")
    upright = is_ordered(table, chart.x)
    at, axis = _places(table, chart, style)
    rows = [i for i in at if is_number(y[i])]
    shared = len({at[i] for i in rows}) < len(rows)
    dots = chart.dots and hardly_differ(style.table, chart.y or "")
    traces = []
    colors = groups(table, rows, chart.color)
    texts = {i: format_value(metric, y[i]) for i in rows}
    widest = max(map(len, texts.values()), default=0) * _PIXELS_OF_A_DIGIT
    side_by_side = len(axis["tickvals"]) * (len(colors) if shared else 1)
    few = len(rows) <= _MOST_VALUE_LABELS and not (dots and shared)
    few = few and (not upright or side_by_side * widest <= style.room)  # else they would run into each other
    for (color,), group in colors.items():
        places, values = [at[i] for i in group], [y[i] for i in group]
        common = {
            "x": places if upright else values,
            "y": values if upright else places,
            "text": [texts[i] for i in group] if few else None,
            "cliponaxis": False,
            "hovertext": [hover(table, i) for i in group],
            "customdata": rows_behind(table, ([i] for i in group)),
            "error_y" if upright else "error_x": whiskers(table, chart.y, group),
            **HOVER,
            **style.legend(color),
        }
        look = style.look(color)
        traces.append(_dots(look, upright, common) if dots else _bar(look, style.slot(color), shared, upright, common))
    scale = _scale(table, chart.y or "", None if upright else style.room, dots)
    if few and not upright:
        scale |= _with_room(table, chart.y or "", rows, widest, style.room, dots)
    mode, reference = "group" if shared else "overlay", like_the_baseline(metric)
    if upright:
        return Panel(traces, axis, scale, mode=mode, reference=reference)
    # All places are there, also those without a mark: panels beside each other have the same ones.
    last = len(axis["tickvals"]) - 0.5
    lying = {**axis, "range": [last, -0.5], "showgrid": dots}
    lines = max((text.count("<br>") + 1 for text in axis["ticktext"]), default=1)
    count = len(rows) if shared and not dots else len(axis["tickvals"])
    return Panel(traces, scale, lying, bars=count, lines=lines, mode=mode, reference=reference)


def _scale(table: Table, column: str, room: int | None, dots: bool) -> dict[str, Any]:
    """The axis of the values: of bars from zero, whatever they are."""
    axis = value_axis(table, column, room=room)
    if dots:
        return axis
    own = ("range", "tickmode", "tickvals", "ticktext", "tickangle")  # of a single value
    return {**{k: v for k, v in axis.items() if k not in own}, "rangemode": "tozero"}


def _with_room(table: Table, column: str, rows: Sequence[int], label: int, room: int, dots: bool) -> dict[str, Any]:
    """The range of lying marks that leaves room for labels of so many pixels at their ends; empty where there is."""
    values = [float(table.values(column)[i]) for i in rows]  # type: ignore[arg-type]
    reach = spread(table, column)
    if not values or label * 2 > room:
        return {}
    low, high = min(values), max(values)
    if dots:  # labels stand below their marks, whiskers may go beyond
        margin = (high - low) * label / 2 / (room - label)
        below, above = reach or ([0.0] * len(table.rows), [0.0] * len(table.rows))
        ends = [v - below[i] for i, v in zip(rows, values, strict=True)]
        ends += [v + above[i] for i, v in zip(rows, values, strict=True)]
        beyond = (high - low) * _BEYOND
        return {"range": [min(low - margin, *ends) - beyond, max(high + margin, *ends) + beyond]} if margin > 0 else {}
    if low < 0 or reach:  # beside whiskers labels stand inside the bars
        return {}
    # A label stands inside a bar that is long enough, else behind it.
    last = max(v if v * room >= high * label else v + high * label / room for v in values)
    return {"range": [0, last * (1 + _BEYOND)]} if last > high else {}


def _bar(look: Look, slot: str, shared: bool, upright: bool, common: dict[str, Any]) -> go.Bar:
    has_whiskers = (common.get("error_x") or common.get("error_y")) is not None
    return go.Bar(
        orientation="v" if upright else "h",
        # Alone at its place a bar is wide; Plotly would widen those that have no neighbour of their colour.
        width=None if shared else 0.75,
        marker={"color": look.color, "line": {"width": 0}},
        textposition="inside" if has_whiskers else "auto",
        insidetextanchor="start" if has_whiskers else "end",
        textangle=0,
        # The same place in every panel; bars that stand alone must not be moved aside.
        offsetgroup=slot if shared else None,
        **common,
    )


def _dots(look: Look, upright: bool, common: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        mode="markers+text" if common["text"] else "markers",
        marker={"color": look.color, "symbol": look.symbol, "size": _DOT, "line": OUTLINE},
        textposition="top center" if upright else "bottom center",
        textfont={"size": 11},
        **common,
    )


def box(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """A box per group with every row as a point."""
    y = table.values(chart.y or "")
    upright = is_ordered(table, chart.x)
    values = style.table.values(chart.x).distinct if chart.x else []  # the same places in every panel
    place = {v: k for k, v in enumerate(values)}
    mode = "group" if chart.color != chart.x else "overlay"
    traces = []
    for (color,), group in groups(table, range(len(table.rows)), chart.color).items():
        look = style.look(color)
        places = [place[table.values(chart.x)[i]] if chart.x else 0 for i in group]
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
                offsetgroup=style.slot(color) if mode == "group" else None,
                hovertext=[hover(table, i) for i in group],
                customdata=rows_behind(table, ([i] for i in group)),
                hoveron="points",
                **HOVER,
                **style.legend(color),
            )
        )
    axis = category_axis(table, chart.x, values, style.letters) if chart.x else {"showticklabels": False}
    scale = value_axis(table, chart.y or "", chart.log_y, room=None if upright else style.room)
    if upright:
        return Panel(traces, axis, scale, mode=mode)
    count = max(len(values), len(groups(table, range(len(table.rows)), chart.x, chart.color)))
    return Panel(traces, scale, {**axis, "range": [max(1, len(values)) - 0.5, -0.5]}, bars=max(3, count), mode=mode)


def histogram(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """How many rows fall into each interval of values."""
    column = chart.x or ""
    shown = table.column(column)
    x = [float(v) for v in table.values(column) if is_number(v)]
    ends, log = bins.edges(x), bins.is_log(x)
    pairs = list(itertools.pairwise(ends))
    spans = [safe(f"{format_value(shown, low)} to {format_value(shown, high)}") for low, high in pairs]
    series = groups(table, range(len(table.rows)), chart.color)
    traces = []
    for (color,), rows in series.items():
        found = [[rows[k] for k in within] for within in bins.members([x[i] for i in rows], ends)]
        traces.append(
            go.Bar(
                x=ends[:-1],
                y=list(map(len, found)),
                width=[high - low for low, high in pairs],
                offset=0,
                marker={"color": style.look(color).color, "line": OUTLINE},
                opacity=1.0 if len(series) == 1 else 0.6,
                hovertext=[f"{span}: <b>{len(within):,}</b>" for span, within in zip(spans, found, strict=True)],
                customdata=rows_behind(table, found),
                **HOVER,
                **style.legend(color),
            )
        )
    axis = value_axis(table, column, log, room=style.room)
    return Panel(traces, axis, {"title": {"text": "Rows"}, "rangemode": "tozero"})


def heatmap(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """One cell for every pair of values, its number as colour; cells without a row stay empty."""
    x, y, z = (table.values(c or "") for c in (chart.x, chart.y, chart.color))
    across, down = table.values(chart.x or "").distinct, table.values(chart.y or "").distinct
    cell = table.column(chart.color or "")
    cells = {(x[i], y[i]): i for i in range(len(table.rows))}
    grid = [[cells.get((a, b)) for a in across] for b in down]
    labels = [["" if i is None else format_plain(cell, z[i]) for i in row] for row in grid]
    widest = max((len(text) for row in labels for text in row), default=0)
    legible = len(across) * widest * _PIXELS_OF_A_DIGIT <= style.room and len(down) <= _MOST_LABELLED_ROWS
    traces = [
        go.Heatmap(
            x=list(range(len(across))),
            y=list(range(len(down))),
            z=[[None if i is None else z[i] for i in row] for row in grid],
            text=labels,
            texttemplate="%{text}" if legible else None,
            hovertext=[["" if i is None else hover(table, i) for i in row] for row in grid],
            colorscale="Cividis",
            colorbar={"title": {"text": title(cell), "side": "top"}, "thickness": 12},
            hoverongaps=False,
            xgap=1,
            ygap=1,
            showlegend=False,
            **HOVER,
        ),
        _clickable(table, {(across.index(a), down.index(b)): i for (a, b), i in cells.items()}),
    ]
    x_axis, y_axis = (category_axis(table, c or "", v, style.letters) for c, v in ((chart.x, across), (chart.y, down)))
    return Panel(traces, x_axis, y_axis)


def _clickable(table: Table, cells: Mapping[tuple[int, int], int]) -> go.Scatter:
    """Points over the cells, since cells themselves cannot be selected: seen where they are, and not before."""
    rows = list(cells.values())
    return go.Scatter(
        x=[column for column, _ in cells],
        y=[line for _, line in cells],
        mode="markers",
        marker={"symbol": "circle-open", "size": _RING, "color": "white", "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        hovertext=[hover(table, i) for i in rows],
        customdata=rows_behind(table, ([i] for i in rows)),
        showlegend=False,
        **HOVER,
    )


def _in_order(table: Table, column: str) -> list[int]:
    """Rows in the order of their bars: as the table ranks them, else the better (without a direction: larger) first."""
    values = [float(v) if is_number(v) else None for v in table.values(column)]
    known = [v for v in values if v is not None]
    if known in (sorted(known), sorted(known, reverse=True)):
        return list(range(len(values)))
    sign = 1 if table.column(column).better == "lower" else -1
    return sorted(range(len(values)), key=lambda i: (values[i] is None, sign * (values[i] or 0.0)))


def _places(table: Table, chart: ChartSpec, style: Style) -> tuple[dict[int, int], dict[str, Any]]:
    """The place of each row's bar, in their order, and the axis that names the places; at most MOST_BARS places.

    Where several metrics have a panel each, the first of them ranks in all; where panels hold parts of the rows, all
    rows rank together.
    """
    ranking = chart.metrics[0] if chart.metrics else chart.y or ""
    rows = _in_order(table, ranking)
    if chart.x is None:
        shown = rows[:MOST_BARS]
        axis = {"tickmode": "array", "tickvals": list(range(len(shown))), "showgrid": False}
        return {i: k for k, i in enumerate(shown)}, {**axis, "ticktext": [style.row_label(table, i) for i in shown]}
    everywhere = style.table.values(chart.x)
    ordered = everywhere.distinct if is_ordered(table, chart.x) else ()
    values = (ordered or tuple(dict.fromkeys(everywhere[i] for i in _in_order(style.table, ranking))))[:MOST_BARS]
    place = {v: k for k, v in enumerate(values)}
    column = table.values(chart.x)
    return {i: place[column[i]] for i in rows if column[i] in place}, category_axis(
        table, chart.x, values, style.letters
    )
