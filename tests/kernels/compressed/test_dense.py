"""The dense table is torch.nn.EmbeddingBag."""

import pytest
import torch
from torch import nn

from bench_engine.kernels.compressed.dense import DenseEmbeddingBag


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_same_as_torch(mode):
    ours = DenseEmbeddingBag(50, 6, mode=mode)
    theirs = nn.EmbeddingBag(50, 6, mode=mode)
    theirs.load_state_dict(ours.state_dict())
    ids, offsets = torch.randint(0, 50, (20,)), torch.tensor([0, 0, 5, 19])
    assert torch.equal(ours(ids, offsets), theirs(ids, offsets))
    assert torch.equal(ours(ids.reshape(5, 4)), theirs(ids.reshape(5, 4)))


def test_keeps_everything():
    assert DenseEmbeddingBag(50, 6).weight.shape == (50, 6)
    with pytest.raises(ValueError, match=r"compression must be 1, not 0\.5"):
        DenseEmbeddingBag(50, 6, 0.5)
