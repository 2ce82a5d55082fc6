"""QuantizedOptimizer: trains the quantized tables of a model, and counts their steps."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.fiited.table_optimizer import TableOptimizer, check_number
from bench_engine.kernels.quantized.quantized_table import QuantizedTable

METHODS = ("rowwise_adagrad", "sgd")


class QuantizedOptimizer(TableOptimizer[QuantizedTable]):
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

    `step` raises FloatingPointError where a gradient is not finite, before anything is changed. Raises ValueError,
    also where another optimizer trains a table, and TypeError.
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
        check_number("initial_accumulator_value", initial_accumulator_value)
        kind: Any = QuantizedTable  # of which there are none but its kinds
        super().__init__(modules, kind, "quantized table", {"method": method, "lr": lr, "eps": eps})
        for table in self._tables.values():
            table.optimized, table.slot_start = True, float(initial_accumulator_value)
            state = self.state[table.anchor]
            state["step"] = torch.zeros((), dtype=torch.int64)
            if method == "rowwise_adagrad":
                start = float(initial_accumulator_value)
                state["sums"] = torch.full((len(table.rows),), start, dtype=torch.float32, device="cpu")

    def _train(self) -> None:
        numbers = {anchor: number for number, anchor in enumerate(self._tables)}
        for group in self.param_groups:
            for anchor in group["params"]:
                state = self.state[anchor]
                state["step"] += 1
                self._tables[anchor].train_step(
                    state.get("sums"), float(group["lr"]), float(group["eps"]), int(state["step"]), numbers[anchor]
                )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises ValueError where the state is of another method, or of tables with other rows."""
        for table, state in zip(self._tables.values(), state_dict["state"].values(), strict=False):
            if "sums" in state and len(state["sums"]) != len(table.rows):
                raise ValueError(
                    f"the optimizer was saved for a table of {len(state['sums'])} rows, and this one has "
                    f"{len(table.rows)}"
                )
        super().load_state_dict(state_dict)
        numbers = (number for group in state_dict["param_groups"] for number in group["params"])
        anchors = (anchor for group in self.param_groups for anchor in group["params"])
        for number, anchor in zip(numbers, anchors, strict=True):
            saved = state_dict["state"].get(number, {})
            if "sums" in saved:  # torch has made them of the anchor's type
                self.state[anchor]["sums"] = saved["sums"].to("cpu", torch.float32, copy=True)
            if "step" in saved:  # and left this one to both optimizers
                self.state[anchor]["step"] = saved["step"].clone()
