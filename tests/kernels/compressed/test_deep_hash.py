"""A network of hashes in the place of a table."""

import copy
import math

import pytest
import torch

from bench_engine.benchmarks.lookup import gradient_error, output_error
from bench_engine.kernels.compressed.deep_hash import DeepHashEmbeddingBag


@pytest.mark.parametrize("compression", [0.02, 0.1, 1.0])
def test_the_network_is_the_largest_within_the_compression(compression):
    module = DeepHashEmbeddingBag(2000, 8, compression)
    kept, h = sum(p.numel() for p in module.parameters()), module.hashes // 4
    assert kept == 5 * h * h + 10 * h + 8 <= 2000 * 8 * compression < 5 * (h + 1) ** 2 + 10 * (h + 1) + 8
    assert not list(module.buffers())


def test_hashes_are_spread_over_their_range_and_of_each_id_its_own():
    module = DeepHashEmbeddingBag(5000, 8, 0.1)
    found = module.encoded(torch.arange(5000))
    assert len(found.unique(dim=0)) == 5000
    assert -1 <= float(found.min()) < -0.99
    assert 0.99 < float(found.max()) < 1
    assert float(found.std()) == pytest.approx(1 / math.sqrt(3), rel=0.01)
    assert float(found.T.corrcoef().fill_diagonal_(0).abs().max()) < 0.1
    assert torch.equal(module.double().encoded(torch.arange(5000)), found.double())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_outputs_and_gradients_are_those_of_float64(mode):
    torch.manual_seed(0)
    module = DeepHashEmbeddingBag(300, 8, 0.3, mode)
    ids = torch.randint(300, (32, 5))
    output_error(module, ids, mode)
    gradient_error(module, ids, torch.randn(32, 8), mode)


def test_it_learns_and_a_training_goes_on_with_the_same_bits():
    torch.manual_seed(0)
    ids, target = torch.arange(200).unsqueeze(1), torch.randn(200, 8)
    module, other = DeepHashEmbeddingBag(200, 8), DeepHashEmbeddingBag(200, 8)
    optimizer, again = (m.training_optimizer(0.2, 1e-3) for m in (module, other))

    def train(module, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (module(ids) - target).pow(2).mean()
            loss.backward()
            optimizer.step()
        return loss.item()

    first = train(module, optimizer, 1)
    other.load_state_dict(module.state_dict())
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert train(module, optimizer, 100) == train(other, again, 100) < 0.8 * first


def test_the_smallest_compression_that_is_named_works():
    with pytest.raises(ValueError, match="leaves no network for 200 x 8 elements") as error:
        DeepHashEmbeddingBag(200, 8, 0.001)
    assert DeepHashEmbeddingBag(200, 8, float(str(error.value).split("the smallest is ")[1])).hashes == 4
