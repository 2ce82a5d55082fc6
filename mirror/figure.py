"""Draws a ChartSpec as a Plotly figure: panels, axes, legend. The marks themselves come from mirror.traces."""

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from mirror.drawable import MOST_FACETS, drawn_part, fits
from mirror.panel import Panel, Style, named
from mirror.query_spec import ChartSpec, Table, Value
from mirror.roles import distinct
from mirror.traces import DRAW

_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 13, "color": "#222222"}
_LEGEND = {
    "orientation": "h", "yref": "container", "y": 1.0, "yanchor": "top", "xref": "paper", "x": 0.0, "xanchor": "left",
    "itemsizing": "trace", "font_size": 13, "bgcolor": "rgba(0,0,0,0)",
    # The border keeps titles of panels, which Plotly gives no room of their own, clear of the entries.
    "borderwidth": 10, "bordercolor": "rgba(0,0,0,0)",
}  # fmt: skip
_HEIGHT = 420
_HEIGHT_OF_SEVERAL = 330  # each row of panels, when there are several
_HEIGHT_OF_BAR = 34


def draw(table: Table, chart: ChartSpec, columns: int | None = None) -> go.Figure | None:
    """The figure of a chart, or None for `table` and `tiles`, which the page shows itself.

    Args:
        table: the result.
        chart: what to draw of it.
        columns: panels side by side; 1 for a phone, by default as many as a desk screen holds.

    Raises:
        ValueError: the chart cannot be drawn from the table; the message is the sentence of `fits`.
    """
    if problem := fits(chart, table):
        raise ValueError(problem)
    if chart.type in ("table", "tiles"):
        return None
    shown = drawn_part(chart, table)
    style = Style(shown, chart)
    values = distinct(shown, chart.facet)[:MOST_FACETS] if chart.facet else [None]
    parts = [_part(shown, chart.facet, v) for v in values]
    panels = [DRAW[chart.type](part, chart, style) for part in parts]
    across = max(1, min(columns or _across(len(panels)), len(panels)))
    down = math.ceil(len(panels) / across)
    height = _height(panels, down)
    titles = [named(chart.facet, v) for v in values] if chart.facet else None
    result = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=titles,
        horizontal_spacing=0.24 / across if across > 1 else 0.0,
        vertical_spacing=90 / height if down > 1 else 0.0,
    )
    for i, panel in enumerate(panels):
        row, column = i // across + 1, i % across + 1
        for trace in panel.traces:
            result.add_trace(trace, row=row, col=column)
        lowest = i + across >= len(panels)
        result.update_xaxes(panel.x if lowest else {**panel.x, "title": None}, row=row, col=column)
        result.update_yaxes(panel.y if column == 1 else {**panel.y, "title": None}, row=row, col=column)
        if panel.reference is not None:
            across_values = result.add_vline if panel.bars else result.add_hline
            across_values(panel.reference, line={"dash": "dot", "width": 1, "color": "#666666"}, row=row, col=column)
    result.update_layout(
        template="plotly_white",
        font=_FONT,
        height=height,
        margin={"l": 8, "r": 16, "t": 36 if titles else 16, "b": 8},
        legend=_LEGEND,
        showlegend=_fill_legend(result) > 0 and chart.color != chart.x,
        barmode=panels[0].mode,
        boxmode=panels[0].mode,
        hovermode="closest",
        # A value that does not fit its bar is in the hover text and the table, not shrunk to nothing.
        uniformtext={"minsize": 9, "mode": "hide"},
        hoverlabel={"align": "left", "font_size": 12},
        separators=".,",
    )
    result.update_xaxes(automargin=True, title_standoff=8, zeroline=False, showline=True, linecolor="#BBBBBB")
    result.update_yaxes(automargin=True, title_standoff=8, zeroline=False, showline=True, linecolor="#BBBBBB")
    result.update_annotations(font_size=14)
    return result


def _part(table: Table, facet: str | None, value: Value | None) -> Table:
    if facet is None:
        return table
    column = table.column(facet)
    return Table(table.columns, tuple(r for r, v in zip(table.rows, column, strict=True) if v == value))


def _across(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _height(panels: list[Panel], down: int) -> int:
    """Pixels: lying bars take what they need, other panels a fixed height."""
    bars = max(p.bars for p in panels)
    each = _HEIGHT if down == 1 else _HEIGHT_OF_SEVERAL
    if bars:
        each = min(1400, max(200, 130 + _HEIGHT_OF_BAR * bars))
    return each * down


def _fill_legend(drawn: go.Figure) -> int:
    """Show each group once; the number of entries."""
    seen = set()
    for trace in drawn.data:
        if trace.name and trace.legendgroup not in seen:
            seen.add(trace.legendgroup)
            trace.showlegend = True
    return len(seen)
