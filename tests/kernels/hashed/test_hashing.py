"""The hashes in plain PyTorch against Python's unbounded integers."""

import pytest
import torch
from hash_oracle import GAMMA, SPLITMIX, VECTORS, exact, mix, mixed, slot_and_sign

from bench_engine.kernels.hashed.hashing import HashedLayout, mix64, mixed_hash, reference_hash, signed, table_seed

# around the rows where int64, then uint64 wraps, and the end of int64
EDGES = [938_723_461, 938_723_462, 938_811_799, 1_877_623_595, 1_877_623_596, 2**32, 2**40, 2**62 + 12345, 2**63 - 1]


@pytest.mark.parametrize(("at", "h"), VECTORS.items())
def test_known_hashes(at, h):
    assert int(reference_hash(torch.tensor(at[0]), torch.tensor(at[1]))) == h
    assert exact(*at) == h


@pytest.mark.parametrize("row", EDGES)
def test_hash_is_exact_where_64_bits_wrap(row):
    found = reference_hash(torch.tensor(row), torch.arange(40))
    assert found.tolist() == [exact(row, d) for d in range(40)]


def test_hash_is_exact_on_random_rows():
    rows = torch.randint(0, 2**63 - 1, (500,), generator=torch.Generator().manual_seed(1))
    found = reference_hash(rows, torch.full_like(rows, 77))
    assert found.tolist() == [exact(r, 77) for r in rows.tolist()]


def test_the_mixer_is_that_of_splitmix64():
    states = [1234567 + (n + 1) * GAMMA for n in range(5)]
    assert tuple(mix(state) for state in states) == SPLITMIX
    found = mix64(torch.tensor([signed(state) for state in states]))
    assert tuple(value % 2**64 for value in found.tolist()) == SPLITMIX


@pytest.mark.parametrize("seed", [0, 1, -1, 2**62, -(2**63), table_seed(3, 4)])
def test_mixed_hash_is_exact(seed):
    rows = torch.randint(0, 2**63 - 1, (200,), generator=torch.Generator().manual_seed(2))
    rows = torch.cat([rows, torch.tensor([0, 1, *EDGES])])
    found = mixed_hash(rows.unsqueeze(1), torch.tensor([0, 1, 2, 500]), seed)
    expected = [[signed(mixed(row, block, seed)) for block in (0, 1, 2, 500)] for row in rows.tolist()]
    assert found.tolist() == expected


@pytest.mark.parametrize("num_slots", [1, 2, 1000, 2**31 - 1, 2**31, 2**31 + 11, 2**32, 2**40 + 9, 2**61 - 1])
@pytest.mark.parametrize("block", [1, 3, 8, 100])
@pytest.mark.parametrize(("hash", "seed", "signs"), [("reference", 0, False), ("mix64", 5, False), ("mix64", -7, True)])
def test_slots_and_signs_are_exact(num_slots, block, hash, seed, signs):
    layout = HashedLayout(hash, seed, signs, block, 21, num_slots)
    rows = torch.tensor([0, 1, 12345, *EDGES])
    expected = [
        [slot_and_sign(row, d, num_slots, hash, seed, signs, block) for d in range(21)] for row in rows.tolist()
    ]
    assert layout.slots(rows).tolist() == [[slot for slot, _ in row] for row in expected]
    factors = layout.factors(rows, torch.float32)
    if signs:
        assert factors.tolist() == [[sign for _, sign in row] for row in expected]
    else:
        assert factors is None


def test_slots_of_small_rows_are_int64_for_int32_ids():
    ids = torch.tensor([2_000_000_000, 3], dtype=torch.int32)
    found = HashedLayout("reference", 0, False, 1, 3, 1000).slots(ids)
    assert found.dtype == torch.int64
    assert found.tolist() == [[exact(r, d) % 1000 for d in range(3)] for r in ids.tolist()]


def test_a_block_goes_on_at_slot_0():
    layout = HashedLayout("reference", 0, False, 8, 8, 13)
    row = next(row for row in range(100) if exact(row, 0) % 13 == 9)
    assert layout.slots(torch.tensor([row])).tolist() == [[9, 10, 11, 12, 0, 1, 2, 3]]


def test_tables_and_seeds_hash_apart():
    seeds = [table_seed(seed, table) for seed in range(40) for table in range(40)]
    assert len(set(seeds)) == 1600
    assert all(-(2**63) <= seed < 2**63 for seed in seeds)
    layouts = [HashedLayout("mix64", seed, False, 1, 16, 1000) for seed in seeds[:50]]
    rows = torch.arange(20)
    assert len({tuple(layout.slots(rows).flatten().tolist()) for layout in layouts}) == 50


def test_mix64_makes_no_copies_of_rows_where_the_reference_hash_does():
    rows = torch.arange(3000)
    copies = {}
    for hash in ("reference", "mix64"):
        slots = HashedLayout(hash, 0, False, 1, 16, 48).slots(rows)
        copies[hash] = len(rows) - len(torch.unique(slots, dim=0))
    assert copies["reference"] > 2000
    assert copies["mix64"] == 0


def test_signs_and_slots_are_even():
    layout = HashedLayout("mix64", 1, True, 1, 16, 10)
    rows = torch.arange(20_000)
    assert abs(float(layout.factors(rows, torch.float64).mean())) < 0.01
    counts = torch.bincount(layout.slots(rows).flatten(), minlength=10) / 32_000
    torch.testing.assert_close(counts, torch.ones(10), atol=0.03, rtol=0)
