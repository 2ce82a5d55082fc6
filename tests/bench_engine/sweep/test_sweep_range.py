"""Ranges: every distribution stays within its ends, has the values it should, and refuses what does not fit."""

import math

import pytest

from bench_engine.registry import Axis
from bench_engine.sweep.range import DISTRIBUTIONS, Range

WHOLE = Axis("batch_size", int, 1, "", low=1, high=2**40)
REAL = Axis("compression", float, 1.0, "", low=0.0, high=1e6)
PLACES = [i / 1000 for i in range(1000)] + [1 - 2**-53]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("axis", "low", "high"), [(WHOLE, 3, 1000), (WHOLE, 1, 2**40), (REAL, 0.3, 1000.7)])
def test_values_stay_within_the_ends_have_the_type_of_the_axis_and_rise(
    axis: Axis, low: float, high: float, distribution: str
) -> None:
    values = [Range.of(axis, low, high, distribution).at(place) for place in sorted(PLACES)]
    assert {type(v) for v in values} == {axis.type}
    assert low <= values[0] <= values[-1] <= high
    assert values == sorted(values)
    assert [axis.check(v) for v in values] == values
    assert len(set(values)) > 100


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (Range.of(WHOLE, 1, 4), [1, 2, 3, 4]),
        (Range.of(WHOLE, 1, 4, "uniform"), [1, 2, 3, 4]),
        (Range.of(WHOLE, 10, 40, "q_uniform", 8), [16, 24, 32, 40]),
        (Range.of(REAL, 0.1, 0.3, "q_uniform", 0.1), [0.1, 0.2, 0.3]),
        (Range.of(REAL, 0.5, 3.5, "int_uniform"), [1.0, 2.0, 3.0]),
    ],
)
def test_values_with_a_step_are_all_there_and_equally_often(drawn: Range, expected: list[float]) -> None:
    values = [drawn.at(i / 1200) for i in range(1200)]
    assert sorted(set(values)) == expected
    assert {values.count(v) for v in expected} == {1200 // len(expected)}
    assert drawn.count == len(expected)


def test_log_uniform_spends_as_much_on_each_power_of_ten() -> None:
    drawn = Range.of(REAL, 0.001, 1.0, "log_uniform_values")
    values = [drawn.at(place) for place in PLACES]
    assert sum(v < 0.01 for v in values) == pytest.approx(333, abs=2)
    assert sum(v < 0.1 for v in values) == pytest.approx(667, abs=2)
    assert drawn.count == math.inf
    multiples = Range.of(WHOLE, 8, 800, "q_log_uniform_values", 8)
    assert all(multiples.at(place) % 8 == 0 for place in PLACES)
    assert sum(multiples.at(place) < 80 for place in PLACES) == pytest.approx(500, abs=20)


def test_drawn_numbers_are_short() -> None:
    assert Range.of(REAL, 0.0, 1.0).at(1 / 3) == 0.333333
    assert Range.of(REAL, 0.12345678, 0.12345679).at(0.5) == 0.12345679  # rounding never leads out of the range


@pytest.mark.parametrize(
    ("axis", "low", "high", "distribution", "q", "words"),
    [
        (WHOLE, 3, 3, "", None, "needs min below max, not 3 and 3"),
        (REAL, 2, 1, "", None, "needs min below max, not 2 and 1"),
        (REAL, 0, 1, "log_uniform_values", None, "needs min above 0 for log_uniform_values, not 0"),
        (REAL, 0, 1, "uniform", 0.1, "needs q for q_uniform and q_log_uniform_values only, not for uniform"),
        (WHOLE, 1, 9, "q_uniform", 0.5, "needs a whole number as q, not 0.5"),
        (WHOLE, 9, 15, "q_uniform", 8, "has no multiple of 8 between 9 and 15"),
        (REAL, 0.2, 0.4, "int_uniform", None, "has no multiple of 1 between 0.2 and 0.4"),
    ],
)
def test_what_does_not_fit_is_said(
    axis: Axis, low: float, high: float, distribution: str, q: float | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Range.of(axis, low, high, distribution, q)


def test_a_range_says_what_it_is() -> None:
    assert str(Range.of(WHOLE, 1, 1_000_000)) == "1 to 1000000 (int_uniform)"
    assert str(Range.of(REAL, 0.5, 8, "q_uniform", 0.5)) == "0.5 to 8 (q_uniform in steps of 0.5)"
