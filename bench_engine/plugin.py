"""Methods of your own, declared beside their code and measured like any other: `--plugin my_bag.py` (docs/plugins.md).

A plug-in is a Python file, or a module that can be imported, whose classes say `@method(...)`. It is named by
`--plugin`, by MIRROR_PLUGINS (several with the separator of PATH), or by an installed package under the entry point
group `mirror_plugins`. Workers, and the pages, know it by MIRROR_PLUGINS.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from bench_engine.methods.method import Method
from bench_engine.trial import Scalar

VARIABLE, GROUP = "MIRROR_PLUGINS", "mirror_plugins"
BENCHMARKS = ("lookup", "training", "collisions")  # those that build an embedding bag of any method
_T = TypeVar("_T")


class PluginError(ValueError):
    """A plug-in that cannot be used; the message is one sentence that says what to mend."""


@dataclass(frozen=True)
class _Declared:
    entry: Method
    benchmarks: tuple[str, ...]


@dataclass
class _Known:
    """What is declared and loaded in this process."""

    declared: dict[str, _Declared] = field(default_factory=dict)
    loaded: dict[str, ModuleType] = field(default_factory=dict)
    loading: str = ""


_known = _Known()


def method(
    name: str,
    text: str,
    benchmarks: Sequence[str] = ("lookup", "training"),
    *,
    compressible: bool = True,
    arguments: Mapping[str, str] | None = None,
    fixed: Mapping[str, Scalar] | None = None,
    sources: Sequence[str] = (),
) -> Callable[[type[_T]], type[_T]]:
    """Declare a class as a method.

    Args:
        name: in results and questions: letters, digits and underscores.
        text: help, one line.
        benchmarks: of BENCHMARKS, in which it can run.
        compressible: False for what exists at compression 1 alone.
        arguments: axis -> keyword under which the constructor takes its value.
        fixed: keyword -> value that the constructor always takes.
        sources: other files that the kernel is made of, beside the plug-in's own: a change of them runs trials anew.

    The class is constructed as cls(num_embeddings, embedding_dim, compression=..., mode=...) and has the interface of
    bench_engine.kernels.bags.EmbeddingBagMethod.

    Raises PluginError.
    """

    def declare(implementation: type[_T]) -> type[_T]:
        file = getattr(sys.modules[implementation.__module__], "__file__", None)
        if not name.isidentifier():
            raise PluginError(f"The method {name!r} needs another name: letters, digits and underscores.")
        if name in _known.declared:
            raise PluginError(f"Two plug-ins declare a method {name}: give one of them another name.")
        if unknown := [b for b in benchmarks if b not in BENCHMARKS]:
            raise PluginError(f"The method {name} cannot run in {unknown[0]}: name of {', '.join(BENCHMARKS)}.")
        near = Path(file).resolve().parent if file else Path()
        files = [str(Path(file).resolve())] if file else []
        entry = Method(
            name,
            text,
            f"{implementation.__module__}:{implementation.__qualname__}",
            compressible=compressible,
            sources=(*files, *(str((near / source).resolve()) for source in sources)),
            arguments=dict(arguments or {}),
            fixed=dict(fixed or {}),
        )
        _known.declared[name] = _Declared(entry, tuple(benchmarks))
        return implementation

    return declare


def name_plugins(plugins: Sequence[str]) -> None:
    """Have this process and those that it starts know some plug-ins, beside those that MIRROR_PLUGINS names."""
    wanted = [*_named(), *(str(Path(p).resolve()) if p.endswith(".py") else p for p in plugins)]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(wanted))


def load(methods: MutableMapping[str, Method], benchmarks: MutableMapping[str, Any]) -> None:
    """Bring what plug-ins declare among the methods and benchmarks that are known. Raises PluginError."""
    for plugin in dict.fromkeys([*_named(), *_installed()]):
        if plugin not in _known.loaded:
            _known.loading = plugin
            try:
                _known.loaded[plugin] = _imported(plugin)
            finally:
                _known.loading = ""
    for name, declared in _known.declared.items():
        if methods.get(name, declared.entry) != declared.entry:
            raise PluginError(f"There is a method {name} already: give that of the plug-in another name.")
        methods[name] = declared.entry
        for benchmark in declared.benchmarks:
            known = benchmarks[benchmark]
            if name not in known.methods:
                benchmarks[benchmark] = replace(known, methods=(*known.methods, name))


def _named() -> list[str]:
    return [p for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p.strip()]


def _installed() -> Iterator[str]:
    for found in entry_points(group=GROUP):
        yield found.value


def _imported(plugin: str) -> ModuleType:
    """The module of a plug-in. Raises PluginError, where it cannot be imported or declares nothing."""
    before = len(_known.declared)
    try:
        module = _of_file(Path(plugin)) if plugin.endswith(".py") else importlib.import_module(plugin)
    except PluginError:
        raise
    except FileNotFoundError as error:
        raise PluginError(f"There is no plug-in {plugin}: name a .py file or a module.") from error
    except Exception as error:
        said = (str(error).splitlines() or ["no message"])[0][:300]
        raise PluginError(f"The plug-in {plugin} cannot be imported ({type(error).__name__}: {said}).") from error
    if len(_known.declared) == before:
        raise PluginError(f"The plug-in {plugin} declares no method: put @bench_engine.plugin.method(...) on a class.")
    return module


def _of_file(path: Path) -> ModuleType:
    """A file as a module, under a name that tells it from others; what lies beside it can be imported."""
    path = path.resolve(strict=True)
    name = f"mirror_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
