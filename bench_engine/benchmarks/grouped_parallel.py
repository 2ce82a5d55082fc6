"""Parallel OP as methods of grouped lookups: the untouched model, its backend of torch.compile, the op by itself."""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.benchmarks.grouped_methods import Eager, ModelMethod, OpMethod
from bench_engine.benchmarks.grouped_models import GroupedModel, Request
from bench_engine.kernels.parallel_op import GroupedEmbeddingBag, eager, ops, switching


class ParallelOp(Eager):
    """The untouched model in a process that was started with MIRROR_PARALLEL_OP=1, which the registry sets."""

    def __init__(self, model: GroupedModel) -> None:
        if switching.active_settings() is None:
            raise ValueError("MIRROR_PARALLEL_OP=1 is not heeded: install this package (pip install -e .), and set it")
        super().__init__(model)

    def environment(self) -> dict[str, Any]:
        """What was kept for the calls of the model, and how the op ran."""
        return {"parallel_op": [asdict(choice) for choice in eager.choices()], **_ways()}


class ParallelOpBackend(ModelMethod):
    """The untouched model through torch.compile(backend="parallel_op")."""

    def transformed(self, model: GroupedModel) -> Any:
        return torch.compile(model, backend="parallel_op")

    def environment(self) -> dict[str, Any]:
        return _ways()


class GroupedEmbedding(OpMethod):
    """The op called directly, without a compiler's guards; the ids of each table are passed as they are."""

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        self._weights = [table.weight for table in model.bags.tables]  # type: ignore[union-attr]
        apart = self.shape.structure in ("plain", "split_in")
        self._op = GroupedEmbeddingBag(self._weights, self.shape.mode, output="separate" if apart else "cat")

    def prepare(self, request: Request) -> list[Tensor] | Tensor:
        return list(request.ids) if request.joined is None else request.joined

    def lookup(self, prepared: list[Tensor] | Tensor) -> list[Tensor] | Tensor:
        if isinstance(prepared, Tensor):
            prepared = list(prepared.split(list(self.shape.bag_sizes), 1))
        return self._op(prepared)

    def tables(self) -> list[Tensor]:
        return list(self._weights)

    def parameters(self) -> list[nn.Parameter]:
        return list(self._op.parameters())

    def environment(self) -> dict[str, Any]:
        return _ways()


def _ways() -> dict[str, Any]:
    """The ways in which the op ran and the times they were chosen by, one line per kind of call."""
    ops.load()
    return {"parallel_op_choices": torch.ops.mirror.parallel_op_choices().splitlines()}
