"""Criteo: the published preparation and the split by time, on small files and on the sample where it is."""

import gzip

import pytest

from bench_engine.data.files import DataMissingError
from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import criteo, criteo_days
from bench_engine.registry import missing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    for name in ("criteo", "criteo-1tb"):
        (tmp_path / name).mkdir()
    return tmp_path


def line(label, first_number="", first_category="", last_category=""):
    return "\t".join([str(label), str(first_number), *[""] * 12, first_category, *[""] * 24, last_category]) + "\n"


def test_the_last_seventh_of_the_file_is_the_test_part(folder):
    (folder / "criteo" / "train.tsv").write_text("".join(line(int(i >= 60)) for i in range(70)))
    data = criteo.load()
    assert data.train_labels.tolist() == [0] * 60
    assert data.test_labels.tolist() == [1] * 10
    assert (data.num_tables, data.train_order) == (39, "time")


def test_values_rare_in_training_share_a_row_and_empty_ones_have_theirs(folder):
    often, rare = "0123abcd", "ffffffff"
    train = [line(0, 3, often)] * 10 + [line(1, -1, rare)] * 9 + [line(0)] * 23
    test = [line(0, 4, rare), line(0, 4, often), line(0, 4, ""), *[line(1, 5, rare)] * 4]  # 3 and 4: one bucket
    (folder / "criteo" / "train.tsv").write_text("".join(train + test))
    data = criteo.load()
    assert data.field_rows == (3, *[2] * 12, 3, *[2] * 25)
    first = 3 + 12 * 2
    assert (data.train_ids[[0, 10, 19], 0]).tolist() == [2, 0, 1]
    assert (data.train_ids[[0, 10, 19], 13] - first).tolist() == [2, 0, 1]
    assert (data.test_ids[:3, 13] - first).tolist() == [0, 2, 1]
    assert data.test_ids[:4, 0].tolist() == [2, 2, 2, 0]


def test_a_packed_file_loads_alike(folder):
    text = "".join(line(i % 2, i, "0123abcd") for i in range(70))
    path = folder / "criteo" / "train.tsv"
    path.write_text(text)
    plain = criteo.load()
    path.write_bytes(gzip.compress(text.encode()))
    assert (criteo.load().train_ids == plain.train_ids).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            line(1) * 3 + line(1)[:20],
            r"criteo/train\.tsv, line 4: the file is cut off in this line \(20 of 40 fields\)",
        ),
        (line(1) * 3 + line(7), r"criteo/train\.tsv, line 4: label is '7', not 0 or 1"),
        (line(1)[2:], r"line 1: it has 39 fields, not 40"),
        (line(1, "1.5"), r"line 1: I1 is '1\.5'"),
        (line(1) * 3, "too few rows"),
        ("", "holds no rows"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(folder, text, words):
    (folder / "criteo" / "train.tsv").write_text(text)
    with pytest.raises(DataFileError, match=words):
        criteo.load()


def test_the_last_of_the_days_is_the_test_part(folder):
    for day in range(3):
        (folder / "criteo-1tb" / f"day_{day}").write_text("".join(line(int(day == 2), day) for _ in range(10 + day)))
    (folder / "criteo-1tb" / "day_7").write_text("not reached")
    data = criteo_days.load()
    assert (data.train_labels.tolist(), data.test_labels.tolist()) == ([0] * 21, [1] * 12)
    assert "days 0 to 2, one of 1 rows" in data.note


def test_files_may_keep_their_published_names_which_messages_use(folder):
    text = "".join(line(i % 2) for i in range(70))
    (folder / "criteo" / "train.txt").write_text(text)
    assert len(criteo.load().test_ids) == 10
    (folder / "criteo" / "train.txt").write_text(text + "x\n")
    with pytest.raises(DataFileError, match=r"criteo/train\.txt, line 71"):
        criteo.load()
    for day in range(3):
        (folder / "criteo-1tb" / f"day_{day}.gz").write_bytes(gzip.compress(text.encode()))
    assert missing("criteo-1tb") == ""
    assert "days 0 to 2" in criteo_days.load().note


def test_of_many_rows_every_kth_is_taken_over_all_days(folder, monkeypatch):
    monkeypatch.setattr(criteo_days, "MAX_ROWS", 10)
    for day in range(2):
        rows = [line(int(i % 3 == 0)) for i in range(15)]
        (folder / "criteo-1tb" / f"day_{day}").write_text("".join(rows))
    data = criteo_days.load()
    assert (data.train_labels.tolist(), data.test_labels.tolist()) == ([1] * 5, [1] * 5)


def test_one_day_is_not_enough(folder):
    (folder / "criteo-1tb" / "day_0").write_text(line(1))
    with pytest.raises(DataMissingError, match="day_1"):
        criteo_days.load()


@pytest.mark.skipif(bool(missing("criteo")), reason=missing("criteo"))
def test_real_criteo():
    data = criteo.load()
    assert len(data.test_ids) == (len(data.train_ids) + len(data.test_ids)) // 7
    assert 0.1 < data.test_labels.mean() < 0.4
