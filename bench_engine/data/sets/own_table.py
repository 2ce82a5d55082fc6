"""Clicks of one's own: a CSV or Parquet file with a column of labels and columns of ids.

A label is 0 or 1, or a number that is a click from some value on. Each value of an id column is a row of its field, an
empty one too; the first row of a field stands for all values that training lacks. The last fifth of the rows by time is
the test part where a column of times is named, else a seeded random fifth.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench_engine.data import ClickData
from bench_engine.data.fields import TRAIN_SHARE, joint_ids
from bench_engine.data.formats.delimited import Layout, read
from bench_engine.data.formats.stream import open_text
from bench_engine.data.problems import DataFileError, reason, shown

DATA_SEED = 2026
_DELIMITERS = (",", "\t", ";", "|")
_SHOWN = 20  # columns that a message lists
_INDEX = ("__index_level_", "Unnamed: ")  # how pandas calls an index without a name, written and read again
# Texts whose order is that of their times: the year or the hour first, every number with all its digits.
_TIME = re.compile(r"(?:\d{4}|\d\d:\d\d)(?:[-/.:T ]?\d\d)*(?:[.,]\d+)?(?: ?(?:Z|UTC|[-+]\d\d:?\d\d))?")


def load(
    name: str, path: Path, label: str, fields: Sequence[str] = (), liked: float | None = None, time: str = ""
) -> ClickData:
    """The data.

    Args:
        name: of the data set.
        path: of a text file whose first line names columns, packed with gzip or not, or of a Parquet file.
        label: the column that tells clicks.
        fields: the columns of ids; where none is named all but label, time and the index that
            pandas writes.
        liked: from this value of the label on it is a click; None where labels are 0 and 1.
        time: column of numbers, times or texts such as 2026-01-31, by which rows are split; empty for none.

    Raises DataFileError.
    """
    table = _table(path, label, fields, time)
    labels = _labels(path, label, table[label], liked)
    ids_of = [_ids(path, column, table[column]) for column in table.column_names if column not in (label, time)]
    order = _order(path, time, table[time]) if time else np.random.default_rng(DATA_SEED).permutation(len(labels))
    labels, ids_of = labels[order], [ids[order] for ids in ids_of]
    test = np.arange(len(labels)) >= np.ceil(TRAIN_SHARE * len(labels))
    for part, of_part in (("training", labels[~test]), ("test", labels[test])):
        if len(of_part) and (of_part == of_part[0]).all():
            kind = "clicks" if of_part[0] else "non-clicks"
            raise DataFileError(f"{path.name} has {kind} alone in its {part} part: give a file with rows of both.")
    sizes, ids = joint_ids(ids_of, ~test)
    how = f"the last fifth by {time}" if time else "a random fifth"
    note = f"a file of one's own with {len(sizes)} columns of ids; tested on {how}"
    return ClickData.split(name, sizes, ids, labels, test, note=note, train_order="time" if time else "none")


def column_names(path: Path) -> list[str]:
    """The columns of a file, by its schema or its first line. Raises DataFileError."""
    if not _is_parquet(path):
        return _header(path)[0]
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


# -- columns -------------------------------------------------------------------------------------------------------


def _table(path: Path, label: str, fields: Sequence[str], time: str) -> pa.Table:
    names = column_names(path)
    if absent := [name for name in (label, *fields, time) if name and name not in names]:
        listed = ", ".join(names[:_SHOWN])
        raise DataFileError(f"{path.name} has no column {absent[0]!r}: its columns are {listed}.")
    if time == label:
        raise DataFileError(
            f"{path.name}: the column {label!r} cannot be label and time: name another column of times."
        )
    # The index that pandas writes unless it is told not to is no column of ids, unless it is named.
    known = fields or [name for name in names if name and not name.startswith(_INDEX)]
    ids = [name for name in known if name not in (label, time)]
    if not ids:
        raise DataFileError(f"{path.name} has no column of ids beside its label: give a file with some.")
    wanted = [*dict.fromkeys(ids), label, *([time] if time else [])]
    table = _parquet(path, wanted) if _is_parquet(path) else _text(path, names, wanted)
    if not table.num_rows:
        raise DataFileError(f"{path.name} holds no rows: give a file with some.")
    return table


def _text(path: Path, names: Sequence[str], wanted: Sequence[str]) -> pa.Table:
    layout = Layout("CSV", tuple((name, "text") for name in names), _header(path)[1], header=True, quoted=True)
    with open_text(path) as source:
        return pa.Table.from_batches(read(source, layout, only=wanted)).select(list(wanted))


def _parquet(path: Path, wanted: Sequence[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(wanted))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _header(path: Path) -> tuple[list[str], str]:
    """(columns, delimiter) of a text file."""
    with open_text(path) as source:
        first = source.read(1 << 16).partition(b"\n")[0].removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if b"\r" in first:
        raise DataFileError(f"{path.name} has carriage returns within its first line: end its lines with newlines.")
    try:
        line = first.decode()
    except UnicodeDecodeError:
        raise DataFileError(f"{path.name} is neither text nor Parquet: give a CSV or Parquet file.") from None
    if not line.strip():
        raise DataFileError(f"{path.name} is empty: give a file whose first line names its columns.")
    delimiter = max(_DELIMITERS, key=line.count)
    names = next(csv.reader([line], delimiter=delimiter))
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataFileError(f"{path.name} has two columns called {twice[0]!r}: give each a name of its own.")
    return names, delimiter


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise DataFileError(f"{path} cannot be read ({error.strerror}): name another file.") from error


def _damaged(path: Path, error: Exception) -> DataFileError:
    return DataFileError(f"{path.name} cannot be read; it may be cut off ({reason(error)}): fetch it again.")


# -- values --------------------------------------------------------------------------------------------------------


def _ids(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    try:
        return _numbered(column)
    except pa.ArrowException:
        raise DataFileError(
            f"{path.name}: the column {name} holds no single values but {column.type}: leave it out of the fields."
        ) from None


def _numbered(column: pa.ChunkedArray) -> np.ndarray:
    """A number for each different value, int64 (n,)."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.asarray(column.combine_chunks().dictionary_encode(null_encoding="encode").indices, np.int64)


def _labels(path: Path, name: str, column: pa.ChunkedArray, liked: float | None) -> np.ndarray:
    values = _numbers(column)
    wrong = ~np.isfinite(values) if liked is not None else (values != 0) & (values != 1)
    if wrong.any():
        wanted = "a number" if liked is not None else "0 or 1 (say from which value on it is a click: liked)"
        raise _unfit(path, name, column, wrong, wanted)
    return (values >= (1.0 if liked is None else liked)).astype(np.float32)


def _order(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Places of the rows by time; equal times keep the order of the file."""
    times = _numbers(column)
    wanted = "a time"
    if np.isnan(times).all():  # texts
        texts = [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t or "") for t in column.to_pylist()]
        wanted = "a time such as 2026-01-31"
        known = [bool(_TIME.fullmatch(t.strip())) for t in texts]
        times = np.where(known, np.unique(texts, return_inverse=True)[1], np.nan)
    if (wrong := np.isnan(times)).any():
        raise _unfit(path, name, column, wrong, wanted)
    return np.argsort(times, kind="stable")


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """float64 (n,), NaN for what is no number."""
    if pa.types.is_date(column.type):  # days of 32 bits, or ms
        column = pc.cast(column, pa.timestamp("ms"))
    if pa.types.is_temporal(column.type):
        column = pc.cast(column, pa.int32() if pa.types.is_time32(column.type) else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
        return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy())  # nanoseconds need not be told apart
    coded = column.combine_chunks().dictionary_encode()
    return np.array([*map(_number, coded.dictionary.to_pylist()), np.nan])[np.asarray(coded.indices.fill_null(-1))]


def _number(text: object) -> float:
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def _unfit(path: Path, name: str, column: pa.ChunkedArray, wrong: np.ndarray, wanted: str) -> DataFileError:
    place = int(np.argmax(wrong))
    value = column[place].as_py()
    found = shown(value if isinstance(value, bytes) else str(value).encode()) if value is not None else "nothing"
    return DataFileError(f"{path.name}, row {place + 1:,}: {name} is {found}, not {wanted}; mend it or leave it out.")
