"""Recognises a call that may run beside others of its kind, in Dynamo's graphs and in those of aten ops."""

import operator
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import Node

from bench_engine.kernels.parallel_op.graph.nodes import called, constant_int, parameter_name, tensor_of
from bench_engine.kernels.parallel_op.graph.views import rows_of
from bench_engine.kernels.parallel_op.plan import Branch, Input, Mode

EMBEDDING = "embedding"
# Above this a linear layer fills the threads by itself.
MAX_LINEAR_WEIGHTS = 65536
_FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_DEVICES = ("cpu", "cuda")
_BAG_MODES: tuple[Mode, ...] = ("sum", "mean", "max")


@dataclass(frozen=True)
class Lookup:
    """An embedding bag, or an embedding (mode row). Fields as in `plan.Table`."""

    weight: Node
    ids: Node
    offsets: Node | None
    per_sample_weights: Node | None
    mode: Mode
    padding: int | None
    last: bool
    sparse: bool


@dataclass(frozen=True)
class Member:
    """A call that can be grouped.

    node: the call. value: the node with its result, another one where the call returns a tuple. op: its name in the
    whitelist. kind: calls of one kind go together. name: for people. work: what it does; the branch's inputs are the
    node's arguments in `inputs`.
    """

    node: Node
    value: Node
    op: str
    kind: str
    device: torch.device
    name: str
    work: Lookup | Branch
    inputs: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A whitelisted call that must stay as it is."""

    node: Node
    op: str
    reason: str


class _RefusedError(Exception):
    """Says why a call cannot be grouped."""


def member_of(
    node: Node, ops: Collection[str], *, for_inductor: bool = False, asked: Collection[str] = (), frozen: bool = False
) -> Member | Refusal | None:
    """The node as a member; None if it is no call of the whitelist `ops`.

    for_inductor, asked: Inductor fuses plain embeddings well by itself, so it keeps those unless they are asked for.
    frozen: nothing in the graph is written in place.
    """
    op = _OPS.get(node.target) if node.op == "call_function" else _METHODS.get(str(node.target))
    if op is None or op not in ops or node.op not in ("call_function", "call_method"):
        return None
    try:
        if op in ("aten.embedding", "aten.embedding_bag"):
            if for_inductor and op == "aten.embedding" and op not in asked:
                raise _RefusedError("left to Inductor, which fuses it; +aten.embedding groups it")
            return _lookup(node, op, for_inductor, frozen)
        return _branch(node, op)
    except _RefusedError as refused:
        return Refusal(node, op, str(refused))


# --- embeddings


def _lookup(node: Node, op: str, for_inductor: bool, frozen: bool) -> Member:
    given = _embedding(node) if op == "aten.embedding" else _embedding_bag(node, frozen)
    weight, ids = _tensor(given.weight, "the weight"), _tensor(given.ids, "the ids")
    _require(weight.dim() == 2, "the weight is no matrix")
    _require(weight.dtype in _FLOATS, f"weights of type {_short(weight.dtype)}")
    device = _device(weight)
    integers = [("ids", ids)]
    if given.offsets is not None:
        offsets = _tensor(given.offsets, "offsets")
        integers.append(("offsets", offsets))
        _require(ids.dim() == 1 and offsets.dim() == 1, f"{ids.dim()}-D ids with {offsets.dim()}-D offsets")
    elif given.mode != "row":
        _require(ids.dim() == 2, f"{ids.dim()}-D ids without offsets")
        _require(not given.last, "include_last_offset without offsets")
        _require(constant_int(ids.shape[1]) != 0, "bags without ids")
    for what, tensor in integers:
        _require(tensor.dtype in (torch.int32, torch.int64), f"{what} of type {_short(tensor.dtype)}")
        _require(tensor.device == device, f"{what} on {tensor.device}, the weight on {device}")
    if given.per_sample_weights is not None:
        factors = _tensor(given.per_sample_weights, "per_sample_weights")
        _require(given.mode == "sum", f"per_sample_weights with mode {given.mode}")
        _require(factors.dtype == weight.dtype, f"per_sample_weights of type {_short(factors.dtype)}")
        _require(factors.device == device, f"per_sample_weights on {factors.device}, the weight on {device}")
        _require(factors.dim() == ids.dim(), "per_sample_weights of another shape than the ids")
    _require(not (given.sparse and for_inductor), "sparse gradients, which Inductor does not know")
    _require(not (given.sparse and given.mode == "max"), "sparse gradients with mode max")
    return Member(node, _value(node), op, EMBEDDING, device, parameter_name(given.weight), given)


def _embedding(node: Node) -> Lookup:
    if node.target is F.embedding:
        names = ("input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
        given = _bind(node, names, required=2)
        _require(given["max_norm"] is None, "max_norm changes the weight in the forward pass")
        padding = _padding(given["padding_idx"], given["weight"])
    else:
        given = _bind(node, ("weight", "input", "padding_idx", "scale_grad_by_freq", "sparse"), required=2)
        padding = _number(given["padding_idx"], "padding_idx", default=-1)
        padding = None if padding < 0 else padding
    _require(not _flag(given, "scale_grad_by_freq"), "scale_grad_by_freq")
    weight, ids = _node(given["weight"], "the weight"), _node(given["input"], "the ids")
    return Lookup(weight, ids, None, None, "row", padding, False, _flag(given, "sparse"))


def _embedding_bag(node: Node, frozen: bool) -> Lookup:
    rest = ("scale_grad_by_freq", "mode", "sparse", "per_sample_weights", "include_last_offset", "padding_idx")
    mode: Any
    if node.target is F.embedding_bag:
        given = _bind(node, ("input", "weight", "offsets", "max_norm", "norm_type", *rest), required=2)
        _require(given["max_norm"] is None, "max_norm changes the weight in the forward pass")
        mode = "mean" if given["mode"] is None else given["mode"]
        padding = _padding(given["padding_idx"], given["weight"])
    else:
        given = _bind(node, ("weight", "input", "offsets", *rest), required=3, input="indices")
        number = _number(given["mode"], "mode", default=0)
        mode = _BAG_MODES[number] if 0 <= number < len(_BAG_MODES) else number
        padding = given["padding_idx"]
        if called(node).startswith("_") and padding == -1:  # the inner op's way to say that there is none
            padding = None
        padding = _padding(padding, given["weight"])
    _require(mode in _BAG_MODES, f"mode {mode}")
    _require(not _flag(given, "scale_grad_by_freq"), "scale_grad_by_freq")
    weight, ids = _node(given["weight"], "the weight"), _node(given["input"], "the ids")
    offsets = None if given["offsets"] is None else _node(given["offsets"], "offsets")
    factors = given["per_sample_weights"]
    factors = None if factors is None else _node(factors, "per_sample_weights")
    last = _flag(given, "include_last_offset")
    if frozen and offsets is not None and factors is None and not last and (rows := rows_of(ids, offsets)):
        ids, offsets = rows, None
    return Lookup(weight, ids, offsets, factors, mode, padding, last, _flag(given, "sparse"))


def _padding(padding: Any, weight: Any) -> int | None:
    """padding_idx counted from the first row."""
    if padding is None:
        return None
    row = _number(padding, "padding_idx", default=0)
    if row < 0:
        rows = constant_int(_tensor(_node(weight, "the weight"), "the weight").shape[0])
        _require(rows is not None, "padding_idx counted from the end of a table of unknown size")
        row += rows or 0
    _require(row >= 0, f"padding_idx {padding} is out of range")
    return row


# --- other ops


def _branch(node: Node, op: str) -> Member:
    given = _bind(node, _SIGNATURES[op], required=1)
    _require(not _flag(given, "inplace"), "in place")
    first = _tensor(_node(given.pop("input"), "the input"), "the input")
    nodes = [node.all_input_nodes[0]]
    arguments: list[Any] = [Input(0)]

    def tensor_argument(name: str) -> None:
        value = given[name]
        if value is not None:
            nodes.append(_node(value, name))
            _require(_tensor(value, name).dtype == first.dtype, f"{name} of another type than the input")
            _require(_tensor(value, name).device == first.device, f"{name} on another device than the input")
        arguments.append(None if value is None else Input(len(nodes) - 1))

    if op == "aten.linear":
        _require(given["weight"] is not None, "no weight")
        tensor_argument("weight")
        weights = constant_int(_tensor(given["weight"], "the weight").numel())
        _require(weights is not None, "a weight of unknown size")
        _require((weights or 0) <= MAX_LINEAR_WEIGHTS, f"over {MAX_LINEAR_WEIGHTS} weights fill the threads")
        tensor_argument("bias")
    elif op == "aten.layer_norm":
        shape = given["normalized_shape"]
        constant = isinstance(shape, list | tuple) and all(type(size) is int for size in shape)
        _require(constant, "normalized_shape is no constant")
        arguments.append(list(shape))
        tensor_argument("weight")
        tensor_argument("bias")
        epsilon = 1e-05 if given["eps"] is None else given["eps"]
        _require(isinstance(epsilon, int | float), "eps is no constant")
        arguments.append(float(epsilon))
    elif op == "aten.gelu":
        approximate = given["approximate"] or "none"
        _require(approximate in ("none", "tanh"), "approximate is no constant")
        arguments.append(approximate)
    value = _value(node)
    _require(first.dtype in _FLOATS, f"an input of type {_short(first.dtype)}")
    _require(_tensor(value, "the result").dtype == first.dtype, "autocast changes its type")
    branch = Branch(op.replace(".", "::"), tuple(arguments))
    return Member(node, value, op, op, _device(first), value.name, branch, tuple(nodes))


# --- what both need


def _bind(node: Node, names: tuple[str, ...], required: int, **other: str) -> dict[str, Any]:
    """The arguments by name, None where not given. `other`: what an argument is called in the kwargs of this op."""
    given = dict(zip(names, node.args, strict=False))
    known = {other.get(name, name): name for name in names} | {"self": names[0], "indices": "input"}
    for key, value in node.kwargs.items():
        _require(key in known or value is None, f"the argument {key}")
        given[known.get(key, key)] = value
    _require(len(node.args) <= len(names), "more arguments than known")
    _require(all(given.get(name) is not None for name in names[:required]), "an argument is missing")
    return {name: given.get(name) for name in names}


def _value(node: Node) -> Node:
    """The node with the result: the call itself, or the first of the tuple that it returns."""
    if isinstance(tensor_of(node), Tensor):
        return node
    items = [user for user in node.users if user.target is operator.getitem]
    used = [item for item in items if item.users]
    _require(len(items) == len(node.users), "its tuple of results is used as a whole")
    _require(all(item.args[1] == 0 for item in used), "more than its first result is used")
    _require(len(used) == 1, "its result is not used" if not used else "its result is taken twice")
    _tensor(used[0], "the result")
    return used[0]


def _require(right: bool, reason: str) -> None:
    if not right:
        raise _RefusedError(reason)


def _node(value: Any, what: str) -> Node:
    _require(isinstance(value, Node), f"{what}: not a tensor of the graph")
    return value


def _tensor(node: Any, what: str) -> Tensor:
    """The fake of a plain tensor."""
    value = tensor_of(node)
    if value is None:
        raise _RefusedError(f"{what}: shape and type are not known")
    plain = isinstance(value, torch._subclasses.FakeTensor) or type(value) in (Tensor, torch.nn.Parameter)
    _require(plain, f"{what}: a {type(value).__name__}")
    _require(value.layout == torch.strided, f"{what}: a {_short(value.layout)} tensor")
    return value


def _device(tensor: Tensor) -> torch.device:
    _require(tensor.device.type in _DEVICES, f"on device {tensor.device.type}")
    return tensor.device


def _flag(given: dict[str, Any], name: str) -> bool:
    value = given.get(name)
    _require(value is None or isinstance(value, bool), f"{name} is no constant")
    return bool(value)


def _number(value: Any, name: str, default: int) -> int:
    number = default if value is None else constant_int(value)
    if number is None:
        raise _RefusedError(f"{name} is no constant")
    return number


def _short(name: Any) -> str:
    return str(name).removeprefix("torch.")


_aten = torch.ops.aten
_SIGNATURES = {
    "aten.relu": ("input", "inplace"),
    "aten.sigmoid": ("input",),
    "aten.tanh": ("input",),
    "aten.silu": ("input", "inplace"),
    "aten.gelu": ("input", "approximate"),
    "aten.linear": ("input", "weight", "bias"),
    "aten.layer_norm": ("input", "normalized_shape", "weight", "bias", "eps", "cudnn_enable"),
}
_METHODS = {name: f"aten.{name}" for name in ("relu", "sigmoid", "tanh")}
_OPS: dict[Callable[..., Any] | str, str] = {
    function: op
    for op, functions in {
        "aten.embedding": (F.embedding, torch.embedding, _aten.embedding.default),
        "aten.embedding_bag": (
            F.embedding_bag,
            torch.embedding_bag,
            _aten.embedding_bag.default,
            _aten.embedding_bag.padding_idx,
            _aten._embedding_bag.default,
            _aten._embedding_bag_forward_only.default,
        ),
        "aten.relu": (F.relu, torch.relu, _aten.relu.default),
        "aten.sigmoid": (F.sigmoid, torch.sigmoid, _aten.sigmoid.default),
        "aten.tanh": (F.tanh, torch.tanh, _aten.tanh.default),
        "aten.silu": (F.silu, torch._C._nn.silu, _aten.silu.default),
        "aten.gelu": (F.gelu, _aten.gelu.default),
        "aten.linear": (F.linear, _aten.linear.default),
        "aten.layer_norm": (
            F.layer_norm,
            torch.layer_norm,
            _aten.layer_norm.default,
            _aten.native_layer_norm.default,
        ),
    }.items()
    for function in functions
}
