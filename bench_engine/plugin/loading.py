"""Finds plug-ins and loads them: by MIRROR_PLUGINS, which `--plugin` and `bench` write to, and by entry points."""

import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from bench_engine.methods.method import Method
from bench_engine.plugin import callable_operations, declared, own_entries
from bench_engine.plugin.declared import PluginError

VARIABLE, GROUP = "MIRROR_PLUGINS", "mirror_plugins"
_PREFIX = "mirror_plugin_"  # of modules of files
OF_FILE = "#"  # between a file and what is meant of it, where a colon parts files
_loaded: dict[str, ModuleType] = {}
_brought: dict[str, Method] = {}


@dataclass(frozen=True)
class Named:
    """A plug-in as it is named: `[METHOD=]FILE_OR_MODULE[#CLASS]`, with a colon on command lines.

    Attributes:
        target: path of a .py file, or a module.
        attribute: the class or function that is the method; empty where the plug-in declares its methods itself.
        method: what that is called in results; from its own name where that is empty.
    """

    target: str
    attribute: str = ""
    method: str = ""

    @staticmethod
    def of(text: str, separator: str = OF_FILE) -> "Named":
        """The plug-in of a text."""
        method, equals, rest = text.strip().partition("=")
        if not equals or not method.isidentifier():
            method, rest = "", text.strip()
        target, found, attribute = rest.rpartition(separator)
        return Named(target, attribute, method) if found else Named(rest, "", method)

    @property
    def name(self) -> str:
        """Of the method, where one class is meant: `MyBag` is called my_bag."""
        return self.method or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.attribute).lower()

    def __str__(self) -> str:
        target = str(Path(self.target).resolve()) if self.target.endswith(".py") else self.target
        return (
            (f"{self.method}=" if self.method else "") + target + (OF_FILE + self.attribute if self.attribute else "")
        )


def name_of(text: str) -> str:
    """What `my_bag.py:MyBag` is called as a method; empty where a text names no class of a plug-in."""
    named = Named.of(text, ":")
    return named.name if named.attribute else ""


def name_plugins(plugins: Sequence[str]) -> None:
    """Have this process and those that it starts know some plug-ins, beside those that MIRROR_PLUGINS names."""
    wanted = [*_named(), *(str(Named.of(p, ":")) for p in plugins)]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(wanted))


def named_plugins() -> list[Named]:
    """The plug-ins that this process and those that it starts know by MIRROR_PLUGINS."""
    return [Named.of(text) for text in _named()]


def load(
    methods: MutableMapping[str, Method], benchmarks: MutableMapping[str, Any], bring: Callable[[], object]
) -> None:
    """Bring what plug-ins declare among the methods and benchmarks that are known. Raises PluginError.

    `bring` does so with what is no method, once the methods are known.
    """
    for plugin in dict.fromkeys([*_named(), *_installed()]):
        if plugin not in _loaded:
            declared.known.loading = plugin
            try:
                with contextlib.redirect_stdout(sys.stderr):  # what it prints is no part of what a command tells
                    _loaded[plugin] = _imported(Named.of(plugin))
            finally:
                declared.known.loading = ""
    for name, found in declared.known.declared.items():
        if name in methods and methods[name] not in (found.entry, _brought.get(name)):
            raise PluginError(f"There is a method {name} already: give that of the plug-in another name.")
        methods[name] = _brought[name] = found.entry
    bring()
    for name, found in declared.known.declared.items():
        for benchmark in found.benchmarks:
            entry = benchmarks[benchmark]
            if name not in entry.methods:
                benchmarks[benchmark] = replace(entry, methods=(*entry.methods, name))
    if names := callable_operations.operations():
        entry = benchmarks[callable_operations.CALLABLE]
        axes = [replace(a, choices=names, default=names[0]) if a.name == "operator" else a for a in entry.axes]
        benchmarks[callable_operations.CALLABLE] = replace(entry, axes=tuple(axes))


def forget(name: str, methods: MutableMapping[str, Method]) -> None:
    """Make place for another method of this name, of a cell that was changed, say. Raises PluginError where it is none
    of a plug-in's."""
    if name not in methods and name not in declared.known.declared:
        return
    if name not in declared.known.declared:
        raise PluginError(f"There is a method {name} already: give yours another name, as in name='my_{name}'.")
    del declared.known.declared[name]
    methods.pop(name, None)
    left = [p for p in _named() if Named.of(p).name != name]
    for gone in set(_named()) - set(left):
        if (module := _loaded.pop(gone, None)) and module.__name__.startswith(_PREFIX):
            sys.modules.pop(module.__name__, None)  # or it would not declare anything when it is named again
    os.environ[VARIABLE] = os.pathsep.join(left)


def _named() -> list[str]:
    return [p for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p.strip()]


def _installed() -> Iterator[str]:
    for found in entry_points(group=GROUP):
        yield found.value.replace(":", OF_FILE)


def _imported(plugin: Named) -> ModuleType:
    """The module of a plug-in. Raises PluginError, where it cannot be imported or declares nothing."""
    before, target = _known(), plugin.target
    try:
        module = _of_file(Path(target)) if target.endswith(".py") else _of_name(target)
    except PluginError:
        raise
    except (Exception, SystemExit) as error:  # a script's last line may be sys.exit(main())
        if target.endswith(".py") and not os.path.exists(target):
            raise PluginError(f"There is no plug-in {target}: name a .py file or a module.") from error
        said = (str(error).splitlines() or ["no message"])[0][:300]
        raise PluginError(f"The plug-in {target} cannot be imported ({type(error).__name__}: {said}).") from error
    _check_beside(module, target)
    if plugin.attribute:
        _declare(module, plugin)
    elif _known() == before and not _declares(module):
        raise PluginError(
            f"The plug-in {target} declares no method, benchmark, data set or metric: put "
            "@bench_engine.plugin.method(...) on a class, say."
        )
    return module


def _check_beside(module: ModuleType, target: str) -> None:
    """Raises PluginError where a module that a plug-in imports from beside it would come from elsewhere: what would run
    is then not what its trials are known by."""
    file = declared.file_of(module.__name__)
    if not file:
        return
    root = declared.import_root(Path(file))
    for path in map(Path, declared.beside(Path(file))):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        came = None if str(path) == file else _place_of(name)
        if came and came != path:
            raise PluginError(
                f"The plug-in {target} would import {name} from {came} and not from beside it, {path}: give one of the "
                "two another name."
            )


def _place_of(module: str) -> Path | None:
    """The file from which a module was imported, or one that is in no package would be."""
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
    elif "." in module:
        return None
    else:
        spec = importlib.util.find_spec(module)
        file = spec.origin if spec and spec.has_location else None
    return Path(file).resolve() if file else None


def _known() -> tuple[object, ...]:
    """What is declared so far."""
    own = (own_entries.own_benchmarks(), own_entries.own_data_sets(), own_entries.own_metrics())
    return len(declared.known.declared), callable_operations.operations(), *map(len, own)


def _declares(module: ModuleType) -> bool:
    """Whether something of a module's file was declared before, by an import of its own."""
    file = declared.file_of(module.__name__)
    return any(found.file == file for found in declared.known.declared.values()) or own_entries.declared_in(file)


def _declare(module: ModuleType, plugin: Named) -> None:
    """Declare one class or function of a module, unless it has declared itself. Raises PluginError."""
    if plugin.attribute not in vars(module):
        close = difflib.get_close_matches(plugin.attribute, vars(module), n=1)
        near = f"; did you mean {close[0]}?" if close else "."
        raise PluginError(f"The plug-in {plugin.target} has no {plugin.attribute}{near}")
    if not callable(implementation := getattr(module, plugin.attribute)):
        raise PluginError(f"{plugin.attribute} of {plugin.target} is no class and no function: name one of these.")
    text = declared.first_line(implementation.__doc__, "a method of one's own")
    place = f"{module.__name__}:{plugin.attribute}"
    if itself := next((n for n, d in declared.known.declared.items() if d.entry.implementation == place), ""):
        if itself == plugin.name:
            return
        raise PluginError(
            f"{plugin.attribute} of {plugin.target} is the method {itself} already: name the file alone, and {itself}."
        )
    further = vars(module).get("__sources__", ())  # of one that was written down (bench_engine.plugin.written)
    entry = Method(plugin.name, text, place, sources=declared.files_of(module.__name__, further))
    declared.add(entry, declared.BENCHMARKS)


def _of_name(name: str) -> ModuleType:
    """A module by its name; of the folder that one is in where it is found nowhere else, as a worker's is too."""
    if importlib.util.find_spec(name.partition(".")[0]) is None and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return importlib.import_module(name)


def _of_file(path: Path) -> ModuleType:
    """A file as a module: by its own name in a package, else under one that tells it from others; what lies beside it
    can be imported."""
    path = path.resolve(strict=True)
    root = declared.import_root(path)
    if str(root) not in sys.path:
        sys.path.append(str(root))
    if root != path.parent:
        return importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"))
    name = f"{_PREFIX}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
