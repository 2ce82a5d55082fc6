"""What all tables of quantized rows share: the bytes, looking up, and recording what a step trains on."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bench_engine.kernels.bags import EmbeddingBagMethod, at_least, check_saved, padding_row
from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.fiited.table_optimizer import begins_batch, check_alone, is_sharing
from bench_engine.kernels.quantized import quantized_ops
from bench_engine.kernels.quantized.frozen_table import FrozenBag
from bench_engine.kernels.quantized.padded_pooling import bags_of, checked_dtype, checked_samples, of_call, pooled

STORAGES = ("int8", "int4", "float16")
SCALE_BYTES = {"int8": 2, "int4": 2, "float16": 0}  # of a row
MOST_ROWS = 2**40
_ROWS_AT_ONCE = 1 << 16  # rows are drawn in parts, so that temporaries stay small


class Recorded(NamedTuple):
    """What a backward pass gave to a table: rows (n,), ends of bags (B + 1,) among them, gradients of bags (B, D)."""

    rows: Tensor
    ends: Tensor
    grad: Tensor


class QuantizedTable(EmbeddingBagMethod):
    """Embedding bags over `rows`, uint8 (rows, bytes of a row): the base of what says which rows make a vector.

    A row is a scale (bfloat16) and D numbers of a byte or half a byte, or D numbers in float16. There is no copy in
    another type: forward passes read and pool these bytes, and a step of `QuantizedOptimizer` reads a row, updates it
    and writes it back, each number rounded up or down at random so that its expectation is what was to be written.
    Gradients go straight through the rounding: they are those of the vectors that were read.

    Args:
        num_embeddings: ids E.
        embedding_dim: dimension D.
        compression: share of the dense float32 bytes that the rows may take, scales included, in (0, 1].
        mode: sum, mean or max.
        device: the CPU.
        dtype: of what is given, float32, bfloat16 or float16; sums are made in float32.
        storage: `int8` (D + 2 bytes a row), `int4` (2 + 8 for each 16 dimensions begun) or `float16` (2 D).
        budget_bytes: the ceiling in bytes, in the place of compression.
        padding_idx: id that takes no part in any bag; negative counts from the end.
        include_last_offset: whether offsets end with the end of the last bag.
        seed: of the rounding; drawn from torch's generator unless given.
        learned_step: 0, where the largest number of a row says its scale; else the scale of int8 and int4 is learned
            (ALPT, Li et al. 2023, arXiv:2212.05735), at this many times the learning rate of the numbers. The
            gradient is that of the step before the numbers move, where the paper takes a second one after it.

    Raises ValueError, also where the ceiling is too low, and TypeError.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        storage: str = "int8",
        budget_bytes: int | None = None,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        seed: int | None = None,
        learned_step: float = 0.0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        arguments.whole("num_embeddings", num_embeddings, 1, MOST_ROWS)
        arguments.choice("storage", storage, STORAGES)
        if torch.device(device or "cpu").type != "cpu":
            raise ValueError(f"a quantized table is on the CPU, not on {device}")
        if seed is not None:
            arguments.whole("seed", seed, 0, 2**63 - 1)
        if not arguments.is_number(learned_step) or not 0 <= learned_step < math.inf:
            raise ValueError(f"learned_step must be a number of at least 0, not {learned_step!r}")
        quantized_ops.load()
        self.storage, self.learned_step = storage, float(learned_step)
        self.padding_idx = padding_row(padding_idx, self.num_embeddings)
        self.include_last_offset = bool(include_last_offset)
        self.seed = int(torch.randint(2**62, ())) if seed is None else int(seed)
        self.remainders = 0  # of quotient and remainder rows; 0 where each id has a row
        self.row_bytes = int(torch.ops.mirror.quantized_stride(storage, self._width))
        # Empty: makes outputs ask for a gradient, and has their type.
        self.anchor = nn.Parameter(torch.empty(0, dtype=checked_dtype(dtype), device="cpu"))
        count = self._count_rows(self._budget(compression, budget_bytes))
        self.rows: Tensor
        self.register_buffer("rows", torch.empty(count, self.row_bytes, dtype=torch.uint8, device="cpu"))
        self.optimized, self.slot_start = False, 0.0  # set by the optimizer
        self._recorded: list[Recorded] = []
        self._changes = 0  # of the rows
        self.reset_parameters()

    # -- making ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _count_rows(self, budget: int | None) -> int:
        """Rows of the table under a ceiling in bytes; None where there is none. Raises ValueError."""

    @abstractmethod
    def reset_parameters(self, bound: float | None = None) -> None:
        """Draw all rows anew, so that vectors are uniform in ±bound: sqrt(1 / E) unless given."""

    def _budget(self, compression: float, budget_bytes: int | None) -> int | None:
        """Bytes that rows may take with their scales; None for compression 1. Raises ValueError."""
        if budget_bytes is not None:
            arguments.whole("budget_bytes", budget_bytes, 1)
            return int(budget_bytes)
        if not arguments.is_number(compression) or not 0 < compression <= 1:
            raise ValueError(f"compression is the fraction of the dense bytes kept, in (0, 1], not {compression!r}")
        if compression == 1:  # rows of one or two dimensions are longer than in float32
            return None
        return math.floor(compression * self._dense_bytes * (1 + 1e-12))  # 0.29 * 100 is 28.999999999999996

    @property
    def _width(self) -> int:
        """Dimensions of a row."""
        return self.embedding_dim

    @property
    def _dense_bytes(self) -> int:
        return self.num_embeddings * self.embedding_dim * 4

    def _refuse(self, budget: int, needed_rows: int, what: str) -> ValueError:
        """What is raised for a budget that does not hold so many rows."""
        needed = needed_rows * self.row_bytes
        smallest = min(needed / self._dense_bytes, 1.0) if needed <= self._dense_bytes else None
        at = "" if smallest is None else f", compression {at_least(smallest)}"
        return ValueError(
            f"{budget} bytes do not hold {what} of {self.num_embeddings} ids in {self.storage}: "
            f"the least is {needed} bytes{at}"
        )

    @torch.no_grad()
    def _fill(self, first: int, count: int, draw: Callable[[Tensor], Any]) -> None:
        """Write rows `first` to `first + count` with what `draw` fills (n, D) with, in parts."""
        for start in range(0, count, _ROWS_AT_ONCE):
            some = min(_ROWS_AT_ONCE, count - start)
            part = torch.empty(some, self.embedding_dim, dtype=torch.float32, device="cpu")
            draw(part)
            self._write(first + start, part)

    def _write(self, first: int, values: Tensor) -> None:
        torch.ops.mirror.quantized_write(self.rows, values, self.storage, self.seed, 0, first)
        self._changes += 1

    # -- looking up ------------------------------------------------------------------------------------------------

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Pool the vectors of each bag.

        Args:
            input: ids (B, L), or (N,) with offsets; int32 or int64.
            offsets: (B,) where each bag starts, from 0 on and never falling, the last bag running to N; with
                include_last_offset (B + 1,), ending with the end of the last bag.
            per_sample_weights: factors of the vectors, of the shape of input, for sum and mean. A mean divides by the
                number of ids, not by the sum of the weights.

        Returns:
            (B, D); zeros for a bag without ids, ids that are padding_idx not counted.

        Raises IndexError naming an id out of range and its position, ValueError, TypeError, and in a training under
        DistributedDataParallel RuntimeError.
        """
        samples = checked_samples(input, per_sample_weights, self.mode, self.anchor.dtype)
        square = offsets is None and input.dim() == 2 and input.dtype == torch.int64 and self.mode != "max"
        if square and not torch.is_grad_enabled():
            found = self._pool(input.contiguous(), None, None if samples is None else samples.contiguous())
            return found.to(self.anchor.dtype)
        bags = bags_of(input, offsets, self.include_last_offset)
        ids = bags.ids.long().contiguous()
        samples = None if samples is None else samples.reshape(-1)[: ids.numel()].contiguous()
        if self.mode == "max":
            each = self._looked_up(ids, torch.arange(len(ids)), None)
            found = pooled(each, bags, self.mode, padding=self.padding_idx)
        else:
            found = self._looked_up(ids, bags.offsets.long().contiguous(), samples)
        return of_call(found, offsets, self.include_last_offset).to(self.anchor.dtype)

    def _looked_up(self, ids: Tensor, starts: Tensor, samples: Tensor | None) -> Tensor:
        """(B, D) float32, differentiable where gradients are wanted."""
        if not torch.is_grad_enabled():
            return self._pool(ids, starts, samples)
        check_alone("a quantized table", "train it in one process")
        if begins_batch(self.anchor):
            self.forget_gradients()
        output: Tensor = _Lookup.apply(self.anchor, samples, self, ids, starts)
        return output

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors of these ids, (n, D), without a gradient."""
        return self._pool(ids.long().contiguous().unsqueeze(1), None, None, padding=-1).to(self.anchor.dtype)

    def _pool(self, ids: Tensor, starts: Tensor | None, samples: Tensor | None, padding: int | None = None) -> Tensor:
        pooled: Tensor = torch.ops.mirror.quantized_pool(
            self.rows, ids, starts, samples, *self._shape(), self._padding if padding is None else padding, self._mean
        )
        return pooled

    def _shape(self) -> tuple[str, int, int, int]:
        return self.storage, self.embedding_dim, self.num_embeddings, self.remainders

    @property
    def _padding(self) -> int:
        return -1 if self.padding_idx is None else self.padding_idx

    @property
    def _mean(self) -> bool:
        return self.mode == "mean"

    # -- training --------------------------------------------------------------------------------------------------

    def row_gradients(self) -> Tensor:
        """What backward passes have recorded since the last step: sparse, a gradient for each row that is trained.

        Straight through the rounding: the gradient of a row is that of the vector that was read from it.
        """
        rows, each = [torch.zeros(0, dtype=torch.int64)], [torch.zeros(0, self.embedding_dim)]
        for part in self._recorded:
            rows.append(part.rows)
            each.append(part.grad.repeat_interleave(part.ends.diff(), 0))
        size = (self._trained_rows, self.embedding_dim)
        total = torch.sparse_coo_tensor(torch.cat(rows).unsqueeze(0), torch.cat(each), size, check_invariants=False)
        return total.coalesce()

    @property
    def _trained_rows(self) -> int:
        return len(self.rows)

    def forget_gradients(self) -> None:
        """Drop what backward passes have recorded since the last step."""
        self._recorded.clear()

    def check_gradients(self) -> None:
        """Raises FloatingPointError where a recorded gradient holds what is not a number."""
        for part in self._recorded:
            if math.isfinite(float(part.grad.sum())):
                continue
            wrong = (~part.grad.isfinite().all(1)).nonzero()
            if len(wrong):  # else the sum alone was too large
                bag = int(wrong[0])
                rows = part.rows[part.ends[bag] : part.ends[bag + 1]].tolist()
                shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
                raise FloatingPointError(
                    f"the gradient of rows {shown} holds NaN or infinity: the step was refused and nothing was "
                    "changed; drop this batch with zero_grad(), or look for what overflows in the model"
                )

    @torch.no_grad()
    def train_step(self, sums: Tensor | None, lr: float, eps: float, step: int, table: int) -> None:
        """Update from what was recorded: row-wise Adagrad with `sums` (rows,), SGD without them."""
        torch.ops.mirror.quantized_step(
            self.rows,
            sums,
            *self._recorded_lists(),
            self.storage,
            self.embedding_dim,
            lr,
            eps,
            lr * self.learned_step,
            self.seed,
            step,
            table,
        )
        self._changes += 1
        self.forget_gradients()

    def _recorded_lists(self) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Rows, ends and gradients of all that was recorded."""
        return (
            [part.rows for part in self._recorded],
            [part.ends for part in self._recorded],
            [part.grad for part in self._recorded],
        )

    def record(self, grad: Tensor, ids: Tensor, starts: Tensor, samples: Tensor | None) -> None:
        """Keep what a step trains on, from the gradient (B, D) of an output."""
        if not self.optimized:
            raise RuntimeError(
                "a quantized table is trained by a QuantizedOptimizer: make one for it before the first backward pass"
            )
        if samples is None and not self.remainders and self.padding_idx is None:
            ends = torch.cat([starts, starts.new_tensor([len(ids)])])
            # Copies in any case: whoever made the gradient or the ids may write to them before the step.
            grad = grad / ends.diff().clamp_min(1).unsqueeze(1) if self._mean else grad.clone()
            self._recorded.append(Recorded(ids.clone(), ends, grad.contiguous()))
            return
        self._recorded.append(self._record_each(grad, ids, starts, samples))

    def _record_each(self, grad: Tensor, ids: Tensor, starts: Tensor, samples: Tensor | None) -> Recorded:
        """A bag for each row that was looked up."""
        rows, each = torch.ops.mirror.quantized_row_gradients(
            grad, self.rows, ids, starts, samples, *self._shape(), self._padding, self._mean
        )
        return Recorded(rows, torch.arange(len(rows) + 1), each)

    def sample_gradient(self, grad: Tensor, ids: Tensor, starts: Tensor) -> Tensor:
        """Gradient (N,) of the sample weights, from that of an output (B, D)."""
        gradient: Tensor = torch.ops.mirror.quantized_sample_gradient(
            grad, self.rows, ids, starts, *self._shape(), self._padding, self._mean
        )
        return gradient

    # -- for those who only look up --------------------------------------------------------------------------------

    @abstractmethod
    def to_frozen(self) -> FrozenBag:
        """The same lookups of the same bytes, which it shares, without training: for export, tracing and files."""

    def to_dense(self) -> nn.EmbeddingBag:
        """torch.nn.EmbeddingBag with the same vectors and options."""
        return dense_of(self)

    # -- what the benchmarks ask -----------------------------------------------------------------------------------

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Row-wise Adagrad."""
        from bench_engine.kernels.quantized.quantized_optimizer import QuantizedOptimizer

        return QuantizedOptimizer(self, "rowwise_adagrad", lr=lr, eps=eps)

    def memory_bytes(self) -> int:
        """Bytes of the rows with their scales: all that a table holds."""
        return self.rows.nbytes

    def metadata_bytes(self) -> int:
        """Bytes of the scales."""
        return len(self.rows) * SCALE_BYTES[self.storage]

    def optimizer_bytes(self, optimizer: torch.optim.Optimizer) -> int:
        """Bytes of the slots, one a row."""
        sums = optimizer.state[self.anchor].get("sums")
        return 0 if sums is None else int(sums.nbytes)

    # -- state -----------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """What the bytes mean, and the seed of the rounding."""
        return {**dict(zip(("storage", "dim", "ids", "remainders"), self._shape(), strict=True)), "seed": self.seed}

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        """Raises ValueError where the bytes mean something else here, before any is taken."""
        check_saved(state_dict, prefix, self.get_extra_state(), ("storage", "dim", "ids", "remainders"))
        check_shapes(state_dict, prefix, self.named_buffers(recurse=False))
        super()._load_from_state_dict(state_dict, prefix, *others)

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Of a state whose bytes mean the same here."""
        self.seed = int(state["seed"])
        self._changes += 1
        self.forget_gradients()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recorded": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        quantized_ops.load()  # a copy or an unpickled module was not constructed
        super().__setstate__(state)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "QuantizedTable":
        retype(self.anchor, fn)
        return self

    def share_memory(self) -> NoReturn:
        """Raises RuntimeError."""
        refuse_sharing()

    def extra_repr(self) -> str:
        """Sizes and storage."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{super().extra_repr()}, storage={self.storage!r}, rows={len(self.rows)}{padding}"


def check_shapes(state_dict: Mapping[str, Any], prefix: str, buffers: Iterable[tuple[str, Tensor]]) -> None:
    """Raises ValueError where one was saved in another shape: torch would take the others, and the extra state."""
    for name, own in buffers:
        given = state_dict.get(prefix + name)
        if given is not None and given.shape != own.shape:
            raise ValueError(
                f"{prefix}{name} was saved in the shape {tuple(given.shape)}, and this table has "
                f"{tuple(own.shape)}: make it with the same budget"
            )


def retype(anchor: nn.Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    """A move of a table's module: it changes the type of what is given, and nothing of the rows. Raises TypeError."""
    moved = fn(anchor.detach())
    if moved.device.type != "cpu":
        raise TypeError(f"a quantized table is on the CPU: leave it out of the move to {moved.device}")
    if is_sharing(fn):
        refuse_sharing()
    checked_dtype(moved.dtype)
    anchor.data = moved


def refuse_sharing() -> NoReturn:
    """Raises RuntimeError: what trains would train its own rows in each process."""
    raise RuntimeError("a quantized table that is trained is not shared between processes: share its to_frozen()")


def dense_of(table: Any) -> nn.EmbeddingBag:
    """torch.nn.EmbeddingBag with the vectors and options of a table that has torch's options."""
    return nn.EmbeddingBag.from_pretrained(
        table.materialize(),
        freeze=False,
        mode=table.mode,
        padding_idx=table.padding_idx,
        include_last_offset=table.include_last_offset,
    )


class _Lookup(torch.autograd.Function):
    """Looks up, and records the gradient of what it gave."""

    @staticmethod
    def forward(
        ctx: Any, anchor: Tensor, samples: Tensor | None, table: QuantizedTable, ids: Tensor, starts: Tensor
    ) -> Tensor:
        ctx.table, ctx.changes = table, table._changes
        ctx.save_for_backward(ids, starts, samples)
        return table._pool(ids, starts, samples)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        table: QuantizedTable = ctx.table
        ids, starts, samples = ctx.saved_tensors
        if (table.remainders or samples is not None) and table._changes != ctx.changes:
            raise RuntimeError(
                "the table was changed after this forward pass, whose gradients need its rows: "
                "make the backward pass before the step"
            )
        grad = grad.contiguous()
        of_samples = None
        if ctx.needs_input_grad[1]:
            of_samples = table.sample_gradient(grad, ids, starts)
        if not ctx.needs_input_grad[0]:
            return None, of_samples, None, None, None
        table.record(grad, ids, starts, samples)
        return table.anchor.new_zeros(0), of_samples, None, None, None
