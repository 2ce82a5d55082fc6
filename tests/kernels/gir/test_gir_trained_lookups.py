"""Look-ups of a model that is trained are the parallel op, with torch's gradients; what cannot be stays as it is."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn

from bench_engine.kernels.gir import compiling
from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op.graph import grouped_graph

OP = torch.ops.mirror.grouped_embedding.default if extension.python_module_if_built() else None
pytestmark = pytest.mark.skipif(OP is None, reason="the kernels are not built")


class Model(nn.Module):
    """Bags and rows of some tables, and what comes after."""

    def __init__(self, mode: str, **options: Any) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 8, mode=mode, **options) for _ in range(3))
        self.rows = nn.ModuleList(nn.Embedding(50, 8) for _ in range(2))
        self.last = nn.Linear(40, 1)

    def forward(self, bags: Tensor, rows: Tensor) -> Tensor:
        found = [table(bags[t]) for t, table in enumerate(self.bags)]
        found += [table(rows[t]) for t, table in enumerate(self.rows)]
        return self.last(F.gelu(torch.cat(found, 1)))


def ids() -> tuple[Tensor, Tensor]:
    return torch.randint(50, (3, 64, 5)), torch.randint(50, (2, 64))


def step(model: nn.Module, call: Callable[..., Tensor], given: tuple[Tensor, ...]) -> list[Tensor]:
    """The output and all gradients of a step, as dense tensors."""
    model.zero_grad()
    output = call(*given)
    output.square().sum().backward()
    grads = [p.grad for p in model.parameters()]
    assert all(grad is not None for grad in grads)
    return [output.detach(), *(grad.to_dense().clone() for grad in grads if grad is not None)]


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many grouped ops each graph had that came from Dynamo."""
    torch._dynamo.reset()
    counts, real = [], grouped_graph.group_before_aot

    def counted(module: fx.GraphModule) -> None:
        real(module)
        counts.append(len(module.graph.find_nodes(op="call_function", target=OP)))

    monkeypatch.setattr(grouped_graph, "group_before_aot", counted)
    return counts


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_are_torchs(mode: str, grouped: list[int]) -> None:
    torch.manual_seed(0)
    model = Model(mode)
    compiled = torch.compile(model, backend="gir")
    for _ in range(3):
        given = ids()
        for found, wanted in zip(step(model, compiled, given), step(model, model, given), strict=True):
            assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert grouped == [1]


def test_other_batch_sizes_and_answers_between_steps(grouped: list[int]) -> None:
    torch.manual_seed(0)
    model = Model("sum")
    compiled = torch.compile(model, backend="gir")
    for batch in (64, 3, 17, 64):
        given = torch.randint(50, (3, batch, 5)), torch.randint(50, (2, batch))
        for found, wanted in zip(step(model, compiled, given), step(model, model, given), strict=True):
            assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            assert torch.allclose(compiled(*given), model(*given), rtol=1e-4, atol=1e-5)
    assert set(grouped) == {1}  # inference was never asked


def test_sparse_gradients_stay_sparse(grouped: list[int]) -> None:
    model = Model("sum", sparse=True)
    compiled = torch.compile(model, backend="gir")
    given = ids()
    for found, wanted in zip(step(model, compiled, given), step(model, model, given), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert all(table.weight.grad is not None and table.weight.grad.is_sparse for table in model.bags)


def test_an_index_out_of_range_is_an_error(grouped: list[int]) -> None:
    model = Model("sum")
    compiled = torch.compile(model, backend="gir")
    bags, rows = ids()
    step(model, compiled, (bags, rows))
    bags[1, 3, 2] = 50
    with pytest.raises((IndexError, RuntimeError), match=r"(?i)range|index"):
        compiled(bags, rows)


def test_nothing_is_grouped_without_built_kernels(monkeypatch: pytest.MonkeyPatch, grouped: list[int]) -> None:
    monkeypatch.setattr(compiling.extension, "python_module_if_built", lambda: None)
    model, given = Model("sum"), ids()
    compiled = torch.compile(model, backend="gir")
    for found, wanted in zip(step(model, compiled, given), step(model, model, given), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert grouped == []
