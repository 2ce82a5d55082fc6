"""Request batches of a lookup: ids drawn from Zipf's law over an id space of any size."""

import math

import numpy as np

BATCHES = 8  # distinct batches that a lookup is timed with, in rotation
_LENGTHS = 1  # stream of random numbers beside that of the ids


def request_batches(
    num_rows: int, batch_size: int, bag_size: int, zipf_s: float, seed: int, count: int
) -> list[np.ndarray]:
    """`count` distinct int64 arrays (B, L) of ids in [0, num_rows).

    Popular ids are scattered over the id space by a seeded affine map, so that they are not neighbours in memory; all
    batches share the map, so the same ids are popular in each.
    """
    rng = np.random.default_rng(seed)
    factor, shift = _affine(num_rows, rng)
    return [
        ((zipf_ranks(num_rows, zipf_s, batch_size * bag_size, rng) * factor + shift) % num_rows).reshape(
            batch_size, bag_size
        )
        for _ in range(count)
    ]


def padded(batches: list[np.ndarray], padding_idx: int, seed: int) -> list[np.ndarray]:
    """The batches (B, L) with bags that end early: of each, the first n ids stay, n uniform from 0 to L, and the rest
    are padding_idx, as where bags of all lengths are filled up to the longest."""
    rng = np.random.default_rng([seed, _LENGTHS])
    filled = []
    for batch in batches:
        lengths = rng.integers(0, batch.shape[1] + 1, size=(len(batch), 1))
        filled.append(np.where(np.arange(batch.shape[1]) < lengths, batch, padding_idx))
    return filled


def zipf_ranks(n: int, s: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` ranks in [0, n) with P(rank k) proportional to (k + 1)^-s, in memory that does not grow with n; s >= 0.

    Exact, by rejection-inversion (Hörmann and Derflinger 1996), which inverts the integral of x^-s and accepts nearly
    every draw.
    """

    def integral(x: np.ndarray | float) -> np.ndarray:
        # of t^-s from 1 to x
        log = np.log(x)
        return log if s == 1 else np.expm1((1 - s) * log) / (1 - s)

    def inverse(area: np.ndarray) -> np.ndarray:
        if s == 1:
            return np.exp(area)
        return np.exp(np.log1p(np.maximum(area * (1 - s), -1 + 1e-16)) / (1 - s))

    low, high = float(integral(1.5)) - 1.0, float(integral(n + 0.5))
    ranks = np.empty(size, np.int64)
    filled = 0
    while filled < size:
        area = high + rng.random(size - filled) * (low - high)
        x = np.clip(inverse(area), 1, n)
        k = np.clip(np.floor(x + 0.5), 1, n)
        accepted = k[area >= integral(k + 0.5) - k**-s].astype(np.int64)
        ranks[filled : filled + accepted.size] = accepted - 1
        filled += accepted.size
    return ranks


def _affine(n: int, rng: np.random.Generator) -> tuple[int, int]:
    """(factor, shift) such that rank * factor + shift mod n is a permutation and stays below 2^63."""
    if n == 1:
        return 1, 0
    most = min(n - 1, (2**62) // n)
    factor = int(rng.integers(1 + most // 2, most + 1))
    while math.gcd(factor, n) != 1:
        factor = factor - 1 if factor > 1 else most
    return factor, int(rng.integers(0, n))
