"""Criteo 1TB click logs, files of one day each (day_0, day_1, ...): the last day is tested, the days before train.

Prepared as the Kaggle file (see `criteo`). Days are counted from day_0 as long as the next file is there.
Of more than MAX_ROWS rows, every k-th is taken, for the ids of all 4.4 billion would need 700 GB: a row takes 160
bytes.
"""

from collections.abc import Iterator

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.files import find, located
from bench_engine.data.formats.delimited import count, read
from bench_engine.data.formats.layouts import CRITEO
from bench_engine.data.formats.stream import open_data
from bench_engine.data.sets.criteo import MIN_COUNT, columns
from bench_engine.data.two_pass import Chunk, build

FOLDER = "criteo-1tb"
MAX_ROWS = 20_000_000


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    days = [f"{FOLDER}/day_{day}" for day in (0, 1)]
    for day in days:
        find(day)
    while located(following := f"{FOLDER}/day_{len(days)}"):
        days.append(following)
    rows = sum(_count(day) for day in days)
    step = -(-rows // MAX_ROWS)
    return build(
        FOLDER,
        lambda: _chunks(days, step),
        MIN_COUNT,
        f"Criteo 1TB, days 0 to {len(days) - 1}, one of {step} rows, prepared as Criteo_x4_001; tested on the last day",
        "time",
    )


def _count(day: str) -> int:
    with open_data(day) as source:
        return count(source, CRITEO)


def _chunks(days: list[str], step: int) -> Iterator[Chunk]:
    for day in days:
        start = 0
        with open_data(day) as source:
            for batch in read(source, CRITEO):
                keys, clicked = columns(batch)
                kept = slice(-start % step, None, step)
                start += len(clicked)
                clicked = clicked[kept]
                train = np.full(len(clicked), day != days[-1])
                yield Chunk(tuple(column[kept] for column in keys), clicked, train)
