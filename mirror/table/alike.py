"""Whether two results say the same, whatever their columns are called and in whatever order columns and rows stand."""

import re
from collections import Counter
from collections.abc import Sequence

from mirror.table.values import Value

Rows = Sequence[Sequence[Value | None]]

_MONTH = re.compile(r"(\d{4}-\d\d)(-01)?")
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[T ]00:00(:00(\.0+)?)?")
_YEAR = re.compile(r"[12]\d{3}")


def is_empty(rows: Rows) -> bool:
    """Whether there are no rows, or nothing in them."""
    return all(value is None for row in rows for value in row)


def holds(rows: Rows, others: Rows) -> bool:
    """Whether each column of the other rows stands in these, as many times, and what stands beside one another does so
    here too. Numbers are the same to nine digits, a date and its midnight are, and so are a month and its first day.
    """
    if len(rows) != len(others):
        return False
    free = [tuple(map(_cell, column)) for column in zip(*rows, strict=True)]
    wanted = [tuple(map(_cell, column)) for column in zip(*others, strict=True)]
    found = []
    for column in wanted:
        # The very order first: of two columns with the same values, such as two counts, it tells which is which.
        match = next((c for c in free if c == column), None) or next(
            (c for c in free if sorted(c) == sorted(column)), ()
        )
        if not match:
            return False
        free.remove(match)
        found.append(match)
    return Counter(zip(*found, strict=True)) == Counter(zip(*wanted, strict=True))


def _cell(value: Value | None) -> str:
    """A value as a text that only its equals share."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"number {float(value):.9g}"
    if _YEAR.fullmatch(value):
        return f"number {float(value):.9g}"
    moment = _MIDNIGHT.sub(r"\1", value)
    month = _MONTH.fullmatch(moment)
    return f"text {month[1] if month else moment}"
