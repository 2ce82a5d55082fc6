"""The pass in Inductor's configuration, installed when Inductor is imported first: importing it takes over a second."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from bench_engine.kernels.parallel_op.settings import Settings

_CONFIG = "torch._inductor.config"
_FIELD = "pre_grad_custom_pass"
_set = ModuleType.__setattr__  # a configuration's own takes nothing but settings


class _Waiting(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Installs the pass right after the first import of Inductor's configuration, by whichever thread, once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._found: importlib.machinery.ModuleSpec | None = None

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name != _CONFIG:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None and found.loader is not None:
                self._found = found
                spec = importlib.util.spec_from_loader(name, self, origin=found.origin)
                assert spec is not None
                spec.has_location, spec.cached = found.has_location, found.cached
                return spec
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        assert self._found is not None
        assert self._found.loader is not None
        return self._found.loader.create_module(self._found)

    def exec_module(self, module: ModuleType) -> None:
        found = self._found
        assert found is not None
        assert found.loader is not None
        found.loader.exec_module(module)
        _set(module, "__spec__", found)
        _set(module, "__loader__", found.loader)
        if self in sys.meta_path:  # else switched off meanwhile
            sys.meta_path.remove(self)
            _install_in(module, self.settings)


def install(settings: Settings) -> None:
    """Have Inductor group ops: at once where it is imported already, else on its first import."""
    uninstall()
    config = sys.modules.get(_CONFIG)
    if config is not None and hasattr(config, _FIELD):
        _install_in(config, settings)
    else:
        sys.meta_path.insert(0, _Waiting(settings))


def uninstall() -> None:
    """Take the pass out of Inductor's configuration, and stop waiting for it."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Waiting)]
    config = sys.modules.get(_CONFIG)
    original = getattr(type(config), "without_parallel_op", None)
    if config is not None and original is not None:
        from bench_engine.kernels.parallel_op.entry.inductor_pass import without_pass

        _set(config, "__class__", original)
        setattr(config, _FIELD, without_pass(getattr(config, _FIELD)))


def _install_in(config: ModuleType, settings: Settings) -> None:
    """Append the pass to whatever the configuration holds, now and later, in every thread.

    The value itself would not do: a user's assignment replaces it, and other threads do not see it (it is a
    ContextVar). So it is appended whenever the field is read.
    """
    from bench_engine.kernels.parallel_op.entry.inductor_pass import ParallelOpPass, with_pass

    ours = ParallelOpPass(tuple(sorted(settings.ops)), tuple(sorted(settings.asked)), settings.min_group)
    original = type(config)

    def read(self: Any) -> Any:
        return with_pass(self.__getattr__(_FIELD), ours)

    # Reading comes here, since a property of the class goes first; assigning goes to the class's own __setattr__.
    extended = type(original.__name__, (original,), {_FIELD: property(read), "without_parallel_op": original})
    _set(config, "__class__", extended)
