"""Embedding bags whose rows share vectors as a whole: by one hash of the id, or by the sum of two."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import (
    Bags,
    PlainEmbeddingBag,
    at_least,
    check_bags,
    check_compression,
    initial_bound,
    pool,
)
from bench_engine.kernels.hashed.hashing import below, mix64, table_seed


class _SharedRows(PlainEmbeddingBag):
    """`weight` of R = floor(compression * E) rows, which all ids share. Raises ValueError where R would be 0."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        rows = math.floor(compression * self.num_embeddings * (1 + 1e-12))  # 0.29 * 100 is 28.999999999999996
        if rows < 1:
            raise ValueError(
                f"compression {compression!r} leaves no row of {num_embeddings}: "
                f"the smallest is {at_least(1 / self.num_embeddings)}"
            )
        self.weight = nn.Parameter(torch.empty(rows, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)


class RowModuloEmbeddingBag(_SharedRows):
    """Vector of id i: `weight[i mod R]`, the hashing trick on whole rows (Weinberger et al. 2009, arXiv:0902.2206).

    What click models do when a vocabulary is cut to a table size. Starts uniform in ±sqrt(1 / E).
    """

    def vectors(self, ids: Tensor) -> Tensor:
        """The row that each id shares, (n, D)."""
        return F.embedding(ids % self.weight.size(0), self.weight)

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D), pooled by torch's own op."""
        check_bags(bags, self.num_embeddings)
        return F.embedding_bag(bags.ids % self.weight.size(0), self.weight, bags.offsets, mode=self.mode)


class DoubleHashEmbeddingBag(_SharedRows):
    """Vector of id i: `weight[h1(i)] + weight[h2(i)]`, two independent hashes into one table.

    After Zhang et al. 2020 (arXiv:2007.14523), for all ids, not only for rare ones. Two ids agree only where both of
    their rows do. Starts uniform in ±sqrt(1 / (2 E)), so that a sum has the variance of a dense vector.
    """

    def reset_parameters(self) -> None:
        """Draw the rows anew, with half the variance of a dense vector."""
        bound = initial_bound(self.num_embeddings) / math.sqrt(2)
        nn.init.uniform_(self.weight, -bound, bound)

    def rows(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The two rows of each id, int64."""
        first, second = (below(mix64(ids.long() + seed), self.weight.size(0)) for seed in _SEEDS)
        return first, second

    def vectors(self, ids: Tensor) -> Tensor:
        """The sums of the two rows of each id, (n, D)."""
        first, second = self.rows(ids)
        return F.embedding(first, self.weight) + F.embedding(second, self.weight)

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D): but for max, both rows are pooled apart and added."""
        check_bags(bags, self.num_embeddings)
        if self.mode == "max":
            return pool(self.vectors(bags.ids), bags, self.mode)
        first, second = (
            F.embedding_bag(rows, self.weight, bags.offsets.long(), mode=self.mode) for rows in self.rows(bags.ids)
        )
        return first + second


_SEEDS = (table_seed(0, 0), table_seed(0, 1))
