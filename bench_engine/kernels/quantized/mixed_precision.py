"""MixedPrecisionEmbeddingBag: more bits for ids that are looked up more often, none for the rarest."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound
from bench_engine.kernels.quantized.quantized_embedding_bag import QuantizedEmbeddingBag
from bench_engine.kernels.quantized.quantized_optimizer import QuantizedOptimizer
from bench_engine.kernels.quantized.quantized_table import check_shapes

STORAGES = ("int4", "int8", "float16")  # kinds of rows, numbered from 1; kind 0 has none
# What a lookup of such a row is worth, where one of float32 is 1. Chosen on validation parts.
WORTH = {"int4": 0.97, "int8": 0.999, "float16": 1.0}
_BLOCK = 128  # ids whose kinds are counted from one start
_PACKED = 4  # kinds in a byte


class MixedPrecisionEmbeddingBag(PlainEmbeddingBag):
    """Rows in float16, int8 or int4, or zeros for none, by how often an id is looked up in the training part.

    After mixed-precision embeddings (MPE, Li et al. 2024, arXiv:2409.20305), where groups of ids of like frequency
    learn their precision, 0 bits among them; here a knapsack says it. An id of f lookups gains f * WORTH of its
    storage; the steps from none to int4, int8 and float16 of all ids are taken in the order of gain per byte, as many
    as the budget holds. A storage that is never the best of its bytes is left out. Ids that are never looked up have no
    row.

    `compression` counts all bytes: rows with their scales, 2 bits per id for its kind, and for each 128 ids where
    their rows begin in each of the three tables, 12 bytes; the row of an id is the number of ids of its kind before
    it. Train it with a `QuantizedOptimizer`: rows are rounded at random, as in QuantizedEmbeddingBag.

    Args:
        num_embeddings, embedding_dim, compression, mode: as EmbeddingBagMethod.
        counts: whole numbers (E,), lookups of each row.
        seed: of the rounding; drawn from torch's generator unless given.

    Rows start uniform in ±sqrt(1 / E). Raises ValueError, also where the budget holds no row, and KernelsNotBuiltError.
    """

    needs_counts = True

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        *,
        counts: Tensor,
        seed: int | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        if counts.shape != (self.num_embeddings,):
            raise ValueError(f"counts must be of shape ({self.num_embeddings},), not {tuple(counts.shape)}")
        if counts.is_floating_point() or (counts < 0).any():
            raise ValueError("counts must be whole numbers of at least 0, the lookups of each row")
        if not counts.any():
            raise ValueError("no id was looked up in the training part, so that none would have a row")
        kinds = self._kinds_within(compression, counts.long().numpy())
        blocks = np.pad(kinds, (0, -len(kinds) % _BLOCK)).reshape(-1, _BLOCK)
        packed = (blocks.reshape(len(blocks), -1, _PACKED) << np.arange(0, 8, 2)).sum(2)
        per_block = np.stack([(blocks == kind).sum(1) for kind in range(1, len(STORAGES) + 1)])
        self.kinds: Tensor
        self.starts: Tensor
        self.register_buffer("kinds", torch.from_numpy(packed.astype(np.uint8)))
        self.register_buffer("starts", torch.from_numpy((per_block.cumsum(1) - per_block).astype(np.int32)))
        bound = initial_bound(self.num_embeddings)
        self.tables = nn.ModuleDict()
        for storage, rows in zip(STORAGES, per_block.sum(1).tolist(), strict=True):
            if rows:
                table = QuantizedEmbeddingBag(rows, embedding_dim, storage=storage, seed=seed)
                table.reset_parameters(bound)
                self.tables[storage] = table

    def _kinds_within(self, compression: float, counts: np.ndarray) -> np.ndarray:
        """Kind of each id, uint8 (E,)."""
        dense = self.num_embeddings * self.embedding_dim * 4
        blocks = -(-self.num_embeddings // _BLOCK)
        fixed = blocks * (_BLOCK // _PACKED + 4 * len(STORAGES))
        budget = math.floor(compression * dense * (1 + 1e-12)) - fixed  # 0.29 * 100 is 28.999999999999996
        steps = self._steps()
        if budget < steps[0][1]:
            least = (fixed + steps[0][1]) / dense
            hint = f": the smallest is {at_least(least)}" if least <= 1 else ""
            raise ValueError(
                f"compression {compression!r} leaves no row beside the kinds of {self.num_embeddings} ids{hint}"
            )
        seen = np.flatnonzero(counts)
        kind, size, gain = (np.repeat(values, len(seen)) for values in zip(*steps, strict=True))
        ids = np.tile(seen, len(steps))
        order = np.argsort(-counts[ids] * gain / size, kind="stable")
        taken = order[: int(np.searchsorted(size[order].cumsum(), budget, side="right"))]
        found = np.zeros(self.num_embeddings, np.uint8)
        np.maximum.at(found, ids[taken], kind[taken].astype(np.uint8))
        return found

    def _steps(self) -> list[tuple[int, int, float]]:
        """Kinds worth their bytes, each with what it takes and gains more than the one before, less per byte each."""
        corners = [(0, 0, 0.0)]
        for kind, storage in enumerate(STORAGES, 1):
            new = (kind, _row_bytes(storage, self.embedding_dim), WORTH[storage])
            while len(corners) > 1 and (
                corners[-1][1] >= new[1] or _per_byte(corners[-2], corners[-1]) <= _per_byte(corners[-1], new)
            ):
                corners.pop()
            corners.append(new)
        return [(b[0], b[1] - a[1], b[2] - a[2]) for a, b in itertools.pairwise(corners)]

    # -- looking up ------------------------------------------------------------------------------------------------

    def rows(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Kind of each id (n,), 0 for none, and its row in the table of that kind, int64."""
        block, place = ids // _BLOCK, (ids % _BLOCK).unsqueeze(1)
        shifts = torch.arange(0, 8, 2, dtype=torch.uint8)
        kinds = (self.kinds[block].unsqueeze(2) >> shifts & 3).flatten(1)
        own = kinds.gather(1, place)
        before = ((kinds == own) & (torch.arange(_BLOCK) < place)).sum(1)
        kind = own.squeeze(1).long()
        return kind, self.starts[(kind - 1).clamp_min(0), block] + before

    def vectors(self, ids: Tensor) -> Tensor:
        """Each id's row, or zeros: (n, D); gradients are for the optimizer's step."""
        kind, rows = self.rows(ids.long())
        found = torch.zeros(len(ids), self.embedding_dim, dtype=torch.float32)
        for number, storage in enumerate(STORAGES, 1):
            if storage in self.tables:
                places = (kind == number).nonzero().squeeze(1)
                found = found.index_copy(0, places, self.tables[storage](rows[places].unsqueeze(1)).float())
        return found.to(next(self.parameters()).dtype)

    def to_dense(self) -> nn.EmbeddingBag:
        """torch.nn.EmbeddingBag with the same vectors."""
        return nn.EmbeddingBag.from_pretrained(self.materialize(), freeze=False, mode=self.mode)

    # -- state -----------------------------------------------------------------------------------------------------

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        """Raises ValueError where other numbers of ids have rows, before anything is taken."""
        check_shapes(state_dict, prefix, self.named_buffers())  # of its tables too, which are loaded one by one
        saved = [s for s in STORAGES if f"{prefix}tables.{s}.rows" in state_dict]
        if f"{prefix}kinds" in state_dict and saved != list(self.tables):
            raise ValueError(
                f"the table was saved with rows in {', '.join(saved)}, and this one has {', '.join(self.tables)}: "
                "make it with the same budget"
            )
        super()._load_from_state_dict(state_dict, prefix, *others)

    # -- what the benchmarks ask -----------------------------------------------------------------------------------

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Row-wise Adagrad."""
        return QuantizedOptimizer(self, "rowwise_adagrad", lr=lr, eps=eps)

    def metadata_bytes(self) -> int:
        """Bytes of the kinds, of where rows begin, and of the scales."""
        return self.kinds.nbytes + self.starts.nbytes + sum(table.metadata_bytes() for table in self._tables())

    def optimizer_bytes(self, optimizer: torch.optim.Optimizer) -> int:
        """Bytes of the slots, one a row."""
        return sum(table.optimizer_bytes(optimizer) for table in self._tables())

    def live_mask(self, rows: Tensor) -> Tensor:
        """Whether ids (n,) have a row, bool (n, 1)."""
        return (self.rows(rows.long())[0] > 0).unsqueeze(1)

    def _tables(self) -> Iterator[QuantizedEmbeddingBag]:
        return (table for table in self.tables.values() if isinstance(table, QuantizedEmbeddingBag))

    def extra_repr(self) -> str:
        """Sizes."""
        rows = ", ".join(f"{name}={table.num_embeddings}" for name, table in self.tables.items())
        return f"{super().extra_repr()}, {rows}"


def _per_byte(a: tuple[int, int, float], b: tuple[int, int, float]) -> float:
    return (b[2] - a[2]) / (b[1] - a[1])


def _row_bytes(storage: str, dim: int) -> int:
    return {"int4": 2 + 8 * -(-dim // 16), "int8": dim + 2, "float16": 2 * dim}[storage]
