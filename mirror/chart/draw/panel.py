"""What the panels of a figure share: escaped text, looks, axes, legend entries, hover."""

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from db.plain_text import plain_text
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.palette import OTHER, PLAIN, Look, looks
from mirror.query.roles import compared, is_fixed_by, keys_in_order, roles_of, spread
from mirror.table.numbers import cut_middle, describe, format_number, format_tick, format_value, is_year
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number

GREY = "#666666"
ROOM = 700  # pixels that a panel has for the labels of its x axis, if nobody says otherwise
_PIXELS_OF_A_LETTER, _PIXELS_OF_A_DATE = 8, 120
_SMALL = 1e-3
_MIDNIGHT = re.compile(r"(?<=^\d{4}-\d\d-\d\d)T(00:00:00$)?")
_MOST_TICKS = 8
_SAME = 1e-9  # of the size of numbers: nearer ones differ by how floats are added up
_MOST_HOVER_LINES = 24
_LONG_LABEL = 30
_MOST_LABEL_LINES = 4
_LONGEST_NAME = 40  # what a phone shows in one line of the legend
_LONGEST_TEXT = 1_000_000
_DASHES = ("solid", "dash", "dashdot", "longdash")  # dots are for guides
_MOST_ENTRIES = 8  # of the legend that name a colour and a symbol at once


def safe(text: object) -> str:
    """Text that Plotly shows literally: it reads some HTML, and TeX between dollar signs."""
    return html.escape(plain_text(text), quote=False).replace("$", "&#36;")


def named(column: Column, value: Value | None, longest: int = _LONGEST_NAME) -> str:
    """A value that names something, escaped: `hashed`, `batch size 512`; long ones lose their middle."""
    return safe(cut_middle(_raw_name(column, value), longest))


def _raw_name(column: Column, value: Value | None) -> str:
    text = plain_text(value, _LONGEST_TEXT) if isinstance(value, str) else ""
    return text or describe(column, value)


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Attributes:
        traces: Plotly traces; those of one legend entry share a `legendgroup`.
        x, y: axis layouts.
        bars: number of rows of horizontal bars or boxes, which need height; 0 for other charts.
        lines: of text in the longest of their labels.
        mode: how bars or boxes at one place share it: overlay or group.
        reference: where a line across the values means "the same" (1 of a factor), or None.
    """

    traces: list[Any]
    x: dict[str, Any] = field(default_factory=dict)
    y: dict[str, Any] = field(default_factory=dict)
    bars: int = 0
    lines: int = 1
    mode: str = "overlay"
    reference: float | None = None


class Style:
    """Looks and texts from the whole table, so that equal values look equal in every panel.

    Attributes:
        table: all rows that are drawn.
        roles, keys: what the columns are for, and the dimensions in which the rows differ.
        color, symbol: the columns that colours and symbols tell; None where nothing is told.
        room: pixels that a panel has for the labels of its x axis.
        letters: length of a line of the names beside lying bars.
    """

    def __init__(self, table: Table, chart: ChartSpec, room: int = ROOM, letters: int = _LONG_LABEL) -> None:
        self.table = table
        self.roles = roles_of(table)
        self.keys = compared(table, self.roles)
        self.room = room
        self.letters = letters
        self.color = chart.color if chart.type != "heatmap" else None
        self.symbol = chart.symbol if chart.type in ("scatter", "line") and chart.symbol != self.color else None
        names = keys_in_order(table, self.roles)
        machine, threads = table.domain.machine, table.domain.parallel
        told = machine in names and threads in names and is_fixed_by(table, threads or "", [machine or ""])
        self._names = [c for c in names if c != threads or not told]
        self._colors, self._symbols = (
            looks(table.values(c), c == table.domain.rival) if c else {} for c in (self.color, self.symbol)
        )
        self._places, self._places_of_symbols = (
            {v: i for i, v in enumerate(table.values(c).distinct)} if c else {} for c in (self.color, self.symbol)
        )
        often = Counter(table.values(self.symbol)) if self.symbol else Counter()
        self._dashes = {v: _DASHES[i % len(_DASHES)] for i, (v, _) in enumerate(often.most_common())}
        pairs = set(zip(*(table.values(c) for c in (self.color, self.symbol) if c), strict=True))
        self.apart = self.symbol is not None and len(pairs) > _MOST_ENTRIES

    def look(self, color: Value | None, symbol: Value | None = None) -> Look:
        """Colour by the colour column; symbol by its own column where there is one, else by the colour's."""
        look = self._colors[color] if self.color else PLAIN
        return Look(look.color, self._symbols[symbol].symbol) if self.symbol else look

    def dash(self, symbol: Value | None) -> str:
        """The dashes of a line, as its symbol: points of long lines are too close for symbols. Most are solid."""
        return self._dashes[symbol] if self.symbol else "solid"

    def is_other(self, color: Value | None) -> bool:
        """Whether a value has no colour of its own, since there are too many."""
        return self.color is not None and color is not None and self._colors[color] == OTHER

    def slot(self, color: Value | None) -> str:
        """The place of a colour among the bars of one category."""
        return str(self._places.get(color, 0))

    def legend(self, color: Value | None, symbol: Value | None = None) -> dict[str, Any]:
        """Name, group and place in the legend of a trace. All values without a colour of their own share an entry."""
        if self.is_other(color):
            others = sum(self.is_other(v) for v in self._colors)
            return {"name": f"{others} more", "legendgroup": "more", "legendrank": 900, "showlegend": False}
        parts = [named(self.table.column(self.color), color)] if self.color else []
        if self.symbol and not self.apart:
            parts.append(named(self.table.column(self.symbol), symbol))
        place = self._places.get(color, 0)
        # Numbers, since two long names may look alike once they are cut.
        group = f"{place}.{self._places_of_symbols[symbol]}" if self.symbol and not self.apart else str(place)
        return {"name": " · ".join(parts), "legendgroup": group, "legendrank": 100 + place, "showlegend": False}

    def entries(self) -> list[tuple[dict[str, Any], Look, str]]:
        """(legend, look, dashes) of entries that name a colour or a symbol alone; empty where traces name both."""
        if not self.apart or self.symbol is None:
            return []
        colors = {self.legend(v)["legendgroup"]: (self.legend(v), self._colors[v]) for v in self._places}
        found = [(legend, Look(look.color, "circle"), "solid") for legend, look in colors.values()]
        for value, place in self._places_of_symbols.items():
            legend = {
                "name": named(self.table.column(self.symbol), value),
                "legendgroup": f"symbol {place}",
                "legendrank": 950 + place,
            }
            found.append(({**legend, "showlegend": False}, Look(GREY, self._symbols[value].symbol), self.dash(value)))
        return found

    def row_label(self, table: Table, row: int) -> str:
        """What names a row: its values in the dimensions that differ and apply, on up to four lines when long."""
        values = {c: table.values(c)[row] for c in self._names}
        parts = [cut_middle(_raw_name(table.column(c), v), self.letters) for c, v in values.items() if v is not None]
        lines = [""]
        for part in parts or [f"row {row + 1}"]:
            if lines[-1] and len(lines[-1]) + len(part) > self.letters:
                lines.append("")
            lines[-1] += f" · {part}" if lines[-1] else part
        more = " …" if len(lines) > _MOST_LABEL_LINES else ""
        return "<br>".join(safe(line) for line in lines[:_MOST_LABEL_LINES]) + more


def hover(table: Table, row: int) -> str:
    """Every column of a row that has a value, one a line."""
    lines = [
        f"{safe(c.label)}: <b>{safe(_MIDNIGHT.sub(' ', format_value(c, v)).rstrip())}</b>"
        for c, v in zip(table.columns, table.rows[row], strict=True)
        if v is not None
    ]
    more = [f"and {len(lines) - _MOST_HOVER_LINES} more"] if len(lines) > _MOST_HOVER_LINES else []
    return "<br>".join(lines[:_MOST_HOVER_LINES] + more)


def rows_behind(table: Table, points: Iterable[Sequence[int]]) -> list[list[int]]:
    """What points carry: of each the places of its rows in the result that is drawn."""
    return [[table.place(i) for i in rows] for rows in points]


def title(column: Column) -> str:
    """Axis title with its unit: `Memory (MB)`."""
    return safe(column.title[:1].upper() + column.title[1:])


def value_axis(
    table: Table, column: str, log: bool = False, at_values: bool = False, room: int | None = None
) -> dict[str, Any]:
    """Axis of numbers or times.

    Args:
        table: the rows of the panel.
        column: what the axis shows.
        log: logarithmic, with labels at 1, 2, 5 or at powers of ten.
        at_values: label the values that are there, as for a parameter, when they are few.
        room: pixels for the labels of an x axis; None for a y axis, where labels are below each other.
    """
    shown = table.column(column)
    axis: dict[str, Any] = {"title": {"text": title(shown)}}
    if table.values(column).temporal:
        return {**axis, "type": "date", "nticks": max(2, (room or ROOM) // _PIXELS_OF_A_DATE), "tickangle": 0}
    numbers = [v for v in table.values(column).numbers if v > 0 or not log]
    small = bool(numbers) and max(map(abs, numbers)) < _SMALL  # a prefix such as µ would stand beside the unit
    axis |= {"type": "log" if log else "linear", "exponentformat": "power" if small else "SI", "minexponent": 5}
    axis["separatethousands"] = not is_year(shown)
    if numbers and numbers[-1] - numbers[0] <= _SAME * max(map(abs, numbers)) and spread(table, column) is None:
        return {**axis, **_around(shown, numbers[-1], log)}
    if not at_values or not (log or len(numbers) <= _MOST_TICKS):
        numbers = _log_ticks(numbers[0], numbers[-1]) if log and numbers else []
    if not numbers:
        return axis
    ticks = _spread_out(numbers, log, room, shown) if room else numbers
    texts = [_tick(shown, v) for v in ticks]
    return {**axis, "tickmode": "array", "tickvals": ticks, "ticktext": texts, "tickangle": 0}


def _around(column: Column, value: float, log: bool) -> dict[str, Any]:
    """The one value of an axis in its middle: Plotly would go from below zero, or label the last digits of floats."""
    reach = abs(value) / 2 or 0.5
    low, high = (math.log10(value) - 0.3, math.log10(value) + 0.3) if log else (value - reach, value + reach)
    tick = {"tickvals": [value], "ticktext": [_tick(column, value)], "tickangle": 0}
    return {"tickmode": "array", **tick, "range": [low, high]}


def category_axis(table: Table, column: str, values: Sequence[Value | None], letters: int) -> dict[str, Any]:
    """Axis of categories at 0, 1, 2 ...: positions, since Plotly would merge or reinterpret some names.

    `letters` is how long a name may be (see `Style.letters`).
    """
    shown = table.column(column)
    axis: dict[str, Any] = {"tickmode": "array", "tickvals": list(range(len(values))), "showgrid": False}
    if not is_ordered(table, column):
        return {**axis, "ticktext": [named(shown, v, letters) for v in values]}
    texts = [_category(shown, v) if is_number(v) else named(shown, v, letters) for v in values]
    return {**axis, "title": {"text": title(shown)}, "ticktext": texts}


def is_ordered(table: Table, column: str | None) -> bool:
    """Whether a category column has an order of its own, so that its bars stand side by side along x."""
    if column is None:
        return False
    return table.values(column).numeric or table.values(column).temporal or table.values(column).calendar


def _tick(column: Column, value: float) -> str:
    return str(int(value)) if is_year(column) else format_tick(value)


def _category(column: Column, value: float) -> str:
    return safe(str(int(value)) if is_year(column) else format_number(value, exact=True))


def _spread_out(values: list[float], log: bool, room: int, column: Column) -> list[float]:
    """As many of the values as have room for their labels; the last is always among them."""
    place = math.log if log else float
    width = (place(values[-1]) - place(values[0])) or 1.0
    kept = [values[-1]]
    for v in reversed(values[:-1]):
        letters = (len(_tick(column, v)) + len(_tick(column, kept[-1]))) / 2 + 1
        if (place(kept[-1]) - place(v)) / width * room >= letters * _PIXELS_OF_A_LETTER:
            kept.append(v)
    return kept[::-1]


def _log_ticks(low: float, high: float) -> list[float]:
    """Ticks between the ends and just beyond; none where so few are between them that Plotly finds better ones."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,) if last - first <= _MOST_TICKS else ()
    if not steps:
        stride = math.ceil((last - first) / _MOST_TICKS)
        return [10.0**e for e in range(first, last + 1, stride)]
    ticks = [float(f"{s}e{e}") for e in range(first, last + 1) for s in steps]
    return ticks if sum(low <= t <= high for t in ticks) > 1 else []
