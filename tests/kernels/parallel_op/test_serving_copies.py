"""Ids that the forward makes out of its arguments: served where they hold the numbers that were looked up."""

import copy

import pytest
import torch
from torch import nn

from bench_engine.kernels.parallel_op.entry import learning
from tests.kernels.parallel_op.served_models import ROWS, alike, outcome, served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]

FIELDS = 5


class Rows(nn.Module):
    """Features of an example in one row of floats; `ids_of` gives those of a field."""

    def __init__(self, ids_of) -> None:
        super().__init__()
        self.tables = nn.ModuleDict({f"c{k}": nn.Embedding(ROWS, 3 + k) for k in range(FIELDS)})
        self.ids_of = ids_of

    def forward(self, given):
        return [table(self.ids_of(given, k)) for k, table in enumerate(self.tables.values())]


def features(batch: int = 16, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, ROWS, (batch, FIELDS), generator=generator).float()
    return torch.cat([torch.rand(batch, 2, generator=generator), ids], 1)


COPIES = {
    "a slice": lambda x, k: x[:, 2 + k : 3 + k].long(),
    "a column": lambda x, k: x[:, 2 + k].long(),
    "int32": lambda x, k: x[:, 2 + k].int(),
    "squeezed": lambda x, k: x[:, 2 + k : 3 + k].long().squeeze(1),
    "to": lambda x, k: x[:, 2 + k].to(torch.int64),
    "cast first": lambda x, k: x.long()[:, 2 + k],
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("how", COPIES)
def test_numbers_of_an_argument(how, grad):
    model = Rows(COPIES[how])
    serve = served(model)
    for call in range(5):
        given = features(batch=16 + call, seed=call)
        with torch.set_grad_enabled(grad):
            assert alike(serve(model, given), model.forward(given))
    assert (serve.compiled.calls, serve.compiled.lookups) == (4, 4 * FIELDS)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float64, torch.int16])
def test_a_dictionary_of_features_of_any_type(dtype):
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleDict({f"c{k}": nn.EmbeddingBag(ROWS, 4, mode="sum") for k in range(FIELDS)})

        def forward(self, given):
            return [table(given[name].long()) for name, table in self.tables.items()]

    model = Named()
    serve = served(model)
    for seed in range(4):
        given = {f"c{k}": torch.randint(0, ROWS, (9, 3)).to(dtype) for k in range(FIELDS)}
        assert alike(serve(model, given), model.forward(given)), seed
    assert serve.compiled.calls == 3


def test_histories_and_their_ids_are_told_apart_where_they_share_a_table():
    class Histories(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(ROWS, 4)

        def forward(self, given):
            return [
                self.table(given[:, 2:3].long()),
                self.table(given[:, 3:7].long()),
                self.table(given[:, 4:7].long()),
            ]

    model = Histories()
    serve = served(model)
    for seed in range(4):
        assert alike(serve(model, features(seed=seed)), model.forward(features(seed=seed)))
    assert serve.compiled.calls == 3


def test_columns_that_are_equal_by_chance():
    """Every example is served or computed by torch, whatever was taken for what at first."""
    model = Rows(COPIES["a slice"])
    serve = served(model)
    for call in range(12):
        given = torch.full((1, 2 + FIELDS), float(call % 2)) if call < 3 else features(batch=1, seed=call)
        assert alike(serve(model, given), model.forward(given))
    assert serve.compiled.calls > 5


def test_ids_that_are_something_else_later():
    class Shifted(Rows):
        shift = 0

        def forward(self, given):
            return [table((given[:, 2 + k].long() + self.shift) % ROWS) for k, table in enumerate(self.tables.values())]

    model = Shifted(None)
    serve = served(model)
    for shift in (0, 0, 0, 1, 0, 2, 2, 2, 0, 0):
        model.shift = shift
        assert alike(serve(model, features(seed=shift)), model.forward(features(seed=shift)))
    assert serve.compiled.calls >= 2


def numbers_that_are_none(x):
    x[3, 0] = float("nan")
    x[4, 1] = float("inf")
    return x


def out_of_range(x):
    x[5, 4] = ROWS + 7
    return x


def negative(x):
    x[5, 4] = -1
    return x


def to_meta(x):
    return x.to("meta")


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize(
    "change",
    [numbers_that_are_none, out_of_range, negative, lambda x: x[:0], to_meta, lambda x: x.double(),
     lambda x: x.to(torch.complex64), lambda x: x.requires_grad_(), lambda x: x.t().contiguous().t(),
     lambda x: x.repeat(2, 1)[::2], lambda x: x[:, :4], lambda x: x.to_sparse().to_dense()],
)  # fmt: skip
def test_arguments_of_other_kinds(change):
    model = Rows(COPIES["a slice"])
    serve = served(model)
    for seed in range(3):
        serve(model, features(seed=seed))

    def kept(result):
        if isinstance(result, list) and change is to_meta:
            return str([rows.shape for rows in result])  # torch computes nothing there
        return result if isinstance(result, list) else str(result)

    expected, found = (
        outcome(lambda c=call: c(change(features()))) for call in (model.forward, lambda x: serve(model, x))
    )
    assert kept(found) == kept(expected) if isinstance(kept(expected), str) else alike(found, expected)
    assert alike(serve(model, features()), model.forward(features()))
    assert serve.compiled.calls >= 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_the_argument_may_be_written_to_before_going_back(dtype):
    """The forward went through copies: one buffer for all batches is right."""
    model = Rows(lambda x, k: x[:, 2 + k].long())
    twin = copy.deepcopy(model)
    serve = served(model)
    buffer = torch.empty(16, 2 + FIELDS, dtype=dtype)
    for call in range(4):
        for one, forward in ((twin, twin.forward), (model, lambda x: serve(model, x))):
            buffer.copy_(features(seed=call))
            loss = sum(rows.sum() for rows in forward(buffer))
            buffer.zero_()
            one.zero_grad()
            loss.backward()
        for name, weight in model.named_parameters():
            assert torch.equal(weight.grad, twin.get_parameter(name).grad)
    assert serve.compiled.calls == 3


def test_a_forward_that_writes_to_its_argument_between_its_lookups():
    class Writing(Rows):
        def forward(self, given):
            found = []
            for k, table in enumerate(self.tables.values()):
                found.append(table(given[:, 2 + k].long()))
                given[:, 3 + k :] = (given[:, 3 + k :] + 1) % ROWS
            return found

    model = Writing(None)
    serve = served(model)
    for seed in range(4):
        assert alike(serve(model, features(seed=seed)), model.forward(features(seed=seed)))


def test_no_more_numbers_are_compared_than_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, digest = [], learning._digest

    def counted(ids: torch.Tensor) -> bytes:
        hashed.append(ids.numel())
        return digest(ids)

    monkeypatch.setattr(learning, "_MOST_NUMBERS", 1000)
    monkeypatch.setattr(learning, "_digest", counted)
    copies = learning._Copies()
    copies.add(torch.rand(20, 300), (0,))
    copies.read(torch.zeros(20, 10, dtype=torch.int64))
    assert 0 < sum(hashed) <= 1000 + 200
