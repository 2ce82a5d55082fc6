"""Calls of what gir has compiled, right after something has changed: in C++ and in Python, as the function has them."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend import toolchain, tuning
from bench_engine.kernels.native import extension
from tests.kernels.gir.children import holds_in_a_child, wait_for_the_end


@pytest.fixture(params=["C++", "Python"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who enters; kernels always win, one candidate is measured, and what is kept is for both."""
    real = toolchain.key
    monkeypatch.setattr(toolchain, "key", lambda *parts: real(*(part for part in parts if not isinstance(part, bool))))
    monkeypatch.setattr(tuning, "MEASURED", 1)
    monkeypatch.setattr(
        "bench_engine.kernels.gir.backend.tuning.measure", lambda calls: [call() is None for call in calls[:-1]] + [1e9]
    )
    if extension.python_module() is None:
        pytest.skip("csrc/python is not built: the headers of Python are missing")
    if request.param == "Python":
        monkeypatch.setattr(extension, "_python", None)
    return request.param


class Model(nn.Module):
    """A region with parameters, one beside a product of matrices, and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear, self.dropout = nn.LayerNorm(16), nn.Linear(16, 16), nn.Dropout(0.5)
        self.slope = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear(self.norm(x)).sigmoid() * self.slope)


class Doubles(TorchFunctionMode):
    """Looks on, and has something to say."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        return found * 2 if func is torch.Tensor.sigmoid else found


class Counts(TorchDispatchMode):
    """How many ops went by."""

    ops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops += 1
        return func(*args, **(kwargs or {}))


class Noisy(Tensor):
    """A tensor with ideas of its own."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = super().__torch_function__(func, types, args, kwargs or {})
        return found + 1 if func is torch.Tensor.sigmoid else found


def entered(fast: gir.Compiled, x: Tensor, way: str) -> None:
    """The next call is one that C++ gives, where there is any."""
    fast(x)
    assert way == "Python" or fast._enter(x) is not NotImplemented


def same(fast: Callable[..., Any], fn: Callable[..., Any], *args: Tensor) -> None:
    torch.manual_seed(0)
    found = fast(*args)
    torch.manual_seed(0)
    wanted = fn(*args)

    def facts(t: Tensor) -> tuple[Any, ...]:
        return type(t), t.stride(), t.requires_grad, t.is_inference()

    assert facts(found) == facts(wanted)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@contextmanager
def undone(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def default_type(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_place(model: Model) -> None:
    model.norm.weight.mul_(3)
    model.linear.bias.add_(1)


def data(model: Model) -> None:
    model.norm.weight.data = torch.rand(16)


def strided_data(model: Model) -> None:
    model.norm.weight.data = torch.rand(32)[::2]


def state(model: Model, assign: bool = False) -> None:
    model.load_state_dict(Model().state_dict() | {"norm.weight": torch.rand(16)}, assign=assign)


def parameter(model: Model) -> None:
    model.norm.weight = nn.Parameter(torch.rand(16))


def module(model: Model) -> None:
    model.norm = nn.LayerNorm(16, eps=1.0)


def attribute(model: Model) -> None:
    model.norm.eps = 1.0
    model.slope = 0.5


def other_norm(model: Model) -> None:
    model.norm.forward = lambda x: x * 2


CHANGES: dict[str, Callable[[Model], Any]] = {
    "in place": in_place,
    "data": data,
    "data with other strides": strided_data,
    "load_state_dict": state,
    "load_state_dict, assigned": lambda model: state(model, assign=True),
    "a new parameter": parameter,
    "a new module": module,
    "attributes": attribute,
    "a forward of its own": other_norm,
    "training": nn.Module.train,
    "training of a part": lambda model: model.dropout.train(),
    "no gradient for parameters": lambda model: model.requires_grad_(False) and torch.enable_grad(),
    "gradients": lambda model: torch.enable_grad(),
    "inference": lambda model: torch.inference_mode(),
    "autocast": lambda model: torch.autocast("cpu", torch.bfloat16),
    "default type": lambda model: default_type(torch.float64),
    "threads": lambda model: threads(2),
    "a hook": lambda model: undone(model.norm.register_forward_hook(lambda *_: torch.ones(64, 16))),
    "a hook of all modules": lambda model: undone(register_module_forward_hook(lambda m, a, out: out * 2)),
    "a mode of functions": lambda model: Doubles(),
    "nothing": lambda model: None,
}


CLOSED_OVER = ("data", "a new parameter", "training of a part", "a hook")


@pytest.mark.parametrize(
    ("change", "closed_over"), [*((change, False) for change in CHANGES), *((change, True) for change in CLOSED_OVER)]
)
def test_the_next_call_is_right(change: str, closed_over: bool, way: str) -> None:
    torch.manual_seed(1)
    model, x = Model().eval(), torch.randn(64, 16)
    fast = gir.compile((lambda x: model(x)) if closed_over else model, [x])
    with torch.no_grad():
        entered(fast, x, way)
        around = CHANGES[change](model)
        with around if isinstance(around, AbstractContextManager) else nullcontext():
            same(fast, model, x)
            same(fast, model, x * 2)
        same(fast, model, x)


INPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x[:7],
    "one row": lambda x: x[:1],
    "no rows": lambda x: x[:0],
    "many rows": lambda x: torch.cat([x] * 9),
    "other strides": lambda x: x.t().contiguous().t(),
    "every second row": lambda x: x[::2],
    "the same row": lambda x: x[:1].expand(64, 16),
    "rows that overlap": lambda x: x.flatten().as_strided((64, 16), (3, 1)),
    "misaligned": lambda x: x.flatten()[3:-13].view(63, 16),
    "more dimensions": lambda x: x.view(4, 16, 16),
    "one dimension": lambda x: x[0],
    "float64": lambda x: x.double(),
    "a parameter": nn.Parameter,
    "of inference": lambda x: torch.inference_mode()(lambda: x + 1)(),
    "a subclass": lambda x: x.as_subclass(Noisy),
    "negated": lambda x: torch._neg_view(x),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_other_inputs(kind: str, way: str) -> None:
    x = torch.randn(64, 16)

    def fn(x: Tensor) -> Tensor:
        return x.sigmoid() * 2

    fast = gir.compile(fn, [x])
    with torch.no_grad():
        entered(fast, x, way)
        same(fast, fn, INPUTS[kind](x))
        same(fast, fn, x)
    same(fast, fn, INPUTS[kind](x.requires_grad_()))


def test_who_looks_on_sees_the_ops(way: str) -> None:
    x = torch.randn(64, 16)
    fast = gir.compile(torch.sigmoid, [x])
    entered(fast, x, way)
    with Counts() as counts:
        same(fast, torch.sigmoid, x)
    assert counts.ops > 1
    same(torch.vmap(fast), torch.vmap(torch.sigmoid), x)
    traced = torch.jit.trace(lambda x: fast(x), x, check_trace=False)
    same(traced, torch.sigmoid, x + 1)


SCALE = 2.0


def scaled(x: Tensor) -> Tensor:
    return inner(x) * SCALE


def inner(x: Tensor) -> Tensor:
    return (x * WEIGHT).sigmoid()


WEIGHT = torch.ones(16)


def test_globals_and_closures(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    x = torch.randn(64, 16)
    weight = torch.ones(16)

    def closed(x: Tensor) -> Tensor:
        return (x * weight).sigmoid()

    fast, fast_closed = gir.compile(scaled, [x]), gir.compile(closed, [x])
    entered(fast, x, way)
    entered(fast_closed, x, way)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    same(fast, scaled, x)
    monkeypatch.setitem(globals(), "WEIGHT", torch.rand(16))
    same(fast, scaled, x)
    weight = torch.rand(16)
    same(fast_closed, closed, x)
    weight.requires_grad_()
    same(fast_closed, closed, x)


def test_states_that_come_back_are_captured_once_and_many_run_as_they_are(way: str) -> None:
    model, x = Model().eval(), torch.randn(64, 16)
    fast = gir.compile(model, [x])
    with torch.no_grad():
        for _ in range(2):
            model.train()
            same(fast, model, x)
            model.eval()
            same(fast, model, x)
        assert len(fast.graphs) == 2
        for step in range(9):
            model.step = step
            same(fast, model, x)
    assert len(fast.graphs) <= 8


def test_values_of_parameters_are_not_kept(way: str) -> None:
    x, weight = torch.randn(64, 16), torch.ones(1)
    for fn in (lambda x: x.sigmoid() * weight.item(), lambda x: x.sigmoid() if weight > 2 else x.tanh()):
        fast = gir.compile(fn, [x])
        for value in (1.0, 3.0):
            weight.fill_(value)
            same(fast, fn, x)


def test_an_index_out_of_range_is_torchs_error_and_the_next_call_is_right(way: str) -> None:
    table, ids = torch.randn(10, 16), torch.randint(0, 10, (64, 4))

    def fn(ids: Tensor) -> Tensor:
        return F.embedding_bag(ids, table, mode="sum").sigmoid()

    fast = gir.compile(fn, [ids])
    entered(fast, ids, way)
    before = ids[3, 2].item()
    ids[3, 2] = 10
    with pytest.raises((IndexError, RuntimeError), match="10"):
        fast(ids)
    ids[3, 2] = before
    same(fast, fn, ids)
    with pytest.raises(TypeError):
        fast()
    with pytest.raises(TypeError):
        fast(ids, ids)
    same(fast, fn, ids)


def test_results_stay_when_others_come(way: str) -> None:
    x, y = torch.randn(64, 16), torch.randn(64, 16)

    def fn(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sigmoid() * 2, (x + 1).tanh()

    fast = gir.compile(fn, [x])
    first, second = fast(x), fast(y)
    assert type(first) is tuple
    assert len({t.data_ptr() for t in (*first, *second)}) == 4
    torch.testing.assert_close((first, second), (fn(x), fn(y)))
    first[0].add_(1)  # is the caller's own
    torch.testing.assert_close(fast(x), fn(x))


def test_inputs_that_share_memory_and_are_written_to(way: str) -> None:
    base = torch.randn(65, 16)

    def fn(a: Tensor, b: Tensor) -> Tensor:
        return (a + b).sigmoid()

    fast = gir.compile(fn, [base[:-1], base[1:]])
    same(fast, fn, base[:-1], base[1:])
    base.mul_(2)
    same(fast, fn, base[:-1], base[1:])
    same(fast, fn, base[:-1], base[:-1])
    base[:-1].copy_(fast(base[:-1], base[1:]))
    same(fast, fn, base[:-1], base[1:])


# On one thread: a child whose parent's OpenMP had more may wait for them in torch's own ops.
@threads(1)
def test_a_child_and_threads_that_change_the_model(way: str) -> None:
    torch.manual_seed(2)
    model, x = Model().eval(), torch.randn(64, 16)
    model.requires_grad_(False)
    fast, weights = gir.compile(model, [x]), [nn.Parameter(torch.full((16,), float(n)), False) for n in range(3)]
    wanted = []
    for weight in weights:
        model.norm.weight = weight
        wanted.append(model(x))
    found: list[bool] = []

    def calls() -> None:
        for _ in range(50):
            result = fast(x)
            found.append(any(torch.allclose(result, one, atol=1e-5) for one in wanted))

    several = [threading.Thread(target=calls) for _ in range(3)]
    for thread in several:
        thread.start()
    for n in range(60):
        model.norm.weight = weights[n % 3]
    for thread in several:
        thread.join()
    wait_for_the_end(several)
    assert found == [True] * 150
    assert holds_in_a_child(lambda: torch.allclose(fast(x), wanted[2], atol=1e-5))


def test_a_model_that_leads_to_what_compiled_it_is_freed(way: str) -> None:
    model, x = Model().eval(), torch.randn(64, 16)
    model.fast = gir.compile(model, [x])
    with torch.no_grad():
        same(model.fast, model, x)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_torch_compile_enters_in_the_same_way(way: str) -> None:
    x = torch.randn(64, 16)
    model = Model().eval()
    fast = torch.compile(model, backend="gir")
    with torch.no_grad():
        same(fast, model, x)
        for change in (in_place, data, parameter, nn.Module.train):
            change(model)
            same(fast, model, x)
    model.eval()
    same(fast, model, x)
    fast(x).sum().backward()
    found = model.norm.weight.grad
    model.zero_grad()
    model(x).sum().backward()
    torch.testing.assert_close(found, model.norm.weight.grad)


MODEL = nn.Sequential(nn.Dropout(0.5), nn.Softmax(-1)).eval()
BOUND = MODEL.forward


@torch.no_grad()
def predict(x: Tensor) -> Tensor:
    return MODEL(x)


class Calls(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return BOUND(x)


@pytest.mark.parametrize("fn", [predict, lambda x: BOUND(x), Calls()], ids=["decorated", "bound", "within"])
def test_what_a_decorated_function_or_a_bound_method_reads_is_watched(way: str, fn: Callable[..., Any]) -> None:
    x = torch.randn(64, 16)
    MODEL.eval()
    fast = gir.compile(fn, [x])
    with torch.no_grad():
        entered(fast, x, way)
        MODEL.train()
        same(fast, fn, x)


class Parts(nn.Module):
    sizes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sizes", torch.tensor([2, 3]))

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.split(self.sizes.tolist(), 1)
        return torch.cat([b.exp(), a.exp()], 1)


def test_values_that_a_list_was_made_of_are_not_kept(way: str) -> None:
    model, x = Parts().eval(), torch.randn(8, 5)
    fast = gir.compile(model, [x])
    with torch.no_grad():
        same(fast, model, x)
        model.sizes.copy_(torch.tensor([4, 1]))
        same(fast, model, x)


class Out(NamedTuple):
    wide: Tensor
    narrow: Tensor


def test_a_named_tuple_stays_one(way: str) -> None:
    x = torch.randn(64, 16)
    fast = gir.compile(lambda x: Out(x.exp() * 2, x.exp().tanh()), [x])
    for _ in range(3):
        assert type(fast(x)) is Out
