"""The best by utility, found digit by digit from histograms, so that nothing is sorted and shards need only add counts.

A rank is (utility, id): the larger utility first, then the smaller id. Utilities are stored as bfloat16 and not
negative, so their 15 bits are ordered as they are. A radix select (Alabi et al. 2012, doi:10.1145/2133803.2345676)
over these bits, and over those of the id where the last place falls among equals, finds the threshold that exactly
`budget` candidates reach.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

KEEP_ALL, KEEP_NONE = -1, 2**15
EVERY_ID = 2**62


@dataclass(frozen=True)
class Digit:
    """`bits` bits from `shift` on, of the utility or of the id."""

    of_id: bool
    shift: int
    bits: int


_UTILITY_DIGITS = (Digit(False, 8, 7), Digit(False, 0, 8))
_ID_BITS = 12

# (digit, prefix (groups, 2)) -> (groups, 2^bits): candidates by the value of a digit, whose digits before are the
# prefix's.
Histogram = Callable[[Digit, Tensor], Tensor]


def thresholds(histogram: Histogram, budgets: Tensor, ids: int) -> Tensor:
    """Per group, the rank of the last candidate to be kept: (groups, 2) int64, bits of the utility and id.

    Kept is what has more bits, or as many and an id that is not above. A group with no more candidates than its
    budget keeps all (KEEP_ALL). All ids are below `ids`.
    """
    groups = len(budgets)
    found = torch.zeros(groups, 2, dtype=torch.int64)
    left = budgets.clone()  # places for candidates that share the digits found so far
    open_groups = torch.ones(groups, dtype=torch.bool)
    for number, digit in enumerate(_UTILITY_DIGITS):
        counts = histogram(digit, found)
        if number == 0:
            _close(found, open_groups, counts.sum(1) <= budgets, KEEP_ALL)
            _close(found, open_groups, budgets == 0, KEEP_NONE)
        value, before = _place(counts.flip(1), left)
        value = counts.size(1) - 1 - value
        found[open_groups, 0] += value[open_groups] << digit.shift
        left -= torch.where(open_groups, before, 0)
        if not open_groups.any():
            return found
    equal = counts.gather(1, value.unsqueeze(1)).squeeze(1)
    found[open_groups & (equal == left), 1] = EVERY_ID
    open_groups &= equal != left
    for digit in _id_digits(ids):
        if not open_groups.any():
            break
        value, before = _place(histogram(digit, found), left)
        found[open_groups, 1] += value[open_groups] << digit.shift
        left -= torch.where(open_groups, before, 0)
    return found


def utility_of(threshold: Tensor) -> Tensor:
    """The stored utilities (groups,) float32 that thresholds stand for; 0 where all is kept."""
    return threshold[:, 0].clamp(0, KEEP_NONE - 1).to(torch.int16).view(torch.bfloat16).float()


def _id_digits(ids: int) -> list[Digit]:
    return [Digit(True, shift, _ID_BITS) for shift in range(0, max(ids - 1, 1).bit_length(), _ID_BITS)][::-1]


def _close(found: Tensor, open_groups: Tensor, which: Tensor, bits: int) -> None:
    which = which & open_groups
    found[which] = torch.tensor([bits, EVERY_ID])
    open_groups &= ~which


def _place(counts: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
    """The column in which the `left`-th falls, counted along a row, and how many are in the columns before."""
    upto = counts.cumsum(1)
    column = torch.searchsorted(upto, left.unsqueeze(1)).clamp_max(counts.size(1) - 1)
    before = upto.gather(1, column) - counts.gather(1, column)
    return column.squeeze(1), before.squeeze(1)
