"""FrozenFields: the fields of a CompressedEmbeddingBag, only looked up in."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.bags import check_ids
from bench_engine.kernels.budget.field_rows import each_field, rows_of
from bench_engine.kernels.quantized.frozen_table import FrozenBag, FrozenTable
from bench_engine.kernels.quantized.padded_pooling import counts_of


class FrozenFields(FrozenBag):
    """A CompressedEmbeddingBag without its training; `to_frozen` makes it.

    Every id is looked up in both tables, with a factor of 0 in the one that it has no row of, so that no size depends
    on the ids: such a graph can be exported.

    Args:
        fields: rows of each field.
        own, shared: tables of whole rows, and of quotient and remainder rows; None where there is none.
        shifts, live, whole: what leads from an id to its rows (`rows_of`).
        mode, padding_idx, include_last_offset, dtype: as the table has them.
    """

    def __init__(
        self,
        fields: Sequence[int],
        dim: int,
        own: FrozenTable | None,
        shared: FrozenTable | None,
        shifts: Tensor,
        live: Tensor,
        whole: int,
        mode: str = "sum",
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(dim, mode, padding_idx, include_last_offset, dtype)
        self.fields, self.num_embeddings, self.whole = tuple(fields), sum(fields), whole
        self.own, self.shared = own, shared
        self.shifts: Tensor
        self.live: Tensor
        self.register_buffer("shifts", shifts)
        self.register_buffer("live", live)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Pool the vectors of each bag; arguments, result and errors as those of the table."""
        if not isinstance(input, list | tuple):
            return super().forward(input, offsets, per_sample_weights)
        calls = each_field(self.fields, input, offsets, per_sample_weights)
        return [super(FrozenFields, self).forward(*call) for call in calls]

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) float32 of ids (N,) int64."""
        return self._summed(ids.unsqueeze(1), None, None)

    def _pool(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        if self.padding_idx is not None:
            there = ids != self.padding_idx
            samples = there.float() if samples is None else samples.masked_fill(~there, 0.0)
        total = self._summed(ids, offsets, samples)
        return total if self.mode == "sum" else total / counts_of(ids, offsets, self.padding_idx).unsqueeze(1)

    def _summed(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        """Sums (B, D) of ids (B, L), or (N,) with offsets."""
        flat = ids.reshape(-1)
        if not (torch.compiler.is_compiling() or torch.jit.is_tracing()):
            check_ids(flat, self.num_embeddings)
        bags = ids.size(0) if offsets is None else offsets.size(0)
        found = flat.new_zeros((bags, self.embedding_dim), dtype=torch.float32)
        for table, rows in zip((self.own, self.shared), rows_of(flat, self.shifts, self.live, self.whole), strict=True):
            if table is not None:
                there = rows >= 0
                factors = there.float() if samples is None else samples.reshape(-1).masked_fill(~there, 0.0)
                # An id out of range has no row of any kind, and stays what the kernel refuses.
                rows = torch.where((flat < 0) | (flat >= self.num_embeddings), flat, rows.clamp_min(0))
                found = found + table.summed(rows.view(ids.shape), offsets, factors)
        return found

    def extra_repr(self) -> str:
        """Fields, dimension and bytes."""
        return f"{list(self.fields)}, {self.embedding_dim}, mode={self.mode!r}, {self.memory_bytes()} bytes"
