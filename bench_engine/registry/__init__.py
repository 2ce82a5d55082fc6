"""What can be run: methods, benchmarks, axes and data sets, each declared in one place. Loads without torch.

A method is an entry in bench_engine/methods or, where it is other people's, in bench_engine/methods/rivals;
benchmarks, axes and data sets are entries here. The worker imports what an entry names.

From outside: the names here, readiness.
"""

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
]
