"""Fixtures of the tests of the hashed embedding."""

import pytest

from bench_engine.kernels.hashed import hashed_ops as _hashed_ops


@pytest.fixture
def hashed_ops(built_kernels: None) -> None:
    """The compiled ops under `torch.ops.mirror`."""
    _hashed_ops.load()
