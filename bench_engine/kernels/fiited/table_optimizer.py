"""What the optimizers share whose tables record in backward passes what a step trains on."""

import gc
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bench_engine.kernels.fiited import arguments


class Trainable(Protocol):
    """A table with an empty parameter whose gradient says that something was recorded."""

    anchor: nn.Parameter

    def forget_gradients(self) -> None:
        """Drop what backward passes have recorded since the last step."""

    def check_gradients(self) -> None:
        """Raises FloatingPointError where a recorded gradient holds what is not a number."""


TableT = TypeVar("TableT", bound=Trainable)

# Beside the tables, so that neither their copies nor their pickles hold an optimizer.
_TRAINED_BY: "weakref.WeakKeyDictionary[Any, weakref.ref[TableOptimizer[Any]]]" = weakref.WeakKeyDictionary()


class TableOptimizer(torch.optim.Optimizer, ABC, Generic[TableT]):
    """Trains tables of one kind, and nothing else; no two train one table.

    Args:
        modules: a model, a table, or several.
        kind: class of the tables.
        name: of one such table, for errors.
        defaults: the numbers of its method, and its name as `method`.

    Raises ValueError and TypeError.
    """

    def __init__(
        self, modules: nn.Module | Iterable[nn.Module], kind: type[TableT], name: str, defaults: dict[str, Any]
    ) -> None:
        for number in ("lr", "eps"):
            check_number(number, defaults[number])
        found = _tables_in(modules, kind, name)
        for table in found:
            if _has_optimizer(table):
                raise ValueError(
                    f"a {name} has an optimizer already, and two would both count its steps: train all tables by one, "
                    "or call release() of the other first"
                )
        self._kind = name
        self._tables: dict[Any, TableT] = {table.anchor: table for table in found}
        super().__init__(self._tables, defaults)
        self._take()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of every table. Raises FloatingPointError, and RuntimeError after `release`."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            check_number("lr", group["lr"])
        for table in self._tables.values():
            if _optimizer_of(table) is not self:
                raise RuntimeError("this optimizer was released, and its tables are for another one to train")
            if type(table.anchor) is not nn.Parameter:  # FSDP has put a part of it, or a view, in its place
                raise RuntimeError(
                    f"a {self._kind} is not trained under FSDP, which reduces gradients of parameters: a table's are "
                    "elsewhere, and its copies would drift apart; train it in one process"
                )
            if table.anchor.grad is None:  # nothing was recorded, or zero_grad of the model has dropped it
                table.forget_gradients()
            table.check_gradients()
        self._train()
        return loss

    @abstractmethod
    def _train(self) -> None:
        """Update all tables from what was recorded, which is known to be finite."""

    def release(self) -> None:
        """Give the tables up, so that another optimizer may train them; this one makes no further steps."""
        for table in self._tables.values():
            if _optimizer_of(table) is self:
                del _TRAINED_BY[table]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop what backward passes have recorded."""
        for table in self._tables.values():
            table.forget_gradients()
            table.anchor.grad = None

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
        if any(param not in self._tables for param in params):
            name = type(self).__name__
            raise ValueError(f"a {name} trains {self._kind}s only: give other parameters to another one")
        super().add_param_group({**param_group, "params": params})

    def _take(self) -> None:
        for table in self._tables.values():
            _TRAINED_BY[table] = weakref.ref(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "kind": self._kind, "tables": list(self._tables.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        tables = state.pop("tables", None)
        if tables is not None:  # a copy, and no state of load_state_dict
            self._kind = state.pop("kind")
            self._tables = {table.anchor: table for table in tables}
            self._take()
        super().__setstate__(state)


def begins_batch(parameter: torch.Tensor) -> bool:
    """Whether a forward pass begins anew: zero_grad has dropped the gradient, and with it what was recorded.

    One that is made again amid a backward pass, as activation checkpointing does, belongs to the batch whose other
    lookups are being recorded, although their gradient is not there yet.
    """
    return parameter.grad is None and torch._C._current_graph_task_id() == -1


def is_sharing(fn: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether what a module does to its tensors is to share their memory, as share_memory() of a model does."""
    return bool(fn(torch.empty(1, device="cpu")).is_shared())


def check_alone(name: str, instead: str) -> None:
    """Raises RuntimeError where a table is in the forward pass of a model that several processes have copies of."""
    around = DistributedDataParallel._get_active_ddp_module()
    if around is not None and around.process_group.size() > 1:
        raise RuntimeError(
            f"{name} is not trained under DistributedDataParallel, which sums gradients of parameters: a table's are "
            f"elsewhere, and its copies would drift apart; {instead}"
        )


def check_number(name: str, value: Any) -> None:
    """Raises ValueError unless it is a finite number of at least 0."""
    if not arguments.is_number(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}")


def _optimizer_of(table: Trainable) -> TableOptimizer[Any] | None:
    known = _TRAINED_BY.get(table)
    return None if known is None else known()


def _has_optimizer(table: Trainable) -> bool:
    if _optimizer_of(table) is not None:
        gc.collect()  # a scheduler and its optimizer hold each other
    return _optimizer_of(table) is not None


def _tables_in(modules: nn.Module | Iterable[nn.Module], kind: type[TableT], name: str) -> list[TableT]:
    roots = [modules] if isinstance(modules, nn.Module) else list(modules)
    wrong = next((root for root in roots if not isinstance(root, nn.Module)), None)
    if wrong is not None:
        raise TypeError(f"give a model or {name}s, not a {type(wrong).__name__}")
    members: Iterable[Any] = dict.fromkeys(m for root in roots for m in root.modules())
    tables = [m for m in members if isinstance(m, kind)]
    if not tables:
        raise ValueError(f"there is no {name} to train in what was given")
    return tables
