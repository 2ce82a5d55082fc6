"""Which files a kernel is made of: a method's module with the kernels it imports, and compiled code with its headers.

Nobody keeps a list: from the module of a method, imports are followed through the kernels and rivals; of compiled code
a method names the folder, and includes are followed from there, with the file that implements a header. How trials are
measured is no part of a kernel (it has a number of its own), nor is how kernels are built; the compiler's flags are.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from bench_engine.kernels.native import extension, flags
from db import installation

_COMPILED = "csrc"  # includes are written from here
_FOLLOWED = ("bench_engine.kernels", "bench_engine.methods.rivals", "bench_engine.methods")
_FOLDER_SUFFIXES = (".py", ".yaml", ".cpp", ".h", ".cu", ".cuh")
_SHOWING = "pages"  # a folder of this name shows what others computed
_KEPT = ".learnt.yaml"  # of what people have chosen, beside their results
# The groups: the module and the names that are taken from it, or modules.
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(\w[^\n]*))$\n?", re.MULTILINE
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$\n?', re.MULTILINE)


def files(module: str, named: tuple[str, ...], compiled: bool) -> tuple[str, ...]:
    """Paths relative to the repository, sorted.

    Args:
        module: the method's own; nothing of it where it is not this project's.
        named: folders and files; a folder stands for all code in it.
        compiled: whether the compiler's flags are part of the kernel.

    Raises OSError where a file cannot be read.
    """
    found = {path for name in named for path in _below(name)}
    todo = [path for path in found if not path.endswith(".py")]
    if compiled:
        found |= set(_module_file(flags.__name__))
    todo += [path for path in _module_file(module) if module.startswith("bench_engine.")]
    while todo:
        path = todo.pop()
        found.add(path)
        text = installation.path(path).read_text(encoding="utf-8", errors="backslashreplace")
        links = _imported(text) if path.endswith(".py") else _included(path, text)
        todo += [link for link in dict.fromkeys(links) if link not in found and link not in todo]
    return tuple(sorted(found))


def _below(name: str) -> list[str]:
    """All code in a folder; the file itself where it is one."""
    folder = installation.path(name)
    if not folder.is_dir():
        return [name]
    is_code = _is_any if os.path.isabs(name) else _is_code
    paths = [path.relative_to(folder) for path in folder.rglob("*") if is_code(path)]
    code = [path for path in paths if _SHOWING not in path.parts and not path.name.endswith(_KEPT)]
    return [f"{name}/{path.as_posix()}" for path in code]


def _is_code(path: Path) -> bool:
    return path.suffix in _FOLDER_SUFFIXES


def _is_any(path: Path) -> bool:
    """Of a plug-in's folder anything may be what its kernel is made of."""
    return path.is_file() and "__pycache__" not in path.parts


def _module_file(module: str) -> list[str]:
    """The file of a module, or of a package; none where it is not one of this project's."""
    path = module.replace(".", "/")
    return [file for file in (f"{path}.py", f"{path}/__init__.py") if installation.path(file).is_file()]


def _imported(text: str) -> Iterator[str]:
    """Files of the kernels that a Python file imports, here or later."""
    for module, names, modules in IMPORT.findall(text):
        for part in (names or modules).strip("()").split(","):
            name = part.partition("#")[0].split(" as ")[0].strip()
            if not name:  # behind the last comma
                continue
            wanted = [f"{module}.{name}", module] if module else [name]
            for candidate in wanted:
                followed = candidate.startswith(_FOLLOWED) and candidate != extension.__name__
                if found := _module_file(candidate):
                    if followed:
                        yield from found
                    break


def _included(path: str, text: str) -> Iterator[str]:
    """Files of compiled code that one includes, each with the file that implements it."""
    for name in INCLUDE.findall(text):
        header = f"{_COMPILED}/{name}"
        if installation.path(header).is_file():
            yield header
            stem = header.rpartition(".")[0]
            yield from (file for file in (f"{stem}.cpp", f"{stem}.cu") if installation.path(file).is_file())
