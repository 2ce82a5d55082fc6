"""RivalTable: what rivals share: the dense table, its initial weights, and requests in the rival's own form."""

from abc import abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import EmbeddingBagMethod, initial_bound


class RivalTable(EmbeddingBagMethod):
    """A dense float32 table (E, D) on the CPU, pooled by a rival. `compression` must be 1.

    A subclass says how a request becomes the rival's own (`prepare`), what the rival does with it (`lookup`), and how
    its output becomes a tensor again (`as_tensor`). `forward` takes (B, L) ids as all methods do, or a prepared
    request; for that it returns what the rival returns, so that no conversion is measured that its users do not pay.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, compression: float = 1.0, mode: str = "sum") -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        if compression != 1:
            raise ValueError(f"a dense table keeps everything: compression must be 1, not {compression!r}")
        self.weight = self.new_weight()
        bound = initial_bound(num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    def new_weight(self) -> nn.Parameter:
        """Memory of the table: E * D elements, row by row."""
        return nn.Parameter(torch.empty(self.num_embeddings, self.embedding_dim))

    @abstractmethod
    def prepare(self, input: Tensor) -> Any:
        """The (B, L) ids as the rival takes them."""

    @abstractmethod
    def lookup(self, request: Any) -> Any:
        """The (B, D) output for a prepared request, complete when this returns."""

    def as_tensor(self, output: Any) -> Tensor:
        """What the rival returned, as a tensor (B, D)."""
        return output

    def vectors(self, ids: Tensor) -> Tensor:
        """The rows of these ids, (n, D)."""
        return F.embedding(ids, self.weight.view(self.num_embeddings, self.embedding_dim))

    def forward(self, input: Any, offsets: Tensor | None = None) -> Any:
        """Pool (B, L) ids, int32 or int64, to a tensor (B, D); or a prepared request to what the rival returns.

        Ids out of range are an error in the rival's words, or undefined where the rival does not look.
        """
        if offsets is not None:
            raise ValueError("a rival takes bags of one size, as (B, L) ids: leave offsets out")
        if isinstance(input, Tensor):
            return self.as_tensor(self.lookup(self.prepare(input)))
        return self.lookup(input)
