"""ClickData refuses parts that do not fit together."""

from dataclasses import replace

import numpy as np
import pytest

from bench_engine.data import ClickData

IDS = np.array([[0, 2], [1, 3]])
LABELS = np.array([0, 1], np.float32)
GOOD = ClickData("tiny", 4, (2, 2), IDS, LABELS, IDS, LABELS)


def test_good_parts_are_taken():
    assert GOOD.num_tables == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_rows": 5}, "num_rows is 5, but the fields have 4"),
        ({"train_ids": IDS[:1]}, "the training part has ids of shape"),
        ({"test_ids": IDS[:, :1]}, "the test part has ids of shape"),
        ({"test_ids": IDS[:0], "test_labels": LABELS[:0]}, "at least one label"),
        ({"train_labels": np.array([-1, 1], np.float32)}, "labels other than 0 and 1"),
        ({"train_labels": np.array([np.nan, 1], np.float32)}, "labels other than 0 and 1"),
        ({"test_ids": np.array([[0, 2], [2, 3]])}, "field 0 of the test part has ids from 0 to 2"),
        ({"train_ids": np.array([[0, 2], [1, 4]])}, "its rows are 2 to 3"),
        ({"train_ids": np.array([[-1, 2], [1, 3]])}, "field 0 of the training part"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        replace(GOOD, **change)
