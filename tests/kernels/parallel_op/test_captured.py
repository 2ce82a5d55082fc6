"""Graphs entered past Dynamo's guards: calls that they give, and all that must send a call back to the guards."""

import gc
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench_engine.kernels.parallel_op.entry import captured, dynamo_call
from bench_engine.kernels.parallel_op.entry.turns import Turns
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.served_models import ROWS, Lists, Mixed, alike, mixed_ids

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]

factor = 2.0


@pytest.fixture(autouse=True)
def _fresh():
    if not captured.can_capture():
        pytest.skip("this Python does not tell of changed dictionaries")
    torch._dynamo.reset()


def entered(model: nn.Module):
    """Its calls compiled, without turns."""
    way = dynamo_call.compiled(Settings(), Turns(model, lambda *_: None), (False, False, True)).call
    return way, lambda *args, **kwargs: way(model, *args, **kwargs)


def ids(batch: int = 4, tables: int = 3) -> list[torch.Tensor]:
    return [torch.randint(0, ROWS, (batch, 2)) for _ in range(tables)]


class Bags(nn.Module):
    """Three bags, and something that a forward makes of them."""

    def __init__(self, last=lambda model, found: found) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(3))
        self.last, self.scales, self.scale, self.calls = last, [1.0, 2.0], 1.0, 0

    def forward(self, ids, scale=1.0):
        return self.last(self, [scale * table(i) for table, i in zip(self.tables, ids, strict=True)])


def test_calls_go_past_the_guards():
    model = Mixed()
    way, call = entered(model)
    for _ in range(6):
        assert alike(call(mixed_ids()), model(mixed_ids()))
    assert way.calls >= 4


def test_sizes_of_all_kinds():
    model = Bags(lambda model, found: {"joined": torch.cat(found, 1), "first": (found[0], 3, None)})
    way, call = entered(model)
    for batch in (3, 5, 7, 5, 7, 3, 1, 7, 5, 3):
        given = ids(batch)
        found, expected = call(given), model(given)
        assert alike(found["joined"], expected["joined"])
        assert alike(found["first"][0], expected["first"][0])
        assert found["first"][1:] == (3, None)
        assert list(found) == list(expected)
    assert way.calls > 2


def test_arguments_by_name_and_numbers():
    model = Bags()
    way, call = entered(model)
    given = ids()
    for scale in (1.0, 1.0, 2.0, 2.0, 3, 3, True):
        assert alike(call(given, scale=scale), model(given, scale=scale))
    model = Lists()
    way, call = entered(model)
    weights = {str(k): torch.rand(8) for k in range(3)}
    flat = [one.flatten() for one in ids()]
    offsets = torch.arange(0, 8, 2).expand(3, 4).contiguous()
    for _ in range(5):
        assert alike(call(offsets, ids=flat, weights=weights), model(offsets, ids=flat, weights=weights))
    assert way.calls >= 3
    for change in (flat, weights):
        change[next(iter(change)) if isinstance(change, dict) else 0] = (
            torch.rand(8) if isinstance(change, dict) else flat[1]
        )
        assert alike(call(offsets, ids=flat, weights=weights), model(offsets, ids=flat, weights=weights))


CHANGES = {
    "a constant": lambda model, patch: setattr(model, "scale", 3.0),
    "a global": lambda model, patch: patch.setitem(globals(), "factor", 5.0),
    "a function": lambda model, patch: patch.setattr(F, "relu", torch.neg),
    "code": lambda model, patch: patch.setattr(helper, "__code__", (lambda x, times=2.0: x - times).__code__),
    "a default": lambda model, patch: patch.setattr(helper, "__defaults__", (7.0,)),
    "a method": lambda model, patch: patch.setattr(
        nn.EmbeddingBag, "forward", lambda self, ids: self.weight[ids[:, 0]]
    ),
    "another parameter": lambda model, patch: setattr(model.tables[1], "weight", nn.Parameter(torch.ones(ROWS, 4))),
    "another size": lambda model, patch: setattr(model.tables[1].weight, "data", torch.ones(ROWS, 6)),
    "a class": lambda model, patch: setattr(model.tables[1], "__class__", Louder),
    "a dictionary": lambda model, patch: setattr(
        model.tables[1], "__dict__", {**model.tables[1].__dict__, "mode": "mean"}
    ),
    "a table": lambda model, patch: model.tables.append(nn.EmbeddingBag(ROWS, 4)),
    "a hook": lambda model, patch: model.tables[2].register_forward_hook(lambda module, args, output: 2 * output),
}


class Louder(nn.EmbeddingBag):
    def forward(self, *args):
        return 10 * super().forward(*args)


def helper(x, times=2.0):
    return x * times


def all_of_them(model, found):
    return [F.relu(helper(one)) * factor * model.scale for one in found]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_seen(change, monkeypatch):
    class Plain(Bags):
        def forward(self, ids):
            return all_of_them(self, [table(i) for table, i in zip(self.tables, ids, strict=False)])

    model = Plain()
    del model.last
    way, call = entered(model)
    given = ids()
    for _ in range(4):
        call(given)
    assert way.calls >= 2, way
    before = model(given)
    CHANGES[change](model, monkeypatch)
    expected = model(given)
    if change != "a table":
        assert not all(map(torch.equal, expected, before))
    for _ in range(3):
        assert alike(call(given), expected)


def test_code_that_does_more_is_left_to_dynamo():
    class Counting(Bags):
        def forward(self, ids):
            self.calls += 1
            return super().forward(ids)

    class Returning(Bags):
        def forward(self, ids):
            return super().forward(ids), ids

    class Scaled(Bags):
        def forward(self, ids):
            return [one * scale for one, scale in zip(super().forward(ids), [*self.scales, 1.0], strict=True)]

    counting, returning, scaled = Counting(), Returning(), Scaled()
    for model in (counting, returning, scaled):
        way, call = entered(model)
        given = ids()
        for _ in range(5):
            found = call(given)
        assert way.calls == 0
        if model is returning:
            assert found[1] is given
    assert counting.calls == 5
    scaled.scales[0] = 9.0
    assert alike(call(given), scaled(given))


def test_a_replaced_parameter_is_let_go_of():
    model = Bags()
    way, call = entered(model)
    given = ids()
    for _ in range(4):
        call(given)
    gone = weakref.ref(model.tables[0].weight)
    model.tables[0].weight = nn.Parameter(torch.ones(ROWS, 4))
    gc.collect()
    assert gone() is None
    assert alike(call(given), model(given))
    assert way.calls > 0


def test_errors_are_torchs_own():
    model = Bags()
    _, call = entered(model)
    given = ids()
    for _ in range(4):
        call(given)
    wrong = [one.clone() for one in given]
    wrong[2][0] = ROWS + 5
    with pytest.raises(IndexError):
        call(wrong)
    assert alike(call(given), model(given))


def test_several_threads():
    model = Bags()
    _, call = entered(model)
    call(ids())
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            for _ in range(100):
                given = ids(seed)
                if not alike(call(given), model(given)):
                    wrong.append(seed)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(2 + seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_call_that_fails_does_nothing_twice():
    class Writing(Bags):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("runs", torch.zeros((), dtype=torch.int64))

        def forward(self, ids):
            self.runs.add_(1)
            return super().forward(ids)

    model = Writing()
    way = dynamo_call.compiled(
        Settings(), Turns(model, lambda *_: None), (True, False, True), lambda model, *args: model.forward(*args)
    )
    given = ids()
    for _ in range(3):
        way.learn(model, given)
    way.call(model, given)
    assert way.call.calls == 1
    wrong = [one + ROWS for one in given]
    with pytest.raises(IndexError):
        way.call(model, wrong)
    assert int(model.runs) == 5
