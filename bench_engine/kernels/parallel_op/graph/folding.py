"""A concatenation or stack of a group's results that the group can write by itself, straight into one buffer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.fx import Node

from bench_engine.kernels.parallel_op.graph.grouping import Group, Grouping, Order
from bench_engine.kernels.parallel_op.graph.members import Member
from bench_engine.kernels.parallel_op.graph.nodes import same_size, tensor_of

_aten = torch.ops.aten
_JOINS: dict[Any, Literal["cat", "stack"]] = {
    torch.cat: "cat",
    torch.concat: "cat",
    torch.concatenate: "cat",
    _aten.cat.default: "cat",
    _aten.concat.default: "cat",
    torch.stack: "stack",
    _aten.stack.default: "stack",
}


@dataclass(frozen=True)
class Fold:
    """The node `node` becomes an output of the group: members of it, and other nodes, in order."""

    node: Node
    kind: Literal["cat", "stack"]
    parts: tuple[Member | Node, ...]


@dataclass(frozen=True)
class NotFolded:
    """A concatenation that stays."""

    node: Node
    reason: str


def folds_of(group: Group, grouping: Grouping, order: Order) -> tuple[list[Fold], list[NotFolded]]:
    """Concatenations that take two or more members of the group: those that can be folded into it, and the others."""
    members = {member.value: member for member in group.members}
    users = dict.fromkeys(user for value in members for user in value.users if user.op == "call_function")
    folded, others = [], []
    for node in sorted(users):
        kind = _JOINS.get(node.target)
        parts = _parts(node)
        if kind is None or sum(part in members for part in parts) < 2:
            continue
        reason = _obstacle(node, kind, parts, members, lambda other: grouping.after[other] <= group.level, order)
        if reason:
            others.append(NotFolded(node, reason))
        else:
            folded.append(Fold(node, kind, tuple(members.get(part, part) for part in parts)))
    return folded, others


def _parts(node: Node) -> tuple[Any, ...]:
    parts = node.args[0] if node.args else node.kwargs.get("tensors")
    return tuple(parts) if isinstance(parts, list | tuple) else ()


def _obstacle(
    node: Node,
    kind: str,
    parts: tuple[Any, ...],
    members: dict[Node, Member],
    in_time: Callable[[Node], bool],
    order: Order,
) -> str:
    """Why it cannot be folded; empty if it can."""
    result = tensor_of(node)
    if result is None or order.effects.get(node):
        return "it writes to a tensor that is there already" if order.effects.get(node) else "its shape is not known"
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", node.kwargs.get("axis", 0))
    last = result.dim() - (1 if kind == "cat" else 2)
    if type(dim) is not int or dim % result.dim() != last or (kind == "stack" and result.dim() != 3):
        return f"it joins along dimension {dim}"
    own = [part for part in parts if part in members]
    for part in parts:
        tensor = tensor_of(part)
        if tensor is None or tensor.dtype != result.dtype or tensor.device != result.device:
            return f"{part} is of another type or on another device"
        if tensor.dim() != tensor_of(own[0]).dim():  # type: ignore[union-attr]
            return f"{part} has another number of dimensions"
        if kind == "stack" and not (part in members and same_size(tensor.shape[-1], result.shape[-1])):
            return f"{part} is not of the group"
    for part in own:
        if len(part.users) > 1 or own.count(part) > 1:
            return f"{part} is used elsewhere too"
    for other in order.before[node]:
        if other not in members and not in_time(other):
            return f"{other} comes after the group"
    return ""
