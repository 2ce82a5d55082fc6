"""Bags of one id, whose rows are copied, and calls of many small tables, whose rows are fetched ahead."""

import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.parallel_op.plan import Output, Plan, Source, Table
from tests.kernels.parallel_op.test_grouped_embedding import _ops, configure, grouped, one_table

__all__ = ["_ops"]  # a fixture of every test


@pytest.mark.parametrize("dim", [1, 3, 4, 8, 16, 20, 32, 64, 100, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_a_bag_of_one_id_is_its_row(dim: int, dtype: torch.dtype, index: torch.dtype) -> None:
    weight = torch.randn(50, dim + 3).to(dtype)[:, :dim]
    ids = torch.randint(0, 50, (2, 70), dtype=index).t()[:, :1]
    for mode in ("sum", "mean", "max", "row"):
        call = one_table(weight, ids[:, 0] if mode == "row" else ids, mode=mode)
        for _ in range(6):  # by all ways
            (found,) = grouped(*call)
            assert torch.equal(found, weight[ids[:, 0].long()])


@pytest.mark.parametrize("dim", [3, 8, 16, 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_zeros_have_the_signs_that_torch_gives_them(mode: str, size: int, dtype: torch.dtype, dim: int) -> None:
    weight = torch.tensor([[-0.0] * dim, [0.0] * dim]).to(dtype)
    ids = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])[:, :size]
    expected = F.embedding_bag(ids, weight, mode=mode)
    for _ in range(6):
        (found,) = grouped(*one_table(weight, ids, mode=mode))
        assert torch.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_bag_of_padding_alone_is_zeros(mode: str) -> None:
    weight, ids = torch.randn(5, 16), torch.tensor([[2], [3], [2]])
    for _ in range(6):
        (found,) = grouped(*one_table(weight, ids, mode=mode, padding=2))
        assert torch.equal(found, torch.stack([torch.zeros(16), weight[3], torch.zeros(16)]))
    (plain,) = grouped(*one_table(weight, ids[:, 0], mode="row", padding=2))
    assert torch.equal(plain, weight[ids[:, 0]])


@pytest.mark.parametrize("bad", [50, -1, 2**40, -(2**62)])
@pytest.mark.parametrize("place", [0, 3, 8, 69])
def test_an_id_out_of_range_is_refused_wherever_it_is(bad: int, place: int) -> None:
    ids = torch.zeros(70, 1, dtype=torch.int64)
    ids[place] = bad
    for _ in range(6):
        with pytest.raises(IndexError, match=f"table t: index {bad} at position {place} is out of range"):
            grouped(*one_table(torch.randn(50, 16), ids))


@pytest.mark.parametrize("schedule", ["table", "batch", "flat"])
@pytest.mark.parametrize("bags", [0, 1, 3, 200])
@pytest.mark.parametrize("size", [0, 1, 2, 40])
def test_many_tables_by_every_schedule(schedule: str, bags: int, size: int) -> None:
    torch.set_num_threads(2)
    configure(schedule)
    weights = [torch.randn(30 + t, 8 * (1 + t % 3)) for t in range(40)]
    ids = [torch.randint(0, len(weight), (bags, size)) for weight in weights]
    tables = tuple(Table(f"t{t}", Source(t)) for t in range(40))
    plan = Plan(tables, tuple(Output("out", (t,)) for t in range(40))).text()
    for _ in range(8):
        for found, weight, asked in zip(grouped(weights, ids, [], [], [], plan), weights, ids, strict=True):
            expected = F.embedding_bag(asked, weight, mode="sum") if size else torch.zeros(bags, weight.size(1))
            assert torch.equal(found, expected)


@pytest.mark.parametrize("offsets", [[0, 10**12], [0, -(10**12)], [-5, 3], [10**15, 0]])
def test_offsets_of_a_later_table_are_not_followed_before_they_are_checked(offsets: list[int]) -> None:
    weights, ids = [torch.randn(9, 16)] * 2, [torch.randint(0, 9, (6,))] * 2
    tables = tuple(Table(f"t{t}", Source(t), offsets=Source(t)) for t in range(2))
    plan = Plan(tables, (Output("cat", (0, 1)),)).text()
    with pytest.raises(ValueError, match="table t1: offsets must start at 0"):
        grouped(weights, ids, [torch.tensor([0, 2]), torch.tensor(offsets)], [], [], plan)
