"""Intervals over several starts of a trial's process.

Two processes of the very same code differ for as long as they live: where their memory lies, which pages they got, what
the scheduler did with them. Turns within one start cannot tell, however many there are. So a trial is started several
times, and a start is what is independent of another: turns lie within starts, samples within turns.

The value is the mean, over the starts, of the logarithm of what one start says (the median of its samples, or the
median ratio of its paired turns). Its variance is that between the starts' values, over their number; what varies
within starts is in it already. The interval is Student's with one degree of freedom less than starts: for a nested
design with equally many turns in each start that is the interval of the mixed model (Searle, Casella and McCulloch,
Variance Components, 1992, chapter 3: the mean of the means of the groups), and what Kalibera and Jones, Rigorous
Benchmarking in Reasonable Time (ISMM 2013), have for the highest level of repetition. Where chance lets starts differ
by less than the turns within them do, the interval from the turns is the wider one, and counts.

A hierarchical bootstrap (starts drawn, then turns within them, percentiles) is too narrow where starts differ by more
than turns: with three starts all draws lie between the least and the largest of them, which the truth does in three
cases of four. tests/bench_engine/measure/test_starts.py compares both on data whose truth is known.
"""

import math
from collections.abc import Sequence

import numpy as np

from bench_engine.measure import ratios
from bench_engine.measure.ratios import Ratio

Turns = Sequence[np.ndarray]


def by_start(turns: Turns, start_turns: Sequence[int]) -> list[list[np.ndarray]]:
    """Turns by start; all in one where starts are not known, or say another number of turns."""
    if len(start_turns) < 2 or sum(start_turns) != len(turns):
        return [list(turns)]
    ends = np.cumsum(start_turns)
    return [list(turns[end - size : end]) for end, size in zip(ends, start_turns, strict=True)]


def median(starts: Sequence[Turns], seed: int = 0) -> Ratio:
    """The time of a call in µs, as a ratio to 1 µs: of the medians of the starts the geometric mean. Raises ValueError
    when there are no samples, or a median is not above 0."""
    return _over_starts([ratios.median(turns, seed) for turns in starts])


def paired(baseline: Sequence[Turns], candidate: Sequence[Turns], seed: int = 0) -> Ratio:
    """Speedup of a candidate: start i of it took turns with start i of its baseline. Raises ValueError as
    `ratios.paired`."""
    return _over_starts([ratios.paired(b, c, seed) for b, c in zip(baseline, candidate, strict=False)])


def independent(a: Sequence[Turns], b: Sequence[Turns], seed: int = 0) -> Ratio:
    """Ratio a / b of times that were not taken in turns. Where both have several starts the variances over starts add,
    with the degrees of freedom of Welch 1947; else it is as `ratios.independent`. Raises ValueError as that."""
    if min(len(a), len(b)) < 2:
        return ratios.independent([t for turns in a for t in turns], [t for turns in b for t in turns], seed)
    one, other = (median(side, seed) for side in (a, b))
    return ratios.apart(one.value / other.value, (one.variance, other.variance), (one.freedom, other.freedom))


def _over_starts(values: Sequence[Ratio]) -> Ratio:
    """The mean of what starts say."""
    if len(values) == 1:
        return values[0]
    logs, count = np.log([value.value for value in values]), len(values)
    value = math.exp(float(logs.mean()))
    over_starts = ratios.around(value, float(logs.var(ddof=1)) / count, count - 1)
    if not all(value.known for value in values):
        return over_starts
    within = sum(value.variance for value in values) / count**2
    by_turns = ratios.around(value, within, sum(value.freedom for value in values))
    return max(over_starts, by_turns, key=lambda ratio: ratio.high)
