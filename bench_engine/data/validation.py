"""A validation part cut from the training part, to choose numbers on without the test part."""

from dataclasses import replace

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.fields import TRAIN_SHARE, last_fifth

CUT_SEED = 2020


def validation_cut(data: ClickData) -> ClickData:
    """The training part alone: trained on its first four fifths, tested on its last.

    What is last goes by `train_order`, as the data set's own split does: the latest rows, the latest of each user, or a
    seeded random fifth. The rows of the table stay, so sizes can be compared with those of the whole data set. Where
    rare values share a row, a value that only the last part has takes it, as it would in the data set's test part.
    """
    last = _last(data)
    train_ids, test_ids = data.train_ids[~last], data.train_ids[last]
    if data.shared_rows:
        test_ids = _to_rare(data, train_ids, test_ids)
    return replace(
        data,
        train_ids=train_ids,
        train_labels=data.train_labels[~last],
        test_ids=test_ids,
        test_labels=data.train_labels[last],
        note=f"validation: the last fifth of the training part of: {data.note}",
        bayes_auc=None,  # that of the test part
    )


def _to_rare(data: ClickData, train_ids: np.ndarray, test_ids: np.ndarray) -> np.ndarray:
    """`test_ids` with the first row of a field in place of each value of its own that `train_ids` lack."""
    first = np.cumsum([0, *data.field_rows[:-1]], dtype=test_ids.dtype)
    kept = np.zeros(data.num_rows, bool)
    kept[train_ids] = True
    for row in range(data.shared_rows):
        kept[first + row] = True
    return np.where(kept[test_ids], test_ids, first)


def _last(data: ClickData) -> np.ndarray:
    rows = len(data.train_labels)
    last = np.zeros(rows, bool)
    if data.train_order == "user_time":
        order = np.argsort(data.train_ids[:, 0], kind="stable")
        last[order] = last_fifth(data.train_ids[order, 0])
    elif data.train_order == "time":
        last[int(np.ceil(TRAIN_SHARE * rows)) :] = True
    else:
        drawn = np.random.default_rng(CUT_SEED).permutation(rows)
        last[drawn[int(np.ceil(TRAIN_SHARE * rows)) :]] = True
    return last
