"""Dense gradients whose other rows are known to be zero: an update skips these, unless somebody wrote to the memory."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op import GroupedEmbeddingBag
from bench_engine.kernels.parallel_op.entry import optimizer_step
from bench_engine.kernels.parallel_op.settings import Settings

ROWS, DIM = 20_000, 16


@pytest.fixture
def one_update(grouped_ops: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SGD's updates as one op, at every step."""
    optimizer_step.install(Settings(cache_dir=None))
    monkeypatch.setattr(optimizer_step, "_turn", lambda key: 0)
    yield
    optimizer_step.uninstall()


def trained(write: Callable[[list[nn.Parameter], Tensor], None], step: Callable[[Any], None], **options: Any) -> Any:
    """Weights after steps between whose backward pass and update `write` may change gradients; what each step knew."""
    draw = torch.Generator().manual_seed(0)
    tables = [nn.Parameter(torch.randn(ROWS, DIM, generator=draw)) for _ in range(3)]
    with torch.no_grad():
        tables[0][::2] = -0.0
    bags, optimizer = GroupedEmbeddingBag(tables), torch.optim.SGD(tables, **({"lr": 0.1} | options))
    known = []
    for _ in range(4):
        ids = [torch.randint(0, ROWS, (32, 3), generator=draw) for _ in tables]
        optimizer.zero_grad()
        loss = bags(ids).pow(2).sum()
        loss.backward(retain_graph=True)
        write(tables, loss)
        known.append([torch._C._is_cow_tensor(table.grad) for table in tables])
        step(optimizer)
    return [table.detach() for table in tables], known


def untouched(optimizer: torch.optim.Optimizer) -> None:
    optimizer_step.pause(True)
    optimizer.step()
    optimizer_step.pause(False)


def nothing(tables: list[nn.Parameter], loss: Tensor) -> None:
    pass


def same_bits(found: list[Tensor], expected: list[Tensor]) -> bool:
    return all(torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    "options", [{}, {"lr": 0.0}, {"lr": 1}, {"maximize": True}, {"weight_decay": 0.1}, {"momentum": 0.9}]
)
def test_rows_that_no_id_touched_keep_their_bits(one_update, options):
    found, known = trained(nothing, lambda optimizer: optimizer.step(), **options)
    expected, _ = trained(nothing, untouched, **options)
    assert same_bits(found, expected)
    if not options:
        assert known[-1] == [True] * 3


def write_through_data(tables: list[nn.Parameter], loss: Tensor) -> None:
    tables[1].grad.data.add_(tables[1].data, alpha=0.1)


def write_through_numpy(tables: list[nn.Parameter], loss: Tensor) -> None:
    tables[1].grad.numpy()[5] = 1


def write_through_dlpack(tables: list[nn.Parameter], loss: Tensor) -> None:
    torch.from_dlpack(tables[1].grad)[7] = 1


def write_a_slice(tables: list[nn.Parameter], loss: Tensor) -> None:
    tables[1].grad[3:9] += 1


def clip(tables: list[nn.Parameter], loss: Tensor) -> None:
    nn.utils.clip_grad_norm_(tables, 0.1)


def go_back_once_more(tables: list[nn.Parameter], loss: Tensor) -> None:
    loss.backward(retain_graph=True)


def replace(tables: list[nn.Parameter], loss: Tensor) -> None:
    tables[1].grad = tables[1].grad + 1


@pytest.mark.parametrize(
    "write",
    [write_through_data, write_through_numpy, write_through_dlpack, write_a_slice, clip, go_back_once_more, replace],
)
def test_whoever_writes_to_a_gradient_is_noticed(one_update, write):
    trained(nothing, lambda optimizer: optimizer.step())  # from now on rows are noted
    found, known = trained(write, lambda optimizer: optimizer.step())
    expected, _ = trained(write, untouched)
    assert same_bits(found, expected)
    assert not any(step[1] for step in known)


def test_reading_a_gradient_changes_nothing(one_update):
    trained(nothing, lambda optimizer: optimizer.step())
    sums: list[float] = []
    _, known = trained(lambda tables, _: sums.append(float(tables[1].grad.norm())), lambda optimizer: optimizer.step())
    assert known[-1] == [True] * 3
    assert len(sums) == 4


def test_a_gradient_in_another_shape_counts_as_a_whole(one_update):
    trained(nothing, lambda optimizer: optimizer.step())  # from now on rows are noted
    bags = GroupedEmbeddingBag([torch.zeros(2 * ROWS, DIM // 2) for _ in range(2)])

    def stepped(step):
        draw = torch.Generator().manual_seed(0)
        tables = [nn.Parameter(torch.randn(ROWS, DIM, generator=draw)) for _ in range(2)]
        views = {f"weights.{t}": table.view(2 * ROWS, -1) for t, table in enumerate(tables)}
        ids = [torch.arange(2 * ROWS - 96, 2 * ROWS).view(32, 3)] * 2
        torch.func.functional_call(bags, views, (ids,)).pow(2).sum().backward()
        step(torch.optim.SGD(tables, lr=0.1))
        return [table.detach() for table in tables]

    assert same_bits(stepped(lambda optimizer: optimizer.step()), stepped(untouched))
