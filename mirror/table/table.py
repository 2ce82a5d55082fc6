"""Table: a result, its column names and rows."""

from dataclasses import dataclass
from functools import cached_property

Value = str | int | float | bool


@dataclass(frozen=True)
class Table:
    """A result: column names, their kinds and the rows.

    Attributes:
        columns: names, in order.
        rows: tuples of None, bool, int, float, str or ISO timestamps as str.
        truncated: whether the row cap cut the result.
        milliseconds: time of the query.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value | None, ...], ...]
    truncated: bool = False
    milliseconds: float = 0.0

    def column(self, name: str) -> tuple[Value | None, ...]:
        """The values of one column."""
        return self._by_column[self.columns.index(name)] if self.rows else ()

    @cached_property
    def _by_column(self) -> tuple[tuple[Value | None, ...], ...]:
        return tuple(zip(*self.rows, strict=True))  # a chart asks for the same column a thousand times
