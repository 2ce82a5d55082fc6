"""Why a trial cannot run on this machine now: what a method cannot do, or what is not there. Imports no torch."""

from collections.abc import Callable, Iterable, Mapping

from bench_engine.kernels.native import extension
from bench_engine.methods import packages
from bench_engine.methods.method import Method
from bench_engine.registry.datasets import missing
from bench_engine.registry.methods import method
from bench_engine.trial import Scalar


class SkipReasons:
    """Answers from one look at the machine, so that planning ten thousand trials looks once."""

    def __init__(self) -> None:
        self._methods: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._kernels: bool | None = None

    def of(self, name: str, config: Mapping[str, Scalar]) -> str:
        """One sentence that says why a method cannot run a configuration; empty when it can."""
        dataset = config.get("dataset")
        if dataset is not None:
            if (absent := self._data.get(str(dataset))) is None:
                absent = self._data[str(dataset)] = missing(str(dataset))
            if absent:
                return absent
        entry = method(name)
        if refusal := entry.refusal(config):
            return refusal
        if name not in self._methods:
            self._methods[name] = self._missing(entry)
        return self._methods[name]

    def _missing(self, entry: Method) -> str:
        """What a method needs and is not there."""
        if entry.needs_build and not self._built():
            return f"{entry.name} cannot run: {extension.NOT_BUILT}"
        if entry.needs_compiler:
            try:
                extension.compiler()
            except extension.CompilerMissingError as error:
                return f"{entry.name} compiles what it runs: {error}"
        return packages.missing(entry.name, entry.packages)

    def _built(self) -> bool:
        if self._kernels is None:
            self._kernels = kernels_built()
        return self._kernels


def build_ahead(names: Iterable[str], say: Callable[[str], object]) -> None:
    """Compile the kernels if one of these methods needs them and they are not built; say why where that fails."""
    if kernels_built() or not any(method(name).needs_build for name in names):
        return
    try:
        extension.build()
    except extension.KernelsNotBuiltError as error:
        say(str(error))


def kernels_built() -> bool:
    """Whether the compiled kernels are there for this machine."""
    return extension.built()
