"""What databases say as what a reply can hold: rows, values, names of columns, and DuckDB's errors as sentences."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any

from db.plain_text import printable
from mirror.table.values import Value

TEXT_CAP = 10_000
NAME_CAP = 200
# About what a browser can be sent; beyond it the answer is cut as if by the row cap.
ANSWER_CAP = 16_000_000
_BATCH = 100


def plain_name(name: str) -> str:
    """The name of a column on one line, not longer than anybody reads: without an alias it is the expression."""
    text = " ".join(printable(name[: NAME_CAP + 1]).split()) or "unnamed"
    return text if len(text) <= NAME_CAP else text[: NAME_CAP - 1] + "…"


def unique_names(names: Iterable[str]) -> list[str]:
    """`a, a` becomes `a, a_2`: a chart must be able to name a column."""
    taken: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free] = None
    return list(taken)


def plain(value: object) -> Value | None:
    """A value of DuckDB as None, bool, int, float or text; NaN and infinity become None, long text is cut.

    A whole number of more than 64 bits becomes a float: neither a data frame nor a chart can hold it.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    text = as_text(value)
    return text if len(text) <= TEXT_CAP else text[: TEXT_CAP - 1] + "…"


def as_text(value: object) -> str:
    """A value as SQL would write it, or close to it: dates in ISO form, blobs in hexadecimal."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date | time_of_day):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(as_text(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_text(k)}: {as_text(v)}" for k, v in value.items()) + "}"
    return "NULL" if value is None else str(value)


def sentence(message: str) -> str:
    """DuckDB's own words without the class of the error and the quoted line; what it says is close to it stays."""
    text = message.split("\nLINE ")[0].strip()
    _, found, rest = text.partition(" Error: ")
    text = " ".join(printable(rest if found else text).split())
    text = text if len(text) <= 600 else text[:599] + "…"
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def take(
    fetch_many: Callable[[int], Sequence[Sequence[Any]]], row_cap: int, kept: Callable[[Any], Any] = lambda value: value
) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows up to the cap, and whether there were more; a result that is too large to show is cut as well.

    Args:
        fetch_many: gives at most so many more rows, none at the end.
        row_cap: the most rows.
        kept: what is kept of a value.
    """
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) <= row_cap and (batch := fetch_many(min(_BATCH, row_cap + 1 - len(rows)))):
        for row in batch:
            rows.append(tuple(map(kept, row)))
            size += sum(map(_size, rows[-1]))
            if size > ANSWER_CAP:
                return rows[:row_cap], True
    return rows[:row_cap], len(rows) > row_cap


def _size(value: object) -> int:
    """Bytes that a value takes, about."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return 8 + sum(_size(key) + _size(of_key) for key, of_key in value.items())
    return 8 + sum(map(_size, value)) if isinstance(value, list | tuple) else 8
