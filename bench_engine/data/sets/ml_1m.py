"""MovieLens 1M as pairs: 1,000,209 movies that a user rated, against as many that the user did not rate.

The file has neither ratings nor times, so a pair is a click, and each user gets as many negatives: movies drawn without
replacement from the rated movies of the set that this user did not rate (all of them where there are too few). Within
each user, a seeded random fifth of the pairs and of the negatives is the test part.

Fields: user, movie, gender, age group, occupation, ZIP code, list of genres, first genre, year of release. The rows of
a field are the values that occur in training, and one row for all others.
"""

import re

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.fields import attributes, joint_ids, last_fifth
from bench_engine.data.formats.delimited import table
from bench_engine.data.formats.layouts import ML_MOVIES, ML_USERS
from bench_engine.data.formats.parquet import columns
from bench_engine.data.formats.stream import open_data

PAIRS, USERS, MOVIES = "ml-1m/ratings.parquet", "ml-1m/users.dat", "ml-1m/movies.dat"
DATA_SEED = 1997
_YEAR = re.compile(rb"\((\d{4})\)\s*$")


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    users, movies = _pairs()
    rng = np.random.default_rng(DATA_SEED)
    other_users, other_movies = _negatives(users, movies, rng)
    labels = np.repeat(np.array([1, 0], np.float32), (len(users), len(other_users)))
    users, movies = np.concatenate([users, other_users]), np.concatenate([movies, other_movies])
    # The last fifth of a user in random order, of the pairs and of the negatives each.
    order = np.lexsort((rng.random(len(users)), labels, users))
    users, movies, labels = users[order], movies[order], labels[order]
    test = last_fifth(2 * users + (labels > 0))
    rows, ids = joint_ids([users, movies, *_user_features(users), *_movie_features(movies)], ~test)
    note = "MovieLens 1M pairs, each with a movie its user did not rate; tested on a random fifth of each user"
    return ClickData.split("ml-1m", rows, ids, labels, test, note=note)


def _pairs() -> tuple[np.ndarray, np.ndarray]:
    """(users, movies), int64 (n,), sorted by user."""
    parts = list(columns(PAIRS, {"userID": "id", "movieID": "id"}))
    users, movies = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(users, kind="stable")
    return users[order], movies[order]


def _negatives(users: np.ndarray, movies: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(users, movies) of movies that a user did not rate, as many as those that the user did, where there are."""
    known, places = np.unique(movies, return_inverse=True)
    numbers, first = np.unique(users, return_index=True)
    drawn = []
    for rated in np.split(places, first[1:]):
        unrated = np.ones(len(known), bool)
        unrated[rated] = False
        candidates = np.flatnonzero(unrated)
        drawn.append(rng.choice(candidates, min(len(rated), len(candidates)), replace=False))
    return np.repeat(numbers, [len(part) for part in drawn]), known[np.concatenate(drawn)]


def _user_features(users: np.ndarray) -> list[np.ndarray]:
    with open_data(USERS, double_colon=True) as source:
        known = table(source, ML_USERS)
    return attributes(users, known["user"].astype(np.int64), [known[c] for c in ("gender", "age", "occupation", "zip")])


def _movie_features(movies: np.ndarray) -> list[np.ndarray]:
    with open_data(MOVIES, double_colon=True) as source:
        known = table(source, ML_MOVIES)
    first = np.array([genres.split(b"|")[0] for genres in known["genres"].tolist()])
    years = np.array([found[1] if (found := _YEAR.search(title)) else b"" for title in known["title"].tolist()])
    return attributes(movies, known["movie"].astype(np.int64), [known["genres"], first, years])
