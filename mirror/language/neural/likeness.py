"""How alike in meaning words are: vectors of common English stems, learnt from text at large and not from schemas."""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("likeness.npz")
_LEAST = 0.15  # less says nothing


def save(path: Path, names: Sequence[str], vectors: np.ndarray) -> None:
    """Write a table: a vector for each name, as whole numbers of a byte."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    largest = np.abs(unit).max(1, keepdims=True)
    np.savez(path, names=np.array("\n".join(names)), vectors=np.round(unit / largest * 127).astype(np.int8))


@cache
def _table() -> tuple[dict[str, int], np.ndarray]:
    with np.load(TABLE, allow_pickle=False) as held:
        names = str(held["names"]).split("\n")
        return {name: i for i, name in enumerate(names)}, held["vectors"]


def axes() -> int:
    """How long a vector is."""
    return int(_table()[1].shape[1])


def vectors_of(stems: Sequence[str]) -> np.ndarray:
    """(stems, axes): unit vectors; zeros for what is not known."""
    at, table = _table()
    rows = np.array([at.get(name, -1) for name in stems], np.intp)
    found = table[rows].astype(np.float32)
    found[rows < 0] = 0
    found /= np.sqrt(np.maximum(np.einsum("ni,ni->n", found, found), 1e-6))[:, None]
    return found


@lru_cache(maxsize=8)  # the network and what weighs its readings look at the same question
def likeness(words: tuple[tuple[str, ...], ...], tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """How alike the words of a question and names are.

    Args:
        words: the stems of each item; those of the question come first, one each.
        tokens: how many those are.

    Returns:
        (items, axes): the mean vector of each item; and (items, items): for a word of the question and any other item
        how alike the word and the likeliest word of the other are, from 0 to 1; 0 between other items. Only to be read.
    """
    lengths = [max(1, len(name)) for name in words]
    flat = [stem for name in words for stem in (name or ("",))]
    vectors = vectors_of(flat)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    means = np.add.reduceat(vectors, starts, axis=0)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
    alike = np.maximum.reduceat(vectors[starts[:tokens]] @ vectors.T, starts, axis=1)
    alike = np.maximum(alike - _LEAST, 0) / (1 - _LEAST)
    alike[:, :tokens] = 0
    both = np.zeros((len(words), len(words)), np.float32)
    both[:tokens] = alike
    both[:, :tokens] = np.maximum(both[:, :tokens], alike.T)
    return means, both
