"""Own vectors for frequent rows, one for the rest."""

import pytest
import torch

from bench_engine.kernels.compressed.static_frequency import StaticFrequencyEmbeddingBag

COUNTS = torch.tensor([5, 0, 9, 5, 1, 0, 7, 0])


@pytest.mark.parametrize(
    ("compression", "own"),
    [(1.0, [2, 6, 0, 3, 4, 1, 5, 7]), (0.9, [2, 6, 0, 3, 4, 1]), (0.5, [2, 6, 0]), (0.25, [2])],
)
def test_the_most_frequent_rows_have_their_own_vector_and_of_equals_the_lower(compression, own):
    module = StaticFrequencyEmbeddingBag(8, 3, compression, counts=COUNTS)
    table = module.materialize()
    assert torch.equal(table[own], module.weight[: len(own)])
    assert len(module.weight) == int(8 * compression)
    others = sorted(set(range(8)) - set(own))
    assert torch.equal(table[others], module.weight[-1].expand(len(others), 3))
    live = module.live_mask(torch.arange(8))
    assert live.shape == (8, 1)
    assert sorted(live.squeeze(1).nonzero().squeeze(1).tolist()) == sorted(own)


def test_the_map_is_metadata_beside_the_weights():
    module = StaticFrequencyEmbeddingBag(8, 3, 0.5, counts=COUNTS)
    assert module.metadata_bytes() == 8 * 4
    assert sum(t.nbytes for t in (*module.parameters(), *module.buffers())) == 4 * 3 * 4 + 8 * 4


def test_rows_that_share_a_vector_share_its_gradient():
    module = StaticFrequencyEmbeddingBag(8, 3, 0.5, counts=COUNTS)
    module(torch.tensor([[1, 5], [2, 7]])).sum().backward()
    assert module.weight.grad.tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3, [3.0] * 3]


def test_the_smallest_compression_that_is_named_works():
    with pytest.raises(ValueError, match=r"leaves no row of 30 a vector of its own: the smallest is 0\.\d+") as error:
        StaticFrequencyEmbeddingBag(30, 4, 0.05, counts=torch.zeros(30))
    named = float(str(error.value).split("the smallest is ")[1])
    assert StaticFrequencyEmbeddingBag(30, 4, named, counts=torch.zeros(30)).num_own == 1


def test_one_row_is_its_own_at_compression_1():
    assert StaticFrequencyEmbeddingBag(1, 4, counts=torch.zeros(1)).weight.shape == (1, 4)


def test_counts_of_another_table_are_refused():
    with pytest.raises(ValueError, match=r"counts must be of shape \(8,\), not \(3,\)"):
        StaticFrequencyEmbeddingBag(8, 3, counts=torch.zeros(3))
