"""Which kind of rows each field gets under a budget in bytes: a knapsack over the lookups that are answered.

A field whose ids are looked up often, more than OFTEN times each in the mean, is

- `whole`: a row for each id, no index, where its lookups a row are at least WHOLE times the mean over all rows, or the
  budget holds all such fields whole; or
- `shared`: quotient and remainder rows, one set for all such fields.

In any other field a vector that few lookups have taught repeats the labels they had, and does harm. It is

- `zeros`: ids that were looked up more than ADMITTED times may have rows of their own, all others are zeros. So is a
  field of the first sort where the budget does not hold the least that shared rows take; its ids need no admission.

The worth of an id with a row of its own are its lookups; of one whose row m ids share, 1 / (1 + SHARING * m) of
them; zeros are worth nothing. The search tries numbers of whole fields, those with the most lookups a row first,
with sizes of the shared rows in steps of an eighth, and spends what is left on own rows, those of the largest gain
first; the largest sum counts, and of equal ones that of the fewest bytes. The constants were chosen on validation
parts: docs/compression.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench_engine.kernels.budget.lookup_counts import LookupCounts

OFTEN = 10.0  # lookups of an id that occurs, in the mean over a field
ADMITTED = 50.0  # lookups of one id
SHARING = 0.01  # of the worth of a row, lost for each id that shares it
WHOLE = 10.0  # lookups a row of a field that may be whole, over their mean
_STEP = 1.125  # from one size of the shared rows to the next
_LEAST_SHARED = 4  # ids that quotient and remainder rows are for


@dataclass(frozen=True)
class FieldPlan:
    """What one field gets: `whole`, `shared` or `zeros`, and which ids of zeros (from 0 on, rising) have own rows."""

    kind: str
    own: np.ndarray


@dataclass(frozen=True)
class Allocation:
    """What all fields get.

    Attributes:
        fields: a plan for each.
        shared_bytes: for quotient and remainder rows; 0 without.
        bytes: in all.
        worth: in lookups.
    """

    fields: tuple[FieldPlan, ...]
    shared_bytes: int
    bytes: int
    worth: float


@dataclass(frozen=True)
class Prices:
    """Bytes of a row, and of an entry of the index of ids that have rows of their own."""

    row: int
    index: int


@dataclass(frozen=True)
class Rule:
    """The constants: see above."""

    often: float = OFTEN
    admitted: float = ADMITTED
    sharing: float = SHARING
    whole: float = WHOLE


DEFAULT = Rule()


def allocate(counts: LookupCounts, budget: int, prices: Prices, rule: Rule | None = None) -> Allocation:
    """The allocation of the largest worth within `budget` bytes."""
    return _Search(counts, budget, prices, rule or DEFAULT).best()


class _Search:
    def __init__(self, counts: LookupCounts, budget: int, prices: Prices, rule: Rule) -> None:
        fields = range(len(counts.fields))
        self.budget, self.prices, self.sharing = budget, prices, rule.sharing
        self.rows = np.array(counts.fields)
        self.lookups = np.array([counts.lookups(f) for f in fields], float)
        taught = [f for f in fields if counts.lookups(f) > rule.often * counts.distinct(f)]
        self.often = sorted(taught, key=lambda f: -self.lookups[f] / self.rows[f])
        dense = self.lookups >= rule.whole * self.rows * (self.lookups.sum() / self.rows.sum())
        self.may_be_whole = int(dense[self.often].sum())
        candidates = [counts.frequent(f) for f in fields]  # for rows of their own
        enough = [times > (0 if f in taught else rule.admitted) for f, (_, times) in enumerate(candidates)]
        self.ids = np.concatenate([ids[mine] for (ids, _), mine in zip(candidates, enough, strict=True)])
        self.times = np.concatenate([times[mine] for (_, times), mine in zip(candidates, enough, strict=True)])
        self.field = np.repeat(fields, [int(mine.sum()) for mine in enough])

    def best(self) -> Allocation:
        found: list[Allocation] = []
        for wholes in sorted({*range(self.may_be_whole + 1), len(self.often)}):
            whole, rest = self.often[:wholes], self.often[wholes:]
            left = self.budget - self.prices.row * int(self.rows[whole].sum())
            if left >= 0:
                sizes = self._sizes(int(self.rows[rest].sum()), left)
                found += [self._filled(whole, rest, size, left) for size in sizes]
        return max(found, key=lambda made: (round(made.worth, 3), -made.bytes))

    def _sizes(self, ids: int, left: int) -> list[int]:
        """Numbers of shared rows to try: none, and from the least to all that fit."""
        least, most = math.isqrt(max(4 * ids - 1, 0)) + 1, min(left // self.prices.row, ids)
        if ids < _LEAST_SHARED or least > most:
            return [0]
        steps = math.ceil(math.log(most / least, _STEP))
        return [0, *sorted({min(most, int(least * _STEP**step)) for step in range(steps + 1)})]

    def _filled(self, whole: Sequence[int], rest: Sequence[int], size: int, left: int) -> Allocation:
        """With `size` shared rows for the fields of `rest`, and own rows for what is left of `left` bytes."""
        fields = range(len(self.rows))
        shared = rest if size else []
        quality = self._quality(int(self.rows[rest].sum()), size) if size else 0.0
        free = np.flatnonzero(~np.isin(self.field, [*whole, *shared]))
        each = self.prices.row + self.prices.index
        room = min((left - size * self.prices.row) // each, len(free))
        taken = free[np.argsort(-self.times[free], kind="stable")[:room]]
        worth = self.lookups[whole].sum() + quality * self.lookups[shared].sum() + self.times[taken].sum()

        own = [np.sort(self.ids[taken][self.field[taken] == f]) for f in fields]
        kinds = ["whole" if f in whole else "shared" if f in shared else "zeros" for f in fields]
        plans = tuple(FieldPlan(kind, ids) for kind, ids in zip(kinds, own, strict=True))
        shared_bytes = left - each * room if size else 0
        return Allocation(plans, shared_bytes, self.budget - left + each * room + shared_bytes, float(worth))

    def _quality(self, ids: int, size: int) -> float:
        remainders = (size + math.isqrt(size * size - 4 * ids)) // 2
        return 1 / (1 + self.sharing * ids / remainders)
