"""The light Dynamo backend: the graph with its ops grouped, run as it is.

No AOTAutograd: the op has its gradients itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from bench_engine.kernels.parallel_op.entry.telling import tell_at_exit
from bench_engine.kernels.parallel_op.graph.grouped_graph import grouped
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
