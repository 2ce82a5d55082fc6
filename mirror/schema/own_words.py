"""Words that people use for parts of one source, beyond its names: learnt from what they chose, or written by hand."""

from dataclasses import dataclass

# Of the results: where their columns are, and where what training records step by step is.
RESULTS, CURVES = "results", "curves"


@dataclass(frozen=True)
class OwnWord:
    """A word, and the one thing that it names.

    Attributes:
        word: one word in lower case.
        table: the table; of the results RESULTS or CURVES.
        column: the column; None where the table itself is named.
        value: the text that the column holds; None where the column itself is named.
    """

    word: str
    table: str
    column: str | None = None
    value: str | None = None

    @property
    def name(self) -> str:
        """What it names, as people write it: `orders.amount`, `orders.status = paid`."""
        if self.column is None:
            return self.table
        place = self.column if self.table == RESULTS else f"{self.table}.{self.column}"
        return place if self.value is None else f"{place} = {self.value}"
