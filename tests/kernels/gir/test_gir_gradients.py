"""Gradients of gathered elements and of slices: what is added one after another, and where zeros lie around a part."""

import random
from collections.abc import Callable

import pytest
import torch
from generated import WIDTH, build, case, compare
from test_gir_fuzz import PAIRS, ROWS, SMOOTH, rewritten
from torch import Tensor, nn

from bench_engine.kernels import gir
from bench_engine.kernels.gir import compiling
from bench_engine.kernels.gir.cpu.strategy import WHOLE, Strategy
from bench_engine.kernels.gir.program.ir import instructions
from bench_engine.kernels.gir.program.rewrites import optimize

aten = torch.ops.aten
GRAPHS, SEEDS = 40, 4


def added(base: Tensor, values: Tensor, *places: Tensor) -> Tensor:
    """Values added at places of the last dimensions."""
    return aten.index_put(base, [None] * (base.dim() - len(places)) + list(places), values, True)


def around(part: Tensor, like: Tensor, dim: int, start: int) -> Tensor:
    """The gradient of a slice."""
    return aten.slice_backward(part, list(like.shape), dim, start, start + part.shape[dim], 1)


def test_an_element_that_is_named_often_is_the_sum_of_all() -> None:
    base, values = torch.randn(37, 5, 7), torch.randn(37, 60)
    rows, columns = torch.randint(-5, 5, (60,)), torch.randint(-7, 7, (60,))
    built = case(added, [base, values, rows, columns])
    build([built])
    compare(built.call(*built.inputs), added, built.inputs, 1e-5, "places")
    text = [instr.op for instr, _ in instructions(built.kernel.body)]
    assert "add_to" in text


def test_a_place_out_of_range_is_told_as_torch_tells_it() -> None:
    def fn(base: Tensor, values: Tensor, places: Tensor) -> Tensor:
        return added(base, values, places).exp()

    base, values, places = torch.randn(16, 5), torch.randn(16, 4), torch.tensor([0, 4, -5, 2])
    compiled = gir.compile(fn, [base, values, places])
    assert torch.allclose(compiled(base, values, places), fn(base, values, places), rtol=1e-5)
    for wrong in (5, -6):
        with pytest.raises(IndexError):
            compiled(base, values, torch.tensor([0, wrong, 1, 2]))


def test_sums_of_no_leading_dimension_have_one_thread() -> None:
    base, values, places = torch.zeros(9), torch.randn(20000), torch.randint(0, 9, (20000,))
    built = case(added, [base, values, places], Strategy(WIDTH, grain=1))
    build([built], threads=2)
    compare(built.call(*built.inputs), added, built.inputs, 1e-3, "histogram")


def test_a_gradient_of_a_slice_that_is_added_makes_no_zeros() -> None:
    def fn(a: Tensor, b: Tensor) -> Tensor:
        return a * 2 + around(b, a, 1, 3)

    built = case(fn, [torch.randn(37, 45), torch.randn(37, 9)])
    assert not built.kernel.named("temp")
    moves = [(i.op, i.buffer) for i, _ in instructions(built.kernel.body) if i.buffer]
    assert moves == [("load", "x0"), ("store", "y0"), ("load", "x1"), ("add_to", "y0")]
    build([built])
    compare(built.call(*built.inputs), fn, built.inputs, 1e-6, "added")


def test_what_is_loaded_after_a_sum_has_the_sum() -> None:
    """A value that has been stored must not stand for what was added to it since, also where rows have one element."""

    def fn(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        total = a * 2 + around(b, a, 1, 0)
        return total, (total * 3).exp()

    for columns in (1, 2, 40):
        built = case(fn, [torch.randn(37, columns), torch.randn(37, 1)])
        build([built])
        compare(built.call(*built.inputs), fn, built.inputs, 1e-5, f"{columns} columns")


GRADIENTS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, y: x + around(y[:, :1], x, 1, x.shape[1] - 1),
    lambda x, y: around(y[:, : x.shape[1] // 2 + 1], x, 1, 0) + x.tanh(),
    lambda x, y: around(x[:, :1], x, 1, 0) + around(y[:, :1], y, 1, 0),
    lambda x, y: around(y[:, 1:], y, 1, 1),
    lambda x, y: aten.select_backward(y[:, 0], list(x.shape), 1, -1) + x,
    lambda x, y: aten.select_backward(y.sum(1), list(x.shape), 1, 0),
]


def graph(choice: random.Random) -> tuple[Callable, list[Tensor]]:
    rows, columns = choice.choice([1, 2, 5, 33, 64]), choice.choice([1, 2, 3, 16, 17, 33, 64, 100])
    count = choice.choice([1, 4, 40])
    steps = [(choice.randrange(6), choice.random(), choice.random(), choice.random()) for _ in range(5)]

    def pick(items: list, number: float) -> object:
        return items[int(number * len(items))]

    def fn(a: Tensor, b: Tensor, places: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        made = [a, b]
        for step, one, two, three in steps:
            x, y = pick(made, one), pick(made, two)
            if step == 0:
                made.append(pick(SMOOTH, three)(x))
            elif step == 1:
                made.append(pick([*PAIRS, *[lambda x, y, of=of: of(x) + y for of in ROWS]], three)(x, y))
            elif step == 2:
                made.append(added(x, values, places))
            elif step == 3:
                made.append(added(torch.zeros_like(x), x[:, :1].expand(-1, places.numel()), places) * y)
            else:
                made.append(pick(GRADIENTS, three)(x, y))
        return made[-1], made[-2]

    make = torch.Generator().manual_seed(choice.randrange(1 << 30))
    places = torch.randint(-columns, columns, (count,), generator=make)
    inputs = [torch.randn(rows, columns, generator=make) for _ in range(2)]
    return fn, [*inputs, places, torch.randn(rows, count, generator=make)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_graphs_with_gradients_are_those_of_float64(seed: int) -> None:
    choice = random.Random(seed)
    cases = []
    for _ in range(GRAPHS):
        fn, inputs = graph(choice)
        strategy = Strategy(
            WIDTH,
            unroll=choice.choice([1, 2, 4]),
            stream=choice.random() < 0.3,
            tile=choice.choice([1, WIDTH]),
            apart=choice.choice([1, WHOLE]),
            grain=choice.choice([0, 1]),
        )
        cases.append(case(fn, inputs, strategy, rewritten(choice) if choice.random() < 0.8 else optimize))
    build(cases, threads=1 + seed % 2)
    for number, c in enumerate(cases):
        compare(c.call(*c.inputs), c.fn, c.inputs, 1e-4, f"graph {number} of seed {seed}")


class Pairs(nn.Module):
    """Dot products of all pairs, of which some rows are taken once more."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pairs", torch.tril_indices(6, 6, -1))
        self.last = nn.Linear(15 + 24, 1)

    def forward(self, x: Tensor) -> Tensor:
        dots = torch.bmm(x, x.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.last(torch.cat([x[:, 0], dots], 1)) + x[:, 1:3].sum((1, 2), keepdim=True)[:, 0]


def test_a_model_of_pairs_trains_as_eager_does_at_any_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = []
    real = compiling.compile_graph
    monkeypatch.setattr(compiling, "compile_graph", lambda module: graphs.append(real(module)) or graphs[-1])
    torch._dynamo.reset()
    model = Pairs()
    compiled = torch.compile(model, backend="gir")
    for batch in (16, 16, 5, 64):
        found = torch.randn(batch, 6, 24)
        wanted = found.clone()
        for x, call in ((found, compiled), (wanted, model)):
            call(x.requires_grad_()).square().sum().backward()
        assert torch.allclose(found.grad, wanted.grad, rtol=1e-4, atol=1e-4)
    left = [line for found in graphs for line in found.left]
    assert not any("index_put" in line or "select_backward" in line or "slice_backward" in line for line in left), left


def test_gradients_that_are_parts_are_made_by_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = []
    real = compiling.compile_graph
    monkeypatch.setattr(compiling, "compile_graph", lambda module: graphs.append(real(module)) or graphs[-1])
    torch._dynamo.reset()
    parts = [torch.randn(32, 8, requires_grad=True) for _ in range(5)]
    compiled = torch.compile(lambda *p: torch.cat(p, 1), backend="gir")
    grad = torch.randn(32, 40)
    compiled(*parts).backward(grad)
    for part, wanted in zip(parts, grad.split(8, 1), strict=True):
        assert torch.equal(part.grad, wanted)
        assert part.grad.is_contiguous()
    _, backward = graphs
    assert len(backward.regions) == 1
