"""Fixtures of the tests of Parallel OP."""

import pytest

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops


@pytest.fixture(autouse=True)
def cache_dir(monkeypatch, tmp_path):
    """Where choices are kept, unless a test's settings say otherwise: not with those of whoever runs the tests."""
    monkeypatch.setenv("MIRROR_PARALLEL_OP_CACHE", str(tmp_path / "choices"))
    return tmp_path / "choices"


@pytest.fixture(scope="session")
def grouped_ops(built_kernels: None) -> None:
    """The compiled ops under `torch.ops.mirror`."""
    ops.load()


@pytest.fixture(scope="session")
def compiled_for_python(grouped_ops: None) -> None:
    """The compiled functions and types of csrc/python."""
    if extension.python_module() is None:
        pytest.skip("csrc/python is not built: the headers of Python are missing")
