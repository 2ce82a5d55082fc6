"""What can be run: methods, benchmarks, axes and data sets, each declared in one place. Loads without torch.

A method is an entry in bench_engine/methods or, where it is other people's, in bench_engine/methods/rivals;
benchmarks, axes and data sets are entries here. The worker imports what an entry names.

Plug-ins that are named bring their own methods, benchmarks, data sets and metrics (bench_engine.plugin).

From outside: the names here, readiness.
"""

from dataclasses import replace
from pathlib import Path

from bench_engine import plugin
from bench_engine.methods import identity
from bench_engine.methods.method import Method
from bench_engine.registry.axes import Axis, limits
from bench_engine.registry.benchmarks import BENCHMARKS, Benchmark, benchmark
from bench_engine.registry.brought import bring, metric
from bench_engine.registry.datasets import DATA_SETS, DataSet, data_set, missing
from bench_engine.registry.methods import METHODS, SELF_CHECK_METHODS, method
from bench_engine.registry.names import UnknownNameError, hint, nearest
from bench_engine.registry.own_data import OwnTable, name_table, named_tables, own_table

__all__ = [
    "BENCHMARKS",
    "DATA_SETS",
    "METHODS",
    "SELF_CHECK_METHODS",
    "Axis",
    "Benchmark",
    "DataSet",
    "Method",
    "OwnTable",
    "UnknownNameError",
    "benchmark",
    "data_set",
    "hint",
    "limits",
    "method",
    "metric",
    "missing",
    "nearest",
    "own_table",
    "with_own",
    "with_plugins",
    "with_table",
]


def with_plugins(*plugins: str) -> None:
    """Know what these plug-ins declare too, in this process and in those that it starts. Raises PluginError."""
    plugin.name_plugins(plugins)
    _load()


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


def with_table(table: OwnTable) -> None:
    """Know a file as a data set, in this process and in those that it starts."""
    name_table(table)
    _know_tables()


def _load() -> None:
    plugin.load(METHODS, BENCHMARKS, bring)
    _know_tables()


def _know_tables() -> None:
    DATA_SETS.update({table.name: table for table in named_tables()})
    training = BENCHMARKS["training"]
    axes = (replace(a, choices=tuple(DATA_SETS)) if a.name == "dataset" else a for a in training.axes)
    BENCHMARKS["training"] = replace(training, axes=tuple(axes))


_load()
