"""What the panels of a figure share: escaped text, looks, axes, legend entries, hover."""

import html
import math
from dataclasses import dataclass, field
from typing import Any

from mirror import catalog
from mirror.numbers import describe, format_number, format_tick, format_value, plain_text
from mirror.palette import PLAIN, Look, looks
from mirror.query_spec import ChartSpec, Table, Value
from mirror.roles import compared, distinct, distinct_numbers, is_number, is_numeric, is_temporal, sort_roles

GREY = "#666666"
_MOST_TICKS = 8
_MOST_HOVER_LINES = 24
_LONG_LABEL = 26
_LONGEST_NAME = 40  # what a phone shows in one line of the legend


def safe(text: object) -> str:
    """Text that Plotly shows literally: it reads some HTML, and TeX between dollar signs."""
    return html.escape(plain_text(text), quote=False).replace("$", "&#36;")


def named(column: str, value: Value | None) -> str:
    """A value that names something, escaped: `hashed`, `batch size 512`."""
    return safe(plain_text(describe(column, value), _LONGEST_NAME))


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Attributes:
        traces: Plotly traces; those of one legend entry share a `legendgroup`.
        x, y: axis layouts.
        bars: number of rows of horizontal bars or boxes, which need height; 0 for other charts.
        mode: how bars or boxes at one place share it: overlay or group.
        reference: where a line across the values means "the same" (1 of a factor), or None.
    """

    traces: list[Any]
    x: dict[str, Any] = field(default_factory=dict)
    y: dict[str, Any] = field(default_factory=dict)
    bars: int = 0
    mode: str = "overlay"
    reference: float | None = None


class Style:
    """Looks and texts from the whole table, so that equal values look equal in every panel."""

    def __init__(self, table: Table, chart: ChartSpec) -> None:
        self.roles = sort_roles(table)
        self.keys = compared(table, self.roles)
        self.color = chart.color if chart.type != "heatmap" else None
        self.symbol = chart.symbol if chart.type in ("scatter", "line") and chart.symbol != self.color else None
        self._colors = looks(self.color, table.column(self.color)) if self.color else {}
        self._symbols = looks(self.symbol, table.column(self.symbol)) if self.symbol else {}
        self._places = {v: i for i, v in enumerate(distinct(table, self.color))} if self.color else {}

    def look(self, color: Value | None, symbol: Value | None = None) -> Look:
        """Colour by the colour column; symbol by its own column where there is one, else by the colour's."""
        look = self._colors[color] if self.color else PLAIN
        return Look(look.color, self._symbols[symbol].symbol) if self.symbol else look

    def legend(self, color: Value | None, symbol: Value | None = None) -> dict[str, Any]:
        """Name, group and place in the legend of a trace."""
        parts = [named(self.color, color)] if self.color else []
        if self.symbol:
            parts.append(named(self.symbol, symbol))
        place = self._places.get(color, 0)
        # Numbers, since two long names may look alike once they are cut.
        group = f"{place}.{list(self._symbols).index(symbol)}" if self.symbol else str(place)
        return {"name": " · ".join(parts), "legendgroup": group, "legendrank": 100 + place, "showlegend": False}

    def row_label(self, table: Table, row: int) -> str:
        """What names a row: its values in the dimensions that differ, on two lines when long."""
        parts = [named(c, table.column(c)[row]) for c in self.keys] or [f"row {row + 1}"]
        text = " · ".join(parts)
        if len(text) <= _LONG_LABEL or len(parts) == 1:
            return text
        middle = (len(parts) + 1) // 2
        return f"{' · '.join(parts[:middle])}<br>{' · '.join(parts[middle:])}"


def hover(table: Table, row: int) -> str:
    """Every column of a row that has a value, one a line."""
    lines = [
        f"{safe(catalog.entry(c).label)}: <b>{safe(format_value(c, v))}</b>"
        for c, v in zip(table.columns, table.rows[row], strict=True)
        if v is not None
    ]
    more = [f"and {len(lines) - _MOST_HOVER_LINES} more"] if len(lines) > _MOST_HOVER_LINES else []
    return "<br>".join(lines[:_MOST_HOVER_LINES] + more)


def title(column: str) -> str:
    """Axis title with its unit: `Memory (MB)`."""
    entry = catalog.entry(column)
    text = entry.label if entry.unit == entry.label else entry.title
    return safe(text[:1].upper() + text[1:])


def value_axis(table: Table, column: str, log: bool = False, at_values: bool = False) -> dict[str, Any]:
    """Axis of numbers or times.

    Args:
        table: the rows of the panel.
        column: what the axis shows.
        log: logarithmic, with labels at 1, 2, 5 or at powers of ten.
        at_values: label the values that are there, as for a parameter, when they are few.
    """
    axis: dict[str, Any] = {"title": {"text": title(column)}}
    if is_temporal(table, column):
        return {**axis, "type": "date"}
    numbers = [v for v in distinct_numbers(table, column) if v > 0 or not log]
    axis |= {"type": "log" if log else "linear", "exponentformat": "SI", "minexponent": 5, "separatethousands": True}
    if at_values and numbers and (log or len(numbers) <= _MOST_TICKS):
        ticks = _spread_out(numbers, log)
    elif log and numbers:
        ticks = _log_ticks(numbers[0], numbers[-1])
    else:
        return axis
    return {**axis, "tickmode": "array", "tickvals": ticks, "ticktext": [format_tick(v) for v in ticks], "tickangle": 0}


def category_axis(column: str, values: list[Value | None], ordered: bool) -> dict[str, Any]:
    """Axis of categories at 0, 1, 2 ...: positions, since Plotly would merge or reinterpret some names."""
    axis: dict[str, Any] = {"tickmode": "array", "tickvals": list(range(len(values))), "showgrid": False}
    if not ordered:
        return {**axis, "ticktext": [named(column, v) for v in values]}
    texts = [safe(format_number(v, exact=True)) if is_number(v) else named(column, v) for v in values]
    return {**axis, "title": {"text": title(column)}, "ticktext": texts}


def is_ordered(table: Table, column: str | None) -> bool:
    """Whether a category column has an order of its own, so that its bars stand side by side along x."""
    return column is not None and (is_numeric(table, column) or is_temporal(table, column))


def _spread_out(values: list[float], log: bool) -> list[float]:
    """At most eight of the values, far enough from each other for their labels."""
    place = math.log if log else float
    width = place(values[-1]) - place(values[0])
    kept = [values[-1]]
    for v in reversed(values[:-1]):
        if place(kept[-1]) - place(v) >= width / (_MOST_TICKS + 2):
            kept.append(v)
    return kept[::-1]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,) if last - first <= _MOST_TICKS else ()
    if not steps:
        stride = math.ceil((last - first) / _MOST_TICKS)
        return [10.0**e for e in range(first, last + 1, stride)]
    return [float(f"{s}e{e}") for e in range(first, last + 1) for s in steps]
