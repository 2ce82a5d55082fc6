"""Fixtures of the tests of FIITED."""

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def _kernels(built_kernels):
    """Every test here may make a module."""


@pytest.fixture
def threads():
    """Sets the number of threads; the one there was comes back after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def exact_roots(monkeypatch):
    """Square roots of torch that are rounded as IEEE 754 asks. MKL's, in torch, are off by one unit for some values."""

    def sqrt(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sqrt(x.detach().numpy()))

    monkeypatch.setattr(torch.Tensor, "sqrt", sqrt)
    monkeypatch.setattr(torch.Tensor, "sqrt_", lambda x: x.copy_(sqrt(x)))
