"""MovieLens 100K with typed headers, on small files and on the real ones where they are."""

import pytest

from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import ml_100k
from bench_engine.registry import missing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    place = tmp_path / "ml-100k"
    place.mkdir()
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    rows = [
        f"{user}\t{10 + i}\t{5 if i == 9 else 3.5}\t{880000000 + i}\n" for i in reversed(range(10)) for user in (1, 2)
    ]
    (place / "ml-100k.inter").write_text(header + "".join(rows))
    header = "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
    (place / "ml-100k.user").write_text(header + "1\t24\tM\twriter\t85711\n2\t53\tF\tother\t94043\n")
    header = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
    movies = "".join(f"{10 + i}\tA\t{1990 + i % 2}\tDrama War\n" for i in range(10))
    (place / "ml-100k.item").write_text(header + movies)
    return place


def test_the_last_fifth_of_each_user_is_tested(folder):
    data = ml_100k.load()
    assert (data.num_tables, data.train_order) == (9, "user_time")
    assert data.train_labels.tolist() == [0] * 16
    assert data.test_labels.tolist() == [0, 1, 0, 1]
    assert data.test_ids[:, 0].tolist() == [1, 1, 2, 2]


def test_attributes_follow_their_ids(folder):
    data = ml_100k.load()
    # user, movie (8 in training), age, gender, occupation, ZIP code, year, genres, first genre, and a row for others
    assert data.field_rows == (3, 9, 3, 3, 3, 3, 3, 2, 2)
    assert (data.train_ids[:8, 3] == data.train_ids[0, 3]).all()
    assert data.train_ids[0, 3] != data.train_ids[8, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\t2\t3\n", "has no header such as user_id:token"),
        ("user_id:token\titem_id:token\trating:float\n", "lacks the column timestamp"),
        (
            "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\tx\t4\n",
            "line 2: rating is 'x'",
        ),
        (
            "user_id:token\titem_id:token\trating:token\ttimestamp:float\n1\t2\tx\t4\n",
            "line 2: rating is 'x', not a number",
        ),
        (
            "user_id:token\titem_id:token\trating:float\ttimestamp:token\n1\t2\t3\ttoday\n",
            "line 2: timestamp is 'today', not a number",
        ),
        (
            "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\t3\t4\n",
            "ml-100k has too few rows for a training and a test part",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(folder, text, words):
    (folder / "ml-100k.inter").write_text(text)
    with pytest.raises(DataFileError, match=words):
        ml_100k.load()


@pytest.mark.skipif(bool(missing("ml-100k")), reason=missing("ml-100k"))
def test_real_ml_100k():
    data = ml_100k.load()
    assert len(data.train_ids) + len(data.test_ids) == 100_000
    assert len(data.test_ids) == pytest.approx(20_000, rel=0.03)
