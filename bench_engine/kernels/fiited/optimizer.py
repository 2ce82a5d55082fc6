"""FIITEDOptimizer: trains the tables of a model, counts their steps and lets them prune."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import nn

from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag

METHODS = ("sgd", "adagrad", "rowwise_adagrad", "adam")
_EPS = {"sgd": 0.0, "adagrad": 1e-10, "rowwise_adagrad": 1e-10, "adam": 1e-8}  # torch's own


class FIITEDOptimizer(torch.optim.Optimizer):
    """Updates what was looked up, as torch's optimizers update the rows of a torch.nn.EmbeddingBag.

    Args:
        modules: a model, a FIITEDEmbeddingBag, or several; all FIITEDEmbeddingBags in them are trained.
        method: "sgd", "adagrad", "rowwise_adagrad" (one slot per chunk: the mean of its squared gradient) or "adam"
            (as torch.optim.SparseAdam: only what was looked up moves).
        lr: learning rate.
        eps: added to the root of the slots; torch's default of the method unless given.
        betas: of adam.
        initial_accumulator_value: that slots of adagrad and rowwise_adagrad start at, those of restored chunks too.

    `step` raises FloatingPointError where a gradient is not finite, before anything is changed. Slots live with the
    chunks, in the state of the modules; the state of the optimizer holds its numbers.

    Raises ValueError.
    """

    def __init__(
        self,
        modules: nn.Module | Iterable[nn.Module],
        method: str = "adagrad",
        lr: float = 0.01,
        eps: float | None = None,
        betas: tuple[float, float] = (0.9, 0.999),
        initial_accumulator_value: float = 0.0,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method must be {', '.join(METHODS[:-1])} or {METHODS[-1]}, not {method!r}")
        eps = _EPS[method] if eps is None else eps
        for name, value in (("lr", lr), ("eps", eps), ("initial_accumulator_value", initial_accumulator_value)):
            if not arguments.is_number(value) or not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
        if (
            not isinstance(betas, Sequence)
            or len(betas) != 2
            or not all(arguments.is_number(beta) and 0 <= beta < 1 for beta in betas)
        ):
            raise ValueError(f"betas must be two numbers in [0, 1), not {betas!r}")
        roots = [modules] if isinstance(modules, nn.Module) else list(modules)
        wrong = next((root for root in roots if not isinstance(root, nn.Module)), None)
        if wrong is not None:
            raise TypeError(f"give a model or FIITEDEmbeddingBags, not a {type(wrong).__name__}")
        bags = dict.fromkeys(m for root in roots for m in root.modules() if isinstance(m, FIITEDEmbeddingBag))
        if not bags:
            raise ValueError("there is no FIITEDEmbeddingBag to train in what was given")
        self._bags = {bag.anchor: bag for bag in bags}
        super().__init__(self._bags, {"method": method, "lr": lr, "eps": eps, "betas": betas})
        slot_value = 0.0 if method in ("sgd", "adam") else initial_accumulator_value
        for bag in bags:
            bag.attach_optimizer(method, slot_value)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of every table. Raises FloatingPointError."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if not arguments.is_number(group["lr"]) or not 0 <= group["lr"] < math.inf:
                raise ValueError(f"lr must be a number of at least 0, not {group['lr']!r}")
        for bag in self._bags.values():
            if bag.anchor.grad is None:  # nothing was recorded, or zero_grad of the model has dropped it
                bag.forget_gradients()
            bag.check_gradients()
        events = []
        for group in self.param_groups:
            for anchor in group["params"]:
                bag = self._bags[anchor]
                events.append((bag, bag.train_step(float(group["lr"]), group["eps"], group["betas"])))
        for bag, event in events:
            if event is not None:
                bag.tell(event)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop what backward passes have recorded."""
        for bag in self._bags.values():
            bag.forget_gradients()
            bag.anchor.grad = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises ValueError where the state is of another method."""
        own = self.param_groups[0]["method"]
        for group in state_dict["param_groups"]:
            if group.get("method") != own:
                raise ValueError(f"the optimizer was saved with the method {group.get('method')}, this one has {own}")
        super().load_state_dict(state_dict)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Of anchors of its tables. Raises ValueError for other parameters."""
        given = param_group["params"]
        params = [given] if isinstance(given, torch.Tensor) else list(given)
        if any(param not in self._bags for param in params):
            raise ValueError("a FIITEDOptimizer trains FIITEDEmbeddingBags only: give other parameters to another one")
        super().add_param_group({**param_group, "params": params})

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "bags": list(self._bags.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        bags = state.pop("bags", None)
        if bags is not None:  # a copy, and no state of load_state_dict
            self._bags = {bag.anchor: bag for bag in bags}
        super().__setstate__(state)
