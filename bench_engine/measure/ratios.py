"""Ratios of times with their 95 % intervals, and the verdict that an interval allows.

Methods that took turns are compared turn by turn: the state of the machine changes by more than the methods differ (a
neighbour on the same core makes all that runs slower by half for some milliseconds, then for some seconds), but it is
nearly the same in two turns next to each other. The ratio of the medians over all samples is not like that: where half
of them fall into each of two states, a few more on one side move it from one state to the other.

What is resampled is a turn, or a stretch of samples taken one after another, never a single sample: samples of one
turn share the state of the machine, and taken one by one they would make an interval look narrower than it is (a
cluster bootstrap, Davison and Hinkley 1997, section 3.8). The interval is symmetric in the logarithm: the standard
error of the resampled ratios times Student's quantile, which makes up for few turns, where percentiles are too narrow.
tests/bench_engine/measure/test_ratios.py holds kinds of noise that it stands up to.

An interval here knows what varies from turn to turn. What differs between two processes for as long as they live (where
their memory lies, the core they were put on) is not in it: that takes several starts (see `starts`), and the verdict on
trials of one start allows for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Verdict = Literal["faster", "slower", "same", "unclear"]

# Two processes with the very same lookup, on one core and at the same addresses, differ by 1 % (standard deviation) for
# as long as they live, and by 2 % at addresses of their own. No interval knows that: a verdict allows for it with
# BETWEEN_PROCESSES, and less than MARGIN is no difference of methods. check-verdicts shows what a machine does.
BETWEEN_PROCESSES = 0.015
MARGIN = 0.05
_NORMAL = 1.96
ROUNDS = 1000
BLOCKS = 32  # stretches that samples without turns are cut into
# Neighbouring turns are taken together until there are no more than these: it costs less, and loses nothing.
MOST_TURNS = 64
MOST_RATIOS = 512


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % interval; as a speedup, baseline time / candidate time: above 1 the candidate is faster.

    Attributes:
        value: the ratio.
        low, high: ends of the interval; 0 and infinity where nothing is known of it.
        freedom: degrees of freedom of Student's quantile in it.
    """

    value: float
    low: float
    high: float
    freedom: float = field(default=math.inf, compare=False)

    @property
    def known(self) -> bool:
        """Whether there is an interval at all."""
        return self.low > 0 and math.isfinite(self.high)

    @property
    def variance(self) -> float:
        """Of its logarithm, as the interval has it; infinite where there is none."""
        return (math.log(self.high / self.low) / 2 / student(self.freedom)) ** 2 if self.known else math.inf


def turns(samples: Sequence[float] | np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Samples by turn; stretches of them where there are fewer than two turns."""
    samples = np.asarray(samples, dtype=float)
    if len(sizes) < 2:
        return stretches(samples)
    return np.split(samples, np.cumsum(sizes)[:-1])


def median(turns: Sequence[np.ndarray], seed: int = 0) -> Ratio:
    """The median of samples in µs, taken as a ratio to 1 µs, with the interval from resampling its turns."""
    value = _median(turns)
    together = _together([turn for turn in turns if turn.size])
    if len(together) < 2:
        return Ratio(value, 0.0, math.inf)
    logs = _log_medians(together, _drawn(len(together), np.random.default_rng(seed)))
    return around(value, _variance(logs, len(together)), len(together) - 1)


def paired(baseline: Sequence[np.ndarray], candidate: Sequence[np.ndarray], seed: int = 0) -> Ratio:
    """Speedup of a candidate that took turns with its baseline.

    The value is the median, over the turns, of the ratio of the two medians of a turn. The interval resamples those
    ratios. A turn that is missing or empty on one side takes no part. With fewer than two turns that both have, value
    and interval are those of `independent`.

    Args:
        baseline, candidate: samples in µs, one array per turn; turn i of both ran next to each other.

    Raises ValueError when a side has no samples, or its median is not above 0.
    """
    pairs = [(b, c) for b, c in zip(baseline, candidate, strict=False) if b.size and c.size]
    if len(pairs) < 2:
        return independent(baseline, candidate, seed)
    _median(baseline), _median(candidate)  # raises where one cannot be compared
    medians = np.array([(np.median(b), np.median(c)) for b, c in pairs])
    if not medians.all():  # a clock that stood still for a turn
        return Ratio(_median(baseline) / _median(candidate), 0.0, math.inf)
    every = np.log(medians[:, 0] / medians[:, 1])
    logs = np.array([np.median(part) for part in np.array_split(every, min(every.size, MOST_RATIOS))])
    drawn = np.random.default_rng(seed).integers(logs.size, size=(ROUNDS, logs.size))
    resampled = np.median(logs[drawn], axis=1)
    return around(math.exp(np.median(every)), _variance(resampled, logs.size), logs.size - 1)


def independent(a: Sequence[np.ndarray], b: Sequence[np.ndarray], seed: int = 0) -> Ratio:
    """Ratio of the medians of a and b, which were not taken in turns: two sweeps, commits or machines.

    Each side is resampled by its own turns, or by stretches of its samples where it has fewer than two turns (see
    `stretches`); the two variances add, with the degrees of freedom of Welch 1947.

    Args:
        a, b: samples in µs, one array per turn.

    Raises ValueError when a side has no samples, or its median is not above 0.
    """
    value = _median(a) / _median(b)
    rng = np.random.default_rng(seed)
    variances, freedoms = [], []
    for side in (a, b):
        turns = [turn for turn in side if turn.size]
        turns = _together(turns) if len(turns) > 1 else stretches(turns[0])
        if len(turns) < 2:
            return Ratio(value, 0.0, math.inf)
        variances.append(_variance(_log_medians(turns, _drawn(len(turns), rng)), len(turns)))
        freedoms.append(len(turns) - 1)
    return apart(value, variances, freedoms)


def apart(value: float, variances: Sequence[float], freedoms: Sequence[float]) -> Ratio:
    """The ratio of two sides that know nothing of each other: variances add, freedom is that of Welch 1947."""
    total = sum(variances)
    if not 0 < total < math.inf:
        return around(value, total, min(freedoms))
    return around(value, total, total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True)))


def stretches(samples: np.ndarray) -> list[np.ndarray]:
    """Samples whose turns are not known, as at most BLOCKS stretches in the order in which they were taken."""
    return np.array_split(samples, min(BLOCKS, samples.size)) if samples.size else []


def by_seed(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Mean of b / mean of a, for values of equal seeds: a[i] and b[i] have one seed.

    The interval is Student's of the differences b[i] - a[i], over the mean of a. Values that are all equal have an
    interval of no width, whatever their number; otherwise one seed tells nothing of the interval.

    Raises ValueError when there are no values, or one is negative.
    """
    values_a, values_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if not values_a.size or min(values_a.min(), values_b.min()) < 0:
        raise ValueError("A ratio needs values of both sides, none of them negative.")
    if (values_a == values_b).all():
        return Ratio(1.0, 1.0, 1.0)
    mean = float(values_a.mean())
    value = float(values_b.mean()) / mean if mean else math.inf
    if values_a.size == 1 or not mean:
        return Ratio(value, 0.0, math.inf)
    deviation = float((values_b - values_a).std(ddof=1))
    half = student(values_a.size - 1) * deviation / math.sqrt(values_a.size) / mean
    return Ratio(value, max(0.0, value - half), value + half, values_a.size - 1)


def inverse(ratio: Ratio) -> Ratio:
    """1 / ratio."""
    value, low, high = (1 / x if x else math.inf for x in (ratio.value, ratio.high, ratio.low))
    return Ratio(value, low, high, ratio.freedom)


def verdict(ratio: Ratio, margin: float = MARGIN, between: float = BETWEEN_PROCESSES) -> Verdict:
    """What a speedup and its interval allow to say.

    same: the whole interval lies within the margin, from 1 / (1 + margin) to 1 + margin. faster, slower: the value lies
    beyond the margin, and the interval, widened by what two processes differ `between` them, lies on one side of 1.
    unclear: anything else.
    """
    if 1 / (1 + margin) <= ratio.low and ratio.high <= 1 + margin:
        return "same"
    if ratio.value == 0 or math.isinf(ratio.value):  # something against nothing at all
        return "slower" if ratio.value == 0 else "faster"
    below, above = (math.hypot(span, _NORMAL * between) for span in _spans(ratio))
    if ratio.value > 1 + margin and math.log(ratio.value) > below:
        return "faster"
    if ratio.value < 1 / (1 + margin) and -math.log(ratio.value) > above:
        return "slower"
    return "unclear"


def quotient(over: Ratio, under: Ratio) -> Ratio:
    """over / under, taken as independent: how much more one speedup is than another."""
    below, above = (math.hypot(*ends) for ends in zip(_spans(over), _spans(under)[::-1], strict=True))
    value = over.value / under.value
    return Ratio(value, value * math.exp(-below), value * _exp(above), min(over.freedom, under.freedom))


def _spans(ratio: Ratio) -> tuple[float, float]:
    """How far the interval reaches below and above the value, in logarithms."""
    below = math.log(ratio.value / ratio.low) if ratio.low > 0 else math.inf
    return below, math.log(ratio.high / ratio.value)


def _median(turns: Sequence[np.ndarray]) -> float:
    samples = np.concatenate([np.empty(0), *turns])
    if not samples.size:
        raise ValueError("There are no timings to compare: take at least one sample of each side.")
    median = float(np.median(samples))
    if not median > 0:
        raise ValueError("The median time is 0: the clock of this machine is too coarse for this call.")
    return median


def _together(turns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """At most MOST_TURNS turns, neighbours taken together."""
    parts = np.array_split(np.arange(len(turns)), min(len(turns), MOST_TURNS))
    return [np.concatenate([turns[i] for i in part]) for part in parts]


def _drawn(turns: int, rng: np.random.Generator) -> np.ndarray:
    """How often each turn is drawn: [ROUNDS, turns]."""
    return rng.multinomial(turns, np.full(turns, 1 / turns), size=ROUNDS)


def _log_medians(turns: Sequence[np.ndarray], drawn: np.ndarray) -> np.ndarray:
    """Logarithm of the median of the samples of the turns drawn, for each round: [ROUNDS].

    Bisects the sorted samples for all rounds at once: how many drawn samples lie at or below one follows from how
    many each turn has there.
    """
    samples = np.concatenate(turns)
    order = np.argsort(samples, kind="stable")
    samples = samples[order]
    turn = np.repeat(np.arange(len(turns)), [t.size for t in turns])[order]
    counts = np.cumsum(turn[:, None] == np.arange(len(turns)), axis=0, dtype=np.int32)
    total = drawn @ counts[-1]

    def at(rank: np.ndarray) -> np.ndarray:
        low, high = np.zeros(len(drawn), dtype=int), np.full(len(drawn), samples.size - 1)
        while (low < high).any():
            middle = (low + high) // 2
            reached = np.einsum("rt,rt->r", drawn, counts[middle]) > rank
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return samples[low]

    with np.errstate(divide="ignore"):
        middles: np.ndarray = np.log((at((total - 1) // 2) + at(total // 2)) / 2)
    return middles


def _variance(logs: np.ndarray, turns: int) -> float:
    """Variance of resampled logarithms, without the bias of resampling so few turns; infinite where a median is 0."""
    return float(logs.var(ddof=1)) * turns / (turns - 1) if np.isfinite(logs).all() else math.inf


def around(value: float, variance: float, freedom: float) -> Ratio:
    """A ratio with Student's interval, from the variance of its logarithm and the degrees of freedom of that."""
    factor = _exp(student(freedom) * math.sqrt(variance))
    return Ratio(value, value / factor, value * factor, freedom)


def student(freedom: float) -> float:
    """Quantile of Student's t that leaves 2.5 % above it."""
    if math.isinf(freedom):
        return _NORMAL
    from scipy.special import stdtrit  # here, since it takes longer to import than all of the engine

    return float(stdtrit(freedom, 0.975))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
