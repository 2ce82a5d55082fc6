"""DenseEmbeddingBag: torch's own embedding bag behind the interface of the methods."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import Bags, EmbeddingBagMethod, initial_bound


class DenseEmbeddingBag(EmbeddingBagMethod):
    """Every row with all its dimensions: `weight` (E, D), pooled by torch.nn.functional.embedding_bag.

    Starts uniform in ±sqrt(1 / E). `compression` must be 1. torch checks the ids, in its own words.
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
        if compression != 1:
            raise ValueError(f"a dense table keeps everything: compression must be 1, not {compression!r}")
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    def vectors(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)

    def pooled(self, bags: Bags) -> Tensor:
        return F.embedding_bag(bags.ids, self.weight, bags.offsets, mode=self.mode)
