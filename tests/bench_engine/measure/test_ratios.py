"""Ratios: the value, the interval, the verdict, and how often simulated noise leads it astray."""

import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_engine.measure import ratios
from bench_engine.measure.ratios import (
    Ratio,
    by_seed,
    independent,
    inverse,
    paired,
    quotient,
    stretches,
    verdict,
)
from db.installation import ROOT

TURNS, PER_TURN, REPETITIONS = 40, 10, 200
NOISES: dict[str, dict[str, object]] = {
    "log-normal": {},
    "drift": {"drift": 0.3},
    "bursts on both": {"bursts": "both", "drift": 0.1},
    "bursts on one": {"bursts": "one"},
    "bimodal": {"bimodal": True},
}
WIDE: dict[str, object] = {"spread": 0.2, "turn_spread": 0.05}  # wider than the margin: only the interval protects


def simulated(
    seed: int,
    slower: float = 1.0,
    spread: float = 0.05,
    turn_spread: float = 0.02,
    drift: float = 0.0,
    bursts: str = "",
    bimodal: bool = False,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Turns of a baseline and of a candidate that is `slower` times slower, in µs."""
    rng = np.random.default_rng(seed)
    walk = np.exp(np.cumsum(rng.normal(0, drift / math.sqrt(TURNS), TURNS)))  # of the machine: hits both
    shared = _bursts(rng)
    sides = []
    for factor in (1.0, slower):
        busy = {"": np.ones(TURNS), "both": shared, "one": _bursts(rng)}[bursts]
        level = 100 * factor * walk * busy * rng.lognormal(0, turn_spread, TURNS)
        times = level[:, None] * rng.lognormal(0, spread, (TURNS, PER_TURN))
        if bimodal:
            times *= np.where(rng.random(times.shape) < rng.choice([0.1, 0.5], (TURNS, 1)), 1.3, 1.0)
        sides.append(list(times))
    return sides[0], sides[1]


def _bursts(rng: np.random.Generator) -> np.ndarray:
    """A fifth of the turns 1.5 to 2 times slower: other work on the core."""
    return np.where(rng.random(TURNS) < 0.2, rng.uniform(1.5, 2.0, TURNS), 1.0)


def said(comparison, sides) -> list[str]:
    return [verdict(comparison(a, b, seed)) for seed, (a, b) in enumerate(sides)]


@pytest.fixture
def fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "ROUNDS", 200)


@pytest.mark.usefixtures("fewer_rounds")
@pytest.mark.parametrize("noise", NOISES)
def test_equal_methods_are_not_called_different(noise: str) -> None:
    words = said(paired, (simulated(i, **NOISES[noise]) for i in range(REPETITIONS)))
    assert words.count("faster") + words.count("slower") <= 0.05 * REPETITIONS


@pytest.mark.usefixtures("fewer_rounds")
@pytest.mark.parametrize("noise", NOISES)
def test_a_tenth_slower_is_called_slower(noise: str) -> None:
    words = said(paired, (simulated(i, slower=1.1, **NOISES[noise]) for i in range(REPETITIONS)))
    assert words.count("slower") >= 0.9 * REPETITIONS
    assert "faster" not in words


@pytest.mark.usefixtures("fewer_rounds")
def test_the_interval_holds_the_truth_nineteen_times_of_twenty() -> None:
    found = [paired(*simulated(i, slower=1.25, **WIDE), seed=i) for i in range(REPETITIONS)]
    holds = sum(r.low <= 0.8 <= r.high for r in found)
    assert 0.92 * REPETITIONS <= holds <= 0.98 * REPETITIONS


@pytest.mark.usefixtures("fewer_rounds")
@pytest.mark.parametrize("noise", ["log-normal", "bursts on one", "bimodal"])
def test_sweeps_of_equal_methods_are_not_called_different(noise: str) -> None:
    made = ((simulated(2 * i, **NOISES[noise])[0], simulated(2 * i + 1, **NOISES[noise])[0]) for i in range(100))
    words = said(independent, made)
    assert words.count("faster") + words.count("slower") <= 5


@pytest.mark.usefixtures("fewer_rounds")
def test_equal_methods_without_noise_to_speak_of_are_the_same() -> None:
    words = said(paired, (simulated(i, spread=0.02, turn_spread=0.005) for i in range(50)))
    assert words.count("same") >= 48


def test_drift_that_hits_both_cancels_in_turns_only() -> None:
    a, b = simulated(3, slower=1.1, drift=1.0)
    together, apart = paired(a, b), independent(a, b)
    assert together.high / together.low < 0.8 * apart.high / apart.low


def test_samples_of_one_turn_count_as_one_observation() -> None:
    """Ten equal samples in each of 20 turns tell no more than one; taken one by one the interval would be narrow."""
    rng = np.random.default_rng(1)
    levels = rng.lognormal(0, 0.1, (2, 20))
    ones = [[np.array([x]) for x in side] for side in levels]
    tens = [[np.full(10, x) for x in side] for side in levels]
    for comparison in (paired, independent):
        once, tenfold = comparison(*ones), comparison(*tens)
        assert tenfold.low == pytest.approx(once.low, rel=1e-9)
        assert tenfold.high == pytest.approx(once.high, rel=1e-9)


def test_the_value_is_the_ratio_of_the_medians_of_all_samples_or_of_typical_turns() -> None:
    rng = np.random.default_rng(2)
    baseline = [rng.lognormal(2, 0.3, n) for n in (3, 0, 9, 4, 1)]
    candidate = [rng.lognormal(1, 0.3, n) for n in (5, 7, 2, 0, 6, 8)]
    of_all = np.median(np.concatenate(baseline)) / np.median(np.concatenate(candidate))
    of_turns = np.median([np.median(baseline[i]) / np.median(candidate[i]) for i in (0, 2, 4)])  # those both have
    for ratio, expected in ((independent(baseline, candidate), of_all), (paired(baseline, candidate), of_turns)):
        assert ratio.value == pytest.approx(expected)
        assert ratio.low < ratio.value < ratio.high


def test_a_machine_with_two_states_is_seen_through_in_turns() -> None:
    """Half as slow again for a few turns, about half of the time, as beside a neighbour on the same core."""
    words: dict[float, list[str]] = {1.0: [], 1.1: []}
    for seed, slower in itertools.product(range(50), words):
        a, b = simulated(seed, slower=slower, spread=0.02, turn_spread=0.01)
        slow = np.cumsum(np.random.default_rng(seed).random(2 * TURNS) < 0.15) % 2 == 1  # turns of a and b in order
        a = [turn * (1.6 if state else 1.0) for turn, state in zip(a, slow[::2], strict=True)]
        b = [turn * (1.6 if state else 1.0) for turn, state in zip(b, slow[1::2], strict=True)]
        words[slower].append(verdict(paired(a, b)))
    assert words[1.0].count("same") >= 48
    assert words[1.1].count("slower") >= 48


def test_medians_of_drawn_turns_are_those_of_their_samples() -> None:
    rng = np.random.default_rng(3)
    turns = [rng.integers(1, 9, n).astype(float) for n in (1, 4, 2, 7)]  # with ties
    drawn = rng.multinomial(4, np.full(4, 0.25), size=50)
    expected = [
        np.median(np.concatenate([t for t, n in zip(turns, row, strict=True) for _ in range(n)])) for row in drawn
    ]
    assert np.exp(ratios._log_medians(turns, drawn)) == pytest.approx(expected)


def test_a_seed_gives_the_same_interval_again() -> None:
    a, b = simulated(4)
    assert paired(a, b, seed=1) == paired(a, b, seed=1) != paired(a, b, seed=2)


def test_many_short_turns_are_taken_together() -> None:
    rng = np.random.default_rng(5)
    a, b = (list(rng.lognormal(0, 0.1, (4096, 1))) for _ in range(2))
    few = [[np.concatenate(part) for part in np.array_split(side, ratios.MOST_TURNS)] for side in (a, b)]
    assert independent(a, b) == independent(*few)
    assert paired(a, b).value == pytest.approx(1.0, abs=0.01)
    assert 1.005 < paired(a, b).high / paired(a, b).low < 1.02


def test_few_turns_make_wide_intervals() -> None:
    a, b = simulated(6, spread=0.01, turn_spread=0.01, slower=1.08)
    widths = [math.log(r.high / r.low) for r in (paired(a[:n], b[:n]) for n in (2, 4, 12, 40))]
    assert widths == sorted(widths, reverse=True)
    assert verdict(paired(a[:2], b[:2])) == "unclear"
    assert verdict(paired(a, b)) == "slower"


@pytest.mark.parametrize("turns", [1, 0], ids=["one turn", "none shared"])
def test_without_two_turns_in_common_stretches_are_resampled(turns: int) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.lognormal(0, 0.05, (2, 300))
    a, b = ([x], [y]) if turns else ([x, np.empty(0)], [np.empty(0), y])
    assert paired(a, b) == independent([x], [y]) == independent(stretches(x), stretches(y))
    assert 0 < paired(a, b).low < 1 < paired(a, b).high < 2


def test_a_single_sample_tells_nothing_of_its_interval() -> None:
    ratio = paired([np.array([3.0])], [np.array([2.0])])
    assert ratio == Ratio(1.5, 0.0, math.inf)
    assert verdict(ratio) == "unclear"


def test_samples_that_are_all_equal_have_an_interval_of_no_width() -> None:
    side = [np.array([2.0, 2.0])] * 3
    for ratio in (paired(side, side), independent(side, side)):
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.0, 1.0, 1.0))
        assert verdict(ratio) == "same"


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([], [np.ones(3)], "no timings"),
        ([np.ones(3)], [np.empty(0)], "no timings"),
        ([np.ones(3)] * 3, [np.zeros(3)] * 3, "median time is 0"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(a, b, words: str) -> None:
    for comparison in (paired, independent):
        with pytest.raises(ValueError, match=words):
            comparison(a, b)


def test_a_clock_that_stood_still_now_and_then_leaves_the_interval_open() -> None:
    a, b = [np.ones(3)] * 4, [np.ones(3), np.ones(3), np.zeros(3), np.ones(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for comparison in (paired, independent):
            assert comparison(a, b) == Ratio(1.0, 0.0, math.inf)


@pytest.mark.parametrize(
    ("low", "value", "high", "word"),
    [
        (0.98, 1.0, 1.02, "same"),
        (1 / 1.03, 1.0, 1.03, "same"),  # the margin itself is within
        (1.01, 1.02, 1.025, "same"),  # surely faster, by less than what counts
        (0.97, 1.0, 1.02, "unclear"),
        (1.01, 1.02, 1.04, "unclear"),
        (1.01, 1.05, 1.09, "faster"),
        (1.0, 1.05, 1.1, "unclear"),
        (0.91, 0.95, 0.99, "slower"),
        (0.91, 0.95, 1.0, "unclear"),
        (0.96, 0.975, 0.99, "unclear"),
        (0.0, 5.0, math.inf, "unclear"),
    ],
)
def test_verdicts(low: float, value: float, high: float, word: str) -> None:
    assert verdict(Ratio(value, low, high), margin=0.03) == word


@given(st.floats(0.2, 5), st.floats(1, 2), st.floats(1, 2), st.floats(0.001, 0.5))
def test_swapping_the_sides_swaps_the_verdict(value: float, below: float, above: float, margin: float) -> None:
    ratio, swapped = Ratio(value, value / below, value * above), Ratio(1 / value, 1 / value / above, 1 / value * below)
    opposite = {"faster": "slower", "slower": "faster"}
    words = verdict(ratio, margin), verdict(swapped, margin)
    assert words[1] == opposite.get(words[0], words[0]) or math.isclose(below, value, rel_tol=1e-9)


def test_a_quotient_takes_the_uncertainty_of_both() -> None:
    ratio = quotient(Ratio(2.0, 1.0, 4.0), Ratio(4.0, 4.0, 4.0))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.25, 1.0))
    turned = quotient(Ratio(4.0, 4.0, 4.0), Ratio(2.0, 1.8, 4.0))
    assert (turned.value, turned.low, turned.high) == pytest.approx((2.0, 1.0, 4.0 / 1.8))
    assert quotient(Ratio(2.0, 0.0, math.inf), Ratio(1.0, 1.0, 1.0)) == Ratio(2.0, 0.0, math.inf)


def test_values_are_compared_seed_by_seed() -> None:
    """Student's interval by hand: differences 1, 2, 3 have mean 2 and deviation 1, t(0.975, 2) = 4.3027."""
    ratio = by_seed([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    half = 4.302653 / math.sqrt(3) / 20
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.1, 1.1 - half, 1.1 + half), rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "ratio"),
    [
        ([5.0], [5.0], Ratio(1.0, 1.0, 1.0)),
        ([0.0, 0.0], [0.0, 0.0], Ratio(1.0, 1.0, 1.0)),
        ([5.0], [6.0], Ratio(1.2, 0.0, math.inf)),
        ([0.0, 0.0], [1.0, 2.0], Ratio(math.inf, 0.0, math.inf)),
        ([4.0, 4.0], [2.0, 2.0], Ratio(0.5, 0.5, 0.5)),
    ],
)
def test_few_or_odd_values(a: list[float], b: list[float], ratio: Ratio) -> None:
    assert by_seed(a, b) == ratio


@pytest.mark.parametrize(("a", "b"), [([], []), ([-1.0], [1.0])])
def test_values_that_have_no_ratio(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="none of them negative"):
        by_seed(a, b)


def test_an_inverse_turns_the_interval_round() -> None:
    assert inverse(Ratio(2.0, 0.0, 4.0)) == Ratio(0.5, 0.25, math.inf)
    assert inverse(Ratio(math.inf, 0.0, math.inf)) == Ratio(0.0, 0.0, math.inf)


def test_scipy_is_imported_for_an_interval_only() -> None:
    code = "import sys, bench_engine.measure.ratios; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
