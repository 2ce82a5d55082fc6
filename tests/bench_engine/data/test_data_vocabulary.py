"""Keys, counts and rows of categories."""

import numpy as np
import pyarrow as pa
import pytest

from bench_engine.data import vocabulary
from bench_engine.data.vocabulary import EMPTY, Counter, Vocabulary, keys_of_log_squared, keys_of_texts


def texts(*values):
    return pa.array([value.encode() for value in values], pa.binary())


def test_texts_up_to_eight_bytes_have_keys_of_their_own():
    values = ["", "a", "b", "ab", "ba", "aa", "-1", "1", "10", "01", "0123abcd", "0123abce"]
    keys = keys_of_texts(texts(*values))
    assert len(set(keys.tolist())) == len(values)
    assert keys[0] == EMPTY
    assert keys_of_texts(texts("x", *values)[1:]).tolist() == keys.tolist()  # a slice of an array


def test_longer_texts_are_refused():
    with pytest.raises(ValueError, match="at most 8 bytes"):
        keys_of_texts(texts("123456789"))


def test_numbers_become_floor_of_the_squared_logarithm_above_two():
    numbers = ["", "-2", "-1", "0", "1", "2", "3", "4", "5", "100", "1000000"]
    expected = [None, -2, -1, 0, 1, 2, 1, 1, 2, 21, 190]  # ln(100)^2 = 21.2, ln(1e6)^2 = 190.9
    keys = keys_of_log_squared(texts(*numbers))
    assert keys[0] == EMPTY
    assert (keys[1:].astype(np.int64) - (1 << 40)).tolist() == expected[1:]


@pytest.mark.parametrize("waiting", [1, 50, 1 << 20])
def test_counts_do_not_depend_on_how_the_stream_is_cut(waiting, monkeypatch):
    monkeypatch.setattr(vocabulary, "_WAITING", waiting)
    keys = np.random.default_rng(0).zipf(1.5, 5000).astype(np.uint64)
    counter = Counter()
    for part in np.array_split(keys, 37):
        counter.add(part)
    values, counts = np.unique(keys, return_counts=True)
    for least in (1, 2, 10):
        assert counter.keys(least).tolist() == values[counts >= least].tolist()


def test_rare_and_unknown_values_share_a_row_and_empty_has_its_own():
    counter = Counter()
    counter.add(np.array([7, 7, 9, 0, 0, 0, 8, 8], np.uint64))
    known = Vocabulary(counter.keys(2))
    assert known.rows == 4
    assert known.encode(np.array([7, 8, 9, 0, 99], np.uint64)).tolist() == [2, 3, 0, 1, 0]


def test_a_field_with_nothing_frequent_has_two_rows():
    nothing = Vocabulary(np.empty(0, np.uint64))
    assert nothing.rows == 2
    assert nothing.encode(np.array([5, 0], np.uint64)).tolist() == [0, 1]
