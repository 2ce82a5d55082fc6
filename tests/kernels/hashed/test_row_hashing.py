"""Shared rows against their formulas in Python's unbounded integers; what all methods share is in test_bags."""

import copy
import math
import pickle

import pytest
import torch
from hash_oracle import GAMMA, mix

from bench_engine.kernels.compressed.row_hashing import DoubleHashEmbeddingBag, RowModuloEmbeddingBag

METHODS = (RowModuloEmbeddingBag, DoubleHashEmbeddingBag)
MODES = ("sum", "mean", "max")
every_method = pytest.mark.parametrize("method", METHODS)
ROWS, DIM, KEPT = 101, 5, 0.2  # 20 rows are kept


def rows_of(method: type, row: int, kept: int) -> list[int]:
    """The kept rows whose sum is the vector of a row."""
    if method is RowModuloEmbeddingBag:
        return [row % kept]
    seeds = [mix(mix(table + GAMMA)) for table in (0, 1)]
    return [mix(row + seed) * kept >> 64 for seed in seeds]


def by_hand(module: torch.nn.Module, weight: torch.Tensor, bags: list[list[int]], mode: str) -> torch.Tensor:
    pooled = []
    for ids in bags:
        vectors = [sum(weight[r] for r in rows_of(type(module), i, len(weight))) for i in ids]
        if not vectors:
            pooled.append(torch.zeros_like(weight[0]))
        elif mode == "max":
            pooled.append(torch.stack(vectors).max(0).values)
        else:
            pooled.append(sum(vectors) / (len(vectors) if mode == "mean" else 1))
    return torch.stack(pooled)


@every_method
def test_the_table_is_that_of_the_formula(method):
    module = method(ROWS, DIM, KEPT, dtype=torch.float64)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {"weight": (20, DIM)}
    expected = by_hand(module, module.weight.detach(), [[i] for i in range(ROWS)], "sum")
    assert torch.equal(module.materialize(), expected)
    assert torch.equal(module.materialize([100, 3, 100]), expected[[100, 3, 100]])


@every_method
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_values_and_gradients_of_bags(method, mode, index):
    module = method(ROWS, DIM, KEPT, mode, dtype=torch.float64)
    bags = [[], [3], [100, 100, 40], [], [0, 20, 40, 60, 80], []]
    ids = torch.tensor([i for bag in bags for i in bag], dtype=index)
    offsets = torch.tensor([0, 0, 1, 4, 4, 9], dtype=index)
    factors = torch.randn(len(bags), DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    output = module(ids, offsets)
    (output * factors).sum().backward()
    weight = module.weight.detach().clone().requires_grad_()
    expected = by_hand(module, weight, bags, mode)
    torch.testing.assert_close(output, expected)
    if mode != "max":  # ids that share a row tie, and the first alone has the gradient
        (expected * factors).sum().backward()
        torch.testing.assert_close(module.weight.grad, weight.grad)
    square = torch.tensor([[3, 4], [9, 9]], dtype=index)
    torch.testing.assert_close(module(square), by_hand(module, weight, square.tolist(), mode))


@every_method
def test_a_maximum_has_its_gradient_where_it_is(method):
    module = method(ROWS, 1, KEPT, "max", dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.arange(20.0).unsqueeze(1))
    ids = torch.tensor([[0, 7, 13, 19]])
    largest = max(ids[0].tolist(), key=lambda i: sum(rows_of(method, i, 20)))
    module(ids).sum().backward()
    expected = torch.zeros(20, 1, dtype=torch.float64)
    for row in rows_of(method, largest, 20):
        expected[row] += 1
    assert torch.equal(module.weight.grad, expected)


@every_method
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_are_those_of_finite_differences(method, mode):
    module = method(40, 2, 0.2, mode, dtype=torch.float64)
    ids, offsets = torch.tensor([1, 2, 3, 39, 39]), torch.tensor([0, 2, 2])

    def pooled(weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, {"weight": weight}, (ids, offsets))

    assert torch.autograd.gradcheck(pooled, module.weight.detach().clone().requires_grad_())


def test_rows_beyond_32_bits_are_told_apart():
    module = DoubleHashEmbeddingBag(2**40, 1, 2**-30)
    ids = torch.tensor([0, 2**32, 2**40 - 1])
    first, second = module.rows(ids)
    expected = [rows_of(DoubleHashEmbeddingBag, i, 1024) for i in ids.tolist()]
    assert [list(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)] == expected


def test_both_hashes_spread_evenly_and_apart():
    module = DoubleHashEmbeddingBag(20_000, 1, 0.005)
    first, second = module.rows(torch.arange(20_000))
    for rows in (first, second):
        counts = torch.bincount(rows, minlength=100)
        assert 130 < int(counts.min()) <= int(counts.max()) < 280  # 200 on average, 5.6 standard deviations
    assert int((first == second).sum()) == pytest.approx(200, abs=80)


@every_method
@pytest.mark.parametrize(("rows", "compression", "kept"), [
    (100, 1.0, 100), (100, 0.29, 29), (100, 0.57, 57), (100, 0.01, 1), (3, 0.4, 1), (1, 1.0, 1), (300_000, 0.001, 300),
])  # fmt: skip
def test_as_many_rows_are_kept_as_fit(method, rows, compression, kept):
    assert len(method(rows, 2, compression).weight) == kept


@every_method
def test_a_compression_without_a_row_names_the_smallest(method):
    with pytest.raises(ValueError, match=r"compression 0.009 leaves no row of 101: the smallest is 0\.0099") as error:
        method(101, 8, 0.009)
    assert len(method(101, 8, float(str(error.value).rsplit(" ", 1)[1])).weight) == 1


@every_method
@pytest.mark.parametrize("compression", [0.0, -0.1, 1.01, math.nan, "half"])
def test_a_compression_that_is_none_is_named(method, compression):
    with pytest.raises(ValueError, match="compression is the fraction of parameters kept"):
        method(100, 8, compression)


@every_method
def test_bad_ids_and_offsets_are_named(method):
    module = method(ROWS, DIM, KEPT)
    with pytest.raises(IndexError, match="index 101 at position 1 is out of range"):
        module(torch.tensor([[0, 101]]))
    with pytest.raises(ValueError, match="offsets must start at 0, not at 1"):
        module(torch.tensor([1, 2]), torch.tensor([1]))


@every_method
def test_one_entry_is_saved_and_loaded(method):
    module, other = method(ROWS, DIM, KEPT), method(ROWS, DIM, KEPT)
    assert list(module.state_dict()) == ["weight"]
    other.load_state_dict(module.state_dict())
    for copied in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(copied.materialize(), module.materialize())
