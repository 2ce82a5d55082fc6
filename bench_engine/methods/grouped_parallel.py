"""Parallel OP as methods of grouped lookups: the untouched model, its ways through torch.compile, the op by itself."""

from collections.abc import Callable
from dataclasses import asdict
from time import monotonic
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.data.requests import BATCHES
from bench_engine.kernels.parallel_op import GroupedEmbeddingBag, ops
from bench_engine.kernels.parallel_op.entry import eager
from bench_engine.kernels.parallel_op.entry.turns import Turns
from bench_engine.kernels.parallel_op.graph import report
from bench_engine.kernels.parallel_op.settings import active_settings
from bench_engine.methods.grouped_inductor import InductorModel
from bench_engine.methods.grouped_methods import Eager, GroupedMethod, ModelMethod, OpMethod
from bench_engine.methods.grouped_models import GroupedModel, Request

# To settle: the op measures its ways and then the model takes its turns, which is over after some 250 calls; as many
# again where a compiled side joins.
MOST_CALLS, MOST_SECONDS = 800, 30.0


class _Settling(GroupedMethod):
    """A method whose op measures its own ways in the first calls: they are made before anything is timed."""

    settled = False

    def settle(self, call: Callable[[int], object]) -> None:
        """Whole rotations of the requests, until one calls nothing that is still being measured; within limits."""
        end = monotonic() + MOST_SECONDS
        for _ in range(MOST_CALLS // BATCHES):
            before = ops.unsettled()
            for index in range(BATCHES):
                call(index)
                if monotonic() > end:
                    return
            # Kinds that the check for correctness alone called stay as they were.
            self.settled = all(before.get(kind) == calls for kind, calls in ops.unsettled().items()) and self.chosen()
            if self.settled:
                return

    def chosen(self) -> bool:
        """Whether all is chosen that the op does not choose by itself."""
        return True

    def environment(self) -> dict[str, Any]:
        """Whether the ways of the op were settled before it was timed; each way with its times, a line per kind."""
        return {"parallel_op_settled": self.settled, "parallel_op_choices": ops.choices().splitlines()}


class ParallelOp(_Settling, Eager):
    """The untouched model in a process that was started with MIRROR_PARALLEL_OP=1, which the registry sets."""

    def __init__(self, model: GroupedModel) -> None:
        _check_switched_on()
        super().__init__(model)

    def chosen(self) -> bool:
        """Whether the model's own turns are over for calls with gradients as they are on now."""
        turns = self.model._compiled_call_impl
        return not isinstance(turns, Turns) or any(grad == torch.is_grad_enabled() for grad, *_ in turns.choices)

    def environment(self) -> dict[str, Any]:
        """What was kept for the calls of the model, and how the op ran."""
        return {"parallel_op": [asdict(choice) for choice in eager.choices()], **super().environment()}


class ParallelOpSettled(ParallelOp):
    """The same process after as many calls as it waits for before it puts its tables into huge pages and compiles."""

    def chosen(self) -> bool:
        """Whether nothing waits for more calls."""
        turns = self.model._compiled_call_impl
        if isinstance(turns, Turns):
            turns.hurry()
            return super().chosen() and not turns.waits
        return super().chosen()


class ParallelOpBackend(_Settling, ModelMethod):
    """The untouched model through torch.compile(backend="parallel_op")."""

    def transformed(self, model: GroupedModel) -> Any:
        """The model, compiled by the backend that groups."""
        return torch.compile(model, backend="parallel_op")


class ParallelOpInductor(_Settling, InductorModel):
    """The untouched model through Inductor in a process that was started with MIRROR_PARALLEL_OP=1."""

    def __init__(self, model: GroupedModel) -> None:
        _check_switched_on()
        super().__init__(model)

    def settle(self, call: Callable[[int], object]) -> None:
        """As others do. Raises ValueError where it would be plain Inductor that is timed."""
        # Where a cache of compiled graphs spared the pass there is no report, but the op tells of its calls.
        if not ops.choices() and not any(graph.groups for graph in report.reports()):
            raise ValueError("Parallel OP found no group in the graph that Inductor compiled: use inductor_model here.")
        super().settle(call)


class GroupedEmbedding(_Settling, OpMethod):
    """The op called directly, without a compiler's guards; the ids of each table are passed as they are."""

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        self._weights = [table.weight for table in model.bags.tables]  # type: ignore[union-attr]
        shape = self.shape
        self._op = GroupedEmbeddingBag(
            self._weights,
            shape.mode,
            output="separate" if shape.structure in ("plain", "split_in") else "cat",
            bag_sizes=shape.bag_sizes if shape.structure == "split_in" else None,
        )

    def prepare(self, request: Request) -> list[Tensor] | Tensor:
        """The ids of each table (B, L), or those of all side by side."""
        return list(request.ids) if request.joined is None else request.joined

    def lookup(self, prepared: list[Tensor] | Tensor) -> list[Tensor] | Tensor:
        """The vectors of all tables, by the grouped module."""
        return self._op(prepared)

    def tables(self) -> list[Tensor]:
        """The weights (E, D)."""
        return list(self._weights)

    def parameters(self) -> list[nn.Parameter]:
        """Those of the grouped module."""
        return list(self._op.parameters())


def _check_switched_on() -> None:
    if active_settings() is None:
        raise ValueError("MIRROR_PARALLEL_OP=1 is not heeded: install this package (pip install -e .), and set it")
