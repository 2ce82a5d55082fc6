"""What plug-ins declare in this process, and what each declaration is made of."""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bench_engine.methods.method import Method
from bench_engine.methods.own import SELF_CHECK
from bench_engine.trial import Scalar

BENCHMARKS = ("lookup", "training", "collisions")  # those that build an embedding bag of any method
# What lies beside a plug-in is part of its kernel, but not this project, nor what others have installed there; nor is
# all of torch that of a function of its own, whose version is part of every kernel's identity.
_NOT_BESIDE = ("bench_engine", "mirror", "db", "mirror_db", "torch")
_INSTALLED = ("site-packages", "dist-packages")
_T = TypeVar("_T", bound=Callable[..., Any])


class PluginError(ValueError):
    """A plug-in that cannot be used; the message is one sentence that says what to mend."""


@dataclass(frozen=True)
class Declared:
    """A method of a plug-in.

    Attributes:
        entry: as others of the registry.
        benchmarks: in which it can run.
        file: where it is declared; empty for a notebook.
    """

    entry: Method
    benchmarks: tuple[str, ...]
    file: str = ""


@dataclass
class _Known:
    """What is declared in this process, and the plug-in that is being loaded now."""

    declared: dict[str, Declared] = field(default_factory=dict)
    loading: str = ""
    itself: dict[str, str] = field(default_factory=dict)  # "module:name" -> the method that it has declared itself
    objects: dict[str, object] = field(default_factory=dict)  # "module:name" -> what stood there
    benchmarks: set[str] = field(default_factory=set)  # those of plug-ins (bench_engine.plugin.own_entries)


known = _Known()


def loading_now() -> bool:
    """Whether a plug-in's own code runs now."""
    return bool(known.loading)


def method(
    name: str,
    text: str,
    benchmarks: Sequence[str] = ("lookup", "training"),
    *,
    compressible: bool = True,
    arguments: Mapping[str, str] | None = None,
    fixed: Mapping[str, Scalar] | None = None,
    sources: Sequence[str] = (),
) -> Callable[[_T], _T]:
    """Declare a class, or a function that makes its objects, as a method.

    Args:
        name: in results and questions: letters, digits and underscores.
        text: help, one line.
        benchmarks: of BENCHMARKS, and of those that plug-ins have declared before, in which it can run.
        compressible: False for what exists at compression 1 alone.
        arguments: axis -> keyword under which the constructor takes its value.
        fixed: keyword -> value that the constructor always takes.
        sources: other files that the kernel is made of, beside the plug-in's own and the modules next to it that this
            imports: a change of them runs trials anew.

    It is called as cls(num_embeddings, embedding_dim, compression=..., mode=...) and has, or gives what has, the
    interface of bench_engine.kernels.bags.EmbeddingBagMethod.

    Raises PluginError.
    """

    def declare(implementation: _T) -> _T:
        place = f"{implementation.__module__}:{implementation.__qualname__}"
        other = known.itself.get(place, name)
        if known.loading and other != name and known.objects.get(place) is not implementation:
            raise PluginError(
                f"The methods {other} and {name} are two functions called {implementation.__qualname__}: give one of "
                "them another name."
            )
        of = (*BENCHMARKS, *sorted(known.benchmarks))
        if unknown := [b for b in benchmarks if b not in of]:
            raise PluginError(f"The method {name} cannot run in {unknown[0]}: name of {', '.join(of)}.")
        module = implementation.__module__
        add(
            Method(
                name,
                text,
                place,
                compressible=compressible,
                sources=files_of(module, sources),
                arguments=dict(arguments or {}),
                fixed=dict(fixed or {}),
            ),
            benchmarks,
        )
        known.itself[place], known.objects[place] = name, implementation
        return implementation

    return declare


def add(entry: Method, benchmarks: Sequence[str]) -> None:
    """Have a method known in this process; what is declared again from where it was takes the place of the former.

    Raises PluginError.
    """
    if not entry.name.isidentifier():
        raise PluginError(f"The method {entry.name!r} needs another name: letters, digits and underscores.")
    if entry.name in SELF_CHECK:  # which are found before others
        raise PluginError(f"There is a method {entry.name} already: give that of the plug-in another name.")
    file = file_of(entry.implementation.partition(":")[0])
    if (before := known.declared.get(entry.name)) and not _is_again(before, entry, file):
        raise PluginError(f"Two plug-ins declare a method {entry.name}: give one of them another name.")
    known.declared[entry.name] = Declared(entry, tuple(benchmarks), file)


def _is_again(before: Declared, entry: Method, file: str) -> bool:
    """Whether a declaration is that of before: a cell run again, a module loaded again, or imported by two names."""
    module, _, name = before.entry.implementation.partition(":")
    own, _, own_name = entry.implementation.partition(":")
    if "__main__" in (module, own):  # and what was written down of it
        return True
    return file == before.file and name == own_name and (own != module or not known.loading)


def first_line(docstring: str | None, otherwise: str) -> str:
    """Of a docstring, or what there is otherwise."""
    return ((docstring or "").strip() or otherwise).splitlines()[0]


def file_of(module: str) -> str:
    """The file of a module that is loaded; empty for a notebook."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return str(Path(file).resolve()) if file else ""


def files_of(module: str, named: Sequence[str] = ()) -> tuple[str, ...]:
    """The files that a declaration in a module is made of, those named (from its folder) among them."""
    file = file_of(module)
    near = Path(file).parent if file else Path()
    own = beside(Path(file)) if file else ()
    return (*own, *(str((near / source).resolve()) for source in named))


def import_root(path: Path) -> Path:
    """The folder from which a file is imported: the first above it that is no package."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def beside(path: Path) -> tuple[str, ...]:
    """A file, and what it imports from beside it: modules of its folder, or of its package where it lies in one."""
    root = import_root(path)
    top = path.relative_to(root).parts[0]
    found: dict[Path, None] = {}
    todo = [path]
    while todo:
        file = todo.pop()
        if file in found:
            continue
        found[file] = None
        for parts in _imported(file, root):
            if parts[0] in _NOT_BESIDE or (parts[0] != top and (root != path.parent or root.name in _INSTALLED)):
                continue
            place = root.joinpath(*parts)
            todo += [p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()]
    return tuple(map(str, found))


def _imported(file: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """Modules that a file imports, as paths from `root`."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = file.relative_to(root).parent.parts
            base = (*above[: len(above) - node.level + 1],) if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            if module:
                yield module
            yield from ((*module, alias.name) for alias in node.names if alias.name != "*")
