"""Avazu: fields of the hour and the split by time, on small files and on the sample where it is."""

import numpy as np
import pytest

from bench_engine.data.formats.layouts import avazu as layout
from bench_engine.data.problems import DataFileError
from bench_engine.data.sets import avazu
from bench_engine.registry import missing

HEADER = ",".join(name for name, _ in layout(labels=True, header=True).columns) + "\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_DATA_DIR", str(tmp_path))
    (tmp_path / "avazu").mkdir()
    return tmp_path / "avazu" / "train.csv"


def line(hour, click=0, site="1fbe01fe"):
    return ",".join(["17", str(click), str(hour), "1005", "0", site, *["a"] * 18]) + "\n"


def test_the_last_day_is_the_test_part(file):
    file.write_text(HEADER + line(14102100) * 3 + line(14102223) * 2 + line(14102300, 1) * 2)
    data = avazu.load()
    assert (data.train_labels.tolist(), data.test_labels.tolist()) == ([0] * 5, [1, 1])
    assert (data.num_tables, data.train_order) == (24, "time")


def test_of_one_day_the_last_hour_and_of_one_hour_the_last_fifth(file):
    file.write_text(HEADER + line(14102100) * 3 + line(14102105, 1))
    assert avazu.load().test_labels.tolist() == [1]
    file.write_text(HEADER + line(14102100) * 8 + line(14102100, 1) * 2)
    data = avazu.load()
    assert (data.train_labels.tolist(), data.test_labels.tolist()) == ([0] * 8, [1, 1])


def test_rows_out_of_order_are_put_into_order(file):
    file.write_text(HEADER + line(14102201, 1) + line(14102100) + line(14102300) + line(14102200, 1) + line(14102100))
    data = avazu.load()
    assert data.train_labels.tolist() == [0, 0, 1, 1]


def test_a_file_without_header_is_read_too(file):
    file.write_text(line(14102100) * 3 + line(14102200, 1))
    assert len(avazu.load().train_ids) == 3


def test_values_seen_once_in_training_share_a_row(file):
    file.write_text(HEADER + line(14102100, site="once") + line(14102100) * 2 + line(14102200, site="once"))
    data = avazu.load()
    sites = data.train_ids[:, 5] - sum(data.field_rows[:5])
    assert sites.tolist() == [0, 2, 2]


def test_the_hour_becomes_hour_of_the_day_weekday_and_weekend():
    hours = np.array(["2014-10-21T05", "2014-10-25T23", "2014-10-26T00"], "datetime64[h]").astype(np.int64)
    hour, weekday, weekend = avazu.time_fields(hours)
    assert hour.tolist() == [5, 23, 0]
    assert weekday.tolist() == [1, 5, 6]  # Tuesday, Saturday, Sunday
    assert weekend.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER + line(14102100) + line(14103200), r"line 3: hour is '14103200', not an hour as YYMMDDHH"),
        (HEADER + line(14102100) + line("1410 121"), r"line 3: hour is '1410 121', not an hour as YYMMDDHH"),
        (HEADER + line(14102100) + line(14102100, 3), r"line 3: click is '3', not 0 or 1"),
        (HEADER + line(14102100)[:-9], "cut off in this line"),
        (HEADER, "holds no rows"),
        (HEADER + line(14102100), "too few rows"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(file, text, words):
    file.write_text(text)
    with pytest.raises(DataFileError, match=words):
        avazu.load()


@pytest.mark.skipif(bool(missing("avazu")), reason=missing("avazu"))
def test_real_avazu():
    data = avazu.load()
    assert len(data.train_ids) > len(data.test_ids) > 0
    assert 0.05 < data.train_labels.mean() < 0.4
