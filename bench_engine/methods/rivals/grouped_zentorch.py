"""zentorch over many tables: its backend of torch.compile on the untouched model, and its grouped op by itself."""

from typing import Any

import torch
import zentorch  # noqa: F401  (registers the backend and the op)
from torch import Tensor, nn

from bench_engine.methods.grouped_methods import ModelMethod, OpMethod, release
from bench_engine.methods.grouped_models import GroupedModel, Request

_MODES = {"sum": 0, "mean": 1, "max": 2}


class ZentorchCompile(ModelMethod):
    """The untouched model through torch.compile(backend="zentorch"), compiled for each shape. Inference only.

    It packs the weights of linear layers in place: the model gives something else when it is called without it.
    """

    def transformed(self, model: GroupedModel) -> Any:
        """The model, compiled by zentorch."""
        return torch.compile(model, backend="zentorch", dynamic=False)


class ZentorchGroup(OpMethod):
    """The op that zentorch's backend puts in the place of embedding bags that it groups. Inference only.

    How it shares the tables among threads is ZenDNN's variable ZENDNNL_EMBAG_THREAD_ALGO, which the registry sets.
    """

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        self._weights = release(model)
        count = len(self._weights)
        none: list[Tensor | None] = [None] * count
        # scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
        self._options = [0] * count, [_MODES[self.shape.mode]] * count, [0] * count, none, [0] * count, [-1] * count

    def prepare(self, request: Request) -> tuple[list[Tensor], list[Tensor]]:
        """Of each table its ids (B * L,) and offsets (B,)."""
        batch = self.shape.batch_size
        flat = [ids.reshape(-1) for ids in request.ids]
        return flat, [torch.arange(batch) * size for size in self.shape.bag_sizes]

    def lookup(self, prepared: tuple[list[Tensor], list[Tensor]]) -> list[Tensor]:
        """The vectors, (B, D) per table."""
        op = torch.ops.zentorch.zentorch_horizontal_embedding_bag_group
        return op(self._weights, *prepared, *self._options)

    def tables(self) -> list[Tensor]:
        """The weights (E, D)."""
        return self._weights

    def parameters(self) -> list[nn.Parameter]:
        """None: it does not train."""
        return []

    def kept(self) -> list[Tensor]:
        """The weights, and nothing beside them."""
        return self._weights
