"""Code of a notebook or a script as a plug-in: what a trial's process cannot import is written down as a module.

The module holds the class or function, what it names of the same notebook, in the order in which it needs it, and
imports of what it names from elsewhere. Names that only the running session has, a tensor or an open file, cannot be
written down; then one sentence says so. Nothing of the notebook runs again but that.
"""

import __future__

import ast
import builtins
import hashlib
import inspect
import linecache
import os
import symtable
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from bench_engine.plugin import declared
from bench_engine.plugin.declared import PluginError
from bench_engine.plugin.loading import Named
from db import installation

_HEAD = "# Taken from a notebook or a script, with all that it names there.\n"
_IN_A_FILE = "put it into a file, such as my_bag.py, and hand it over from there: from my_bag import"


def plugin_of(implementation: object, name: str, folder: Path) -> Named:
    """A class or function as a plug-in that other processes can load, its `name` the method's own where it is given.

    Args:
        implementation: the class or function.
        name: of the method; empty for the one it declares by @method, or for its own in small letters.
        folder: where code of a notebook or script is written down.

    Raises PluginError.
    """
    own = getattr(implementation, "__qualname__", "")
    if not callable(implementation) or not own:
        raise PluginError(f"A method is a class or a function, not {implementation!r:.60}: hand over one of these.")
    if not own.isidentifier():
        raise PluginError(f"{own} lies within other code, where no other process finds it: {_IN_A_FILE} it.")
    module = str(implementation.__module__)
    itself = declared.known.itself.get(f"{module}:{own}", "")
    file = "" if module == "__main__" else declared.file_of(module)
    if file.endswith(".py"):
        return Named(file) if itself else Named(file, own, name or Named("", own).name)
    known_as = itself or name or Named("", own).name
    if not known_as.isidentifier():
        raise PluginError(f"The method {known_as!r} needs another name: letters, digits and underscores.")
    text = _text(implementation, own)
    path = folder / f"{known_as}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.py"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file_of_it:
            file_of_it.write(text)
        os.replace(file_of_it.name, path)
    return Named(str(path), "" if itself else own, known_as)


def declared_by(plugin: Named) -> str:
    """The name of the one method that the file of a plug-in declares itself."""
    return next(name for name, found in declared.known.declared.items() if found.file == plugin.target)


def _text(implementation: Any, own: str) -> str:
    """The text of a module with this class or function. Raises PluginError."""
    found = _Taken(own, vars(sys.modules[implementation.__module__]))
    found.take(own, implementation)
    paths = [f"sys.path += {sorted(found.roots)!r}"] if found.roots else []
    imports = sorted({*found.imports, *(["import sys"] if paths else [])})
    sources = [f"__sources__ = {sorted(found.sources)!r}"] if found.sources else []
    future = ["from __future__ import annotations"] if found.future else []
    parts = [*future, *(i for i in imports if i == "import sys"), *paths, *(i for i in imports if i != "import sys")]
    return _HEAD + "\n".join([*parts, *sources, "", *found.definitions]) + "\n"


@dataclass
class _Taken:
    """What is taken of a session for one class or function."""

    wanted: str
    session: dict[str, Any]
    imports: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    roots: set[str] = field(default_factory=set)
    future: bool = False
    seen: set[str] = field(default_factory=set)

    def take(self, name: str, value: Any) -> None:
        """Take what a name stands for, and before it what that names. Raises PluginError."""
        if name in self.seen:
            return
        self.seen.add(name)
        module = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            self._imported(value.__name__, f"import {value.__name__} as {name}")
        elif self.session.get("__name__") == module and isinstance(_unwrapped(value), type | FunctionType):
            self._defined(name, value)
        elif self.session.get("__name__") != module and _is_found(value):
            self._imported(str(module), f"from {module} import {value.__qualname__} as {name}")
        elif type(value).__module__ == "torch" and repr(value).startswith("torch."):  # dtypes, layouts
            self.imports.append("import torch")
            self.definitions.append(f"{name} = {value!r}\n")
        elif _is_literal(value):
            self.definitions.append(f"{name} = {value!r}\n")
        else:
            kind = type(value).__name__
            raise PluginError(
                f"{self.wanted} uses {name}, a {kind} that only this session has: make it within {self.wanted}, or "
                f"{_IN_A_FILE} {self.wanted}."
            )

    def _defined(self, name: str, value: Any) -> None:
        source, future = _source(value)
        self.future |= future
        for used in _names(source):
            if used in self.session and not (used in vars(builtins) and self.session[used] is vars(builtins)[used]):
                self.take(used, self.session[used])
        self.definitions.append(source + ("" if value.__name__ == name else f"\n{name} = {value.__name__}\n"))

    def _imported(self, module: str, line: str) -> None:
        self.imports.append(line)
        file = declared.file_of(module)
        if not file.endswith(".py"):
            return
        root = declared.import_root(Path(file))
        others = (Path(sys.prefix), Path(sys.base_prefix), installation.ROOT)
        if not any(root.is_relative_to(other.resolve()) for other in others):
            self.roots.add(str(root))
            self.sources |= set(declared.beside(Path(file)))


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def _names(source: str) -> list[str]:
    """Names that a definition takes from outside, sorted."""
    found: set[str] = set()
    todo = [symtable.symtable(source, "taken", "exec")]
    while todo:
        table = todo.pop()
        todo += table.get_children()
        outermost = table.get_type() == "module"
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (outermost or s.is_global())}
    return sorted(found)


def _source(value: Any) -> tuple[str, bool]:
    """The source of a class or function, decorators too, and whether its annotations are not evaluated."""
    for code in _codes(value):
        lines = linecache.getlines(code.co_filename)
        if not lines:
            continue
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == value.__name__:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if first <= code.co_firstlineno <= (node.end_lineno or first):
                    text = textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))
                    return text + "\n" * (not text.endswith("\n")), bool(
                        code.co_flags & __future__.annotations.compiler_flag
                    )
    try:
        return textwrap.dedent(inspect.getsource(value)), False
    except (OSError, TypeError) as error:
        raise PluginError(
            f"The source of {value.__name__} is not known, as of code that was typed or piped in: {_IN_A_FILE} "
            f"{value.__name__}."
        ) from error


def _codes(value: Any) -> Iterator[CodeType]:
    """The code of a function, or of what a class defines."""
    members = vars(value).values() if isinstance(value, type) else [value]
    for member in members:
        function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _unwrapped(value: Any) -> Any:
    """What a decorator, such as functools.cache, has wrapped."""
    return inspect.unwrap(value) if callable(value) else value


def _is_found(value: Any) -> bool:
    """Whether a value is what its module has under its name."""
    own = getattr(value, "__qualname__", "")
    return bool(own) and getattr(sys.modules.get(getattr(value, "__module__", None) or ""), own, None) is value
