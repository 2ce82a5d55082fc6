"""DenseEmbeddingBag: torch's own embedding bag behind the interface of the methods."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import EmbeddingBagMethod, initial_bound, padding_row


class DenseEmbeddingBag(EmbeddingBagMethod):
    """Every row with all its dimensions: `weight` (E, D), pooled by torch.nn.functional.embedding_bag.

    Starts uniform in ±sqrt(1 / E). `compression` must be 1. Ids that are padding_idx take no part in any bag. torch
    checks the input, in its own words, and unlike the other methods it takes no (B, 0) ids.
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
        padding_idx: int | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        self.padding_idx = padding_row(padding_idx, self.num_embeddings)
        if compression != 1:
            raise ValueError(f"a dense table keeps everything: compression must be 1, not {compression!r}")
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    def vectors(self, ids: Tensor) -> Tensor:
        """The rows of these ids, (n, D)."""
        return F.embedding(ids, self.weight)

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """torch.nn.EmbeddingBag's own call and nothing more, so that the baseline is what one would write."""
        return F.embedding_bag(input, self.weight, offsets, mode=self.mode, padding_idx=self.padding_idx)
