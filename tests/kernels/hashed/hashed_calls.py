"""Calls of the hashed embedding bag's ops, and what tests of them share."""

import torch
from torch import Tensor

from bench_engine.kernels._hashed_ops import Options
from bench_engine.kernels.hashing import HashedLayout

MODES = ("sum", "mean", "max")
# Bags of several sizes, empty ones at the start, in the middle and at the end; ids repeat.
IDS = [7, 7, 3, 999, 0, 512, 7, 11, 12, 13, 14, 999]
OFFSETS = [0, 0, 1, 4, 4, 11, 12]


def arguments(weight, ids, offsets, samples, options: Options, wanted: bool = True) -> tuple:
    """Those of torch.ops.mirror.hashed_embedding_bag."""
    table = (options.num_embeddings, options.embedding_dim)
    return (weight, ids, offsets, samples, *table, *options.tail(), wanted)


def op(weight, ids, offsets, num_embeddings, dim, mode, samples=None, **options) -> tuple[Tensor, Tensor]:
    """Output and winners."""
    chosen = Options(num_embeddings, dim, mode, **options)
    return torch.ops.mirror.hashed_embedding_bag(*arguments(weight, ids, offsets, samples, chosen))


def backward(grad, ids, offsets, num_slots, num_embeddings, mode, samples=None, **options) -> Tensor:
    """Gradient of the weight."""
    tail = Options(num_embeddings, grad.size(-1), mode, **options).tail()
    return torch.ops.mirror.hashed_embedding_bag_backward(grad, ids, offsets, samples, num_slots, num_embeddings, *tail)


def slots_of(ids: Tensor, dim: int, num_slots: int) -> Tensor:
    """Slots (N, D) by the hash of the original, in plain PyTorch."""
    return HashedLayout("reference", 0, False, 1, dim, num_slots).slots(ids)


def compiled_codes(rows: Tensor, layout: HashedLayout) -> Tensor:
    """Signed slots (N, D) as the kernel finds them, slot + 1 with its sign: the value of each slot is its number."""
    weight = torch.arange(1, layout.num_slots + 1, dtype=torch.float64)
    output, _ = op(
        weight, rows.unsqueeze(1), None, 2**63 - 1, layout.dim, "sum",
        hash=layout.hash, seed=layout.seed, signs=layout.signs, block_size=layout.block,
    )  # fmt: skip
    return output.long()


def expected_codes(rows: Tensor, layout: HashedLayout) -> Tensor:
    """What `compiled_codes` should find, in plain PyTorch."""
    factors = layout.factors(rows, torch.int64)
    codes = layout.slots(rows) + 1
    return codes if factors is None else codes * factors


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
