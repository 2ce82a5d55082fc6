"""Stochastic rounding of a row in plain numpy: what the kernels are held against."""

import numpy as np

_FACTORS, _WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Philox 4x32-10 as Salmon et al. (2011) write it."""
    a, b, c, d = counter
    low, high = key
    for _ in range(10):
        first, second = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (second >> 32) ^ b ^ low, second & 0xFFFFFFFF, (first >> 32) ^ d ^ high, first & 0xFFFFFFFF
        low, high = (low + _WEYL[0]) & 0xFFFFFFFF, (high + _WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def bits(dim: int, seed: int, step: int, row: int, table: int = 0) -> np.ndarray:
    """16 random bits for each number of a row, (dim,)."""
    words: list[int] = []
    for block in range(-(-dim // 8)):
        counter = (block, row & 0xFFFFFFFF, row >> 32 | table << 8, step & 0xFFFFFFFF)
        for word in philox(counter, (seed & 0xFFFFFFFF, seed >> 32)):
            words += [word & 0xFFFF, word >> 16]
    return np.array(words[:dim])


def bfloat16_above(x: np.float32) -> np.float32:
    """The least bfloat16 of at least x."""
    return np.uint32((int(x.view(np.uint32)) + 0xFFFF) & 0xFFFF0000).view(np.float32)


def rounded(values: np.ndarray, levels: int, drawn: np.ndarray) -> np.ndarray:
    """The vector that a row of whole numbers up to ±levels stands for, from float32 values (dim,)."""
    scale = bfloat16_above(np.float32(np.abs(values).max()) / np.float32(levels))
    places = (values / scale).astype(np.float32)
    below = np.floor(places)
    q = below + ((places - below) * 65536 - 0.5 > drawn)
    return (np.clip(q, -levels, levels) * scale).astype(np.float32)
