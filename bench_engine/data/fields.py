"""Fields of data that fit into memory: rows of the joint table, and the last fifth of each user."""

from collections.abc import Sequence

import numpy as np

TRAIN_SHARE = 0.8


def last_fifth(users: np.ndarray) -> np.ndarray:
    """bool (n,): which rows belong to the last fifth of their user; the rows must be sorted by user."""
    _, first, count = np.unique(users, return_index=True, return_counts=True)
    position = np.arange(len(users)) - np.repeat(first, count)
    return position >= np.ceil(TRAIN_SHARE * np.repeat(count, count))


def joint_ids(fields: Sequence[np.ndarray], train: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
    """(rows of each field, ids (n, T) int32): a field's first row stands for all values that training lacks."""
    rows: list[int] = []
    ids = np.empty((len(train), len(fields)), np.int32)
    for place, values in enumerate(fields):
        known = np.unique(values[train])
        position = np.minimum(np.searchsorted(known, values), len(known) - 1)
        ids[:, place] = np.where(known[position] == values, position + 1, 0) + sum(rows)
        rows.append(len(known) + 1)
    return tuple(rows), ids


def attributes(ids: np.ndarray, known: np.ndarray, columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each column, which goes with the ids `known`, as a number for each of `ids`: 0 where the id is not known."""
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], ids), len(known) - 1)
    found = known[order][place] == ids
    numbers = [np.unique(column, return_inverse=True)[1][order] + 1 for column in columns]
    return [np.where(found, column[place], 0) for column in numbers]
