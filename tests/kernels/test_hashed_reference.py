"""The hash in plain PyTorch against Python's unbounded integers, and the module built on it."""

import pytest
import torch
from torch import nn

from bench_engine.kernels.hashed_reference import HashedEmbeddingBagReference, reference_hash, slots_of

# (row, d) -> h, from the original implementation.
VECTORS = {
    (0, 0): 104729,
    (1, 0): 9824621266,
    (0, 1): 57857966404956,
    (1, 1): 57867790921493,
    (12345, 7): 57768627970787,
    (999, 15): 57772799080204,
    (1000000, 127): 71469316938504,
    (11922, 0): 117127886258843,
    (11923, 0): 7512554181,
    (938811799, 0): 71715676230736,
    (1877623597, 0): 5278476702,
    (2147483647, 255): 114999071192197,
    (2**40, 3): 4373506851381,
}


def exact(row: int, d: int) -> int:
    """The hash in unbounded integers."""
    return (row * 9824516537 + d * 57857966300227 + 104729) % 2**64 % 117130198221199


@pytest.mark.parametrize(("at", "h"), VECTORS.items())
def test_known_hashes(at, h):
    assert int(reference_hash(torch.tensor(at[0]), torch.tensor(at[1]))) == h
    assert exact(*at) == h


@pytest.mark.parametrize(
    "row",
    # around the rows where int64, then uint64 wraps, and the end of int64
    [938_723_461, 938_723_462, 938_811_799, 1_877_623_595, 1_877_623_596, 2**32, 2**40, 2**62 + 12345, 2**63 - 1],
)
def test_hash_is_exact_where_64_bits_wrap(row):
    found = reference_hash(torch.tensor(row), torch.arange(40))
    assert found.tolist() == [exact(row, d) for d in range(40)]


def test_hash_is_exact_on_random_rows():
    rows = torch.randint(0, 2**63 - 1, (500,), generator=torch.Generator().manual_seed(1))
    found = reference_hash(rows, torch.full_like(rows, 77))
    assert found.tolist() == [exact(r, 77) for r in rows.tolist()]


def test_slots_of_small_rows_are_int64_for_int32_ids():
    ids = torch.tensor([2_000_000_000, 3], dtype=torch.int32)
    assert slots_of(ids, 3, 1000).tolist() == [[exact(r, d) % 1000 for d in range(3)] for r in ids.tolist()]


def test_number_of_slots_is_the_truncated_product():
    assert HashedEmbeddingBagReference(100, 10).hashed_weight.numel() == int(100 * 10 / 64) == 15
    assert HashedEmbeddingBagReference(100, 10, compression=1).hashed_weight.numel() == 1000


def test_too_strong_a_compression_is_named():
    with pytest.raises(ValueError, match=r"leaves no slot of 3 x 2 elements: it must be at least 1 / 6"):
        HashedEmbeddingBagReference(3, 2)


@pytest.mark.parametrize("compression", [0, -0.5, 1.5, float("nan")])
def test_compression_is_a_fraction(compression):
    with pytest.raises(ValueError, match="fraction"):
        HashedEmbeddingBagReference(100, 8, compression)


@pytest.mark.parametrize(
    "weight", [torch.zeros(3, 3), torch.zeros(0), torch.zeros(3, dtype=torch.int64), torch.tensor(1.0)]
)
def test_weight_must_be_a_float_vector(weight):
    with pytest.raises(ValueError, match="_weight must be a 1-D floating-point tensor"):
        HashedEmbeddingBagReference(10, 4, _weight=weight)


def test_a_given_parameter_is_shared():
    shared = nn.Parameter(torch.randn(50))
    first = HashedEmbeddingBagReference(10, 4, _weight=shared)
    second = HashedEmbeddingBagReference(99, 8, compression=7, _weight=shared)  # compression is ignored
    assert first.hashed_weight is second.hashed_weight is shared
    plain = torch.randn(50, dtype=torch.float64)
    assert HashedEmbeddingBagReference(10, 4, _weight=plain).hashed_weight.data_ptr() == plain.data_ptr()
