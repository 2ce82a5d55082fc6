"""Differences of pairs, their intervals and their test, against figures worked out by hand."""

import random

import pytest

from mirror.evaluation.ablations.paired import Paired


def test_the_difference_is_of_all_questions() -> None:
    assert Paired(200, 3, 13).difference == pytest.approx(-0.05)
    assert Paired(0, 0, 0).difference == 0.0


def test_the_interval_is_bonetts_and_prices() -> None:
    """(2 + 1) / 42 and (8 + 1) / 42 gained and lost: -1 / 7, and 1.96 times the root of (2 / 7 - 1 / 49) / 42."""
    low, high = Paired(40, 2, 8).interval
    assert low == pytest.approx(-1 / 7 - 1.959964 * ((2 / 7 - 1 / 49) / 42) ** 0.5)
    assert high == pytest.approx(-1 / 7 + 1.959964 * ((2 / 7 - 1 / 49) / 42) ** 0.5)


def test_the_interval_turns_round_with_the_change() -> None:
    low, high = Paired(100, 4, 15).interval
    assert Paired(100, 15, 4).interval == pytest.approx((-high, -low))


def test_no_change_is_not_sure_to_be_none_and_surer_with_more_questions() -> None:
    low, high = Paired(100, 0, 0).interval
    assert low == -high
    assert 0 < Paired(1000, 0, 0).interval[1] < high < 0.04


def test_mcnemars_test_is_exact() -> None:
    assert Paired(100, 1, 8).p == pytest.approx(2 * (1 + 9) / 2**9)
    assert Paired(100, 8, 1).p == Paired(100, 1, 8).p
    assert Paired(100, 3, 3).p == 1.0
    assert Paired(100, 0, 0).p == 1.0


def test_the_interval_holds_the_true_difference_about_as_often_as_it_says() -> None:
    drawn, held = random.Random(7), 0
    for _ in range(1000):
        ends = drawn.choices((1, -1, 0), (0.03, 0.10, 0.87), k=150)
        low, high = Paired(150, ends.count(1), ends.count(-1)).interval
        held += low <= -0.07 <= high
    assert 930 <= held <= 985
