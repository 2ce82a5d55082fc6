"""Means over configurations: the spread between them is in the interval, which covers what it says."""

import math

import numpy as np
import pytest

from bench_engine.measure import means, ratios
from bench_engine.measure.means import random_effects
from bench_engine.measure.ratios import Ratio


def test_no_ratio_has_no_mean_and_one_is_its_own() -> None:
    with pytest.raises(ValueError, match="no ratios"):
        random_effects([])
    assert random_effects([Ratio(2.0, 1.6, 2.5)]) == Ratio(2.0, 1.6, 2.5)


def test_ratios_that_agree_have_the_interval_of_their_own() -> None:
    mean = random_effects([Ratio(2.0, 1.6, 2.5)] * 4)
    assert mean.value == pytest.approx(2.0)
    error = math.log(1.25) / 1.96 / 2  # of four together
    assert mean.high == pytest.approx(2.0 * math.exp(ratios.student(3) * error))


def test_ratios_that_differ_widen_it_however_well_each_is_known() -> None:
    sure = [Ratio(value, value / 1.001, value * 1.001) for value in (0.5, 1.0, 2.0, 4.0)]
    mean = random_effects(sure)
    logs = np.log([ratio.value for ratio in sure])
    assert mean.value == pytest.approx(math.sqrt(2), rel=1e-3)
    half = ratios.student(3) * logs.std(ddof=1) / 2
    assert math.log(mean.high / mean.value) == pytest.approx(half, rel=1e-3)


def test_the_moments_of_a_known_example() -> None:
    """By hand: Q = 8, so that the variance between is (8 - 1) / (2 - 1)."""
    assert means.between(np.array([-2.0, 2.0]), np.array([1.0, 1.0])) == pytest.approx(7.0)
    assert means.between(np.array([0.0, 0.1]), np.array([1.0, 1.0])) == 0.0


def test_counts_without_an_interval_and_ratios_without_one_take_part() -> None:
    exact = random_effects([Ratio(4.0, 4.0, 4.0), Ratio(0.25, 0.25, 0.25)])
    assert exact.value == pytest.approx(1.0)
    assert random_effects([Ratio(2.0, 2.0, 2.0)] * 2).value == pytest.approx(2.0)
    assert random_effects([Ratio(2.0, 1.6, 2.5), Ratio(2.0, 0.0, math.inf)]).value == pytest.approx(2.0)
    assert random_effects([Ratio(2.0, 0.0, math.inf)] * 3).value == pytest.approx(2.0)


@pytest.mark.parametrize("count", [3, 12])
def test_the_interval_covers_the_mean_of_the_law_that_configurations_come_from(count: int) -> None:
    rng, hits, repetitions = np.random.default_rng(count), 0, 400
    for _ in range(repetitions):
        own = rng.uniform(0.002, 0.03, count)
        logs = rng.normal(0.1, 0.02, count) + rng.normal(0, own)
        mean = random_effects([ratios.around(math.exp(x), s**2, 10) for x, s in zip(logs, own, strict=True)])
        hits += mean.low <= math.exp(0.1) <= mean.high
    assert hits / repetitions >= 0.91
