"""FIITEDEmbeddingBag: an embedding bag whose vectors find their own dimension while they are trained."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bench_engine.kernels.fiited import arguments, budget, pruning, saved, storage
from bench_engine.kernels.fiited.pruning import Policy, PruneEvent, PruneForecast
from bench_engine.kernels.fiited.saved import State
from bench_engine.kernels.fiited.table_optimizer import begins_batch, check_alone, is_sharing

SCORES = ("gradient", "frequency*gradient", "frequency")
WARM_START = (3, 30, 300)  # steps with a prune event beside those that `interval` divides
MAX_CHUNKS = 16
MAX_ROWS = 2**40
LEAST_SCALE, LEAST_DECAY = 2.0**-32, 0.0001
_ROWS_AT_ONCE = 1 << 16  # rows are materialized in parts, so that temporaries stay small


class Lookups(NamedTuple):
    """One recorded call: rows (N,), offsets (B + 1,), gradient of the output (B, D)."""

    rows: Tensor
    offsets: Tensor
    grad: Tensor


class FIITEDEmbeddingBag(nn.Module):
    """Embedding bags of one or many tables under one memory budget (after FIITED, Luo et al. 2024, arXiv:2401.04408).

    A vector of D dimensions is `num_chunks` chunks of which some live: they have weights and optimizer slots. Missing
    ones read as zeros. In training, every chunk that is looked up, missing ones included, gains utility; every
    `interval` steps the chunks of most utility get what memory there is, so that vectors grow and shrink as the data
    ask for it. Weights are trained by `FIITEDOptimizer`, which also counts the steps; there are no gradients in
    parameters, so what works on these (gradient clipping, GradScaler, averaged models) does nothing to the table. What
    is the paper's and what is a choice of ours stands in docs/fiited.md.

    Args:
        num_embeddings: rows of the table, or of each of several.
        embedding_dim: dimensions D of a vector, divisible by num_chunks.
        num_chunks: chunks k of a vector, 1 to 16; 1 prunes whole rows, as AdaEmbed does.
        pruning_ratio: share of all chunks that do not live, in [0, 1). With 0 nothing is ever pruned, and training is
            that of torch.nn.EmbeddingBag, bit for bit.
        interval: steps between prune events; there are also some after steps 3, 30 and 300.
        decay: what utilities are multiplied with at each event, from 0.0001 to 1.
        scope: what has a budget of its own: "global" (all chunks together), "table", or "column" (the chunks at one
            place in all vectors).
        score: what a step adds to the utility of the chunks that it looks up: "gradient" (the length of the chunk's
            gradient, so that utility grows with frequency and gradient alike), "frequency*gradient" (this times the
            lookups of the row in the step, as AdaEmbed has it) or "frequency" (the lookups alone).
        mode: "sum" or "mean".
        layout: "compact" (memory follows what lives) or "flat" (6 bytes for every chunk there could be).
            Results are the same, bit for bit.
        hashed_ids: ids are any 64-bit numbers, hashed to rows (with `seed`), rather than row numbers.
        joint_ids: ids of several tables are given as one tensor, numbered through: those of the second table follow
            the last of the first.
        seed: of the hash.
        min_turnover: an event that would move less than this share of the budget moves nothing.
        candidate_share: rows without a live chunk that keep their utilities at an event, as a share of how many whole
            vectors the budget holds.
        admission_filter: lookups after which a row that is not known is let in, up to 255; 0 lets all in at once.
        ttl: events after which a row that was not looked up is dropped, up to 65534; 0 never drops one.
        device: "cpu", or a GPU as "cuda" for the layout "flat". Ids are given, and outputs and tables returned, there;
            prune events and states are on the CPU. Training does not wait for the GPU but to check that ids and
            gradients are in range, and at prune events; with an admission filter it waits in every step.
        init: weights at the start: "uniform" in ±sqrt(1 / E), or "normal" as in torch.nn.EmbeddingBag.

    Raises ValueError and TypeError for arguments out of range, KernelsNotBuiltError, RuntimeError where CUDA is asked
    for and missing.
    """

    def __init__(
        self,
        num_embeddings: int | Sequence[int],
        embedding_dim: int,
        num_chunks: int = 4,
        pruning_ratio: float = 0.9,
        *,
        interval: int = 1000,
        decay: float = 0.9,
        scope: str = "global",
        score: str = "gradient",
        mode: str = "sum",
        layout: str = "compact",
        hashed_ids: bool = False,
        joint_ids: bool = False,
        seed: int = 0,
        min_turnover: float = 0.05,
        candidate_share: float = 1.0,
        admission_filter: int = 0,
        ttl: int = 0,
        init: str = "uniform",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        several = isinstance(num_embeddings, list | tuple)
        rows: list[Any] = list(num_embeddings) if isinstance(num_embeddings, list | tuple) else [num_embeddings]
        if not rows:
            raise ValueError("num_embeddings is empty: give the rows of at least one table")
        for number in rows:
            arguments.whole("num_embeddings", number, 1, MAX_ROWS)
        arguments.whole("embedding_dim", embedding_dim, 1)
        arguments.whole("num_chunks", num_chunks, 1, MAX_CHUNKS)
        if embedding_dim % num_chunks:
            raise ValueError(f"embedding_dim {embedding_dim} is not divisible by num_chunks {num_chunks}")
        arguments.fraction("pruning_ratio", pruning_ratio, below_one=True)
        arguments.whole("interval", interval, 1)
        if not arguments.is_number(decay) or not LEAST_DECAY <= decay <= 1:
            raise ValueError(f"decay must be a number from {LEAST_DECAY} to 1, not {decay!r}")
        arguments.fraction("min_turnover", min_turnover)
        if not arguments.is_number(candidate_share) or not 0 <= candidate_share < math.inf:
            raise ValueError(f"candidate_share must be a number of at least 0, not {candidate_share!r}")
        arguments.whole("admission_filter", admission_filter, 0, 255)
        arguments.whole("ttl", ttl, 0, 65534)
        arguments.whole("seed", seed, 0, 2**63 - 1)
        arguments.choice("scope", scope, budget.SCOPES)
        arguments.choice("score", score, SCORES)
        arguments.choice("mode", mode, ("sum", "mean"))
        arguments.choice("layout", layout, storage.LAYOUTS)
        arguments.choice("init", init, ("uniform", "normal"))
        for name, flag in (("hashed_ids", hashed_ids), ("joint_ids", joint_ids)):
            if not isinstance(flag, bool):
                raise ValueError(f"{name} must be True or False, not {flag!r}")
        if hashed_ids and joint_ids:
            raise ValueError("hashed_ids and joint_ids cannot both be True: a hash needs to know the table of an id")
        where = torch.device(device or "cpu")
        storage.check_device(layout, where)
        if dtype not in (None, torch.float32):
            raise TypeError(f"a FIITED table is float32, not {str(dtype).removeprefix('torch.')}")

        self.rows_of_tables = tuple(int(r) for r in rows)
        self.num_embeddings = sum(self.rows_of_tables)
        self.embedding_dim, self.num_chunks = int(embedding_dim), int(num_chunks)
        self.pruning_ratio = float(pruning_ratio)
        self.interval, self.decay = int(interval), float(decay)
        self.scope, self.score, self.mode, self.layout = scope, score, mode, layout
        self.hashed_ids, self.joint_ids, self.seed = hashed_ids, joint_ids, int(seed)
        self.min_turnover, self.candidate_share = float(min_turnover), float(candidate_share)
        self.admission_filter, self.ttl, self.init = int(admission_filter), int(ttl), init
        self.budgets = budget.budgets(self.rows_of_tables, num_chunks, pruning_ratio, scope)
        self.step_count = 0
        self.utility_scale = 1.0  # stored utilities times this are their values
        self._told: dict[str, float] = {}  # of the last event
        self.rule = ""  # of the optimizer that the slots belong to
        self.anchor = nn.Parameter(torch.empty(0, device=where))  # empty: makes outputs ask for a gradient
        self.listed_tables = len(self.rows_of_tables) if several and not joint_ids else None
        self._optimized, self._slot_value = False, 0.0
        self._recorded: list[Lookups] = []
        self._callbacks: dict[int, Callable[[PruneEvent], None]] = {}
        self._storage = self._make_storage()
        self._start()

    # -- looking up ------------------------------------------------------------------------------------------------

    def forward(self, input: Any, offsets: Any = None) -> Any:
        """Pool the vectors of each bag.

        Args:
            input: ids (B, L), or (N,) with offsets; int32 or int64. Of several tables a list with one of these each.
            offsets: (B,) where each bag starts, from 0 on; or a list of these (None for tables without).

        Returns:
            (B, D) float32, zeros for an empty bag; of several tables a list of these.

        Raises IndexError naming an id out of range and its position, ValueError and TypeError.
        """
        inputs, starts = arguments.per_table(input, offsets, self.listed_tables)
        if torch.is_grad_enabled():
            if self.shard[1] == 1:
                check_alone("a FIITED table", "take a ShardedFIITEDEmbeddingBag")
            if begins_batch(self.anchor):
                self.forget_gradients()
            counts: list[int] = []
            output = _Lookup.apply(self.anchor, self, inputs, starts, counts)
        else:
            output, _, _, counts = self._look_up(inputs, starts)
        return list(output.split(counts)) if self.listed_tables else output

    @torch.no_grad()
    def materialize(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """Vectors of virtual rows as a dense tensor: (E, D), or (len(rows), D). Raises IndexError."""
        which = self._rows(rows)
        table = torch.empty(len(which), self.embedding_dim, dtype=torch.float32, device=self.anchor.device)
        for part in range(0, len(which), _ROWS_AT_ONCE):
            some = which[part : part + _ROWS_AT_ONCE]
            ends = torch.arange(len(some) + 1, device="cpu")
            table[part : part + len(some)] = self._storage.forward(some, ends, False)
        return table

    def live_mask(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """Which chunks of virtual rows live: bool (E, k), or (len(rows), k). Raises IndexError."""
        masks = self._storage.live_masks(self._rows(rows))
        return (masks.unsqueeze(1) >> torch.arange(self.num_chunks, device=masks.device) & 1).bool()

    def utilities(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """Utilities of the chunks of virtual rows: float32 (E, k), or (len(rows), k). Raises IndexError."""
        return self._storage.utilities(self._rows(rows)).float() * self.utility_scale

    # -- training --------------------------------------------------------------------------------------------------

    def attach_optimizer(self, rule: str, slot_value: float) -> None:
        """Give every chunk the slots of an optimizer; those of the same one, as from a checkpoint, stay as they are."""
        if rule != self.rule:
            self._storage.set_slots(rule, slot_value)
            self.rule = rule
        self._storage.set_slot_value(slot_value)
        self._slot_value, self._optimized = slot_value, True

    def forget_gradients(self) -> None:
        """Drop what backward passes have recorded since the last step."""
        self._recorded.clear()

    def check_gradients(self) -> None:
        """Raises FloatingPointError where a recorded gradient holds what is not a number."""
        for lookups in self._recorded:
            bag = self._storage.first_not_finite(lookups.grad)
            if bag >= 0:
                rows = lookups.rows[lookups.offsets[bag] : lookups.offsets[bag + 1]]
                shown = ", ".join(map(str, rows[:5].tolist())) + (", ..." if len(rows) > 5 else "")
                raise FloatingPointError(
                    f"the gradient of bag {bag} (rows {shown}) holds NaN or infinity: the step was refused and nothing "
                    "was changed; drop this batch with zero_grad(), or look for what overflows in the model"
                )

    @torch.no_grad()
    def train_step(self, lr: float, eps: float, betas: tuple[float, float]) -> PruneEvent | None:
        """Update from what was recorded, count the step, and prune where it is time; what the event did, or None."""
        recorded, mean = self._recorded_lookups()
        self._storage.train(
            [r.rows for r in recorded],
            [r.offsets for r in recorded],
            [r.grad for r in recorded],
            mean,
            self.score,
            self.rule,
            [lr, eps, *betas],
            self.step_count + 1,
            self.utility_scale,
        )
        self._recorded = []
        self.step_count += 1
        return self._prune(listed=bool(self._callbacks)) if self._is_due() else None

    # -- pruning ---------------------------------------------------------------------------------------------------

    def prune(self, listed: bool = True) -> PruneEvent:
        """A prune event now, whatever the step. Callbacks are told what it did, chunk by chunk where `listed`."""
        event = self._prune(listed)
        self.tell(event)
        return event

    def tell(self, event: PruneEvent) -> None:
        """Call the callbacks with an event."""
        for callback in list(self._callbacks.values()):
            callback(event)

    def _prune(self, listed: bool) -> PruneEvent:
        self._decay()
        event = pruning.prune(
            self._storage,
            self._policy(),
            self.step_count,
            self.utility_scale,
            listed,
            listed and bool(self._callbacks),
            self._reduce,
        )
        self._told = {
            "threshold": float(event.threshold.mean()),
            "turnover": event.turnover,
            "evicted": float(event.num_evicted),
            "admitted": float(event.num_admitted),
        }
        return event

    def dry_run(self, pruning_ratio: float) -> PruneForecast:
        """What would be pruned at this ratio, if an event were now; changes nothing. Raises ValueError."""
        arguments.fraction("pruning_ratio", pruning_ratio, below_one=True)
        budgets = budget.budgets(self.rows_of_tables, self.num_chunks, pruning_ratio, self.scope)
        chunks = self.num_embeddings * self.num_chunks
        return pruning.forecast(self._storage, budgets, chunks, float(pruning_ratio), self.utility_scale, self._reduce)

    def on_prune(self, callback: Callable[[PruneEvent], None]) -> Callable[[], None]:
        """Call `callback` after every prune event, with the weights of evicted chunks. Returns what takes it back.

        It is called when all tables have made their step, and must not prune.
        """
        key = max(self._callbacks, default=-1) + 1
        self._callbacks[key] = callback

        def take_back() -> None:
            self._callbacks.pop(key, None)

        return take_back

    # -- sizes -----------------------------------------------------------------------------------------------------

    def bytes_by_kind(self) -> dict[str, int]:
        """Bytes in use: weights, index (addresses), utilities, owners, optimizer, other (ages, admission filter)."""
        sizes = dict(self._storage.bytes())
        counts = torch.tensor([*sizes.values()], device="cpu")
        return dict(zip(sizes, self._reduce(counts).tolist(), strict=True))

    def memory_bytes(self) -> int:
        """All bytes but those of the optimizer."""
        return sum(size for kind, size in self.bytes_by_kind().items() if kind != "optimizer")

    def statistics(self) -> Mapping[str, float]:
        """Where the table stands.

        live_chunks; live_vectors: rows with a live chunk; live_dimensions: their mean; live_rows_m for m from 0 to k:
        rows with m live chunks; memory_mb and the bytes by kind / 1e6; of the last event, where there was one:
        threshold (mean over groups), turnover, evicted, admitted.
        """
        rows = self._reduce(self._storage.live_histogram())
        rows[0] = self.num_embeddings - rows[1:].sum()  # a storage may know only a part of the rows
        chunks, vectors = float(rows @ torch.arange(self.num_chunks + 1, device="cpu")), float(rows[1:].sum())
        dimensions = chunks * self.chunk_width / max(vectors, 1.0)
        found = {"live_chunks": chunks, "live_vectors": vectors, "live_dimensions": dimensions}
        found |= {f"live_rows_{m}": float(count) for m, count in enumerate(rows)}
        sizes = self.bytes_by_kind()
        found["memory_mb"] = (sum(sizes.values()) - sizes["optimizer"]) / 1e6
        found |= {f"{kind}_mb": size / 1e6 for kind, size in sizes.items()}
        return found | self._told

    @property
    def chunk_width(self) -> int:
        """Dimensions of a chunk."""
        return self.embedding_dim // self.num_chunks

    @property
    def shard(self) -> tuple[int, int]:
        """Which part of the table this is: a rank, of so many."""
        return 0, 1

    @property
    def capacity(self) -> int:
        """Chunks P that may live."""
        return int(self.budgets.sum())

    def verify(self) -> None:
        """Raises RuntimeError where the parts of the storage do not fit together."""
        self._storage.verify()

    # -- state -----------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """All that training needs to go on, the optimizer's slots included; the same for both layouts."""
        return saved.pack(self, State(*self._storage.state()))

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state. One of a larger budget is pruned to this one by utility. Raises ValueError."""
        loaded, rule = saved.cut(self, self._checked(state), self._reduce), str(state["rule"])
        changes, own = bool(rule) and rule != self.rule, list[Tensor]()
        if changes:
            own = list(self._storage.state())
            self._storage.set_slots(rule, self._slot_value)
        elif not rule and self.rule:  # saved before it had an optimizer
            loaded = loaded._replace(
                slots=torch.full(
                    (len(loaded.weights), self._storage.slot_width()), self._slot_value, dtype=torch.float32,
                    device="cpu",
                )
            )  # fmt: skip
        try:
            self._storage.load_state(list(loaded))
        except BaseException:
            if changes:  # as it was: sgd has no slots, as no optimizer has
                self._storage.set_slots(self.rule or "sgd", self._slot_value)
                self._storage.load_state(own)
            raise
        if changes:
            self.rule = rule
        self.step_count, self.utility_scale = int(state["step_count"]), float(state["utility_scale"])
        self._recorded.clear()

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: the storage as its state."""
        members = self.__dict__.copy()
        members["_recorded"] = []
        members["_storage"] = list(self._storage.state())
        return members

    def __setstate__(self, members: dict[str, Any]) -> None:
        state = members["_storage"]
        super().__setstate__({k: v for k, v in members.items() if k != "_storage"})
        self._storage = self._make_storage()
        if self.rule:
            self._storage.set_slots(self.rule, self._slot_value)
        self._storage.load_state(state)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "FIITEDEmbeddingBag":
        moved = fn(self.anchor.detach())
        own = self.anchor.device
        if moved.device != own or moved.dtype != torch.float32:
            raise TypeError(
                f"a FIITED table stays float32 on {'the CPU' if own.type == 'cpu' else own}: leave it out of the move "
                f"to {moved.dtype}, {moved.device}"
            )
        if own.type == "cpu" and is_sharing(fn):
            self.share_memory()
        return self

    def share_memory(self) -> "FIITEDEmbeddingBag":
        """Raises RuntimeError: the table's memory is its own."""
        raise RuntimeError("a FIITED table is not shared between processes: use ShardedFIITEDEmbeddingBag")

    def extra_repr(self) -> str:
        """What torch prints between the brackets of the module."""
        rows = list(self.rows_of_tables) if len(self.rows_of_tables) > 1 else self.num_embeddings
        return (
            f"{rows}, {self.embedding_dim}, num_chunks={self.num_chunks}, pruning_ratio={self.pruning_ratio}, "
            f"interval={self.interval}, layout={self.layout!r}, mode={self.mode!r}"
        )

    # -- inside ----------------------------------------------------------------------------------------------------

    def _make_storage(self) -> Any:
        ends = torch.tensor(self.rows_of_tables, device="cpu").cumsum(0).tolist()
        return storage.make(
            self.layout,
            ends,
            self.embedding_dim,
            self.num_chunks,
            self.capacity,
            self.scope,
            self.ttl,
            self.admission_filter,
            self.anchor.device,
        )

    @torch.no_grad()
    def _start(self) -> None:
        rows = budget.first_rows(self.rows_of_tables, self.num_chunks, self.budgets, self.scope)
        self._storage.load_state(list(saved.first_state(rows, self._draw(len(rows)), self.num_chunks)))

    def _draw(self, rows: int) -> Tensor:
        """Weights (rows, D) to start from."""
        weights = torch.empty(rows, self.embedding_dim, dtype=torch.float32, device="cpu")
        if self.init == "uniform":
            bound = math.sqrt(1 / self.num_embeddings)  # as DLRM has it
            return nn.init.uniform_(weights, -bound, bound)
        return nn.init.normal_(weights)

    def _checked(self, state: Mapping[str, Any]) -> State:
        saved_state, rule = saved.unpack(self, state), str(state["rule"])
        if self._optimized and rule and rule != self.rule:
            raise ValueError(
                f"the table was saved with the optimizer {rule}, but here {self.rule} trains it: make that one"
            )
        return saved_state

    def _policy(self) -> Policy:
        return Policy(
            budgets=self.budgets,
            min_turnover=self.min_turnover,
            candidates=min(math.floor(self.candidate_share * self.capacity / self.num_chunks), self.num_embeddings),
            ttl=self.ttl,
            rows=self.num_embeddings,
            chunks=self.num_embeddings * self.num_chunks,
        )

    def _decay(self) -> None:
        """Of the scale, so that nothing is rounded; stored utilities follow now and then, by a power of two."""
        self.utility_scale *= self.decay
        if self.utility_scale < LEAST_SCALE:
            self._storage.scale_utilities(LEAST_SCALE)
            self.utility_scale /= LEAST_SCALE

    def _is_due(self) -> bool:
        return self.pruning_ratio > 0 and (self.step_count in WARM_START or self.step_count % self.interval == 0)

    def _reduce(self, counts: Tensor) -> Tensor:
        return counts

    def _look_up(self, inputs: list[Tensor], offsets: list[Tensor | None]) -> tuple[Tensor, Tensor, Tensor, list[int]]:
        """(B, D), rows, ends of bags, bags of each table."""
        seed = self.seed if self.hashed_ids else None
        return self._storage.lookup(inputs, offsets, seed, self.joint_ids, self.mode == "mean")

    def _recorded_lookups(self) -> tuple[list[Lookups], bool]:
        """What a step trains on, and whether its gradients are to be divided by the lengths of their bags."""
        return self._recorded, self.mode == "mean"

    def _record(self, lookups: Lookups) -> None:
        if not self._optimized:
            raise RuntimeError(
                "a FIITEDEmbeddingBag is trained by a FIITEDOptimizer: make one for it before the first backward pass"
            )
        self._recorded.append(lookups)

    def _rows(self, rows: Tensor | Sequence[int] | None) -> Tensor:
        if rows is None:
            return torch.arange(self.num_embeddings, device="cpu")
        which = torch.as_tensor(rows, dtype=torch.int64, device="cpu").reshape(-1).contiguous()
        wrong = (which < 0) | (which >= self.num_embeddings)
        if wrong.any():
            at = int(wrong.nonzero()[0])
            raise IndexError(
                f"row {int(which[at])} at position {at} is out of range: rows run from 0 to {self.num_embeddings - 1}"
            )
        return which


class _Lookup(torch.autograd.Function):
    """Looks up, and records the gradient of what it gave. `counts` is given the number of bags of each table."""

    @staticmethod
    def forward(
        ctx: Any,
        anchor: Tensor,
        bag: FIITEDEmbeddingBag,
        inputs: list[Tensor],
        offsets: list[Tensor | None],
        counts: list[int],
    ) -> Tensor:
        output, rows, ends, bags = bag._look_up(inputs, offsets)
        ctx.bag, ctx.rows, ctx.ends = bag, rows, ends
        counts.extend(bags)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, ...]:
        # A copy: whoever made the gradient may write to it before the step.
        ctx.bag._record(Lookups(ctx.rows, ctx.ends, grad.clone(memory_format=torch.contiguous_format)))
        return ctx.bag.anchor.new_zeros(0), None, None, None, None
