"""The light Dynamo backend: the graph with its ops grouped, run as it is.

No AOTAutograd: the op has its gradients itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry.telling import tell_at_exit
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.graph.report import GraphReport
from bench_engine.kernels.parallel_op.settings import Settings, active_settings


def parallel_op(gm: torch.fx.GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """`torch.compile(model, backend="parallel_op")`; needs no environment variable and heeds the settings all the same.

    A graph in which nothing can be grouped runs as it came. Raises SettingsError and KernelsNotBuiltError.
    """
    if options:
        raise TypeError("the backend parallel_op takes no options or mode: set MIRROR_PARALLEL_OP_* instead.")
    settings = active_settings() or Settings.from_environment()
    if settings.report:
        tell_at_exit()
    call, _ = grouped(gm, settings)
    return call


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
