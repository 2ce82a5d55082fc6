"""What the texts of a column are found to be, and how they become it."""

from dataclasses import dataclass

from mirror.data.loading.text_values import TextValues


@dataclass(frozen=True)
class Reading:
    """How the texts of a column become values.

    Attributes:
        kind: what they are, in the plural.
        type: the type in DuckDB.
        value: SQL of a row's value; NULL for none.
        comment: what a person would say of the column, such as its unit; may be empty.
        how: what had to be decided, in words; may be empty.
    """

    kind: str
    type: str
    value: str
    comment: str = ""
    how: str = ""


@dataclass(frozen=True)
class Doubt:
    """Why a column stays text: what it nearly is, and a clause that begins with "since"."""

    kind: str
    since: str


def typed(values: TextValues, type_: str, value: str) -> str:
    """SQL of a column's value. It must not fail for rows that are left out: DuckDB rewrites them all the same."""
    return f"CASE WHEN {values.there} THEN CAST({value} AS {type_}) END"
