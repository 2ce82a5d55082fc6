"""ClusteredEmbeddingBag: what parts of vectors ids share is found by clustering them while a table trains."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import Bags, PlainEmbeddingBag, at_least, check_compression, initial_bound
from bench_engine.kernels.fiited.table_optimizer import check_alone
from bench_engine.kernels.hashed.hashing import below, mix64, table_seed

_MOST_ROWS = 256  # that a code of a byte tells apart
_FIXED_BYTES = 16  # lookups and clusterings so far
_TURNS = 10  # of k-means
_SAMPLE = 256  # ids for each cluster
_IDS_AT_ONCE = 1 << 16


class ClusteredEmbeddingBag(PlainEmbeddingBag):
    """Clustered compositional embeddings (CCE, Tsang & Ahle 2023, NeurIPS, arXiv:2210.05974).

    Part j of the vector of id i: `weight[0, code[i, j], j] + weight[1, h(i, j), j]`, of k rows each. Codes start as
    hashes. A clustering puts the j-th parts of all ids into k clusters (k-means on at most 256 k of them): their
    centers become the first rows, codes say who is in which, and the second rows become zeros that another hash h leads
    to, with optimizer states as at the start. So what a cluster has in common is kept, and its ids may part again.
    Clusterings come when each id has been looked up `first` times in the mean, and whenever that has doubled.

    `compression` counts all bytes: rows, a byte for each code, which the paper leaves out since codes may lie
    elsewhere, and 16. k is the largest that fits, 256 at most.

    Args:
        num_embeddings, embedding_dim, compression, mode, device, dtype: as EmbeddingBagMethod.
        columns: parts of a vector; it has to divide D. Unless given the most of 4, 2 and 1 whose codes take at most two
            thirds of the bytes; 4 and two were better than one on the validation parts of frappe and ml-206k at 0.1.
        first: see above.
        most: clusterings in all.

    `follow` tells which optimizer steps it: without, there are no clusterings. Copies follow none. Starts so that
    vectors have the variance of a dense table's. Raises ValueError, also where no row fits beside the codes.
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
        columns: int | None = None,
        first: float = 16.0,
        most: int = 3,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        if columns is None:
            fitting = (c for c in (4, 2) if embedding_dim % c == 0 and 3 * c <= 2 * compression * embedding_dim * 4)
            columns = next(fitting, 1)
        if columns < 1 or embedding_dim % columns:
            raise ValueError(f"columns must be a divisor of {embedding_dim}, not {columns!r}")
        self.first, self.most = float(first), int(most)
        dense, codes = self.num_embeddings * self.embedding_dim * 4, self.num_embeddings * columns
        left = math.floor(compression * dense * (1 + 1e-12)) - codes - _FIXED_BYTES  # 0.29 * 100 is 28.999999999999996
        rows = min(left // (2 * self.embedding_dim * 4), _MOST_ROWS, self.num_embeddings)
        if rows < 1:
            least = (codes + _FIXED_BYTES + 2 * self.embedding_dim * 4) / dense
            hint = f": the smallest is {at_least(least)}" if least <= 1 else ""
            raise ValueError(f"compression {compression!r} leaves no row beside codes of {num_embeddings} ids{hint}")
        part = self.embedding_dim // columns
        self.weight = nn.Parameter(torch.empty(2, rows, columns, part, device=device, dtype=dtype))
        self.code: Tensor
        self.progress: Tensor
        self.register_buffer("code", torch.empty(self.num_embeddings, columns, dtype=torch.uint8, device=device))
        self.register_buffer("progress", torch.zeros(2, dtype=torch.int64, device=device))  # lookups, clusterings
        self._followed = False
        self._looked_up = 0  # since the last step
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw rows anew, and forget what has been clustered."""
        bound = initial_bound(self.num_embeddings) / math.sqrt(2)
        nn.init.uniform_(self.weight, -bound, bound)
        self.progress.zero_()
        self.code.copy_(self._hashes(torch.arange(self.num_embeddings, device=self.code.device), 1))

    def _hashes(self, ids: Tensor, stream: int) -> Tensor:
        """Row of each id in each column, (n, columns), by a hash that changes with each clustering."""
        seeds = [table_seed(stream, column) for column in range(self.code.size(1))]
        own = torch.tensor(seeds, device=ids.device) + self.progress[1] * 0x632BE59BD9B4E019
        return below(mix64(ids.long().unsqueeze(1) + own), self.weight.size(1))

    # -- looking up ------------------------------------------------------------------------------------------------

    def vectors(self, ids: Tensor) -> Tensor:
        """The parts of each id side by side, (n, D)."""
        ids = ids.long()
        column = torch.arange(self.code.size(1), device=ids.device)
        return (self.weight[0, self.code[ids].long(), column] + self.weight[1, self._hashes(ids, 0), column]).flatten(1)

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D)."""
        if self._followed and torch.is_grad_enabled():
            check_alone("a table that clusters ids", "train it in one process")
            self._looked_up += bags.ids.numel()
        return super().pooled(bags)

    # -- training --------------------------------------------------------------------------------------------------

    def follow(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Cluster after steps of what trains `weight`, when it is time. Gives the optimizer back."""
        self._followed = True
        optimizer.register_step_post_hook(lambda stepped, *_: self._after_step(stepped))
        return optimizer

    def _after_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.progress[0] += self._looked_up
        self._looked_up = 0
        lookups, done = self.progress.tolist()
        if done == self.most or lookups < self.first * self.num_embeddings * 2**done:
            return
        self.cluster()
        for group in optimizer.param_groups:
            for value in optimizer.state[self.weight].values() if self.weight in optimizer.state else ():
                if isinstance(value, Tensor) and value.shape == self.weight.shape:
                    value.fill_(group.get("initial_accumulator_value", 0.0))

    @torch.no_grad()
    def cluster(self) -> None:
        """Put the parts of all ids into clusters: see above."""
        vectors = self.materialize().unflatten(1, self.weight.shape[2:])
        draw = torch.Generator().manual_seed(int(self.progress[1]))
        rows = self.weight.size(1)
        sample = torch.randperm(self.num_embeddings, generator=draw)[: _SAMPLE * rows].to(vectors.device)
        for column in range(vectors.size(1)):
            parts = vectors[sample, column]
            centers = parts[:rows].clone()
            for _ in range(_TURNS):
                nearest = _nearest(parts, centers)
                counts = torch.bincount(nearest, minlength=rows)
                sums = torch.zeros_like(centers).index_add_(0, nearest, parts)
                centers = torch.where((counts > 0).unsqueeze(1), sums / counts.clamp_min(1).unsqueeze(1), centers)
            self.weight[0, :, column] = centers
            self.code[:, column] = _nearest(vectors[:, column], centers).to(torch.uint8)
        self.weight[1] = 0
        self.progress[1] += 1

    # -- what the benchmarks ask -----------------------------------------------------------------------------------

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Adagrad."""
        return self.follow(torch.optim.Adagrad(self.parameters(), lr=lr, eps=eps))

    def metadata_bytes(self) -> int:
        """Bytes of the codes, and what says when to cluster."""
        return self.code.nbytes + self.progress.nbytes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_followed": False, "_looked_up": 0}

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{super().extra_repr()}, rows=2 x {self.weight.size(1)}, columns={self.weight.size(2)}"


def _nearest(parts: Tensor, centers: Tensor) -> Tensor:
    """The center next to each part."""
    return torch.cat([torch.cdist(some, centers).argmin(1) for some in parts.split(_IDS_AT_ONCE)])
