"""Which axes of several configurations are shown, which go without saying, and the order in which they stand."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from db.columns import AXES

_FOLLOWING = ("op", "num_tables", "num_rows")  # from the benchmark and the data set, as a rule


class HasAxes(Protocol):
    """What is told apart by its axes."""

    @property
    def axes(self) -> Mapping[str, Any]:
        """Axis -> value, those that apply."""


def varying(rows: Sequence[HasAxes]) -> list[str]:
    """Axes in which rows differ, in the order of the columns, those left out that follow from others."""
    names = sorted({name for row in rows for name in row.axes}, key=place)
    found = [name for name in names if len({row.axes.get(name) for row in rows}) > 1]
    for name in _FOLLOWING:
        others = [other for other in found if other != name]
        told = {tuple(row.axes.get(other) for other in others) for row in rows}
        if name in found and len(told) == len({(*map(row.axes.get, others), row.axes.get(name)) for row in rows}):
            found = others
    return found


def fixed(rows: Sequence[HasAxes]) -> dict[str, Any]:
    """Axes that have one value in all rows."""
    first = rows[0].axes
    return {name: value for name, value in first.items() if all(row.axes.get(name) == value for row in rows)}


def place(name: str) -> int:
    """Where an axis stands among the others."""
    return ("method", *(axis for axis in AXES if axis != "method"), "compared_with", "machine").index(name)


def order(row: HasAxes) -> list[tuple[int, bool, Any]]:
    """Sorts by the axes in their order, numbers as numbers."""
    return sorted((place(name), isinstance(value, str), value) for name, value in row.axes.items())
