"""Which slice of which tensor the inputs of members are."""

import pytest
import torch

from bench_engine.kernels.parallel_op.graph.nodes import tensor_of
from bench_engine.kernels.parallel_op.graph.views import resolve, rows_of
from bench_engine.kernels.parallel_op.plan import Source, View
from tests.kernels.parallel_op.oracle import viewed
from tests.kernels.parallel_op.tracing import traced

X = torch.arange(5 * 7 * 4).view(5, 7, 4)


def resolved(function, x=X):
    graph = traced(lambda x: function(x) + 0, x)
    addition = next(node for node in graph.graph.nodes if getattr(node.target, "__name__", "") == "add")
    return resolve(addition.args[0])


@pytest.mark.parametrize(
    ("function", "view"),
    [
        (lambda x: x[:, 3], View(1, 3)),
        (lambda x: x[:, -1], View(1, 6)),
        (lambda x: x[2], View(0, 2)),
        (lambda x: x[..., 1], View(2, 1)),
        (lambda x: x[:, :, 1:3], View(2, 1, 2)),
        (lambda x: x[:, 4:100], View(1, 4, 3)),
        (lambda x: x[:, -3:], View(1, 4, 3)),
        (lambda x: x[:, -100:2], View(1, 0, 2)),
        (lambda x: x[-2:-1], View(0, 3, 1)),
        (lambda x: x.split(3, 1)[2], View(1, 6, 1)),
        (lambda x: torch.split(x, [1, 4, 2], dim=-2)[1], View(1, 1, 4)),
        (lambda x: x.split_with_sizes((1, 4, 2), 1)[-1], View(1, 5, 2)),
        (lambda x: x.chunk(3, dim=1)[2], View(1, 6, 1)),
        (lambda x: torch.chunk(x, 2)[1], View(0, 3, 2)),
        (lambda x: x.tensor_split(3, 1)[1], View(1, 3, 2)),
        (lambda x: torch.tensor_split(x, (2, 9), dim=1)[1], View(1, 2, 5)),
        (lambda x: x.unbind(1)[5], View(1, 5)),
        (lambda x: torch.unbind(x)[-1], View(0, 4)),
        (lambda x: x.select(1, -2), View(1, 5)),
        (lambda x: torch.select(x, dim=2, index=3), View(2, 3)),
        (lambda x: x.narrow(1, 2, 3), View(1, 2, 3)),
        (lambda x: torch.narrow(x, -1, -2, 2), View(2, 2, 2)),
        (lambda x: x.split(1, 1)[4].squeeze(1), View(1, 4)),
        (lambda x: x[:, 2:6][:, 1:3], View(1, 3, 2)),
        (lambda x: x[:, 2:][:, -1], View(1, 6)),
        (lambda x: x[:, 4].unsqueeze(1), View(1, 4, 1)),
    ],
)
def test_slices_of_one_tensor(function, view):
    found = resolved(function)
    assert found.base.op == "placeholder"
    assert found.view == view
    assert torch.equal(viewed(Source(0, found.view), [X]), function(X))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, ::2],
        lambda x: x[1, 2],
        lambda x: x[:, None, 3],
        lambda x: x[:, torch.tensor([1, 2])],
        lambda x: x.squeeze(),
        lambda x: x.flip(0),
        lambda x: x.to(torch.int32),
        lambda x: x[:, 4].unsqueeze(0),
    ],
)
def test_what_is_no_slice_along_one_dimension_stays_a_tensor(function):
    found = resolved(function)
    assert found.view is None
    assert tensor_of(found.base).shape == function(X).shape


@pytest.mark.parametrize("function", [lambda x: x[:, 3:5][1:2], lambda x: x[:, 3][1:2]])
def test_slices_along_two_dimensions_are_a_slice_of_the_first_one(function):
    found = resolved(function)
    assert tensor_of(found.base).shape in ((5, 2, 4), (5, 4))
    assert found.view == View(0, 1, 1)


def test_sizes_that_vary():
    x = X.clone()
    torch._dynamo.mark_dynamic(x, 0)
    assert resolved(lambda x: x[:, -1], x).view == View(1, 6)
    assert resolved(lambda x: x[3], x).view == View(0, 3)
    for function in (lambda x: x[-1], lambda x: x[1:], lambda x: x.split(2)[1], lambda x: x.chunk(2)[0]):
        assert resolved(function, x).view is None


def test_flat_ids_of_bags_of_one_size_are_their_rows():
    def nodes(function):
        graph = torch.export.export(Bags(function), (X[:, :, 0],)).graph
        bag = next(node for node in graph.nodes if "embedding_bag" in str(node.target))
        return bag.args[1:3]

    ids, offsets = nodes(lambda x: (x[:, 2:4], None))
    assert str(rows_of(ids, offsets).target) == "aten.slice.Tensor"
    for function in (
        lambda x: (x[:, 2:4].reshape(-1), torch.arange(0, 10, 5)),
        lambda x: (x[:, 2:4].reshape(-1), torch.arange(0, 8, 2)),
        lambda x: (x[:, 2:4].reshape(-1), torch.arange(2, 12, 2)),
        lambda x: (x[:, 2], torch.arange(0, 5, 1)),
    ):
        assert rows_of(*nodes(function)) is None


class Bags(torch.nn.Module):
    def __init__(self, ids):
        super().__init__()
        self.ids = ids
        self.bag = torch.nn.EmbeddingBag(200, 2)

    def forward(self, x):
        return self.bag(*self.ids(x))
