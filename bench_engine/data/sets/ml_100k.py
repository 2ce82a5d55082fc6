"""MovieLens 100K with typed headers (.inter, .user, .item): a click is a rating of 4 stars or more.

Split by time within each user: the last fifth of a user's ratings is the test part, as for ml-206k. Fields: user,
movie, age, gender, occupation, ZIP code, year of release, list of genres, first genre. The rows of a field are the
values that occur in training, and one row for all others.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.fields import attributes, joint_ids, last_fifth
from bench_engine.data.formats.delimited import Layout, table
from bench_engine.data.formats.layouts import recognise
from bench_engine.data.formats.stream import open_data
from bench_engine.data.problems import DataFileError

RATINGS, USERS, MOVIES = "ml-100k/ml-100k.inter", "ml-100k/ml-100k.user", "ml-100k/ml-100k.item"
LIKED = 4.0
_NUMBERS = ("rating", "timestamp")


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    users, movies, stars, times = _columns(RATINGS, ("user_id", "item_id", "rating", "timestamp"))
    order = np.lexsort((times.astype(np.float64), users))  # equal times keep the order of the file
    users, movies, stars = users[order], movies[order], stars[order].astype(np.float64)
    test = last_fifth(users)
    known_users, *of_users = _columns(USERS, ("user_id", "age", "gender", "occupation", "zip_code"))
    known_movies, years, genres = _columns(MOVIES, ("item_id", "release_year", "class"))
    first = np.array([text.split(b" ")[0] for text in genres.tolist()])
    fields = [
        np.unique(users, return_inverse=True)[1],
        np.unique(movies, return_inverse=True)[1],
        *attributes(users, known_users, of_users),
        *attributes(movies, known_movies, [years, genres, first]),
    ]
    rows, ids = joint_ids(fields, ~test)
    labels = (stars >= LIKED).astype(np.float32)
    note = f"MovieLens 100K, liked = {LIKED:g} stars or more; tested on the last fifth of each user's ratings"
    return ClickData.split("ml-100k", rows, ids, labels, test, note=note, train_order="user_time")


def _columns(file: str, names: Sequence[str]) -> list[np.ndarray]:
    """Columns of a file with a typed header, as bytes. Raises DataFileError where one is not there.

    _NUMBERS have to hold numbers, whatever the header says.
    """
    with open_data(file) as source:
        layout = recognise(source.read(1 << 16).partition(b"\n")[0])
    if not isinstance(layout, Layout):
        raise DataFileError(f"{file} has no header such as user_id:token: fetch the file again.")
    if lacking := [name for name in names if name not in dict(layout.columns)]:
        raise DataFileError(f"{file} lacks the column {lacking[0]}: give a file with {', '.join(names)}.")
    kinds = tuple((name, "number" if name in _NUMBERS else kind) for name, kind in layout.columns)
    with open_data(file) as source:
        whole = table(source, replace(layout, columns=kinds))
    return [whole[name] for name in names]
