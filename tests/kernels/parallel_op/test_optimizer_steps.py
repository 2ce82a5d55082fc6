"""One op in the place of torch's own updates: weights and state have the very bits that torch's step leaves."""

import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, SparseAdam

from bench_engine.kernels.parallel_op.entry import optimizer_step
from bench_engine.kernels.parallel_op.settings import Settings

SHAPES = ((19, 16), (23, 5), (300, 8), (7, 33))
SPARSE = [(SGD, {}), (SGD, {"maximize": True}), (Adagrad, {"lr_decay": 0.1}), (Adagrad, {"maximize": True, "eps": 0}),
          (SparseAdam, {}), (SparseAdam, {"betas": (0.8, 0.9), "maximize": True})]  # fmt: skip
DENSE = [(SGD, {}), (SGD, {"maximize": True}), (SGD, {"lr": 0}), (SGD, {"weight_decay": 0.1}),
         (SGD, {"momentum": 0.9}), (SGD, {"momentum": 0.9, "dampening": 0.3, "maximize": True}),
         (SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}), (Adagrad, {}),
         (Adagrad, {"lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.3}),
         (Adagrad, {"maximize": True})]  # fmt: skip


@pytest.fixture
def one_update(grouped_ops: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Updates as one op, at every step; lists the rules of those that were done."""
    done: list[str] = []
    settings = Settings(cache_dir=None)
    optimizer_step.install(settings)

    def always(self: Any, kind: Any, lists: Any, options: Any) -> None:
        untouched: list[int] = []
        original, self.original = self.original, lambda *a, **o: untouched.append(len(a[0])) or original(*a, **o)
        try:
            step(self, kind, lists, options)
        finally:
            self.original = original
        if sum(untouched) < len(lists[0]):
            done.append(self.rule.name)

    step = optimizer_step._Standing._one_update
    monkeypatch.setattr(optimizer_step._Standing, "_one_update", always)
    monkeypatch.setattr(optimizer_step, "_turn", lambda key: 0)
    yield done
    optimizer_step.uninstall()


def tables(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    draw = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=draw, dtype=dtype)) for shape in SHAPES]


def give(parameters: list[nn.Parameter], sparse: bool, seed: int) -> None:
    """Gradients as a backward pass leaves them: a sparse one has ids several times."""
    draw = torch.Generator().manual_seed(seed)
    for weight in parameters:
        rows, dim = weight.shape
        if sparse:
            ids = torch.randint(0, rows, (1, 40), generator=draw)
            values = torch.randn(40, dim, generator=draw, dtype=weight.dtype)
            weight.grad = torch.sparse_coo_tensor(ids, values, (rows, dim), check_invariants=False)
        else:
            weight.grad = torch.randn(rows, dim, generator=draw, dtype=weight.dtype)


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, Tensor):
        same = found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
        return same and torch.equal(found.nan_to_num(nan=12.5), expected.nan_to_num(nan=12.5))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    return bool(found == expected) and type(found) is type(expected)


def same(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    assert alike([w.detach() for w in ours[0]], [w.detach() for w in theirs[0]])
    assert alike(ours[1].state_dict(), theirs[1].state_dict())


def made(kind: Any, options: dict[str, Any], dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    parameters = tables(dtype)
    return parameters, kind(parameters, **({"lr": 0.03} | options))


def untouched_step(optimizer: Any, closure: Any = None) -> Any:
    """torch's own step, while the op stands in its place for others."""
    optimizer_step.pause(True)
    try:
        return optimizer.step(closure)
    finally:
        optimizer_step.pause(False)


CASES = [(*case, True) for case in SPARSE] + [(*case, False) for case in DENSE]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "options", "sparse"), CASES)
def test_many_steps_leave_the_same_bits(one_update, kind, options, sparse, dtype):
    ours, theirs = made(kind, options, dtype), made(kind, options, dtype)
    for seed in range(12):
        for parameters, _ in (ours, theirs):
            give(parameters, sparse, seed)
        ours[1].step()
        untouched_step(theirs[1])
        same(ours, theirs)
    assert len(one_update) == 12


@pytest.mark.parametrize(("kind", "sparse"), [(SGD, True), (SGD, False), (Adagrad, True), (Adagrad, False),
                                              (SparseAdam, True)])  # fmt: skip
def test_infinities_nan_and_signed_zeros(one_update, kind, sparse):
    ours, theirs = made(kind, {}), made(kind, {})
    for seed in range(4):
        for parameters, _ in (ours, theirs):
            give(parameters, sparse, seed)
            values = parameters[seed].grad._values() if sparse else parameters[seed].grad
            values[0, :4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
            values[1, :4] = torch.tensor([0.0, 1e-42, 3e38, -1e-30])
        ours[1].step()
        untouched_step(theirs[1])
        same(ours, theirs)
    assert one_update


@pytest.mark.parametrize(("kind", "sparse"), [(SGD, True), (SGD, False), (Adagrad, True), (Adagrad, False),
                                              (SparseAdam, True)])  # fmt: skip
def test_large_tables_on_several_threads(one_update, kind, sparse):
    def large() -> tuple[Any, Any]:
        draw = torch.Generator().manual_seed(3)
        parameters = [nn.Parameter(torch.randn(rows, 16, generator=draw)) for rows in (9_000, 3, 12_345)]
        return parameters, kind(parameters, lr=0.03)

    ours, theirs = large(), large()
    for seed in range(3):
        for parameters, _ in (ours, theirs):
            draw = torch.Generator().manual_seed(seed)
            for weight in parameters:
                if sparse:
                    ids = torch.randint(0, weight.size(0), (1, 40_000), generator=draw)
                    values = torch.randn(40_000, 16, generator=draw)
                    weight.grad = torch.sparse_coo_tensor(ids, values, weight.shape, check_invariants=False)
                else:
                    weight.grad = torch.randn(weight.shape, generator=draw)
        ours[1].step()
        untouched_step(theirs[1])
        same(ours, theirs)
    assert len(one_update) == 3


def test_groups_missing_gradients_and_clipping(one_update):
    def grouped() -> tuple[Any, Any]:
        parameters = tables()
        return parameters, SGD([{"params": parameters[:2], "lr": 0.1}, {"params": parameters[2:], "momentum": 0.5}],
                               lr=0.03)  # fmt: skip

    ours, theirs = grouped(), grouped()
    for seed in range(6):
        for parameters, optimizer in (ours, theirs):
            optimizer.zero_grad(set_to_none=seed % 2 == 0)
            give(parameters, False, seed)
            if seed > 3:
                parameters[seed % 4].grad = None
            nn.utils.clip_grad_norm_(parameters, 0.5)
            parameters[0].grad = None if parameters[0].grad is None else parameters[0].grad + 1
        ours[1].step()
        untouched_step(theirs[1])
        same(ours, theirs)
    assert one_update


def test_a_state_that_is_loaded_copied_or_pickled(one_update):
    for kind, sparse in ((Adagrad, False), (SparseAdam, True)):
        ours, theirs = made(kind, {}), made(kind, {})
        for seed in range(8):
            for parameters, _ in (ours, theirs):
                give(parameters, sparse, seed)
            ours[1].step()
            untouched_step(theirs[1])
            if seed == 2:
                saved = copy.deepcopy(ours[1].state_dict())
                ours = (ours[0], kind(ours[0], lr=0.5))
                ours[1].load_state_dict(saved)
            elif seed == 4:
                ours = copy.deepcopy(ours)
            elif seed == 6:
                ours = pickle.loads(pickle.dumps(ours))
            same(ours, theirs)


def test_closures_hooks_schedulers_and_scalers(one_update):
    ours, theirs = made(SGD, {}), made(SGD, {})
    seen: list[str] = []
    ours[1].register_step_pre_hook(lambda *_: seen.append("before"))
    ours[1].register_step_post_hook(lambda *_: seen.append("after"))
    schedules = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7) for _, optimizer in (ours, theirs)]
    scalers = [torch.amp.GradScaler("cpu", init_scale=8.0) for _ in schedules]
    for seed in range(5):
        for (parameters, optimizer), scaler in zip((ours, theirs), scalers, strict=True):
            give(parameters, False, seed)
            if seed == 3:
                parameters[0].grad[0, 0] = float("inf")
            scaler.scale(torch.ones(()))
            step = optimizer.step
            if optimizer is theirs[1]:
                optimizer.step = lambda *a, o=step: untouched_step(type("", (), {"step": staticmethod(o)}))
            scaler.step(optimizer)
            optimizer.step = step
            scaler.update()
        for schedule in schedules:
            schedule.step()
        same(ours, theirs)

    def closure() -> Tensor:
        give(ours[0], False, 9)
        return torch.tensor(4.0)

    assert ours[1].step(closure) == 4.0
    give(theirs[0], False, 9)
    untouched_step(theirs[1])
    same(ours, theirs)
    assert seen == ["before", "after"] * 5
    assert len(one_update) == 5


def test_what_is_left_to_torch(one_update):
    shared = torch.randn(8, 4)
    half = nn.Parameter(torch.randn(6, 4, dtype=torch.bfloat16))
    turned = nn.Parameter(torch.randn(4, 6).t())
    cases = {
        "half precision and a transposed weight": ([half, turned, *tables()], True),
        "one memory": ([nn.Parameter(shared), nn.Parameter(shared[2:])], False),
        "a class of its own": ([nn.parameter.Buffer(torch.randn(3, 3)), *tables()], True),
    }
    for name, (parameters, some) in cases.items():
        one_update.clear()
        expected = [weight.detach().clone() for weight in parameters]
        for weight in parameters:
            weight.grad = torch.randn_like(weight)
        if name == "one memory":
            shared_copy = shared.clone()
            expected = [shared_copy, shared_copy[2:]]
        for weight, copied in zip(parameters, expected, strict=True):
            copied.add_(weight.grad, alpha=-0.1)
        SGD(parameters, lr=0.1).step()
        assert alike([weight.detach() for weight in parameters], expected), name
        assert bool(one_update) is some, name


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"lr": torch.tensor(0.1)}])
def test_options_that_are_torchs_own(one_update, options):
    parameters, optimizer = made(SGD, options)
    give(parameters, False, 0)
    optimizer.step()
    assert not one_update


def test_errors_are_torchs_own(one_update):
    parameters, optimizer = made(SGD, {"differentiable": True})
    give(parameters, False, 0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        optimizer.step()
    parameters, optimizer = made(Adagrad, {"weight_decay": 0.1})
    give(parameters, True, 0)
    before = [weight.detach().clone() for weight in parameters]
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        optimizer.step()
    assert alike([weight.detach() for weight in parameters], before)
    parameters, optimizer = made(SparseAdam, {})
    give(parameters, False, 0)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optimizer.step()


def test_an_optimizer_with_a_step_of_its_own_is_left_alone(one_update):
    class Mine(SGD):
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for weight in group["params"]:
                    weight.data.sub_(1)

    parameters = tables()
    before = [weight.detach().clone() for weight in parameters]
    give(parameters, False, 0)
    Mine(parameters, lr=0.1).step()
    assert alike([weight.detach() for weight in parameters], [weight - 1 for weight in before])
    assert not one_update


def test_versions_tell_autograd_of_the_update(one_update):
    parameters, optimizer = made(SGD, {})
    loss = sum((weight * weight).sum() for weight in parameters)
    give(parameters, False, 0)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_threads_with_an_optimizer_each(one_update):
    pairs = [(made(SparseAdam, {}), made(SparseAdam, {})) for _ in range(2)]

    def train(ours: Any) -> None:
        for seed in range(30):
            give(ours[0], True, seed)
            ours[1].step()

    threads = [threading.Thread(target=train, args=(ours,)) for ours, _ in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ours, theirs in pairs:
        for seed in range(30):
            give(theirs[0], True, seed)
            untouched_step(theirs[1])
        same(ours, theirs)


def test_turns_are_taken_and_told(grouped_ops, tmp_path):
    optimizer_step.install(Settings(cache_dir=tmp_path))
    try:
        ours, theirs = made(Adagrad, {}), made(Adagrad, {})
        for seed in range(80):
            for parameters, _ in (ours, theirs):
                give(parameters, False, seed)
            ours[1].step()
            untouched_step(theirs[1])
        same(ours, theirs)
        told = "\n".join(optimizer_step.report_lines())
        assert all(word in told for word in ("Adagrad", "one update", "untouched"))
    finally:
        optimizer_step.uninstall()


def test_off_means_torchs_own_functions_again(grouped_ops):
    names = [("torch.optim.sgd", "sgd"), ("torch.optim.adagrad", "adagrad"), ("torch.optim._functional", "sparse_adam")]
    modules = [__import__(module, fromlist=[""]) for module, _ in names]
    before = [getattr(module, name) for module, (_, name) in zip(modules, names, strict=True)]
    optimizer_step.install(Settings(cache_dir=None, ops=frozenset({"optim.sgd", "optim.adagrad"})))
    during = [getattr(module, name) for module, (_, name) in zip(modules, names, strict=True)]
    assert [a is b for a, b in zip(before, during, strict=True)] == [False, False, True]
    optimizer_step.uninstall()
    assert [getattr(module, name) for module, (_, name) in zip(modules, names, strict=True)] == before


def test_it_is_tried_with_gradients_of_the_scripts_kind_alone(one_update, monkeypatch):
    """torch warns, once, where an optimizer makes a sparse tensor."""
    tried: list[bool] = []
    same_bits = optimizer_step._same

    def noted(rule: Any, original: Any, sparse: bool, *rest: Any) -> bool:
        tried.append(sparse)
        return same_bits(rule, original, sparse, *rest)

    monkeypatch.setattr(optimizer_step, "_same", noted)
    parameters, optimizer = made(Adagrad, {})
    for sparse, so_far in ((False, [False] * 2), (True, [False] * 2 + [True] * 2), (False, [False] * 2 + [True] * 2)):
        give(parameters, sparse, 0)
        optimizer.step()
        assert tried == so_far
    assert len(one_update) == 3
