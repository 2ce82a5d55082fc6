"""Puts the grouped ops into a graph: a new graph, in an order as near to the old one as what depends allows."""

import heapq
import operator
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch.fx import Graph, GraphModule, Node

from bench_engine.kernels.parallel_op.graph.effects import PURE
from bench_engine.kernels.parallel_op.graph.folding import Fold, twin_shape
from bench_engine.kernels.parallel_op.graph.grouping import Group, Order
from bench_engine.kernels.parallel_op.graph.members import EMBEDDING, Lookup, Member
from bench_engine.kernels.parallel_op.graph.nodes import value_key, value_of
from bench_engine.kernels.parallel_op.graph.views import Resolved, resolve
from bench_engine.kernels.parallel_op.plan import Branch, Extra, Output, Plan, Source, Table, View, branches_text
from bench_engine.kernels.parallel_op.plan import Input as BranchInput


@dataclass(frozen=True)
class GroupCall:
    """The call of a grouped op, in terms of the old graph.

    name: of the op in torch.ops.mirror. results: the old nodes whose places its outputs take. replaced: all old nodes
    that go. views, shared: how many inputs became views, and how many are passed once for several members.
    """

    group: Group
    folds: tuple[Fold, ...]
    name: str
    arguments: tuple[list[Node] | str, ...]
    results: tuple[Node, ...]
    replaced: frozenset[Node]
    views: int = 0
    shared: int = 0

    @property
    def inputs(self) -> Iterator[Node]:
        """The old nodes that it takes."""
        for argument in self.arguments:
            if isinstance(argument, list):
                yield from argument


@dataclass
class _Inputs:
    """A list of tensors in which each stands once."""

    nodes: list[Node] = field(default_factory=list)
    views: int = 0
    uses: int = 0

    def source(self, node: Node | None, single: bool = False) -> Source | None:
        """Where a tensor is found; `single`: as (B,), where it is (B, 1)."""
        if node is None:
            return None
        found = resolve(node)
        if single:
            found = _column(node, found)
        self.views += found.view is not None
        self.uses += 1
        if found.base not in self.nodes:
            self.nodes.append(found.base)
        return Source(self.nodes.index(found.base), found.view)


def _column(node: Node, found: Resolved) -> Resolved:
    """The only column of a matrix, which `found` is too."""
    if found.view is None:
        return Resolved(found.base, View(1, 0))
    if found.view.dim == 1 and found.view.length == 1:
        return Resolved(found.base, View(1, found.view.start))
    return Resolved(node, View(1, 0))


def call_of(group: Group, folds: Iterable[Fold], names: dict[str, str]) -> GroupCall:
    """The call that does the work of a group. `names`: what tables are called by their user, by their name here."""
    folds = tuple(folds)
    replaced = {member.node for member in group.members} | {member.value for member in group.members}
    for member in group.members:
        if member.value is not member.node:
            replaced |= set(member.node.users)
    replaced |= {node for fold in folds for node in (fold.node, *fold.twins)}
    if group.kind == EMBEDDING:
        return _embedding_call(group, folds, names, frozenset(replaced))
    nodes: list[Node] = []
    branches = []
    for member in group.members:
        assert isinstance(member.work, Branch)
        for node in member.inputs:
            if node not in nodes:
                nodes.append(node)
        places = [nodes.index(node) for node in member.inputs]
        branches.append(
            Branch(
                member.work.op,
                tuple(BranchInput(places[a.index]) if isinstance(a, BranchInput) else a for a in member.work.arguments),
            )
        )
    shared = sum(len(member.inputs) for member in group.members) - len(nodes)
    results = tuple(member.value for member in group.members)
    return GroupCall(
        group, (), "side_by_side", (nodes, branches_text(branches)), results, frozenset(replaced), shared=shared
    )


def _embedding_call(
    group: Group, folds: tuple[Fold, ...], names: dict[str, str], replaced: frozenset[Node]
) -> GroupCall:
    ids, offsets, factors = _Inputs(), _Inputs(), _Inputs()
    tables, weights = [], []
    for member in group.members:
        work = member.work
        assert isinstance(work, Lookup)
        weights.append(work.weight)
        source = ids.source(work.ids, single=any(member.node in fold.single for fold in folds))
        assert source is not None
        tables.append(
            Table(
                names.get(member.name, member.name),
                source,
                offsets.source(work.offsets),
                factors.source(work.per_sample_weights),
                work.mode,
                work.padding,
                work.last,
                work.sparse,
            )
        )
    place = {member.node: index for index, member in enumerate(group.members)}
    folded = {part.node: fold for fold in folds for part in fold.parts if isinstance(part, Member)}
    extras: list[Node] = []
    outputs: list[Output] = []
    results: list[Node] = []
    for member in group.members:
        fold = folded.get(member.node)
        if fold is None:
            outputs.append(Output("out", (place[member.node],)))
            results.append(member.value)
        elif fold.node not in results:
            parts: list[int | Extra] = []
            for part in fold.parts:
                if isinstance(part, Member):
                    parts.append(place[part.node])
                else:
                    parts.append(Extra(len(extras)))
                    extras.append(part)
            outputs.append(Output(fold.kind, tuple(parts)))
            results.append(fold.node)
    text = Plan(tuple(tables), tuple(outputs)).text()
    lists = (ids, offsets, factors)
    return GroupCall(
        group,
        folds,
        "grouped_embedding",
        (weights, *(inputs.nodes for inputs in lists), extras, text),
        tuple(results),
        replaced,
        views=sum(inputs.views for inputs in lists),
        shared=sum(inputs.uses - len(inputs.nodes) for inputs in lists),
    )


def rewritten(module: GraphModule, order: Order, calls: list[GroupCall]) -> Graph:
    """The module's graph with the calls in place; the old graph is left as it is. Names of what stays are kept."""
    old = module.graph
    dead = _dead(old, order, calls)
    new = Graph(owning_module=module, tracer_cls=old._tracer_cls, tracer_extras=old._tracer_extras)
    new._codegen = old._codegen
    new._co_fields = old._co_fields
    taken = {node.name for node in old.nodes}
    copies: dict[Node, Node] = {}
    for unit in _sorted(old, order, calls, dead):
        if isinstance(unit, Node):
            copies[unit] = new.node_copy(unit, copies.__getitem__)
        else:
            _insert(new, unit, copies, taken)
    new.lint()
    return new


def _insert(new: Graph, call: GroupCall, copies: dict[Node, Node], taken: set[str]) -> None:
    """Add the call and one node for each of its outputs."""
    arguments = tuple(
        argument if isinstance(argument, str) else [copies[node] for node in argument] for argument in call.arguments
    )
    name = next(
        name
        for number in range(len(taken) + 1)
        if (name := f"{call.name}_{number}" if number else call.name) not in taken
    )
    taken.add(name)
    target = getattr(torch.ops.mirror, call.name).default
    node = new.create_node("call_function", target, arguments, name=name)
    first = call.results[0]
    described = call.group.members[0].node.meta
    node.meta = {
        key: described[key] for key in ("stack_trace", "nn_module_stack", "source_fn_stack") if key in described
    }
    key = value_key(first)
    if key is not None:
        node.meta[key] = [value_of(result) for result in call.results]
    for place, result in enumerate(call.results):
        item = new.create_node(
            "call_function", operator.getitem, (node, place), name=result.name, type_expr=result.type
        )
        item.meta = dict(result.meta)
        copies[result] = item
    for fold in call.folds:
        for twin in fold.twins:
            shape = twin_shape(twin)
            view = torch.ops.aten.view.default
            copies[twin] = new.create_node("call_function", view, (copies[fold.node], shape), name=twin.name)
            copies[twin].meta = dict(twin.meta)


def _dead(old: Graph, order: Order, calls: list[GroupCall]) -> set[Node]:
    """Nodes whose results nobody needs any more, such as the views that the calls take by themselves."""
    replaced = frozenset().union(*(call.replaced for call in calls))
    uses: Counter[Node] = Counter()
    for node in old.nodes:
        if node not in replaced:
            uses.update(node.all_input_nodes)
    for call in calls:
        uses.update(set(call.inputs))
    dead: set[Node] = set()
    for node in reversed(old.nodes):
        removable = node.op in ("call_function", "call_method") and order.effects.get(node, PURE) == PURE
        if node not in replaced and removable and node.users and not uses[node] and not node.is_impure():
            dead.add(node)
            uses.subtract(node.all_input_nodes)
    return dead


def _sorted(old: Graph, order: Order, calls: list[GroupCall], dead: set[Node]) -> Iterator[Node | GroupCall]:
    """Nodes and calls, each after all that it needs, as near to where its first node stood as that allows.

    Raises ValueError for a cycle.
    """
    place = {node: index for index, node in enumerate(old.nodes)}
    units: dict[int, Node | GroupCall] = {place[node]: node for node in old.nodes if node not in dead}
    wanted: dict[int, set[int]] = {}
    for call in calls:
        first = min(place[node] for node in call.replaced)
        for node in call.replaced:
            units.pop(place[node], None)
            place[node] = first
        units[first] = call

    def needs(node: Node) -> Iterator[int]:
        for other in order.before[node]:
            if other in dead:
                yield from needs(other)
            else:
                yield place[other]

    for node in old.nodes:
        if node not in dead:
            wanted.setdefault(place[node], set()).update(needs(node))
    for call in calls:
        wanted[place[call.results[0]]].update(place[node] for node in call.inputs)
    waiting: dict[int, list[int]] = {}
    for unit, needed in wanted.items():
        needed.discard(unit)
        for other in needed:
            waiting.setdefault(other, []).append(unit)
    ready = [unit for unit, needed in wanted.items() if not needed]
    heapq.heapify(ready)
    done = 0
    while ready:
        unit = heapq.heappop(ready)
        done += 1
        yield units[unit]
        for other in waiting.get(unit, ()):
            wanted[other].discard(unit)
            if not wanted[other]:
                heapq.heappush(ready, other)
    if done < len(units):
        raise ValueError("the groups depend on each other both ways")
