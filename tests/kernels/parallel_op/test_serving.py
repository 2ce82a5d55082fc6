"""Lookups that are served: which are, that they give the very bits of torch's own ops, and their gradients."""

import copy
import gc
import pickle
import sys
import weakref

import pytest
import torch
from torch import nn

from bench_engine.kernels.parallel_op.entry import serving
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.served_models import ROWS, Lists, Mixed, alike, mixed_ids, outcome, served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]


def test_every_lookup_is_served_from_the_second_call_on():
    model = Mixed()
    serve = served(model)
    for call in range(6):
        ids = mixed_ids(batch=3 + call, seed=call)  # another size each time: nothing is made per size
        assert alike(serve(model, ids), model.forward(ids))
    assert (serve.compiled.calls, serve.compiled.lookups) == (5, 25)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_lists_offsets_and_weights_by_name(batch, weighted):
    model = Lists()
    serve = served(model)
    for seed in range(4):
        torch.manual_seed(seed)
        ids = [torch.randint(0, ROWS, (2 * batch + k,)) for k in range(3)]
        offsets = torch.arange(0, 2 * batch, 2).repeat(3, 1)
        weights = {str(k): torch.rand(len(one)) for k, one in enumerate(ids)} if weighted else None
        assert alike(serve(model, offsets, ids, weights=weights), model.forward(offsets, ids, weights))
    assert serve.compiled.lookups == 9


class Sliced(nn.Module):
    def __init__(self, how) -> None:
        super().__init__()
        self.first, self.second = nn.Embedding(ROWS, 4), nn.Embedding(ROWS, 4)
        self.how = how

    def forward(self, ids):
        a, b = self.how(ids)
        return self.first(a), self.second(b)


@pytest.mark.parametrize(
    ("how", "lookups"),
    [
        (lambda x: (x[:, 0], x[:, 1]), 2),
        (lambda x: x.unbind(1), 2),
        (lambda x: x.split(1, dim=1), 2),
        (lambda x: x.T, 2),
        (lambda x: (x, x), 2),
        (lambda x: (x[:, 0].unsqueeze(1), x[:, 1:]), 2),
        (lambda x: (x[0], x[-1]), 0),  # rows of a batch, whose number changes: guessed wrong, and given up
        (lambda x: (x[:, 0] + 1, x[:, 1] + 1), 0),  # no argument, nor a slice of one
        (lambda x: (x[::2, 0], x[:, 1]), 0),
    ],
)
def test_slices(how, lookups):
    model = Sliced(how)
    serve = served(model)
    for batch in (4, 7, 5, 9):
        ids = torch.randint(0, ROWS - 1, (batch, 2))
        assert alike(serve(model, ids), model.forward(ids))
    assert serve.compiled.lookups == 3 * lookups or (lookups == 0 and serve.compiled.calls == 0)


def test_one_table_used_many_times():
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(ROWS, 4, mode="sum")

        def forward(self, ids):
            return torch.stack([self.table(ids[:, k]) for k in range(26)], 1)

    model = Shared()
    serve = served(model)
    for _ in range(3):
        ids = torch.randint(0, ROWS, (4, 26, 2))
        assert alike(serve(model, ids), model.forward(ids))
    assert serve.compiled.lookups == 52


def test_a_thousand_tables():
    model = Lists(tables=1000)
    serve = served(model)
    for seed in range(3):
        ids = list(torch.randint(0, ROWS, (1000, 3), generator=torch.Generator().manual_seed(seed)))
        offsets = torch.tensor([0, 2]).repeat(1000, 1)
        assert alike(serve(model, offsets, ids), model.forward(offsets, ids))
    assert serve.compiled.lookups == 2000


def test_nothing_is_held_between_calls():
    """Nor after a call that raised, which had its lookups computed or not."""
    model = Mixed()
    serve = served(model)
    ids, wrong = mixed_ids(), mixed_ids()
    wrong[1, 3, 0] = 10**6
    serve(model, ids)

    def held() -> list[int]:
        things = (ids, wrong, model, model.sums, model.sums.weight, serve.compiled, None)
        return [sys.getrefcount(thing) for thing in things[:-1]]

    before = held()
    for _ in range(50):
        serve(model, ids).sum().backward()
        outcome(lambda: serve(model, wrong))
        outcome(lambda: serve(model, ids, ids))
    assert held() == before


def test_calls_of_two_forms_are_learnt_apart():
    model = Lists()
    serve = served(model)
    ids = [torch.tensor([1, 2, 3])] * 3
    offsets = torch.tensor([0, 2]).repeat(3, 1)
    weights = {str(k): torch.rand(3) for k in range(3)}
    for _ in range(5):
        assert alike(serve(model, offsets, ids), model.forward(offsets, ids))
        assert alike(serve(model, offsets, ids=ids, weights=weights), model.forward(offsets, ids, weights))
    assert (serve.compiled.calls, serve.compiled.lookups) == (8, 24)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_sums_are_left_to_torch(dtype):
    """Whose order of additions is another one there."""
    model = Mixed().to(dtype)
    serve = served(model)
    for seed in range(4):
        assert alike(serve(model, mixed_ids(seed=seed)), model.forward(mixed_ids(seed=seed)))
    assert serve.compiled.calls == 0


@pytest.mark.parametrize(
    "table",
    [
        nn.Embedding(ROWS, 4, max_norm=1.0),
        nn.EmbeddingBag(ROWS, 4, scale_grad_by_freq=True),
        nn.Embedding(ROWS, 4, device="meta"),
        type("Own", (nn.Embedding,), {})(ROWS, 4),
    ],
)
def test_tables_that_are_not_served(table):
    assert not serving.can_be_served(table, Settings().ops)


def test_the_whitelist_is_heeded():
    assert not serving.can_be_served(nn.Embedding(ROWS, 4), frozenset({"aten.embedding_bag"}))
    with pytest.raises(ValueError, match="nothing can be served"):
        serving.Serving(nn.Linear(2, 2), Settings(), set())


def test_gradients():
    models = [Mixed()]
    models.append(copy.deepcopy(models[0]))
    serve = served(models[0])
    for seed in range(4):
        losses = [serve(models[0], mixed_ids(seed=seed)), models[1](mixed_ids(seed=seed))]
        assert alike(*losses)
        for model, loss in zip(models, losses, strict=True):
            model.zero_grad()
            (loss * torch.arange(loss.numel()).view(loss.shape)).sum().backward()
        for found, expected in zip(models[0].parameters(), models[1].parameters(), strict=True):
            assert found.grad.layout == expected.grad.layout
            torch.testing.assert_close(found.grad, expected.grad)
    assert serve.compiled.calls == 3


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Embedding(ROWS, 4), nn.Embedding(ROWS, 4)

    def forward(self, first, second):
        return self.first(first), self.second(second)


@pytest.fixture
def two():
    """Outputs of a served call and of torch's own, for the same weights; and the ids of both."""
    torch.manual_seed(0)
    model = Two()
    twin = copy.deepcopy(model)
    serve = served(model)
    ids = torch.randint(0, ROWS, (2, 5))
    for _ in range(2):
        found = serve(model, ids[0], ids[1])
    assert serve.compiled.calls == 1
    return [(model, found, ids), (twin, twin(ids[0], ids[1]), ids)]


BACKWARD = {
    "one after the other": lambda model, outputs, ids: [output.sum().backward() for output in outputs],
    "one of them": lambda model, outputs, ids: outputs[1].sum().backward(),
    "again, kept": lambda model, outputs, ids: [
        outputs[0].sum().backward(retain_graph=True),
        outputs[1].sum().backward(),
        outputs[0].sum().backward(),
    ],
    "again, gone": lambda model, outputs, ids: [outputs[0].sum().backward(), outputs[0].sum().backward()],
    "all, then one": lambda model, outputs, ids: [
        sum(o.sum() for o in outputs).backward(),
        outputs[0].sum().backward(),
    ],
    "for one weight": lambda model, outputs, ids: torch.autograd.grad(outputs[0].sum(), model.first.weight),
    "after a change of a result": lambda model, outputs, ids: outputs[0].mul_(2).sum().backward(),
    "after a change of the weights": lambda model, outputs, ids: [
        model.first.weight.data.zero_(),
        sum(o.sum() for o in outputs).backward(),
    ],
    "of the gradient": lambda model, outputs, ids: torch.autograd.grad(
        torch.autograd.grad(outputs[0].pow(3).sum(), model.first.weight, create_graph=True)[0].sum(), model.first.weight
    ),
}


@pytest.mark.parametrize("how", BACKWARD)
def test_going_back(two, how):
    """The grouped op has one function for all lookups, torch has one for each: nobody can tell."""
    results = []
    for model, outputs, ids in two:
        result = outcome(lambda m=model, o=outputs, i=ids: BACKWARD[how](m, o, i))
        failed = isinstance(result, tuple) and isinstance(result[0], type)
        grads = [one.grad for one in model.parameters()]
        results.append((result[0] if failed else None, grads))
    (failed, found), (expected_failure, expected) = results
    assert failed is expected_failure
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other)


def test_ids_that_were_written_to_before_going_back(two):
    for _, outputs, ids in two:
        before = outputs[0].sum()
        ids.add_(1).sub_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            before.backward()
        break  # the other one has the same ids


def test_a_model_that_nobody_holds_is_gone():
    model = Mixed()
    serve = served(model)
    for _ in range(3):
        serve(model, mixed_ids()).sum().backward()
    gone = [weakref.ref(one) for one in (model, model.sums, model.sums.weight)]
    del model
    gc.collect()
    assert [one() for one in gone] == [None] * 3


def test_tables_get_their_calls_back():
    model = Mixed()
    serve = served(model)
    assert all("_compiled_call_impl" in vars(table) for table in model.children())
    assert copy.deepcopy(model.sums)._compiled_call_impl is None
    assert pickle.loads(pickle.dumps(model.sums._compiled_call_impl)) is None
    tables = list(model.children())
    del serve, model  # the tables live on
    assert not any("_compiled_call_impl" in vars(table) for table in tables)


def test_functions_that_were_replaced_before_are_not_taken_for_torchs_own(monkeypatch):
    monkeypatch.setattr(torch.nn.functional, "embedding_bag", lambda *_, **__: torch.ones(1))
    assert not serving._Original().complete()


@pytest.mark.parametrize("bad", [ROWS, -1, 2**40])
def test_an_id_out_of_range_in_one_table_of_26(bad):
    model = Lists(tables=26)
    serve = served(model)
    ids = list(torch.randint(0, ROWS, (26, 3)))
    offsets = torch.tensor([0, 2]).repeat(26, 1)
    for _ in range(2):
        serve(model, offsets, ids)
    wrong = [*ids[:17], torch.tensor([1, bad, 2]), *ids[18:]]
    kind, said = outcome(lambda: serve(model, offsets, wrong))
    assert (kind, said) == outcome(lambda: model.forward(offsets, wrong))
    assert issubclass(kind, Exception)
    assert alike(serve(model, offsets, ids), model.forward(offsets, ids))


def test_no_tables_or_none_that_can_be_served():
    for model in (nn.Linear(2, 2), nn.ModuleList([nn.Embedding(4, 2, max_norm=1.0), nn.Embedding(4, 2, max_norm=1.0)])):
        with pytest.raises(ValueError, match="nothing can be served"):
            served(model)


def test_why_a_table_is_left():
    model = Lists()
    model.add_module("renormed", nn.Embedding(ROWS, 4, max_norm=1.0))
    model.add_module("by_frequency", nn.Embedding(ROWS, 4, scale_grad_by_freq=True))
    serve = served(model)
    serve(model, torch.tensor([0, 2]).repeat(3, 1), list(torch.randint(0, ROWS, (3, 3))))
    assert serve.summary.left == {
        "renormed": "max_norm changes its table",
        "by_frequency": "scale_grad_by_freq has no grouped gradient",
    }
