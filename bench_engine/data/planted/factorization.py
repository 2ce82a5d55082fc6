"""Clicks of a factorization machine that is known: ids drawn by their popularity, and how likely each is clicked."""

from collections.abc import Iterable, Sequence

import numpy as np

Chunk = tuple[np.ndarray, np.ndarray, np.ndarray]
"""ids int32 (n, T), labels float32 (n,), true probabilities (n,)."""


def cumulated(popularity: np.ndarray, field_rows: Sequence[int]) -> list[np.ndarray]:
    """Cumulated popularity (E,) of each field's ids."""
    return [np.cumsum(part) for part in np.split(popularity, np.cumsum(field_rows)[:-1])]


def draw_ids(rng: np.random.Generator, cumulated: Sequence[np.ndarray], examples: int) -> np.ndarray:
    """int32 (examples, T), rows of the joint table."""
    ids = np.empty((examples, len(cumulated)), np.int32)
    first = 0
    for field, shares in enumerate(cumulated):
        drawn = np.searchsorted(shares, rng.random(examples), side="right")
        ids[:, field] = np.minimum(drawn, len(shares) - 1) + first
        first += len(shares)
    return ids


def click_probability(bias: float, weight: np.ndarray, vector: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """float64 (n,), sigmoid(bias + sum_f w_f + sum_{f<g} <v_f, v_g>) (Rendle 2010) of rows (n, T) with weights (E,) and
    latent vectors (E, K)."""
    vectors = vector[rows]  # (n, T, K)
    # sum_{f<g} <v_f, v_g> = (|sum_f v_f|^2 - sum_f |v_f|^2) / 2
    pairs = ((vectors.sum(1) ** 2).sum(1) - (vectors**2).sum((1, 2))) / 2
    return 1 / (1 + np.exp(-(bias + weight[rows].sum(1) + pairs)))


def collect(chunks: Iterable[Chunk]) -> Chunk:
    """All of them as one."""
    ids, labels, probabilities = zip(*chunks, strict=True)
    return np.concatenate(ids), np.concatenate(labels), np.concatenate(probabilities)
