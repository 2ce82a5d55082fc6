"""Running counts of lookups: exact for small fields, within the bounds of their sketches for large ones."""

import numpy as np
import pytest
import torch

from bench_engine.kernels.budget import LookupCounts

FIELDS = [7, 5000, 1]


def stream(seed: int = 0) -> list[torch.Tensor]:
    """Batches (500, 3) of ids numbered through, those of the second field after a Zipf law."""
    rng = np.random.default_rng(seed)
    return [
        torch.from_numpy(
            np.stack(
                [rng.integers(0, 7, 500), 7 + np.minimum(rng.zipf(1.3, 500), 5000) - 1, np.full(500, 5007)], axis=1
            )
        )
        for _ in range(40)
    ]


def counted(**options: int) -> tuple[LookupCounts, np.ndarray]:
    counts, batches = LookupCounts(FIELDS, **options), stream()
    for batch in batches:
        counts.add(batch)
    return counts, np.bincount(torch.cat(batches).numpy().reshape(-1), minlength=5008)


def test_small_fields_are_counted_exactly():
    counts, true = counted()
    again = LookupCounts.of(FIELDS, torch.from_numpy(true))
    for found in (counts, again):
        for f, own in enumerate(np.split(true, [7, 5007])):
            assert (found.lookups(f), found.distinct(f)) == (20_000, np.count_nonzero(own))
            ids, times = found.frequent(f)
            assert (times == own[ids]).all()
            assert (np.diff(times) <= 0).all()
            assert len(ids) == np.count_nonzero(own)


def test_large_fields_have_counts_within_the_bound_of_misra_and_gries():
    counts, true = counted(exact_rows=100, tracked=50)
    own = true[7:5007]
    ids, times = counts.frequent(1)
    assert counts.lookups(1) == 20_000
    assert 0 < len(ids) <= 50
    off = own - np.bincount(ids, times, minlength=5000)
    assert 0 <= off.min() <= off.max() <= 20_000 / 50
    assert set(np.flatnonzero(own > 20_000 / 50)) <= set(ids)


@pytest.mark.parametrize("distinct", [40, 3000, 200_000])
def test_distinct_ids_are_estimated(distinct):
    counts = LookupCounts([2**40], exact_rows=1, tracked=10)
    for part in (torch.arange(distinct) * 5_000_011).split(30_000):
        counts.add(part)
        counts.add(part[::7])  # ids that were seen before change nothing
    assert counts.distinct(0) == pytest.approx(distinct, rel=0.03)


def test_ids_are_whole_numbers():
    with pytest.raises(TypeError, match="ids must be int32 or int64, not float32"):
        LookupCounts([5]).add(torch.tensor([1.5, 1.0, 2.9]))


def test_bad_input_is_a_sentence():
    with pytest.raises(ValueError, match=r"fields must be a list with the rows of each field, not \[\]"):
        LookupCounts([])
    with pytest.raises(ValueError, match="rows of a field must be a whole number of at least 1, not 0"):
        LookupCounts([3, 0])
    with pytest.raises(IndexError, match="index -1 at position 1 is out of range: ids of this table run from 0 to 8"):
        LookupCounts([4, 5]).add(torch.tensor([3, -1]))
    for wrong in (torch.ones(8), torch.ones(7, dtype=torch.int64), -torch.ones(8, dtype=torch.int64)):
        with pytest.raises(ValueError, match="counts must be 8 whole numbers of at least 0, one for each row"):
            LookupCounts.of([7, 1], wrong)
