"""Every operator as one kernel against float64, with ordinary and adversarial inputs, naive and rewritten."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from generated import WIDTH, build, case, compare
from torch import Tensor

from bench_engine.kernels.gir.rewrites import online, optimize, recompute
from bench_engine.kernels.gir.strategy import Strategy

ROWS, COLUMNS = 37, 45  # no multiples of a vector


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


LOWER = torch.tril_indices(6, 6, -1)
OPERATORS: dict[str, tuple[Callable, list[Tensor]]] = {
    "chain": (lambda a: torch.sigmoid(torch.sigmoid(a) * 2 - 1).tanh(), [x(ROWS, COLUMNS)]),
    "sum": (lambda a: a.sum(-1), [x(ROWS, COLUMNS)]),
    "sum of columns": (lambda a: a.sum(0), [x(ROWS, COLUMNS)]),
    "max": (lambda a: a.amax(-1), [x(ROWS, COLUMNS)]),
    "mean of all": (lambda a: a.mean(), [x(ROWS, COLUMNS)]),
    "softmax": (lambda a: a.softmax(-1), [x(ROWS, COLUMNS)]),
    "softmax of columns": (lambda a: a.softmax(0), [x(ROWS, COLUMNS)]),
    "log_softmax": (lambda a: a.log_softmax(-1), [x(ROWS, COLUMNS)]),
    "layer_norm": (lambda a, w, v: F.layer_norm(a, (45,), w, v), [x(ROWS, COLUMNS), x(45), x(45, seed=2)]),
    "layer_norm 3d": (lambda a, w: F.layer_norm(a, (45,), w), [x(4, 5, COLUMNS), x(45)]),
    "rms_norm": (lambda a, b, w: F.rms_norm(a + b, (45,), w, 1e-6), [x(ROWS, COLUMNS), x(ROWS, COLUMNS), x(45)]),
    "bias gelu": (lambda a, v: F.gelu(a + v), [x(ROWS, COLUMNS), x(45)]),
    "gelu tanh": (lambda a: F.gelu(a, approximate="tanh"), [x(ROWS, COLUMNS)]),
    "swiglu": (lambda a, b: F.silu(a) * b, [x(ROWS, COLUMNS), x(ROWS, COLUMNS, seed=2)]),
    "bce": (F.binary_cross_entropy_with_logits, [x(999), x(999, seed=2).sigmoid()]),
    "sigmoid bce": (lambda a, t: F.binary_cross_entropy(a.sigmoid(), t), [x(999), x(999, seed=2).sigmoid()]),
    "transpose add": (lambda a, b: a + b.t(), [x(ROWS, COLUMNS), x(COLUMNS, ROWS)]),
    "concat": (lambda *p: torch.cat(p, 1), [x(ROWS, n, seed=n) for n in (1, 16, 3, 40)]),
    "embedding": (lambda w, i: F.embedding(i, w), [x(9, 20), torch.randint(0, 9, (ROWS, 3))]),
    "bags": (lambda w, i: F.embedding_bag(i, w), [x(9, 20), torch.randint(0, 9, (ROWS, 3))]),
    "bags of one id": (lambda w, i: F.embedding_bag(i, w, mode="sum"), [x(9, 20), torch.full((ROWS, 4), 8)]),
    "ragged bags": (lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), [x(9, 20), *bags([0, 0, 3, 3, 11], 11)]),
    "ragged means": (lambda w, i, o: F.embedding_bag(i, w, o), [x(9, 20), *bags([0, 5, 5, 6], 11)]),
    "last offset": (
        lambda w, i, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
        [x(9, 20), *bags([0, 2, 11], 11)],
    ),
    "weighted bags": (
        lambda w, i, s: F.embedding_bag(i, w, per_sample_weights=s, mode="sum"),
        [x(9, 20), torch.randint(0, 9, (ROWS, 3)), x(ROWS, 3)],
    ),
    "hashed ids": (
        lambda w, i: F.embedding_bag((i * 31 + 7) % 9, w, mode="sum"),
        [x(9, 20), torch.randint(-99, 99, (8, 3))],
    ),
    "interaction": (interaction, [x(ROWS, 6, 24), LOWER[0], LOWER[1]]),
    "bags, concat, norm": (one_layer, [x(9, 20), torch.randint(0, 9, (ROWS, 3)), x(40), x(40, seed=2)]),
}  # fmt: skip


def _twice(kernel: object) -> object:
    return optimize(optimize(kernel, (recompute,)))


WAYS = {
    "naive": (lambda kernel: kernel, Strategy(WIDTH, unroll=1, grain=0)),
    "rewritten": (optimize, Strategy(WIDTH, unroll=2, tile=WIDTH)),
    "recomputed": (lambda kernel: _twice(optimize(kernel)), Strategy(WIDTH, unroll=4, stream=True, grain=1)),
    "online": (lambda kernel: optimize(_twice(optimize(kernel)), (online,)), Strategy(WIDTH, unroll=3, tile=2)),
}


@pytest.mark.parametrize("way", WAYS)
def test_operators_are_those_of_float64(way: str) -> None:
    change, strategy = WAYS[way]
    cases = {name: case(fn, inputs, strategy, change) for name, (fn, inputs) in OPERATORS.items()}
    build(list(cases.values()), threads=2)
    for name, c in cases.items():
        compare(c.call(*c.inputs), c.fn, c.inputs, 2e-5, name)


@pytest.mark.parametrize("name", ["transpose add", "concat", "embedding"])
def test_what_only_moves_is_exact(name: str) -> None:
    fn, inputs = OPERATORS[name]
    c = case(fn, inputs)
    build([c])
    assert torch.equal(c.call(*inputs), fn(*inputs))


SPECIAL = {
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "denormal": 1e-42, "huge": 3e38, "zero": -0.0,
}  # fmt: skip
FEW_INPUTS = [
    name for name, (_, inputs) in OPERATORS.items() if len(inputs) < 4 and name != "sigmoid bce"
]  # which torch refuses


@pytest.mark.parametrize("way", ["rewritten", "online"])
def test_special_values_come_out_as_torch_gives_them(way: str) -> None:
    change, strategy = WAYS[way]
    cases = {name: case(*OPERATORS[name], strategy, change) for name in FEW_INPUTS}
    build(list(cases.values()))
    for name, c in cases.items():
        for what, value in SPECIAL.items():
            first = c.inputs[0].clone()
            first.view(-1)[:: max(1, first.numel() // 5)] = value
            if what == "-inf" and first.dim() == 2:
                first[0] = value  # a row of nothing else
            inputs = [first, *c.inputs[1:]]
            found, single = c.call(*inputs), c.fn(*inputs)
            # torch's own kernels differ from its float64 in places: gelu of infinity is NaN in float32 alone.
            double = c.fn(*(t.double() if t.is_floating_point() else t for t in inputs)).float()
            fine = _like(found, single) | _like(found, double)
            assert bool(fine.all()), f"{name} with {what}: {found[~fine][:4]} for {single[~fine][:4]}"


def _like(found: Tensor, wanted: Tensor) -> Tensor:
    return torch.isclose(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("fault", [9, -1, 1 << 40])
def test_an_id_out_of_range_raises_torchs_own_error(fault: int) -> None:
    fn, (table, ids) = OPERATORS["bags"]
    c = case(fn, [table, ids])
    build([c])
    wrong = ids.clone()
    wrong[5, 1] = fault
    with pytest.raises((RuntimeError, IndexError)) as wanted:
        fn(table, wrong)
    with pytest.raises(type(wanted.value)) as found:
        c.call(table, wrong)
    assert str(found.value).splitlines()[0] == str(wanted.value).splitlines()[0]
