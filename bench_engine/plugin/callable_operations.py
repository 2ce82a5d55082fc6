"""Anything callable: an operation with a reference, and functions or commands that compute it, declared by plug-ins.

@operation("row_softmax")
def reference(x):
    return torch.softmax(x, -1)

@implements(reference, "my_softmax", "one pass")
def my_softmax(x): ...
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Literal, TypeVar

from bench_engine.methods.method import Method
from bench_engine.plugin import declared
from bench_engine.plugin.declared import PluginError

CALLABLE = "callable"  # the benchmark
_T = TypeVar("_T", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """What is computed.

    Attributes:
        name: in results and questions, the axis `operator`.
        text: help, one line.
        reference: computes it of the same inputs.
        inputs: makes them: inputs(shapes, dtype, generator), as tensors; None for tensors of these shapes and this
            dtype, normally distributed or, of whole numbers, from 0 to 99.
        tolerance: share of the reference's largest absolute value that an output may be off; None for what the dtype
            allows.
        exact: whether the reference gets its floats in float64.
        files: what it is made of.
        flops: says how many floating-point operations a call takes: flops(shapes); None where nobody has said so.
    """

    name: str
    text: str
    reference: Callable[..., Any]
    inputs: Callable[..., Any] | None
    tolerance: float | None
    exact: bool
    files: tuple[str, ...]
    flops: Callable[..., float] | None = None


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operation.

    Attributes:
        operation: its name.
        function: what is timed; None for a command.
        prepare: makes of the inputs what `function` takes, outside the clock; None where that is the inputs.
        takes: torch for tensors, numpy for arrays.
        command: words of a command line; empty for a function.
        folder: where the command runs.
    """

    operation: str
    function: Callable[..., Any] | None
    prepare: Callable[..., Any] | None = None
    takes: Literal["torch", "numpy"] = "torch"
    command: tuple[str, ...] = ()
    folder: str = ""


_operations: dict[str, Operation] = {}
_implementations: dict[str, Implementation] = {}


def operation(
    name: str,
    text: str = "",
    *,
    inputs: Callable[..., Any] | None = None,
    tolerance: float | None = None,
    exact: bool = True,
    flops: Callable[..., float] | None = None,
) -> Callable[[_T], _T]:
    """Declare a function as the reference of an operation; see `Operation` for the arguments.

    Raises PluginError.
    """

    def declare(reference: _T) -> _T:
        if not name.isidentifier():
            raise PluginError(f"The operation {name!r} needs another name: letters, digits and underscores.")
        if tolerance is not None and not tolerance >= 0:
            raise PluginError(f"The tolerance of {name} must be a share of 0 or more, not {tolerance!r}.")
        before = _operations.get(name)
        if before and declared.loading_now() and _code(before.reference) != _code(reference):
            raise PluginError(f"Two plug-ins declare an operation {name}: give one of them another name.")
        files = declared.files_of(reference.__module__)
        told = text or declared.first_line(reference.__doc__, name)
        _operations[name] = Operation(name, told, reference, inputs, tolerance, exact, files, flops)
        return reference

    return declare


def implements(
    what: str | Callable[..., Any],
    name: str,
    text: str = "",
    *,
    prepare: Callable[..., Any] | None = None,
    takes: Literal["torch", "numpy"] = "torch",
    sources: Sequence[str] = (),
) -> Callable[[_T], _T]:
    """Declare a function as a method of the benchmark `callable`.

    Args:
        what: the operation: its reference, or its name.
        name: in results and questions: letters, digits and underscores.
        text: help, one line.
        prepare: what is done once for some inputs, outside the clock: prepare(*inputs) gives the arguments of the
            function, a tuple, or its only one.
        takes: torch for tensors, numpy for arrays.
        sources: other files that the function is made of.

    Raises PluginError.
    """

    def declare(function: _T) -> _T:
        of = _known(what, name)
        if takes not in ("torch", "numpy"):
            raise PluginError(f"{name} takes torch or numpy, not {takes!r}.")
        told = text or declared.first_line(function.__doc__, name)
        place = f"{function.__module__}:{getattr(function, '__qualname__', name)}"
        _add(name, told, place, of, sources, {})
        _implementations[name] = Implementation(of.name, function, prepare, takes)
        return function

    return declare


def command(what: Callable[..., Any], name: str, text: str, words: Sequence[str], sources: Sequence[str] = ()) -> None:
    """Declare a command line as a method of the benchmark `callable`: what is timed is the whole process.

    Args:
        what: the reference of the operation.
        name: in results and questions: letters, digits and underscores.
        text: help, one line.
        words: of the command line, which runs in the folder of the plug-in. `{inputs}` becomes the paths of the inputs,
            .npy files, `{output}` that of the .npy file that it must write, {threads}, {shape} and {dtype} the axes.
        sources: files that the command is made of, beside the program and those that its words name.

    Raises PluginError.
    """
    of = _known(what, name)
    if isinstance(words, str) or not words or "{output}" not in " ".join(words):
        raise PluginError(f"The command of {name} must be a list of words with {{output}} among them.")
    file = declared.file_of(what.__module__)
    folder = Path(file).parent if file else Path.cwd()
    scripts = [str(folder / word) for word in words[1:] if os.path.isfile(folder / word)]  # a word may be a program
    program = shutil.which(str(folder / words[0])) or (None if "/" in words[0] else shutil.which(words[0]))
    if program is None:
        raise PluginError(f"The command of {name} needs {words[0]}, which is not there: name a program or its path.")
    content = hashlib.sha256(Path(program).read_bytes()).hexdigest()[:16]
    sources = (*sources, *scripts)
    _add(
        name, text, f"{what.__module__}:{name}", of, sources, {"program": content, "words": " ".join(["", *words[1:]])}
    )
    run = (str(Path(program).absolute()), *words[1:])
    _implementations[name] = Implementation(of.name, None, command=run, folder=str(folder))


def operation_of(name: str) -> Operation:
    """A declared operation. Raises PluginError."""
    if name not in _operations:
        raise PluginError(f"There is no operation {name!r}: name a plug-in that declares it by @operation.")
    return _operations[name]


def implementation_of(name: str) -> Implementation:
    """How a method of the benchmark `callable` is called. Raises PluginError."""
    if name not in _implementations:
        raise PluginError(f"There is no implementation {name!r}: name a plug-in that declares it by @implements.")
    return _implementations[name]


def operations() -> tuple[str, ...]:
    """The names of those that are declared."""
    return tuple(_operations)


def _code(function: Callable[..., Any]) -> tuple[bytes, tuple[str, ...]]:
    """What a function does, wherever it stands: of a notebook it is written into each module that needs it."""
    code = getattr(function, "__code__", None)
    if code is None:
        return b"", (repr(function),)
    constants = (repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType))
    return code.co_code, (*code.co_names, *constants)


def _known(what: str | Callable[..., Any], name: str) -> Operation:
    for known in _operations.values():
        if what in (known.name, known.reference):
            return known
    said = what if isinstance(what, str) else getattr(what, "__name__", repr(what))
    raise PluginError(f"{name} implements {said}, which is no operation: put @operation(...) on its reference first.")


def _add(name: str, text: str, place: str, of: Operation, sources: Sequence[str], fixed: Mapping[str, str]) -> None:
    files = dict.fromkeys((*declared.files_of(place.partition(":")[0], sources), *of.files))
    supports = {"operator": (of.name,)}
    declared.add(Method(name, text, place, sources=tuple(files), supports=supports, fixed=fixed), (CALLABLE,))
    declared.known.itself[place] = name
