"""A graph of Dynamo with its ops grouped, run as it is."""

from collections.abc import Callable
from typing import Any

import torch

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.graph.report import GraphReport
from bench_engine.kernels.parallel_op.settings import Settings


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
