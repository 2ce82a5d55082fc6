"""MovieLens ratings (Parquet, GroupLens columns): a click is a rating of 4 stars or more.

Split by time within each user: the last fifth of a user's ratings is the test part. One cut through the whole time
would leave 87 % of the test part to users that were never seen in training, which measures cold start rather than
embeddings. Ratings dated before 8e8 (May 1995, older than MovieLens) are dropped.

Fields: user, movie, list of genres, first genre, year of release, year of the rating. The rows of a field are the
values that occur in training, and one row for all others, so that nothing of the test part shapes the table.
"""

import re

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.fields import joint_ids, last_fifth
from bench_engine.data.formats.parquet import columns
from bench_engine.data.problems import DataFileError

RATINGS, MOVIES = "ml-206k/ratings.parquet", "ml-206k/movies.parquet"
OLDEST = 800_000_000
LIKED = 4.0
_YEAR = re.compile(r"\((\d{4})\)\s*$")


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    users, movies, stars, times = _ratings()
    order = np.lexsort((times, users))  # by user, then time; equal times keep the order of the file
    users, movies, stars, times = (column[order] for column in (users, movies, stars, times))
    test = last_fifth(users)
    fields = [
        users,
        movies,
        *_movie_features(movies),
        times.astype("datetime64[s]").astype("datetime64[Y]").astype(int),
    ]
    rows, ids = joint_ids(fields, ~test)
    labels = (stars >= LIKED).astype(np.float32)
    note = f"MovieLens, liked = {LIKED:g} stars or more; tested on the last fifth of each user's ratings"
    return ClickData.split("ml-206k", rows, ids, labels, test, note=note, train_order="user_time")


def _ratings() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(users, movies, stars, times in s) of the ratings that are young enough."""
    parts = []
    for batch in columns(RATINGS, {"userId": "id", "movieId": "id", "rating": "number", "timestamp": "id"}):
        young = batch[3] >= OLDEST
        parts.append([column[young] for column in batch])
    if not any(len(part[0]) for part in parts):
        raise DataFileError(f"{RATINGS} holds no ratings after May 1995: give a file with timestamps in seconds.")
    users, movies, stars, times = (np.concatenate(column) for column in zip(*parts, strict=True))
    return users, movies, stars, times


def _movie_features(rated: np.ndarray) -> list[np.ndarray]:
    """Number of the list of genres, of the first genre, and year of release (0 where unknown) for each rating."""
    genres: dict[str, int] = {}
    features: dict[int, tuple[int, int, int]] = {}
    wanted = set(np.unique(rated).tolist())
    for batch in columns(MOVIES, {"movieId": "id", "title": "text", "genres": "text"}):
        for movie, title, listed in zip(*(column.tolist() for column in batch), strict=True):
            if movie in wanted:
                year = _YEAR.search(title)
                numbers = [genres.setdefault(text, len(genres) + 1) for text in (listed, listed.split("|")[0])]
                features[movie] = (numbers[0], numbers[1], int(year[1]) if year else 0)
    movies, places = np.unique(rated, return_inverse=True)
    table = np.array([features.get(movie, (0, 0, 0)) for movie in movies.tolist()], np.int64)
    return list(table[places].T)
