"""Criteo display advertising, the Kaggle file train.txt: 13 numbers and 26 categories of a week of ads, clicked or not.

Prepared as Criteo_x4_001 of the Open Benchmarking for CTR Prediction (BARS, Zhu et al. 2021): a number x above 2
becomes floor(ln(x)^2), after the winners of the Kaggle challenge, and is a category from then on; values that training
has fewer than MIN_COUNT times share the first row of their field. Two things differ. An empty field has a row of its
own, and the split is by time instead of random: the file is in the order of time, seven days long, and its last seventh
is the test part, as DLRM takes the last day. AUCs on a random split are therefore not comparable.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench_engine.data import ClickData
from bench_engine.data.formats.delimited import count, read
from bench_engine.data.formats.layouts import CRITEO
from bench_engine.data.formats.stream import open_data
from bench_engine.data.two_pass import Chunk, build
from bench_engine.data.vocabulary import keys_of_log_squared, keys_of_texts

FILE = "criteo/train.tsv"
MIN_COUNT = 10
DAYS = 7


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    with open_data(FILE) as source:
        rows = count(source, CRITEO)
    train_rows = rows - rows // DAYS
    return build(
        "criteo",
        lambda: _chunks(train_rows),
        MIN_COUNT,
        f"Criteo (Kaggle), prepared as Criteo_x4_001; tested on the last of {DAYS} days, by the place in the file",
        "time",
    )


def columns(batch: pa.RecordBatch) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """(keys by field, labels) of a batch of CRITEO rows."""
    numbers = tuple(keys_of_log_squared(batch[f"I{i}"]) for i in range(1, 14))
    categories = tuple(keys_of_texts(batch[f"C{i}"]) for i in range(1, 27))
    return (*numbers, *categories), labels(batch["label"])


def labels(column: pa.Array) -> np.ndarray:
    """float32 (n,) of the texts 0 and 1."""
    return (keys_of_texts(column) == ord("1")).astype(np.float32)


def _chunks(train_rows: int) -> Iterator[Chunk]:
    start = 0
    with open_data(FILE) as source:
        for batch in read(source, CRITEO):
            keys, clicked = columns(batch)
            yield Chunk(keys, clicked, np.arange(start, start + len(clicked)) < train_rows)
            start += len(clicked)
