"""What a way to run a memory-bound operator is, and the one that all others are compared with: torch's own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bench_engine.methods.operators.memory_operators import Inputs, Operator


class OperatorMethod(ABC):
    """One way to run an operator, made for inputs like those that it is given.

    Args:
        operator: what is computed.
        inputs: of the shapes that will come; they need gradients where these are wanted.

    What it cannot be is a ValueError.
    """

    def __init__(self, operator: Operator, inputs: Inputs) -> None:
        self.operator = operator

    @abstractmethod
    def prepare(self, inputs: Inputs) -> Any:
        """The inputs as the method takes them; made before the clock starts."""

    @abstractmethod
    def __call__(self, prepared: Any) -> Any:
        """The output in the method's own form, complete when this returns."""

    def as_tensor(self, output: Any) -> Tensor:
        """What it returned, as a tensor."""
        assert isinstance(output, Tensor)
        return output

    def metrics(self) -> Mapping[str, float | None]:
        """What it tells of itself, under the names of result columns."""
        return {}

    def environment(self) -> Mapping[str, Any]:
        """What it did by itself that a result should tell."""
        return {}


class TorchOperator(OperatorMethod):
    """A function of torch tensors in the operator's place."""

    def __init__(self, operator: Operator, inputs: Inputs) -> None:
        super().__init__(operator, inputs)
        self.run: Any = self.transformed(operator, inputs)

    @abstractmethod
    def transformed(self, operator: Operator, inputs: Inputs) -> Any:
        """What is called in the operator's place."""

    def prepare(self, inputs: Inputs) -> Inputs:
        """The tensors themselves."""
        return inputs

    def __call__(self, prepared: Inputs) -> Any:
        """What stands in the operator's place returns."""
        return self.run(*prepared)


class EagerOperator(TorchOperator):
    """torch and nothing else."""

    def transformed(self, operator: Operator, inputs: Inputs) -> Any:
        """The operator itself."""
        return operator.call


def wants_gradients(inputs: Inputs) -> bool:
    """Whether a training step is timed."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
