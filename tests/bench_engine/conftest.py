"""Fixtures of the benchmarks' tests."""

import pytest

from bench_engine.kernels import extension


@pytest.fixture(scope="session")
def built_kernels() -> None:
    """The compiled kernels, built once; nothing to do when that was done before."""
    extension.build()
