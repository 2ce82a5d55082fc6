"""The slots that the compiled kernels find, bit for bit, by the kernels of every instruction set."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hash_oracle import VECTORS, slot_and_sign
from hashed_calls import compiled_codes, expected_codes, op, slots_of
from random_slots import cases, last_row_without_wrap

from bench_engine.kernels.hashed.hashing import DIM_FACTOR, PRIME, ROW_FACTOR, HashedLayout

pytestmark = pytest.mark.usefixtures("hashed_ops")
HERE = Path(__file__).parent
LEVELS = {"portable": 0, "avx2": 1, "avx512": 2}


def plain(dim: int, num_slots: int) -> HashedLayout:
    return HashedLayout("reference", 0, False, 1, dim, num_slots)


def compiled_slots(rows: list[int], dim: int, num_slots: int) -> torch.Tensor:
    return compiled_codes(torch.tensor(rows), plain(dim, num_slots)) - 1


@pytest.mark.parametrize(("at", "h"), VECTORS.items())
def test_known_hashes(at, h):
    row, d = at
    # The remainders by three coprime numbers, whose product exceeds every hash, leave one possible hash.
    for num_slots in (99_991, 99_989, 99_971):
        assert int(compiled_slots([row], d + 1, num_slots)[0, d]) == h % num_slots


@pytest.fixture(scope="module")
def expected():
    return [expected_codes(rows, layout) for layout, rows in cases()]


@pytest.mark.parametrize("wish", LEVELS)
def test_a_million_random_elements(tmp_path, wish, expected):
    capability = torch.backends.cpu.get_cpu_capability()
    if LEVELS[wish] > {"AVX512": 2, "AVX2": 1}.get(capability, 0):
        pytest.skip(f"this CPU has no {wish}")
    file = tmp_path / "codes.pt"
    environment = {**os.environ, "MIRROR_SIMD": wish, "PYTHONPATH": str(HERE.parents[2])}
    subprocess.run([sys.executable, HERE / "random_slots.py", file], env=environment, check=True)
    name, found = torch.load(file)
    assert name == wish
    assert len(found) == len(expected)
    assert sum(codes.numel() for codes in found) >= 1_000_000
    for (layout, _), codes, right in zip(cases(), found, expected, strict=True):
        assert torch.equal(codes, right), layout


def test_the_last_random_elements_are_those_of_unbounded_integers(expected):
    for (layout, rows), codes in list(zip(cases(), expected, strict=True))[::6]:
        for row, at in list(zip(rows.tolist(), codes.tolist(), strict=True))[-30:]:
            for d, code in enumerate(at):
                slot, sign = slot_and_sign(
                    row, d, layout.num_slots, layout.hash, layout.seed, layout.signs, layout.block
                )
                assert code == (slot + 1) * sign


@pytest.mark.parametrize("num_slots", [1, 2, 3, 1000, 65_536, 99_991])
@pytest.mark.parametrize("dim", [1, 5, 16, 33, 200])
def test_slots_agree_with_the_oracle(dim, num_slots):
    edge = last_row_without_wrap(dim)
    rows = torch.randint(0, 2 * edge, (300,), generator=torch.Generator().manual_seed(dim)).tolist()
    rows += [0, 1, 11922, 11923, edge - 1, edge, edge + 1, edge + 2, 2**40, 2**62, 2**63 - 2]
    found = compiled_slots(rows, dim, num_slots)
    assert torch.equal(found, slots_of(torch.tensor(rows), dim, num_slots))
    assert found[-1].tolist() == [slot_and_sign(2**63 - 2, d, num_slots)[0] for d in range(dim)]


def test_slots_of_a_dimension_whose_own_factor_wraps():
    dim = 2**64 // DIM_FACTOR + 10
    assert torch.equal(compiled_slots([0, 5], dim, 1001), slots_of(torch.tensor([0, 5]), dim, 1001))


@pytest.mark.parametrize("block", [2**63 - 1, 2**63 - 8, 2**62, 1000])
def test_a_block_may_be_larger_than_the_row_and_the_buffer(block):
    for num_slots in (5, 64):
        layout = HashedLayout("mix64", 3, True, block, 19, num_slots)
        rows = torch.arange(50)
        assert torch.equal(compiled_codes(rows, layout), expected_codes(rows, layout))


def winners(rows: list[int], layout: HashedLayout) -> torch.Tensor:
    """What max pooling says of where elements lie, in a buffer of zeros that takes no memory until it is written."""
    try:
        weight = torch.from_numpy(np.zeros(layout.num_slots, np.float16))
    except MemoryError:
        pytest.skip("no room for the addresses of this buffer")
    _, found = op(
        weight, torch.tensor(rows)[:, None], None, 2**63 - 1, layout.dim, "max",
        hash=layout.hash, seed=layout.seed, signs=layout.signs, block_size=layout.block,
    )  # fmt: skip
    return found


@pytest.mark.parametrize("num_slots", [2**30 - 1, 2**30, 2**31 - 1, 2**31, 2**31 + 11, 2**32 + 15])
@pytest.mark.parametrize("block", [1, 3, 8])
@pytest.mark.parametrize(("hash", "seed", "signs"), [("reference", 0, False), ("mix64", 9, True)])
def test_buffers_of_more_slots_than_31_bits_count(num_slots, block, hash, seed, signs):
    layout = HashedLayout(hash, seed, signs, block, 17, num_slots)
    rows = [0, 1, 12345, last_row_without_wrap(17) + 5, 2**62]
    found = winners(rows, layout)
    assert found.dtype == (torch.int32 if num_slots * (1 + signs) < 2**31 else torch.int64)
    for row, codes in zip(rows, found.tolist(), strict=True):
        for d, code in enumerate(codes):
            slot, sign = slot_and_sign(row, d, num_slots, hash, seed, signs, block)
            assert code == (slot * 2 + (sign < 0) if signs else slot)


def test_a_block_at_the_end_of_a_buffer_of_2_to_the_31_slots():
    num_slots = 2**31 - 1
    inverse = pow(ROW_FACTOR, -1, PRIME)
    # Rows whose hash is 1 to 8 slots before the end of the buffer, modulo its size.
    hashes = (turn * num_slots - before for before in range(1, 9) for turn in range(1, PRIME // num_slots))
    rows = [row for h in hashes if (row := (h - 104729) * inverse % PRIME) <= last_row_without_wrap(3)]
    assert len(rows) > 3
    layout = HashedLayout("reference", 0, False, 32, 32, num_slots)
    expected = [[slot_and_sign(row, d, num_slots, block=32)[0] for d in range(32)] for row in rows]
    assert all(0 in slots for slots in expected)
    assert winners(rows, layout).tolist() == expected
