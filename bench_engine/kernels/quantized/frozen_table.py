"""Quantized tables that are only looked up in: modules that torch.export and torch.jit.trace take."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import check_index_type
from bench_engine.kernels.quantized import quantized_ops
from bench_engine.kernels.quantized.padded_pooling import bags_of, checked_dtype, checked_samples, of_call, pooled


class FrozenBag(nn.Module, ABC):
    """An embedding bag that is not trained any more. Called as the table it was made from; it takes no gradients.

    A graph of it that torch.export or torch.jit.trace records holds no check but that of ids: offsets that are wrong
    give wrong bags there and read nothing else.
    """

    def __init__(
        self, dim: int, mode: str, padding_idx: int | None, include_last_offset: bool, dtype: torch.dtype
    ) -> None:
        super().__init__()
        quantized_ops.load()
        self.embedding_dim, self.mode, self.padding_idx = dim, mode, padding_idx
        self.include_last_offset, self.dtype = include_last_offset, dtype

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Pool the vectors of each bag; arguments, result and errors as those of the table."""
        samples = checked_samples(input, per_sample_weights, self.mode, self.dtype)
        samples = None if samples is None else samples.detach()  # and no no_grad, which a graph that fails leaves on
        check_index_type("input", input)
        if offsets is None and input.dim() == 2 and self.mode != "max":
            ids = input.long().contiguous()
            return self._pool(ids, None, None if samples is None else samples.contiguous()).to(self.dtype)
        bags = bags_of(input, offsets, self.include_last_offset)
        ids = bags.ids.long().contiguous()
        samples = None if samples is None else samples.reshape(-1)[: ids.numel()].contiguous()
        if self.mode == "max":
            found = pooled(self.vectors(ids), bags, self.mode, padding=self.padding_idx)
        else:
            found = self._pool(ids, bags.offsets.long().contiguous(), samples)
        return of_call(found, offsets, self.include_last_offset).to(self.dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "FrozenBag":
        super()._apply(fn, recurse)
        self.dtype = checked_dtype(fn(torch.empty(0, dtype=self.dtype, device="cpu")).dtype)
        return self

    @abstractmethod
    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) float32 of ids (N,) int64."""

    @abstractmethod
    def _pool(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        """Sums or means (B, D) float32 of ids (B, L) int64, or (N,) with offsets (B,); contiguous all."""

    def memory_bytes(self) -> int:
        """Bytes that it holds."""
        return sum(buffer.nbytes for buffer in self.buffers())

    def __setstate__(self, state: dict[str, Any]) -> None:
        quantized_ops.load()  # a copy or an unpickled module was not constructed
        super().__setstate__(state)


class FrozenTable(FrozenBag):
    """A QuantizedEmbeddingBag or QuantizedQuotientRemainderEmbeddingBag without its training.

    Args:
        rows: uint8 (rows, bytes of a row).
        storage, dim, ids, remainders: what the bytes mean; `remainders` is 0 where each id has a row.
        mode, padding_idx, include_last_offset, dtype: as the table has them.
    """

    def __init__(
        self,
        rows: Tensor,
        storage: str,
        dim: int,
        ids: int,
        remainders: int,
        mode: str = "sum",
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(dim, mode, padding_idx, include_last_offset, dtype)
        self.storage, self.num_embeddings, self.remainders = storage, ids, remainders
        self.rows: Tensor
        self.register_buffer("rows", rows)

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) float32 of ids (N,) int64."""
        return self.summed(ids.unsqueeze(1), None, None)

    def summed(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        """Sums (B, D) float32, padding and mode whatever they are."""
        return self._of_kernel(ids, offsets, samples, -1, False)

    def _pool(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        padding = -1 if self.padding_idx is None else self.padding_idx
        return self._of_kernel(ids, offsets, samples, padding, self.mode == "mean")

    def _of_kernel(
        self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None, padding: int, mean: bool
    ) -> Tensor:
        found: Tensor = torch.ops.mirror.quantized_pool(
            self.rows,
            ids,
            offsets,
            samples,
            self.storage,
            self.embedding_dim,
            self.num_embeddings,
            self.remainders,
            padding,
            mean,
        )
        return found

    def extra_repr(self) -> str:
        """Sizes and storage."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}, storage={self.storage!r}"
