"""Methods, benchmarks, data sets and metrics of your own, used like any other (docs/plugins.md).

A plug-in is a Python file, or a module that can be imported, that says `@method(...)` of classes, or `@operation` and
`@implements`, `@benchmark`, `@data_set` or `@metric` of functions; or one class or function of such a file that is a
method. It is named by `--plugin`, by
`-p methods=my_bag.py:MyBag`, by MIRROR_PLUGINS (several with the separator of PATH), by an installed package under the
entry point group `mirror_plugins`, or handed to `bench_engine.bench`. Workers, and the pages, know it by the variable.

From outside: the names here.
"""

from bench_engine.plugin.callable_operations import (
    command,
    implementation_of,
    implements,
    operation,
    operation_of,
    operations,
)
from bench_engine.plugin.declared import PluginError, beside, import_root, loading_now, method
from bench_engine.plugin.loading import GROUP, Named, forget, load, name_of, name_plugins, named_plugins
from bench_engine.plugin.own_entries import (
    OwnBenchmark,
    OwnDataSet,
    OwnMetric,
    benchmark,
    data_set,
    measured,
    metric,
    own_benchmarks,
    own_data_sets,
    own_metrics,
    parts_of,
    said_of,
    stored,
    timed,
    usual_metrics,
    with_parts,
)
from bench_engine.plugin.written import declared_by, plugin_of

__all__ = [
    "GROUP",
    "Named",
    "OwnBenchmark",
    "OwnDataSet",
    "OwnMetric",
    "PluginError",
    "benchmark",
    "beside",
    "command",
    "data_set",
    "declared_by",
    "forget",
    "implementation_of",
    "implements",
    "import_root",
    "load",
    "loading_now",
    "measured",
    "method",
    "metric",
    "name_of",
    "name_plugins",
    "named_plugins",
    "operation",
    "operation_of",
    "operations",
    "own_benchmarks",
    "own_data_sets",
    "own_metrics",
    "parts_of",
    "plugin_of",
    "said_of",
    "stored",
    "timed",
    "usual_metrics",
    "with_parts",
]
