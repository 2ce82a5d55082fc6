"""The pass as Inductor takes it; imported with Inductor."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch._inductor import custom_graph_pass
from torch._inductor.custom_graph_pass import CustomGraphPass

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.settings import Settings, active_settings


class ParallelOpPass(CustomGraphPass):
    """Groups the ops of a graph before AOTAutograd, so one pass serves inference and training.

    Takes tuples: older Inductors put a pickle of it into their cache key, and a set has no fixed order.
    """

    def __init__(self, names: tuple[str, ...], asked: tuple[str, ...], min_group: int) -> None:
        self._names, self._asked, self._min_group = names, asked, min_group

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Group the calls of a graph, in place."""
        _prepare()
        settings = Settings(ops=frozenset(self._names), asked=frozenset(self._asked), min_group=self._min_group)
        module = graph.owning_module
        if module is not None:
            group_graph(module, settings, for_inductor=True)

    def uuid(self) -> Any:
        """What a cached graph must agree with: these sources and the settings."""
        # Inductor asks for it before it looks into its cache, and what is there calls the op without the pass.
        _prepare()
        return (sources_digest(), self._names, self._asked, self._min_group)


def _prepare() -> None:
    ops.load()
    settings = active_settings()
    if settings is not None:
        ops.configure(settings)


class _Chain(CustomGraphPass):
    """A user's pass and ours as one, for an Inductor whose configuration takes no list."""

    def __init__(self, first: Any, second: ParallelOpPass) -> None:
        self.first, self._second = first, second

    def __call__(self, graph: torch.fx.Graph) -> None:
        self.first(graph)
        self._second(graph)

    def uuid(self) -> Any:
        first = self.first.uuid() if isinstance(self.first, CustomGraphPass) else None
        return first and (first, self._second.uuid())


def with_pass(configured: Any, ours: ParallelOpPass) -> Any:
    """`configured`, a value of Inductor's configuration, with `ours` as the last pass; a list gets it in place."""
    if configured is None:
        return ours
    if isinstance(configured, list):
        if ours not in configured:
            configured.append(ours)
        return configured
    if isinstance(configured, tuple):
        return configured if ours in configured else (*configured, ours)
    if configured is ours or isinstance(configured, _Chain):
        return configured
    takes_lists = hasattr(custom_graph_pass, "get_custom_graph_passes")
    return [configured, ours] if takes_lists else _Chain(configured, ours)


def without_pass(configured: Any) -> Any:
    """`configured` as its user left it; a list is changed in place."""
    if isinstance(configured, list):
        configured[:] = [other for other in configured if not isinstance(other, ParallelOpPass)]
        return configured
    if isinstance(configured, tuple):
        return tuple(other for other in configured if not isinstance(other, ParallelOpPass))
    if isinstance(configured, _Chain):
        return configured.first
    return None if isinstance(configured, ParallelOpPass) else configured


@cache
def sources_digest() -> str:
    """Hash of this folder's sources: a compiled graph must not outlive the pass that made it."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
