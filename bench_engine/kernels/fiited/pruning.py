"""A prune event: which chunks live from here on. The policy is in one place, for one process and for many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.fiited import ranking

Reduce = Callable[[Tensor], Tensor]  # adds counts up over all processes that hold a part of the table


@dataclass(frozen=True)
class Policy:
    """What a prune event aims at.

    Attributes:
        budgets: (groups,) int64, chunks that may live in each group.
        min_turnover: share of the budget below which nothing is moved.
        candidates: rows without a live chunk that keep their utilities.
        ttl: events after which a row that is not looked up is dropped; 0 is never.
        rows, chunks: how many there could be: numbers of rows and of virtual chunks are below.
    """

    budgets: Tensor
    min_turnover: float
    candidates: int
    ttl: int
    rows: int
    chunks: int


@dataclass(frozen=True)
class PruneEvent:
    """What a prune event did.

    Attributes:
        step: optimizer steps before it.
        threshold: (groups,) float32, the least utility that was kept; 0 where everything was.
        skipped: whether too little would have moved.
        num_evicted, num_admitted: chunks that moved.
        evicted, admitted: which, as virtual chunks (row * num_chunks + chunk), sorted; empty where nobody asked.
        expired: virtual chunks evicted because their rows were not looked up.
        evicted_weights: (len(evicted), chunk width), where they were asked for; else (0, chunk width).
        turnover: share of the budget that moved.
        live: chunks that live now.
    """

    step: int
    threshold: Tensor
    skipped: bool
    num_evicted: int
    num_admitted: int
    evicted: Tensor
    admitted: Tensor
    expired: Tensor
    evicted_weights: Tensor
    turnover: float
    live: int


@dataclass(frozen=True)
class PruneForecast:
    """What an event at another pruning ratio would do, if it were now.

    Attributes:
        pruning_ratio: that was asked about.
        budget: chunks that may live.
        threshold: (groups,) float32, the least utility that would be kept.
        live: chunks that live now.
        evicted, admitted: chunks that would be, without rows whose `ttl` is over, and with no `min_turnover`.
    """

    pruning_ratio: float
    budget: int
    threshold: Tensor
    live: int
    evicted: int
    admitted: int


def prune(
    storage: Any, policy: Policy, step: int, scale: float, listed: bool, with_weights: bool, reduce: Reduce
) -> PruneEvent:
    """Evict and admit, unless too little would move. Stored utilities times `scale` are their values.

    Kept are, in each group, as many chunks as its budget says of those that live or have a utility: by utility, then by
    number. Rows without a live chunk keep their utilities only if they are among the best `candidates`. What moved is
    told chunk by chunk where it is to be `listed`, for lists may be as large as a table.
    """
    nothing = torch.empty(0, dtype=torch.int64, device="cpu")
    expired = storage.age() if policy.ttl else nothing
    keep = thresholds(storage, policy.budgets, policy.chunks, reduce)
    moves = reduce(storage.moves(keep))
    budget = int(policy.budgets.sum())
    moved = int(moves.amax(1).sum()) + int(reduce(torch.tensor([len(expired)], device="cpu")))
    skipped = moved < policy.min_turnover * budget
    evicted, admitted, weights = nothing, nothing, torch.empty(0, 0)
    if not skipped:
        evicted, admitted, weights = storage.apply(keep, listed, with_weights)
    storage.forget(row_threshold(storage, policy.candidates, policy.rows, reduce))
    return PruneEvent(
        step=step,
        threshold=ranking.utility_of(keep) * scale,
        skipped=skipped,
        num_evicted=0 if skipped else int(moves[:, 0].sum()),
        num_admitted=0 if skipped else int(moves[:, 1].sum()),
        evicted=evicted,
        admitted=admitted,
        expired=expired,
        evicted_weights=weights,
        turnover=0.0 if skipped else moved / budget,
        live=int(reduce(torch.tensor([storage.live()], device="cpu"))),
    )


def forecast(
    storage: Any, budgets: Tensor, chunks: int, pruning_ratio: float, scale: float, reduce: Reduce
) -> PruneForecast:
    """What `prune` would do with other budgets; changes nothing."""
    keep = thresholds(storage, budgets, chunks, reduce)
    evicted, admitted = reduce(storage.moves(keep)).sum(0).tolist()
    return PruneForecast(
        pruning_ratio=pruning_ratio,
        budget=int(budgets.sum()),
        threshold=ranking.utility_of(keep) * scale,
        live=int(reduce(torch.tensor([storage.live()], device="cpu"))),
        evicted=evicted,
        admitted=admitted,
    )


def thresholds(storage: Any, budgets: Tensor, chunks: int, reduce: Reduce) -> Tensor:
    """Of chunks: (groups, 2), see ranking.thresholds."""

    def histogram(digit: ranking.Digit, prefix: Tensor) -> Tensor:
        return reduce(storage.histogram(False, digit.of_id, digit.shift, digit.bits, prefix))

    return ranking.thresholds(histogram, budgets, chunks)


def row_threshold(storage: Any, candidates: int, rows: int, reduce: Reduce) -> Tensor:
    """Of rows without a live chunk: (1, 2)."""

    def histogram(digit: ranking.Digit, prefix: Tensor) -> Tensor:
        return reduce(storage.histogram(True, digit.of_id, digit.shift, digit.bits, prefix))

    return ranking.thresholds(histogram, torch.tensor([candidates], device="cpu"), rows)
