"""Models whose lookups read their arguments in the ways that people write, and how to have them served."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op.entry import serving
from bench_engine.kernels.parallel_op.settings import Settings

ROWS = 40


class Mixed(nn.Module):
    """Bags and rows of all kinds, from slices of one tensor; gives their vectors side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.sums = nn.EmbeddingBag(ROWS, 4, mode="sum", padding_idx=3)
        self.means = nn.EmbeddingBag(ROWS, 3, mode="mean")
        self.most = nn.EmbeddingBag(ROWS, 5, mode="max")
        self.rows = nn.Embedding(ROWS, 6, padding_idx=0)
        self.wide = nn.EmbeddingBag(ROWS, 1, mode="sum", sparse=True)

    def forward(self, ids: Tensor) -> Tensor:
        """ids: (batch, 4, ids per bag)."""
        pooled = [self.sums(ids[:, 0]), self.means(ids[:, 1]), self.most(ids[:, 2]), self.wide(ids[:, 0])]
        return torch.cat([*pooled, self.rows(ids[:, 3]).flatten(1)], 1)


def mixed_ids(batch: int = 5, seed: int = 0) -> Tensor:
    return torch.randint(0, ROWS, (batch, 4, 2), generator=torch.Generator().manual_seed(seed))


class Lists(nn.Module):
    """As DLRM has them: a list of ids, and offsets side by side; or weights of ids by name."""

    def __init__(self, tables: int = 3) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(tables))

    def forward(self, offsets: Tensor, ids: Sequence[Tensor], weights: dict[str, Tensor] | None = None) -> list[Tensor]:
        found = []
        for k, table in enumerate(self.tables):
            given = {} if weights is None else {"per_sample_weights": weights[str(k)]}
            found.append(table(ids[k], offsets[k], **given))
        return found


def served(model: nn.Module) -> serving.Serving:
    """Its calls served from now on, without turns."""
    return serving.Serving(model, Settings(), set())


def alike(found: Any, expected: Any) -> bool:
    """The same bits, types and places in an autograd graph."""
    if isinstance(expected, Tensor):
        same = (found.dtype, found.shape, found.requires_grad, found.is_inference())
        other = (expected.dtype, expected.shape, expected.requires_grad, expected.is_inference())
        return same == other and (expected.is_meta or torch.equal(found, expected))
    return len(found) == len(expected) and all(map(alike, found, expected))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the type and text of its error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)
