"""Data sets that a click model can be trained on. To add one, write its module and add its entry here."""

import importlib
import itertools
from dataclasses import dataclass
from typing import Any

from bench_engine.data.files import located, missing_of
from bench_engine.registry.names import find


@dataclass(frozen=True)
class DataSet:
    """One data set a click model can be trained on.

    Attributes:
        name: name in the results.
        text: help, one line.
        module: module with `load() -> bench_engine.data.ClickData`.
        files: files below the data folder that it needs; empty for generated data.
        numbered: how further files begin that are read too, as long as the next number is there.
    """

    name: str
    text: str
    module: str
    files: tuple[str, ...] = ()
    numbered: str = ""

    @property
    def present(self) -> tuple[str, ...]:
        """`files`, and the numbered ones that are there beyond them."""
        more = (f"{self.numbered}{number}" for number in itertools.count(len(self.files)))
        return (*self.files, *(itertools.takewhile(located, more) if self.numbered else ()))

    @property
    def absent(self) -> str:
        """One sentence about the first file that it lacks; empty when it can be loaded."""
        return missing_of(self.files)

    def load(self) -> Any:
        """The module behind the entry."""
        return importlib.import_module(self.module)


DATA_SETS: dict[str, DataSet] = {
    d.name: d
    for d in (
        DataSet("synthetic", "seeded clicks with Zipf ids and a known truth", "bench_engine.data.sets.synthetic"),
        DataSet(
            "planted",
            "seeded clicks with a long tail of ids and a planted effective dimension for each",
            "bench_engine.data.planted.clicks",
        ),
        DataSet(
            "planted_drift",
            "the planted clicks in order of time: which ids matter is swapped midway, and popularity drifts",
            "bench_engine.data.planted.drift",
        ),
        DataSet(
            "planted_turnover",
            "the planted clicks in order of time: midway new ids take the place of frequent ones",
            "bench_engine.data.planted.turnover",
        ),
        DataSet(
            "frappe",
            "Frappe app usage, 10 context fields (libfm files)",
            "bench_engine.data.sets.frappe",
            ("frappe/frappe.validation.libfm", "frappe/frappe.test.libfm"),
        ),
        DataSet(
            "ml-206k",
            "MovieLens ratings to 2023, liked (4 stars or more) or not, split by time",
            "bench_engine.data.sets.movielens",
            ("ml-206k/ratings.parquet", "ml-206k/movies.parquet"),
        ),
        DataSet(
            "ml-1m",
            "MovieLens 1M pairs against movies the user did not rate",
            "bench_engine.data.sets.ml_1m",
            ("ml-1m/ratings.parquet", "ml-1m/users.dat", "ml-1m/movies.dat"),
        ),
        DataSet(
            "ml-100k",
            "MovieLens 100K, liked (4 stars or more) or not, split by time",
            "bench_engine.data.sets.ml_100k",
            ("ml-100k/ml-100k.inter", "ml-100k/ml-100k.user", "ml-100k/ml-100k.item"),
        ),
        DataSet(
            "anime",
            "MyAnimeList ratings, liked (8 of 10 or more) or not",
            "bench_engine.data.sets.anime",
            ("anime/anime.zip",),
        ),
        DataSet(
            "criteo",
            "Criteo ads (Kaggle), 13 numbers and 26 categories, split by time",
            "bench_engine.data.sets.criteo",
            ("criteo/train.tsv",),
        ),
        DataSet(
            "criteo-1tb",
            "Criteo 1TB click logs from day_0 on, tested on the last day there is",
            "bench_engine.data.sets.criteo_days",
            ("criteo-1tb/day_0", "criteo-1tb/day_1"),
            numbered="criteo-1tb/day_",
        ),
        DataSet(
            "avazu",
            "Avazu mobile ads, 24 fields, split by time",
            "bench_engine.data.sets.avazu",
            ("avazu/train.csv",),
        ),
    )
}


def data_set(name: str) -> DataSet:
    """A registered data set. Raises UnknownNameError."""
    return find(name, DATA_SETS, "data set")


def missing(dataset: str) -> str:
    """One sentence about the first file that a data set lacks; empty when it can be loaded. Raises UnknownNameError."""
    return data_set(dataset).absent
