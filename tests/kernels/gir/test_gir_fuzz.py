"""Random graphs of supported ops, in random shapes with random strategies, beside float64."""

import random
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from generated import WIDTH, Case, build, case, compare
from torch import Tensor

from bench_engine.kernels.gir.cpu.strategy import WHOLE, Strategy
from bench_engine.kernels.gir.program.ir import Kernel
from bench_engine.kernels.gir.program.rewrites import online, optimize, recompute

GRAPHS, SEEDS = 40, 5  # so many graphs for each seed

SMOOTH: list[Callable] = [
    torch.tanh, torch.sigmoid, torch.exp, torch.relu, torch.neg, torch.abs, torch.erf, F.silu, F.gelu, torch.square,
    lambda x: torch.log1p(x.abs()), lambda x: (x * x + 1).rsqrt(), lambda x: x * 0.5 + 1, lambda x: x.clamp(-0.5, 0.75),
    lambda x: torch.log(x.abs() + 0.1), lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: 1 / (x.abs() + 1),
    lambda x: 2 - x, lambda x: F.leaky_relu(x, 0.2), lambda x: F.softplus(x), lambda x: x.pow(3),
]  # fmt: skip
PAIRS: list[Callable] = [
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, lambda x, y: x / (y.abs() + 1),
    lambda x, y: torch.add(x, y, alpha=0.5), lambda x, y: F.silu(x) * y,
    lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="none"),
]  # fmt: skip
ROWS: list[Callable] = [
    lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5), lambda x: x - x.mean(-1, keepdim=True), lambda x: x.softmax(0),
    lambda x: x / (x.abs().sum(-1, keepdim=True) + 1), lambda x: x - x.amax(-1, keepdim=True),
    lambda x: x.var(-1, keepdim=True, unbiased=False) + x, lambda x: x * x.sum(0, keepdim=True).sigmoid(),
]  # fmt: skip
ENDS: list[Callable] = [
    lambda x: x, lambda x: x.sum(-1), lambda x: x.mean(), lambda x: x.amax(-1), lambda x: x.sum(0), lambda x: x.t() + 1,
    lambda x: x.amin(0), lambda x: torch.cat([x, x * 2], 1), lambda x: x.t().contiguous(), lambda x: (x, x.sum(1)),
    lambda x: torch.stack([x, x + 1], 1), lambda x: x[:, ::2] * 2, lambda x: x[1:] + x[:-1],
]  # fmt: skip


def graph(choice: random.Random) -> tuple[Callable, list[Tensor]]:
    """A function of up to three matrices, a vector, a table and ids, and inputs of it."""
    rows = choice.choice([2, 3, 5, 16, 33, 64])
    columns = choice.choice([1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 100, 130])
    steps = [choice.randrange(9) for _ in range(choice.randint(1, 7))]
    picks = [(choice.random(), choice.random(), choice.random()) for _ in steps]
    end = choice.choice(ENDS)
    dim = choice.choice([1, 3, 4, 16, 24])
    choice_of_ids = choice.random() < 0.25

    def pick(items: list, number: float) -> object:
        return items[int(number * len(items))]

    def fn(a: Tensor, b: Tensor, c: Tensor, v: Tensor, table: Tensor, ids: Tensor) -> object:
        values = [a, b, c]
        for step, (one, two, three) in zip(steps, picks, strict=True):
            x, y = pick(values, one), pick(values, two)
            if step < 3:
                values.append(pick(SMOOTH, three)(x))
            elif step < 5:
                values.append(pick(PAIRS, three)(x, y))
            elif step < 7:
                values.append(pick(ROWS, three)(x))
            elif step == 7:
                values.append(x * v + y.mean(1, keepdim=True))
            else:
                bag = F.embedding_bag(ids, table, mode="sum" if three < 0.5 else "mean")
                values.append(x + bag.sum(1, keepdim=True))
        result = end(values[-1])
        if choice_of_ids:
            return torch.cat([F.embedding(ids[:, 0], table), values[-1], F.embedding_bag(ids, table)], 1), values[-2]
        return result

    make = torch.Generator().manual_seed(choice.randrange(1 << 30))
    inputs = [torch.randn(rows, columns, generator=make) for _ in range(3)]
    if choice.random() < 0.2:
        inputs[1] = torch.randn(columns, rows, generator=make).t()
    if choice.random() < 0.2:
        inputs[2] = torch.randn(rows, 2 * columns, generator=make)[:, ::2]
    table = torch.randn(11, dim, generator=make)
    ids = torch.randint(0, 11, (rows, choice.choice([1, 2, 5])), generator=make)
    return fn, [*inputs, torch.randn(columns, generator=make), table, ids]


def rewritten(choice: random.Random) -> Callable[[Kernel], Kernel]:
    """All ways in which candidates come to be."""
    way = choice.randrange(4)
    if way == 0:
        return lambda kernel: kernel
    if way == 1:
        return optimize
    if way == 2:
        return lambda kernel: optimize(optimize(optimize(kernel), (recompute,)))
    return lambda kernel: optimize(optimize(optimize(optimize(kernel), (recompute,))), (online,))


def random_case(choice: random.Random) -> Case:
    fn, inputs = graph(choice)
    strategy = Strategy(
        WIDTH,
        unroll=choice.choice([1, 2, 3, 4]),
        stream=choice.random() < 0.3,
        tile=choice.choice([1, 3, WIDTH]),
        apart=choice.choice([1, 3, WHOLE]),
        ahead=choice.choice([0, 2]),
        grain=choice.choice([0, 1, 1 << 10]),
    )
    return case(fn, inputs, strategy, rewritten(choice))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_graphs_are_those_of_float64(seed: int) -> None:
    choice = random.Random(seed)
    cases = [random_case(choice) for _ in range(GRAPHS)]
    build(cases, threads=1 + seed % 2)
    for number, c in enumerate(cases):
        compare(c.call(*c.inputs), c.fn, c.inputs, 1e-4, f"graph {number} of seed {seed}")
