"""Graphs of real modules, grouped and compared with the untouched module."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.fx import GraphModule, Node

from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.graph.report import GraphReport
from bench_engine.kernels.parallel_op.plan import Plan
from bench_engine.kernels.parallel_op.settings import Settings


def traced(module: Callable[..., Any], *inputs: Any, dynamic: bool | None = None) -> GraphModule:
    """Dynamo's graph of a call that has no graph break."""
    graphs: list[GraphModule] = []

    def keep(graph: GraphModule, _: Any) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    torch.compile(module, backend=keep, fullgraph=True, dynamic=dynamic)(*inputs)
    (graph,) = graphs
    return graph


def grouped(module: Callable[..., Any], *inputs: Any, **settings: Any) -> tuple[GraphReport, GraphModule]:
    """The report and the grouped graph of a call, whose results and gradients are those of the untouched module."""
    reports: list[tuple[GraphReport, GraphModule]] = []

    def group(graph: GraphModule, _: Any) -> Callable[..., Any]:
        reports.append((group_graph(graph, Settings(**settings)), graph))
        return graph.forward

    torch._dynamo.reset()
    untouched = copy.deepcopy(module)  # without gradients
    if isinstance(module, nn.Module):
        module.zero_grad()
    own_inputs = copy.deepcopy(inputs)
    found = torch.compile(module, backend=group, fullgraph=True)(*inputs)
    expected = untouched(*own_inputs)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(inputs, own_inputs)
    if isinstance(module, nn.Module):
        _compare_gradients(module, untouched, found, expected)
    ((report, graph),) = reports
    return report, graph


def _compare_gradients(module: nn.Module, untouched: nn.Module, found: Any, expected: Any) -> None:
    for results in (found, expected):
        results = results if isinstance(results, tuple) else (results,)
        # Not a plain sum: each element has a gradient of its own.
        terms = [(r * torch.arange(1, r.numel() + 1).view(r.shape)).sum() for r in results if r.requires_grad]
        if terms:
            sum(terms).backward()
    for (name, own), other in zip(module.named_parameters(), untouched.parameters(), strict=True):
        assert (own.grad is None) == (other.grad is None), name
        if own.grad is not None:
            assert own.grad.layout == other.grad.layout, name
            torch.testing.assert_close(own.grad.to_dense(), other.grad.to_dense(), msg=name)


def calls(graph: GraphModule, name: str = "grouped_embedding") -> list[Node]:
    return [node for node in graph.graph.nodes if node.target is getattr(torch.ops.mirror, name).default]


def plans(graph: GraphModule) -> list[Plan]:
    """The plans of the grouped embeddings of a graph, in its order."""
    return [Plan.parse(node.args[-1]) for node in calls(graph)]


def targets(graph: GraphModule) -> list[str]:
    """What the graph calls, in order."""
    return [getattr(n.target, "__name__", n.target) for n in graph.graph.nodes if n.op.startswith("call")]
