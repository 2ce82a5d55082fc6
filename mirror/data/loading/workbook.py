"""Excel workbooks: each sheet as a CSV file, which is then read like any other; bounded whatever the file holds."""

import contextlib
import csv
import itertools
import time
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mirror.data.loading.csv_form import CsvForm, FileError, column_names

_SUFFIXES = (".xlsx", ".xlsm")
_MOST_UNPACKED_MB = 1000  # as much as a full sheet of twenty columns
_MOST_STRINGS_MB = 100  # which alone are held in memory
_MOST_CSV_MB = 2000
_MOST_ROWS = 1_048_576  # of a sheet, as Excel has it
_MOST_SECONDS = 90.0  # of reading a workbook: whoever waits for it does so for two minutes
_HEAD_ROWS = 20


@dataclass(frozen=True)
class Sheet:
    """A sheet with something in it.

    Attributes:
        name: of the sheet.
        above: how many rows stand above its header, such as a title.
        _file: the workbook's name.
        _head: the header and the first rows.
        _rows: the rows that follow.
    """

    name: str
    above: int
    _file: str
    _head: list[tuple[Any, ...]]
    _rows: Iterator[tuple[Any, ...]]

    def write(self, copy: Path) -> CsvForm:
        """Write the sheet as CSV, and say how that is to be read. Raises FileError."""
        where = f"the sheet {self.name} of {self._file}"
        header = [_text(cell).strip() for cell in self._head[0]]
        width = max(len(_filled(row)) for row in self._head)
        header += [""] * (width - len(header))
        names = column_names(header[:width], where, ",".join(header))
        left = _MOST_CSV_MB * 1_000_000
        with copy.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(names)
            for row in itertools.chain(self._head[1:], self._rows):
                cells = [_text(cell) for cell in _filled(row)]
                if len(cells) > width:
                    raise FileError(f"A row of {where} has {len(cells):,} columns, where its header names {width:,}.")
                left -= out.writerow(cells + [""] * (width - len(cells)))
                if left < 0:
                    told = f"The sheet {self.name} of {self._file} holds more than {_MOST_CSV_MB:,} MB of text"
                    raise FileError(f"{told}: save it as CSV.")
        first = [[*map(_text, row)] for row in self._head[1:]]
        return CsvForm(names, ",", ".", first)


def is_workbook(path: Path) -> bool:
    """Whether its name says so."""
    return path.suffix.lower() in _SUFFIXES


def missing(path: Path) -> str:
    """What has to be installed for a workbook to be read, as a sentence; empty where all is."""
    if find_spec("openpyxl"):
        return ""
    return f"{path.name} is read with openpyxl, which is not installed: run `pip install openpyxl`, or save it as CSV."


@contextlib.contextmanager
def opened(path: Path) -> Iterator[list[Sheet]]:
    """The sheets that are shown and hold something. Raises FileError."""
    if told := missing(path):
        raise FileError(told)
    import openpyxl

    with contextlib.ExitStack() as stack:
        until = time.monotonic() + _MOST_SECONDS
        with _told(path.name):
            file = stack.enter_context(path.open("rb"))
            _check_size(file, path.name)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            stack.callback(book.close)
            shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            sheets = [found for sheet in shown if (found := _sheet(sheet, path.name, until))]
        if not sheets:
            raise FileError(f"{path.name} is empty: the first row of a sheet should name the columns.")
        yield sheets


def _check_size(file: Any, name: str) -> None:
    """Nothing is unpacked beyond the sizes that the archive itself states; they are looked at first."""
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    most = _MOST_STRINGS_MB, _MOST_UNPACKED_MB
    sizes = (
        sum(p.file_size for p in parts if not p.filename.startswith("xl/worksheets/")),
        sum(p.file_size for p in parts),
    )
    for size, most_mb in zip(sizes, most, strict=True):
        if size > most_mb * 1_000_000:
            told = f"{name} would unpack to {size // 1_000_000:,} MB, where {most_mb:,} MB can be read"
            raise FileError(f"{told}: save its sheets as CSV.")


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """What goes wrong within as a FileError: bytes of anybody's reach every corner of the library, with any error."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        locked = isinstance(error, zipfile.BadZipFile)
        raise FileError(
            f"{name} is no whole Excel workbook{', or one with a password' if locked else ''}: save it anew, or its "
            "sheets as CSV."
        ) from None


def _sheet(sheet: Any, file: str, until: float) -> Sheet | None:
    """A sheet from its header on: the first row that is about as wide as those below it."""
    sheet.reset_dimensions()  # the file may state any
    rows = _rows(sheet, file, until)
    head = list(itertools.islice(rows, _HEAD_ROWS))
    if not head:
        return None
    filled = [sum(cell is not None for cell in row) for row in head]
    above = next(i for i, count in enumerate(filled) if 2 * count > max(filled))
    return Sheet(sheet.title, above, file, head[above:], rows)


def _rows(sheet: Any, file: str, until: float) -> Iterator[tuple[Any, ...]]:
    """The rows that hold something, as long as there is time."""
    with _told(file):
        for number, row in enumerate(sheet.iter_rows(values_only=True)):
            if number >= _MOST_ROWS:
                raise FileError(f"The sheet {sheet.title} of {file} has more than {_MOST_ROWS:,} rows: save it as CSV.")
            if time.monotonic() > until:
                raise FileError(f"{file} takes longer than {_MOST_SECONDS:g} s to read: save its sheets as CSV.")
            if any(cell not in (None, "") for cell in row):
                yield row


def _filled(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row without what is empty at its end."""
    width = len(row)
    while width and row[width - 1] in (None, ""):
        width -= 1
    return row[:width]


def _text(cell: Any) -> str:
    """A cell as CSV holds it: a date without a time of day is written without it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        return cell.isoformat(" ", "seconds") if cell.time() != time_of_day() else cell.date().isoformat()
    if isinstance(cell, date | time_of_day):
        return cell.isoformat()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)
