"""Why a trial cannot run on this machine now: what a method cannot do, or what is not there. Imports no torch."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property

from bench_engine.kernels.native import extension
from bench_engine.methods import packages
from bench_engine.registry.datasets import missing
from bench_engine.registry.methods import method
from bench_engine.trial import Scalar


class SkipReasons:
    """Answers from one look at the machine, so that planning ten thousand trials looks once."""

    def __init__(self) -> None:
        self._of_data = cache(missing)
        self._of_method = cache(self._missing)

    def of(self, name: str, config: Mapping[str, Scalar], benchmark: str = "") -> str:
        """One sentence that says why a method cannot run a configuration (of a benchmark); empty when it can."""
        absent = self._of_data(str(config["dataset"])) if "dataset" in config else ""
        return absent or method(name, benchmark).refusal(config) or self._of_method(name, benchmark)

    def _missing(self, name: str, benchmark: str) -> str:
        """What a method needs and is not there."""
        entry = method(name, benchmark)
        if entry.needs_build and not self._built:
            return f"{entry.name} cannot run: {extension.NOT_BUILT}"
        if entry.needs_compiler:
            try:
                extension.compiler()
            except extension.CompilerMissingError as error:
                return f"{entry.name} compiles what it runs: {error}"
        return packages.missing(entry.name, entry.packages)

    @cached_property
    def _built(self) -> bool:
        return kernels_built()


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
