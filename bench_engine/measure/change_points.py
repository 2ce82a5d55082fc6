"""Where the level of a series changes for good, with a probability: of times over commits, say.

The model: the runs of a commit have the logarithm of a value around a level, with the variance of their own interval
plus one between runs, tau^2, which is not known and is learnt from the series. From one commit to the next the level
changes with probability CHANGE, independently of all others; each level is drawn from a normal law of standard
deviation LEVELS around the middle of the series, and tau from a lognormal law around TAU. The posterior is computed
exactly, by the recursions of Fearnhead, Exact and efficient Bayesian inference for multiple changepoint problems
(2006), for each tau of a grid, and averaged over tau by how well each explains the series. Nothing is drawn at random.

A change is reported for the least stretch of commits in which one lies with the probability that is asked for. How
often series without a change raise an alarm, and which changes are found, is shown by tests/shows/track_alarms.py.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from bench_engine.measure.ratios import Ratio

CHANGE = 0.02  # chance of a change from one commit to the next, before there are data
LEVELS = 0.25  # in logarithms: levels differ by a quarter, as a rule
TAU, TAU_SPREAD = 0.01, 0.8  # median of tau, and the standard deviation of its logarithm
_TAUS = np.geomspace(5e-4, 0.3, 28)
_LEAST_GAP = 0.02  # a border less likely than that to have a change is not looked at
_NORMAL = NormalDist()


@dataclass(frozen=True)
class ChangePoint:
    """A change of level.

    Attributes:
        before, after: the commits, by their numbers, between which it lies: the last of the old level and the first of
            the new.
        probability: that the level changes between them.
        ratio: new level over old level, with its 95 % interval.
    """

    before: int
    after: int
    probability: float
    ratio: Ratio


@dataclass(frozen=True)
class Found:
    """The changes of a series in their order, and the commits whose one run lies off a level that goes on after it."""

    changes: tuple[ChangePoint, ...]
    outliers: tuple[int, ...]


def change_points(
    values: Sequence[float], variances: Sequence[float], commits: Sequence[int], probability: float = 0.95
) -> Found:
    """The changes of a series.

    A commit with one run, after which the level is again what it was, is an outlier and not two changes.

    Args:
        values: positive, one for each run, in the order of the commits.
        variances: of the logarithm of each value, as its own interval has it; infinite where there is none.
        commits: number of each run's commit, 0, 1, 2 ..., never falling; several runs may have the same.
        probability: with which a change must lie between two commits to be told.

    Raises ValueError where a value is not positive.
    """
    if min(values, default=1.0) <= 0:
        raise ValueError("Changes are looked for in positive values.")
    logs, own, of_commit = np.log(values), np.asarray(variances, dtype=float), np.asarray(commits)
    outliers: list[int] = []
    while True:
        kept = ~np.isin(of_commit, outliers)
        there, numbers, runs = np.unique(of_commit[kept], return_inverse=True, return_counts=True)
        changes = _changes(_Series(logs[kept], own[kept], numbers), probability)
        spikes = [int(there[number]) for number in _spikes(changes, runs)]
        if not spikes:
            told = (replace(c, before=int(there[c.before]), after=int(there[c.after])) for c in changes)
            return Found(tuple(told), tuple(sorted(outliers)))
        outliers += spikes


def _changes(series: "_Series", probability: float) -> list[ChangePoint]:
    if series.count < 2:
        return []
    posterior = _posterior(series)
    found = sorted(_windows(posterior, probability))
    ends = [0, *(last for _, last, _ in found)], [*(first for first, _, _ in found), series.count]
    levels = [series.level(begin, end) for begin, end in zip(*ends, strict=True)]
    return [
        ChangePoint(first - 1, last, chance, _quotient(levels[i], levels[i + 1], posterior.weights))
        for i, (first, last, chance) in enumerate(found)
    ]


def _spikes(changes: Sequence[ChangePoint], runs: np.ndarray) -> Iterator[int]:
    """Commits of one run between a change and one that takes it back."""
    used = -1
    for there, back in pairwise(changes):
        sizes = math.log(there.ratio.value), math.log(back.ratio.value)
        alone = there.after == back.before and runs[there.after] == 1 and there.after > used
        if alone and abs(sum(sizes)) < min(map(abs, sizes)) / 2:
            used = back.after
            yield there.after


class _Series:
    """Sums over the runs of each commit, for each tau: what the likelihood of any stretch of commits is made of."""

    def __init__(self, logs: np.ndarray, variances: np.ndarray, commits: np.ndarray) -> None:
        self.count = int(commits[-1]) + 1 if commits.size else 0
        self.centre = float(np.median(logs)) if logs.size else 0.0
        centred = logs - self.centre
        known = np.isfinite(variances)
        own = np.where(known, variances, np.median(variances[known]) if known.any() else 0.0)
        of_run = _TAUS[:, None] ** 2 + own[None, :]  # [tau, run]

        def sums(of_runs: np.ndarray) -> np.ndarray:
            """Over the runs of the commits before each border: [tau, border]."""
            by_commit = np.zeros((_TAUS.size, self.count + 1))
            for number, commit in enumerate(commits):
                by_commit[:, commit + 1] += of_runs[:, number]
            return np.cumsum(by_commit, axis=1)

        self.precision, self.weighted = sums(1 / of_run), sums(centred / of_run)
        self.squares, self.logs = sums(centred**2 / of_run), sums(np.log(2 * math.pi * of_run))

    def likelihood(self) -> np.ndarray:
        """Logarithm of the marginal likelihood of the commits from border i to border j: [tau, i, j]."""

        def between(sums: np.ndarray) -> np.ndarray:
            differences: np.ndarray = sums[:, None, :] - sums[:, :, None]
            return differences

        precision = between(self.precision)
        with np.errstate(invalid="ignore", divide="ignore"):
            shrunk = between(self.weighted) ** 2 * LEVELS**2 / (1 + LEVELS**2 * precision)
            found: np.ndarray = -0.5 * (
                between(self.logs) + np.log1p(LEVELS**2 * precision) + between(self.squares) - shrunk
            )
        return found

    def level(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean of the logarithm over some commits, and its variance, for each tau."""
        precision = self.precision[:, end] - self.precision[:, begin]
        return (self.weighted[:, end] - self.weighted[:, begin]) / precision, 1 / precision


@dataclass(frozen=True)
class _Posterior:
    """What is known after the data.

    Attributes:
        weights: of each tau.
        unbroken: [a, b]: probability that no change lies at any of the borders a to b.
    """

    weights: np.ndarray
    unbroken: np.ndarray

    def changed(self, first: int, last: int) -> float:
        """Probability of a change at one of these borders or more."""
        return min(1.0, max(0.0, 1 - float(self.unbroken[first, last])))


def _posterior(series: _Series) -> _Posterior:
    count = series.count
    borders = np.arange(count + 1)
    length = borders[None, :] - borders[:, None]
    prior = np.where(borders[:, None] > 0, math.log(CHANGE), 0.0) + (length - 1) * math.log1p(-CHANGE)
    segments = np.where(length > 0, series.likelihood() + prior, -np.inf)  # [tau, i, j]
    forward = np.full((_TAUS.size, count + 1), -np.inf)
    backward = np.full((_TAUS.size, count + 1), -np.inf)
    forward[:, 0] = backward[:, count] = 0.0
    for j in range(1, count + 1):
        forward[:, j] = np.logaddexp.reduce(forward[:, :j] + segments[:, :j, j], axis=1)
    for i in range(count - 1, -1, -1):
        backward[:, i] = np.logaddexp.reduce(segments[:, i, i + 1 :] + backward[:, i + 1 :], axis=1)
    evidence = forward[:, count] - 0.5 * (np.log(_TAUS / TAU) / TAU_SPREAD) ** 2
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    whole = forward[:, :, None] + segments + backward[:, None, :] - forward[:, count][:, None, None]
    chances = np.einsum("t,tij->ij", weights, np.exp(whole))
    # A stretch without a change at the borders a to b begins before a and ends after b.
    begun = np.cumsum(chances, axis=0)
    ended = np.cumsum(begun[:, ::-1], axis=1)[:, ::-1]  # [i, j]: begins at i or before, ends at j or after
    unbroken = np.zeros((count + 1, count + 1))
    unbroken[1:, :-1] = ended[:-1, 1:]
    return _Posterior(weights, unbroken)


def _windows(posterior: _Posterior, probability: float) -> list[tuple[int, int, float]]:
    """(first border, last border, probability of a change there), of stretches that do not overlap."""
    count = posterior.unbroken.shape[0] - 1
    single = np.array([posterior.changed(k, k) if 0 < k < count else 0.0 for k in range(count + 1)])
    free = single >= _LEAST_GAP
    found = []
    while free.any():
        first = last = int(np.argmax(np.where(free, single, -1.0)))
        while (chance := posterior.changed(first, last)) < probability:
            below = single[first - 1] if free[first - 1] else 0.0
            above = single[last + 1] if last + 1 < count and free[last + 1] else 0.0
            if not max(below, above):
                break
            first, last = (first - 1, last) if below >= above else (first, last + 1)
        free[first : last + 1] = False
        if chance >= probability:
            found.append((first, last, chance))
    return found


def _quotient(old: tuple[np.ndarray, np.ndarray], new: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> Ratio:
    """New level over old, of normal laws of the logarithm that are mixed by the weights."""
    means, deviations = new[0] - old[0], np.sqrt(old[1] + new[1])

    def quantile(share: float) -> float:
        low, high = float((means - 12 * deviations).min()), float((means + 12 * deviations).max())
        for _ in range(60):
            middle = (low + high) / 2
            below = sum(w * _NORMAL.cdf((middle - m) / d) for w, m, d in zip(weights, means, deviations, strict=True))
            low, high = (middle, high) if below < share else (low, middle)
        return low

    return Ratio(*(math.exp(x) for x in (float(weights @ means), quantile(0.025), quantile(0.975))))
