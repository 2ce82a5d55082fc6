"""Avazu mobile ads, the Kaggle file train.csv: ten days of ads in 24 fields, clicked or not.

Prepared as Avazu_x4_001 of the Open Benchmarking for CTR Prediction (BARS, Zhu et al. 2021): the id is dropped, the
hour becomes hour of the day, day of the week and weekend or not, and values that training has fewer than MIN_COUNT
times share the first row of their field. The split is by time instead of random, so AUCs on a random split are not
comparable: the last day is tested; of a file with one day its last hour, and of one with a single hour its last fifth.
Where the rows are not in order of time, they are put into it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from bench_engine.data import ClickData
from bench_engine.data.fields import TRAIN_SHARE
from bench_engine.data.formats.delimited import Layout, read
from bench_engine.data.formats.layouts import avazu, recognise
from bench_engine.data.formats.stream import open_data
from bench_engine.data.sets.criteo import labels
from bench_engine.data.two_pass import Chunk, build
from bench_engine.data.vocabulary import keys_of_numbers, keys_of_texts

FILE = "avazu/train.csv"
MIN_COUNT = 2
THURSDAY = 3  # day 0 of Unix time, in a week that begins with Monday


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    layout = _layout()
    rows_of_hour: dict[int, int] = {}
    ordered, latest = True, 0
    with open_data(FILE) as source:
        for batch in read(source, layout, only=["hour"]):
            hours = _hours(batch["hour"])
            ordered = ordered and hours[0] >= latest and bool((np.diff(hours) >= 0).all())
            latest = int(hours[-1])
            for hour, rows in zip(*np.unique(hours, return_counts=True), strict=True):
                rows_of_hour[int(hour)] = rows_of_hour.get(int(hour), 0) + int(rows)
    first_tested, what = _cut(sorted(rows_of_hour))
    train_rows = int(np.ceil(TRAIN_SHARE * sum(rows_of_hour.values())))
    data = build(
        "avazu",
        lambda: _chunks(layout, first_tested, train_rows),
        MIN_COUNT,
        f"Avazu, prepared as Avazu_x4_001; tested on {what}",
        "time",
    )
    return data if ordered else _sorted(data, layout, first_tested, train_rows)


def time_fields(hours: np.ndarray) -> tuple[np.ndarray, ...]:
    """(hour of the day, day of the week from Monday, 1 at the weekend) of hours since 1970."""
    weekday = (hours // 24 + THURSDAY) % 7
    return hours % 24, weekday, weekday >= 5


def _cut(hours: list[int]) -> tuple[int | None, str]:
    """(first hour that is tested, in words what that is); None where there is one hour only."""
    if not hours or hours[0] == hours[-1]:
        return None, "the last fifth of its one hour"
    last_day = hours[-1] // 24 * 24
    return (last_day, "the last day") if hours[0] < last_day else (hours[-1], "the last hour of its one day")


def _chunks(layout: Layout, first_tested: int | None, train_rows: int) -> Iterator[Chunk]:
    categories = [name for name, kind in layout.columns if kind == "short"]
    for batch, hours, train in _parted(layout, first_tested, train_rows):
        times = tuple(keys_of_numbers(values) for values in time_fields(hours))
        yield Chunk((*times, *(keys_of_texts(batch[name]) for name in categories)), labels(batch["click"]), train)


def _sorted(data: ClickData, layout: Layout, first_tested: int | None, train_rows: int) -> ClickData:
    """The training part in order of time."""
    hours = np.concatenate([h[train] for _, h, train in _parted(layout, first_tested, train_rows, ["hour"])])
    order = np.argsort(hours, kind="stable")
    return replace(data, train_ids=data.train_ids[order], train_labels=data.train_labels[order])


def _parted(
    layout: Layout, first_tested: int | None, train_rows: int, only: Sequence[str] = ()
) -> Iterator[tuple[pa.RecordBatch, np.ndarray, np.ndarray]]:
    """(batch, its hours, which of its rows are for training)."""
    start = 0
    with open_data(FILE) as source:
        for batch in read(source, layout, only=only):
            hours = _hours(batch["hour"])
            place = np.arange(start, start + len(hours))
            start += len(hours)
            yield batch, hours, place < train_rows if first_tested is None else hours < first_tested


def _hours(column: pa.Array) -> np.ndarray:
    """int64 (n,): hours since 1970 of texts YYMMDDHH."""
    coded = column.dictionary_encode()
    known = [text.decode("ascii") for text in coded.dictionary.to_pylist()]
    times = [f"20{text[:2]}-{text[2:4]}-{text[4:6]}T{text[6:]}" for text in known]
    return np.array(times, "datetime64[h]").astype(np.int64)[np.asarray(coded.indices)]


def _layout() -> Layout:
    with open_data(FILE) as source:
        found = recognise(source.read(1 << 16).partition(b"\n")[0])
    # What is something else is told by its first line that does not fit.
    return found if isinstance(found, Layout) and found.label == "click" else avazu(labels=True, header=True)
