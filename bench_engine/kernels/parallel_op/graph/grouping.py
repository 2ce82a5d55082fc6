"""Which members may become one op: those of one kind at one level of dependence.

level(n) is the largest number of members on a path to n. Two members of one level do not depend on each other, and
with one counter over all kinds no two groups depend on each other both ways. Order counts as dependence: what is
written in place is ordered against all that touch the same storage, a random call against the random ones, and
nothing moves across a change of global state (autocast, grad mode) or a call of unknown effect.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch.fx import Graph, Node

from bench_engine.kernels.parallel_op.graph.effects import BARRIER, PURE, Effect, effect_of
from bench_engine.kernels.parallel_op.graph.members import EMBEDDING, Member
from bench_engine.kernels.parallel_op.graph.nodes import storages_of, value_of


@dataclass(frozen=True)
class Order:
    """What must come before each node of a graph, and the effects of those that have one."""

    before: dict[Node, tuple[Node, ...]]
    effects: dict[Node, Effect]

    @property
    def frozen(self) -> bool:
        """Nothing is written in place."""
        return not any(effect.barrier or effect.written for effect in self.effects.values())


@dataclass(frozen=True)
class Group:
    """Members, in the graph's order, that become one op."""

    kind: str
    level: int
    device: torch.device
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Alone:
    """A member that found too few others."""

    member: Member
    reason: str


@dataclass(frozen=True)
class Grouping:
    """after: for each node, the level from which its result is there: its own, one more for a member of a group."""

    groups: tuple[Group, ...]
    alone: tuple[Alone, ...]
    after: dict[Node, int]


def order_of(graph: Graph) -> Order:
    """The order of a graph that has to be kept."""
    nodes = list(graph.nodes)
    effects = {node: effect for node in nodes if (effect := effect_of(node)) != PURE}
    touched: dict[Node, frozenset[int]] = {}
    if any(effect.written for effect in effects.values()):
        touched = _touched(nodes)
        if not touched:  # somewhere it is not known what is written to
            effects = {node: BARRIER if effect.written else effect for node, effect in effects.items()}
    before: dict[Node, tuple[Node, ...]] = {}
    barrier: Node | None = None
    since: list[Node] = []
    random: Node | None = None
    writer: dict[int, Node] = {}
    readers: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        effect = effects.get(node, PURE)
        wanted = dict.fromkeys(node.all_input_nodes)
        if barrier is not None:
            wanted[barrier] = None
        if effect.barrier:
            wanted.update(dict.fromkeys(since))
            barrier, since = node, []
        else:
            since.append(node)
        if effect.random:
            if random is not None:
                wanted[random] = None
            random = node
        written = frozenset().union(*(storages_of(target) or () for target in effect.written))
        for storage in touched.get(node, ()):
            if storage in writer:
                wanted[writer[storage]] = None
            if storage in written:
                wanted.update(dict.fromkeys(readers.pop(storage, ())))
                writer[storage] = node
            else:
                readers[storage].append(node)
        before[node] = tuple(wanted)
    return Order(before, effects)


def _touched(nodes: Iterable[Node]) -> dict[Node, frozenset[int]]:
    """The storages that each node reads, writes or returns; empty if one of them is not known."""
    held: dict[Node, frozenset[int]] = {}
    touched: dict[Node, frozenset[int]] = {}
    for node in nodes:
        storages = storages_of(node)
        unknown = node.op in ("placeholder", "call_method", "call_function") and value_of(node) is None
        if storages is None or (unknown and node.users):
            return {}
        held[node] = storages
        touched[node] = storages.union(*(held[used] for used in node.all_input_nodes))
    return touched


def group(order: Order, members: Sequence[Member], min_group: int) -> Grouping:
    """Group the members, at least `min_group` in each. What stays alone does not count for the levels of the rest."""
    left = {member.node: member for member in members}
    dropped: list[Member] = []
    while True:
        after = _levels(order, left)
        found: dict[tuple[int, str, torch.device], list[Member]] = defaultdict(list)
        for member in left.values():
            found[after[member.node] - 1, member.kind, member.device].append(member)
        small = {key: few for key, few in found.items() if len(few) < min_group}
        if not small:
            break
        # Embeddings last: another op that stays alone must not come between them.
        embedding = all(kind == EMBEDDING for _, kind, _ in small)
        level = min(level for level, kind, _ in small if embedding or kind != EMBEDDING)
        for key, few in small.items():
            if key[0] == level and (embedding or key[1] != EMBEDDING):
                dropped += few
                left = {node: member for node, member in left.items() if member not in few}
    groups = (
        Group(kind, level, device, tuple(together))
        for (level, kind, device), together in sorted(found.items(), key=lambda item: item[0][0])
    )
    return Grouping(tuple(groups), _alone(order, members, dropped), after)


def _levels(order: Order, members: dict[Node, Member]) -> dict[Node, int]:
    after: dict[Node, int] = {}
    for node, before in order.before.items():
        after[node] = max((after[other] for other in before), default=0) + (node in members)
    return after


def _alone(order: Order, members: Sequence[Member], dropped: Sequence[Member]) -> tuple[Alone, ...]:
    """Why each of the dropped is not at the level of others of its kind."""
    reasons: dict[Node, str] = {}
    for kind, device in {(member.kind, member.device) for member in dropped}:
        same = {member.node: member for member in members if (member.kind, member.device) == (kind, device)}
        after = _levels(order, same)
        reasons |= {node: _why(node, order, same, after) for node in same}
    return tuple(Alone(member, reasons[member.node]) for member in dropped)


def _why(node: Node, order: Order, same: dict[Node, Member], after: dict[Node, int]) -> str:
    """The last of its kind before the node, and what keeps it there."""
    if len(same) == 1:
        return "no other op of its kind"
    level = [other for other in same if after[other] == after[node]]
    if len(level) > 1:
        return f"only {len(level)} of its kind at its level"
    keeper = None
    while before := order.before[node]:
        node = max(before, key=after.__getitem__)
        if node in same:
            return f"{keeper.name} keeps it after {node.name}" if keeper else f"it comes after {node.name}"
        effect = order.effects.get(node, PURE)
        keeper = keeper or (node if effect.barrier or effect.written else None)
    return "the others come later"
