"""How many chunks may live, and which live at the start."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

SCOPES = ("global", "table", "column")


def budgets(rows: Sequence[int], num_chunks: int, pruning_ratio: float, scope: str) -> Tensor:
    """Chunks that may live in each group, (groups,) int64, to the nearest.

    Scope "global" has one group with all chunks, "table" one for each table, "column" one for each place in a vector.
    Raises ValueError where a group would have none.
    """
    sizes = {
        "global": [sum(rows) * num_chunks],
        "table": [r * num_chunks for r in rows],
        "column": [sum(rows)] * num_chunks,
    }[scope]
    found = [math.floor((1 - pruning_ratio) * size + 0.5) for size in sizes]
    if not all(found):
        raise ValueError(
            f"pruning_ratio {pruning_ratio!r} leaves no chunk of {min(sizes)} to a {scope} budget: choose a lower one"
        )
    return torch.tensor(found, device="cpu")


def first_rows(rows: Sequence[int], num_chunks: int, budgets: Tensor, scope: str) -> Tensor:
    """Rows that live at the start, with all their chunks, as far as budgets go: evenly spread, in order, int64."""
    if scope == "table":
        starts = [0, *torch.tensor(rows, device="cpu").cumsum(0).tolist()]
        return torch.cat(
            [start + _spread(r, int(b) // num_chunks) for start, r, b in zip(starts, rows, budgets, strict=False)]
        )
    return _spread(sum(rows), int(budgets[0]) // (1 if scope == "column" else num_chunks))


def _spread(rows: int, count: int) -> Tensor:
    return torch.arange(count, device="cpu") * rows // max(count, 1)
