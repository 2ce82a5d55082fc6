"""A graph of Dynamo with its ops grouped: run as it is, or handed on to a compiler."""

import copy
from collections.abc import Callable
from typing import Any

import torch

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.graph.report import GraphReport
from bench_engine.kernels.parallel_op.settings import Settings, active_settings

_ROWS = "aten.embedding"  # which is left to compilers that fuse it
_SOURCE = "_dynamo_source"  # of an input, which AOTAutograd asks for


def grouped(gm: torch.fx.GraphModule, settings: Settings) -> tuple[Callable[..., Any], GraphReport]:
    """Group the ops of `gm` in place; what runs it, and what was found. Raises KernelsNotBuiltError."""
    ops.load()
    ops.configure(settings)
    report = group_graph(gm, settings)
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.mirror.grouped_embedding.default):
        node.target = ops.grouped_embedding
    # A lazy graph module compiles itself on the first call of a stand-in, which would stay in the way of later calls.
    getattr(gm, "real_recompile", gm.recompile)()
    return gm.forward, report


def grouped_copy(gm: torch.fx.GraphModule) -> Callable[..., Any] | None:
    """What runs a graph of ATen ops with its look-ups as one op; None where it has none that can be.

    Raises KernelsNotBuiltError.
    """
    ops.load()
    own = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    report = group_graph(own, Settings(asked=frozenset({_ROWS}), min_group=1), kept=False)
    return own.forward if report.groups else None


def group_before_aot(gm: torch.fx.GraphModule) -> None:
    """Group the look-ups of a graph, in place, for who hands it to AOTAutograd: their gradients are one op then too.

    Raises KernelsNotBuiltError.
    """
    ops.load()
    settings = active_settings() or Settings.from_environment()
    ops.configure(settings)
    inputs = {node.name: getattr(node, _SOURCE, None) for node in gm.graph.find_nodes(op="placeholder")}
    chosen = Settings(ops=settings.ops, asked=frozenset({_ROWS}), min_group=1)
    group_graph(gm, chosen, for_inductor=True)
    for node in gm.graph.find_nodes(op="placeholder"):
        setattr(node, _SOURCE, inputs[node.name])
    gm.recompile()
