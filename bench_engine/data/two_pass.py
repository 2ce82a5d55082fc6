"""Click data out of a stream that is read twice: once to count the values of training, once to write their rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bench_engine.data import ClickData, TrainOrder
from bench_engine.data.problems import too_few
from bench_engine.data.vocabulary import FIRST_ROW, Counter, Vocabulary


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a stream.

    Attributes:
        keys: uint64 (n,) per field.
        labels: float32 (n,).
        train: bool (n,), which rows are for training.
    """

    keys: tuple[np.ndarray, ...]
    labels: np.ndarray
    train: np.ndarray


def build(
    name: str, chunks: Callable[[], Iterator[Chunk]], min_count: int, note: str, train_order: TrainOrder
) -> ClickData:
    """The data. Beside the result, memory holds one chunk and the different values of each field.

    Args:
        chunks: gives the same stream each time it is called.
        min_count: times that a value occurs in training to get a row of its own.

    Raises DataFileError where one of the parts would be empty.
    """
    counters: list[Counter] = []
    sizes = {True: 0, False: 0}
    for chunk in chunks():
        counters = counters or [Counter() for _ in chunk.keys]
        for counter, keys in zip(counters, chunk.keys, strict=True):
            counter.add(keys[chunk.train])
        sizes[True] += int(chunk.train.sum())
        sizes[False] += int((~chunk.train).sum())
    if not all(sizes.values()):
        raise too_few(name)

    vocabularies = [Vocabulary(counter.keys(min_count)) for counter in counters]
    field_rows = tuple(vocabulary.rows for vocabulary in vocabularies)
    first = np.cumsum([0, *field_rows[:-1]])
    ids = {part: np.empty((size, len(field_rows)), np.int32) for part, size in sizes.items()}
    labels = {part: np.empty(size, np.float32) for part, size in sizes.items()}
    filled = {True: 0, False: 0}
    for chunk in chunks():
        for part in (True, False):
            chosen = chunk.train == part
            rows = slice(filled[part], filled[part] + int(chosen.sum()))
            labels[part][rows] = chunk.labels[chosen]
            for field, (vocabulary, keys) in enumerate(zip(vocabularies, chunk.keys, strict=True)):
                ids[part][rows, field] = vocabulary.encode(keys[chosen]) + first[field]
            filled[part] = rows.stop
    train, test = ((ids[part], labels[part]) for part in (True, False))
    return ClickData.of_parts(name, field_rows, train, test, note=note, train_order=train_order, shared_rows=FIRST_ROW)
