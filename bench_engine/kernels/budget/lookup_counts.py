"""LookupCounts: how often ids of several fields are looked up, counted while a stream runs by."""

import copy
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bench_engine.kernels.bags import check_ids, check_index_type
from bench_engine.kernels.fiited import arguments

EXACT_ROWS = 1 << 20  # a field of more rows is counted by sketches
TRACKED = 1 << 16  # ids of such a field whose lookups are counted
_REGISTER_BITS = 14  # of the 64 of a hash: 16384 registers, a standard error of 0.8 %
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64's finalizer


class LookupCounts:
    """Running counts of the lookups of each field: in all, of distinct ids, and of the ids that are frequent.

    A field of at most `exact_rows` rows has a counter for each. A larger one has a fixed size whatever it is: distinct
    ids by HyperLogLog (Flajolet et al. 2007), lookups of the `tracked` most frequent ids by Misra and Gries (1982),
    whose counts are too low by at most N / tracked of N lookups.

    Args:
        fields: rows of each field; ids are numbered through, those of the second follow the last of the first.
        exact_rows, tracked: see above.

    Raises ValueError.
    """

    def __init__(self, fields: Sequence[int], *, exact_rows: int = EXACT_ROWS, tracked: int = TRACKED) -> None:
        for rows in checked_fields(fields):
            arguments.whole("rows of a field", rows, 1)
        arguments.whole("tracked", tracked, 1)
        self.fields = tuple(map(int, fields))
        self._ends = np.cumsum(self.fields)
        self._tracked = int(tracked)
        self._exact = {f: np.zeros(r, np.int64) for f, r in enumerate(self.fields) if r <= exact_rows}
        none = np.zeros(0, np.int64)
        large = [f for f in range(len(self.fields)) if f not in self._exact]
        self._heavy = dict.fromkeys(large, (none, none))
        self._registers = {f: np.zeros(1 << _REGISTER_BITS, np.uint8) for f in large}
        self._totals = np.zeros(len(self.fields), np.int64)

    @classmethod
    def of(cls, fields: Sequence[int], counts: Tensor) -> "LookupCounts":
        """From lookups of each row that are known, (sum of fields,) whole numbers of at least 0. Raises ValueError."""
        found = cls(fields, exact_rows=max(fields))
        values = torch.as_tensor(counts)
        if values.shape != (sum(found.fields),) or values.is_floating_point() or (values < 0).any():
            raise ValueError(
                f"counts must be {sum(found.fields)} whole numbers of at least 0, one for each row of all fields"
            )
        for f, own in enumerate(np.split(values.long().numpy(), found._ends[:-1])):
            found._exact[f] += own
            found._totals[f] = own.sum()
        return found

    def add(self, ids: Tensor) -> None:
        """Count ids of any shape, numbered through the fields. Raises IndexError and TypeError."""
        check_index_type("ids", ids)
        flat = ids.reshape(-1)
        check_ids(flat, int(self._ends[-1]))
        found, times = np.unique(flat.numpy(), return_counts=True)
        cuts = np.searchsorted(found, self._ends)
        for f, (low, high) in enumerate(zip((0, *cuts), cuts, strict=False)):
            own, count = found[low:high].astype(np.int64) - (self._ends[f] - self.fields[f]), times[low:high]
            self._totals[f] += count.sum()
            if f in self._exact:
                self._exact[f][own] += count
            elif len(own):
                self._sketch(f, own, count)

    def without(self, row: int) -> "LookupCounts":
        """A copy in which an id, numbered through, was never looked up; a large field counts it as distinct still."""
        found = copy.deepcopy(self)
        field = int(np.searchsorted(self._ends, row, side="right"))
        own = row - int(self._ends[field] - self.fields[field])
        if field in found._exact:
            found._totals[field] -= found._exact[field][own]
            found._exact[field][own] = 0
        else:
            ids, times = found._heavy[field]
            found._totals[field] -= times[ids == own].sum()
            found._heavy[field] = ids[ids != own], times[ids != own]
        return found

    def lookups(self, field: int) -> int:
        """Of all ids of a field."""
        return int(self._totals[field])

    def distinct(self, field: int) -> float:
        """Ids of a field that were looked up; an estimate for a large one, but never more than its rows."""
        if field in self._exact:
            return float(np.count_nonzero(self._exact[field]))
        registers = self._registers[field]
        m = len(registers)
        estimate = 0.7213 / (1 + 1.079 / m) * m * m / float(np.sum(2.0 ** -registers.astype(np.float64)))
        empty = int(np.count_nonzero(registers == 0))
        if estimate <= 2.5 * m and empty:
            estimate = m * math.log(m / empty)
        return min(estimate, float(self.fields[field]))

    def frequent(self, field: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids of a field, from 0 on, and their lookups, the most frequent first; of equals the lower id."""
        if field in self._exact:
            ids = np.flatnonzero(self._exact[field])
            counts = self._exact[field][ids]
        else:
            ids, counts = self._heavy[field]
        order = np.lexsort((ids, -counts))
        return ids[order], counts[order]

    def _sketch(self, field: int, ids: np.ndarray, counts: np.ndarray) -> None:
        hashes = _mixed(ids.astype(np.uint64))
        registers = (hashes >> np.uint64(64 - _REGISTER_BITS)).astype(np.int64)
        rest = (hashes & np.uint64((1 << 64 - _REGISTER_BITS) - 1)).astype(np.float64)
        zeros = 64 - _REGISTER_BITS - np.frexp(rest)[1]  # leading ones of the rest; all for 0
        np.maximum.at(self._registers[field], registers, (zeros + 1).astype(np.uint8))

        known, before = self._heavy[field]
        together, place = np.unique(np.concatenate([known, ids]), return_inverse=True)
        total = np.bincount(place, np.concatenate([before, counts])).astype(np.int64)
        if len(together) > self._tracked:  # those that are dropped take as much from all others
            total -= np.partition(total, -self._tracked - 1)[-self._tracked - 1]
        self._heavy[field] = together[total > 0], total[total > 0]


def checked_fields(fields: Sequence[int]) -> Sequence[int]:
    """Raises ValueError where there is no field."""
    if not isinstance(fields, list | tuple) or not fields:
        raise ValueError(f"fields must be a list with the rows of each field, not {fields!r}")
    return fields


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each (splitmix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in zip((30, 27), _MIXERS, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
