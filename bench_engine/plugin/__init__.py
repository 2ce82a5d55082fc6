"""Methods of your own, embeddings or anything callable, measured like any other (docs/plugins.md).

A plug-in is a Python file, or a module that can be imported, that says `@method(...)` of classes, or `@operation` and
`@implements` of functions; or one class or function of such a file. It is named by `--plugin`, by
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
from bench_engine.plugin.loading import Named, forget, load, name_of, name_plugins, named_plugins
from bench_engine.plugin.written import declared_by, plugin_of

__all__ = [
    "Named",
    "PluginError",
    "beside",
    "command",
    "declared_by",
    "forget",
    "implementation_of",
    "implements",
    "import_root",
    "load",
    "loading_now",
    "method",
    "name_of",
    "name_plugins",
    "named_plugins",
    "operation",
    "operation_of",
    "operations",
    "plugin_of",
]
