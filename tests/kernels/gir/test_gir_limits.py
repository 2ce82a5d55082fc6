"""Graphs at the edge of what GIR can say: each gives what torch gives, or runs as it was; none reads beyond memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from generated import WIDTH, build, case
from torch import Tensor, nn
from torch.autograd import forward_ad

from bench_engine.kernels import gir
from bench_engine.kernels.gir.cpu.strategy import Strategy

aten = torch.ops.aten


def check(fn: Callable[..., Any], *args: Any, others: tuple[Any, ...] = ()) -> None:
    """A compiled function gives what the function gives, for the arguments that it was compiled with and for others."""
    compiled = gir.compile(fn, list(args))
    for given in (args, args, others or args):
        found, wanted = compiled(*given), fn(*given)
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, wanted)), strict=True):
            assert one.shape == other.shape
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_sums_at_places_beside_a_reduction_lose_nothing_with_several_threads() -> None:
    def fn(zeros: Tensor, values: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        return aten.index_put(zeros, [places], values, True), values.sum()

    inputs = [torch.zeros(9), torch.ones(20_000), torch.randint(0, 9, (20_000,))]
    built = case(fn, inputs, Strategy(WIDTH, grain=1 << 15))
    build([built], threads=2)
    wanted = torch.bincount(inputs[2], minlength=9).float()
    for _ in range(50):
        assert torch.equal(built.call(*inputs)[0], wanted)


def test_a_batch_size_that_no_tensor_of_a_region_has_is_not_guessed() -> None:
    weight = torch.rand(1, 4)
    check(lambda x: (torch.cumsum(x, -1), weight.expand(x.shape[0], -1).exp()), torch.rand(6, 5))
    check(lambda x: (torch.cumsum(x, -1), torch.full((x.shape[0], 4), 2.0).exp()), torch.rand(6, 5))


@pytest.mark.parametrize(("start", "end"), [(-17, -1), (-17, -12), (-3, 20), (0, -20), (12, 20), (-10, 10)])
def test_the_gradient_of_a_slice_that_begins_before_its_tensor(start: int, end: int) -> None:
    def fn(x: Tensor) -> Tensor:
        return (x[:, start:end] * 2).exp().sum() + x.exp().sum()

    x, twin = (torch.linspace(-1, 1, 60).reshape(6, 10).requires_grad_() for _ in range(2))
    torch.compile(fn, backend="gir")(x).backward()
    fn(twin).backward()
    assert torch.allclose(x.grad, twin.grad, rtol=1e-5)


def test_bags_of_a_part_of_the_ids_or_of_the_offsets() -> None:
    weight = torch.rand(20, 4)
    ids, offsets = torch.randint(0, 20, (16,)), torch.tensor([0, 3, 5, 8])
    check(lambda i, o: F.embedding_bag(i[8:], weight, o).exp(), ids, offsets)
    check(lambda i, o: F.embedding_bag(i, weight, o[:-1]).exp(), ids, offsets, others=(ids, torch.tensor([0, 3, 5, 5])))
    check(lambda i: F.embedding_bag(i, weight, torch.arange(0, 10, 4)).exp(), ids[:10].clone())
    check(lambda i, o: F.embedding_bag(i, weight, o[::2]).exp(), ids, torch.tensor([0, 9, 3, 9, 7, 9]))


def test_a_softmax_less_the_maximum_of_other_elements_overflows_no_earlier() -> None:
    def fn(x: Tensor) -> Tensor:
        power = (x[:, 4:] - x[:, :4].amax(-1, True)).exp()
        return power / power.sum(-1, True)

    low = torch.zeros(8, 20)
    low[:, 4:] = -100
    check(fn, torch.rand(8, 20), others=(low,))


def test_hashes_with_constants_of_64_bits() -> None:
    weight = torch.rand(1000, 4)

    def fn(ids: Tensor) -> Tensor:
        return F.embedding_bag((ids * 6364136223846793005 + 1442695040888963407) % 1000, weight).exp()

    check(fn, torch.zeros(4, 3, dtype=torch.int64), others=(torch.randint(0, 10**9, (4, 3)),))
    check(lambda ids: F.embedding_bag(ids * 2654435761 % 1000, weight).exp(), torch.randint(0, 2**40, (4, 3)))


SCALE = 2.0


class Scaled(nn.Module):
    """Reads a global, an attribute of its class and a method."""

    factor = 3.0

    def more(self, x: Tensor) -> Tensor:
        return x * self.factor

    def forward(self, x: Tensor) -> Tensor:
        return (self.more(x) * SCALE).exp()


@pytest.mark.parametrize("within", [False, True])
def test_what_the_forward_of_a_module_reads_is_watched(monkeypatch: pytest.MonkeyPatch, within: bool) -> None:
    model, x = Scaled(), torch.rand(4, 4)
    compiled = gir.compile((lambda x: model(x)) if within else model, [x])
    assert torch.allclose(compiled(x), model(x))
    for change in (
        lambda: monkeypatch.setitem(globals(), "SCALE", 1.0),
        lambda: monkeypatch.setattr(Scaled, "factor", 0.5),
        lambda: monkeypatch.setattr(Scaled, "more", lambda self, x: x - 1),
        lambda: monkeypatch.setattr(Scaled, "forward", lambda self, x: x + 1),
    ):
        compiled(x)
        change()
        for _ in range(3):
            assert torch.allclose(compiled(x), model(x))


def test_tangents_of_forward_mode_are_not_dropped() -> None:
    def fn(x: Tensor) -> Tensor:
        return (x * 2).exp()

    x = torch.rand(4, 4)
    compiled = gir.compile(fn, [x])
    for _ in range(3):
        compiled(x)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(compiled(forward_ad.make_dual(x, torch.ones(4, 4))))
        assert torch.allclose(found.tangent, 2 * fn(x))


@pytest.mark.parametrize(
    ("fn", "x"),
    [
        (lambda x: (torch.cumsum(x, 0), torch.full((4,), 2.0).exp()), torch.rand(3)),
        (lambda x: x.sum(0) * 2, torch.tensor(3.0)),
        (lambda x: x * (-torch.full((4,), -1.0)), torch.rand(6, 4)),
    ],
)
def test_what_lowering_cannot_take_runs_as_it_is(fn: Callable[..., Any], x: Tensor) -> None:
    compiled = torch.compile(fn, backend="gir")
    for found, wanted in zip(*(r if isinstance(r, tuple) else (r,) for r in (compiled(x), fn(x))), strict=True):
        assert torch.allclose(found, wanted)


@pytest.mark.parametrize(
    ("fn", "shape"),
    [
        (lambda x: x.log_softmax(0), (100_000,)),
        (lambda x: (x - x.amax((1, 2), True)).exp() / (x - x.amax((1, 2), True)).exp().sum((1, 2), True), (64, 8, 16)),
    ],
)
def test_no_candidate_breaks_the_others(fn: Callable[..., Any], shape: tuple[int, ...]) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x = torch.rand(shape)
        check(fn, x)
        assert "Error" not in gir.explain(fn, [x]).splitlines()[1]
    finally:
        torch.set_num_threads(threads)


def test_ids_that_torch_refuses_are_refused() -> None:
    x, ids = torch.rand(5, 4), torch.tensor([0, 4])
    compiled = gir.compile(lambda x, ids: x.index_select(0, ids).exp(), [x, ids])
    compiled(x, ids)
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([0, -1]))
    ids = torch.randint(0, 5, (8,))
    bags = gir.compile(lambda x, i, o: F.embedding_bag(i, x, o, mode="sum").exp(), [x, ids, torch.tensor([0, 3])])
    with pytest.raises((RuntimeError, ValueError), match="offsets"):
        bags(x, ids, torch.tensor([2, 4]))


def test_what_was_decided_for_one_function_is_not_taken_for_another_of_the_same_kernel() -> None:
    def apart(x: Tensor) -> Tensor:
        power = (x - x.amax(-1, True)).exp()
        return power / power.sum(-1, True)

    x = torch.rand(64, 32)
    kept = [next(iter(gir.compile(fn, [x]).graphs.values())).regions for fn in (lambda x: x.softmax(-1), apart)]
    one, other = (next(iter(regions.values())) for regions in kept)
    assert one.text == other.text
    assert one.ops != other.ops


class Base(nn.Module):
    """A forward whose helpers are no plain methods."""

    @staticmethod
    def act(x: Tensor) -> Tensor:
        return x * SCALE

    @property
    def shift(self) -> float:
        return SCALE

    def forward(self, x: Tensor) -> Tensor:
        return (self.act(x) + self.shift).exp()


class Child(Base):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


@pytest.mark.parametrize("kind", [Base, Child])
def test_static_methods_properties_and_super_are_watched(monkeypatch: pytest.MonkeyPatch, kind: type[Base]) -> None:
    model, x = kind(), torch.rand(4, 4)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    compiled = gir.compile(model, [x])
    compiled(x)
    monkeypatch.setitem(globals(), "SCALE", 1.0)
    assert torch.allclose(compiled(x), model(x))


def test_as_strided_counts_from_the_storage() -> None:
    def fn(x: Tensor) -> Tensor:
        return x.as_strided((4, 3), (3, 1), 0).exp()

    big = torch.rand(8, 3)
    check(fn, torch.rand(4, 3), others=(big[2:6],))
    check(fn, big[2:6], others=(torch.rand(4, 3),))


def test_ids_of_elements_that_are_not_taken_are_checked_too() -> None:
    w, i = torch.rand(9), torch.randint(0, 9, (8,))
    one = gir.compile(lambda w, i: w[i][:4].exp(), [w, i])
    with pytest.raises(IndexError):
        one(w, torch.tensor([0] * 7 + [9]))
    table, j, rows = torch.rand(9, 16), torch.randint(0, 9, (5, 3)), torch.tensor([0, 1])
    bags = gir.compile(lambda w, j, i: F.embedding_bag(j, w, mode="sum")[i].exp(), [table, j, rows])
    j[4, 0] = 9
    with pytest.raises((IndexError, RuntimeError)):
        bags(table, j, rows)


def test_variances_with_unusual_corrections() -> None:
    check(lambda x: x.var(-1, correction=1.5) * 2, torch.ones(8, 33), others=(torch.rand(8, 33),))
    check(lambda x: x.var(0, correction=3) * 2, torch.rand(4, 5), others=(torch.rand(2, 5),))


def test_numbers_of_sizes_large_factors_and_truth_values_that_fill() -> None:
    def scaled(x: Tensor) -> Tensor:
        return (x / torch.full((1,), x.shape[0], dtype=torch.float32)).exp()

    check(scaled, torch.rand(6, 4), others=(torch.rand(9, 4),))
    x = torch.rand(6, 4)
    assert torch.allclose(torch.compile(scaled, backend="gir", dynamic=True)(x), scaled(x))
    check(lambda x: torch.full_like(x, 2, dtype=torch.bool).float() * x, torch.zeros(4, 4), others=(torch.rand(4, 4),))
    weight, ids = torch.rand(1000, 4), torch.randint(0, 10**9, (4, 3))
    check(
        lambda a, b: F.embedding_bag(torch.add(a, b, alpha=6364136223846793005) % 1000, weight).exp(),
        *(ids, torch.zeros_like(ids)),
        others=(ids, ids + 1),
    )
