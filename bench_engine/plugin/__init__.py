"""Methods of your own, declared beside their code and measured like any other (docs/plugins.md).

A plug-in is a Python file, or a module that can be imported, whose classes say `@method(...)`, or one class or function
of such a file. It is named by `--plugin`, by `-p methods=my_bag.py:MyBag`, by MIRROR_PLUGINS (several with the
separator of PATH), by an installed package under the entry point group `mirror_plugins`, or handed to
`bench_engine.bench`. Workers, and the pages, know it by MIRROR_PLUGINS.

From outside: the names here.
"""

from bench_engine.plugin.declared import PluginError, loading_now, method
from bench_engine.plugin.loading import Named, forget, load, name_of, name_plugins
from bench_engine.plugin.written import declared_by, plugin_of

__all__ = [
    "Named",
    "PluginError",
    "declared_by",
    "forget",
    "load",
    "loading_now",
    "method",
    "name_of",
    "name_plugins",
    "plugin_of",
]
