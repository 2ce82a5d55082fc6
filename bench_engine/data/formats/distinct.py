"""How many different values a stream has, in fixed memory: exact up to SIZE, an estimate beyond."""

import hashlib

import numpy as np
import pyarrow as pa

from bench_engine.data.text_columns import texts
from bench_engine.data.vocabulary import keys_of_texts

SIZE = 16_384  # the standard error of the estimate is 1 / sqrt(SIZE), 0.8 %


class Distinct:
    """The SIZE smallest hashes of a stream (k minimum values, Bar-Yossef et al. 2002)."""

    def __init__(self) -> None:
        self._smallest = np.empty(0, np.uint64)

    def add(self, column: pa.Array) -> None:
        """Count the texts of a BinaryArray."""
        self.add_keys(_keys(column))

    def add_keys(self, keys: np.ndarray) -> None:
        """Count uint64 keys (n,)."""
        hashes = _mixed(keys)
        if len(self._smallest) == SIZE:
            hashes = hashes[hashes < self._smallest[-1]]
        if len(hashes):
            self._smallest = np.unique(np.concatenate([self._smallest, hashes]))[:SIZE]

    @property
    def exact(self) -> bool:
        """Whether the count is exact, not estimated."""
        return len(self._smallest) < SIZE

    @property
    def number(self) -> int:
        """Different values, to three digits where they are estimated."""
        if self.exact:
            return len(self._smallest)
        return int(float(f"{(SIZE - 1) / (float(self._smallest[-1]) / 2**64):.3g}"))


def _mixed(keys: np.ndarray) -> np.ndarray:
    """splitmix64 (Steele et al. 2014), a bijection."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _keys(column: pa.Array) -> np.ndarray:
    lengths, _ = texts(column)
    short = lengths <= 8
    if short.all():
        return keys_of_texts(column)
    hashed = [hashlib.blake2b(text, digest_size=8).digest() for text in column.filter(pa.array(~short)).to_pylist()]
    keys = np.empty(len(column), np.uint64)
    keys[short] = keys_of_texts(column.filter(pa.array(short)))
    keys[~short] = np.frombuffer(b"".join(hashed), "<u8")
    return keys
