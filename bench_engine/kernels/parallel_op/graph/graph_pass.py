"""Groups the whitelisted ops of a graph: finds them, decides, and only then changes the graph."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch.fx import GraphModule, Node

from bench_engine.kernels.parallel_op.graph.folding import NotFolded, folds_of
from bench_engine.kernels.parallel_op.graph.grouping import group, order_of
from bench_engine.kernels.parallel_op.graph.members import EMBEDDING, Member, Refusal, member_of
from bench_engine.kernels.parallel_op.graph.nodes import called
from bench_engine.kernels.parallel_op.graph.report import GraphReport, GroupSummary, Left, joined, record
from bench_engine.kernels.parallel_op.graph.rewrite import GroupCall, call_of, rewritten

if TYPE_CHECKING:
    from bench_engine.kernels.parallel_op.settings import Settings

_log = logging.getLogger(__name__)


def group_graph(
    module: GraphModule,
    settings: "Settings",
    *,
    for_inductor: bool = False,
    names: Mapping[str, str] | None = None,
    kept: bool = True,
) -> GraphReport:
    """Group the ops of a graph and of its subgraphs, in place.

    Never raises: a graph with which something is wrong stays as it is, and the report says so. The report is also kept
    for the process (`parallel_op.report_text()` tells it), unless the graph has no op of the whitelist, or `kept` is
    False.

    Args:
        module: a graph of Dynamo before AOTAutograd, or one of aten ops; nodes hold their fake results.
        settings: the whitelist and the size of the smallest group.
        for_inductor: leave to Inductor what it does better.
        names: what the user calls the parameters, by the name of their placeholder.
    """
    parts = []
    for part in dict.fromkeys(part for part in module.modules() if isinstance(part, GraphModule)):
        try:
            parts.append(_group_one(part, settings, for_inductor, dict(names or {})))
        except Exception as error:
            _log.info("Parallel OP left a graph as it was: %s", error, exc_info=True)  # the report says so as well
            parts.append(GraphReport(error=f"{type(error).__name__}: {error}"))
    report = joined(parts)
    if kept and not report.empty:
        record(report)
    return report


def _group_one(module: GraphModule, settings: "Settings", for_inductor: bool, names: dict[str, str]) -> GraphReport:
    order = order_of(module.graph)
    members: list[Member] = []
    refused: list[Refusal] = []
    for node in module.graph.nodes:
        found = member_of(
            node, settings.ops, for_inductor=for_inductor, asked=settings.asked, frozen=order.frozen
        )  # fmt: skip
        if isinstance(found, Member) and not _has_kernel(found):
            found = Refusal(node, found.op, f"there is no grouped kernel for {found.device.type}")
        if isinstance(found, Member):
            members.append(found)
        elif found is not None:
            refused.append(found)
    grouping = group(order, members, settings.min_group)
    calls: list[GroupCall] = []
    not_folded: list[NotFolded] = []
    for found_group in grouping.groups:
        folds, others = folds_of(found_group, grouping, order) if found_group.kind == EMBEDDING else ([], [])
        calls.append(call_of(found_group, folds, names))
        not_folded += others
    if calls:
        module.graph = rewritten(module, order, calls)
    return GraphReport(
        groups=tuple(_summary(call, names) for call in calls),
        refused=tuple(Left(item.op, item.node.name, item.reason) for item in refused),
        alone=tuple(Left(item.member.op, item.member.node.name, item.reason) for item in grouping.alone),
        not_folded=tuple(Left(called(item.node), item.node.name, item.reason) for item in not_folded),
    )


def _has_kernel(member: Member) -> bool:
    """Whether the compiled op runs on the member's device. Raises RuntimeError where it is not loaded."""
    name = "grouped_embedding" if member.kind == EMBEDDING else "side_by_side"
    if not hasattr(torch.ops.mirror, name):
        raise RuntimeError(f"the compiled op mirror::{name} is not loaded")
    key = {"cpu": "CPU", "cuda": "CUDA"}[member.device.type]
    return torch._C._dispatch_has_computed_kernel_for_dispatch_key(f"mirror::{name}", key)


def _summary(call: GroupCall, names: dict[str, str]) -> GroupSummary:
    folded = []
    for fold in call.folds:
        own = sum(not isinstance(part, Node) for part in fold.parts)
        others = len(fold.parts) - own
        name = fold.node.name if fold.node.name.startswith(fold.kind) else f"{fold.kind} {fold.node.name}"
        twins = f", also as {' and '.join(twin.name for twin in fold.twins)}" if fold.twins else ""
        folded.append(f"{name} of {own}" + (f" and {others} more" if others else "") + twins)
    group = call.group
    return GroupSummary(
        kind=group.kind,
        level=group.level,
        device=str(group.device),
        names=tuple(names.get(member.name, member.name) for member in group.members),
        folded=tuple(folded),
        views=call.views,
        shared=call.shared,
    )
