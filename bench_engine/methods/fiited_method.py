"""FIITED as a method of the benchmarks: one joint table at a compression, with its own optimizer."""

from collections.abc import Sequence
from typing import Any

import torch

from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag
from bench_engine.kernels.fiited.optimizer import FIITEDOptimizer


class FIITEDMethod(FIITEDEmbeddingBag):
    """A FIITEDEmbeddingBag that keeps the fraction `compression` of the chunks: pruning_ratio = 1 - compression.

    `tables` are the rows of the tables that are joined to one of `num_embeddings` rows; other arguments are those of
    FIITEDEmbeddingBag.
    """

    needs_tables = True

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        tables: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            list(tables or [num_embeddings]),
            embedding_dim,
            pruning_ratio=round(1 - compression, 12),  # of 0.1 it is 0.9 and not 0.90000...2
            mode=mode,
            joint_ids=True,
            **options,
        )

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Adagrad."""
        return FIITEDOptimizer(self, "adagrad", lr=lr, eps=eps)

    def metadata_bytes(self) -> int:
        """Index, utilities, owners and what else is neither weights nor optimizer."""
        return self.memory_bytes() - self.bytes_by_kind()["weights"]

    def optimizer_bytes(self, optimizer: torch.optim.Optimizer) -> int:
        """Slots of all chunks."""
        return self.bytes_by_kind()["optimizer"]
