"""A range of an axis from which random sweeps draw: its distribution, and the value at a place in it."""

import math
from dataclasses import dataclass

from bench_engine.registry import Axis
from bench_engine.trial import Scalar

# Names of W&B sweeps, those that make sense here; its log_uniform would take exponents instead of values.
DISTRIBUTIONS = ("uniform", "int_uniform", "q_uniform", "log_uniform_values", "q_log_uniform_values")
OF_VALUES = ("constant", "categorical")  # what {value: x} and {values: [..]} are, and may be called


@dataclass(frozen=True)
class Range:
    """Values from low to high, both included.

    Attributes:
        axis: whose values they are.
        low, high: ends, checked against the axis.
        distribution: one of DISTRIBUTIONS.
        step: the values are its multiples; 0 for all values between the ends.
    """

    axis: Axis
    low: float
    high: float
    distribution: str
    step: float

    @staticmethod
    def of(axis: Axis, low: float, high: float, distribution: str = "", q: float | None = None) -> "Range":
        """The range of a `parameters` entry, its ends within what the axis takes. Without a distribution it is
        int_uniform for an int axis and uniform for another.

        Raises ValueError with half a sentence that says what does not fit.
        """
        distribution = distribution or ("int_uniform" if axis.type is int else "uniform")
        if not low < high:
            raise ValueError(f"needs min below max, not {low:.12g} and {high:.12g}")
        if "log" in distribution and low <= 0:
            raise ValueError(f"needs min above 0 for {distribution}, not {low:.12g}")
        if q is not None and not distribution.startswith("q_"):
            raise ValueError(f"needs q for q_uniform and q_log_uniform_values only, not for {distribution}")
        whole = axis.type is int or distribution == "int_uniform"
        step = (1.0 if q is None else q) if whole or distribution.startswith("q_") else 0.0
        if axis.type is int and step != int(step):
            raise ValueError(f"needs a whole number as q, not {step:g}")
        drawn = Range(axis, low, high, distribution, step)
        if not drawn.count:
            raise ValueError(f"has no multiple of {step:g} between {low:.12g} and {high:.12g}")
        return drawn

    @property
    def count(self) -> float:
        """How many values there are; infinite without a step."""
        return max(0, self._last - self._first + 1) if self.step else math.inf

    @property
    def _first(self) -> int:
        return math.ceil(round(self.low / self.step, 9))  # 0.3 / 0.1 is a little less than 3

    @property
    def _last(self) -> int:
        return math.floor(round(self.high / self.step, 9))

    def at(self, place: float) -> Scalar:
        """The value at a place in [0, 1): a uniform place gives values as the distribution has them.

        A number that is not whole has six significant digits, enough to tell configurations apart and short to read.
        """
        if "log" in self.distribution:
            value = math.exp(math.log(self.low) + place * (math.log(self.high) - math.log(self.low)))
            multiple = round(value / self.step) if self.step else 0
        else:
            value = self.low + place * (self.high - self.low)
            multiple = self._first + int(place * self.count) if self.step else 0
        if self.step:
            value = min(max(multiple, self._first), self._last) * self.step
        if self.axis.type is int:
            return int(value)
        return min(max(float(f"{value:.6g}"), float(self.low)), float(self.high))

    def __str__(self) -> str:
        steps = f" in steps of {self.step:g}" if self.distribution.startswith("q_") else ""
        return f"{self.low:.12g} to {self.high:.12g} ({self.distribution}{steps})"
