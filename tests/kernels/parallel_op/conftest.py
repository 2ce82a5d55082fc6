"""Fixtures of the tests of Parallel OP."""

import pytest

from tests.kernels.parallel_op import oracle


@pytest.fixture(scope="session")
def grouped_ops(built_kernels: None) -> None:
    """The ops under `torch.ops.mirror`: the compiled ones, or the oracle in their place."""
    oracle.provide_ops()
