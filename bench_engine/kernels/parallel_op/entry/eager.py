"""Untouched scripts: the first call of a model with embeddings puts the light backend under it, in place.

A global hook sees that call. Such a hook makes every module call slower, so it is there only while there are modules
of the whitelist that no model has called yet; creating one brings it.
"""

import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bench_engine.kernels.native.extension import KernelsNotBuiltError
from bench_engine.kernels.parallel_op.entry import ways
from bench_engine.kernels.parallel_op.entry.summary import Choice, Summary
from bench_engine.kernels.parallel_op.entry.turns import Turns, own_hooks
from bench_engine.kernels.parallel_op.settings import Settings

_CLASSES: dict[str, type[nn.Module]] = {
    "aten.embedding": nn.Embedding,
    "aten.embedding_bag": nn.EmbeddingBag,
    "aten.gelu": nn.GELU,
    "aten.layer_norm": nn.LayerNorm,
    "aten.linear": nn.Linear,
    "aten.relu": nn.ReLU,
    "aten.sigmoid": nn.Sigmoid,
    "aten.silu": nn.SiLU,
    "aten.tanh": nn.Tanh,
}
# They call the model in ways of their own, on replicas or with weights that are not there between calls.
_LEFT_ALONE = {"DataParallel", "FullyShardedDataParallel", "OptimizedModule", "ScriptModule"}
_PASSED_THROUGH = {"DistributedDataParallel"}  # the model inside gets the hook's attention
# Calls of any module. One that no model ever calls must not keep the hook for ever.
_PATIENCE = 20_000
# Choices of models that are gone: a process that makes models for ever must not grow for ever.
_KEPT = 1000

_watch: "_Watch | None" = None


def install(settings: Settings) -> None:
    """Watch for models that are made from now on."""
    global _watch
    uninstall()
    # torch.compile tells users that global hooks fire once more; this one does nothing there.
    warnings.filterwarnings("ignore", "Using `torch.compile\\(module\\)` when there are global hooks")
    # TorchScript reads attributes of a model, and would want a type of the one that stands in for its call.
    ignored = list(getattr(nn.Module, "__jit_ignored_attributes__", ()))
    if "_compiled_call_impl" not in ignored:
        nn.Module.__jit_ignored_attributes__ = [*ignored, "_compiled_call_impl"]  # type: ignore[attr-defined]
    for kind in (kind for name, kind in _CLASSES.items() if name in settings.ops):
        # Creating, copying and unpickling all come through here, and through nothing else.
        if "__new__" not in kind.__dict__:
            # A replica's is looked up on the module.
            kind.__new__ = staticmethod(_new(kind))  # type: ignore[method-assign, assignment]
    _watch = _Watch(settings)


def uninstall() -> None:
    """Stop watching, and give every model its own call back."""
    global _watch
    if _watch is not None:
        _watch.close()
    _watch = None


def choices() -> list[Choice]:
    """What was kept for which calls of which model so far."""
    return [choice for summary in summaries() for choice in summary.choices.values()]


def summaries() -> list[Summary]:
    """What was done with each model so far."""
    return _watch.summaries() if _watch is not None else []


class _Watch:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._classes = tuple(kind for name, kind in _CLASSES.items() if name in settings.ops)
        self._pending: dict[int, weakref.ref[nn.Module]] = {}
        self._looked_at: dict[int, weakref.ref[nn.Module]] = {}
        self._patience = 0
        self._hook: Any = None
        self._lock = threading.RLock()
        self._standing_in: weakref.WeakSet[Turns | ways.Waiting] = weakref.WeakSet()
        self._kept: deque[Summary] = deque(maxlen=_KEPT)
        self._replicate = nn.Module._replicate_for_data_parallel
        nn.Module._replicate_for_data_parallel = _replica_by(self._replicate)  # type: ignore[method-assign]

    def close(self) -> None:
        nn.Module._replicate_for_data_parallel = self._replicate  # type: ignore[method-assign]
        with self._lock:
            self._pending.clear()
            self._disarm()
            for stand_in in list(self._standing_in):
                stand_in.take_off()

    def summaries(self) -> list[Summary]:
        return [*self._kept, *(one.summary for one in list(self._standing_in))]

    def expect(self, made: nn.Module) -> None:
        if not isinstance(made, self._classes) or torch.compiler.is_compiling():
            return
        with self._lock:
            key = id(made)
            self._pending[key] = weakref.ref(made, lambda _: self._gone(key))
            self._looked_at.clear()
            self._patience = _PATIENCE
            if self._hook is None:
                self._hook = nn.modules.module.register_module_forward_pre_hook(self._before_a_call)
                own_hooks.add(self._hook.id)

    def _gone(self, key: int) -> None:
        self._pending.pop(key, None)
        if not self._pending:
            self._disarm()

    def _disarm(self) -> None:
        hook, self._hook = self._hook, None
        if hook is not None:
            hook.remove()

    def _before_a_call(self, module: nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
            return
        looked_at = self._looked_at.get(id(module))
        with self._lock:
            if looked_at is None or looked_at() is not module:
                self._looked_at[id(module)] = weakref.ref(module)
                self._look_at(module)
            self._patience -= 1
            if not self._pending or self._patience < 0:
                self._disarm()

    def _look_at(self, root: nn.Module) -> None:
        inside = list(root.modules())
        known = [module for module in inside if isinstance(module, self._classes)]
        if not any(id(module) in self._pending for module in known) or _named(root, _PASSED_THROUGH):
            return
        if len(known) < max(2, self._settings.min_group):
            return  # a table that is called by itself may belong to a model that is called later
        for module in known:
            self._pending.pop(id(module), None)
        if any(_named(module, _LEFT_ALONE) for module in inside):
            return  # its user does something that grouping would disturb
        weights = [weight for module in known for weight in module.parameters(recurse=False)]
        if any(type(weight) is not nn.Parameter for weight in weights):
            return  # sharded, quantized, lazy
        for module in inside:  # parts that were called by themselves before: the whole takes their tables over
            if isinstance(own := module.__dict__.get("_compiled_call_impl"), Turns | ways.Waiting):
                own.take_off()
        if any(module._compiled_call_impl is not None for module in inside):
            return  # its user compiles
        try:
            ways.put_under(root, len(known), self._settings, self._remember)
        except KernelsNotBuiltError as error:  # the call is the script's
            said = " ".join(str(error).split())[:300]
            print(f"Parallel OP leaves {type(root).__name__} as it is: {said}", file=sys.stderr)

    def _remember(self, stand_in: Turns | ways.Waiting) -> None:
        if isinstance(stand_in, Turns):  # whoever waits has done nothing yet
            weakref.finalize(stand_in, self._kept.append, stand_in.summary).atexit = False
        self._standing_in.add(stand_in)


def _new(kind: type[nn.Module]) -> Callable[..., nn.Module]:
    """A `__new__` for the class that tells of its instances. It stays: a class without one again takes no arguments."""

    def __new__(cls: type[nn.Module], *args: Any, **kwargs: Any) -> nn.Module:
        create = super(kind, cls).__new__
        made = create(cls) if create is object.__new__ else create(cls, *args, **kwargs)
        if _watch is not None:
            _watch.expect(made)
        return made

    __new__.__wrapped__ = kind.__init__  # type: ignore[attr-defined]  # what inspect.signature(kind) shows
    return __new__


def _named(module: nn.Module, names: set[str]) -> bool:
    return any(kind.__name__ in names for kind in type(module).__mro__)


def _take_off(model: nn.Module | None) -> None:
    if model is not None and getattr(model.__dict__.get("_compiled_call_impl"), "stands_in", False):
        del model.__dict__["_compiled_call_impl"]


def _replica_by(replicate: Callable[[nn.Module], nn.Module]) -> Callable[[nn.Module], nn.Module]:
    def _replicate_for_data_parallel(self: nn.Module) -> nn.Module:
        """A replica is called with its own weights, not with those of the module it was copied from."""
        replica = replicate(self)
        _take_off(replica)
        return replica

    return _replicate_for_data_parallel
