"""Operators that take as long as their bytes take to move, each in three sizes.

Shapes are the same on every machine, so that results of machines can be compared. A call touches some 0.4 MB, 7 MB and
160 MB, which is within the L2 cache, within the last one and beyond it on most processors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

# How many times the smallest shape; working_set of a configuration -> factor.
SIZES = {"in_l2": 1, "in_l3": 16, "out_of_cache": 384}
WIDTH = 832  # of a row: 26 features of 32
FEATURES, DIM, IDS = 26, 16, 10
MULTIPLIER, OFFSET = 2654435761, 97  # of the hash: Knuth's, and a prime

Inputs = list[Tensor]


@dataclass(frozen=True)
class Operator:
    """One operator.

    Attributes:
        name: value of the axis operator.
        call: what torch computes, a function of the inputs that returns a tensor.
        make: inputs of a factor of SIZES, drawn from torch's generator.
        looked_up: (rows, table) of each table among the inputs, of which only rows are read.
    """

    name: str
    call: Callable[..., Tensor]
    make: Callable[[int], Inputs]
    looked_up: Callable[[Inputs], list[tuple[Tensor, Tensor]]] = lambda inputs: []

    def inputs(self, working_set: str, seed: int) -> Inputs:
        """Seeded inputs of a size."""
        torch.manual_seed(seed)
        return self.make(SIZES[working_set])

    def bytes_moved(self, inputs: Sequence[Tensor], output: Tensor) -> int:
        """Bytes that no way of running it can save: inputs and outputs once, of a table the rows that are named."""
        looked_up = self.looked_up(list(inputs))
        tables = [id(table) for _, table in looked_up]
        dense = sum(tensor.nbytes for tensor in inputs if id(tensor) not in tables)
        rows = sum(ids.unique().numel() * table[0].nbytes for ids, table in looked_up)
        return dense + rows + output.nbytes


def interaction(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Dot products of all pairs of vectors, beside the first vector: (B, F, D) becomes (B, D + F * (F - 1) / 2)."""
    return torch.cat([x[:, 0], torch.bmm(x, x.transpose(1, 2))[:, rows, columns]], 1)


def bags(*given: Tensor) -> Tensor:
    """Sums of bags side by side; half of what is given are the ids (B, L) of each table, the others tables (E, D)."""
    half = len(given) // 2
    return torch.cat(
        [F.embedding_bag(ids, w, mode="sum") for w, ids in zip(given[half:], given[:half], strict=True)], 1
    )


def hashed_rows(ids: Tensor, table: Tensor) -> Tensor:
    """The rows of a table (E, D) that ids share by their hash."""
    return (ids * MULTIPLIER + OFFSET) % table.shape[0]


def hashed_bag(ids: Tensor, table: Tensor) -> Tensor:
    """A bag whose rows share a small table."""
    return F.embedding_bag(hashed_rows(ids, table), table, mode="sum")


def _rows(count: int, tensors: int = 1) -> Callable[[int], Inputs]:
    return lambda factor: [torch.randn(count * factor, WIDTH) for _ in range(tensors)]


def _with_vectors(count: int, tensors: int, vectors: int) -> Callable[[int], Inputs]:
    return lambda factor: [*_rows(count, tensors)(factor), *(torch.randn(WIDTH) for _ in range(vectors))]


def _flat(factor: int) -> Inputs:
    return [torch.randn(64 * WIDTH * factor)]


def _clicks(factor: int) -> Inputs:
    return [torch.randn(64 * WIDTH * factor), torch.rand(64 * WIDTH * factor)]


def _squares(factor: int) -> Inputs:
    side = 8 * round(23 * factor**0.5)
    return [torch.randn(side, side) for _ in range(2)]


def _features(factor: int) -> Inputs:
    return [torch.randn(128 * factor, DIM) for _ in range(FEATURES)]


def _bags(factor: int) -> Inputs:
    ids = [torch.randint(0, 128 * factor, (64 * factor, IDS)) for _ in range(FEATURES)]
    return [*ids, *(torch.randn(128 * factor, DIM) for _ in range(FEATURES))]


def _pairs(factor: int) -> Inputs:
    return [torch.randn(80 * factor, FEATURES + 1, 32), *torch.tril_indices(FEATURES + 1, FEATURES + 1, -1)]


def _hashed(factor: int) -> Inputs:
    return [torch.randint(0, 2**20, (1024 * factor, IDS)), torch.randn(4000 * factor, DIM)]


OPERATORS: dict[str, Operator] = {
    o.name: o
    for o in (
        Operator("softmax", lambda x: x.softmax(-1), _rows(64)),
        Operator("log_softmax", lambda x: x.log_softmax(-1), _rows(64)),
        Operator("layer_norm", lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b), _with_vectors(64, 1, 2)),
        Operator("rms_norm_residual", lambda x, y, w: F.rms_norm(x + y, (WIDTH,), w), _with_vectors(40, 2, 1)),
        Operator("bias_gelu", lambda x, b: F.gelu(x + b), _with_vectors(64, 1, 1)),
        Operator("swiglu", lambda x, y: F.silu(x) * y, _rows(40, 2)),
        Operator("sigmoid_chain", lambda x: torch.sigmoid(torch.sigmoid(x) * 2 - 1) * x, _flat),
        Operator("sigmoid_bce", lambda x, y: F.binary_cross_entropy_with_logits(x, y), _clicks),
        Operator("transpose_add", lambda x, y: x + y.t(), _squares),
        Operator("concat", lambda *parts: torch.cat(parts, 1), _features),
        Operator(
            "bags_concat",
            bags,
            _bags,
            lambda inputs: list(zip(inputs[:FEATURES], inputs[FEATURES:], strict=True)),
        ),
        Operator("interaction", interaction, _pairs),
        Operator("hashed_bag", hashed_bag, _hashed, lambda inputs: [(hashed_rows(*inputs), inputs[1])]),
    )
}
