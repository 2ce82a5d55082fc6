"""MovieLens 1M: pairs against sampled negatives, on small files and on the real ones where they are."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import ml_1m
from bench_engine.registry import missing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    place = tmp_path / "ml-1m"
    place.mkdir()
    rng = np.random.default_rng(0)
    pairs = [(user, movie) for user in range(1, 6) for movie in rng.choice(np.arange(1, 41), 15, replace=False)]
    write(place, pairs)
    (place / "users.dat").write_text("".join(f"{u}::{'FM'[u % 2]}::25::{u}::9021{u}\n" for u in range(1, 6)))
    movies = "".join(f"{m}::Star: the {m}th (19{m + 20})::Drama|War\n" for m in range(1, 41))
    (place / "movies.dat").write_bytes(movies.replace("Star", "Étoile").encode("latin-1"))
    return place


def write(place, pairs, names=("userID", "movieID")):
    columns = [[str(value) for value in column] for column in zip(*pairs, strict=True)]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), place / "ratings.parquet")


def everything(data):
    ids, labels = (
        np.concatenate(parts) for parts in ((data.train_ids, data.test_ids), (data.train_labels, data.test_labels))
    )
    return ids, labels


def test_each_user_has_as_many_negatives_and_none_is_a_pair(folder):
    data = ml_1m.load()
    ids, labels = everything(data)
    assert data.num_tables == 9
    for user in range(1, 6):
        mine = ids[:, 0] == user
        assert labels[mine].tolist().count(1) == labels[mine].tolist().count(0) == 15
        known = ids[mine, 1] != data.field_rows[0]  # movies that training lacks share a row
        clicked, others = (set(ids[mine & (labels == label), 1].tolist()) for label in (1, 0))
        assert known.sum() > 20
        assert not (clicked & others) - {data.field_rows[0]}


def test_the_last_fifth_of_each_user_and_class_is_tested_and_seeded(folder):
    data, again = ml_1m.load(), ml_1m.load()
    assert (data.test_ids == again.test_ids).all()
    assert (len(data.train_ids), len(data.test_ids)) == (120, 30)
    assert data.test_labels.mean() == 0.5


def test_where_too_few_movies_are_left_all_of_them_are_taken(folder):
    write(folder, [(1, movie) for movie in range(1, 10)] + [(2, movie) for movie in range(1, 13)])
    ids, labels = everything(ml_1m.load())
    assert (labels[ids[:, 0] == 1] == 0).sum() == 3
    assert (labels[ids[:, 0] == 2] == 0).sum() == 0


@pytest.mark.parametrize("names", [("userID", "movie"), ("user", "movieID")])
def test_a_missing_column_is_named(folder, names):
    write(folder, [(1, 2)], names)
    with pytest.raises(DataFileError, match="lacks the column"):
        ml_1m.load()


@pytest.mark.parametrize(
    ("users", "words"),
    [
        (["1", None], "has empty values in column userID: give a file where every row is whole"),
        ([1, None], "has empty values in column userID"),
        (["1", "0x1f"], "has '0x1f' in column userID, not a number such as 17"),
        (["1", "\x1b[31m"], r"has '\\x1b\[31m' in column userID"),
        ([1.0, 1.5], r"has other values \(double\) in column userID than whole numbers"),
        ([[1], [2]], "in column userID than whole numbers"),
    ],
)
def test_values_that_are_no_ids_are_refused(folder, users, words):
    pq.write_table(pa.table({"userID": users, "movieID": ["1", "2"]}), folder / "ratings.parquet")
    with pytest.raises(DataFileError, match=words):
        ml_1m.load()


def test_too_few_pairs_are_one_sentence(folder):
    write(folder, [(1, 1), (1, 2), (2, 3)])
    with pytest.raises(DataFileError, match="ml-1m has too few rows for a training and a test part"):
        ml_1m.load()
    pq.write_table(
        pa.table({"userID": pa.array([], pa.int64()), "movieID": pa.array([], pa.int64())}), folder / "ratings.parquet"
    )
    with pytest.raises(DataFileError, match=r"ml-1m/ratings\.parquet holds no rows"):
        ml_1m.load()


def test_files_cut_off_are_one_sentence(folder):
    (folder / "users.dat").write_text("1::F::25::1::90210\n2::M::2")
    with pytest.raises(DataFileError, match=r"ml-1m/users\.dat, line 2: the file is cut off in this line \(3 of 5 fie"):
        ml_1m.load()
    whole = (folder / "ratings.parquet").read_bytes()
    (folder / "ratings.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match=r"ml-1m/ratings\.parquet cannot be read; it may be cut off"):
        ml_1m.load()


@pytest.mark.skipif(bool(missing("ml-1m")), reason=missing("ml-1m"))
def test_real_ml_1m():
    data = ml_1m.load()
    _, labels = everything(data)
    assert (labels == 1).sum() == 1_000_209
    assert 0.99 < (labels == 0).sum() / 1_000_209 < 1
    assert data.field_rows[:3] == (6041, 3707, 3)
