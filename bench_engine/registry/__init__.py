"""What can be run: methods, benchmarks, axes and data sets, each declared in one place. Loads without torch.

A method is an entry in bench_engine/methods or, where it is other people's, in bench_engine/methods/rivals;
benchmarks, axes and data sets are entries here. The worker imports what an entry names.

Plug-ins that are named bring methods of their own (bench_engine.plugin).

From outside: the names here, readiness.
"""

from pathlib import Path

from bench_engine import plugin
from bench_engine.methods import identity
from bench_engine.methods.method import Method
from bench_engine.registry.axes import Axis, limits
from bench_engine.registry.benchmarks import BENCHMARKS, Benchmark, benchmark
from bench_engine.registry.datasets import DATA_SETS, DataSet, data_set, missing
from bench_engine.registry.methods import METHODS, SELF_CHECK_METHODS, method
from bench_engine.registry.names import UnknownNameError, hint, nearest

__all__ = [
    "BENCHMARKS",
    "DATA_SETS",
    "METHODS",
    "SELF_CHECK_METHODS",
    "Axis",
    "Benchmark",
    "DataSet",
    "Method",
    "UnknownNameError",
    "benchmark",
    "data_set",
    "hint",
    "limits",
    "method",
    "missing",
    "nearest",
    "with_own",
    "with_plugins",
]


def with_plugins(*plugins: str) -> None:
    """Know the methods of these plug-ins too, in this process and in those that it starts. Raises PluginError."""
    plugin.name_plugins(plugins)
    plugin.load(METHODS, BENCHMARKS)


def with_own(implementation: object, name: str, folder: Path) -> str:
    """Know a class or function as a method, in this process and in those that it starts, in the place of a former one
    of that name. Returns its name.

    `name` may be empty, `folder` is for code of a notebook (see bench_engine.plugin.written). Raises PluginError.
    """
    named = plugin.plugin_of(implementation, name, folder)
    if named.method:
        plugin.forget(named.method, METHODS)
    with_plugins(f"{named.method}={named.target}:{named.attribute}" if named.attribute else str(named))
    identity.forget()
    return named.method or plugin.declared_by(named)


plugin.load(METHODS, BENCHMARKS)
