"""CompressedEmbeddingBag as a method of the benchmarks: one joint table at a share of the dense float32 bytes."""

from collections.abc import Sequence

from torch import Tensor

from bench_engine.kernels.budget import CompressedEmbeddingBag


class BudgetMethod(CompressedEmbeddingBag):
    """A CompressedEmbeddingBag that may take `compression` of the dense float32 bytes.

    `tables` are the rows of the tables that are joined to one of `num_embeddings` rows, `counts` the lookups of each
    row in the training part.
    """

    needs_counts = True
    needs_tables = True

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        tables: Sequence[int] | None = None,
        *,
        counts: Tensor,
    ) -> None:
        budget_mb = compression * num_embeddings * embedding_dim * 4 / 1e6
        super().__init__(list(tables or [num_embeddings]), embedding_dim, budget_mb, counts=counts, mode=mode)
