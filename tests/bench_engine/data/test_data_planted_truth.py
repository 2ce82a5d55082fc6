"""Judging against the planted truth, by hand-made cases."""

import math

import numpy as np
import pytest

from bench_engine.data.planted import clicks as planted
from bench_engine.data.planted import truth as planted_truth
from bench_engine.data.planted.planted_spec import Spec
from bench_engine.data.planted.truth import kept_share, live_dims, regret, restoration_lag, useless_share

PLANTED = np.array([4, 2, 0, 2])


def test_live_dims_of_a_mask():
    mask = np.array([[1, 1, 0, 1], [0, 0, 0, 0]], bool)
    assert live_dims(mask, 16).tolist() == [12, 0]
    with pytest.raises(ValueError, match="4 chunks do not divide an embedding dimension of 6"):
        live_dims(mask, 6)


@pytest.mark.parametrize(
    ("live", "weights", "expected"),
    [
        ([4, 2, 0, 2], None, 1.0),
        ([16, 16, 16, 16], None, 1.0),
        ([0, 0, 16, 0], None, 0.0),
        ([1, 4, 4, 0], None, 3 / 8),  # 1 + 2 + 0 + 0 of 8
        ([1, 4, 4, 0], [10, 1, 5, 0], 12 / 42),  # 10 + 2 of 40 + 2
    ],
)
def test_kept_share(live, weights, expected):
    found = kept_share(np.array(live), PLANTED, None if weights is None else np.array(weights))
    assert found == pytest.approx(expected)


def test_useless_share():
    assert useless_share(np.array([1, 4, 4, 0]), PLANTED) == pytest.approx(4 / 9)
    assert useless_share(np.array([1, 4, 4, 0]), PLANTED, np.array([4, 1, 1, 9])) == pytest.approx(4 / 12)
    assert useless_share(np.array([4, 4, 0, 4]), PLANTED) == 0


def test_a_share_of_nothing_is_not_a_number():
    nothing = np.zeros(4, int)
    assert math.isnan(kept_share(PLANTED, nothing))
    assert math.isnan(useless_share(nothing, PLANTED))


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="One number of live and of planted dimensions per row"):
        kept_share(np.array([1, 2]), np.array([[1], [2]]))
    with pytest.raises(ValueError, match="one weight if any"):
        kept_share(PLANTED, PLANTED, np.ones(3))


def test_rare_important_ids_are_judged_alone():
    spec = Spec("small", (2000, 50), 100, 100, swap_at=0.5)
    truth = planted.truth(spec)
    judge = planted_truth.kept_share_of_rare_important
    assert judge(np.where(truth.rare_important, 4, 0), truth) == 0.5  # of 8 planted dimensions
    assert judge(np.where(truth.rare_important, 0, 8), truth) == 0
    assert judge(np.where(truth.rare_important_after, 8, 0), truth, after=True) == 1
    assert judge(np.where(truth.rare_important, 8, 0), truth, after=True) < 1
    assert judge(np.where(truth.rare_important, 8, 0), truth, weights=truth.popularity) == pytest.approx(1)


STEPS = [10, 20, 30, 40, 50]


@pytest.mark.parametrize(
    ("gained", "level", "expected"),
    [
        ([0.1, 0.1, 0.2, 0.73, 0.9], 0.9, 15),  # 0.72 = 0.9 of 0.8 is passed at step 40
        ([0.1, 0.1, 0.2, 0.71, 0.9], 0.9, 25),
        ([0.1, 0.1, 0.2, 0.3, 0.4], 0.9, 25),  # never: the steps that were left
        ([0.1, 0.1, 0.2, 0.3, 0.4], 0.5, 25),
        ([0.1, 0.9, 0.9, 0.9, 0.9], 0.9, 0),  # kept before the swap already
        ([0.9, 0.1, 0.1, 0.9, 0.9], 0.9, 15),  # long before it does not count
    ],
)
def test_restoration_lag(gained, level, expected):
    assert restoration_lag(STEPS, gained, [0.5, 0.8, 0.3, 0.2, 0.1], swap_step=25, level=level) == expected


def test_nothing_is_restored_of_what_was_never_kept():
    assert restoration_lag(STEPS, [0, 0, 0, 0.5, 1], [0, 0, 0, 0, 0], swap_step=25) is None


@pytest.mark.parametrize(
    ("lost", "swap_step", "level", "words"),
    [
        ([1.0], 25, 0.9, "5 steps, 5 and 1 shares"),
        ([1.0] * 5, 5, 0.9, "No share was taken up to the swap at step 5"),
        ([1.0] * 5, 25, 0.0, "level must be above 0"),
    ],
)
def test_bad_series_are_refused(lost, swap_step, level, words):
    with pytest.raises(ValueError, match=words):
        restoration_lag(STEPS, [1.0] * 5, lost, swap_step, level)


def test_regret():
    assert regret(0.75, 0.8) == pytest.approx(0.05)
