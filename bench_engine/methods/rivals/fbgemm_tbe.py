"""FbgemmTbe: FBGEMM's table-batched embedding (Khudia et al. 2021, arXiv:2101.05615) with one table."""

import torch
from fbgemm_gpu.split_table_batched_embeddings_ops_common import PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import DenseTableBatchedEmbeddingBagsCodegen
from torch import Tensor, nn

from bench_engine.methods.rivals.table import RivalTable

_POOLING = {"sum": PoolingMode.SUM, "mean": PoolingMode.MEAN}
Request = tuple[Tensor, Tensor]


class FbgemmTbe(RivalTable):
    """The table in FBGEMM's dense TBE, which leaves the gradient of the whole table, as torch's embedding bag does.

    FBGEMM's other classes update the rows within the backward call (which would be another computation than the
    baseline's) or hold quantized rows; their forward calls were slower on float32. Knows no max.
    """

    def new_weight(self) -> nn.Parameter:
        """The memory that FBGEMM's module holds. Raises ValueError for a mode that it lacks."""
        if self.mode not in _POOLING:
            raise ValueError(f"FBGEMM pools by sum and mean only, not by {self.mode}")
        size = (self.num_embeddings, self.embedding_dim)
        self.tbe = DenseTableBatchedEmbeddingBagsCodegen([size], pooling_mode=_POOLING[self.mode], use_cpu=True)
        return self.tbe.weights

    def prepare(self, input: Tensor) -> Request:
        """(ids (B * L,), offsets (B + 1,)), both int64."""
        bags, size = input.shape
        return input.reshape(-1).long(), torch.arange(bags + 1) * size

    def lookup(self, request: Request) -> Tensor:
        """The pooled vectors (B, D)."""
        return self.tbe(*request)
