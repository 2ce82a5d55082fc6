"""Calls of the hashed embedding bag's ops, and what tests of them share."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bench_engine.kernels.hashed.hashing import HashedLayout

MODES = ("sum", "mean", "max")
# Bags of several sizes, empty ones at the start, in the middle and at the end; ids repeat.
IDS = [7, 7, 3, 999, 0, 512, 7, 11, 12, 13, 14, 999]
OFFSETS = [0, 0, 1, 4, 4, 11, 12]


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
