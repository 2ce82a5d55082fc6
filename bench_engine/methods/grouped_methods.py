"""What a method of grouped lookups is, and the one that all others are compared with: torch's own loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.methods.grouped_models import GroupedModel, Request


class GroupedMethod(ABC):
    """One way to run a GroupedModel with its very weights.

    A method that keeps tables of its own copies the model's and lets go of them. What it cannot be is a ValueError.
    """

    def __init__(self, model: GroupedModel) -> None:
        self.shape = model.shape

    @abstractmethod
    def prepare(self, request: Request) -> Any:
        """The request as the method takes it; made before the clock starts."""

    @abstractmethod
    def __call__(self, prepared: Any) -> Any:
        """The model's output, complete when this returns: a tensor, or tensors that side by side are the output."""

    @abstractmethod
    def tables(self) -> list[Tensor]:
        """The weights (E, D) of each table, in the model's order."""

    @abstractmethod
    def parameters(self) -> list[nn.Parameter]:
        """All that has a gradient."""

    def kept(self) -> list[Tensor]:
        """All that inference must keep."""
        return list(self.parameters())

    def table_gradients(self) -> list[Tensor]:
        """The gradients (E, D) of each table, after a backward call."""
        return [gradient_of(table) for table in self.tables()]

    def settle(self, call: Callable[[int], object]) -> None:  # noqa: B027
        """Repeat the call that will be timed, `call(index of a request)`, until it runs as it will from then on.

        Only a method that tries out several ways in its first calls needs to.
        """

    def environment(self) -> dict[str, Any]:
        """What it did by itself that a result should tell, after it was timed."""
        return {}

    def head(self) -> nn.Module | None:
        """What turns the tables' vectors into the output of a whole model; None for a method without one."""
        return None


class ModelMethod(GroupedMethod):
    """The model as it was written, run by some means that does not ask for another model."""

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        self.model = model
        self._weights = [table.weight for table in model.bags.tables]  # type: ignore[union-attr]
        self.run: Any = self.transformed(model)

    @abstractmethod
    def transformed(self, model: GroupedModel) -> Any:
        """What is called in the model's place."""

    def prepare(self, request: Request) -> Any:
        """The arguments that the model is called with."""
        return request.arguments()

    def __call__(self, prepared: Any) -> Any:
        """The output of what stands in the model's place."""
        return self.run(*prepared)

    def tables(self) -> list[Tensor]:
        """The weights (E, D), which stay the model's."""
        return list(self._weights)

    def parameters(self) -> list[nn.Parameter]:
        """Those of the whole model."""
        return list(self.model.parameters())

    def kept(self) -> list[Tensor]:
        """Parameters and buffers of the whole model."""
        return [*self.model.parameters(), *self.model.buffers()]

    def head(self) -> nn.Module:
        """The model's own."""
        return self.model.head


class OpMethod(GroupedMethod):
    """An op for all tables at once, called directly in the place of a model that is nothing but its bags."""

    def __init__(self, model: GroupedModel) -> None:
        super().__init__(model)
        self.interleaved = model.shape.structure == "interleaved"

    @abstractmethod
    def lookup(self, prepared: Any) -> Any:
        """The vectors: a tensor (B, T * D), or one (B, D) per table."""

    def __call__(self, prepared: Any) -> Any:
        """The vectors of the op, finished as the model's structure says."""
        vectors = self.lookup(prepared)
        if isinstance(vectors, Tensor):  # side by side already: one relu is enough for all
            return F.relu(vectors) if self.interleaved else vectors
        if self.interleaved:
            return [F.relu(vector) for vector in vectors]
        return torch.cat(vectors, 1) if self.shape.structure == "concat_out" else vectors


class Eager(ModelMethod):
    """torch and nothing else: the modules one after another."""

    def transformed(self, model: GroupedModel) -> Any:
        """The model itself."""
        return model


def release(model: GroupedModel) -> list[Tensor]:
    """The weights of the model's tables, which it has no longer."""
    weights = [table.weight.detach() for table in model.bags.tables]  # type: ignore[union-attr]
    model.bags = nn.Identity()
    return weights


def give(weights: list[Tensor], places: Sequence[Tensor]) -> None:
    """Copy each table into its place and let go of it, so that no two copies of all are there at once."""
    for place in places:
        place.copy_(weights.pop(0))


def gradient_of(tensor: Tensor) -> Tensor:
    """Its gradient; zeros where the backward call left none."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
