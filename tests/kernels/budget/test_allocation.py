"""Which rows each field gets: within the budget, and never worse than simpler ways to spend it."""

import itertools

import numpy as np
import pytest
import torch

from bench_engine.kernels.budget.allocation import ADMITTED, SHARING, Allocation, Prices, Rule, allocate
from bench_engine.kernels.budget.lookup_counts import LookupCounts

PRICES = Prices(18, 4)


def counts_of(*fields: np.ndarray) -> LookupCounts:
    return LookupCounts.of([len(f) for f in fields], torch.from_numpy(np.concatenate(fields)))


def zipf(rows: int, lookups: int, exponent: float = 1.0) -> np.ndarray:
    weights = 1 / np.arange(1, rows + 1) ** exponent
    return np.floor(lookups * weights / weights.sum()).astype(np.int64)


MIXED = counts_of(zipf(9, 30_000), zipf(300, 30_000), zipf(2000, 30_000), zipf(20_000, 30_000, 0.6))


def bytes_of(made: Allocation, counts: LookupCounts) -> int:
    whole = sum(n for n, plan in zip(counts.fields, made.fields, strict=True) if plan.kind == "whole")
    own = sum(len(plan.own) for plan in made.fields)
    return PRICES.row * (whole + own) + PRICES.index * own + made.shared_bytes


@pytest.mark.parametrize("budget", [100, 900, 4000, 12_000, 30_000, 60_000, 400_000])
def test_the_bytes_are_kept_and_used_while_they_pay(budget):
    made = allocate(MIXED, budget, PRICES)
    assert made.bytes == bytes_of(made, MIXED) <= budget
    if budget < 40_000:  # what all of these fields and ids take
        assert budget - made.bytes <= PRICES.row + PRICES.index


def test_more_bytes_are_never_worth_less():
    worth = [allocate(MIXED, budget, PRICES).worth for budget in range(500, 60_000, 1500)]
    assert all(b >= a * (1 - 1e-3) for a, b in itertools.pairwise(worth))  # sizes are tried in steps


@pytest.mark.parametrize("budget", [700, 2500, 8000, 20_000])
def test_no_simpler_way_is_worth_more(budget):
    """One of three kinds for all frequent fields: own rows for the most frequent ids, or shared rows alone."""
    best = allocate(MIXED, budget, PRICES).worth
    times = np.concatenate([MIXED.frequent(f)[1] for f in range(3)])
    rare = MIXED.frequent(3)[1]
    times = np.sort(np.concatenate([times, rare[rare > ADMITTED]]))[::-1]
    assert best >= times[: budget // 22].sum()
    ids = sum(MIXED.fields[:3])
    rows = budget // PRICES.row
    for remainders in range(1, rows):
        if remainders + -(-ids // remainders) <= rows:
            assert best * (1 + 2e-3) >= 3 * 29_900 / (1 + SHARING * ids / remainders)


def test_kinds_follow_lookups():
    kinds = [plan.kind for plan in allocate(MIXED, 4000, PRICES).fields]
    assert kinds == ["whole", "shared", "shared", "zeros"]
    assert [p.kind for p in allocate(MIXED, 10**7, PRICES).fields] == ["whole", "whole", "whole", "zeros"]
    own = allocate(MIXED, 10**7, PRICES).fields[3].own
    assert set(own) == set(np.flatnonzero(zipf(20_000, 30_000, 0.6) > ADMITTED))
    assert len(own) > 10


def test_a_field_is_whole_where_its_lookups_a_row_are_far_above_the_mean():
    """By worth alone the field of 300 would be whole too: 100 lookups a row, where the mean is 21."""
    counts = counts_of(zipf(9, 30_000), np.full(300, 100), np.full(6000, 12))
    budget = 18 * (9 + 300 + 2000)
    assert [p.kind for p in allocate(counts, budget, PRICES, Rule(whole=0)).fields] == ["whole", "whole", "shared"]
    assert [p.kind for p in allocate(counts, budget, PRICES).fields] == ["whole", "shared", "shared"]
    assert [p.kind for p in allocate(counts, budget, PRICES, Rule(whole=4)).fields] == ["whole", "whole", "shared"]
    all_whole = allocate(counts, 18 * 6309, PRICES)
    assert [p.kind for p in all_whole.fields] == ["whole", "whole", "whole"]
    assert all_whole.bytes == 18 * 6309


def test_ids_of_their_own_are_the_most_frequent_of_the_field():
    made = allocate(MIXED, 15_000, PRICES)
    for f, plan in enumerate(made.fields):
        assert (np.diff(plan.own) > 0).all()
        ids, _ = MIXED.frequent(f)
        assert set(plan.own) == set(ids[: len(plan.own)])
    assert sum(len(plan.own) for plan in made.fields) > 0


def test_fields_that_were_never_looked_up_get_nothing():
    made = allocate(counts_of(np.zeros(50, np.int64), np.full(1, 1000)), 2000, PRICES)
    assert [plan.kind for plan in made.fields] == ["zeros", "whole"]
    assert made.bytes == PRICES.row
