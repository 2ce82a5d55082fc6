"""A small wide & deep model as anyone would write it; knows nothing of Parallel OP."""

import torch
from torch import Tensor, nn

ROWS = 50


class WideAndDeep(nn.Module):
    def __init__(self, tables: int = 6, dim: int = 4) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(ROWS, dim, mode="sum") for _ in range(tables))
        self.top = nn.Sequential(nn.Linear(tables * dim, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 1))

    def forward(self, ids: Tensor) -> Tensor:
        """ids: (batch, tables, ids per bag)."""
        return self.top(torch.cat([bag(ids[:, t]) for t, bag in enumerate(self.bags)], dim=1))


def ids(batch: int, tables: int = 6, length: int = 2, seed: int = 0) -> Tensor:
    return torch.randint(0, ROWS, (batch, tables, length), generator=torch.Generator().manual_seed(seed))
