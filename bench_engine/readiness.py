"""Why a trial cannot run on this machine now: kernels that are not built, data that are not there. Imports no torch."""

from collections.abc import Mapping

from bench_engine.data import files
from bench_engine.kernels import extension
from bench_engine.registry import Method, method
from bench_engine.trial import Scalar


class SkipReasons:
    """Answers from one look at the machine, so that planning ten thousand trials looks once."""

    def __init__(self) -> None:
        self._kernels: bool | None = None
        self._data: dict[str, str] = {}

    def of(self, name: str, config: Mapping[str, Scalar]) -> str:
        """One sentence that says what is missing for a method at a configuration; empty when it can run."""
        dataset = config.get("dataset")
        if dataset is not None:
            if (missing := self._data.get(str(dataset))) is None:
                missing = self._data[str(dataset)] = files.missing(str(dataset))
            if missing:
                return missing
        return "" if self._built(method(name)) else f"{name} cannot run: {extension.NOT_BUILT}"

    def _built(self, entry: Method) -> bool:
        if entry.needs_build and self._kernels is None:
            self._kernels = kernels_built()
        return not entry.needs_build or bool(self._kernels)


def kernels_built() -> bool:
    """Whether the compiled kernels are there for this machine."""
    return extension.built()
