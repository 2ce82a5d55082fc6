"""HashedEmbeddingBag: a large virtual embedding table in one small buffer, computed by a compiled kernel."""

from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels import _hashed_ops
from bench_engine.kernels.bags import Bags
from bench_engine.kernels.hashed_reference import HashedTable


class HashedEmbeddingBag(HashedTable):
    """`HashedTable` on the compiled kernel: float32 and float64, results and gradients the same at any thread count.

    Saves no (N, D) tensor for backward; differentiable twice. `materialize` takes the hash in plain PyTorch, so it
    checks the kernel too. Raises KernelsNotBuiltError where the kernels are not built.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1 / 64,
        mode: str = "sum",
        _weight: Tensor | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        _hashed_ops.load()
        super().__init__(num_embeddings, embedding_dim, compression, mode, _weight, device, dtype)

    def __setstate__(self, state: dict[str, Any]) -> None:
        _hashed_ops.load()  # a copy or an unpickled module was not constructed
        super().__setstate__(state)

    def pooled(self, bags: Bags) -> Tensor:
        output, _ = torch.ops.mirror.hashed_embedding_bag(
            self.hashed_weight, bags.ids, bags.offsets, self.num_embeddings, self.embedding_dim, self.mode
        )
        return output
