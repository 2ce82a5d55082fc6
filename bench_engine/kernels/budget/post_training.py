"""Tables of a trained model under a budget without training it again, and back to plain tables.

A table that pays for it, or all of them where the budget holds that, has an int8 row for each id. Of any other the ids
have rows that were looked up most in the calibration, by lookups a byte over all tables, and all others are zeros.
Quotient and remainder rows are no choice: what was trained apart does not come apart into them.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from bench_engine.kernels.budget.compressed_embedding_bag import CompressedEmbeddingBag
from bench_engine.kernels.budget.field_rows import SHIFTS
from bench_engine.kernels.budget.lookup_counts import LookupCounts
from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.quantized.mixed_precision import MixedPrecisionEmbeddingBag
from bench_engine.kernels.quantized.quantized_embedding_bag import QuantizedEmbeddingBag
from bench_engine.kernels.quantized.quantized_table import QuantizedTable

_SCALE, _INDEX, _OF_FIELD = 2, 4, 4 * SHIFTS  # bytes of a row beside its numbers, of an id, and of a table


@dataclass(frozen=True)
class _Counted:
    """A dense table of a model, and its lookups in the calibration: ids and times, the most frequent first."""

    table: nn.EmbeddingBag
    ids: np.ndarray
    times: np.ndarray

    @property
    def whole_bytes(self) -> int:
        return int(self.table.num_embeddings) * (self.table.embedding_dim + _SCALE)

    @property
    def id_bytes(self) -> int:
        return self.table.embedding_dim + _SCALE + _INDEX

    def bytes(self, kept: int) -> int:
        """With rows for so many ids; an id more than there are stands for all, without an index."""
        return self.whole_bytes if kept > len(self.ids) else _OF_FIELD + kept * self.id_bytes


def compress(model: nn.Module, budget_mb: float, ids: Tensor | Mapping[str, Tensor], seed: int | None = None) -> Any:
    """A copy of a trained model whose torch.nn.EmbeddingBags take no more bytes together than the budget.

    Each becomes a QuantizedEmbeddingBag or a CompressedEmbeddingBag with the same options, called in the same way; all
    else is copied, and the model itself stays as it is. Ids without a row read as zeros.

    Args:
        model: a model with EmbeddingBags, or one.
        budget_mb: ceiling in MB (1e6 bytes) of what the new tables hold.
        ids: for each table, by its name in the model, ids of any shape that it was asked for in some of the stream;
            a tensor where there is one table.
        seed: of the rounding; drawn from torch's generator unless given.

    Raises ValueError, also for a budget below a row for each table or above their dense bytes, TypeError, and
    IndexError for an id out of range.
    """
    counted = {name: _count(name, table, _ids_of(name, ids)) for name, table in _tables_of(model, ids).items()}
    kept = _kept(list(counted.values()), _checked_budget(budget_mb, list(counted.values())))
    made = {
        id(c.table): _like(c.table, c.table.weight, _made(c, n, seed))
        for c, n in zip(counted.values(), kept, strict=True)
    }
    return copy.deepcopy(model, made)


def decompress(model: nn.Module) -> Any:
    """A copy of a model with a torch.nn.EmbeddingBag in the place of each quantized or compressed table.

    A CompressedEmbeddingBag of several fields becomes one over all of them, with ids numbered through. Raises
    ValueError.
    """
    joined = [m for m in model.modules() if isinstance(m, CompressedEmbeddingBag | MixedPrecisionEmbeddingBag)]
    inside = {id(part) for table in joined for part in table.modules()}
    alone = [m for m in model.modules() if isinstance(m, QuantizedTable) and id(m) not in inside]
    made = {id(m): _like(m, next(m.parameters()), m.to_dense()) for m in (*joined, *alone)}
    if not made:
        raise ValueError("there is no quantized or compressed table in what was given")
    return copy.deepcopy(model, made)


def _tables_of(model: nn.Module, ids: Tensor | Mapping[str, Tensor]) -> dict[str, nn.EmbeddingBag]:
    tables = {name: m for name, m in model.named_modules() if isinstance(m, nn.EmbeddingBag)}
    if not tables:
        raise ValueError("there is no torch.nn.EmbeddingBag in what was given")
    if isinstance(ids, Tensor):
        if len(tables) > 1:
            raise ValueError(f"give ids for each of {', '.join(tables)}, not one tensor for all")
    elif set(ids) != set(tables):
        raise ValueError(f"give ids for each of {', '.join(tables)}, not for {', '.join(ids) or 'none'}")
    for name, table in tables.items():
        if table.max_norm is not None:
            raise ValueError(f"{name or 'the table'} has a max_norm, which changes rows that are looked up")
    return tables


def _ids_of(name: str, ids: Tensor | Mapping[str, Tensor]) -> Tensor:
    return ids if isinstance(ids, Tensor) else ids[name]


def _count(name: str, table: nn.EmbeddingBag, ids: Tensor) -> _Counted:
    if not isinstance(ids, Tensor):
        raise TypeError(f"ids of {name} must be a tensor, not {type(ids).__name__}")
    counts = LookupCounts([table.num_embeddings], exact_rows=table.num_embeddings)  # smaller than its weights
    counts.add(ids)
    if table.padding_idx is not None:  # its row is never read
        counts = counts.without(table.padding_idx)
    return _Counted(table, *counts.frequent(0))


def _checked_budget(budget_mb: float, tables: list[_Counted]) -> int:
    if not arguments.is_number(budget_mb) or not math.isfinite(budget_mb):
        raise ValueError(f"budget_mb must be a number of MB, not {budget_mb!r}")
    budget = math.floor(budget_mb * 1e6 * (1 + 1e-12))
    least = sum(_OF_FIELD + c.id_bytes for c in tables)
    dense = sum(c.table.weight.numel() * 4 for c in tables)
    if budget < least:
        raise ValueError(
            f"{budget} bytes do not hold a row for each of {len(tables)} tables: the least is budget_mb={least / 1e6}"
        )
    if budget > dense:
        raise ValueError(f"{budget} bytes are more than the dense float32 tables take: at most budget_mb={dense / 1e6}")
    return budget


def _kept(tables: list[_Counted], budget: int) -> list[int]:
    """How many ids of each table have rows, the most frequent ones; one more than were looked up stands for all."""
    every = [len(c.ids) + 1 for c in tables]
    whole = [0] * len(tables)
    while True:
        kept = _by_lookups(tables, budget, whole)
        left = budget - sum(c.bytes(n) for c, n in zip(tables, kept, strict=True))
        more = [math.inf if w else c.whole_bytes - c.bytes(n) for c, n, w in zip(tables, kept, whole, strict=True)]
        cheapest = int(np.argmin(more))
        if more[cheapest] > left:
            return kept
        whole[cheapest] = every[cheapest]  # answers no lookup less, and leaves the others what they have


def _by_lookups(tables: list[_Counted], budget: int, kept: list[int]) -> list[int]:
    """`kept` with the ids of most lookups a byte, in tables that are not whole, for what is left of the budget."""
    parts = [t for t, n in enumerate(kept) if not n]
    left = budget - sum(c.bytes(n) for c, n in zip(tables, kept, strict=True))
    table = np.repeat(parts, [len(tables[t].ids) for t in parts]).astype(np.int64)
    worth = np.concatenate([np.zeros(0), *(tables[t].times / tables[t].id_bytes for t in parts)])
    order = table[np.argsort(-worth, kind="stable")]
    sizes = np.array([c.id_bytes for c in tables])
    taken = order[: int(np.searchsorted(np.cumsum(sizes[order]), left, side="right"))]
    found = np.bincount(taken, minlength=len(tables))
    return [int(found[t]) if t in parts else n for t, n in enumerate(kept)]


def _like(table: nn.Module, parameter: Tensor, made: nn.Module) -> nn.Module:
    """With what is set of the module that it takes the place of, and of its parameter."""
    return made.requires_grad_(parameter.requires_grad).train(table.training)


def _made(counted: _Counted, kept: int, seed: int | None) -> nn.Module:
    table = counted.table
    options: dict[str, Any] = {
        "mode": table.mode,
        "padding_idx": table.padding_idx,
        "include_last_offset": table.include_last_offset,
        "dtype": table.weight.dtype,
        "seed": seed,
    }
    weight = table.weight.detach().cpu()
    if kept > len(counted.ids):
        return QuantizedEmbeddingBag.from_pretrained(weight, **options)
    seen = int(counted.times.sum()), float(len(counted.ids))
    return CompressedEmbeddingBag.of_rows(weight, np.sort(counted.ids[:kept]), seen, **options)
