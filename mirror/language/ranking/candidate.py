"""A reading by whichever reader, and how likely it is what was asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mirror.language.neural.other_data_reader import SecondReading
from mirror.language.reading.reading import Reading
from mirror.query.other_data.build import Built
from mirror.query.other_data.form import Asked
from mirror.table.values import Value

Rows = tuple[tuple[Value | None, ...], ...]
RowsOf = Callable[[Built], Rows | None]  # None where the statement fails; it raises NotRun


class NotRun(Exception):
    """A statement was not run to its end, for want of time: its rows may be there."""


@dataclass(frozen=True)
class Candidate:
    """A reading.

    Attributes:
        asked: the form.
        built: its SQL.
        first: what the reader with the words says; None where it does not read so.
        second: what the network says; None where it does not read so.
        compared: whether its statement was run.
        rows: its rows; None where it was not run or fails.
        left: words of the question that the form does not hold.
        features: what speaks for it and against it, by name.
        chance: how likely it is what was asked, from 0 to 1.
    """

    asked: Asked
    built: Built
    first: Reading | None = None
    second: SecondReading | None = None
    compared: bool = False
    rows: Rows | None = None
    left: tuple[str, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    chance: float = 0.0

    @property
    def empty(self) -> bool:
        """Whether there are no rows, or nothing in them."""
        return self.rows is not None and all(value is None for row in self.rows for value in row)
