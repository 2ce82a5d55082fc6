"""How a CSV file is written: its columns, its delimiter and its decimals, told by its first rows."""

import contextlib
import csv
import io
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mirror.data.loading import encoding
from mirror.data.plain_values import sentence
from mirror.schema.names import words_of

_HEAD_BYTES = 1_000_000
_DELIMITERS = ",;\t|"
MOST_COLUMNS = 2_000  # each is looked at by itself
_DECIMAL_COMMA = re.compile(r"[^\w.,]{0,3}-?\d[\d.]*,\d{1,2}\D{0,4}")
# 01.02.2025 or 1.2.25: its points are none before decimals.
_GERMAN_DATE = re.compile(r"(?<![\d.])\d{1,2}\.\d{1,2}\.(\d{4}|\d{2})(?![\d.])")


class FileError(ValueError):
    """The file cannot be read; the message is a sentence that says what to do."""


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written.

    Attributes:
        names: of its columns.
        delimiter: between two cells.
        decimal: what stands before decimals, as far as it is known.
        rows: its first rows without the header.
    """

    names: list[str]
    delimiter: str
    decimal: str
    rows: list[list[str]]

    @property
    def options(self) -> str:
        """For read_csv."""
        return (
            f"delim = '{self.delimiter}', quote = '\"', escape = '\"', header = true, strict_mode = true, "
            f"null_padding = false, decimal_separator = '{self.decimal}', dateformat = '%Y-%m-%d'"
        )

    @cached_property
    def english(self) -> bool:
        """Whether it writes numbers as in 1,234.5 as far as its first rows tell."""
        return self.delimiter != ";" and not any(_DECIMAL_COMMA.fullmatch(cell) for row in self.rows for cell in row)


def form_of(path: Path, name: str) -> CsvForm:
    """How a file is to be read. Left to guess, DuckDB takes a file with one bad row for one of a single column.

    Args:
        path: of a file in UTF-8.
        name: what to call it.

    Raises FileError.
    """
    head = _head(path, name)
    header, *rest = head.splitlines() or [""]
    if not header.strip():
        raise FileError(f"{name} is empty: its first line should name the columns.")
    try:
        delimiter = _delimiter(header, "\n".join(rest))
        cells = csv.reader(io.StringIO(head), delimiter=delimiter)
        names = [cell.strip() for cell in next(cells)]
    except csv.Error:  # bytes that are no text
        raise FileError(f"{name} holds no CSV: its first line should name the columns.") from None
    names = column_names(names, name, header)
    decimal = "."
    undated = _GERMAN_DATE.sub("", "\n".join(rest))
    if delimiter != "," and re.search(r"\d,\d", undated) and not re.search(r"\d\.\d", undated):
        decimal = ","
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # as of a line that is longer than any line of a table
        rows.extend(cells)
    return CsvForm(names, delimiter, decimal, rows)


def column_names(names: list[str], file: str, line: str) -> list[str]:
    """The names of a header, with one for each column that has none. Raises FileError where it is no header."""
    if not any(words_of(name) and not _is_number(name) for name in names) or any(map(_is_number, names)):
        raise FileError(f"The first line of {file} is “{line[:60]}”: it should name the columns, as in id,name,amount.")
    if len(names) > MOST_COLUMNS:
        raise FileError(f"{file} has {len(names):,} columns, where {MOST_COLUMNS:,} can be read: leave some out.")
    distinct = [name or f"column{i}" for i, name in enumerate(names)]
    if len({name.lower() for name in distinct}) < len(distinct):
        raise FileError(f"The first line of {file} names a column twice: every column needs a name of its own.")
    return distinct


def line_sentence(path: Path, message: str) -> str:
    """What DuckDB says is wrong with a file, and in which line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if "No magic bytes" in message or "too small to be a Parquet file" in message:
        return f"{path.name} is no whole Parquet file: it may have been cut off on its way; copy or save it anew."
    if json_line := re.search(r"Malformed JSON in file .* in line (\d+)", message):
        number = int(json_line[1])  # DuckDB's, which is mostly that of the line behind
        lines = f"Line {number - 1:,} or {number:,}" if number > 1 else "Line 1"
        return f"{lines} of {path.name} is no whole JSON object: mend the line, or copy the file anew."
    if not line:
        return f"{path.name} cannot be read: {sentence(message).replace(str(path), path.name)}"
    where = f"Line {int(line[1]):,} of {path.name}"
    original = re.search(r"Original Line: (.*)", message)
    text = f" (“{original[1][:60]}”)" if original and original[1].strip() else ""
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        than = "fewer" if int(counts[2]) < int(counts[1]) else "more"
        return f"{where}{text} has {than} columns than the {counts[1]} that the header names: mend the line."
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where} is not UTF-8 text: save the file as UTF-8."
    if size := re.search(r"Maximum line size of (\d+) bytes exceeded", message):
        return f"{where}{text} is longer than the {int(size[1]):,} bytes that a line may have: shorten its texts."
    if "unterminated quote" in message.lower():
        return f"{where}{text} has a quotation mark that is not closed: mend the line."
    return f"{where}{text} cannot be read: mend the line."


def _head(path: Path, name: str) -> str:
    try:
        with encoding.opened(path) as file:
            return file.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError) as error:
        raise FileError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _delimiter(header: str, rest: str) -> str:
    """What parts the header into most names; in a file of one column, what is in no row."""
    delimiter = max(_DELIMITERS, key=lambda d: len(next(csv.reader([header], delimiter=d))))
    if delimiter in header or '"' in rest:
        return delimiter
    return next((d for d in ",\t|;" if d not in rest), ",")


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text.strip(), re.IGNORECASE))
