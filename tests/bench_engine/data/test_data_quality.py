"""AUC and logloss against their definitions."""

import numpy as np
import pytest

from bench_engine.data.quality import auc, logloss


def by_pairs(labels, scores):
    clicks, others = scores[labels == 1], scores[labels == 0]
    wins = (clicks[:, None] > others).sum() + 0.5 * (clicks[:, None] == others).sum()
    return wins / (len(clicks) * len(others))


@pytest.mark.parametrize("levels", [2, 7, 10_000])
def test_auc_is_the_share_of_pairs_in_order_with_ties_a_half(levels):
    rng = np.random.default_rng(levels)
    labels = (rng.random(300) < 0.3).astype(np.float32)
    scores = rng.integers(0, levels, 300) + labels * levels / 5
    assert auc(labels, scores) == pytest.approx(by_pairs(labels, scores), abs=1e-12)


def test_auc_of_a_perfect_an_inverted_and_a_constant_score():
    labels = np.array([0, 0, 1, 1], np.float32)
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    assert (auc(labels, scores), auc(labels, -scores), auc(labels, scores * 0)) == (1, 0, 0.5)


@pytest.mark.parametrize(
    ("labels", "scores", "words"),
    [
        ([1, 1], [0.1, 0.2], "all labels are the same"),
        ([0, 0], [0.1, 0.2], "all labels are the same"),
        ([0, 1], [0.1, np.nan], "NaN"),
        ([0, 1], [0.1], "one score per label"),
    ],
)
def test_auc_refuses_what_it_cannot_rank(labels, scores, words):
    with pytest.raises(ValueError, match=words):
        auc(np.array(labels, np.float32), np.array(scores, float))


def test_logloss_is_the_mean_cross_entropy():
    labels, logits = np.array([0, 1, 1], np.float32), np.array([-1.0, 0.5, 2.0])
    p = 1 / (1 + np.exp(-logits))
    assert logloss(labels, logits) == pytest.approx(-np.mean([np.log(1 - p[0]), np.log(p[1]), np.log(p[2])]))


def test_logloss_stays_finite_for_large_logits():
    labels = np.array([0, 1], np.float32)
    assert logloss(labels, np.array([1e4, 1e4], np.float32)) == pytest.approx(5e3)
    assert logloss(labels, np.array([-1e4, 1e4])) == 0
