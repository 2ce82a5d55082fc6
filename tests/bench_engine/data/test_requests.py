"""The ids of a lookup: Zipf's law, any id space, scattered."""

import numpy as np
import pytest

from bench_engine.data.requests import request_batches, zipf_ranks


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0, 1.05, 2.0, 10.0])
def test_ranks_follow_zipfs_law(s):
    n, size = 50, 100_000
    found = np.bincount(zipf_ranks(n, s, size, np.random.default_rng(3)), minlength=n)
    share = np.arange(1, n + 1) ** -s
    expected = size * share / share.sum()
    often = expected > 10
    chi2 = ((found - expected)[often] ** 2 / expected[often]).sum()
    assert chi2 < often.sum() + 5 * np.sqrt(2 * often.sum())
    assert found.sum() == size


@pytest.mark.parametrize("n", [1, 2, 3, 6, 1000, 2**40])
@pytest.mark.parametrize("s", [0.0, 1.0, 1.05, 10.0])
def test_ids_stay_in_range_for_any_id_space(n, s):
    for batch in request_batches(n, 20, 5, s, seed=1, count=2):
        assert batch.shape == (20, 5)
        assert batch.dtype == np.int64
        assert batch.min() >= 0
        assert batch.max() < n


def test_uniform_ids_reach_the_whole_space():
    (batch,) = request_batches(30, 100, 10, 0.0, seed=0, count=1)
    assert set(batch.ravel()) == set(range(30))


def test_batches_differ_but_share_their_popular_ids():
    a, b = request_batches(100_000, 1000, 10, 1.05, seed=0, count=2)
    assert not np.array_equal(a, b)
    assert np.bincount(a.ravel()).argmax() == np.bincount(b.ravel()).argmax()


def test_popular_ids_are_no_neighbours():
    (batch,) = request_batches(100_000, 1000, 10, 1.2, seed=5, count=1)
    hottest = np.sort(np.argsort(-np.bincount(batch.ravel()))[:20])
    assert np.diff(hottest).min() > 16


def test_requests_repeat_for_a_seed_and_not_for_another():
    first, again, other = (request_batches(1000, 10, 5, 1.05, seed, 1)[0] for seed in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
