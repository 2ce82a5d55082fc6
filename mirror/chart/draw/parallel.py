"""Parallel coordinates: a line for each row across an axis for each metric, as Plotly traces."""

import math
from typing import Any

import plotly.graph_objects as go

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.panel import GREY, Panel, Style, hover, rows_behind, safe, title
from mirror.chart.draw.traces import HOVER, SILENT, groups
from mirror.chart.drawable import TWO_DECADES, spans
from mirror.table.numbers import format_value
from mirror.table.table import Table

_MARGIN = 0.12  # above and below the axes, as a share of their height: room for the numbers at their ends
_MANY = 30  # lines above which they are drawn fainter


def parallel(table: Table, chart: ChartSpec, style: Style) -> Panel:
    """The axes stand side by side, the better end up; each is labelled with its lowest and its highest value."""
    columns = chart.metrics
    heights = [_heights(table, c) for c in columns]
    traces: list[Any] = [_axes(table, chart)]
    for (color,), rows in groups(table, range(len(table.rows)), chart.color).items():
        look = style.look(color)
        x: list[float | None] = []
        y: list[float | None] = []
        texts: list[str] = []
        for i in rows:
            x += [*range(len(columns)), None]  # the gap ends the line of a row
            y += [*(h[i] for h in heights), None]
            texts += [hover(table, i)] * (len(columns) + 1)
        traces.append(
            go.Scatter(
                x=x,
                y=y,
                mode="lines+markers",
                connectgaps=False,
                opacity=0.5 if len(table.rows) > _MANY else 0.9,
                line={"color": look.color, "width": 1 if style.is_other(color) or len(table.rows) > _MANY else 2},
                marker={"color": look.color, "symbol": look.symbol, "size": 5},
                hovertext=texts,
                customdata=rows_behind(table, ([i] for i in rows for _ in range(len(columns) + 1))),
                **HOVER,
                **style.legend(color),
            )
        )
    axis = {
        "tickmode": "array", "tickvals": list(range(len(columns))), "ticktext": [_title(table, c) for c in columns],
        "range": [-0.35, len(columns) - 0.65], "showgrid": False, "showline": False, "tickangle": 0,
    }  # fmt: skip
    return Panel(traces, axis, {"visible": False, "range": [-_MARGIN, 1 + _MARGIN]})


def _heights(table: Table, column: str) -> list[float]:
    """Where the values stand on their axis: 0 at the lower end, 1 at the upper."""
    log = spans(table, column, TWO_DECADES)
    places = [math.log10(v) if log else float(v) for v in table.values(column)]  # type: ignore[arg-type]
    low, high = min(places), max(places)
    if low == high:
        return [0.5] * len(places)
    heights = [(p - low) / (high - low) for p in places]
    return [1 - h for h in heights] if table.column(column).better == "lower" else heights


def _axes(table: Table, chart: ChartSpec) -> Any:
    """The axes themselves, with the numbers at their ends."""
    x: list[float | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    places: list[str] = []
    for k, column in enumerate(chart.metrics):
        numbers = table.values(column).numbers
        ends = [safe(format_value(table.column(column), v)) for v in (numbers[0], numbers[-1])]
        down, up = ends[::-1] if table.column(column).better == "lower" else ends
        same = len(numbers) == 1
        x += [k, k, None]
        y += [0, 1, None]
        texts += ["" if same else down, up, ""]
        places += ["bottom center", "top center", "top center"]
    return go.Scatter(
        x=x, y=y, mode="lines+text", text=texts, textposition=places, textfont={"size": 12, "color": GREY},
        line={"color": "#BBBBBB", "width": 1}, cliponaxis=False, showlegend=False, **SILENT,
    )  # fmt: skip


def _title(table: Table, column: str) -> str:
    """The title over an axis, its unit on a line of its own; a logarithmic axis says so."""
    unit, text = table.column(column).unit, title(table.column(column))
    if unit and text.endswith(f" ({safe(unit)})"):
        text = text.removesuffix(f" ({safe(unit)})") + f"<br>({safe(unit)})"
    return f"{text}<br>logarithmic" if spans(table, column, TWO_DECADES) else text
