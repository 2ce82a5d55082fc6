"""Intervals over starts: on data whose truth is known they cover it, where turns alone and a bootstrap do not."""

import math

import numpy as np
import pytest

from bench_engine.measure import ratios, starts
from bench_engine.measure.ratios import Ratio

TURNS, PER_TURN, REPETITIONS = 24, 4, 150
BETWEEN, WITHIN = 0.008, 0.004  # standard deviations of a ratio between starts, and of a turn

Starts = list[list[np.ndarray]]


@pytest.fixture(autouse=True)
def _fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "ROUNDS", 100)


def simulated(rng: np.random.Generator, truth: float, count: int, between: float = BETWEEN) -> tuple[Starts, Starts]:
    """Starts of a baseline and of a candidate that is `truth` times as fast; the machine drifts for both alike."""
    sides: tuple[Starts, Starts] = ([], [])
    for _ in range(count):
        walk = np.exp(np.cumsum(rng.normal(0, 0.02, TURNS)))
        for side, factor in zip(sides, (truth, 1.0), strict=True):
            start = math.exp(rng.normal(0, between / math.sqrt(2)))
            level = 100 * factor * start * walk * rng.lognormal(0, WITHIN, TURNS)
            side.append(list(level[:, None] * rng.lognormal(0, WITHIN, (TURNS, PER_TURN))))
    return sides


def covered(interval, truth: float, count: int, **more: float) -> float:
    rng = np.random.default_rng(count)
    found = [interval(*simulated(rng, truth, count, **more)) for _ in range(REPETITIONS)]
    return float(np.mean([ratio.low <= truth <= ratio.high for ratio in found]))


def flat(side: Starts) -> list[np.ndarray]:
    return [turn for turns in side for turn in turns]


def bootstrapped(baseline: Starts, candidate: Starts) -> Ratio:
    """Starts drawn, then turns within them: percentiles."""
    rng = np.random.default_rng(0)
    logs = np.array(
        [
            [np.log(np.median(b) / np.median(c)) for b, c in zip(*pair, strict=True)]
            for pair in zip(baseline, candidate, strict=True)
        ]
    )
    drawn = rng.integers(len(logs), size=(200, len(logs), 1))
    turns = rng.integers(logs.shape[1], size=(200, len(logs), logs.shape[1]))
    means = np.median(logs[drawn, turns], axis=2).mean(axis=1)
    return Ratio(1.0, *np.exp(np.quantile(means, (0.025, 0.975))))


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("truth", [1.0, 1.02, 1.5])
def test_the_interval_over_starts_covers(count: int, truth: float) -> None:
    assert covered(starts.paired, truth, count) >= 0.9  # 0.95, less three standard errors


def test_turns_alone_do_not_cover_and_three_starts_are_too_few_for_a_bootstrap() -> None:
    assert covered(lambda b, c: ratios.paired(flat(b), flat(c)), 1.0, 3) < 0.7
    assert covered(bootstrapped, 1.0, 3) < 0.85


def test_where_starts_do_not_differ_it_covers_too() -> None:
    assert covered(starts.paired, 1.0, 3, between=0.0) >= 0.9


def test_medians_and_their_ratios_cover_over_starts() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(REPETITIONS):
        a, b = simulated(rng, 1.1, 5)
        for side in (a, b):  # without the drift, which no interval of two sweeps knows
            side[:] = [[turn / np.median(turn) * 100 * rng.lognormal(0, 1e-3) for turn in turns] for turns in side]
        both = [
            [
                [turn * factor for turn in turns]
                for turns, factor in zip(side, rng.lognormal(0, BETWEEN, 5), strict=True)
            ]
            for side in (a, b)
        ]
        ratio = starts.independent(*both)
        hits += ratio.low <= 1.0 <= ratio.high
    assert hits / REPETITIONS >= 0.9


def test_one_start_is_what_its_turns_say() -> None:
    a, b = simulated(np.random.default_rng(0), 1.2, 1)
    assert starts.paired(a, b) == ratios.paired(a[0], b[0])
    assert starts.median(a) == ratios.median(a[0])
    assert starts.independent(a, b) == ratios.independent(a[0], b[0])


def test_equal_starts_have_the_interval_of_their_turns() -> None:
    a, b = simulated(np.random.default_rng(0), 1.2, 1)
    thrice, once = starts.paired(a * 3, b * 3), ratios.paired(a[0], b[0])
    assert thrice.value == pytest.approx(once.value)
    assert 1 < thrice.high / thrice.value < once.high / once.value


def test_turns_are_told_apart_by_start() -> None:
    turns = [np.array([float(i)]) for i in range(5)]
    assert [len(start) for start in starts.by_start(turns, (2, 3))] == [2, 3]
    assert starts.by_start(turns, (2, 3))[1][0] == 2.0
    assert starts.by_start(turns, ()) == [turns]
    assert starts.by_start(turns, (2, 2)) == [turns]  # a journal may hold anything
