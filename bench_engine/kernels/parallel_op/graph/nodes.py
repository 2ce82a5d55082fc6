"""What is known of a graph's node: the fake tensor it was traced with, its storage, the names of what it calls."""

import re
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._pytree import tree_leaves

# Where Dynamo and torch.export leave the fake result of a node.
_VALUES = ("example_value", "val")
_NOT_NAMES = {"L", "G", "_modules", "_parameters", "_buffers"}


def value_of(node: Node) -> Any:
    """The fake result of the node: a tensor, a tuple of them, a number; None where it is not known."""
    return next((node.meta[key] for key in _VALUES if node.meta.get(key) is not None), None)


def value_key(node: Node) -> str | None:
    """The name under which `node.meta` has it."""
    return next((key for key in _VALUES if node.meta.get(key) is not None), None)


def tensor_of(argument: Any) -> Tensor | None:
    """The fake tensor of an argument that is a node; None for all else, and where it is not known."""
    value = value_of(argument) if isinstance(argument, Node) else None
    return value if isinstance(value, Tensor) else None


def storages_of(node: Node) -> frozenset[int] | None:
    """Which storages hold the tensors of its result; None where that is not known.

    Views of one tensor share a storage, and so do the fakes that they were traced with, inputs included.
    """
    try:
        tensors = [leaf for leaf in tree_leaves(value_of(node)) if isinstance(leaf, Tensor)]
        return frozenset(tensor.untyped_storage()._cdata for tensor in tensors)
    except (RuntimeError, NotImplementedError):  # sparse tensors and others have none
        return None


def constant_int(value: Any) -> int | None:
    """`value` if it is a whole number, or a size that the graph is specialised for; None for bools, symbols, nodes."""
    if isinstance(value, torch.SymInt):
        return value.node.maybe_as_int()
    return value if type(value) is int else None


def same_size(one: Any, other: Any) -> bool:
    """Whether two sizes, maybe symbols, are equal whatever the input."""
    return bool(statically_known_true(one == other))


def called(node: Node) -> str:
    """What the node calls, as users know it: `embedding_bag`, `cat`."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.partition("::")[2]
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def calls_torch(node: Node, names: set[str]) -> bool:
    """Whether the node calls one of torch's functions or methods of these names."""
    name = called(node)
    if name not in names:
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target.namespace == "aten"
    return node.op == "call_method" or (node.op == "call_function" and getattr(torch, name, None) is node.target)


def parameter_name(node: Node) -> str:
    """The name of a parameter in its model, such as `deep.0.weight`, from where Dynamo found it; else the node's."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    words = re.findall(r"[^\[\]'.()]+", str(getattr(source, "name", "") or ""))
    # The first word left is the name of a variable in some frame.
    words = [word for word in words if word not in _NOT_NAMES][1:]
    return ".".join(words) or node.name
