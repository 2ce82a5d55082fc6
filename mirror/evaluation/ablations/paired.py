"""The same questions asked twice: what changed, and within which limits that may be chance."""

import math
from dataclasses import dataclass

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


@dataclass(frozen=True)
class Paired:
    """A yes or no of each question, before and after a change.

    Attributes:
        n: questions.
        gained: those that have it only after the change.
        lost: those that have it only before.
    """

    n: int
    gained: int
    lost: int

    @property
    def difference(self) -> float:
        """By how much the share of all questions changed, from -1 to 1."""
        return (self.gained - self.lost) / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference: Wald's with one added to either count (Bonett and Price 2012,
        doi:10.3102/1076998611411915)."""
        up, down = ((count + 1) / (self.n + 2) for count in (self.gained, self.lost))
        half = _Z * math.sqrt((up + down - (up - down) ** 2) / (self.n + 2))
        return max(-1.0, up - down - half), min(1.0, up - down + half)

    @property
    def p(self) -> float:
        """How likely so uneven a change is where gaining and losing are equally likely: McNemar's test, exact."""
        changed, fewer = self.gained + self.lost, min(self.gained, self.lost)
        tail = sum(math.comb(changed, k) for k in range(fewer + 1)) / 2.0**changed
        return min(1.0, 2 * tail)
