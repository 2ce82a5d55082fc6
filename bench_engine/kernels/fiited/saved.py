"""The state of a FIITED table as tensors: checked when it is loaded, and cut to a smaller budget."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from bench_engine.kernels.fiited import ranking
from bench_engine.kernels.fiited.pruning import Reduce

if TYPE_CHECKING:
    from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag

FORMAT = 1


class State(NamedTuple):
    """What a storage hands out and takes, sorted by row and the same for every layout.

    Attributes:
        rows: (n,) int64, rows with a live chunk or a utility.
        live: (n,) int32, bit j for chunk j.
        utilities: (n, k) bfloat16, as stored: times the scale they are the values.
        ages: (n,) int32, events since the last lookup.
        weights: (live chunks, chunk width) float32, by row and chunk.
        slots: (live chunks, slots of a chunk) float32.
        counters: of the admission filter, uint8.
        seen: (1,) int64, lookups that it has counted.
    """

    rows: Tensor
    live: Tensor
    utilities: Tensor
    ages: Tensor
    weights: Tensor
    slots: Tensor
    counters: Tensor
    seen: Tensor


def first_state(rows: Tensor, weights: Tensor, num_chunks: int) -> State:
    """Of whole rows with these weights (n, D), that nobody has looked up."""
    return State(
        rows=rows,
        live=torch.full((len(rows),), 2**num_chunks - 1, dtype=torch.int32),
        utilities=torch.zeros(len(rows), num_chunks, dtype=torch.bfloat16),
        ages=torch.ones(len(rows), dtype=torch.int32),  # as old as what was not looked up since the last event
        weights=weights.view(len(rows) * num_chunks, weights.size(1) // num_chunks),
        slots=torch.empty(len(rows) * num_chunks, 0),
        counters=torch.empty(0, dtype=torch.uint8),
        seen=torch.zeros(1, dtype=torch.int64),
    )


def pack(bag: "FIITEDEmbeddingBag", state: State) -> dict[str, Any]:
    """The state with what it belongs to, in types that torch.load takes with weights_only."""
    return {
        "format": FORMAT,
        "shard": list(bag.shard),
        "rows_of_tables": list(bag.rows_of_tables),
        "embedding_dim": bag.embedding_dim,
        "num_chunks": bag.num_chunks,
        "hash_seed": bag.seed if bag.hashed_ids else None,
        "step_count": bag.step_count,
        "rule": bag.rule,
        "utility_scale": bag.utility_scale,
        "state": dict(state._asdict()),
    }


def unpack(bag: "FIITEDEmbeddingBag", packed: Mapping[str, Any]) -> State:
    """The state. Raises ValueError where it is of another table, or of another part of it."""
    if packed.get("format") != FORMAT:
        raise ValueError(f"a FIITED state of format {FORMAT} is needed, not of {packed.get('format')!r}")
    own = pack(bag, State(*[torch.empty(0)] * 8))
    for name in ("embedding_dim", "num_chunks", "rows_of_tables", "hash_seed"):
        if packed[name] != own[name]:
            raise ValueError(
                f"the saved table has {name} {packed[name]}, this one {own[name]}: make it with the same {name}"
            )
    if (shard := packed.get("shard", [0, 1])) != own["shard"]:
        raise ValueError(
            f"this is the part of rank {shard[0]} of {shard[1]}, and here is rank {bag.shard[0]} of {bag.shard[1]}: "
            "load the checkpoint with sharded_checkpoint.load, which puts the parts together"
        )
    return State(**{name: part.cpu() for name, part in packed["state"].items()})


def cut(bag: "FIITEDEmbeddingBag", state: State, reduce: Reduce) -> State:
    """Evict what the table's budgets do not hold: the chunks of least utility, of equals those of higher number."""
    chunk = torch.arange(bag.num_chunks, device="cpu")
    live = (state.live.unsqueeze(1) >> chunk & 1).bool()
    at = live.flatten().nonzero().squeeze(1)  # in the order of the weights
    row, place = state.rows[at // bag.num_chunks], at % bag.num_chunks
    ends = torch.tensor(bag.rows_of_tables, device="cpu").cumsum(0)
    group = {"global": torch.zeros_like(at), "column": place}.get(bag.scope)
    if group is None:
        group = torch.searchsorted(ends, row, right=True)
    if (reduce(group.bincount(minlength=len(bag.budgets))) <= bag.budgets).all():
        return state
    number = row * bag.num_chunks + place
    bits = state.utilities.flatten()[at].view(torch.int16).long()

    def histogram(digit: ranking.Digit, prefix: Tensor) -> Tensor:
        values, before = (number, prefix[group, 1]) if digit.of_id else (bits, prefix[group, 0])
        fits = values >> digit.shift + digit.bits == before >> digit.shift + digit.bits
        if digit.of_id:
            fits &= bits == prefix[group, 0]
        size = 1 << digit.bits
        places = group * size + (values >> digit.shift & size - 1)
        return reduce(places[fits].bincount(minlength=len(bag.budgets) * size).view(-1, size))

    keep = ranking.thresholds(histogram, bag.budgets, bag.num_embeddings * bag.num_chunks)[group]
    kept = (bits > keep[:, 0]) | ((bits == keep[:, 0]) & (number <= keep[:, 1]))
    masks = torch.zeros_like(live.flatten())
    masks[at[kept]] = True
    return state._replace(
        live=(masks.view_as(live).int() << chunk).sum(1, dtype=torch.int32),
        weights=state.weights[kept],
        slots=state.slots[kept],
    )
