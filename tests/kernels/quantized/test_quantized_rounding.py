"""What is written to a row: the numbers of the oracle, right in expectation, and what no format can hold."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from bench_engine.kernels.quantized import QuantizedEmbeddingBag
from tests.kernels.quantized.philox_oracle import bits, philox, rounded

pytestmark = pytest.mark.usefixtures("built_kernels")
LEVELS = {"int8": 127, "int4": 7}
STORAGES = (*LEVELS, "float16")


def table_of(values, storage="int8", seed=0):
    return QuantizedEmbeddingBag.from_pretrained(values, storage=storage, seed=seed)


# Known answers that come with Random123, the authors' implementation (kat_vectors, philox4x32 10).
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_oracle_draws_what_its_authors_do(counter, key, expected):
    assert philox(counter, key) == expected


@pytest.mark.parametrize("storage", LEVELS)
@pytest.mark.parametrize("dim", [1, 7, 16, 33, 64, 100, 128])
def test_rows_are_those_of_the_oracle(storage, dim):
    values = torch.randn(5, dim, generator=torch.Generator().manual_seed(dim))
    seed = 2**40 + 17
    stored = table_of(values, storage, seed).materialize().numpy()
    for row in range(5):
        expected = rounded(values[row].numpy(), LEVELS[storage], bits(dim, seed, 0, row))
        np.testing.assert_array_equal(stored[row], expected)


@pytest.mark.parametrize("storage", STORAGES)
def test_the_expectation_is_the_number_itself(storage):
    """Each number falls on one of its two neighbours, above as often as its fraction says: within five standard
    deviations of the binomial law."""
    draws, dim = 20_000, 16
    vector = torch.linspace(-1.1, 1.3, dim)
    stored = table_of(vector.expand(draws, dim), storage).materialize().double()
    values = [stored[:, d].unique() for d in range(dim)]
    assert max(map(len, values)) == 2
    for d, found in enumerate(values):
        low, high = float(found[0]), float(found[-1])
        true = float(vector[d])
        assert low <= true <= high or math.isclose(true, low, rel_tol=4e-3)
        if len(found) == 1:
            assert abs(low - true) < 2e-4 * max(abs(true), 1)  # so near that the other was not drawn
            continue
        chance = (true - low) / (high - low)
        above = float((stored[:, d] == high).double().mean())
        assert abs(above - chance) < 5 * math.sqrt(chance * (1 - chance) / draws) + 2**-17


def test_rows_seeds_and_dimensions_draw_different_numbers():
    vector = torch.full((300, 64), 0.5)
    vector[:, 0] = 1.0
    places = [table_of(vector, seed=seed).rows[:, 3:] == 64 for seed in (1, 2)]
    for one, other in (places, (places[0][:150], places[0][150:]), (places[0][:, :31], places[0][:, 31:62])):
        agree = float((one == other).double().mean())
        chance = float(places[0].double().mean())
        assert abs(agree - (chance**2 + (1 - chance) ** 2)) < 0.03


@pytest.mark.parametrize("storage", STORAGES)
def test_what_a_row_can_hold_comes_back_as_it_was(storage):
    assert torch.equal(table_of(torch.zeros(2, 20), storage).materialize(), torch.zeros(2, 20))
    whole = torch.arange(-7, 8).float().repeat(2, 1) * 2**-3
    whole[:, 0] = -LEVELS.get(storage, 7) * 2**-3
    assert torch.equal(table_of(whole, storage).materialize(), whole)


def test_what_none_can_hold_is_the_nearest_that_there_is():
    huge = torch.tensor([[3e38, -3e38, 1.0]])
    assert torch.equal(table_of(huge).materialize().sign(), torch.tensor([[1.0, -1.0, 0.0]]))
    assert float(table_of(huge).materialize().max()) > 1e36
    assert torch.equal(table_of(huge, "float16").materialize(), torch.tensor([[65504.0, -65504.0, 1.0]]))
    tiny = torch.tensor([[1e-40, 0.0, -1e-38]])
    assert torch.equal(table_of(tiny).materialize(), torch.zeros(1, 3))


def test_float16_rounds_subnormal_numbers_too():
    values = torch.full((4000, 8), 2.0**-24 * 1.25)
    stored = table_of(values, "float16").materialize()
    assert stored.unique().tolist() == [2.0**-24, 2.0**-23]
    assert float((stored == 2.0**-23).double().mean()) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("simd", ["avx2", "portable"])
def test_every_instruction_set_writes_and_reads_the_same_bits(simd):
    code = (
        "import torch; from bench_engine.kernels.quantized import *\n"
        "torch.manual_seed(0); out = []\n"
        "for storage in ('int8', 'int4', 'float16'):\n"
        "  for dim in (16, 21):\n"
        "    t = QuantizedEmbeddingBag(40, dim, storage=storage); o = QuantizedOptimizer(t, lr=0.1)\n"
        "    ids = torch.randint(40, (30, 3)); t(ids).pow(2).sum().backward(); o.step()\n"
        "    out += [t.rows.double().flatten(), t(ids).detach().double().flatten()]\n"
        "print(torch.ops.mirror.quantized_instruction_set(), [x.hex() for x in torch.cat(out).tolist()])"
    )
    told = []
    for wish in (simd, "avx512"):
        env = {**os.environ, "MIRROR_SIMD": wish, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        told.append(done.stdout.split(maxsplit=1))
    if told[0][0] == told[1][0]:
        pytest.skip(f"this CPU has no more than {simd}")
    assert told[0] == [simd, told[1][1]]
