"""Lookups of a model served by one op while its own forward runs: no graph, no compiler.

The first call is learnt from: which argument each lookup reads. From then on the first lookup of a call computes all of
them with the one op, and each gets its result where nothing has changed since: its ids, its table and weight, hooks,
the mode of the thread, torch's own functions. Where anything has, torch's own op runs, so that a wrong guess costs time
and nothing else. The code that does so is in csrc/python.
"""

import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as module_hooks

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import learning
from bench_engine.kernels.parallel_op.entry.kept_sides import Memory
from bench_engine.kernels.parallel_op.entry.summary import Summary
from bench_engine.kernels.parallel_op.settings import Settings

_MOST_LESSONS = 3
_COLLAPSED = 2e9  # bytes a second that the system puts into huge pages, about
_OPS = {nn.Embedding: "aten.embedding", nn.EmbeddingBag: "aten.embedding_bag"}
# What the lookup of a table takes from its module besides the weight.
_ATTRIBUTES: dict[type[nn.Module], tuple[str, ...]] = {
    nn.Embedding: ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"),
    nn.EmbeddingBag: (
        "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse", "mode", "include_last_offset",
    ),
}  # fmt: skip


def can_be_served(module: nn.Module, whitelist: frozenset[str]) -> bool:
    """Whether a module is a table of torch's, of a kind that the op knows: on the CPU, without max_norm or the like."""
    return type(module) in _ATTRIBUTES and not obstacle(module, whitelist)


def obstacle(table: nn.Module, whitelist: frozenset[str]) -> str:
    """Why the lookups of a table cannot be served; empty where they can."""
    known: Any = table
    if type(table) not in _ATTRIBUTES:
        return "its class is not torch's own"
    if _OPS[type(table)] not in whitelist:
        return f"{_OPS[type(table)]} is not in the whitelist"
    if not all(name in table.__dict__ for name in _ATTRIBUTES[type(table)]):
        return "an attribute of it is computed"
    if known.weight is None:
        return "it has no weight"
    padding = known.padding_idx
    reasons = {
        "max_norm changes its table": known.max_norm is not None,
        "scale_grad_by_freq has no grouped gradient": known.scale_grad_by_freq,
        "its mode is unknown": getattr(known, "mode", "sum") not in ("sum", "mean", "max"),
        "padding_idx is negative": padding is not None and padding < 0,
        f"it is on {known.weight.device}": known.weight.device.type != "cpu",
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class Serving:
    """The calls of one model, served. `found` is True once lookups were found that read arguments of the call."""

    def __init__(self, root: nn.Module, settings: Settings, own_hooks: set[int]) -> None:
        """Stands in for the calls of the tables of `root`.

        Raises KernelsNotBuiltError, and ValueError where too few tables can be served or the compiled code is missing.
        """
        tables = {name: module for name, module in root.named_modules() if can_be_served(module, settings.ops)}
        ops.load()
        ops.configure(settings)
        compiled = extension.python_module()
        if not tables or compiled is None or not _ORIGINAL.complete():
            raise ValueError("nothing can be served")
        self.found = False
        self.summary = Summary(type(root).__name__)
        self._refused = {
            name: reason
            for name, module in root.named_modules()
            if isinstance(module, nn.Embedding | nn.EmbeddingBag) and (reason := obstacle(module, settings.ops))
        }
        self._lessons = 0
        self.lesson = ""  # what was learnt last
        self.memory = Memory(
            settings.cache_dir,
            f"{type(root).__module__}.{type(root).__qualname__}",
            [_identified(name, module) for name, module in tables.items()],
            extension.provenance().get("kernels_build", ""),
        )
        self._fewest, self._whitelist = settings.min_group, settings.ops
        self._wants_huge_pages = settings.huge_pages
        self._tables = [(name, weakref.ref(module)) for name, module in tables.items()]
        # What is compiled leads to no model and not to this object, which would never be freed.
        here = weakref.ref(self)

        def learn(seen: Sequence[learning.Seen], writes: bool, args: Any, kwargs: Any) -> learning.Lesson | None:
            serving = here()
            try:
                return None if serving is None else serving._learn(seen, writes, args, kwargs or {})
            except Exception:
                return None  # the script has its result already: what cannot be learnt is left untouched

        self.compiled = compiled.Serving(learn, _ORIGINAL.functions, hooks(own_hooks))
        pairs = []
        for number, module in enumerate(tables.values()):
            stand_in = _stand_in_type()(self.compiled, number, module)
            attributes = {name: module.__dict__[name] for name in _ATTRIBUTES[type(module)]}
            self.compiled.add_table(module, attributes, stand_in)
            module._compiled_call_impl = stand_in
            pairs.append((weakref.ref(module), stand_in))
        # The tables may outlive the model, and belong to another one then.
        self._give_back = weakref.finalize(self, _give_back, pairs)
        self._give_back.atexit = False

    @property
    def hopeless(self) -> bool:
        """Whether several calls had no lookups that read their arguments."""
        return not self.found and self._lessons >= _MOST_LESSONS

    def __call__(self, module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, its lookups served where they can be."""
        return self.compiled.serve(module, *args, **kwargs)

    def seconds_for_huge_pages(self) -> float:
        """What putting the tables that are served into huge pages takes; 0 where that is done or not wanted."""
        return sum(weight.nbytes for weight in self._weights()) / _COLLAPSED if self._wants_huge_pages else 0.0

    def use_huge_pages(self) -> None:
        """Put the tables that are served into huge pages where they lie, once."""
        if self._wants_huge_pages:
            self._wants_huge_pages = False
            self.summary.huge_bytes = torch.ops.mirror.use_huge_pages([w.detach() for w in self._weights()])

    def _weights(self) -> list[torch.Tensor]:
        modules = {name: module for name, reference in self._tables if (module := reference()) is not None}
        tables: list[Any] = [modules[name] for name in dict.fromkeys(self.summary.served) if name in modules]
        return [table.weight for table in tables if table.weight.device.type == "cpu"]

    def take_off(self) -> None:
        """Give the tables their own calls back."""
        self._give_back()

    def _learn(
        self, seen: Sequence[learning.Seen], writes: bool, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> learning.Lesson | None:
        self._lessons += 1
        tables = {}
        for number, (name, reference) in enumerate(self._tables):
            module = reference()
            if module is not None and can_be_served(module, self._whitelist):
                tables[number] = (name, module)
        found = learning.lesson(seen, writes, args, kwargs, tables, self._fewest)
        if found is not None:
            self.found = True
            self.lesson = repr(found)
            read = {number for number, *_ in found[3]}
            self.summary.served = tuple(self._tables[number][0] for number, *_ in found[3])
            self.summary.left = self._refused | {
                name: "its ids are computed in the forward"
                for number, (name, _) in enumerate(self._tables)
                if number not in read
            }
        return found


def _identified(name: str, module: Any) -> str:
    attributes = [module.__dict__[attribute] for attribute in _ATTRIBUTES[type(module)]]
    return f"{name} {type(module).__name__} {tuple(module.weight.shape)} {module.weight.dtype} {attributes}"


def _give_back(pairs: Sequence[tuple["weakref.ref[nn.Module]", Any]]) -> None:
    for reference, stand_in in pairs:
        module = reference()
        if module is not None and module.__dict__.get("_compiled_call_impl") is stand_in:
            del module.__dict__["_compiled_call_impl"]


class _Original:
    """Functions that a lookup goes through, as torch made them."""

    def __init__(self) -> None:
        tables: tuple[type[nn.Module], ...] = (nn.Embedding, nn.EmbeddingBag)
        owners = [(F.__dict__, ("embedding", "embedding_bag")), (torch.__dict__, ("embedding", "embedding_bag"))]
        names = ("forward", "_call_impl", "__getattr__")
        self.functions = tuple((owner, name, owner[name]) for owner, known in owners for name in known) + tuple(
            (kind, name, getattr(kind, name)) for kind in tables for name in names
        )

    def complete(self) -> bool:
        """Whether none had been replaced when they were looked at."""
        made = {"torch.nn.functional", "torch.nn.modules.sparse", "torch.nn.modules.module", "torch"}
        return all(getattr(function, "__module__", "") in made for _, _, function in self.functions)


# As early as this is imported, which is before the script has replaced any where the variable is set.
_ORIGINAL = _Original()


def door(own_hooks: set[int]) -> Any:
    """The compiled code that looks at calls and takes the way that was kept, for a model without tables to serve.

    None where it is missing, or functions of torch had been replaced before.
    """
    compiled = extension.python_module()
    if compiled is None or not _ORIGINAL.complete():
        return None
    return compiled.Serving(lambda *_: None, _ORIGINAL.functions, hooks(own_hooks))


def hooks(own: set[int]) -> tuple[tuple[Any, set[int]], ...]:
    """Hooks of all modules, with the numbers of those that need not see a lookup."""
    nobody: set[int] = set()
    return (
        (module_hooks._global_forward_hooks, nobody),
        (module_hooks._global_forward_pre_hooks, own),
        (module_hooks._global_backward_hooks, nobody),
        (module_hooks._global_backward_pre_hooks, nobody),
    )


@cache
def _stand_in_type() -> type:
    base: Any = extension.python_module().Table  # type: ignore[union-attr]

    class ServedTable(base):  # type: ignore[misc]
        """What a table has in the place of its own call."""

        stands_in = True
        __slots__ = ("_module",)

        def __init__(self, serving: Any, number: int, module: nn.Module) -> None:
            self._module = weakref.ref(module)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """What a compiler that reads Python takes; Python itself calls the compiled code."""
            module: Any = self._module()
            return module._call_impl(*args, **kwargs)

        def __reduce__(self) -> tuple[Any, ...]:
            """A copy or pickle of the table holds None here."""
            return type(None), ()

    base.call_compiled(ServedTable)
    return ServedTable
