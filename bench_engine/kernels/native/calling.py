"""Calls of a function that captured graphs give: in C++ (csrc/python) where all is as it was, else decided here.

C++ returns NotImplemented where it has no answer, so that both ways can be told apart and neither needs the other.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.native import extension
from bench_engine.kernels.native.watched import Watched, disturbed, is_plain

_MOST_SHAPES = 8  # kinds of inputs, and states, for which graphs are captured; others run as they are
_tracing = threading.RLock()  # torch patches modules for all threads while it traces


@dataclass
class Graph:
    """A captured graph: what runs it, its parts that are kernels, and what stays as it was, with the reason."""

    call: Callable[..., Any]
    regions: dict[str, Any] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    constants: list[Tensor] = field(default_factory=list)  # that the graph holds
    places: tuple[int, ...] | None = None  # where one region is all of it: the inputs it takes, and ~constants

    def __post_init__(self) -> None:
        self._layouts = [_layout(constant) for constant in self.constants]

    def holds(self) -> bool:
        """Whether the constants still lie in memory as they did, and none is to get a gradient."""
        grad = torch.is_grad_enabled() and any(constant.requires_grad for constant in self.constants)
        return not grad and [_layout(constant) for constant in self.constants] == self._layouts


def nothing(*args: Any) -> Any:
    """In the place of what is compiled where that is not built."""
    return NotImplemented


def quick(compiled: Any, otherwise: Callable[..., Any], name: str = "quick") -> Callable[..., Any]:
    """Asks what is compiled, and the other where that returns NotImplemented."""

    def call(*args: Any) -> Any:
        found = compiled(*args)
        return otherwise(*args) if found is NotImplemented else found

    call.__name__ = name
    return call


@dataclass
class _State:
    """What a function reads beside its arguments, and the graphs that hold as long as that is the same."""

    watched: Watched
    enter: Any  # all that was captured, in C++; NotImplemented where that has no answer
    graphs: dict[Any, Graph] = field(default_factory=dict)
    fixed: set[Any] = field(default_factory=set)  # kinds of inputs whose graph depends on the batch size

    def kind(self, args: Sequence[Tensor]) -> Any:
        kind = _kind(args, True)
        return _kind(args, False) if kind in self.fixed else kind

    def add(self, kind: Any, graph: Graph) -> None:
        self.graphs[kind] = graph
        if self.enter is not nothing and all(device.type == "cpu" for device in kind[2]):
            layouts = tuple((dtype, tuple(-1 if s is None else s for s in shape), s) for shape, s, dtype in kind[3:])
            whole = next(iter(graph.regions.values())).compiled if graph.places is not None else nothing
            region, places = (None, ()) if whole is nothing else (whole, graph.places)
            self.enter.add(kind[0], layouts, tuple(graph.constants), graph.call, region, places)


class Compiled:
    """A function or module that enters its regions without torch's own machinery.

    Inputs are those of `fn`, tensors on the CPU or on one GPU. The batch size, which is the first dimension of the
    first input and of all inputs where that has the same size, may vary from call to call; a new type, rank or other
    size is captured once more, and so is `fn` where something has changed that it reads (native/watched.py). Where a
    gradient would be recorded, somebody looks at the ops of this thread, something is no tensor, or cannot be captured,
    `fn` itself is called.
    """

    def __init__(
        self, fn: Callable[..., Any], capture: Callable[[Callable[..., Any], Sequence[Tensor]], tuple[Graph, bool]]
    ) -> None:
        """`capture` makes the graph for inputs, and tells whether it is for their batch size alone."""
        self.fn = fn
        self._capture = capture
        self._states: list[_State] = []
        self._enter: Callable[..., Any] = nothing

    def __reduce__(self) -> Any:
        """A copy captures for itself, and decides as what is kept says."""
        return type(self), (self.fn, self._capture)

    @property
    def graphs(self) -> dict[Any, Graph]:
        """What was captured."""
        return {(n, *kind): graph for n, state in enumerate(self._states) for kind, graph in state.graphs.items()}

    def decisions(self) -> list[Any]:
        """What was decided so far, region by region and bucket by bucket, with the candidates that were tried."""
        regions = [region for graph in self.graphs.values() for region in graph.regions.values()]
        return [decision for region in regions for decision in region.decisions.values()]

    def __call__(self, *args: Tensor) -> Any:
        """What `fn` returns."""
        found = self._enter(*args)
        return self._decided(args) if found is NotImplemented else found

    def _decided(self, args: Sequence[Any]) -> Any:
        """What C++ leaves to Python: all that is new or unusual."""
        if disturbed() or not all(map(is_plain, args)):
            return self.fn(*args)
        state = self._state()
        if state is None or (torch.is_grad_enabled() and state.watched.asks_for_gradient(args)):
            return self.fn(*args)
        self._enter = state.enter
        graph = state.graphs.get(state.kind(args)) or self._captured(state, args)
        return (graph.call if graph.holds() else self.fn)(*args)

    def _state(self) -> _State | None:
        """The state that `fn` is in; None where hooks would see a call, or there were too many."""
        for state in self._states:
            if state.watched.holds():
                return state
        watched = Watched(self.fn)
        if len(self._states) >= _MOST_SHAPES or not watched.holds():
            return None
        module, read = extension.python_module_if_built(), (watched.pins, watched.hooks, watched.dictionaries)
        enter = module.CompiledFunction(self.fn, *read, watched.parameters) if module else nothing
        self._states.append(_State(watched, enter))
        return self._states[-1]

    def _captured(self, state: _State, args: Sequence[Tensor]) -> Graph:
        with _tracing:
            return state.graphs.get(state.kind(args)) or self._first(state, args)

    def _first(self, state: _State, args: Sequence[Tensor]) -> Graph:
        if len(self.graphs) >= _MOST_SHAPES:
            return Graph(self.fn, left=["more kinds of inputs than are captured"])
        if any(arg.numel() == 0 for arg in args):
            graph = Graph(self.fn, left=["inputs of size 0"])
        elif any(part.training and any(True for _ in part.buffers(recurse=False)) for part in state.watched.modules):
            graph = Graph(self.fn, left=["a module in training whose buffers change runs as it is"])
        else:
            graph, fixed = self._capture(self.fn, args)
            if fixed:
                state.fixed.add(_kind(args, True))
        if not state.watched.holds():  # another thread changed something meanwhile
            return Graph(self.fn)
        state.add(state.kind(args), graph)
        return graph


def _kind(args: Sequence[Any], varies: bool) -> Any:
    """What inputs must have in common to share a graph: everything, or everything but the batch size."""
    batch = batch_of(args) if varies else -1
    shapes = [tuple(arg.shape) for arg in args]
    kept = [(None, *shape[1:]) if batch > 1 and shape[:1] == (batch,) else shape for shape in shapes]
    said = [(shape, arg.stride(), arg.dtype) for shape, arg in zip(kept, args, strict=True)]
    return (batch > 1, torch.get_default_dtype(), tuple(arg.device for arg in args), *said)


def _layout(tensor: Tensor) -> Any:
    return tensor.shape, tensor.stride(), tensor.dtype


def batch_of(args: Sequence[Any]) -> int:
    """The first dimension of the first input; -1 where it has none."""
    return args[0].shape[0] if args and isinstance(args[0], Tensor) and args[0].dim() else -1
