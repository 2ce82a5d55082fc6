"""Tables of configurations as people read them: as wide as the terminal, and numbers with their units."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_engine.compare.axes_shown import HasAxes, varying
from bench_engine.measure.ratios import Ratio

GAP = "  "
NONE = "–"
WRAP: dict[str, Any] = {"subsequent_indent": GAP, "break_long_words": False}
_COLOURS = {"faster": 32, "smaller": 32, "slower": 31, "larger": 31, "same": 2, "unclear": 33}


@dataclass(frozen=True)
class Column:
    """A column: the lines of its head, and a cell for each row."""

    head: list[str]
    cells: list[str]
    left: bool = False


def table(
    rows: Sequence[HasAxes],
    columns: Sequence[Column],
    width: int,
    verdicts: Sequence[str] = (),
    above: Sequence[str] = ("method",),
    inline: Sequence[str] = (),
) -> list[str]:
    """Lines of a table: the axes in which rows differ, then the columns.

    Where it would be wider than `width`, an axis with few values becomes a heading over a part of the table for each of
    them; the axes of `above` always do, those of `inline` after all others. `verdicts`, one for each row, colour its
    last column.
    """
    axes = varying(rows)
    on_top = [name for name in above if name in axes]
    while True:
        found = [*axis_columns([name for name in axes if name not in on_top], rows), *columns]
        widths = [max(map(len, (*c.head, *c.cells))) for c in found]
        if sum(widths) + len(GAP) * len(widths) <= width or len(on_top) == len(axes):
            break
        left = [name for name in axes if name not in on_top]
        on_top.append(min(left, key=lambda name: (name in inline, len({row.axes.get(name) for row in rows}))))
    parts: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        parts.setdefault(_heading(row, on_top), []).append(i)
    height = max(len(c.head) for c in found)
    heads = [[""] * (height - len(c.head)) + c.head for c in found]
    lines = [line([head[i] for head in heads], found, widths) for i in range(height)]
    for heading, numbers in parts.items():
        lines += [heading] if heading else []
        for i in numbers:
            lines.append(
                line([c.cells[i] for c in found], found, widths, _COLOURS.get(verdicts[i]) if verdicts else None)
            )
    return lines


def axis_columns(names: Sequence[str], rows: Sequence[HasAxes]) -> list[Column]:
    """A column for each of some axes."""
    return [Column(name.split("_"), [plain(row.axes.get(name)) for row in rows], left=True) for name in names]


def _heading(row: HasAxes, above: Sequence[str]) -> str:
    given = [(name, row.axes[name]) for name in above if name in row.axes]
    return ", ".join(str(value) if name in ("method", "machine") else f"{name} {plain(value)}" for name, value in given)


def line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], shade: int | None = None) -> str:
    """A line of a table; `shade` colours its last cell."""
    padded = [
        cell.ljust(width) if column.left else cell.rjust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    if shade is not None:
        padded[-1] = f"\x1b[{shade}m{cells[-1]}\x1b[0m"
    return (GAP + GAP.join(padded)).rstrip()


# -- values --------------------------------------------------------------------------------------------------------


def ratio_text(ratio: Ratio, places: int = 2) -> str:
    """`1.08x [1.05, 1.11]`; without the interval where nothing is known of it or it has no width."""
    value = f"{_factor(ratio.value, places)}x"
    if math.isinf(ratio.high) or ratio.low == ratio.high:
        return value
    return f"{value} [{_factor(ratio.low, places)}, {_factor(ratio.high, places)}]"


def amount(value: float, unit: str) -> str:
    """A value with its unit, three or four digits of it: `12.3 µs`, `1.20 ms`."""
    if value < 0:
        return f"-{amount(-value, unit)}"
    if not unit:
        return f"{value:.4f}" if value >= 0.1 or value == 0 else f"{value:.3g}"
    if unit == "µs":
        divisor, unit = next(((d, u) for d, u in ((1e6, "s"), (1e3, "ms")) if value >= d), (1.0, unit))
        value /= divisor
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}" if value >= 0.1 or value == 0 else f"{value:.2g} {unit}"


def plain(value: Any) -> str:
    """The value of an axis."""
    return NONE if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def interval(ratio: Ratio) -> Mapping[str, float | None]:
    """A ratio as plain values; an end of its interval that is not known is None."""
    ends = {"value": ratio.value, "low": ratio.low, "high": ratio.high}
    if math.isinf(ratio.high):
        ends["low"] = math.inf
    return {name: end if math.isfinite(end) else None for name, end in ends.items()}


def _factor(value: float, places: int) -> str:
    if math.isinf(value):
        return "∞"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{places}f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
