"""ShardedFIITEDEmbeddingBag: one table in many processes, each of which holds the rows that it owns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from bench_engine.kernels.fiited import budget, saved
from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag, Lookups
from bench_engine.kernels.fiited.pruning import PruneEvent, PruneForecast
from bench_engine.kernels.fiited.saved import State
from bench_engine.kernels.fiited.sharded import shards
from bench_engine.kernels.fiited.sharded.processes import Peers

_ROWS_AT_ONCE = 1 << 16  # vectors drawn at once at the start, a multiple of 16
_SETTINGS = (  # that must be the same in all processes
    *("rows_of_tables", "embedding_dim", "num_chunks", "pruning_ratio", "interval", "decay", "scope", "score", "mode"),
    *(
        "hashed_ids",
        "joint_ids",
        "seed",
        "min_turnover",
        "candidate_share",
        "admission_filter",
        "ttl",
        "init",
        "average",
    ),
)


class ShardedFIITEDEmbeddingBag(FIITEDEmbeddingBag):
    """A FIITEDEmbeddingBag whose rows are divided among the processes of a process group with the backend gloo.

    Every process gives its own batch, of any size, also an empty one, and gets the outputs of that batch; together they
    are one table with one budget, which trains and prunes as that of one process does that is given all batches, rank 0
    first. Only sums of vectors from several owners are added up in another order. Results do not depend on timing.
    A process holds the weights, utilities and index of its own rows only (`shards.owner_of`).

    All processes must make the same calls in the same order: forward (also in evaluation), the optimizer's step, prune,
    dry_run, materialize, live_mask, utilities, statistics, bytes_by_kind, memory_bytes, load_state_dict. Backward and
    zero_grad may be called or not. What one process refuses (an id out of range, a gradient that is not finite), all
    refuse with the same exception, which names the rank. Where a process has ended or hangs, the others raise
    LostProcessError within the timeout of the process group.

    Weights at the start are those of one process if torch has the same seed in all processes. PruneEvents tell counts
    and thresholds of the whole table, and evicted, admitted and expired chunks of the process's own rows. Unknown rows
    are counted by the admission filter of their owner, which may let them in a little later than one process would.

    Args:
        process_group: the processes; all of them unless given.
        average: divide gradients by the number of processes, as DistributedDataParallel does, so that a loss that is
            the mean over a batch in each process means the mean over all batches, if they are of one size.
        Others as FIITEDEmbeddingBag has them, and the same in all processes. The layout is "compact".

    Raises also RuntimeError where torch.distributed is not initialized, and LostProcessError.
    """

    def __init__(
        self, *args: Any, process_group: dist.ProcessGroup | None = None, average: bool = True, **options: Any
    ) -> None:
        self._peers = Peers(process_group)
        with self._peers.together("making a table"):
            if options.get("layout", "compact") != "compact":
                raise ValueError("a sharded table has the layout compact: the flat one would hold all rows everywhere")
            super().__init__(*args, **options)
            self.average = bool(average)
        self._peers.check_same({name: getattr(self, name) for name in _SETTINGS}, "making a table")

    @property
    def shard(self) -> tuple[int, int]:
        """(rank, world size) of this process."""
        return self._peers.rank, self._peers.size

    @property
    def peers(self) -> Peers:
        """The processes that hold the table."""
        return self._peers

    # -- looking up ------------------------------------------------------------------------------------------------

    def materialize(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """As FIITEDEmbeddingBag.materialize, at once; processes may ask for different rows."""
        return self._ask(rows, lambda own: self._storage.forward(own, torch.arange(len(own) + 1), False))

    def live_mask(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """As of the whole table: each process answers for its rows, and all must call."""
        return self._ask(rows, super().live_mask)

    def utilities(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """As of the whole table: each process answers for its rows, and all must call."""
        return self._ask(rows, super().utilities)

    # -- training --------------------------------------------------------------------------------------------------

    def check_gradients(self) -> None:
        """Raises FloatingPointError in all processes where a gradient recorded in one is not finite."""
        with self._peers.together("the check of gradients"):
            super().check_gradients()

    def _prune(self, listed: bool) -> PruneEvent:
        with self._peers.during("a prune event"):
            self._peers.meet(self.step_count)
            return super()._prune(listed)

    def dry_run(self, pruning_ratio: float) -> PruneForecast:
        """What a pruning of the whole table would do; all processes must call."""
        with self._peers.during("a dry run"):
            self._peers.meet(self.step_count)
            return super().dry_run(pruning_ratio)

    # -- sizes -----------------------------------------------------------------------------------------------------

    def bytes_by_kind(self) -> dict[str, int]:
        """As FIITEDEmbeddingBag.bytes_by_kind, of all processes together."""
        with self._peers.during("counting"):
            self._peers.meet(self.step_count)
            return super().bytes_by_kind()

    def own_bytes_by_kind(self) -> dict[str, int]:
        """The same of this process alone; the others need not ask."""
        return dict(self._storage.bytes())

    def statistics(self) -> Mapping[str, float]:
        """As FIITEDEmbeddingBag.statistics, of all processes together."""
        with self._peers.during("counting"):
            self._peers.meet(self.step_count)
            return super().statistics()

    def extra_repr(self) -> str:
        """What torch prints between the brackets of the module."""
        return f"{super().extra_repr()}, rank={self._peers.rank}, world_size={self._peers.size}"

    # -- inside ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def _start(self) -> None:
        """All processes draw all weights, as one would, and keep those of their own rows."""
        rows = budget.first_rows(self.rows_of_tables, self.num_chunks, self.budgets, self.scope)
        kept = []
        # torch draws 16 normal numbers at a time, the last ones again: only the last part may have any size.
        cuts = range(_ROWS_AT_ONCE, len(rows) - _ROWS_AT_ONCE + 1, _ROWS_AT_ONCE)
        mine = shards.owner_of(rows, self._peers.size) == self._peers.rank
        for some in mine.tensor_split(list(cuts)):
            kept.append(self._draw(len(some))[some])
        self._storage.load_state(list(saved.first_state(rows[mine], torch.cat(kept), self.num_chunks)))

    def _reduce(self, counts: Tensor) -> Tensor:
        return self._peers.add_up(counts)

    def _look_up(self, inputs: list[Tensor], offsets: list[Tensor | None]) -> tuple[Tensor, Tensor, Tensor, list[int]]:
        with self._peers.during("a lookup"):
            rows, ends, counts, refused = torch.empty(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), [], None
            try:
                seed = self.seed if self.hashed_ids else None
                rows, ends, counts = self._storage.bags(inputs, offsets, seed, self.joint_ids)
            except Exception as error:
                refused = error
            asked = _Parts.of(rows, ends, self._peers.size)
            asks = self._swap(asked, refused)
            sums = self._storage.forward(asks.rows, asks.ends(), False)
            sums = self._peers.exchange(sums, asks.bags_of, asked.bags_of)
        output = torch.zeros(len(ends) - 1, self.embedding_dim, dtype=torch.float32)
        # By rank, so that the order of additions is always the same.
        for bags, part in zip(asked.bags.split(asked.bags_of), sums.split(asked.bags_of), strict=True):
            output[bags] += part
        if self.mode == "mean":
            output /= ends.diff().clamp_min(1).unsqueeze(1)
        return output, rows, ends, counts

    def _recorded_lookups(self) -> tuple[list[Lookups], bool]:
        """What all processes have recorded for the rows of this one."""
        rows = torch.cat([torch.empty(0, dtype=torch.int64), *(r.rows for r in self._recorded)])
        lengths = torch.cat([torch.empty(0, dtype=torch.int64), *(r.offsets.diff() for r in self._recorded)])
        none = torch.empty(0, self.embedding_dim, dtype=torch.float32)
        grad = torch.cat([none, *(r.grad for r in self._recorded)])
        if self.mode == "mean":
            grad = grad * (1 / lengths.clamp_min(1).float()).unsqueeze(1)
        if self.average:
            grad = grad / self._peers.size
        with self._peers.during("a training step"):
            given = _Parts.of(rows, _ends(lengths), self._peers.size)
            got = self._swap(given)
            grad = self._peers.exchange(grad[given.bags], given.bags_of, got.bags_of)
        return [Lookups(got.rows, got.ends(), grad)], False

    def _swap(self, parts: "_Parts", refused: Exception | None = None) -> "_Parts":
        """Gives every owner its part; the parts that all processes have for this one."""
        rank, size = self.shard
        sizes = self._peers.meet(self.step_count, [*parts.rows_of, *parts.bags_of], refused)
        rows_of, bags_of = sizes[:, rank].tolist(), sizes[:, size + rank].tolist()
        sent = _interleave(parts.lengths.split(parts.bags_of), parts.rows.split(parts.rows_of))
        came = self._peers.exchange(sent, _sums(parts.bags_of, parts.rows_of), received := _sums(bags_of, rows_of))
        pieces = [part.tensor_split([bags]) for part, bags in zip(came.split(received), bags_of, strict=True)]
        return _Parts(
            rows=torch.cat([rows for _, rows in pieces]),
            lengths=torch.cat([lengths for lengths, _ in pieces]),
            bags=torch.empty(0, dtype=torch.int64),
            rows_of=rows_of,
            bags_of=bags_of,
        )

    def _ask(self, rows: Tensor | Sequence[int] | None, read: Callable[[Tensor], Tensor]) -> Tensor:
        """What `read` tells of rows (n, ...), asked of their owners."""
        with self._peers.together("reading rows"):
            which = self._rows(rows)
        with self._peers.during("reading rows"):
            owner = shards.owner_of(which, self._peers.size)
            order = owner.argsort(stable=True)
            asked = owner.bincount(minlength=self._peers.size).tolist()
            asks = self._peers.meet(self.step_count, asked)[:, self._peers.rank].tolist()
            answers = read(self._peers.exchange(which[order], asked, asks))
            answers = self._peers.exchange(answers, asks, asked)
        return torch.empty_like(answers).index_copy_(0, order, answers)

    def _checked(self, state: Mapping[str, Any]) -> State:
        """Also takes the whole table's state, of which it keeps its own rows."""
        with self._peers.together("loading a state"):
            if state.get("format") == saved.FORMAT and state.get("shard", [0, 1]) == [0, 1]:
                state = shards.own_part(state, *self.shard)
            found = super()._checked(state)
            if (shards.owner_of(found.rows, self._peers.size) != self._peers.rank).any():
                raise ValueError("this part of a table holds rows of other ranks: it may be damaged")
            return found


class _Parts(NamedTuple):
    """Lookups by rank: the parts of the bags that one rank is asked for, or that each asks for.

    Attributes:
        rows: (N,) int64, rank by rank and bag by bag.
        lengths: (n,) int64, rows of each part of a bag, none of which is empty.
        bags: (n,) int64, which bag each is a part of.
        rows_of, bags_of: how many rows and parts are of each rank.
    """

    rows: Tensor
    lengths: Tensor
    bags: Tensor
    rows_of: list[int]
    bags_of: list[int]

    @classmethod
    def of(cls, rows: Tensor, ends: Tensor, size: int) -> "_Parts":
        bags = max(len(ends) - 1, 1)
        owner = shards.owner_of(rows, size)
        by_owner, order = (owner * bags + torch.arange(len(ends) - 1).repeat_interleave(ends.diff())).sort(stable=True)
        part, lengths = by_owner.unique_consecutive(return_counts=True)
        return cls(
            rows=rows[order],
            lengths=lengths,
            bags=part % bags,
            rows_of=owner.bincount(minlength=size).tolist(),
            bags_of=(part // bags).bincount(minlength=size).tolist(),
        )

    def ends(self) -> Tensor:
        return _ends(self.lengths)


def _ends(lengths: Tensor) -> Tensor:
    """Where bags start and the last ends, (B + 1,)."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


def _interleave(first: Sequence[Tensor], second: Sequence[Tensor]) -> Tensor:
    return torch.cat([part for both in zip(first, second, strict=True) for part in both])


def _sums(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(first, second, strict=True)]
