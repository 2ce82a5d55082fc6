"""Differences, by which a metric with values below 0 is compared: such values have no ratio."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench_engine.measure.ratios import student


@dataclass(frozen=True)
class Difference:
    """Mean of B less mean of A, and its 95 % interval, whose ends are infinite where nothing is known of it."""

    value: float
    low: float
    high: float

    def verdict(self, words: tuple[str, str], margin: float) -> str:
        """One of two words, for above and below 0; same, where the whole interval is within the margin; or unclear."""
        if -margin <= self.low and self.high <= margin:
            return "same"
        if self.value > margin and self.low > 0:
            return words[0]
        return words[1] if self.value < -margin and self.high < 0 else "unclear"

    def plain(self) -> Mapping[str, float | None]:
        """As plain values; an end that is not known is None."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}


def by_seed(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Of values of equal seeds, with Student's interval of b[i] - a[i].

    One seed tells nothing of the interval, unless both values are the same.
    """
    each = np.subtract(b, a, dtype=float)
    value = float(each.mean())
    if not each.any():
        return Difference(0.0, 0.0, 0.0)
    if each.size == 1:
        return Difference(value, -math.inf, math.inf)
    half = student(each.size - 1) * float(each.std(ddof=1)) / math.sqrt(each.size)
    return Difference(value, value - half, value + half)
