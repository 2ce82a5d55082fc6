"""FBGEMM's table-batched embeddings (Khudia et al. 2021, arXiv:2101.05615) over many tables."""

from collections.abc import Sequence
from typing import Any

import torch
from fbgemm_gpu.split_embedding_configs import SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_inference import IntNBitTableBatchedEmbeddingBagsCodegen
from fbgemm_gpu.split_table_batched_embeddings_ops_training import DenseTableBatchedEmbeddingBagsCodegen
from fbgemm_gpu.tbe.config.embedding_config import BoundsCheckMode
from torch import Tensor, nn

from bench_engine.methods.grouped_methods import OpMethod, give, release
from bench_engine.methods.grouped_models import GroupedModel, Request

_POOLING = {"sum": PoolingMode.SUM, "mean": PoolingMode.MEAN}
Joined = tuple[Tensor, Tensor]


class Tbe(OpMethod):
    """All tables in one dense TBE, forward and backward; the gradient is that of all rows, as torch's is.

    TBE takes the ids of all tables as one tensor, table after table: they are joined before the clock starts.
    """

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        shape, weights = self.shape, release(model)
        self._sizes = [(shape.num_rows, shape.dim)] * len(weights)
        self._tbe = DenseTableBatchedEmbeddingBagsCodegen(self._sizes, pooling_mode=_POOLING[shape.mode], use_cpu=True)
        with torch.no_grad():
            give(weights, self.tables())

    def prepare(self, request: Request) -> Any:
        """The ids of all tables in FBGEMM's own layout."""
        return joined(request.ids, self.shape.bag_sizes)

    def lookup(self, prepared: Any) -> Tensor:
        """The vectors (B, T * D)."""
        return self._tbe(*prepared)

    def tables(self) -> list[Tensor]:
        """Views (E, D) of the one weight."""
        return self._split(self._tbe.weights)

    def table_gradients(self) -> list[Tensor]:
        """Views (E, D) of the one gradient."""
        return self._split(self._tbe.weights.grad)

    def parameters(self) -> list[nn.Parameter]:
        """The one weight of all tables."""
        return [self._tbe.weights]

    def kept(self) -> list[Tensor]:
        """Parameters and buffers of FBGEMM's module."""
        return [*self._tbe.parameters(), *self._tbe.buffers()]

    def _split(self, flat: Tensor) -> list[Tensor]:
        return list(flat.view(len(self._sizes), self.shape.num_rows, self.shape.dim))


class TbeJoined(Tbe):
    """The same for a model that has the ids of each table for itself: joining them is in the measured time."""

    def prepare(self, request: Request) -> Any:
        """The ids as they come: joining them is part of what is timed."""
        return request.joined if request.joined is not None else list(request.ids)

    def lookup(self, prepared: Any) -> Tensor:
        """The vectors (B, T * D), the ids joined first."""
        sizes = self.shape.bag_sizes
        if not isinstance(prepared, Tensor):
            return super().lookup(joined(prepared, sizes))
        if len(set(sizes)) > 1:
            return super().lookup(joined(prepared.split(sizes, 1), sizes))
        flat = prepared.view(-1, len(sizes), sizes[0]).transpose(0, 1).reshape(-1)  # one copy for all tables
        return super().lookup((flat, offsets(flat.numel(), len(prepared), sizes)))


class IntNBit(OpMethod):
    """All tables in FBGEMM's inference TBE, kept as float32, with no check of the ids; joined before the clock starts.

    It is made for quantized rows, of which float32 is one kind. Checking the ids would cost it a quarter more.
    """

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        shape, weights = self.shape, release(model)
        specs = [
            (f"t{table}", shape.num_rows, shape.dim, SparseType.FP32, EmbeddingLocation.HOST)
            for table in range(len(weights))
        ]
        self._tbe = IntNBitTableBatchedEmbeddingBagsCodegen(
            specs,
            pooling_mode=_POOLING[shape.mode],
            device="cpu",
            output_dtype=SparseType.FP32,
            bounds_check_mode=BoundsCheckMode.NONE,
            indices_dtype=torch.int64,
        )
        self._tbe.initialize_weights()
        give(weights, self.tables())

    def prepare(self, request: Request) -> Joined:
        """The ids of all tables in FBGEMM's own layout."""
        return joined(request.ids, self.shape.bag_sizes)

    def lookup(self, prepared: Joined) -> Tensor:
        """The vectors (B, T * D)."""
        return self._tbe(*prepared)

    def tables(self) -> list[Tensor]:
        """Views (E, D) of the bytes that FBGEMM keeps."""
        rows = (table for table, _ in self._tbe.split_embedding_weights())  # bytes, padded
        return [table[:, : 4 * self.shape.dim].view(torch.float32) for table in rows]

    def parameters(self) -> list[nn.Parameter]:
        """None: it does not train."""
        return []

    def kept(self) -> list[Tensor]:
        """The padded bytes of all tables."""
        return [table for table, _ in self._tbe.split_embedding_weights()]


def joined(ids: Sequence[Tensor], sizes: tuple[int, ...]) -> Joined:
    """The ids (B, L_t) of all tables as (ids (N,), offsets (T * B + 1,)), in the way that was fastest."""
    flat = torch.cat([table.reshape(-1) for table in ids])
    return flat, offsets(flat.numel(), ids[0].size(0), sizes)


def offsets(count: int, batch: int, sizes: tuple[int, ...]) -> Tensor:
    """Where the bags of each table start among all ids, and their end."""
    if len(set(sizes)) == 1:
        return torch.arange(0, count + 1, sizes[0])
    ends = torch.repeat_interleave(torch.tensor(sizes), batch).cumsum(0)
    return torch.cat([ends.new_zeros(1), ends])
