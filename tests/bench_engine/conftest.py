"""Fixtures of the benchmarks' tests."""

from collections.abc import Callable

import pytest

from bench_engine import registry
from bench_engine.kernels.native import extension


@pytest.fixture(scope="session")
def built_kernels() -> None:
    """The compiled kernels, built once; nothing to do when that was done before."""
    extension.build()


@pytest.fixture(scope="module")
def one_thread():
    """Two threads that wait for each other are slow on a busy machine."""
    import torch  # slow to import

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def stand_in(monkeypatch) -> Callable[[type], str]:
    """Registers a class of a test as a method; gives the method's name."""

    def register(kind: type) -> str:
        entry = registry.Method("stand_in", "", f"{kind.__module__}:{kind.__name__}")
        monkeypatch.setitem(registry.METHODS, "stand_in", entry)
        return "stand_in"

    return register
