"""Texts of a table that are really numbers, dates or flags become such columns; a row of totals is left out."""

import re
from dataclasses import dataclass

import duckdb

from mirror.data.loading import text_forms, whole_numbers
from mirror.data.loading.interpretation import Doubt, Reading
from mirror.data.loading.text_values import TextValues
from mirror.data.sql_text import literal, quoted

_TOTAL = re.compile(r"(grand |sub)?totals?|sum|(gesamt)?summe|gesamt|insgesamt", re.IGNORECASE)
_NUMERIC = re.compile(r"(HUGE|BIG|SMALL|TINY)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*")
_MOST_SHOWN = 12


@dataclass(frozen=True)
class _Total:
    """The last row of a table, where its first cell that is filled calls it a total."""

    row: int
    label: str
    column: str


def convert(connection: duckdb.DuckDBPyConnection, table: str, english: bool = True) -> tuple[str, ...]:
    """Convert what all values of a column allow; sentences that say what was done, and what was in doubt.

    Args:
        connection: that may write.
        table: its name.
        english: whether the file writes numbers as in 1,234.5 as far as it is known.
    """
    types = {str(name): str(type_) for name, type_, *_ in connection.execute(f"DESCRIBE {quoted(table)}").fetchall()}
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR"]
    notes = []
    total = _last_total(connection, table, types) if texts else None
    found = _Columns(connection, table, texts, english, f"rowid <> {total.row}" if total else "true")
    if total and not _adds_up(connection, table, types, found, total):
        notes.append(
            f"The last row of {table} is called “{total.label}”, but its numbers are not the sums of the others: it "
            "counts as a row."
        )
        found = _Columns(connection, table, texts, english, "true")
        total = None
    if total:
        connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid = {total.row}")
    readings = found.readings
    missing = sorted({text for name in readings for text in found.values[name].missing})
    for name, reading in readings.items():
        _apply(connection, table, name, reading)
    types |= {name: reading.type for name, reading in readings.items()}
    flags = whole_numbers.flags(connection, table, types)
    for name, reading in flags.items():
        _apply(connection, table, name, reading)
    readings |= flags
    notes += whole_numbers.add_date(connection, table, types)
    told = _sentence(table, readings, missing, total)
    doubts = [
        f"{table}.{name} is read as text and not as {doubt.kind}, {doubt.since}."
        for name, doubt in found.doubts.items()
    ]
    return tuple(filter(None, [told, *notes, *doubts]))


class _Columns:
    """What the columns of texts are, by name."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, table: str, texts: list[str], english: bool, rows: str
    ) -> None:
        self.values = {name: TextValues(connection, table, name, rows) for name in texts}
        found = {name: text_forms.read(values, english) for name, values in self.values.items()}
        self.readings = {name: one for name, one in found.items() if isinstance(one, Reading)}
        self.doubts = {name: one for name, one in found.items() if isinstance(one, Doubt)}


def _apply(connection: duckdb.DuckDBPyConnection, table: str, name: str, reading: Reading) -> None:
    place = f"{quoted(table)} ALTER COLUMN {quoted(name)}"
    connection.execute(f"ALTER TABLE {place} TYPE {reading.type} USING {reading.value}")
    if reading.comment:
        connection.execute(f"COMMENT ON COLUMN {quoted(table)}.{quoted(name)} IS {literal(reading.comment)}")


# -- totals ------------------------------------------------------------------------------------------------------------


def _last_total(connection: duckdb.DuckDBPyConnection, table: str, types: dict[str, str]) -> _Total | None:
    if "rowid" in map(str.lower, types):  # it hides by what a row is found
        return None
    last = connection.execute(
        f"SELECT rowid, * FROM {quoted(table)} WHERE rowid = (SELECT max(rowid) FROM {quoted(table)})"
    ).fetchone()
    if not last or last[0] < 2:
        return None
    for name, cell in zip(types, last[1:], strict=True):
        if cell is not None and str(cell).strip():
            label = str(cell).strip().rstrip(" :")
            return _Total(last[0], label, name) if _TOTAL.fullmatch(label) else None
    return None


def _adds_up(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    types: dict[str, str],
    found: _Columns,
    total: _Total,
) -> bool:
    """Whether the row has numbers, and each is the sum of its column."""
    selected = []
    for name, type_ in types.items():
        reading = found.readings.get(name)
        if name == total.column:
            continue
        if _NUMERIC.fullmatch(type_):
            value, filled = quoted(name), f"{quoted(name)} IS NOT NULL"
        elif reading and reading.kind == "numbers":
            value, filled = f"TRY({reading.value})", found.values[name].there
        else:
            continue
        here = f"rowid = {total.row}"
        selected.append(
            f"(bool_or({filled}) FILTER ({here}), max({value}) FILTER ({here})::DOUBLE, "
            f"sum({value}) FILTER (NOT {here})::DOUBLE)"
        )
    if not selected:
        return False
    row = connection.execute(f"SELECT {', '.join(selected)} FROM {quoted(table)}").fetchone() or ()
    numbers = [(stated, added) for filled, stated, added in row if filled]
    return bool(numbers) and all(
        stated is not None and added is not None and abs(stated - added) <= 0.011 + 1e-9 * abs(added)
        for stated, added in numbers
    )


# -- in words ----------------------------------------------------------------------------------------------------------


def _sentence(table: str, readings: dict[str, Reading], missing: list[str], total: _Total | None) -> str:
    """What was done to a table; empty for nothing."""
    parts = []
    for kind in dict.fromkeys(reading.kind for reading in readings.values()):
        columns = [
            f"{name} ({reading.how})" if reading.how else name
            for name, reading in readings.items()
            if reading.kind == kind
        ]
        more = f" and {len(columns) - _MOST_SHOWN} more" if len(columns) > _MOST_SHOWN else ""
        parts.append(f"{', '.join(columns[:_MOST_SHOWN])}{more} as {kind}")
    told = [f"texts of {table} are read as what they say: {'; '.join(parts)}"] if parts else []
    if missing:
        told.append(f"{' and '.join(f'“{m}”' for m in missing)} there count as missing")
    if total:
        told.append(f"the last row of {table}, “{total.label}”, holds the sums of the others and is left out")
    text = ", and ".join(told)
    return f"{text[0].upper()}{text[1:]}." if text else ""
