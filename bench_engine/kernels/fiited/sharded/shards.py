"""Which process owns which row, and states of a table that are taken apart and put together accordingly."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.fiited.saved import State

_MULTIPLIER = 0xBF58476D1CE4E5B9 - 2**64  # of splitmix64 (Steele et al. 2014), as int64


def owner_of(rows: Tensor, world_size: int) -> Tensor:
    """The rank that owns each row (n,), int64.

    Rows are hashed: those that live at the start lie at equal distances, and a remainder could give all to one rank.
    """
    mixed = rows * _MULTIPLIER
    return ((mixed ^ (mixed >> 31)) & 0x7FFFFFFF) % world_size


def own_part(packed: Mapping[str, Any], rank: int, world_size: int) -> dict[str, Any]:
    """Of a state, or of a part of one, what a rank owns."""
    state = State(**packed["state"])
    mine = owner_of(state.rows, world_size) == rank
    chunks = mine.repeat_interleave(_chunks_of(state.live))
    part = State(
        rows=state.rows[mine],
        live=state.live[mine],
        utilities=state.utilities[mine],
        ages=state.ages[mine],
        weights=state.weights[chunks],
        slots=state.slots[chunks],
        counters=state.counters,
        seen=state.seen // world_size,
    )
    return {**packed, "shard": [rank, world_size], "state": dict(part._asdict())}


def join(parts: Sequence[Mapping[str, Any]], rank: int = 0, world_size: int = 1) -> dict[str, Any]:
    """One state of parts that have no row in common, marked as that of a rank. Raises ValueError."""
    for name in parts[0].keys() - {"shard", "state"}:
        if any(part.get(name) != parts[0][name] for part in parts):
            raise ValueError(f"the shards were not saved together: they differ in {name}; take an older checkpoint")
    states = [State(**part["state"]) for part in parts]
    rows = torch.cat([state.rows for state in states])
    live = torch.cat([state.live for state in states])
    order = rows.argsort()
    by_chunk = torch.repeat_interleave(rows, _chunks_of(live)).argsort(stable=True)
    whole = State(
        rows=rows[order],
        live=live[order],
        utilities=torch.cat([state.utilities for state in states])[order],
        ages=torch.cat([state.ages for state in states])[order],
        weights=torch.cat([state.weights for state in states])[by_chunk],
        slots=torch.cat([state.slots for state in states])[by_chunk],
        counters=_largest(state.counters for state in states),
        seen=torch.stack([state.seen for state in states]).sum(0),
    )
    return {**parts[0], "shard": [rank, world_size], "state": dict(whole._asdict())}


def _chunks_of(live: Tensor) -> Tensor:
    """Live chunks (n,) of rows with these bit masks."""
    return (live.unsqueeze(1) >> torch.arange(16) & 1).sum(1)


def _largest(counters: Iterable[Tensor]) -> Tensor:
    """A row's counters are in the same places in every process, so that the largest never count it too low."""
    largest, *others = counters
    for more in others:
        largest = torch.maximum(largest, more)
    return largest
