"""Fixtures of the kernel tests."""

import pytest

from bench_engine.kernels.native import cuda_toolkit, extension


@pytest.fixture(scope="session")
def built_kernels() -> None:
    """The compiled kernels, built once; nothing to do when that was done before."""
    extension.build()


@pytest.fixture(scope="session")
def toolkit() -> cuda_toolkit.Toolkit:
    """A CUDA toolkit, which needs no GPU."""
    found = cuda_toolkit.installed()
    if found is None:
        pytest.skip("no CUDA toolkit (looked for nvcc in $CUDA_HOME, on the PATH and in /usr/local/cuda)")
    return found
