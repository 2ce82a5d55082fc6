"""Every operator that the compiler knows, with inputs of a size."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def x(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def bags(offsets: list[int], count: int) -> tuple[Tensor, Tensor]:
    ids = torch.randint(0, 9, (count,), generator=torch.Generator().manual_seed(3))
    ids[-1] = 8  # the last row of the table
    return ids, torch.tensor(offsets)


def interaction(a: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return torch.cat([a[:, 0], torch.bmm(a, a.transpose(1, 2))[:, rows, columns]], 1)


def one_layer(table: Tensor, ids: Tensor, w: Tensor, v: Tensor) -> Tensor:
    pooled = torch.cat([F.embedding_bag(ids, table), F.embedding_bag(ids[:, :2], table, mode="mean")], 1)
    return F.layer_norm(pooled, (w.numel(),), w, v)


def operators(rows: int, columns: int) -> dict[str, tuple[Callable, list[Tensor]]]:
    """Each with its inputs."""
    lower = torch.tril_indices(6, 6, -1)
    return {
        "chain": (lambda a: torch.sigmoid(torch.sigmoid(a) * 2 - 1).tanh(), [x(rows, columns)]),
        "sum": (lambda a: a.sum(-1), [x(rows, columns)]),
        "sum of columns": (lambda a: a.sum(0), [x(rows, columns)]),
        "max": (lambda a: a.amax(-1), [x(rows, columns)]),
        "mean of all": (lambda a: a.mean(), [x(rows, columns)]),
        "softmax": (lambda a: a.softmax(-1), [x(rows, columns)]),
        "softmax of columns": (lambda a: a.softmax(0), [x(rows, columns)]),
        "log_softmax": (lambda a: a.log_softmax(-1), [x(rows, columns)]),
        "layer_norm": (
            lambda a, w, v: F.layer_norm(a, (columns,), w, v),
            [x(rows, columns), x(columns), x(columns, seed=2)],
        ),
        "layer_norm 3d": (lambda a, w: F.layer_norm(a, (columns,), w), [x(rows // 5 + 1, 5, columns), x(columns)]),
        "rms_norm": (
            lambda a, b, w: F.rms_norm(a + b, (columns,), w, 1e-6),
            [x(rows, columns), x(rows, columns), x(columns)],
        ),
        "bias gelu": (lambda a, v: F.gelu(a + v), [x(rows, columns), x(columns)]),
        "gelu tanh": (lambda a: F.gelu(a, approximate="tanh"), [x(rows, columns)]),
        "swiglu": (lambda a, b: F.silu(a) * b, [x(rows, columns), x(rows, columns, seed=2)]),
        "bce": (F.binary_cross_entropy_with_logits, [x(27 * rows), x(27 * rows, seed=2).sigmoid()]),
        "sigmoid bce": (
            lambda a, t: F.binary_cross_entropy(a.sigmoid(), t),
            [x(27 * rows), x(27 * rows, seed=2).sigmoid()],
        ),
        "transpose add": (lambda a, b: a + b.t(), [x(rows, columns), x(columns, rows)]),
        "concat": (lambda *p: torch.cat(p, 1), [x(rows, n, seed=n) for n in (1, 16, 3, 40)]),
        "embedding": (lambda w, i: F.embedding(i, w), [x(9, 20), torch.randint(0, 9, (rows, 3))]),
        "bags": (lambda w, i: F.embedding_bag(i, w), [x(9, 20), torch.randint(0, 9, (rows, 3))]),
        "bags of one id": (lambda w, i: F.embedding_bag(i, w, mode="sum"), [x(9, 20), torch.full((rows, 4), 8)]),
        "ragged bags": (lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), [x(9, 20), *bags([0, 0, 3, 3, 11], 11)]),
        "ragged means": (lambda w, i, o: F.embedding_bag(i, w, o), [x(9, 20), *bags([0, 5, 5, 6], 11)]),
        "last offset": (
            lambda w, i, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
            [x(9, 20), *bags([0, 2, 11], 11)],
        ),
        "weighted bags": (
            lambda w, i, s: F.embedding_bag(i, w, per_sample_weights=s, mode="sum"),
            [x(9, 20), torch.randint(0, 9, (rows, 3)), x(rows, 3)],
        ),
        "hashed ids": (
            lambda w, i: F.embedding_bag((i * 31 + 7) % 9, w, mode="sum"),
            [x(9, 20), torch.randint(-99, 99, (8, 3))],
        ),
        "interaction": (interaction, [x(rows, 6, 24), lower[0], lower[1]]),
        "bags, concat, norm": (one_layer, [x(9, 20), torch.randint(0, 9, (rows, 3)), x(40), x(40, seed=2)]),
    }  # fmt: skip
