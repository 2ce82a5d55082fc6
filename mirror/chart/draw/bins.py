"""The intervals of a histogram: round ones, or equal factors where numbers span decades."""

import bisect
import math
from collections.abc import Sequence

_FEWEST, _MOST = 5, 30
_DECADES = 100.0  # largest / smallest from which on factors are equal instead of widths


def edges(values: Sequence[float]) -> list[float]:
    """The ends of the intervals, ascending, that hold all of the finite values; about the square root of their number.

    The last interval holds its upper end too, the others do not.
    """
    low, high = min(values), max(values)
    if low == high:
        margin = abs(low) * 0.05 or 0.5
        return [low - margin, low + margin]
    wanted = min(_MOST, max(_FEWEST, math.ceil(math.sqrt(len(values)))))
    if is_log(values):
        first, last = math.log10(low), math.log10(high)
        steps = [10 ** (first + (last - first) * i / wanted) for i in range(wanted + 1)]
        return [low, *steps[1:-1], high]
    width = _round((high - low) / wanted)
    start, stop = math.floor(low / width), math.ceil(high / width)
    places = max(0, 2 - math.floor(math.log10(width)))  # what products of floats have too many of is cut
    return [round(k * width, places) for k in range(start, max(stop, start + 1) + 1)]


def is_log(values: Sequence[float]) -> bool:
    """Whether the values span so much that equal widths would put most of them into one interval."""
    return min(values) > 0 and max(values) / min(values) >= _DECADES


def members(values: Sequence[float], ends: Sequence[float]) -> list[list[int]]:
    """The places of the values in each interval."""
    found: list[list[int]] = [[] for _ in ends[1:]]
    for i, v in enumerate(values):
        found[min(bisect.bisect_right(ends, v), len(found)) - 1].append(i)
    return found


def _round(width: float) -> float:
    """1, 2, 2.5 or 5 times a power of ten, at least the width."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= width * (1 - 1e-9))
