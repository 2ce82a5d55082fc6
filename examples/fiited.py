"""Train a click model whose embedding vectors find their own dimension, beside the same model with a dense table.

    python examples/fiited.py

The lines that differ from a plain PyTorch loop are marked with <-.
"""

import torch
from torch import Tensor, nn

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, to_frozen

ROWS, DIM, FIELDS, BATCH, STEPS = 200_000, 32, 5, 1024, 600

torch.manual_seed(0)
effect = torch.randn(ROWS) * (torch.rand(ROWS) < 0.5)  # half of the ids tell nothing


def batch() -> tuple[Tensor, Tensor]:
    """Ids (B, FIELDS), of which few are frequent, and clicks (B,)."""
    ids = (ROWS ** torch.rand(BATCH, FIELDS)).long() - 1
    return ids, torch.bernoulli(torch.sigmoid(effect[ids].sum(1)))


def train(table: nn.Module) -> float:
    """Share of clicks told right in the last tenth of the steps, each batch seen for the first time."""
    torch.manual_seed(1)
    model = nn.Sequential(table, nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    if isinstance(table, FIITEDEmbeddingBag):
        tables = FIITEDOptimizer(model, "adagrad", lr=0.05)  # <- trains what a table keeps, and lets it prune
    right = 0.0
    for step in range(STEPS):
        ids, clicks = batch()
        logits = model(ids).squeeze(1)
        if step >= STEPS - STEPS // 10:
            right += ((logits > 0) == (clicks > 0.5)).float().mean().item()
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(logits, clicks).backward()
        optimizer.step()
        if isinstance(table, FIITEDEmbeddingBag):
            tables.step()  # <-
    return right / (STEPS // 10)


dense = nn.EmbeddingBag(ROWS, DIM, mode="sum", sparse=True)
nn.init.uniform_(dense.weight, -0.01, 0.01)
pruned = FIITEDEmbeddingBag(ROWS, DIM, pruning_ratio=0.95, interval=50)  # <- in the place of nn.EmbeddingBag

print(f"dense:  {train(dense):.1%} right, {dense.weight.nbytes / 1e6:.1f} MB")
print(f"FIITED: {train(pruned):.1%} right, {pruned.memory_bytes() / 1e6:.1f} MB while it trains")

frozen = to_frozen(pruned)
print(f"        {sum(frozen.bytes_by_kind().values()) / 1e6:.1f} MB for look-ups alone")
dimensions = pruned.live_mask().sum(1) * pruned.chunk_width
for width in range(0, DIM + 1, pruned.chunk_width):
    print(f"        {int((dimensions == width).sum()):>7,} vectors of {width:>2} dimensions")
ids, _ = batch()
assert torch.equal(frozen(ids), pruned(ids))
