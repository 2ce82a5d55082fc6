"""ZentorchEmbeddingBag: the embedding bag of zentorch, AMD's kernels for PyTorch (ZenDNN)."""

import torch
import zentorch  # noqa: F401  (registers the op)
from torch import Tensor

from bench_engine.methods.rivals.table import RivalTable

_MODES = {"sum": 0, "mean": 1, "max": 2}
Request = tuple[Tensor, Tensor]


class ZentorchEmbeddingBag(RivalTable):
    """The op that zentorch's backend of torch.compile puts in the place of embedding_bag, called directly.

    So the guards of torch.compile are not measured, which the method inductor has. Inference only.
    """

    def prepare(self, input: Tensor) -> Request:
        """(ids (B * L,), offsets (B,)), both int64."""
        bags, size = input.shape
        return input.reshape(-1).long(), torch.arange(bags) * size

    def lookup(self, request: Request) -> Tensor:
        """The pooled vectors (B, D)."""
        ids, offsets = request
        return torch.ops.zentorch.zentorch_embedding_bag(
            self.weight, ids, offsets, scale_grad_by_freq=False, mode=_MODES[self.mode], sparse=False
        )
