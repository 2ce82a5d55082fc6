"""Fake kernels and gradients of the compiled hashed embedding bag; its schema is in csrc/hashed_embedding_bag.cpp.

Sum and mean pooling are linear in the weight and in the sample weights, so three ops are closed under differentiation:
the bag itself, its gradient to the weight (`backward`) and its gradient to the sample weights (`sample_gradient`).
"""

import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels import extension
from bench_engine.kernels.bags import check_one_device

_ready = False
_registering = threading.Lock()


@dataclass(frozen=True)
class Options:
    """What the ops are told of a table, beside its weight.

    Attributes:
        num_embeddings, embedding_dim: E and D of the virtual table.
        mode: sum, mean or max.
        hash: reference or mix64.
        seed: of mix64, with the table's number mixed in: a signed 64-bit number.
        signs: whether elements have signs.
        block_size: neighbours that share one hash.
        padding_idx: id that takes no part, -1 for none.
        include_last_offset: whether offsets end with the end of the last bag.
    """

    num_embeddings: int
    embedding_dim: int
    mode: str
    hash: str = "reference"
    seed: int = 0
    signs: bool = False
    block_size: int = 1
    padding_idx: int = -1
    include_last_offset: bool = False

    def tail(self) -> tuple[str, str, int, bool, int, int, bool]:
        """The arguments that end every op."""
        return (
            self.mode, self.hash, self.seed, self.signs, self.block_size, self.padding_idx, self.include_last_offset
        )  # fmt: skip


def load() -> None:
    """Load the compiled kernels and register what they need from Python, once. Raises KernelsNotBuiltError."""
    global _ready
    with _registering:
        if _ready:
            return
        extension.load()
        library = torch.library
        for name, fake in (
            ("", _fake),
            ("_backward", _fake_backward),
            ("_sample_gradient", _fake_sample_gradient),
            ("_max_backward", _fake_max_backward),
        ):
            library.register_fake(f"mirror::hashed_embedding_bag{name}", fake)
        for name, backward, setup in (
            ("", _backward, _setup),
            ("_backward", _differentiate_backward, _setup_backward),
            ("_sample_gradient", _differentiate_sample_gradient, _setup_sample_gradient),
            ("_max_backward", _differentiate_max_backward, _setup_max_backward),
        ):
            library.register_autograd(f"mirror::hashed_embedding_bag{name}", backward, setup_context=setup)
        _ready = True


def pooled(
    options: Options, weight: Tensor, indices: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> Tensor:
    """One vector per bag, (B, D)."""
    output, _ = torch.ops.mirror.hashed_embedding_bag(
        weight,
        indices,
        offsets,
        per_sample_weights,
        options.num_embeddings,
        options.embedding_dim,
        *options.tail(),
        torch.is_grad_enabled() and weight.requires_grad,
    )
    return output


def _weight_gradient(
    options: Options, grad: Tensor, indices: Tensor, offsets: Tensor | None, samples: Tensor | None, num_slots: int
) -> Tensor:
    return torch.ops.mirror.hashed_embedding_bag_backward(
        grad, indices, offsets, samples, num_slots, options.num_embeddings, *options.tail()
    )


def _sample_gradient(options: Options, grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor | None) -> Tensor:
    return torch.ops.mirror.hashed_embedding_bag_sample_gradient(
        grad, weight, indices, offsets, options.num_embeddings, *options.tail()
    )


# -- fake kernels --------------------------------------------------------------------------------------------------


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


# -- gradients -----------------------------------------------------------------------------------------------------


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    weight, indices, offsets, samples, rows, dim, *tail, _ = inputs
    ctx.options = Options(rows, dim, *tail)
    ctx.num_slots = weight.size(0)
    if ctx.options.mode == "max":
        ctx.save_for_backward(output[1])
    else:
        wanted = samples is not None and samples.requires_grad
        ctx.save_for_backward(weight if wanted else None, indices, offsets, samples)


def _backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    by_weight = by_samples = None
    if ctx.options.mode == "max":
        (winners,) = ctx.saved_tensors
        by_weight = torch.ops.mirror.hashed_embedding_bag_max_backward(grad, winners, ctx.num_slots, ctx.options.signs)
    else:
        weight, indices, offsets, samples = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            by_weight = _weight_gradient(ctx.options, grad, indices, offsets, samples, ctx.num_slots)
        if samples is not None and ctx.needs_input_grad[3]:
            by_samples = _sample_gradient(ctx.options, grad, weight, indices, offsets)
    return by_weight, None, None, by_samples, *[None] * 10


def _setup_backward(ctx: Any, inputs: Any, output: Any) -> None:
    grad, indices, offsets, samples, _, rows, *tail = inputs
    ctx.options = Options(rows, grad.size(1), *tail)
    wanted = samples is not None and samples.requires_grad
    ctx.save_for_backward(grad if wanted else None, indices, offsets, samples)


def _differentiate_backward(ctx: Any, grad_of_weight: Tensor) -> tuple[Tensor | None, ...]:
    grad, indices, offsets, samples = ctx.saved_tensors
    by_grad = by_samples = None
    if ctx.needs_input_grad[0]:
        by_grad = pooled(ctx.options, grad_of_weight, indices, offsets, samples)
    if samples is not None and ctx.needs_input_grad[3]:
        by_samples = _sample_gradient(ctx.options, grad, grad_of_weight, indices, offsets)
    return by_grad, None, None, by_samples, *[None] * 9


def _setup_sample_gradient(ctx: Any, inputs: Any, output: Any) -> None:
    grad, weight, indices, offsets, rows, *tail = inputs
    ctx.options = Options(rows, grad.size(1), *tail)
    ctx.save_for_backward(grad, weight, indices, offsets)


def _differentiate_sample_gradient(ctx: Any, grad_of_samples: Tensor) -> tuple[Tensor | None, ...]:
    grad, weight, indices, offsets = ctx.saved_tensors
    by_grad = by_weight = None
    if ctx.needs_input_grad[0]:
        by_grad = pooled(ctx.options, weight, indices, offsets, grad_of_samples)
    if ctx.needs_input_grad[1]:
        by_weight = _weight_gradient(ctx.options, grad, indices, offsets, grad_of_samples, weight.size(0))
    return by_grad, by_weight, *[None] * 10


def _setup_max_backward(ctx: Any, inputs: Any, output: Any) -> None:
    _, winners, _, ctx.signs = inputs
    ctx.save_for_backward(winners)


def _differentiate_max_backward(ctx: Any, grad_of_weight: Tensor) -> tuple[Tensor | None, ...]:
    (winners,) = ctx.saved_tensors
    codes = winners.long()
    slots = (codes >> 1 if ctx.signs else codes).clamp_min(0)
    value = grad_of_weight[slots]
    if ctx.signs:
        value = torch.where(codes % 2 == 1, -value, value)
    return torch.where(codes >= 0, value, 0), None, None, None
