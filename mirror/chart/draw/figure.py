"""Draws a ChartSpec as a Plotly figure: panels, axes, legend. The marks themselves come from traces, bars, parallel."""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.bars import bar, box, heatmap, histogram
from mirror.chart.draw.finishing import add_title, darken
from mirror.chart.draw.panel import Panel, Style, named
from mirror.chart.draw.parallel import parallel
from mirror.chart.draw.traces import entry_trace, line, scatter
from mirror.chart.drawable import TWO_DECADES, drawn_part, fits, panels, spans
from mirror.table.table import Table
from mirror.table.values import Value, is_number

_DRAW: dict[str, Callable[[Table, ChartSpec, Style], Panel]] = {
    "scatter": scatter, "line": line, "bar": bar, "box": box, "histogram": histogram, "heatmap": heatmap,
    "parallel": parallel,
}  # fmt: skip
_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 13, "color": "#222222"}
_LEGEND = {
    "orientation": "h", "yref": "container", "y": 1.0, "yanchor": "top",
    "xref": "container", "x": 0.0, "xanchor": "left",
    "itemsizing": "trace", "font_size": 13, "bgcolor": "rgba(0,0,0,0)",
    # The border keeps titles of panels, which Plotly gives no room of their own, clear of the entries.
    "borderwidth": 10, "bordercolor": "rgba(0,0,0,0)",
}  # fmt: skip
_HEIGHT = 420
_HEIGHT_OF_SEVERAL = 330  # each row of panels, when there are several
_HEIGHT_OF_BAR, _HEIGHT_OF_TEXT = 12, 18  # around the lines of a label, and of each of them
_TALLEST = 1400
_PIXELS_OF_A_LETTER, _PIXELS_OF_A_KEY, _HEIGHT_OF_AN_ENTRY = 7, 65, 23  # in the legend
_USUAL_ROWS_OF_A_LEGEND = 2
_LEGEND_ON_A_PHONE = 350  # pixels
_DESK, _PHONE = 640, 290  # pixels of the column that a page has for a chart
_LETTERS_ON_A_PHONE = 20  # of a line of the names beside bars
_PIXELS_OF_A_TITLE = 10  # each letter of it
_SPACING = 0.24  # of the width, between all panels of a row together
_WIDEST_SPACING = 0.6  # however long the labels between them are
_PIXELS_OF_A_DIGIT, _PIXELS_BESIDE_A_LABEL = 8, 20  # beside an axis
_LARGE, _LETTERS_OF_A_SMALL_NUMBER = 1e5, 6


@dataclass(frozen=True)
class _Part:
    """One panel: the rows, what is drawn of them, and the value of the facet."""

    table: Table
    chart: ChartSpec
    value: Value | None = None


def draw(
    table: Table,
    chart: ChartSpec,
    columns: int | None = None,
    dark: bool = False,
    title: str = "",
    note: str = "",
    finish: Callable[[go.Figure], None] | None = None,
) -> go.Figure | None:
    """The figure of a chart, or None for `table` and `tiles`, which the page shows itself.

    Args:
        table: the result.
        chart: what to draw of it.
        columns: panels side by side; 1 for a phone, by default as many as a desk screen holds.
        dark: light marks for a dark page, whose colour shows through.
        title: one line over everything, which a picture of it keeps.
        note: where the numbers are from, in small type below the title.
        finish: adds to the figure what no chart has by itself, in the colours of a light page.

    Raises:
        ValueError: the chart cannot be drawn from the table; the message is the sentence of `fits`.
    """
    if problem := fits(chart, table):
        raise ValueError(problem)
    if chart.type in ("table", "tiles"):
        return None
    shown = drawn_part(chart, table)
    parts = _parts(chart, shown)
    across = max(1, min(columns or _across(parts), len(parts)))
    room = _PHONE if columns == 1 else _DESK // across
    style = Style(shown, chart, room, _LETTERS_ON_A_PHONE) if columns == 1 else Style(shown, chart, room)
    drawn = [_DRAW[chart.type](p.table, p.chart, style) for p in parts]
    down = math.ceil(len(parts) / across)
    height = _height(drawn, down)
    letters = room // _PIXELS_OF_A_TITLE
    titles = [named(table.column(chart.facet), p.value, letters) for p in parts] if chart.facet else None
    result = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=titles,
        horizontal_spacing=_spacing(drawn, across) if across > 1 else 0.0,
        vertical_spacing=90 / height if down > 1 else 0.0,
    )
    for name in style.entries():
        result.add_trace(entry_trace(chart.type, *name), row=1, col=1)
    for i, panel in enumerate(drawn):
        row, column = i // across + 1, i % across + 1
        for trace in panel.traces:
            result.add_trace(trace, row=row, col=column)
        x, y = _axes(panel, chart, first=column == 1, last=i + across >= len(drawn))
        result.update_xaxes(x, row=row, col=column)
        result.update_yaxes(y, row=row, col=column)
        if panel.reference is not None:
            across_values = result.add_vline if panel.bars else result.add_hline
            across_values(panel.reference, line={"dash": "dot", "width": 1, "color": "#666666"}, row=row, col=column)
    names = _fill_legend(result)
    shows_legend = bool(names) and chart.color != chart.x
    result.update_layout(
        template="plotly_white",
        font=_FONT,
        height=height
        + (_height_of_legend(names, _LEGEND_ON_A_PHONE if columns == 1 else _DESK) if shows_legend else 0),
        margin={"l": 8, "r": 16, "t": 36 if titles else 16, "b": 8},
        legend=_LEGEND,
        showlegend=shows_legend,
        barmode=drawn[0].mode,
        boxmode=drawn[0].mode,
        hovermode="closest",
        dragmode="zoom",
        # A value that does not fit its bar is in the hover text and the table, not shrunk to nothing.
        uniformtext={"minsize": 9, "mode": "hide"},
        hoverlabel={"align": "left", "font_size": 12},
        separators=".,",
    )
    result.update_xaxes(automargin=True, title_standoff=8, zeroline=False, linecolor="#BBBBBB")
    result.update_yaxes(automargin=True, title_standoff=8, zeroline=False, linecolor="#BBBBBB")
    if chart.type != "parallel":
        result.update_xaxes(showline=True)
        result.update_yaxes(showline=True)
    result.update_annotations(font_size=14)
    if finish:
        finish(result)
    if title:
        add_title(result, title, note)
    if dark:
        darken(result)
    return result


def _parts(chart: ChartSpec, shown: Table) -> list[_Part]:
    """The panels: one for each value of the facet, or for each of several metrics, or one."""
    if chart.facet:
        of = shown.values(chart.facet)
        return [_Part(shown.kept(v == panel for v in of), chart, panel) for panel in panels(chart, shown)]
    if chart.type in ("bar", "line") and chart.metrics:
        each = [replace(chart, y=m, log_y=_is_log(chart, shown, m)) for m in chart.metrics]
        return [_Part(drawn_part(replace(c, metrics=(), only=()), shown), c) for c in each]
    return [_Part(shown, chart)]


def _is_log(chart: ChartSpec, shown: Table, metric: str) -> bool:
    """Whether the panel of one metric of several has a logarithmic axis: where it spans much, if any does."""
    if not chart.log_y:
        return False
    some = any(spans(shown, m, TWO_DECADES) for m in chart.metrics)
    return spans(shown, metric, TWO_DECADES if some else 1.0)


def _axes(panel: Panel, chart: ChartSpec, first: bool, last: bool) -> tuple[dict[str, object], dict[str, object]]:
    """The axes of a panel: titles once where neighbours share them, names of bars in the first column."""
    x, y = panel.x, panel.y
    shares_x, shares_y = (True, not chart.metrics) if not panel.bars else (not chart.metrics, True)
    if shares_x and not last:
        x = {**x, "title": None}
    if shares_y and not first:
        y = {**y, "title": None}
    if panel.bars and not first:  # the names of bars and boxes are the same in every panel
        y = {**y, "showticklabels": False}
    return x, y


def _across(parts: list[_Part]) -> int:
    count = len(parts)
    if parts[0].chart.type == "parallel":
        return min(count, 2)
    return count if count <= 3 else 2 if count == 4 else 3


def _spacing(drawn: list[Panel], across: int) -> float:
    """The share of the width between two panels: enough for the labels beside an axis, if each has its own."""
    if any(p.bars for p in drawn):  # their names stand beside the first panel alone
        return _SPACING / across
    letters = max(_letters_beside(p) for p in drawn)
    wanted = max(_SPACING / across, (letters * _PIXELS_OF_A_DIGIT + _PIXELS_BESIDE_A_LABEL) / _DESK)
    return min(wanted, _WIDEST_SPACING / (across - 1))


def _letters_beside(panel: Panel) -> int:
    """The length of the longest label of the y axis; where Plotly finds the labels, that of the largest number."""
    if (texts := panel.y.get("ticktext")) is not None:
        return max((len(html.unescape(text)) for text in texts), default=0)
    numbers = [abs(v) for trace in panel.traces for v in (trace.y or ()) if is_number(v)]
    return len(f"{max(numbers, default=0):,.0f}") if max(numbers, default=0) >= _LARGE else _LETTERS_OF_A_SMALL_NUMBER


def _height(drawn: list[Panel], down: int) -> int:
    """Pixels: lying bars take what they need, other panels a fixed height."""
    each = _HEIGHT if down == 1 else _HEIGHT_OF_SEVERAL
    bars = max(p.bars for p in drawn)
    if bars:
        each = min(_TALLEST, max(200, 130 + bars * (_HEIGHT_OF_BAR + _HEIGHT_OF_TEXT * max(p.lines for p in drawn))))
    return each * down


def _fill_legend(drawn: go.Figure) -> list[str]:
    """Show each group once, by what is not the band behind a line; the names of the entries."""
    seen: dict[str, str] = {}
    for trace in drawn.data:
        if trace.name and trace.legendgroup not in seen and not (trace.type == "scatter" and trace.fill):
            seen[trace.legendgroup] = trace.name
            trace.showlegend = True
    return list(seen.values())


def _height_of_legend(names: list[str], width: int) -> int:
    """Pixels that the rows of the legend take, beyond those that every figure has room for."""
    rows, used = 1, 0
    for name in names:
        wide = len(html.unescape(name)) * _PIXELS_OF_A_LETTER + _PIXELS_OF_A_KEY
        rows, used = (rows + 1, wide) if used and used + wide > width else (rows, used + wide)
    return max(0, rows - _USUAL_ROWS_OF_A_LEGEND) * _HEIGHT_OF_AN_ENTRY
