"""Streamed reader of text files with one row per line and a delimiter, with the line of whatever is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from bench_engine.data.kinds import KINDS, texts
from bench_engine.data.problems import MEND, Complain, DataFileError, refuse
from bench_engine.data.source import Source

BLOCK = 4 << 20  # bytes per batch, and so the longest line


@dataclass(frozen=True)
class Layout:
    """The columns of a text format.

    Attributes:
        format: its name, in words.
        columns: (name, name in bench_engine.data.kinds.KINDS) in the order of the file.
        delimiter: the character between fields.
        header: whether the first line names the columns.
        quoted: whether fields may stand in double quotes.
        label: column that tells clicks, empty where there is none.
        liked: value of `label` from which on it is a click.
    """

    format: str
    columns: tuple[tuple[str, str], ...]
    delimiter: str = "\t"
    header: bool = False
    quoted: bool = False
    label: str = ""
    liked: float = 1.0


def read(
    source: Source, layout: Layout, on_problem: Complain | None = None, only: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the rows as batches of BinaryArrays; memory depends on BLOCK only, not on the length of the file.

    Args:
        only: names of the columns to read and check; all unless given.
        on_problem: called for lines and values that do not fit, which are then left out; raises DataFileError unless
            given. Empty lines are passed over.

    Raises DataFileError for a packed file that is cut off or damaged.
    """
    tell, told = on_problem or refuse(source.name), 0

    def complain(line: int | None, what: str) -> None:
        nonlocal told
        told += 1
        tell(line, what)

    kinds = {name: kind for name, kind in layout.columns if not only or name in only}
    first_line = 2 if layout.header else 1
    misfits = _Misfits(source, len(layout.columns), complain, first_line)
    rows = 0
    try:
        for batch in _batches(source, layout, list(kinds), misfits.handler):
            lines = misfits.lines(batch.num_rows)
            good = _good(batch, kinds, lines, complain)
            if good.num_rows:
                rows += good.num_rows
                yield good
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            complain(None, f"has a line of more than {BLOCK >> 20} MB: it is no {layout.format}; fetch it again.")
        elif "Empty CSV" not in str(error):
            raise DataFileError(f"{source.name} cannot be read ({error}): fetch it again.") from error
    misfits.end()
    if not rows and not told:
        complain(None, "holds no rows: fetch it again.")


def count(source: Source, layout: Layout) -> int:
    """Number of rows. Raises DataFileError as `read` does."""
    return sum(batch.num_rows for batch in read(source, layout, only=[layout.columns[0][0]]))


def _batches(source: Source, layout: Layout, names: list[str], handler: Any) -> Iterator[pa.RecordBatch]:
    all_names = [name for name, _ in layout.columns]
    yield from csv.open_csv(
        source,
        # Without threads, for only then are lines numbered.
        read_options=csv.ReadOptions(
            column_names=all_names, skip_rows=int(layout.header), block_size=BLOCK, use_threads=False
        ),
        parse_options=csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.quoted else False,
            ignore_empty_lines=False,
            invalid_row_handler=handler,
        ),
        convert_options=csv.ConvertOptions(
            column_types={name: pa.binary() for name in names},
            include_columns=names,
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


class _Misfits:
    """Lines with the wrong number of fields, and the numbers of the other lines.

    A line is held back until it is known whether it is the last: with too few fields and no newline it was cut off.
    """

    def __init__(self, source: Source, fields: int, complain: Complain, first_line: int) -> None:
        self.source = source
        self.fields = fields
        self.complain = complain
        self.next_line = first_line
        self.held: list[tuple[int, int]] = []

    def handler(self, row: Any) -> str:
        self.held.append((row.number, row.actual_columns))
        return "skip"

    def lines(self, rows: int) -> np.ndarray:
        """Line numbers (n,) of the next rows that fit; complains of the lines between them."""
        apart = np.array([line for line, _ in self.held], np.int64)
        lines = np.arange(self.next_line, self.next_line + rows + len(apart))
        lines = np.setdiff1d(lines, apart, assume_unique=True)[:rows]
        if rows:
            self.next_line = int(lines[-1]) + 1
        while self.held and self.held[0][0] < self.next_line:
            self._tell(*self.held.pop(0))
        return lines

    def end(self) -> None:
        for line, fields in self.held:
            last = line == self.source.newlines + 1 and self.source.open_line
            if last and fields < self.fields:
                self.complain(
                    line, f"the file is cut off in this line ({fields} of {self.fields} fields): fetch it again."
                )
            else:
                self._tell(line, fields)
        self.held.clear()

    def _tell(self, line: int, fields: int) -> None:
        noun = "field" if fields == 1 else "fields"
        self.complain(line, f"it has {fields} {noun}, not {self.fields}{MEND}")


def _good(batch: pa.RecordBatch, kinds: dict[str, str], lines: np.ndarray, complain: Complain) -> pa.RecordBatch:
    """The rows whose values fit; complains of the first value of each other row that does not."""
    bad = np.zeros(batch.num_rows, bool)
    found: dict[int, str] = {}
    for name, kind in kinds.items():
        misfit = KINDS[kind].bad(batch[name])
        for row in np.flatnonzero(misfit & ~bad).tolist():
            value = batch[name][row].as_py()
            found[row] = f"{name} is {shown(value)}, not {KINDS[kind].wanted}{MEND}"
        bad |= misfit
    if not bad.any():
        return batch
    empty = np.all([texts(batch[name])[0] == 0 for name in kinds], axis=0)
    for row in sorted(found):
        if not empty[row]:
            complain(int(lines[row]), found[row])
    return batch.filter(pa.array(~bad))


def shown(value: bytes) -> str:
    """A value for a message: quoted, short, and harmless to a terminal."""
    return ascii(value[:20].decode("utf-8", "replace"))
