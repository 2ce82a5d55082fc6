"""A concatenation or stack of a group's results that the group can write by itself, straight into one buffer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.fx import Node

from bench_engine.kernels.parallel_op.graph.grouping import Group, Grouping, Order
from bench_engine.kernels.parallel_op.graph.members import Lookup, Member
from bench_engine.kernels.parallel_op.graph.nodes import (
    calls_torch,
    constant_int,
    same_size,
    storages_of,
    tensor_of,
)

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
    """The node `node` becomes an output of the group: members of it, and other nodes, in order.

    kind: what the op joins: along the last dimension (cat), or (B, D) to (B, n, D) (stack). twins: nodes that join the
    same members in the same order otherwise, and become views of the output. single: members with ids (B, 1) whose
    rows (B, 1, D) are stacked.
    """

    node: Node
    kind: Literal["cat", "stack"]
    parts: tuple[Member | Node, ...]
    twins: tuple[Node, ...] = ()
    single: frozenset[Node] = frozenset()


@dataclass(frozen=True)
class NotFolded:
    """A concatenation that stays."""

    node: Node
    reason: str


@dataclass(frozen=True)
class _Join:
    """A node that joins members, or rows (B, 1, D) made of members (B, D), and others."""

    node: Node
    kind: Literal["cat", "stack"]
    parts: tuple[Any, ...]
    own: tuple[Member, ...]

    @property
    def whole(self) -> bool:
        """Whether members are all that it joins."""
        return len(self.own) == len(self.parts)

    @property
    def written(self) -> bool:
        """Whether the op can write it as it is: of rows (B, 1, D) made of (B, D) only a stack."""
        return self.kind == "stack" or all(member.value in self.parts for member in self.own)


def folds_of(group: Group, grouping: Grouping, order: Order) -> tuple[list[Fold], list[NotFolded]]:
    """Concatenations that take two or more members of the group: those that can be folded into it, and the others."""
    members = {member.value: member for member in group.members}
    lifted = {user: member for value, member in members.items() for user in value.users if _lifts(user, value)}
    places = members | lifted
    found: dict[Node, _Join] = {}
    folded: list[Fold] = []
    others: list[NotFolded] = []
    for node in sorted({user for value in places for user in value.users if user.op == "call_function"}):
        kind, parts = _JOINS.get(node.target), _parts(node)
        own = tuple(places[part] for part in parts if part in places)
        if kind is None or len(own) < 2:
            continue
        shape, reason = _shape(node, kind, parts, places)
        reason = reason or _out_of_place(node, members | lifted, lambda o: grouping.after[o] <= group.level, order)
        if reason:
            others.append(NotFolded(node, reason))
        else:
            found[node] = _Join(node, shape, parts, own)
    for alike in _alike(found.values()):
        reason = _shared(alike, lifted, order)
        if reason:
            others += [NotFolded(join.node, reason) for join in alike]
            continue
        first = next((join for join in alike if join.kind == "stack"), alike[0])
        if not first.written:
            others += [NotFolded(join.node, "it joins rows that were given a dimension") for join in alike]
            continue
        single = frozenset(m.node for m in first.own if first.kind == "stack" and _dim(m.value) == 3)
        twins = tuple(join.node for join in alike if join is not first)
        folded.append(Fold(first.node, first.kind, tuple(places.get(p, p) for p in first.parts), twins, single))
    return sorted(folded, key=lambda fold: fold.node), sorted(others, key=lambda left: left.node)


def twin_shape(twin: Node) -> list[int]:
    """The shape of a twin, with -1 for the batch, as a view of what the fold writes."""
    shape = tensor_of(twin).shape  # type: ignore[union-attr]
    return [-1, *(constant_int(size) or 0 for size in shape[1:])]


def _parts(node: Node) -> tuple[Any, ...]:
    parts = node.args[0] if node.args else node.kwargs.get("tensors")
    return tuple(parts) if isinstance(parts, list | tuple) else ()


def _dim(node: Any) -> int | None:
    tensor = tensor_of(node)
    return None if tensor is None else tensor.dim()


def _lifts(node: Node, value: Node) -> bool:
    """Whether the node is value.unsqueeze(1) of a (B, D)."""
    if not calls_torch(node, {"unsqueeze"}) or _dim(value) != 2 or _dim(node) != 3:
        return False
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    return constant_int(dim) in (1, -2)


def _shape(
    node: Node, kind: Literal["cat", "stack"], parts: tuple[Any, ...], places: dict[Node, Member]
) -> tuple[Literal["cat", "stack"], str]:
    """How the op would join the parts; and why it cannot, or nothing."""
    result = tensor_of(node)
    if result is None:
        return kind, "its shape is not known"
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", node.kwargs.get("axis", 0))
    along = dim % result.dim() if type(dim) is int else None
    own = [part for part in parts if part in places]
    for part in parts:
        tensor = tensor_of(part)
        if tensor is None or tensor.dtype != result.dtype or tensor.device != result.device:
            return kind, f"{part} is of another type or on another device"
        if tensor.dim() != _dim(own[0]):
            return kind, f"{part} has another number of dimensions"
    if along == result.dim() - 1 and kind == "cat":
        return "cat", ""
    if along != 1 or result.dim() != 3:
        return kind, f"it joins along dimension {dim}"
    for part in parts:
        if part not in places or not same_size(tensor_of(part).shape[-1], result.shape[-1]):  # type: ignore[union-attr]
            return kind, f"{part} is not of the group"
        if kind == "cat" and not _is_one_row(part, places[part]):
            return kind, f"it joins along dimension {dim}"
    return "stack", ""


def _is_one_row(part: Node, member: Member) -> bool:
    """Whether a part (B, 1, D) is a row for each of the batch that the op can give as (B, D)."""
    if constant_int(tensor_of(part).shape[1]) != 1:  # type: ignore[union-attr]
        return False
    return part is not member.value or (isinstance(member.work, Lookup) and _dim(member.work.ids) == 2)


def _out_of_place(node: Node, own: dict[Node, Member], in_time: Callable[[Node], bool], order: Order) -> str:
    if order.effects.get(node):
        return "it writes to a tensor that is there already"
    for other in order.before[node]:
        if other not in own and not in_time(other):
            return f"{other} comes after the group"
    return ""


def _alike(joins: Iterable[_Join]) -> list[list[_Join]]:
    """Those that join the same members alone, in the same order, together; and each other by itself."""
    found: dict[Any, list[_Join]] = {}
    for join in joins:
        found.setdefault(tuple(m.node for m in join.own) if join.whole else join.node, []).append(join)
    return list(found.values())


def _shared(alike: list[_Join], lifted: dict[Node, Member], order: Order) -> str:
    """Why their members cannot be written into one buffer; empty if they can."""
    nodes = {join.node for join in alike}
    for member in alike[0].own:
        users = {user for user in member.value.users if user not in lifted}
        users.update(user for node in member.value.users if node in lifted for user in node.users)
        if not users <= nodes or alike[0].own.count(member) > 1:
            return f"{member.value} is used elsewhere too"
    if len(nodes) > 1:
        shapes = [size for node in nodes for size in tensor_of(node).shape[1:]]  # type: ignore[union-attr]
        ordered = len(nodes) > 2  # the sum of three gradients depends on their order
        if ordered or not order.frozen or _returned(nodes) or any(constant_int(size) is None for size in shapes):
            return f"{alike[0].own[0].value} is used elsewhere too"
    return ""


def _returned(nodes: set[Node]) -> bool:
    """Whether somebody outside of the graph gets memory of one of them, or where that is not known."""
    (output,) = (node for node in next(iter(nodes)).graph.nodes if node.op == "output")
    outside = [storages_of(node) for node in output.all_input_nodes]
    own = [storages_of(node) for node in nodes]
    known = [found for found in (*outside, *own) if found is not None]
    if len(known) < len(outside) + len(own):
        return True
    return bool(frozenset().union(*own) & frozenset().union(*outside))  # type: ignore[arg-type]
