"""Which way a model takes: it is served at once where its lookups read arguments; else it is compiled, once that pays.

To serve costs next to nothing to begin with. To compile takes seconds, so it waits until the calls of the model have
taken twice as long: a script of a few calls never pays for it, and one of many at most half as much again.
"""

import sys
import weakref
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry.serving import Serving
from bench_engine.kernels.parallel_op.entry.summary import Choice, Summary
from bench_engine.kernels.parallel_op.entry.turns import Compiling, Turns, own_hooks
from bench_engine.kernels.parallel_op.settings import DEFAULT_OPS, Settings

if TYPE_CHECKING:
    from bench_engine.kernels.parallel_op.entry.captured import Entered

# Seconds: the import of torch._dynamo, and what a graph takes for each op that may be grouped and for each module.
_IMPORT_SECONDS, _SECONDS_PER_OP, _SECONDS_PER_MODULE = 1.5, 0.1, 0.03
_RENT = 2  # how many times its price is paid in calls before a model is compiled

_is_compiling = torch.compiler.is_compiling


def put_under(
    root: nn.Module, number_of_ops: int, settings: Settings, made: Callable[["Turns | Waiting"], None]
) -> None:
    """Put what groups the calls of a model under it, from its next call on; `made` is told of what that is."""
    reference = weakref.ref(root)

    def stand_in(with_what: "Callable[[nn.Module], Turns | Waiting]") -> None:
        module = reference()
        if module is not None:
            made(found := with_what(module))
            module._compiled_call_impl = found

    def compiled(module: nn.Module) -> Turns:
        from bench_engine.kernels.parallel_op.entry.dynamo_call import turns_of

        return turns_of(module, settings)

    def waiting(module: nn.Module) -> Waiting:
        number_of_modules = sum(1 for _ in module.modules())
        return Waiting(module, price(number_of_ops, number_of_modules), lambda: stand_in(compiled))

    def served(module: nn.Module) -> Turns:
        serving = Serving(module, settings, own_hooks)
        return Turns(
            module,
            lambda _, mode: serving,
            ops.unsettled,
            serving,
            otherwise=lambda: stand_in(waiting),
            compiling=compiling(serving, settings, number_of_ops),
        )

    if _compiles_at_once(settings):
        stand_in(compiled)
        return
    try:
        stand_in(served)
    except ValueError:
        stand_in(waiting)


def compiling(serving: Serving, settings: Settings, number_of_ops: int) -> Compiling:
    """How a model that is served is compiled; calls that there is no graph for stay served."""
    here = weakref.ref(serving)  # whose compiled code will hold what is compiled

    def rest(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        found = here()
        return (module._call_impl if found is None else partial(found, module))(*args, **kwargs)

    def call(turns: Turns, mode: tuple[bool, ...]) -> "Entered":
        from bench_engine.kernels.parallel_op.entry import dynamo_call

        return dynamo_call.compiled(settings, turns, mode, rest)

    return Compiling(call, lambda: seconds_to_compile(number_of_ops))


def _compiles_at_once(settings: Settings) -> bool:
    """Whether ops were asked for by name that a compiler alone can see."""
    return bool(settings.ops - DEFAULT_OPS)


def price(number_of_ops: int, number_of_modules: int) -> float:
    """Seconds that the calls of a model take before it is compiled."""
    return _RENT * seconds_to_compile(number_of_ops, number_of_modules)


def seconds_to_compile(number_of_ops: int, number_of_modules: int = 0) -> float:
    """What the first graph of a model is expected to take."""
    loading = 0.0 if "torch._dynamo" in sys.modules else _IMPORT_SECONDS
    return loading + _SECONDS_PER_OP * number_of_ops + _SECONDS_PER_MODULE * number_of_modules


class Waiting:
    """Stands in for the call of a model until its calls have taken `seconds`; then `done` puts another in its place."""

    stands_in = True
    __slots__ = ("__weakref__", "_done", "_left", "_module", "choices", "summary")

    def __init__(self, module: nn.Module, seconds: float, done: Callable[[], None]) -> None:
        self._module, self._done = weakref.ref(module), done
        self._left = seconds * 1e9
        reason = f"its lookups do not read its arguments; it is compiled once its calls have taken {seconds:.1f} s"
        name = type(module).__name__
        self.summary = Summary(name, choices={None: Choice(name, "all calls", "untouched", reason=reason)})
        self.choices = self.summary.choices

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or pickle of the model holds None here: it is a model like any other."""
        return type(None), ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, and how long it took is counted."""
        module: Any = self._module()
        if _is_compiling():
            return module._call_impl(*args, **kwargs)
        start = perf_counter_ns()
        result = module._call_impl(*args, **kwargs)
        self._left -= perf_counter_ns() - start
        if self._left <= 0 and module.__dict__.get("_compiled_call_impl") is self:
            self._done()
        return result

    def take_off(self) -> None:
        """Give the model its own call back."""
        module = self._module()
        if module is not None and module.__dict__.get("_compiled_call_impl") is self:
            del module.__dict__["_compiled_call_impl"]
