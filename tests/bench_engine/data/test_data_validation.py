"""The validation cut: what is last in the training part, and never the test part."""

from dataclasses import replace

import numpy as np
import pytest

from bench_engine.data import ClickData
from bench_engine.data.validation import validation_cut

USERS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
TEST = np.array([[0, 13]])
DATA = ClickData(
    "tiny", 14, (2, 12), np.stack([USERS, 2 + np.arange(10)], 1), np.arange(10) % 2, TEST, TEST[:, 0], "note", 0.9
)


def cut(order):
    return validation_cut(replace(DATA, train_order=order))


def test_by_time_the_last_rows_are_cut():
    assert (cut("time").test_ids[:, 1] - 2).tolist() == [8, 9]


def test_by_user_and_time_the_last_rows_of_each_user_are_cut():
    assert (cut("user_time").test_ids[:, 1] - 2).tolist() == [4, 9]
    mixed = replace(DATA, train_ids=DATA.train_ids[[0, 5, 1, 6, 2, 7, 3, 8, 4, 9]], train_order="user_time")
    assert (validation_cut(mixed).test_ids[:, 1] - 2).tolist() == [4, 9]


def test_without_order_a_seeded_random_fifth_is_cut():
    first, second = cut("none"), cut("none")
    assert first.test_ids.tolist() == second.test_ids.tolist()
    assert len(first.test_ids) == 2


@pytest.mark.parametrize("order", ["time", "user_time", "none"])
def test_both_parts_are_the_training_part_and_the_table_stays(order):
    data = cut(order)
    both = np.concatenate([data.train_ids, data.test_ids])
    assert sorted(both[:, 1].tolist()) == DATA.train_ids[:, 1].tolist()
    labels = np.concatenate([data.train_labels, data.test_labels])
    assert (labels == (both[:, 1] - 2) % 2).all()
    assert data.field_rows == DATA.field_rows
    assert data.bayes_auc is None
    assert data.note == "validation: the last fifth of the training part of: note"


def test_values_that_only_the_last_fifth_has_are_rare_in_it_where_rare_values_share_a_row():
    train = np.array([[1, 4], [2, 6], [2, 6], [0, 6], [3, 7]])  # fields of rows 0 to 3 and 4 to 7; 2, 3, 6, 7: values
    data = ClickData("tiny", 8, (4, 4), train, np.arange(5) % 2, train, np.arange(5) % 2, train_order="time")
    assert validation_cut(data).test_ids.tolist() == [[3, 7]]
    assert validation_cut(replace(data, shared_rows=2)).test_ids.tolist() == [[0, 4]]
    assert validation_cut(replace(data, shared_rows=2)).test_ids.dtype == train.dtype
    known = replace(data, shared_rows=2, train_ids=np.array([[3, 4], *train[1:4].tolist(), [3, 5]]))
    assert validation_cut(known).test_ids.tolist() == [[3, 5]]  # 5 is the row of empty values
