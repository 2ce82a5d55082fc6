"""Loads the ops of the hashed embedding bag and tells torch what their outputs look like.

Their schema is in csrc/hashed/embedding_bag.cpp, their gradients in csrc/hashed/autograd.cpp.
"""

import threading
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.bags import check_one_device
from bench_engine.kernels.native import extension

_ready = False
_registering = threading.Lock()


def load() -> None:
    """Load the compiled kernels and register what they need from Python, once. Raises KernelsNotBuiltError."""
    global _ready
    with _registering:
        if _ready:
            return
        extension.load()
        for name, fake in (
            ("", _fake),
            ("_backward", _fake_backward),
            ("_sample_gradient", _fake_sample_gradient),
            ("_max_backward", _fake_max_backward),
        ):
            torch.library.register_fake(f"mirror::hashed_embedding_bag{name}", fake)
        _ready = True


def _fake(
    weight: Tensor, indices: Tensor, offsets: Tensor | None, samples: Tensor | None, rows: int, dim: int, mode: str,
    hash: str, seed: int, signs: bool, block_size: int, padding_idx: int, include_last_offset: bool, wanted: bool,
) -> Any:  # fmt: skip
    check_one_device(weight, indices, offsets, samples)  # one meta tensor brings a call here, which computes nothing
    batch = _num_bags(indices, offsets, include_last_offset)
    code = winner_dtype(weight.size(0), signs)
    winners = weight.new_empty((batch if mode == "max" and wanted else 0, dim), dtype=code)
    return weight.new_empty((batch, dim)), winners


def _fake_backward(
    grad: Tensor, indices: Tensor, offsets: Tensor | None, samples: Tensor | None, num_slots: int, *_: Any
) -> Tensor:
    check_one_device(grad, indices, offsets, samples)
    return grad.new_empty((num_slots,))


def _fake_sample_gradient(grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor | None, *_: Any) -> Tensor:
    check_one_device(grad, weight, indices, offsets)
    return grad.new_empty(indices.shape)


def _fake_max_backward(grad: Tensor, winners: Tensor, num_slots: int, signs: bool) -> Tensor:
    check_one_device(grad, winners)
    return grad.new_empty((num_slots,))


def winner_dtype(num_slots: int, signs: bool) -> torch.dtype:
    """The type of what max pooling keeps of its winners."""
    return torch.int32 if num_slots <= 2 ** (30 if signs else 31) - 1 else torch.int64


def _num_bags(indices: Tensor, offsets: Tensor | None, include_last_offset: bool) -> int:
    return indices.size(0) if offsets is None else offsets.size(0) - int(include_last_offset)
