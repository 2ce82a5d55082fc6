"""SmallDimEmbeddingBag: every row with fewer dimensions, brought back to D by a learned matrix."""

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
    check_ids,
    check_offsets,
    initial_bound,
    pool,
)


class SmallDimEmbeddingBag(PlainEmbeddingBag):
    """`weight` (E, d) times `projection` (d, D), without bias; d = D * compression, rounded (halves up).

    Bags are pooled first and projected then; max is taken over projected vectors. The parameters are
    (E + D) * d, so `projection` comes on top of the nominal compression; at compression 1 it is there too.

    Starts with `weight` uniform in ±sqrt(1 / E) and `projection` of variance 1 / d, so that vectors have the variance
    of a dense table's. Raises ValueError where d would be 0.
    """

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
        small_dim = math.floor(embedding_dim * compression + 0.5)
        if small_dim == 0:
            raise ValueError(
                f"compression {compression!r} leaves none of {embedding_dim} dimensions: "
                f"the smallest is {at_least(0.5 / embedding_dim)}, which keeps one"
            )
        self.weight = nn.Parameter(torch.empty(num_embeddings, small_dim, device=device, dtype=dtype))
        self.projection = nn.Parameter(torch.empty(small_dim, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and projection anew."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)
        projection_bound = math.sqrt(3 / self.projection.size(0))
        nn.init.uniform_(self.projection, -projection_bound, projection_bound)

    def vectors(self, ids: Tensor) -> Tensor:
        """The small vectors of these ids, projected: (n, D)."""
        return F.embedding(ids, self.weight) @ self.projection

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D): but for max, small vectors are pooled and then projected."""
        if self.mode == "max":
            check_bags(bags, self.num_embeddings)
            return pool(self.vectors(bags.ids), bags, self.mode)
        check_offsets(bags)
        try:
            small = F.embedding_bag(bags.ids, self.weight, bags.offsets, mode=self.mode)  # checks the ids
        except (IndexError, RuntimeError):
            check_ids(bags.ids, self.num_embeddings)
            raise
        return small @ self.projection
