"""The best by utility, found digit by digit from histograms, so that nothing is sorted and shards need only add counts.

A rank is (utility, id): the larger utility first, then the smaller id. Utilities are stored as bfloat16 and not
negative, so their 15 bits are ordered as they are. A radix select (Alabi et al. 2012, doi:10.1145/2133803.2345676)
over these bits, and over those of the id where the last place falls among equals, finds the threshold that exactly
`budget` candidates reach.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

KEEP_ALL, KEEP_NONE = -1, 2**15
EVERY_ID = 2**62


@dataclass(frozen=True)
class Digit:
    """`bits` bits from `shift` on, of the utility or of the id."""

    of_id: bool
    shift: int
    bits: int


_UTILITY_BITS, _ID_BITS = 15, 12
_MANY_GROUPS = 4  # with more, utilities are taken in two digits, so that histograms stay in a cache

# (digit, prefix (groups, 2)) -> (groups, 2^bits): candidates by the value of a digit, whose digits before are the
# prefix's.
Histogram = Callable[[Digit, Tensor], Tensor]


def thresholds(histogram: Histogram, budgets: Tensor, ids: int) -> Tensor:
    """Per group, the rank of the last candidate to be kept: (groups, 2) int64, bits of the utility and id.

    Kept is what has more bits, or as many and an id that is not above. A group with no more candidates than its
    budget keeps all (KEEP_ALL). All ids are below `ids`.
    """
    budget = budgets.numpy()
    found = np.zeros((len(budget), 2), np.int64)
    left = budget.copy()  # places for candidates that share the digits found so far
    is_open = np.ones(len(budget), bool)
    for digit in (*_utility_digits(len(budget)), *_id_digits(ids)):
        counts = histogram(digit, torch.from_numpy(found)).numpy()
        if digit.shift + digit.bits == _UTILITY_BITS and not digit.of_id:  # the first
            _close(found, is_open, counts.sum(1) <= budget, KEEP_ALL)
            _close(found, is_open, budget == 0, KEEP_NONE)
        if digit.of_id:
            value, before, equal = _place(counts, left)
        else:
            value, before, equal = _place(counts[:, ::-1], left)
            value = counts.shape[1] - 1 - value
        found[is_open, int(digit.of_id)] |= value[is_open] << digit.shift
        left -= np.where(is_open, before, 0)
        if not digit.of_id and not digit.shift:  # all candidates of the last utility have a place
            found[is_open & (equal == left), 1] = EVERY_ID
            is_open &= equal != left
        if not is_open.any():
            break
    return torch.from_numpy(found)


def utility_of(threshold: Tensor) -> Tensor:
    """The stored utilities (groups,) float32 that thresholds stand for; 0 where all is kept."""
    return threshold[:, 0].clamp(0, KEEP_NONE - 1).to(torch.int16).view(torch.bfloat16).float()


def _utility_digits(groups: int) -> list[Digit]:
    return [Digit(False, 0, 15)] if groups <= _MANY_GROUPS else [Digit(False, 8, 7), Digit(False, 0, 8)]


def _id_digits(ids: int) -> list[Digit]:
    return [Digit(True, shift, _ID_BITS) for shift in range(0, max(ids - 1, 1).bit_length(), _ID_BITS)][::-1]


def _close(found: Integers, is_open: Flags, which: Flags, bits: int) -> None:
    which = which & is_open
    found[which] = (bits, EVERY_ID)
    is_open &= ~which


def _place(counts: Integers, left: Integers) -> tuple[Integers, Integers, Integers]:
    """Counted along a row: the column in which the `left`-th falls, how many are in those before, and in itself."""
    upto = counts.cumsum(1)
    column = np.minimum((upto < left[:, None]).sum(1), counts.shape[1] - 1)
    rows = np.arange(len(counts))
    equal = counts[rows, column]
    return column, upto[rows, column] - equal, equal
