"""A CSV file becomes a table: of the types that its first rows show as long as all rows keep to them."""

import re
from pathlib import Path

import duckdb

from mirror.data.loading.csv_form import CsvForm, FileError
from mirror.data.sql_text import file_literal, literal, quoted

# TIME is none: a time of day can be asked about as text only. Only ISO dates are told by themselves: others need to be
# looked at all, since DuckDB guesses whether the day or the month comes first.
_GUESSING = (
    "sample_size = 100000, "
    "auto_type_candidates = ['BOOLEAN', 'BIGINT', 'DOUBLE', 'DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR']"
)
_BLANK_BYTES = 10_000  # before the first object of a JSON file
_FLAGS = {"true", "false", "t", "f", ""}
_DECIMAL_POINT = re.compile(r"[-+]?(0?\.\d+|\d+\.(\d{1,2}|\d{4,})|[\d.]+e[-+]?\d+)", re.IGNORECASE)


def load(connection: duckdb.DuckDBPyConnection, table: str, path: Path, form: CsvForm) -> None:
    """Make the table. Raises duckdb.Error."""
    file = file_literal(path)
    texts = dict.fromkeys(form.names, "VARCHAR")
    try:
        guess = f"DESCRIBE SELECT * FROM read_csv({file}, {form.options}, {_GUESSING})"
        types = {str(name): str(type_) for name, type_, *_ in connection.execute(guess).fetchall()}
    except duckdb.InvalidInputException:  # guessing tells nothing of the line at fault; reading texts does
        types = texts
    types = _doubted(types, form)
    try:
        _make(connection, table, file, form.options, types)
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        # Where a later row is of another type than the first ones, all are read as texts, and then looked at.
        _make(connection, table, file, form.options, texts)


def load_json_lines(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Make the table of a file that holds an object of JSON per line. Raises duckdb.Error or FileError."""
    with path.open("rb") as file:
        start = file.read(_BLANK_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start != b"{":  # of nothing, and of plain numbers, DuckDB makes a table too
        what = "holds no objects" if start else "is empty"
        raise FileError(f'{path.name} {what}: each line should be one, as in {{"id": 1, "name": "Anna"}}.')
    read = (
        f"FROM read_json({file_literal(path)}, format = 'newline_delimited', dateformat = '%Y-%m-%d', "
        "timestampformat = 'iso', sample_size = 100000)"
    )
    types = {str(name): str(type_) for name, type_, *_ in connection.execute(f"DESCRIBE {read}").fetchall()}
    # As in CSV, since nobody can ask about these but as texts.
    as_text = {n: f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" for n, t in types.items() if t in ("TIME", "UUID")}
    as_text |= {n: f"{quoted(n)} ->> '$' AS {quoted(n)}" for n, t in types.items() if t == "JSON"}
    selected = ", ".join(as_text.get(name, quoted(name)) for name in types)
    connection.execute(f"CREATE OR REPLACE TABLE {quoted(table)} AS SELECT {selected} {read}")


def _make(connection: duckdb.DuckDBPyConnection, table: str, file: str, options: str, types: dict[str, str]) -> None:
    read = ", ".join(f"{literal(n)}: '{'VARCHAR' if t == 'BIGINT' else t}'" for n, t in types.items())
    selected = ", ".join(_whole(quoted(n)) if t == "BIGINT" else quoted(n) for n, t in types.items())
    connection.execute(
        f"CREATE OR REPLACE TABLE {quoted(table)} AS SELECT {selected} FROM read_csv({file}, {options}, "
        f"auto_detect = false, columns = {{{read}}})"
    )


def _whole(name: str) -> str:
    """A whole number; 007 and +49 are none, but codes."""
    code = f"{name} LIKE '0_%' OR {name} LIKE '+%'"
    return f"CASE WHEN {code} THEN error('a code')::BIGINT ELSE CAST({name} AS BIGINT) END AS {name}"


def _doubted(types: dict[str, str], form: CsvForm) -> dict[str, str]:
    """Texts where DuckDB guesses too much.

    These are numbers in which a point may as well stand before thousands, as in 1.234 beside 2,50 in another column,
    and flags of other words than true and false: NO may be Norway.
    """
    kept = dict(types)
    for i, (name, type_) in enumerate(types.items()):
        if type_ not in ("DOUBLE", "BOOLEAN"):
            continue
        held = {row[i].strip() for row in form.rows if i < len(row)}
        unsure = form.decimal == "." and not form.english and not any(map(_DECIMAL_POINT.fullmatch, held))
        if (type_ == "DOUBLE" and unsure) or (type_ == "BOOLEAN" and {h.lower() for h in held} - _FLAGS):
            kept[name] = "VARCHAR"
    return kept
