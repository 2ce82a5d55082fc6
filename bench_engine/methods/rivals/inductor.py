"""InductorEmbeddingBag: torch.compile of torch's own embedding bag."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.kernels.compressed.dense import DenseEmbeddingBag


def _embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None, mode: str) -> Tensor:
    return F.embedding_bag(input, weight, offsets, mode=mode)


class InductorEmbeddingBag(DenseEmbeddingBag):
    """The dense table with its call compiled for each shape, at the first call with it.

    Inductor keeps torch's own kernel for the lookup: what differs from `dense` are the guards around it. Written as a
    gather and a sum, which Inductor would fuse, the forward call was several times slower.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compiled = torch.compile(_embedding_bag, dynamic=False)

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """The pooled vectors (B, D), by the compiled call."""
        return self._compiled(input, self.weight, offsets, self.mode)
