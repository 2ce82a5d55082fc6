"""Memory-bound operators by torch.compile (Inductor): as it is, with freezing, and with its C++ wrapper."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from bench_engine.methods.operators.memory_operators import Inputs, Operator
from bench_engine.methods.operators.operator_methods import TorchOperator


class InductorOperator(TorchOperator):
    """Compiled for these shapes; the guards around a call are measured too."""

    options: ClassVar[Mapping[str, bool]] = {}

    def transformed(self, operator: Operator, inputs: Inputs) -> Any:
        """The operator, compiled by Inductor."""
        return torch.compile(operator.call, dynamic=False, options=dict(self.options))


class InductorFreezing(InductorOperator):
    """Freezing makes constants of parameters and works out what depends on them alone. An operator's weights come as
    arguments, as in a function of a model, and stay arguments: what is seen is whether the option costs anything."""

    options: ClassVar[Mapping[str, bool]] = {"freezing": True}


class InductorCpp(InductorOperator):
    """The code around the kernels is C++ too."""

    options: ClassVar[Mapping[str, bool]] = {"cpp_wrapper": True}
