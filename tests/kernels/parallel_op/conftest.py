"""Fixtures of the tests of Parallel OP."""

import pytest

from bench_engine.kernels.parallel_op import ops


@pytest.fixture(scope="session")
def grouped_ops(built_kernels: None) -> None:
    """The compiled ops under `torch.ops.mirror`."""
    ops.load()
