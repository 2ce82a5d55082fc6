"""The parameters of the hashed embedding bags, on the module in plain PyTorch."""

import pytest
import torch
from torch import nn

from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference


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
