"""What a node does besides computing its result: which of a graph's calls must keep their order."""

import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.fx import Node
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True)
class Effect:
    """barrier: nothing may move across. random: keeps its place among random calls. written: changed in place."""

    barrier: bool = False
    random: bool = False
    written: tuple[Node, ...] = ()


PURE, BARRIER, RANDOM = Effect(), Effect(barrier=True), Effect(random=True)

_RANDOM = {
    "bernoulli", "binomial", "cauchy", "exponential", "fractional_max_pool2d", "fractional_max_pool3d", "geometric",
    "gru", "gumbel_softmax", "log_normal", "lstm", "multi_head_attention_forward", "multinomial", "normal", "poisson",
    "random", "rnn_relu", "rnn_tanh", "rrelu", "scaled_dot_product_attention", "uniform",
}  # fmt: skip
# They change what a tensor is, not what is in it.
_RESHAPING = {"resize_", "resize_as_", "set_", "swap_"}
_INPLACE_OPERATORS = {
    operator.iadd, operator.iand, operator.iconcat, operator.ifloordiv, operator.ilshift, operator.imatmul,
    operator.imod, operator.imul, operator.ior, operator.ipow, operator.irshift, operator.isub, operator.itruediv,
    operator.ixor, operator.setitem, operator.delitem,
}  # fmt: skip
_INPLACE_METHODS = {f"__{function.__name__.strip('_')}__" for function in _INPLACE_OPERATORS}
# Running statistics are among their arguments.
_NORMALISING = {"batch_norm", "instance_norm"}
# What torch's plain functions live in; all else in a graph may do anything.
_MODULES = {
    "torch", "torch.functional", "torch.nn.functional", "torch._C._nn", "torch._C._fft", "torch._C._linalg",
    "torch._C._special", "torch._C._sparse", "_operator", "builtins", "math",
}  # fmt: skip
_HARMLESS = {"_log_api_usage_once"}
_STATEFUL = {
    "delattr", "manual_seed", "print", "seed", "set_default_device", "set_default_dtype", "set_rng_state", "setattr",
}  # fmt: skip


def effect_of(node: Node) -> Effect:
    """The effect of a node. What is not known counts as a barrier."""
    if node.op in ("placeholder", "get_attr", "output"):
        return PURE
    if node.op == "call_method":
        return _of_method(node)
    return _of_function(node) if node.op == "call_function" else BARRIER


def _of_method(node: Node) -> Effect:
    name = str(node.target)
    if name in ("backward", *_RESHAPING) or not hasattr(torch.Tensor, name):
        return BARRIER
    if name in _INPLACE_METHODS:
        return _writing(node.args[:1])
    return _by_name(node, name)


def _of_function(node: Node) -> Effect:
    target: Any = node.target
    name = getattr(target, "__name__", "")
    if isinstance(target, torch._ops.OpOverload):
        return _of_overload(node, target)
    if isinstance(target, torch._ops.OpOverloadPacket):
        overloads = [getattr(target, overload) for overload in target.overloads()]
        return PURE if not any(_of_schema(overload) or _draws(overload) for overload in overloads) else BARRIER
    if target in _INPLACE_OPERATORS:
        return _writing(node.args[:1])
    if name in _HARMLESS or _is_check(name):
        return PURE
    if name in _STATEFUL or name in _RESHAPING or name.startswith(("_set_", "set_grad")):
        return BARRIER
    if type(target).__name__ == "method_descriptor" and hasattr(torch.Tensor, name):
        return _by_name(node, name)
    return _by_name(node, name) if _lives_in(target) in _MODULES else BARRIER


@cache
def _lives_in(function: Callable[..., Any]) -> str:
    """The module of a function; torch.nn.functional also for those it makes of two."""
    name = getattr(function, "__name__", "")
    made = getattr(torch.nn.functional, name, None) is function or function in vars(torch.nn.functional).values()
    return "torch.nn.functional" if made else getattr(function, "__module__", None) or ""


def _by_name(node: Node, name: str) -> Effect:
    """Torch's own naming: a trailing underscore or `out` or `inplace` says that something is written."""
    random = name.strip("_") in _RANDOM or name.startswith("rand") or "dropout" in name
    written: list[Any] = []
    if (name.endswith("_") and not name.endswith("__")) or _argument(node, "inplace"):
        written += [*node.args[:1], node.kwargs.get("input")]
    if node.kwargs.get("out") is not None:
        written.append(node.kwargs["out"])
    if name in _NORMALISING or _argument(node, "max_norm") is not None:
        written += [*node.args[1:], *node.kwargs.values()]
    return _writing(written, random) if written else RANDOM if random else PURE


def _argument(node: Node, name: str) -> Any:
    """An argument by its name, wherever it stands in the call."""
    if name in node.kwargs or node.op != "call_function":
        return node.kwargs.get(name)
    place = _places(node.target).get(name)
    return node.args[place] if place is not None and place < len(node.args) else None


@cache
def _places(function: Callable[..., Any]) -> dict[str, int]:
    try:
        return {name: place for place, name in enumerate(inspect.signature(function).parameters)}
    except (TypeError, ValueError):  # a builtin has no signature
        return {}


def _of_overload(node: Node, target: torch._ops.OpOverload) -> Effect:
    if _is_check(target._schema.name.partition("::")[2]):
        return PURE
    written = [
        node.kwargs.get(argument.name, node.args[place] if place < len(node.args) else None)
        for place, argument in enumerate(target._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    random = _draws(target)
    if written or target._schema.is_mutable:
        return _writing(written, random)
    if random:
        return RANDOM
    return BARRIER if node.is_impure() else PURE


def _of_schema(target: torch._ops.OpOverload) -> bool:
    return target._schema.is_mutable and not target._overloadname.endswith("out")


def _draws(target: torch._ops.OpOverload) -> bool:
    return torch.Tag.nondeterministic_seeded in target.tags


def _is_check(name: str) -> bool:
    """Calls that raise or do nothing: what else runs before them does not matter."""
    return name.startswith(("_assert", "_check", "sym_constrain_range"))


def _writing(arguments: Any, random: bool = False) -> Effect:
    written = tuple(leaf for leaf in tree_leaves(tuple(arguments)) if isinstance(leaf, Node))
    return Effect(random=random, written=written) if written else BARRIER
