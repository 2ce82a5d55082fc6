"""Graphs that Dynamo captured, entered from C++: version stamps in the place of hundreds of guards.

A call goes through Dynamo first. Where its code does nothing but call one graph, and its guards look at nothing that
stamps and pins could not stand for, calls like it are given by the graph itself as long as nothing has changed
(csrc/python/captured_call.cpp). Where anything has, Dynamo is asked again, by its own guards.
"""

import dis
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.graph.effects import PURE, RANDOM, effect_of
from bench_engine.kernels.parallel_op.graph.guard_sources import CannotBeStampedError, pins

# Dynamo is asked again about a call this often for nothing; then once for each of the second that went past it.
_CREDIT, _PAYS = 20, 4
# Graphs that may follow the first, for arguments of other sizes, where calls can be given without.
_MORE_GRAPHS = 3
_COMPILED, _UTILS = "__compiled_fn", "__import_torch_dot__dynamo_dot_utils"
# What code may do, and read of objects, that does nothing but call a graph.
_HARMLESS = {
    "RESUME", "NOP", "CACHE", "PUSH_NULL", "PRECALL", "CALL", "KW_NAMES", "LOAD_FAST", "LOAD_CONST",
    "STORE_FAST", "DELETE_FAST", "COPY", "SWAP", "POP_TOP", "BINARY_SUBSCR", "BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP",
    "BUILD_CONST_KEY_MAP", "LIST_EXTEND", "LIST_TO_TUPLE", "UNPACK_SEQUENCE", "RETURN_VALUE", "EXTENDED_ARG",
}  # fmt: skip
_READ = {
    "_modules", "_parameters", "_buffers", "__dict__", "call_size", "record_pregraph_bytecode_enter",
    "record_pregraph_bytecode_exit",
}  # fmt: skip

Told = tuple[Any, ...]  # a source or result, as csrc/python/captured_call.cpp has them


def can_capture() -> bool:
    """Whether this Python tells of changed dictionaries and classes, and the compiled code is there."""
    return sys.version_info < (3, 12) and extension.python_module() is not None


@dataclass(frozen=True)
class Entered:
    """A model's calls as Dynamo captured them; both are called with the module and its arguments.

    call: by a graph where one is known to give it. learn: Dynamo's own, which may compile; what it took is known after.
    """

    call: Callable[..., Any]
    learn: Callable[..., Any]


def entered(
    dynamo: Callable[..., Any],
    function: types.FunctionType,
    hooks: tuple[Any, ...],
    rest: Callable[..., Any] | None = None,
) -> Entered:
    """Calls of a model that go past Dynamo where they can.

    dynamo: what Dynamo made of the function. hooks: of all modules (csrc/python/pins.h). rest: called as `dynamo` is,
    gives calls that no graph is known for, and takes those that fail, without compiling anything; None: Dynamo does.
    """
    compiled: Any = extension.python_module()
    behind = _Captured(dynamo, function.__code__, function.__globals__, hooks, rest)
    call = compiled.CapturedCall(behind.otherwise)

    def learn(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        return behind.learn(call, module, args, kwargs)

    return Entered(call, learn)


@dataclass
class _Graph:
    """A graph that was taken over: its number there, Dynamo's guards, and where it finds tensors of the modules."""

    number: int
    guards: Any
    held: tuple[tuple[str, str, str], ...]

    def tensors(self, root: nn.Module) -> tuple[Tensor, ...]:
        """Raises AttributeError and KeyError where one is gone."""
        return tuple(root.get_submodule(path).__dict__[where][name] for path, where, name in self.held)


class _Captured:
    def __init__(
        self,
        dynamo: Callable[..., Any],
        code: types.CodeType,
        global_scope: dict[str, Any],
        hooks: tuple[Any, ...],
        rest: Callable[..., Any] | None,
    ) -> None:
        self._dynamo, self._code, self._globals, self._hooks = dynamo, code, global_scope, hooks
        self._rest, self._more = rest, _MORE_GRAPHS
        self._graphs: dict[types.CodeType, _Graph | None] = {}
        self._asked = 0
        self.reasons: list[str] = []

    def otherwise(self, entry: Any, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that no graph is known for; where Dynamo has one, that is taken the next time."""
        if self._rest is None:
            return self.learn(entry, module, args, kwargs)
        asks = self._asked < _CREDIT + entry.calls // _PAYS
        if asks and self._more and entry.unchanged(module) and not _of_inference((args, kwargs)):
            if not self._vouch(entry, module, args, kwargs):  # sizes that are new: a graph for all of them
                self._more -= 1
                return self.learn(entry, module, args, kwargs)
            asks = False
        result = self._rest(module, *args, **kwargs)
        if asks:
            self._vouch(entry, module, args, kwargs)
        return result

    def learn(self, entry: Any, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Dynamo's call; what it took may be taken the next time."""
        result = self._dynamo(module, *args, **kwargs)
        if self._asked < _CREDIT + entry.calls // _PAYS:
            self._vouch(entry, module, args, kwargs)
        return result

    def _vouch(self, entry: Any, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether calls like this one are a graph's from now on."""
        self._asked += 1
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        scope = {"module": module, "args": args, "kwargs": kwargs}
        for cached in _debug_get_cache_entry_list(self._code):
            if cached.code not in self._graphs:
                if not cached.guard_manager.check(scope):
                    continue
                self._graphs[cached.code] = self._taken_over(entry, cached, scope)
            graph = self._graphs[cached.code]
            if graph is None:
                continue
            try:
                held = graph.tensors(module)
            except (AttributeError, KeyError):
                continue
            if entry.vouch(graph.number, module, args, kwargs, held, lambda g=graph: g.guards.check(scope)):
                return True
        return False

    def _taken_over(self, entry: Any, cached: Any, scope: Mapping[str, Any]) -> _Graph | None:
        try:
            found = _recorded(cached.code, self._globals, scope)
            pinned = pins(cached.guard_manager, scope, self._globals, scope["module"])
        except CannotBeStampedError as error:
            self.reasons.append(str(error))
            return None
        # Who fails is asked again elsewhere, for torch's own error; not where that would do something twice.
        repeatable = self._rest is not None and _does_nothing_else(found.call)
        number = entry.add(found.call, repeatable, found.inputs, found.result, pinned, self._hooks)
        return _Graph(number, cached.guard_manager, found.held)


@dataclass(frozen=True)
class _Recorded:
    """What Dynamo's code does: the graph that it calls, with what, and what it makes of the outputs."""

    call: Callable[..., Any]
    inputs: tuple[Told, ...]
    result: Told
    held: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class _Size:
    tensor: Any
    dim: int


class _Output:
    """Stands for an output of a graph."""


def _recorded(code: types.CodeType, global_scope: dict[str, Any], scope: Mapping[str, Any]) -> _Recorded:
    """Run Dynamo's code for a call with a graph that only notes what it is given. Raises CannotBeStampedError."""
    name = _only_graph(code)
    given: list[tuple[Any, ...]] = []
    outputs = [_Output() for _ in range(1000)]

    def graph(*inputs: Any) -> list[_Output]:
        given.append(inputs)
        return outputs

    beside = types.SimpleNamespace(
        call_size=_Size,
        record_pregraph_bytecode_enter=lambda: None,
        record_pregraph_bytecode_exit=lambda _: None,
    )
    try:
        replayed = types.FunctionType(code, {**global_scope, name: graph, _UTILS: beside})
        result = replayed(scope["module"], *scope["args"], **scope["kwargs"])
    except Exception as error:
        raise CannotBeStampedError(f"its code: {error}") from None
    if len(given) != 1:
        raise CannotBeStampedError(f"its code calls {len(given)} graphs")
    places = _Places(scope, outputs)
    inputs = tuple(map(places.told, given[0]))
    made = places.result(result)
    from torch._dynamo.eval_frame import innermost_fn

    return _Recorded(innermost_fn(global_scope[name]), inputs, made, tuple(places.held))


def _only_graph(code: types.CodeType) -> str:
    """The name of the one graph that code calls, where it does nothing besides. Raises CannotBeStampedError.

    All that it can call is the graph and what it finds in Dynamo's utils, for it reads nothing else of an object.
    """
    unknown, graphs = set(), set()
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name == "LOAD_GLOBAL" and value.startswith(_COMPILED):
            graphs.add(value)
        elif name == "LOAD_GLOBAL":
            unknown |= {value} - {_UTILS}
        elif name == "LOAD_ATTR":
            unknown |= {value} - _READ
        else:
            unknown |= {name} - _HARMLESS
    if unknown or len(graphs) != 1:
        raise CannotBeStampedError(f"its code does more than call a graph: {', '.join(sorted(unknown)) or len(graphs)}")
    return str(graphs.pop())


class _Places:
    """Where the values of one call are found in the calls to come."""

    def __init__(self, scope: Mapping[str, Any], outputs: list[_Output]) -> None:
        self.held: list[tuple[str, str, str]] = []
        self._arguments: dict[int, int] = {}
        for place, tensor in enumerate(_flat((scope["args"], scope["kwargs"]))):
            self._arguments.setdefault(id(tensor), place)
        self._collections = set(map(id, _collections((scope["args"], scope["kwargs"]))))
        self._outputs = {id(output): place for place, output in enumerate(outputs)}
        self._named = {
            id(tensor): (path, where, name)
            for path, module in scope["module"].named_modules()
            for where in ("_parameters", "_buffers")
            for name, tensor in module.__dict__[where].items()
        }

    def told(self, value: Any) -> Told:
        """A source, as the compiled code has it."""
        if isinstance(value, _Size) and id(value.tensor) in self._arguments:
            return ("size", self._arguments[id(value.tensor)], value.dim)
        if id(value) in self._arguments:
            return ("argument", self._arguments[id(value)], 0)
        if isinstance(value, _Output):
            return ("output", self._outputs[id(value)], 0)
        if isinstance(value, Tensor) and id(value) in self._named:
            self.held.append(self._named[id(value)])
            return ("held", len(self.held) - 1, 0)
        if value is None or type(value) in (bool, int, float, str, torch.dtype, torch.device):
            return ("constant", value, 0)
        raise CannotBeStampedError(f"a {type(value).__name__} that is no argument")

    def result(self, value: Any) -> Told:
        """A source, or a collection of these."""
        if id(value) in self._collections:  # a copy would be another object
            raise CannotBeStampedError("it returns an argument")
        if type(value) in (list, tuple):
            return (type(value).__name__, tuple(map(self.result, value)))
        if type(value) is dict:
            return ("dict", tuple(map(self.result, value.values())), tuple(value))
        return self.told(value)


_DEPTH = 8  # of collections in one another, as there


def _flat(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """Tensors in the order of csrc/python/call_signature.cpp."""
    if type(value) is Tensor:
        yield value
    elif depth and type(value) in (list, tuple):
        for item in value:
            yield from _flat(item, depth - 1)
    elif depth and type(value) is dict:
        for item in value.values():
            yield from _flat(item, depth - 1)


def _does_nothing_else(call: Any) -> bool:
    """Whether a graph's function computes results and writes nowhere."""
    graph = getattr(getattr(call, "__self__", None), "graph", None)
    return graph is not None and all(
        node.target is ops.grouped_embedding or effect_of(node) in (PURE, RANDOM) for node in graph.nodes
    )


def _of_inference(arguments: Any) -> bool:
    """Whether autograd would refuse one of the tensors, which a graph may not notice."""
    return any(tensor.is_inference() for tensor in _flat(arguments))


def _collections(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    if depth and type(value) in (list, tuple, dict) and value:
        yield value
        for item in value.values() if type(value) is dict else value:
            yield from _collections(item, depth - 1)
