"""Every operator as one kernel against float64, with ordinary and adversarial inputs, naive and rewritten."""

import pytest
import torch
from generated import WIDTH, build, case, compare
from gir_operators import operators
from torch import Tensor

from bench_engine.kernels.gir.cpu.strategy import Strategy
from bench_engine.kernels.gir.program.rewrites import online, optimize, recompute

OPERATORS = operators(37, 45)  # no multiples of a vector


def _twice(kernel: object) -> object:
    return optimize(optimize(kernel, (recompute,)))


WAYS = {
    "naive": (lambda kernel: kernel, Strategy(WIDTH, unroll=1, grain=0)),
    "rewritten": (optimize, Strategy(WIDTH, unroll=2, tile=WIDTH)),
    "apart": (optimize, Strategy(WIDTH, apart=5, ahead=3, grain=1)),
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
