"""Categories as numbers: texts become keys, keys are counted in a stream, and what is frequent gets a row."""

import numpy as np
import pyarrow as pa

from bench_engine.data.text_columns import integers, texts

EMPTY = np.uint64(0)  # key of an empty text; no other text has it
RARE_ROW, EMPTY_ROW, FIRST_ROW = 0, 1, 2
_WAITING = 1 << 20  # keys that are counted but not merged yet
_NUMBER_ZERO = 1 << 40  # so that the key of a number, negative ones too, is not EMPTY


def keys_of_texts(column: pa.Array) -> np.ndarray:
    """uint64 (n,): texts of at most 8 bytes, of which each has its own key. Longer ones raise ValueError."""
    lengths, data = texts(column)
    if (lengths > 8).any():
        raise ValueError("Only texts of at most 8 bytes have keys.")
    wide = np.zeros((len(lengths), 8), np.uint8)
    wide[np.arange(8) < lengths[:, None]] = data
    return wide.view("<u8")[:, 0]


def keys_of_numbers(numbers: np.ndarray) -> np.ndarray:
    """uint64 (n,) of whole numbers."""
    return (numbers.astype(np.int64) + _NUMBER_ZERO).astype(np.uint64)


def keys_of_log_squared(column: pa.Array) -> np.ndarray:
    """uint64 (n,) of texts that are whole numbers: x becomes floor(ln(x)^2) above 2 and stays as it is below."""
    numbers = integers(column)
    empty = np.asarray(numbers.is_null())
    values = np.asarray(numbers.fill_null(0))
    bucket = np.where(values > 2, np.floor(np.log(np.maximum(values, 2)) ** 2), values)
    return np.where(empty, EMPTY, keys_of_numbers(bucket))


class Counter:
    """How often each key occurs, of a stream; memory grows with the number of different keys only."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._size = 0

    def add(self, keys: np.ndarray) -> None:
        """Count the keys of one batch."""
        found = np.unique(keys, return_counts=True)
        self._waiting.append(found)
        self._size += len(found[0])
        if self._size > max(_WAITING, len(self._keys)):
            self._merge()

    def keys(self, min_count: int) -> np.ndarray:
        """The keys that occur at least `min_count` times, sorted, without EMPTY."""
        self._merge()
        kept = self._keys[self._counts >= min_count]
        return kept[kept != EMPTY]

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(place, counts, len(self._keys)).astype(np.int64)
        self._waiting, self._size = [], 0


class Vocabulary:
    """The rows of one field: RARE_ROW for rare and unknown values, EMPTY_ROW for none, then one for each known key."""

    def __init__(self, known: np.ndarray) -> None:
        self._known = known

    @property
    def rows(self) -> int:
        """Rows that a table needs for all values, the reserved ones included."""
        return FIRST_ROW + len(self._known)

    def encode(self, keys: np.ndarray) -> np.ndarray:
        """int64 (n,): the row of each key."""
        if not len(self._known):
            return np.where(keys == EMPTY, EMPTY_ROW, RARE_ROW)
        place = np.minimum(np.searchsorted(self._known, keys), len(self._known) - 1)
        rows = np.where(self._known[place] == keys, place + FIRST_ROW, RARE_ROW)
        return np.where(keys == EMPTY, EMPTY_ROW, rows)
