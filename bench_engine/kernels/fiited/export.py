"""What training leaves behind for those who only look up: a dense table, or the live chunks and where they are."""

from typing import Any

import torch
from torch import nn

from bench_engine.kernels.fiited import arguments, storage
from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag
from bench_engine.kernels.fiited.saved import State


def to_dense(bag: FIITEDEmbeddingBag) -> nn.EmbeddingBag | nn.ModuleList:
    """torch.nn.EmbeddingBag with the same vectors, pruned chunks as zeros; of several tables a list of them.

    Raises ValueError for hashed ids, which a dense table does not know.
    """
    if bag.hashed_ids:
        raise ValueError("a dense table does not hash ids: export with to_frozen")
    tables = [
        nn.EmbeddingBag.from_pretrained(part, freeze=False, mode=bag.mode)
        for part in bag.materialize().split(bag.rows_of_tables if not bag.joint_ids else bag.num_embeddings)
    ]
    return tables[0] if len(tables) == 1 else nn.ModuleList(tables)


def to_frozen(bag: FIITEDEmbeddingBag) -> "FrozenFIITEDEmbeddingBag":
    """The same look-ups in the least memory: live weights and an index of the rows that have some, and nothing else.

    Raises ValueError for a part of a sharded table.
    """
    if bag.shard[1] > 1:
        raise ValueError(
            "this is a part of a sharded table: load its checkpoint into a FIITEDEmbeddingBag and export it"
        )
    return FrozenFIITEDEmbeddingBag(bag)


class FrozenFIITEDEmbeddingBag(nn.Module):
    """A FIITEDEmbeddingBag that is not trained any more; `to_frozen` makes it. Called as the bag it was made from.

    It takes no gradients: outputs do not ask for one.
    """

    def __init__(self, bag: FIITEDEmbeddingBag) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.mode = bag.num_embeddings, bag.embedding_dim, bag.mode
        self._listed_tables = bag.listed_tables
        self._seed = bag.seed if bag.hashed_ids else None
        self._joint, self._mean = bag.joint_ids, bag.mode == "mean"
        self._made_with: tuple[Any, ...] = (
            "frozen",
            torch.tensor(bag.rows_of_tables).cumsum(0).tolist(),
            bag.embedding_dim,
            bag.num_chunks,
            int(bag._storage.live()),
            "global",
            0,
            0,
        )
        self._storage = storage.make(*self._made_with)
        self._storage.load_state(list(_live_part(State(*bag._storage.state()))))

    @torch.no_grad()
    def forward(self, input: Any, offsets: Any = None) -> Any:
        """As FIITEDEmbeddingBag.forward."""
        inputs, starts = arguments.per_table(input, offsets, self._listed_tables)
        output, _, _, counts = self._storage.lookup(inputs, starts, self._seed, self._joint, self._mean)
        return list(output.split(counts)) if self._listed_tables else output

    def bytes_by_kind(self) -> dict[str, int]:
        """Bytes in use: weights, index, owners (rows of blocks of chunks)."""
        return {kind: size for kind, size in dict(self._storage.bytes()).items() if size}

    def get_extra_state(self) -> dict[str, Any]:
        """Live rows and their chunks, and which table they are of."""
        return {**State(*self._storage.state())._asdict(), "of": self._of()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Raises ValueError where the state does not fit, or is another table's."""
        parts = dict(state)
        if (saved := parts.pop("of", self._of())) != self._of():
            told = "ends of its tables, dimension, chunks and hash seed"
            raise ValueError(f"the saved table has other {told}: {saved}, and this one {self._of()}")
        self._storage.load_state(list(State(**parts)))

    def _of(self) -> list[Any]:
        return [*self._made_with[1:4], self._seed]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_storage": list(self._storage.state())}

    def __setstate__(self, members: dict[str, Any]) -> None:
        super().__setstate__({k: v for k, v in members.items() if k != "_storage"})
        self._storage = storage.make(*self._made_with)
        self._storage.load_state(members["_storage"])


def _live_part(state: State) -> State:
    live = state.live != 0
    return state._replace(
        rows=state.rows[live],
        live=state.live[live],
        utilities=torch.zeros_like(state.utilities[live]),
        ages=torch.zeros_like(state.ages[live]),
        slots=state.slots[:, :0],
        counters=state.counters[:0],
    )
