"""CompressedEmbeddingBag: the tables of all fields of a model under one budget in bytes."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import EmbeddingBagMethod, check_ids, check_saved, initial_bound, padding_row
from bench_engine.kernels.budget import allocation
from bench_engine.kernels.budget.allocation import FieldPlan, Prices, Rule
from bench_engine.kernels.budget.field_rows import NOWHERE, SHIFTS, each_field, rows_of
from bench_engine.kernels.budget.frozen_fields import FrozenFields
from bench_engine.kernels.budget.lookup_counts import LookupCounts, checked_fields
from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.quantized import (
    QuantizedEmbeddingBag,
    QuantizedOptimizer,
    QuantizedQuotientRemainderEmbeddingBag,
)
from bench_engine.kernels.quantized.padded_pooling import bags_of, checked_dtype, checked_samples, of_call, pooled
from bench_engine.kernels.quantized.quantized_table import (
    QuantizedTable,
    check_shapes,
    dense_of,
    refuse_sharing,
    retype,
)


class FieldReport(NamedTuple):
    """What a field got: its kind, ids with rows of their own, its bytes (of shared rows its share), and why."""

    field: int
    rows: int
    lookups: int
    distinct: int
    kind: str
    own_rows: int
    bytes: int
    why: str


class CompressedEmbeddingBag(EmbeddingBagMethod):
    """Embedding bags of several fields whose rows, all in int8, take no more bytes together than the budget.

    Each field gets what its lookups pay for (see bench_engine.kernels.budget.allocation): a row for each id; quotient
    and remainder rows that all such fields share; or zeros, but for the most frequent ids, which have rows of their
    own. What is decided at the start stays. Train it with a `QuantizedOptimizer`.

    Args:
        fields: rows of each field, 2^31 together at most.
        embedding_dim: dimension D.
        budget_mb: ceiling in MB (1e6 bytes) of all that the table holds: rows, scales, index and what is kept of each
            field. Bytes that no id would pay for are not spent.
        counts: LookupCounts over some of the stream that it will be trained on, or lookups (sum of fields,) of each
            row.
        mode: sum, mean or max.
        seed: of the rounding; drawn from torch's generator unless given.
        rule: other constants of the allocation.
        padding_idx: id, of those numbered through, that takes no part in any bag; negative counts from the end.
        include_last_offset: whether offsets end with the end of the last bag.
        dtype: of what is given, float32, bfloat16 or float16.

    Rows start uniform in ±sqrt(1 / E) with all fields' E. Raises ValueError, also for a budget below a row for each
    field or above the dense float32 bytes, TypeError, and KernelsNotBuiltError.
    """

    def __init__(
        self,
        fields: Sequence[int],
        embedding_dim: int,
        budget_mb: float,
        *,
        counts: LookupCounts | Tensor,
        mode: str = "sum",
        seed: int | None = None,
        rule: Rule | None = None,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        self._begin(fields, embedding_dim, mode, padding_idx, include_last_offset, dtype)
        found = counts if isinstance(counts, LookupCounts) else LookupCounts.of(self.fields, counts)
        if found.fields != self.fields:
            raise ValueError(f"counts are of fields of {found.fields} rows, not {self.fields}")
        if self.padding_idx is not None:  # its row is never read
            found = found.without(self.padding_idx)
        self.budget_bytes = self._checked_budget(budget_mb)
        prices = Prices(self.embedding_dim + 2, 4)
        made = allocation.allocate(found, self.budget_bytes - self._fixed_bytes, prices, rule)
        self.plans = made.fields
        self._seen = [(found.lookups(f), found.distinct(f)) for f in range(len(self.fields))]
        self._lay_out(made.fields, made.shared_bytes, seed)

    def _begin(
        self,
        fields: Sequence[int],
        embedding_dim: int,
        mode: str,
        padding_idx: int | None,
        include_last_offset: bool,
        dtype: torch.dtype | None,
    ) -> None:
        for rows in checked_fields(fields):
            arguments.whole("rows of a field", rows, 1, 2**31 - 1)
        super().__init__(sum(fields), embedding_dim, mode)
        arguments.whole("rows of all fields", self.num_embeddings, 1, 2**31 - 1)
        self.fields = tuple(map(int, fields))
        self.padding_idx = padding_row(padding_idx, self.num_embeddings)
        self.include_last_offset = bool(include_last_offset)
        self.anchor = nn.Parameter(torch.empty(0, dtype=checked_dtype(dtype)))  # has the type of what is given

    @classmethod
    def of_rows(
        cls, weight: Tensor, kept: np.ndarray, lookups: tuple[int, float], seed: int | None = None, **options: Any
    ) -> "CompressedEmbeddingBag":
        """One field of given vectors (E, D), rounded at random, of which some have rows and all others are zeros.

        Args:
            kept: ids that have rows, rising.
            lookups: that were counted, and of how many ids.
            options: mode, padding_idx, include_last_offset and dtype, as the constructor has them.
        """
        taken = {"mode": "sum", "padding_idx": None, "include_last_offset": False, "dtype": None, **options}
        module = cls.__new__(cls)
        module._begin([len(weight)], weight.size(1), **taken)
        module.plans, module._seen = (FieldPlan("zeros", kept),), [lookups]
        module._lay_out(module.plans, 0, seed)
        module.budget_bytes = module.memory_bytes()
        if module.own is not None:
            module.own.write(weight.detach()[torch.from_numpy(kept)])
        return module

    def _checked_budget(self, budget_mb: float) -> int:
        if not arguments.is_number(budget_mb) or not math.isfinite(budget_mb):
            raise ValueError(f"budget_mb must be a number of MB, not {budget_mb!r}")
        dense = self.num_embeddings * self.embedding_dim * 4
        least = self._fixed_bytes + len(self.fields) * (self.embedding_dim + 6)
        budget = math.floor(budget_mb * 1e6 * (1 + 1e-12))
        if budget < least:
            raise ValueError(
                f"{budget} bytes do not hold a row for each of {len(self.fields)} fields: "
                f"the least is budget_mb={least / 1e6}"
            )
        if budget > dense:
            raise ValueError(
                f"{budget} bytes are more than a dense float32 table takes: at most budget_mb={dense / 1e6}"
            )
        return budget

    @property
    def _fixed_bytes(self) -> int:
        return 4 * SHIFTS * len(self.fields)

    def _lay_out(self, plans: Sequence[FieldPlan], shared_bytes: int, seed: int | None) -> None:
        """Make the tables, and for each field the numbers that lead from an id to its rows there."""
        starts = np.cumsum([0, *self.fields])
        rows, shared = 0, 0
        shifts = np.full((SHIFTS, len(plans)), NOWHERE)
        shifts[0] = starts[1:]
        for f, plan in enumerate(plans):
            if plan.kind == "whole":
                shifts[1, f], rows = rows - starts[f], rows + self.fields[f]
            elif plan.kind == "shared":
                shifts[2, f], shared = shared - starts[f], shared + self.fields[f]
        self._whole = rows
        live = np.concatenate([plan.own + start for plan, start in zip(plans, starts[:-1], strict=True)])
        self.shifts: Tensor
        self.live: Tensor
        self.register_buffer("shifts", torch.from_numpy(shifts.astype(np.int32)))
        self.register_buffer("live", torch.from_numpy(live.astype(np.int32)))
        rows, bound = rows + len(live), initial_bound(self.num_embeddings)
        self.own: QuantizedEmbeddingBag | None = None
        self.shared: QuantizedQuotientRemainderEmbeddingBag | None = None
        if rows:
            self.own = QuantizedEmbeddingBag(rows, self.embedding_dim, seed=seed)
            self.own.reset_parameters(bound)
        if shared:
            self.shared = QuantizedQuotientRemainderEmbeddingBag(
                shared, self.embedding_dim, budget_bytes=shared_bytes, seed=seed
            )
            self.shared.reset_parameters(bound)

    # -- looking up ------------------------------------------------------------------------------------------------

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Pool the vectors of each bag.

        Args:
            input: ids (B, L), or (N,) with offsets, numbered through: those of the second field follow the last of the
                first; int32 or int64. Or a list with one of these for each field, each numbered from 0 on.
            offsets: (B,) where each bag starts; with include_last_offset (B + 1,), ending with the end of the last bag;
                or a list of these (None for fields without).
            per_sample_weights: factors of the vectors, of the shape of input, for sum and mean; or a list of these.

        Returns:
            (B, D), zeros for an empty bag; for a list of inputs a list of these.

        Raises IndexError naming an id out of range and its position, ValueError, TypeError, and in a training under
        DistributedDataParallel RuntimeError.
        """
        if not isinstance(input, list | tuple):
            return self._pooled(input, offsets, per_sample_weights)
        return [self._pooled(*call) for call in each_field(self.fields, input, offsets, per_sample_weights)]

    def _pooled(self, input: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None) -> Tensor:
        samples = checked_samples(input, per_sample_weights, self.mode, self.anchor.dtype)
        bags = bags_of(input, offsets, self.include_last_offset)
        check_ids(bags.ids, self.num_embeddings)
        vectors = self._vectors(bags.ids.long())
        if bags.bag_size == 1 and samples is None and self.padding_idx is None:
            return vectors.to(self.anchor.dtype)
        samples = None if samples is None else samples.reshape(-1)[: bags.ids.numel()]
        found = pooled(vectors, bags, self.mode, samples, self.padding_idx)
        return of_call(found, offsets, self.include_last_offset).to(self.anchor.dtype)

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) of ids (N,) in range; their gradients are for the optimizer's step."""
        return self._vectors(ids.long()).to(self.anchor.dtype)

    def _vectors(self, ids: Tensor) -> Tensor:
        own, shared = rows_of(ids, self.shifts, self.live, self._whole)
        found = torch.zeros(len(ids), self.embedding_dim)
        for table, rows in ((self.own, own), (self.shared, shared)):
            if table is not None:
                places = (rows >= 0).nonzero().squeeze(1)
                found = found.index_copy(0, places, table(rows[places].unsqueeze(1)))
        return found

    # -- for those who only look up --------------------------------------------------------------------------------

    def to_frozen(self) -> FrozenFields:
        """The same lookups of the same bytes, which it shares, without training: for export, tracing and files."""
        own, shared = (None if table is None else table.to_frozen() for table in (self.own, self.shared))
        return FrozenFields(
            *(self.fields, self.embedding_dim, own, shared, self.shifts, self.live, self._whole),
            *(self.mode, self.padding_idx, self.include_last_offset, self.anchor.dtype),
        )

    def to_dense(self) -> nn.EmbeddingBag:
        """torch.nn.EmbeddingBag over all ids, numbered through, with the same vectors and options."""
        return dense_of(self)

    # -- what it says of itself ------------------------------------------------------------------------------------

    def explain(self) -> list[FieldReport]:
        """What each field got and why, in their order."""
        rows = self.embedding_dim + 2
        ids = sum(n for n, plan in zip(self.fields, self.plans, strict=True) if plan.kind == "shared")
        reports = []
        for f, (size, plan, (lookups, distinct)) in enumerate(zip(self.fields, self.plans, self._seen, strict=True)):
            own = size if plan.kind == "whole" else len(plan.own)
            taken = own * rows + len(plan.own) * 4
            if plan.kind == "shared" and self.shared is not None:
                taken += round(self.shared.memory_bytes() * size / ids)
            each = lookups / distinct if distinct else 0.0
            reports.append(FieldReport(f, size, lookups, round(distinct), plan.kind, own, taken, _why(plan, own, each)))
        return reports

    def memory_bytes(self) -> int:
        """Bytes of the rows with their scales, of the index, and of what is kept of each field."""
        return sum(table.memory_bytes() for table in self._tables()) + self.live.nbytes + self.shifts.nbytes

    def metadata_bytes(self) -> int:
        """Bytes of them that are no weights."""
        return sum(table.metadata_bytes() for table in self._tables()) + self.live.nbytes + self.shifts.nbytes

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Row-wise Adagrad."""
        return QuantizedOptimizer(self, "rowwise_adagrad", lr=lr, eps=eps)

    def optimizer_bytes(self, optimizer: torch.optim.Optimizer) -> int:
        """Bytes of the slots, one a row."""
        return sum(table.optimizer_bytes(optimizer) for table in self._tables())

    def _tables(self) -> list[QuantizedTable]:
        return [table for table in (self.own, self.shared) if table is not None]

    # -- state -----------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """What the rows are for, and what was counted."""
        kinds = tuple(plan.kind for plan in self.plans)
        return {"fields": self.fields, "kinds": kinds, "seen": list(self._seen), "budget_bytes": self.budget_bytes}

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        """Raises ValueError where fields, their kinds or sizes are others, before anything is taken."""
        check_saved(state_dict, prefix, self.get_extra_state(), ("fields", "kinds"))
        check_shapes(state_dict, prefix, self.named_buffers())  # of its tables too, which are loaded one by one
        super()._load_from_state_dict(state_dict, prefix, *others)

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Of a state of the same fields and kinds, whose ids with rows of their own are there by now."""
        self._seen = [(int(lookups), float(distinct)) for lookups, distinct in state.get("seen", self._seen)]
        self.budget_bytes = int(state.get("budget_bytes", self.budget_bytes))
        ends = np.cumsum(self.fields)
        cuts = np.searchsorted(self.live.numpy(), ends)
        of_fields = np.split(self.live.numpy().astype(np.int64), cuts[:-1])
        starts = ends - self.fields
        self.plans = tuple(
            FieldPlan(plan.kind, own - start) for plan, own, start in zip(self.plans, of_fields, starts, strict=True)
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "CompressedEmbeddingBag":
        retype(self.anchor, fn)
        return self

    def share_memory(self) -> NoReturn:
        """Raises RuntimeError."""
        refuse_sharing()

    def extra_repr(self) -> str:
        """Fields, dimension and bytes."""
        return f"{list(self.fields)}, {self.embedding_dim}, mode={self.mode!r}, {self.memory_bytes()} bytes"


def _why(plan: FieldPlan, own: int, each: float) -> str:
    told = f"{each:.3g} lookups for each id that occurs"
    if plan.kind == "whole":
        return f"{told}: worth a row for every id"
    if plan.kind == "shared":
        return f"{told}: worth learning, not worth a row for every id"
    return f"{told}: {own} frequent ids have rows of their own, and rare ones are zeros"
