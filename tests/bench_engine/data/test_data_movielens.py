"""The MovieLens loader on small Parquet files, and on the real ones where they are."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench_engine.data.files import DataMissingError
from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import movielens
from bench_engine.registry import missing

START = 1_000_000_000  # 2001-09-09
YEAR = 31_557_600


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    (tmp_path / "ml-206k").mkdir()
    write_movies(tmp_path)
    return tmp_path


def write_movies(folder):
    movies = {
        "movieId": [10, 20, 30, 40],
        "title": ["A (1990)", "B (1991) ", "C", "D (2001)"],
        "genres": ["Drama|War", "Drama", "(no genres listed)", "War"],
    }
    pq.write_table(pa.table(movies), folder / "ml-206k" / "movies.parquet")


def write_ratings(folder, rows):
    users, movies, ratings, times = zip(*rows, strict=True)
    table = {"userId": users, "movieId": movies, "rating": [float(r) for r in ratings], "timestamp": times}
    pq.write_table(pa.table(table), folder / "ml-206k" / "ratings.parquet")


def ten(user, movie=10, start=START):
    """Ten ratings of one user, written backwards in time; the last two are the liked ones."""
    return [(user, movie, 5 if i >= 8 else 3.5, start + i) for i in reversed(range(10))]


def test_the_last_fifth_of_each_user_is_the_test_part(folder):
    write_ratings(folder, ten(1) + ten(2, start=START + 500_000))
    data = movielens.load()
    assert (len(data.train_ids), len(data.test_ids)) == (16, 4)
    assert data.train_labels.tolist() == [0] * 16
    assert data.test_labels.tolist() == [1] * 4
    assert sorted(data.test_ids[:, 0].tolist()) == [1, 1, 2, 2]


def test_a_user_with_few_ratings_is_for_training_only(folder):
    write_ratings(folder, [*ten(1), (2, 20, 4, START), (2, 20, 4, START + 1)])
    data = movielens.load()
    assert (len(data.train_ids), len(data.test_ids)) == (10, 2)


def test_liked_begins_at_four_stars(folder):
    write_ratings(folder, [(1, 10, stars, START + i) for i, stars in enumerate([3.5, 4, 4.5, 5, 3.5])])
    data = movielens.load()
    assert data.train_labels.tolist() == [0, 1, 1, 1]
    assert data.test_labels.tolist() == [0]


def test_what_training_lacks_takes_the_first_row_of_its_field(folder):
    rows = ten(1)
    newest = [(1, 40, 5, START + 3 * YEAR + i) for i in range(2)]
    write_ratings(folder, rows[2:] + newest)
    data = movielens.load()
    # user, movie, genres, first genre, release year, rating year: one known value each, and the row for others
    assert data.field_rows == (2, 2, 2, 2, 2, 2)
    assert data.train_ids[0].tolist() == [1, 3, 5, 7, 9, 11]
    assert data.test_ids[0].tolist() == [1, 2, 4, 6, 8, 10]


def test_movies_share_first_genre_but_not_list_or_year(folder):
    write_ratings(folder, [(1, movie, 3, START + i) for i, movie in enumerate([10, 20, 30, 99, 10])])
    ids = movielens.load().train_ids
    assert ids[0, 3] == ids[1, 3]
    assert ids[0, 2] != ids[1, 2]
    assert ids[0, 4] != ids[1, 4]
    assert ids[2, 4] == ids[3, 4]  # no year in the title; a movie that is not listed
    assert ids[2, 2] != ids[3, 2]


def test_dates_before_movielens_are_dropped(folder):
    write_ratings(folder, [*ten(1), (1, 10, 5, 799_999_999)])
    data = movielens.load()
    assert len(data.train_ids) + len(data.test_ids) == 10


def test_only_old_dates_are_an_error(folder):
    write_ratings(folder, [(1, 10, 5, 1000)])
    with pytest.raises(DataFileError, match="no ratings after May 1995"):
        movielens.load()


@pytest.mark.parametrize("keep", [0, 4, 0.5, 0.99])
def test_a_file_cut_off_is_one_sentence(folder, keep):
    write_ratings(folder, ten(1))
    path = folder / "ml-206k" / "ratings.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep if keep >= 1 else keep * len(whole))])
    with pytest.raises(DataFileError, match=r"ml-206k/ratings\.parquet cannot be read") as error:
        movielens.load()
    assert str(folder) not in str(error.value)


def test_a_file_damaged_in_the_middle_is_one_sentence(folder):
    write_ratings(folder, [row for user in range(100) for row in ten(user)])
    path = folder / "ml-206k" / "ratings.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:20] + b"\xff" * 200 + whole[220:])
    with pytest.raises(DataFileError, match="cannot be read"):
        movielens.load()


def test_a_missing_column_is_named(folder):
    pq.write_table(pa.table({"userId": [1], "movieId": [10]}), folder / "ml-206k" / "ratings.parquet")
    with pytest.raises(DataFileError, match="lacks the column rating"):
        movielens.load()


def test_empty_values_are_refused(folder):
    table = {"userId": [1, 2], "movieId": [10, None], "rating": [5.0, 5.0], "timestamp": [START, START]}
    pq.write_table(pa.table(table), folder / "ml-206k" / "ratings.parquet")
    with pytest.raises(DataFileError, match="empty values"):
        movielens.load()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"timestamp": ["today", "now"]}, "has 'today' in column timestamp, not a number such as 17"),
        ({"rating": ["good", "5"]}, "has 'good' in column rating, not a number: give a file of numbers"),
        ({"rating": [float("nan"), 5.0]}, r"has other values \(double\) in column rating than numbers"),
        ({"rating": [True, False]}, r"has other values \(bool\) in column rating than numbers"),
        ({"movieId": [10.5, 10.0]}, r"has other values \(double\) in column movieId than whole numbers"),
        ({}, "ml-206k has too few rows for a training and a test part"),
    ],
)
def test_values_of_other_kinds_are_one_sentence(folder, change, words):
    table = {"userId": [1, 2], "movieId": [10, 10], "rating": [5.0, 5.0], "timestamp": [START, START], **change}
    pq.write_table(pa.table(table), folder / "ml-206k" / "ratings.parquet")
    with pytest.raises(DataFileError, match=words):
        movielens.load()


def test_titles_have_to_be_text(folder):
    write_ratings(folder, ten(1))
    movies = {"movieId": [10], "title": [7], "genres": ["War"]}
    pq.write_table(pa.table(movies), folder / "ml-206k" / "movies.parquet")
    with pytest.raises(DataFileError, match=r"has other values \(int64\) in column title than text"):
        movielens.load()


def test_titles_that_are_no_utf_8_are_one_sentence(folder):
    write_ratings(folder, ten(1))
    titles = pa.array([b"Caf\xe9\x1b[31m"]).view(pa.string())
    movies = pa.table({"movieId": [10], "title": titles, "genres": ["War"]})
    pq.write_table(movies, folder / "ml-206k" / "movies.parquet")
    with pytest.raises(DataFileError, match=r"ml-206k/movies\.parquet cannot be read; it may be cut off \(Invalid"):
        movielens.load()


def test_an_absent_file_is_a_missing_one(folder):
    with pytest.raises(DataMissingError, match="MIRROR_DATA_DIR"):
        movielens.load()


@pytest.mark.skipif(bool(missing("ml-206k")), reason=missing("ml-206k"))
def test_real_movielens():
    data = movielens.load()
    assert len(data.train_ids) + len(data.test_ids) == 206_584  # one rating is older than MovieLens
    assert len(data.test_ids) == pytest.approx(206_584 / 5, rel=0.03)
    assert 0.4 < data.test_labels.mean() < 0.6
    assert set(np.unique(data.test_ids[:, 0])) <= set(
        np.unique(data.train_ids[:, 0])
    )  # no user is new in the test part
