"""Shared rows with a factor, and an offset, of each id."""

import pytest
import torch

from bench_engine.benchmarks.lookup import gradient_error, output_error
from bench_engine.kernels.compressed.memcom import MemcomEmbeddingBag


@pytest.mark.parametrize("bias", [False, True])
def test_a_vector_is_the_shared_row_times_the_factor(bias):
    module = MemcomEmbeddingBag(100, 8, 0.5, bias=bias)
    for own in (module.factor, module.offset):
        if own is not None:
            torch.nn.init.normal_(own)
    table, shared = module.materialize(), len(module.weight)
    expected = module.weight[torch.arange(100) % shared] * module.factor
    assert torch.equal(table, expected if module.offset is None else expected + module.offset)
    assert (module.offset is None) == (not bias)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("compression", [0.3, 0.5, 1.0])
def test_all_parameters_are_within_the_compression(bias, compression):
    module = MemcomEmbeddingBag(100, 8, compression, bias=bias)
    kept = sum(p.numel() for p in module.parameters())
    assert 100 * 8 * compression - 8 < kept <= 100 * 8 * compression


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_outputs_and_gradients_are_those_of_float64(mode):
    torch.manual_seed(0)
    module = MemcomEmbeddingBag(100, 8, 0.5, mode, bias=True)
    torch.nn.init.normal_(module.factor)
    ids = torch.randint(100, (32, 5))
    output_error(module, ids, mode)
    gradient_error(module, ids, torch.randn(32, 8), mode)


@pytest.mark.parametrize("bias", [False, True])
def test_the_smallest_compression_that_is_named_works(bias):
    with pytest.raises(ValueError, match="leaves no shared row beside") as error:
        MemcomEmbeddingBag(100, 8, 0.1, bias=bias)
    named = float(str(error.value).split("the smallest is ")[1])
    assert len(MemcomEmbeddingBag(100, 8, named, bias=bias).weight) == 1
