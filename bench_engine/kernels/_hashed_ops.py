"""Fake kernels and gradients of the compiled hashed embedding bag; its schema is in csrc/hashed_embedding_bag.cpp."""

import threading
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels import extension

_ready = False
_registering = threading.Lock()


def load() -> None:
    """Load the compiled kernels and register what they need from Python, once. Raises KernelsNotBuiltError."""
    global _ready
    with _registering:
        if _ready:
            return
        extension.load()
        library = torch.library
        library.register_fake("mirror::hashed_embedding_bag", _fake)
        library.register_fake("mirror::hashed_embedding_bag_backward", _fake_backward)
        library.register_autograd("mirror::hashed_embedding_bag", _backward, setup_context=_setup)
        library.register_autograd(
            "mirror::hashed_embedding_bag_backward", _double_backward, setup_context=_setup_double
        )
        _ready = True


def _fake(weight: Tensor, indices: Tensor, offsets: Tensor, num_embeddings: int, dim: int, mode: str) -> Any:
    _check_device(weight, indices, offsets)
    batch = offsets.size(0)
    winners = weight.new_empty((batch if mode == "max" else 0, dim), dtype=torch.int64)
    return weight.new_empty((batch, dim)), winners


def _fake_backward(
    grad: Tensor, indices: Tensor, offsets: Tensor, num_slots: int, num_embeddings: int, mode: str
) -> Tensor:
    _check_device(grad, indices, offsets)
    return grad.new_empty((num_slots,))


def _check_device(values: Tensor, indices: Tensor, offsets: Tensor) -> None:
    """A single meta tensor brings a call here: it must not look as if it had been computed."""
    if not values.device == indices.device == offsets.device:
        raise ValueError(
            "weight, indices and offsets must be on one device, "
            f"not on {values.device}, {indices.device} and {offsets.device}"
        )


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    weight, indices, offsets, ctx.num_embeddings, _, ctx.mode = inputs
    ctx.num_slots = weight.size(0)
    if ctx.mode == "max":
        ctx.save_for_backward(output[1])
    else:
        ctx.save_for_backward(indices, offsets)


def _backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    if ctx.mode == "max":
        (winners,) = ctx.saved_tensors
        # The gradient of an empty bag (winner -1) goes nowhere: zeroed, and sent to slot 0.
        share = torch.where(winners >= 0, grad, 0).reshape(-1)
        result = grad.new_zeros(ctx.num_slots).index_add(0, winners.clamp_min(0).reshape(-1), share)
    else:
        indices, offsets = ctx.saved_tensors
        result = torch.ops.mirror.hashed_embedding_bag_backward(
            grad, indices, offsets, ctx.num_slots, ctx.num_embeddings, ctx.mode
        )
    return result, None, None, None, None, None


def _setup_double(ctx: Any, inputs: Any, output: Any) -> None:
    grad, indices, offsets, _, ctx.num_embeddings, ctx.mode = inputs
    ctx.dim = grad.size(1)
    ctx.save_for_backward(indices, offsets)


def _double_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Sum and mean are linear in the weight, so the gradient of their gradient is the forward pass."""
    indices, offsets = ctx.saved_tensors
    result, _ = torch.ops.mirror.hashed_embedding_bag(grad, indices, offsets, ctx.num_embeddings, ctx.dim, ctx.mode)
    return result, None, None, None, None, None
