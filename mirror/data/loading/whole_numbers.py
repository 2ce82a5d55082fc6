"""Columns of whole numbers that are something else: flags of 0 and 1, and the parts of a date."""

import duckdb

from mirror.data.loading.interpretation import Reading
from mirror.data.sql_text import quoted
from mirror.schema.names import words_of

# What names of flags begin with and end in.
_ASKING = frozenset(("is", "has", "had", "was", "were", "can", "did", "does", "should"))
_FLAGS = frozenset(
    (
        *("flag", "yn", "active", "inactive", "enabled", "disabled", "deleted", "archived", "blocked", "locked"),
        *("verified", "confirmed", "approved", "rejected", "valid", "invalid", "cancelled", "canceled", "completed"),
        *("closed", "married", "retired", "subscribed", "registered", "churned", "survived", "employed", "smoker"),
        "vip",
    )
)
_PARTS = (("year", "yr", "jahr"), ("month", "monat"), ("day", "tag"))
_FIRST_YEAR = 1800


def flags(connection: duckdb.DuckDBPyConnection, table: str, types: dict[str, str]) -> dict[str, Reading]:
    """Columns of 0 and 1, both, that are called like a flag: others may be an amount that happens to be small."""
    named = [name for name, type_ in types.items() if type_ == "BIGINT" and _is_flag(name)]
    if not named:
        return {}
    ends = ", ".join(f"[min({quoted(name)}), max({quoted(name)})]" for name in named)
    row = connection.execute(f"SELECT {ends} FROM {quoted(table)}").fetchone() or ()
    found = (name for name, held in zip(named, row, strict=True) if held == [0, 1])
    return {name: Reading("yes or no", "BOOLEAN", f"{quoted(name)} = 1", how="1 is yes") for name in found}


def _is_flag(name: str) -> bool:
    words = words_of(name)
    return bool(words) and (words[0] in _ASKING or words[-1] in _FLAGS)


def add_date(connection: duckdb.DuckDBPyConnection, table: str, types: dict[str, str]) -> list[str]:
    """Give a date to a table that has none, but year and month, and perhaps day, in columns; a sentence that says so.

    A table with a date keeps that alone: with two, a question that names a time would have to be asked back.
    """
    by_name = {name.lower(): name for name, type_ in types.items() if type_ == "BIGINT"}
    year, month, day = (next((by_name[name] for name in names if name in by_name), "") for names in _PARTS)
    taken = any(name.lower() == "date" or type_.startswith(("DATE", "TIMESTAMP")) for name, type_ in types.items())
    if taken or not (year and month):
        return []
    made = f"TRY(make_date({quoted(year)}, {quoted(month)}, {quoted(day) if day else '1'}))"
    row = connection.execute(
        f"SELECT count(*) > 0 AND count({made}) = count(*) AND min({quoted(year)}) > {_FIRST_YEAR} FROM {quoted(table)}"
    ).fetchone()
    if not row or not row[0]:
        return []
    of = f"{year}, {month} and {day}" if day else f"{year} and {month}: the first day of each month"
    connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN date DATE")
    connection.execute(f"UPDATE {quoted(table)} SET date = {made}")
    return [f"{table}.date is made of {of}."]
