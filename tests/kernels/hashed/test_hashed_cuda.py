"""The hashed embedding bag's CUDA kernels compute what those of the CPU do, also where there is no GPU.

The binding and what every thread does are compiled for the host too, where loops take the place of the launches
(cuda_host_launches.cpp). On a machine with a GPU the same cases run on it.
"""

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hashed_calls import Options
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from bench_engine.kernels import HashedEmbedding, HashedEmbeddingBag
from bench_engine.kernels.hashed import hashed_ops as _hashed_ops
from bench_engine.kernels.hashed.hashing import HashedLayout
from tests.kernels import cuda_on_host
from tests.kernels.hashed.hashed_calls import IDS, OFFSETS, arguments, expected_codes

HOST = Path(__file__).with_name("cuda_host_launches.cpp")
CPU_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
ORDERS = ("forwards", "backwards", "mixed")
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


class Place:
    """Where the kernels run, with CPU tensors in and out."""

    def call(self, name: str, *given: Any) -> Any:
        moved = [x.cuda() if isinstance(x, Tensor) else x for x in given]
        result = op(name)(*moved)
        return result.cpu() if isinstance(result, Tensor) else [x.cpu() for x in result]

    def orders(self) -> Iterator[None]:
        """Orders in which threads run: on a GPU they are its own."""
        for _ in ORDERS:
            yield


class HostPlace(Place):
    def call(self, name: str, *given: Any) -> Any:
        return op(name).redispatch(CPU_CUDA, *given)

    def orders(self) -> Iterator[None]:
        try:
            for order in ORDERS:
                torch.ops.mirror.hashed_host_order(order)
                yield
        finally:
            torch.ops.mirror.hashed_host_order(ORDERS[0])


def op(name: str) -> Any:
    return getattr(torch.ops.mirror, f"hashed_embedding_bag{name}").default


@pytest.fixture(scope="module")
def host_library(built_kernels, toolkit, tmp_path_factory) -> None:
    _hashed_ops.load()
    sources = [cuda_on_host.SOURCES / "hashed/cuda/embedding_bag_cuda.cpp", HOST]
    torch.ops.load_library(cuda_on_host.library(sources, toolkit, tmp_path_factory.mktemp("host")))


@pytest.fixture(params=["host", "gpu"])
def place(request) -> Place:
    if request.param == "gpu":
        if not torch.cuda.is_available():
            pytest.skip("no GPU")
        request.getfixturevalue("hashed_ops")
        return Place()
    request.getfixturevalue("host_library")
    return HostPlace()


@contextmanager
def deterministic(wanted: bool = True) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


class Case:
    """Arguments of a forward, and those of the gradients that belong to it."""

    def __init__(self, options: Options, num_slots: int, dtype: torch.dtype, seed: int = 0) -> None:
        self.options, self.num_slots, self.dtype = options, num_slots, dtype
        self.random = torch.Generator().manual_seed(seed)
        self.weight = self.normal(num_slots)
        self.ids = torch.tensor([], dtype=torch.int64)
        self.offsets: Tensor | None = None
        self.samples: Tensor | None = None

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.random, dtype=torch.float64).to(self.dtype)

    def bags(self, ids: Tensor, offsets: list[int] | None = None, index: torch.dtype = torch.int64) -> "Case":
        self.ids = ids.to(index)
        self.offsets = None if offsets is None else torch.tensor(offsets, dtype=index)
        return self

    def with_samples(self) -> "Case":
        self.samples = self.normal(*self.ids.shape)
        return self

    @property
    def num_bags(self) -> int:
        if self.offsets is None:
            return self.ids.size(0)
        return len(self.offsets) - self.options.include_last_offset

    def forward(self) -> tuple:
        return arguments(self.weight, self.ids, self.offsets, self.samples, self.options)

    def gradient(self) -> Tensor:
        return self.normal(self.num_bags, self.options.embedding_dim)

    def backward(self, grad: Tensor) -> tuple:
        return (
            grad, self.ids, self.offsets, self.samples, self.num_slots, self.options.num_embeddings,
            *self.options.tail(),
        )  # fmt: skip

    def sample_gradient(self, grad: Tensor) -> tuple:
        return (
            grad, self.weight, self.ids, self.offsets, self.options.num_embeddings, *self.options.tail()
        )  # fmt: skip


def close(got: Tensor, want: Tensor, scale: float = 1.0) -> None:
    tolerance = TOLERANCES[want.dtype]
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def same(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


def bits(x: Tensor) -> list[int]:
    return x.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]).flatten().tolist()


def compare(place: Place, case: Case) -> None:
    """All that the kernels compute for a case, beside the CPU."""
    want, winners = op("")(*case.forward())
    got, its_winners = place.call("", *case.forward())
    if case.samples is None:
        same(got, want)  # the order of additions is the same
    else:
        close(got, want, 8.0)
    assert torch.equal(its_winners, winners)
    grad = case.gradient()
    for exact in (False, True):
        with deterministic(exact):
            if case.options.mode == "max":
                given = (grad, winners, case.num_slots, case.options.signs)
                close(place.call("_max_backward", *given), op("_max_backward")(*given), 20.0)
            else:
                given = case.backward(grad)
                most = 1 + case.ids.numel() * case.options.embedding_dim / case.num_slots
                close(place.call("_backward", *given), op("_backward")(*given), most)
    if case.options.mode != "max":
        given = case.sample_gradient(grad)
        close(place.call("_sample_gradient", *given), op("_sample_gradient")(*given), 40.0)


def last_row_without_wrap(blocks: int) -> int:
    return (2**64 - 1 - 104729 - (blocks - 1) * 57857966300227) // 9824516537


def draw_case(seed: int) -> Case:
    draw = random.Random(seed)
    mixing = draw.random() < 0.6
    mode = draw.choice(["sum", "mean", "max"])
    dim = draw.choice([1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 100, 128, 130, 200])
    block = draw.choice([1, 1, 1, 2, 3, 8, 16, 24, 1000])
    edge = last_row_without_wrap(-(-dim // block))
    index = draw.choice([torch.int32, torch.int64])
    rows = draw.choice([1, 4, 50, 10**6] if index == torch.int32 else [1, 4, 50, edge, edge + 2, 2**40, 2**63 - 1])
    last = draw.random() < 0.4
    padding = draw.choice([-1, -1, rows - 1, 0])
    options = Options(
        rows, dim, mode, "mix64" if mixing else "reference", draw.getrandbits(64) - 2**63 if mixing else 0,
        mixing and draw.random() < 0.5, block, padding, last,
    )  # fmt: skip
    dtype = draw.choice(list(TOLERANCES))
    case = Case(options, draw.choice([1, 2, 7, 64, 1000, 4801, 65_536, 99_991]), dtype, seed)

    def ids(count: int) -> list[int]:
        few = [draw.randrange(rows) for _ in range(3)] + [rows - 1]
        return [draw.choice(few) if draw.random() < 0.5 else draw.randrange(rows) for _ in range(count)]

    if draw.random() < 0.4:
        bags, size = draw.randrange(0, 12), draw.randrange(0, 9)
        case.options = replace(options, include_last_offset=False)
        case.bags(torch.tensor(ids(bags * size), dtype=torch.int64).view(bags, size), None, index)
    else:
        count = draw.randrange(0, 60)
        offsets = [0, *sorted(draw.randrange(0, count + 1) for _ in range(draw.randrange(0, 12)))]
        case.bags(torch.tensor(ids(count), dtype=torch.int64), offsets, index)
    return case.with_samples() if mode != "max" and draw.random() < 0.5 else case


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_cases(first, place):
    for seed in range(first, first + 50):
        case = draw_case(seed)
        try:
            compare(place, case)
        except Exception as error:
            error.add_note(f"seed {seed}: {case.options}, {case.num_slots} slots, {case.dtype}")
            raise


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_many_sizes(mode, dtype, place):
    for include_last in (False, True):
        case = Case(Options(1000, 20, mode, padding_idx=7, include_last_offset=include_last), 300, dtype)
        compare(place, case.bags(torch.tensor(IDS), OFFSETS, torch.int32))


@pytest.mark.parametrize("bags", [3, 70_000])
def test_few_and_many_groups(bags, place):
    """Threads for each row, and ids for each group of threads, follow from how many there are."""
    case = Case(Options(5000, 8, "mean", "mix64", 3, True), 4001, torch.float64)
    compare(place, case.bags(torch.randint(0, 5000, (bags, 3), generator=case.random)).with_samples())


def test_one_long_bag(place):
    case = Case(Options(300, 130, "mean", padding_idx=3), 10_007, torch.float64)
    ids = torch.randint(0, 300, (5000,), generator=case.random)
    compare(place, case.bags(ids, [0, 0, 4990]).with_samples())


@pytest.mark.parametrize("hash", ["reference", "mix64"])
@pytest.mark.parametrize(("block", "num_slots"), [(1, 1), (1, 4801), (3, 2), (8, 5), (7, 1000), (2**63 - 1, 5)])
def test_slots(hash, block, num_slots, place):
    """Slot and sign of every element, also where the sum of the reference hash wraps."""
    layout = HashedLayout(hash, 77 if hash == "mix64" else 0, hash == "mix64", block, 45, num_slots)
    edge = last_row_without_wrap(-(-45 // block))
    rows = torch.tensor([0, 1, 11922, 11923, edge - 1, edge, edge + 1, 2**31, 2**40, 2**62, 2**63 - 2])
    options = Options(2**63 - 1, 45, "sum", hash, layout.seed, layout.signs, block)
    weight = torch.arange(1, num_slots + 1, dtype=torch.float64)
    got, _ = place.call("", *arguments(weight, rows.unsqueeze(1), None, None, options))
    assert torch.equal(got.long(), expected_codes(rows, layout))


@pytest.mark.parametrize("num_slots", [2**30 - 1, 2**30, 2**31 - 1, 2**31, 2**32 + 15])
@pytest.mark.parametrize(("hash", "signs"), [("reference", False), ("mix64", True)])
@pytest.mark.usefixtures("host_library")
def test_buffers_of_more_slots_than_31_bits_count(hash, signs, num_slots):
    """Of zeros, which take no memory until they are written."""
    case = Case(Options(2**63 - 1, 17, "max", hash, 9 * signs, signs, 3), 1, torch.float16)
    case.weight = torch.from_numpy(np.zeros(num_slots, np.float16))
    edge = last_row_without_wrap(6)
    case.bags(torch.tensor([0, 1, 12345, edge, edge + 1, 2**62]).unsqueeze(1))
    want, got = op("")(*case.forward())[1], HostPlace().call("", *case.forward())[1]
    assert got.dtype == want.dtype
    assert torch.equal(got, want)
    case.options = replace(case.options, mode="sum")
    given = case.sample_gradient(case.gradient())
    assert torch.equal(HostPlace().call("_sample_gradient", *given), op("_sample_gradient")(*given))


def test_nan_wins_and_of_equals_the_first(place):
    case = Case(Options(2, 3, "max"), 6, torch.float32)
    case.bags(torch.tensor([[0, 1], [1, 0], [0, 0]]))
    for numbers in ([1.0] * 6, [math.nan] * 6, [1, math.nan, 2, -0.0, 0.0, -math.inf]):
        case.weight = torch.tensor(numbers)
        compare(place, case)


def test_winners_are_left_out_where_nobody_wants_them(place):
    case = Case(Options(50, 3, "max"), 6, torch.float32).bags(torch.tensor([[0, 1], [1, 0]]))
    output, winners = place.call("", *case.forward()[:-1], False)
    assert winners.shape == (0, 3)
    same(output, op("")(*case.forward())[0])


# --- gradients --------------------------------------------------------------------------------------------------------


def crowd(mode: str = "sum", dtype: torch.dtype = torch.float32) -> Case:
    """Many contributions to few slots, of very different sizes."""
    case = Case(Options(40, 16, mode, "mix64", 5, True), 23, dtype)
    case.bags(torch.randint(0, 40, (60, 4), generator=case.random))
    return case.with_samples() if mode != "max" else case


def gradients(place: Place, case: Case, grad: Tensor) -> Tensor:
    if case.options.mode != "max":
        return place.call("_backward", *case.backward(grad))
    _, winners = op("")(*case.forward())
    return place.call("_max_backward", grad, winners, case.num_slots, case.options.signs)


def uneven(case: Case) -> Tensor:
    powers = torch.randint(-30 if case.dtype != torch.float16 else -6, 6, (case.num_bags, 16), generator=case.random)
    return case.gradient() * torch.tensor(2.0, dtype=torch.float64).pow(powers).to(case.dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_where_determinism_is_asked_for_the_order_of_threads_does_not_matter(mode, dtype, place):
    case = crowd(mode, dtype)
    grad = uneven(case)
    with deterministic():
        results = [bits(gradients(place, case, grad)) for _ in place.orders()]
    assert results[1:] == results[:-1]


@pytest.mark.usefixtures("host_library")
def test_by_default_it_does():
    """Else the orders above would show nothing."""
    place, case = HostPlace(), crowd()
    grad = uneven(case)
    results = [bits(gradients(place, case, grad)) for _ in place.orders()]
    assert len(set(map(tuple, results))) == len(ORDERS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_deterministic_sums_are_rounded_once(dtype, place):
    """To the type's own precision, whatever other slots receive."""
    case = crowd(dtype=dtype)
    case.samples = None
    grad = uneven(case)
    tiny = torch.tensor(2.0, dtype=torch.float64).pow(-100).to(dtype)
    grad[30:] *= tiny
    layout = HashedLayout("mix64", 5, True, 1, 16, 23)
    received: list[list[float]] = [[] for _ in range(23)]
    for ids, row in zip(case.ids, grad.tolist(), strict=True):
        for code in expected_codes(ids, layout).tolist():
            for signed, value in zip(code, row, strict=True):
                received[abs(signed) - 1].append(math.copysign(value, value * signed) if value else 0.0)
    want = torch.tensor([math.fsum(values) for values in received], dtype=torch.float64)
    with deterministic():
        got = gradients(place, case, grad).double()
    half_unit = torch.finfo(dtype).eps / 2
    most = torch.tensor([max(map(abs, values)) for values in received], dtype=torch.float64)
    assert ((got - want).abs() <= half_unit * want.abs() + 2.0**-12 * half_unit * most).all()


def max_gradient(place: Place, values: list[float], slots: list[int], num_slots: int, dtype: torch.dtype) -> Tensor:
    given = (torch.tensor([values], dtype=dtype), torch.tensor([slots], dtype=torch.int32), num_slots, False)
    with deterministic():
        results = [place.call("_max_backward", *given) for _ in place.orders()]
    assert bits(results[0]) == bits(results[1]) == bits(results[2])
    same(results[0], op("_max_backward")(*given))
    return results[0]


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_numbers_that_are_not_finite_reach_their_slots_alone(dtype, place):
    inf, nan = math.inf, math.nan
    values = [1.0, inf, 2.0, -inf, inf, -inf, 3.0, nan, nan, inf, -nan, 0.5, 0.25]
    slots = [0, 1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 0, 7]
    got = max_gradient(place, values, slots, 9, dtype)
    same(got, torch.tensor([1.5, inf, -inf, nan, nan, nan, nan, 0.25, 0.0], dtype=dtype))


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_numbers_at_the_ends_of_the_range(dtype, place):
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps
    values = [smallest, smallest, -smallest, 0.0, -0.0, info.max, info.smallest_normal, -smallest, info.max, info.max]
    slots = [0, 0, 1, 2, 3, 4, 5, 5, 6, 6]
    got = max_gradient(place, values, slots, 7, dtype)
    assert got[0] == 2 * smallest
    assert got[4] == info.max
    assert got[6] == math.inf


def test_not_finite_gradients_of_sums(place):
    case = Case(Options(40, 16, "mean", "mix64", 5, True), 400, torch.float32)
    case.bags(torch.randint(0, 40, (9, 2), generator=case.random)).with_samples()
    grad = case.gradient()
    grad[0, 3], grad[4, 1], grad[5, 1], grad[8, 0] = math.nan, math.inf, -math.inf, 3e38
    case.samples[8] = 1e5
    want = op("_backward")(*case.backward(grad))
    assert want.isnan().any()
    assert want.isinf().any()
    with deterministic():
        for _ in place.orders():
            close(place.call("_backward", *case.backward(grad)), want, 4.0)


@pytest.mark.parametrize("exact", [False, True])
def test_gradients_of_any_strides(exact, place):
    case = crowd()
    with deterministic(exact):
        for grad in (torch.ones(()).expand(60, 16), case.normal(16, 60).t(), case.normal(120, 32)[::2, 1::2]):
            for name, given in (("_backward", case.backward(grad)), ("_sample_gradient", case.sample_gradient(grad))):
                close(place.call(name, *given), op(name)(*given), 60.0)
            best = crowd("max")
            close(gradients(place, best, grad), gradients(place, best, grad.contiguous()), 60.0)


def test_inputs_of_any_strides(place):
    case = Case(Options(40, 5, "sum"), 61, torch.float64)
    case.bags(torch.randint(0, 40, (7, 20), generator=case.random)[:, ::2])
    case.weight = case.normal(122)[::2]
    case.samples = case.normal(10, 7).t()
    compare(place, case)
    case.bags(torch.randint(0, 40, (20,), generator=case.random)[::2])
    case.offsets = torch.tensor([0, 9, 3, 9, 7, 9])[::2]
    case.samples = case.normal(20)[::2]
    compare(place, case)


# --- wrong input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, 40, 2**40, -(2**63)])
@pytest.mark.usefixtures("host_library")
def test_an_id_out_of_range_is_met_before_anything_is_read(index):
    """On a GPU it ends in an assertion, as with torch's own ops, and no later call of that process works."""
    for mode in ("sum", "mean", "max"):
        case = Case(Options(40, 8, mode), 30, torch.float32).bags(torch.randint(0, 40, (4, 5)))
        case.ids[2, 3] = index
        grad = case.gradient()
        given = [("", case.forward())]
        if mode != "max":
            given += [("_backward", case.backward(grad)), ("_sample_gradient", case.sample_gradient(grad))]
        for name, of in given:
            with pytest.raises(IndexError, match=f"index {index} at position 13 is out of range: ids .* from 0 to 39"):
                HostPlace().call(name, *of)


@pytest.mark.parametrize("offsets", [[1, 2, 3], [0, 3, 2], [0, 1, 99], [0, -1, 3]])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.usefixtures("host_library")
def test_wrong_offsets_are_met(offsets, last):
    for mode in ("sum", "max"):
        case = Case(Options(40, 8, mode, include_last_offset=last), 30, torch.float32)
        case.bags(torch.arange(10), offsets)
        with pytest.raises(IndexError, match="start at 0, never fall and not pass the 10 ids: bag"):
            HostPlace().call("", *case.forward())


@pytest.mark.parametrize("code", [-2, 30, 2**31 - 1])
@pytest.mark.usefixtures("host_library")
def test_wrong_winners_are_met(code):
    winners = torch.tensor([[3, code]], dtype=torch.int32)
    for exact in (False, True):
        with deterministic(exact), pytest.raises(IndexError, match=f"winner {code} at position 1 is out of range"):
            HostPlace().call("_max_backward", torch.ones(1, 2), winners, 30, False)


@pytest.mark.usefixtures("host_library")
def test_what_the_host_can_see_is_refused_as_on_the_cpu():
    case = Case(Options(40, 8, "sum", include_last_offset=True), 30, torch.float32)
    for offsets, ids in (([], []), ([], [1])):
        case.bags(torch.tensor(ids, dtype=torch.int64), offsets)
        messages = []
        for call in (lambda *given: op("")(*given), lambda *given: HostPlace().call("", *given)):
            with pytest.raises(ValueError, match="and these are empty") as refused:
                call(*case.forward())
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
    case.options = Options(40, 8, "sum")
    with pytest.raises(ValueError, match="there are 1 indices and no bag"):
        HostPlace().call("", *case.forward())


@pytest.mark.usefixtures("host_library")
def test_where_there_is_nothing_to_do_nothing_is_launched():
    before = torch.ops.mirror.hashed_host_launches()
    for mode in ("sum", "mean", "max"):
        for shape in ((0, 4), (0, 0)):
            case = Case(Options(40, 8, mode, padding_idx=1), 30, torch.float32).bags(torch.empty(shape))
            for exact in (False, True):
                with deterministic(exact):
                    compare(HostPlace(), case)
    case = Case(Options(40, 8, "mean", padding_idx=1), 30, torch.float32).bags(torch.empty(3, 0))
    for exact in (False, True):
        with deterministic(exact):
            assert not HostPlace().call("_backward", *case.backward(case.gradient())).any()
            HostPlace().call("_sample_gradient", *case.sample_gradient(case.gradient()))
    assert torch.ops.mirror.hashed_host_launches() == before


# --- the modules ------------------------------------------------------------------------------------------------------


class DeviceKernels(TorchDispatchMode):
    """Below autograd, ops on CPU tensors take the kernels for CUDA."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name()
        if not name.startswith("mirror::hashed_embedding_bag"):
            return func(*args, **(kwargs or {}))
        self.called.add(name.removeprefix("mirror::hashed_embedding_bag"))
        return func.redispatch(CPU_CUDA, *args, **(kwargs or {}))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.usefixtures("host_library")
def test_modules_differentiate_through_the_kernels(mode):
    given = {"mode": mode, "hash": "mix64", "signs": True, "padding_idx": 2, "dtype": torch.float64}
    bag = HashedEmbeddingBag(50, 4, 0.2, **given)
    ids = torch.randint(0, 50, (5, 3), generator=torch.Generator().manual_seed(1))
    samples = torch.randn(5, 3, dtype=torch.float64, requires_grad=True) if mode != "max" else None

    def pooled(weight: Tensor, factors: Tensor | None) -> Tensor:
        return torch.func.functional_call(bag, {"hashed_weight": weight}, (ids, None, factors))

    def first_and_second() -> list[Tensor]:
        inputs = [bag.hashed_weight] if samples is None else [bag.hashed_weight, samples]
        output = pooled(bag.hashed_weight, samples)
        first = torch.autograd.grad(output.sin().sum(), inputs, create_graph=True)
        second = torch.autograd.grad(sum(x.cos().sum() for x in first), inputs)
        return [output, *first, *second]

    want = first_and_second()
    for exact in (False, True):
        kernels = DeviceKernels()
        with deterministic(exact), kernels:
            for got, other in zip(first_and_second(), want, strict=True):
                close(got, other, 10.0)
        assert kernels.called == ({"", "_max_backward"} if mode == "max" else {"", "_backward", "_sample_gradient"})


@pytest.mark.usefixtures("hashed_ops")
def test_outputs_are_where_the_buffer_is():
    with FakeTensorMode(), torch.no_grad():  # autograd asks for a GPU
        ids = torch.zeros(4, 5, dtype=torch.int64, device="cuda")
        for mode in ("sum", "mean", "max"):
            bag = HashedEmbeddingBag(1000, 16, mode=mode, _weight=torch.empty(99, device="cuda"))
            assert bag(ids).device.type == "cuda"
            with pytest.raises(ValueError, match="must be on one device"):
                bag(ids.cpu())
        words = HashedEmbedding(1000, 16, _weight=torch.empty(99, device="cuda"), padding_idx=0)
        assert words(ids).shape == (4, 5, 16)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.usefixtures("hashed_ops")
def test_a_step_can_be_captured_in_a_graph():
    bag = HashedEmbeddingBag(1000, 16, 0.1, "mean", device="cuda", padding_idx=2)
    ids = torch.randint(0, 1000, (64, 5), device="cuda")

    def step() -> tuple[Tensor, Tensor]:
        output = bag(ids)
        (gradient,) = torch.autograd.grad(output.square().sum(), bag.hashed_weight)
        return output, gradient

    for exact in (False, True):
        with deterministic(exact):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step()
            side.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                output, gradient = step()
            ids.copy_(torch.randint(0, 1000, (64, 5)))
            graph.replay()
            for got, want in zip((output, gradient), step(), strict=True):
                torch.testing.assert_close(got, want)
