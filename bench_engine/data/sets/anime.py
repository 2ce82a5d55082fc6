"""Anime ratings of MyAnimeList (a zip of TAB-separated text): a click is a rating of 8 or more out of 10.

The ratings have no time, so a seeded random fifth of each user's ratings is the test part. Fields: user, anime, list of
genres, first genre, type, episodes. The average rating and the number of members of an anime are left out: both hold
the ratings of the test part. The rows of a field are the values that occur in training, and one row for all others.
"""

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.fields import attributes, joint_ids, last_fifth
from bench_engine.data.files import find
from bench_engine.data.formats.delimited import Layout, table
from bench_engine.data.formats.layouts import ANIME_INFO, ANIME_RATINGS
from bench_engine.data.formats.stream import Source, open_zip
from bench_engine.data.problems import DataFileError

FILE = "anime/anime.zip"
RATINGS, INFO = "anime/anime_ratings.dat", "anime/anime_info.dat"
LIKED = 8
DATA_SEED = 123


def load() -> ClickData:
    """The data. Raises DataMissingError or DataFileError."""
    ratings = _columns(RATINGS, ANIME_RATINGS)
    users, titles = (ratings[name].astype(np.int64) for name in ("User_ID", "Anime_ID"))
    stars = ratings["Feedback"].astype(np.float64)
    order = np.lexsort((np.random.default_rng(DATA_SEED).random(len(users)), users))
    users, titles, stars = users[order], titles[order], stars[order]
    test = last_fifth(users)
    info = _columns(INFO, ANIME_INFO)
    first = np.array([genres.split(b", ")[0] for genres in info["genre"].tolist()])
    about = [info["genre"], first, info["type"], info["episodes"]]
    rows, ids = joint_ids([users, titles, *attributes(titles, info["anime_ids"].astype(np.int64), about)], ~test)
    labels = (stars >= LIKED).astype(np.float32)
    note = f"MyAnimeList, liked = {LIKED} or more out of 10; tested on a random fifth of each user's ratings"
    return ClickData.split("anime", rows, ids, labels, test, note=note)


def _columns(member: str, layout: Layout) -> dict[str, np.ndarray]:
    """The columns of a file in the archive, as bytes."""
    with open_zip(find(FILE), FILE) as archive:
        if member not in archive.namelist():
            raise DataFileError(f"{FILE} holds no {member}: give the archive with that file.")
        with Source(archive.open(member), f"{FILE}: {member}") as source:
            return table(source, layout)
