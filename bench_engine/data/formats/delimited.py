"""Streamed reader of text files with one row per line and a delimiter, with the line of whatever is wrong."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from bench_engine.data.formats.kinds import KINDS
from bench_engine.data.formats.stream import Source
from bench_engine.data.problems import MEND, NO_NEWLINE, Complain, refuse, shown

_UNEVEN = 0  # fields of a line that cannot be parted


@dataclass(frozen=True)
class Layout:
    """The columns of a text format.

    Attributes:
        format: its name, in words.
        columns: (name, name in bench_engine.data.formats.kinds.KINDS) in the order of the file.
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
    """Yield the rows as batches of BinaryArrays; memory depends on the blocks of `source`, not on their number.

    Empty lines are passed over.

    Args:
        only: names of the columns to read and check; all unless given.
        on_problem: called for lines and values that do not fit, which are then left out, and for a last line that
            alone has no newline. Unless given, the former raise DataFileError and the latter is taken.

    Raises DataFileError as Source.blocks does.
    """
    complain = on_problem or refuse(source.name)
    kinds = {name: kind for name, kind in layout.columns if not only or name in only}
    before, rows, told = 0, 0, 0
    for block in source.blocks():
        part = _Part(block, layout, before)
        before += part.lines
        batch = part.parsed(list(kinds))
        batch = part.good(batch, kinds) if batch else batch
        if on_problem and part.open_line > 1:
            part.problems.setdefault(part.open_line, NO_NEWLINE)
        for line, what in sorted(part.problems.items()):
            complain(line, what)
        told += len(part.problems)
        if batch and batch.num_rows:
            rows += batch.num_rows
            yield batch
    if not rows and not told:
        complain(None, "holds no rows: fetch it again.")


def count(source: Source, layout: Layout) -> int:
    """Number of rows. Raises DataFileError as `read` does."""
    return sum(batch.num_rows for batch in read(source, layout, only=[layout.columns[0][0]]))


def table(source: Source, layout: Layout) -> dict[str, np.ndarray]:
    """The columns of a file that fits into memory, as bytes. Raises DataFileError as `read` does."""
    whole = pa.Table.from_batches(read(source, layout))
    return {name: np.array(whole[name].to_pylist(), np.bytes_) for name in whole.column_names}


class _Part:
    """Some whole lines of a file. Only those with the right number of fields reach Arrow, which fits them together.

    Attributes:
        lines: how many there are.
        open_line: number of the last line of the file where it has no newline, else 0.
        problems: what is wrong with a line, by its number.
    """

    def __init__(self, block: bytes, layout: Layout, before: int) -> None:
        self._layout = layout
        open_line = not block.endswith(b"\n")
        if open_line:
            block = block.removesuffix(b"\r") + b"\n"
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        lengths = np.diff(ends, prepend=-1)  # with the newline
        self.lines = len(ends)
        self.open_line = before + self.lines if open_line else 0
        self.problems: dict[int, str] = {}

        fields = self._fields(block, data, ends)
        fits = (fields == len(layout.columns)) & (lengths > 1)
        wrong = ~fits & (lengths > 1)
        if layout.header and not before:
            fits[0] = wrong[0] = False
        for place in np.flatnonzero(wrong).tolist():
            self._complain_of_fields(before + place + 1, int(fields[place]))
        self._numbers = before + 1 + np.flatnonzero(fits)
        self._text = block if fits.all() else data[np.repeat(fits, lengths)].tobytes()

    def parsed(self, names: list[str]) -> pa.RecordBatch | None:
        """These columns of the lines that fit; None where none does."""
        if not self._text:
            return None
        parsed = arrow_csv.read_csv(
            pa.BufferReader(self._text),
            read_options=arrow_csv.ReadOptions(
                column_names=[name for name, _ in self._layout.columns],
                block_size=len(self._text) + 1,  # one block: one batch
                use_threads=False,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._layout.delimiter, quote_char='"' if self._layout.quoted else False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.binary() for name in names},
                include_columns=names,
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        return parsed.combine_chunks().to_batches()[0]

    def good(self, batch: pa.RecordBatch, kinds: dict[str, str]) -> pa.RecordBatch:
        """The rows whose values fit; of the others, the first value that does not is a problem."""
        bad = np.zeros(batch.num_rows, bool)
        for name, kind in kinds.items():
            misfit = KINDS[kind].bad(batch[name])
            for row in np.flatnonzero(misfit & ~bad).tolist():
                what = f"{name} is {shown(batch[name][row].as_py())}, not {KINDS[kind].wanted}"
                self._complain(int(self._numbers[row]), what, name == self._layout.columns[-1][0], what)
            bad |= misfit
        return batch.filter(pa.array(~bad)) if bad.any() else batch

    def _fields(self, block: bytes, data: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Number of fields of each line."""
        delimiters = np.flatnonzero(data == ord(self._layout.delimiter))
        fields = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
        if self._layout.quoted:
            for place in np.unique(np.searchsorted(ends, np.flatnonzero(data == ord('"')))).tolist():
                line = block[ends[place - 1] + 1 if place else 0 : ends[place]]
                fields[place] = _quoted_fields(line, self._layout.delimiter)
        fields[np.searchsorted(ends, np.flatnonzero(data == ord("\r")))] = _UNEVEN  # Arrow takes it for a newline
        return fields

    def _complain_of_fields(self, line: int, found: int) -> None:
        wanted = len(self._layout.columns)
        what = f"it has {found} field{'' if found == 1 else 's'}, not {wanted}"
        if found == _UNEVEN:
            what = "it has a carriage return or an odd quotation mark inside"
        self._complain(line, what, found < wanted, f"{found} of {wanted} fields" if found else "an open field")

    def _complain(self, line: int, what: str, by_cut: bool, cut: str) -> None:
        """Note what is wrong with a line, or `cut` where it may come from the line being cut off."""
        if by_cut and line == self.open_line:
            self.problems[line] = f"the file is cut off in this line ({cut}): fetch it again."
        else:
            self.problems[line] = what + MEND


def _quoted_fields(line: bytes, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line.decode("latin-1")], delimiter=delimiter, strict=True)))
    except csv.Error:
        return _UNEVEN
