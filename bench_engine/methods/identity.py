"""Which kernel a method is: a hash of its content, the same wherever its files lie, and the name it was measured under.

Trials are known by this hash. A file that is moved is no changed kernel, so the hash says nothing of places: it leaves
out imports and includes of the project's own files (what they bring in is a file of the kernel itself, and is hashed),
the paths in comments and strings, and the folders; files are taken in the order of their content. Imports of other
packages stay: which of them is used is part of the kernel.

Older versions hashed other things, and a move may still change a line. `moved.json` (method -> hash of the kernel as it
stands -> torch's version -> the hash under which it was measured) keeps such kernels what they were; it is found by
the exact hash, so a kernel that changes afterwards is a new one. `python -m tests.shows.moved_kernels` writes it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench_engine.methods import sources
from db import installation

MOVED = Path(__file__).with_name("moved.json")
_OWN = ("bench_engine", "mirror", "db", "mirror_db")  # top packages of this project
_PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join((*_OWN, 'csrc', 'tests'))})(?:/[\w.*-]+)+|\bbench_engine(?:\.\w+)+")


@cache
def kernel(
    module: str,
    name: str,
    named: tuple[str, ...],
    compiled: bool,
    packages: tuple[str, ...],
    started_with: tuple[tuple[str, str], ...],
) -> str:
    """Hash of a kernel (16 hex digits): files, class, packages, and variables and arguments as (name, value).

    A variable that names a folder counts by its name alone: where something is kept is no part of a kernel.
    Raises OSError where a file cannot be read.
    """
    contents = sorted(_content(path) for path in sources.files(module, named, compiled))
    values = (f"{key}={'' if os.path.isabs(value) else value}" for key, value in started_with)
    return _hash((*contents, name, *packages, *values))


def source_hash(method: str, kernel_hash: str) -> str:
    """Hash of a kernel and of torch's version (16 hex digits), or what `moved.json` has in its place."""
    torch = torch_version()
    return _moved().get(method, {}).get(kernel_hash, {}).get(torch) or plain_hash(kernel_hash, torch)


def plain_hash(kernel_hash: str, torch: str) -> str:
    """Hash of a kernel and of torch's version, whatever it was called before."""
    return _hash((kernel_hash, torch))


def forget() -> None:
    """Read files again: in a notebook they change while the process lives."""
    kernel.cache_clear()
    _content.cache_clear()


@cache
def torch_version() -> str:
    """Version of the torch that is installed; `no torch` where there is none."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return "no torch"


def without_places(path: str, text: str) -> str:
    """A file's text without what says where files lie, and without empty lines."""
    if os.path.isabs(path):  # a plug-in's: what it names of this project is no file of its kernel
        return "\n".join(line for line in text.splitlines() if line.strip())
    if path.endswith(".py"):
        text = sources.IMPORT.sub(lambda m: "" if _is_own(m[1] or m[3]) else m[0], text)
    else:
        text = sources.INCLUDE.sub("", text)
    return "\n".join(_without_paths(line) for line in text.splitlines() if line.strip())


def _without_paths(line: str) -> str:
    """A line with a path left out, and of a module's name the last part."""
    if "/" not in line and "bench_engine." not in line:  # nearly all lines; the pattern is slow
        return line
    return _PATH.sub(lambda m: "" if "/" in m[0] else m[0].rpartition(".")[2], line)


def _is_own(module: str) -> bool:
    return module.split()[0].partition(".")[0] in _OWN


@cache
def _content(path: str) -> str:
    return _hash(
        (without_places(path, installation.path(path).read_text(encoding="utf-8", errors="backslashreplace")),)
    )


@cache
def _moved() -> dict[str, dict[str, dict[str, str]]]:
    return dict(json.loads(MOVED.read_text(encoding="utf-8"))) if MOVED.exists() else {}


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]
