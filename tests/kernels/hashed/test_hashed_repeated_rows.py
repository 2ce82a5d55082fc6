"""Gradients where rows that come again are summed before they are scattered, and where that is given up."""

import pytest
import torch

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")
DIM = 4096  # so wide that sums of 64 rows are kept at a time
ROWS = {
    "one row": torch.zeros(400, dtype=torch.long),
    "as many as are kept": torch.arange(400) % 64,
    "again and again": torch.randint(0, 100, (400,), generator=torch.Generator().manual_seed(1)),
    "never again": torch.arange(400),
    "first never, then again": torch.cat([torch.arange(200), torch.arange(200) % 7]),
    "few": torch.arange(20) % 3,
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("bag_size", [1, 4, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_plain_torch(rows, bag_size, weighted):
    ids = ROWS[rows]
    torch.manual_seed(0)
    weight = torch.randn(50_000, dtype=torch.float64)
    options = {"mode": "mean", "hash": "mix64", "signs": True, "padding_idx": 5}
    offsets = torch.arange(0, len(ids), bag_size)
    samples = torch.rand(len(ids), dtype=torch.float64) if weighted else None
    gradient = torch.randn(len(offsets), DIM, dtype=torch.float64)
    found, expected = (
        torch.autograd.grad(table(ids, offsets, samples), table.hashed_weight, gradient)[0]
        for table in (cls(1000, DIM, _weight=weight, **options) for cls in _CLASSES)
    )
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


_CLASSES = (HashedEmbeddingBag, HashedEmbeddingBagReference)
