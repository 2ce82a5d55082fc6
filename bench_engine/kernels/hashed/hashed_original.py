"""HashedEmbeddingBagOriginal: the hashed embedding bag computed as the original project does, for comparison."""

from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.bags import as_bags, check_offsets
from bench_engine.kernels.hashed.hashed_table import HashedTable
from bench_engine.kernels.native import extension


class HashedEmbeddingBagOriginal(HashedTable):
    """`HashedTable` with the original's arguments and hash, on a scalar kernel after wanmeihuali/HashedEmbeddingBag.

    Every element costs two 64-bit modulos. For the backward of sum and mean the slots of all elements are kept,
    (N, D) int64, sorted, and runs of equal ones added up; max keeps its winners. float32 and float64, on the CPU;
    differentiable once. Raises KernelsNotBuiltError where the kernels are not built.
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
        super().__init__(num_embeddings, embedding_dim, compression, mode, _weight, device, dtype)

    def _load(self) -> None:
        extension.load()

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """As EmbeddingBagMethod.forward."""
        bags = as_bags(input, offsets)
        check_offsets(bags)
        call = (self.hashed_weight, bags.ids, bags.offsets, self.num_embeddings, self.embedding_dim, self.mode)
        if torch.is_grad_enabled() and self.hashed_weight.requires_grad:
            return _Lookup.apply(*call)
        return torch.ops.mirror.hashed_original(*call, False)[0]


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *call: Any) -> Tensor:
        weight, _, offsets, *_, ctx.mode = call
        output, kept = torch.ops.mirror.hashed_original(*call, True)
        ctx.num_slots = weight.numel()
        ctx.save_for_backward(kept, offsets)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kept, offsets = ctx.saved_tensors
        by_weight = torch.ops.mirror.hashed_original_backward(grad, kept, offsets, ctx.num_slots, ctx.mode)
        return by_weight, *[None] * 5
