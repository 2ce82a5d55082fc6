"""QuantizedOptimizer: trains the quantized tables of a model, and counts their steps."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from bench_engine.kernels.fiited import arguments

if TYPE_CHECKING:
    from bench_engine.kernels.quantized.quantized_table import QuantizedTable

METHODS = ("rowwise_adagrad", "sgd")


class QuantizedOptimizer(torch.optim.Optimizer):
    """Updates the rows that were looked up, and writes them back rounded at random.

    A row w with the gradient g becomes w - lr * g / (sqrt(s) + eps), where s, one float32 a row, is the sum over steps
    of the mean of g^2: row-wise Adagrad, as recommendation models have it; or w - lr * g for "sgd". Rows that were not
    looked up stay as they are, and so do rows whose gradient is zero.

    Rounding is drawn from the table's seed, the number of the step, of the table and of the row, and nothing else: a
    training that goes on from the states of model and optimizer has the same bits as one that was not interrupted, at
    any number of threads.

    Args:
        modules: a model, a quantized table, or several; all quantized tables in them are trained.
        method: "rowwise_adagrad" or "sgd".
        lr: learning rate.
        eps: added to the root of s.
        initial_accumulator_value: that s starts at.

    `step` raises FloatingPointError where a gradient is not finite, before anything is changed. Raises ValueError and
    TypeError.
    """

    def __init__(
        self,
        modules: nn.Module | Iterable[nn.Module],
        method: str = "rowwise_adagrad",
        lr: float = 0.01,
        eps: float = 1e-10,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        arguments.choice("method", method, METHODS)
        for name, value in (("lr", lr), ("eps", eps), ("initial_accumulator_value", initial_accumulator_value)):
            _check_number(name, value)
        self._tables = {table.anchor: table for table in _tables_in(modules)}
        super().__init__(self._tables, {"method": method, "lr": lr, "eps": eps})
        for table in self._tables.values():
            table.optimized = True
            state = self.state[table.anchor]
            state["step"] = torch.zeros((), dtype=torch.int64)
            if method == "rowwise_adagrad":
                state["sums"] = torch.full((len(table.rows),), float(initial_accumulator_value))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of every table. Raises FloatingPointError."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            _check_number("lr", group["lr"])
        for table in self._tables.values():
            if table.anchor.grad is None:  # nothing was recorded, or zero_grad of the model has dropped it
                table.forget_gradients()
            table.check_gradients()
        numbers = {anchor: number for number, anchor in enumerate(self._tables)}
        for group in self.param_groups:
            for anchor in group["params"]:
                state = self.state[anchor]
                state["step"] += 1
                self._tables[anchor].train_step(
                    state.get("sums"), float(group["lr"]), float(group["eps"]), int(state["step"]), numbers[anchor]
                )
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop what backward passes have recorded."""
        for table in self._tables.values():
            table.forget_gradients()
            table.anchor.grad = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises ValueError where the state is of another method, or of tables with other rows."""
        own = self.param_groups[0]["method"]
        for group in state_dict["param_groups"]:
            if group.get("method") != own:
                raise ValueError(f"the optimizer was saved with the method {group.get('method')}, this one has {own}")
        for table, state in zip(self._tables.values(), state_dict["state"].values(), strict=False):
            if "sums" in state and len(state["sums"]) != len(table.rows):
                raise ValueError(
                    f"the optimizer was saved for a table of {len(state['sums'])} rows, and this one has "
                    f"{len(table.rows)}"
                )
        super().load_state_dict(state_dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "tables": list(self._tables.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        tables = state.pop("tables", None)
        if tables is not None:  # a copy, and no state of load_state_dict
            self._tables = {table.anchor: table for table in tables}
        super().__setstate__(state)


def _check_number(name: str, value: Any) -> None:
    if not arguments.is_number(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}")


def _tables_in(modules: nn.Module | Iterable[nn.Module]) -> "list[QuantizedTable]":
    from bench_engine.kernels.quantized.quantized_table import QuantizedTable

    roots = [modules] if isinstance(modules, nn.Module) else list(modules)
    wrong = next((root for root in roots if not isinstance(root, nn.Module)), None)
    if wrong is not None:
        raise TypeError(f"give a model or quantized tables, not a {type(wrong).__name__}")
    tables = dict.fromkeys(m for root in roots for m in root.modules() if isinstance(m, QuantizedTable))
    if not tables:
        raise ValueError("there is no quantized table to train in what was given")
    return list(tables)
