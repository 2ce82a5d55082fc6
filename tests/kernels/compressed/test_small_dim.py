"""Fewer dimensions and a learned projection."""

import pytest
import torch

from bench_engine.kernels.compressed.small_dim import SmallDimEmbeddingBag


@pytest.mark.parametrize(
    ("dim", "compression", "small"),
    [(16, 1.0, 16), (16, 0.5, 8), (16, 0.1, 2), (16, 1 / 32, 1), (10, 0.25, 3), (10, 0.05, 1), (1, 1.0, 1)],
)
def test_small_dimension(dim, compression, small):
    module = SmallDimEmbeddingBag(30, dim, compression)
    assert module.weight.shape == (30, small)
    assert module.projection.shape == (small, dim)


@pytest.mark.parametrize("dim", [1, 3, 7, 11, 12, 16, 100, 4096])
def test_the_smallest_compression_that_is_named_works(dim):
    with pytest.raises(ValueError, match=rf"leaves none of {dim} dimensions: the smallest is 0\.\d+, which") as error:
        SmallDimEmbeddingBag(30, dim, 0.4 / dim)
    named = float(str(error.value).split("the smallest is ")[1].split(",")[0])
    assert SmallDimEmbeddingBag(30, dim, named).weight.shape == (30, 1)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_vectors_are_projected(mode):
    module = SmallDimEmbeddingBag(30, 8, 0.25, mode, dtype=torch.float64)
    vectors = module.weight[[3, 4, 5]] @ module.projection
    pooled = {"sum": vectors.sum(0), "mean": vectors.mean(0), "max": vectors.max(0).values}[mode]
    torch.testing.assert_close(module(torch.tensor([[3, 4, 5]]))[0], pooled)
