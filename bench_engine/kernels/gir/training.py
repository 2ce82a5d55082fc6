"""Training: look-ups of a graph become the parallel op, whose gradients are one op too, before AOTAutograd sees it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx

from bench_engine.kernels.native import extension

_ROWS = "aten.embedding"  # which is left to compilers that fuse it
_SOURCE = "_dynamo_source"  # of an input, which AOTAutograd asks for


def trains(inputs: Sequence[Any]) -> bool:
    """Whether gradients of some of a graph's inputs are wanted."""
    return torch.is_grad_enabled() and any(isinstance(value, Tensor) and value.requires_grad for value in inputs)


def group_lookups(module: fx.GraphModule) -> None:
    """Groups the look-ups of a graph of Dynamo, in place; it stays as it is where the kernels are not built."""
    if extension.python_module_if_built() is None:
        return
    from bench_engine.kernels.parallel_op import ops  # here, for inference needs none of it
    from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
    from bench_engine.kernels.parallel_op.settings import Settings, active_settings

    ops.load()
    settings = active_settings() or Settings.from_environment()
    ops.configure(settings)
    inputs = {node.name: getattr(node, _SOURCE, None) for node in module.graph.find_nodes(op="placeholder")}
    chosen = Settings(ops=settings.ops, asked=frozenset({_ROWS}), min_group=settings.min_group)
    group_graph(module, chosen, for_inductor=True)
    for node in module.graph.find_nodes(op="placeholder"):
        setattr(node, _SOURCE, inputs[node.name])
    module.recompile()
