"""MemcomEmbeddingBag: shared rows, each id with a factor of its own."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound


class MemcomEmbeddingBag(PlainEmbeddingBag):
    """Vector of id i: `weight[i mod R] * factor[i]` (MEmCom, Pansare et al. 2022, MLSys, arXiv:2203.10135).

    With `bias` there is `+ offset[i]`, one number for all dimensions. `compression` counts all parameters: each id has
    4 bytes of its own (8 with bias), which at D = 16 is a sixteenth of the dense table, and R is what is left of it.

    Starts with `weight` uniform in ±sqrt(1 / E), factors of 1 and offsets of 0. Raises ValueError where no row is left.
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
        bias: bool = False,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        own = self.num_embeddings * (2 if bias else 1)
        numbers = math.floor(compression * self.num_embeddings * self.embedding_dim * (1 + 1e-12))
        rows = (numbers - own) // self.embedding_dim
        if rows < 1:
            least = (own + self.embedding_dim) / (self.num_embeddings * self.embedding_dim)
            hint = f": the smallest is {at_least(least)}" if least <= 1 else ""
            raise ValueError(
                f"compression {compression!r} leaves no shared row beside {own} numbers of {num_embeddings} ids{hint}"
            )
        self.weight = nn.Parameter(torch.empty(rows, embedding_dim, device=device, dtype=dtype))
        self.factor = nn.Parameter(self.weight.new_empty(self.num_embeddings, 1))
        self.offset = nn.Parameter(self.weight.new_empty(self.num_embeddings, 1)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the rows anew, and forget factors and offsets."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.ones_(self.factor)
        if self.offset is not None:
            nn.init.zeros_(self.offset)

    def vectors(self, ids: Tensor) -> Tensor:
        """The shared row of each id times its factor: (n, D)."""
        found = F.embedding(ids % self.weight.size(0), self.weight) * F.embedding(ids, self.factor)
        return found if self.offset is None else found + F.embedding(ids, self.offset)
