"""What a method is: its implementation, what it needs, what it can do, and what makes its trials run anew.

Loads without torch; the worker imports what an entry names.
"""

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_engine.methods import identity, packages, sources
from bench_engine.trial import Scalar

_LINE = 64  # bytes of a cache line


@dataclass(frozen=True)
class Reads:
    """What the lookup of one id reads of a method's tables.

    Attributes:
        pieces: places that lie apart.
        size: bytes of each.
        grain: bytes of which a piece's address is a multiple; unless given, that of rows that lie behind one another.
    """

    pieces: int
    size: int
    grain: int = 0

    @property
    def line_bytes(self) -> float:
        """Bytes of the cache lines that an id touches, the mean over all places where a piece may lie."""
        grain = self.grain or math.gcd(self.size, _LINE)
        return self.pieces * _LINE * (1 + (self.size - grain) / _LINE)


def whole_rows(rows: int = 1, number_bytes: int = 4, beside: int = 0) -> Callable[[Mapping[str, Scalar]], Reads]:
    """Reads of a method that takes so many rows of D numbers, `beside` bytes with each."""
    return lambda config: Reads(rows, int(config["embedding_dim"]) * number_bytes + beside)


@dataclass(frozen=True)
class Method:
    """One way to compute the op.

    Attributes:
        name: name in the results.
        text: help, one line.
        implementation: "module:class" of the nn.Module, constructed as cls(num_embeddings, embedding_dim,
            compression=..., mode=...) and with what `arguments` and `fixed` say.
        compressible: False for a method that exists at compression 1 only.
        sources: folders and files (relative to the repository) that are part of the kernel beside the module and what
            that imports: those of compiled code, and what no import shows (see bench_engine.methods.sources).
        needs_build: whether it needs the compiled kernels.
        needs_compiler: whether it compiles while it is set up.
        packages: exact pins ("jax==0.10.2") of what it needs beyond requirements.txt.
        supports: axis -> values that it can run; all values of an axis that is not there.
        variables: environment variables of its worker; `{threads}` in a value becomes the trial's threads.
        arguments: axis -> keyword under which the constructor takes its value.
        fixed: keyword -> value that the constructor always takes.
        reads: what a configuration reads of its tables for an id, index included, temporaries not; None where nobody
            has said so. It explains times and is no part of the kernel.
    """

    name: str
    text: str
    implementation: str
    compressible: bool = True
    sources: tuple[str, ...] = ()
    needs_build: bool = False
    needs_compiler: bool = False
    packages: tuple[str, ...] = ()
    supports: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Scalar] = field(default_factory=dict)
    reads: Callable[[Mapping[str, Scalar]], Reads] | None = None

    def load(self) -> Any:
        """The class behind the entry (imports torch)."""
        module, _, name = self.implementation.partition(":")
        return getattr(importlib.import_module(module), name)

    def files(self) -> tuple[str, ...]:
        """The files (relative to the repository) whose content is the kernel. Raises OSError where one is missing."""
        return sources.files(self.implementation.partition(":")[0], self.sources, self.needs_build)

    def kernel(self) -> str:
        """Hash of the kernel's files, of the pinned packages and of what it is started with. Raises OSError."""
        started_with = {**self.variables, **{name: str(value) for name, value in self.fixed.items()}}
        started = tuple(sorted(started_with.items()))
        module, _, name = self.implementation.partition(":")
        return identity.kernel(module, name, self.sources, self.needs_build, self.packages, started)

    def source_hash(self) -> str:
        """What stands for the kernel in the identity of a trial: hash of the kernel and of torch's version; the one
        under which it was measured where its files have only been moved since. Raises OSError."""
        return identity.source_hash(self.name, self.kernel())

    def keywords(self, config: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """What the constructor takes beside size, compression and mode."""
        return {**self.fixed, **{keyword: config[axis] for axis, keyword in self.arguments.items()}}

    def python(self) -> str:
        """The interpreter of its workers: this one, or that of an environment of its own (see registry.packages)."""
        return packages.python(self.name, self.packages)

    def environ(self, threads: int) -> dict[str, str]:
        """Environment variables of its worker, to be set before any library reads them."""
        return {name: value.replace("{threads}", str(threads)) for name, value in self.variables.items()}

    def refusal(self, config: Mapping[str, Scalar]) -> str:
        """One sentence that says what it cannot run of a configuration; empty when it can run it."""
        for axis, values in self.supports.items():
            if axis in config and config[axis] not in values:
                known = " and ".join(map(str, values))
                return f"{self.name} has no {axis} {config[axis]}: it runs {known} only."
        return ""


def by_name(*methods: Method) -> dict[str, Method]:
    """Entries by their names."""
    return {m.name: m for m in methods}
