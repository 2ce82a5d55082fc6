"""Tables of trained models under a budget, and back: bytes, which ids have rows, what a model gives, bad input."""

import numpy as np
import pytest
import torch
from torch import nn

from bench_engine.kernels.budget import CompressedEmbeddingBag, compress, decompress
from bench_engine.kernels.quantized import MixedPrecisionEmbeddingBag, QuantizedEmbeddingBag, QuantizedOptimizer

pytestmark = pytest.mark.usefixtures("built_kernels")


class Model(nn.Module):
    """Three tables, of which two lie deeper, and a layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.few = nn.EmbeddingBag(10, 8, mode="sum")
        self.rest = nn.ModuleDict(
            {
                "some": nn.EmbeddingBag(200, 8, mode="mean", padding_idx=3),
                "many": nn.EmbeddingBag(1000, 24, mode="max", include_last_offset=True),
            }
        )
        self.out = nn.Linear(40, 1)

    def forward(self, few, some, many, ends):
        parts = [self.few(few), self.rest["some"](some), self.rest["many"](many, ends)]
        return self.out(torch.cat(parts, 1))


def call():
    generator = torch.Generator().manual_seed(1)
    some = torch.randint(200, (30, 3), generator=generator)
    many = (1000 * torch.rand(90, generator=generator) ** 4).long()
    return torch.randint(10, (30, 2), generator=generator), some, many, torch.arange(0, 91, 3)


def ids():
    few, some, many, _ = call()
    return {"few": few, "rest.some": some, "rest.many": many}


def held(model):
    return sum(m.memory_bytes() for m in (model.few, model.rest["some"], model.rest["many"]))


DENSE = (10 * 8 + 200 * 8 + 1000 * 24) * 4
ALL = 10 * 10 + 200 * 10 + 1000 * 26


@pytest.mark.parametrize("budget", [120, 500, 1500, 5000, 20_000, ALL, DENSE])
def test_the_budget_is_kept_and_used(budget):
    model = Model()
    small = compress(model, budget / 1e6, ids(), seed=1)
    assert held(small) <= budget
    seen = sum(len(i.unique()) * (d + 6) + 12 for i, d in zip(ids().values(), (8, 8, 24), strict=True))
    assert held(small) >= min(budget, seen, ALL) - 30
    assert small(*call()).shape == (30, 1)
    assert isinstance(model.few, nn.EmbeddingBag)
    assert torch.equal(small.out.weight, model.out.weight)
    assert small.out.weight is not model.out.weight
    if budget >= ALL:
        assert all(isinstance(m, QuantizedEmbeddingBag) for m in (small.few, *small.rest.values()))
        torch.testing.assert_close(small(*call()), model(*call()), atol=0.15, rtol=0)


def test_rows_are_those_of_the_ids_with_most_lookups():
    model = Model()
    small = compress(model, 0.0015, ids(), seed=1)
    table = small.rest["many"]
    assert isinstance(table, CompressedEmbeddingBag)
    times = np.bincount(ids()["rest.many"].numpy(), minlength=1000)
    kept = table.live.numpy()
    assert 0 < len(kept) < (times > 0).sum()
    assert times[kept].min() >= np.delete(times, kept).max()
    found, dense = table.materialize(), model.rest["many"].weight
    largest = dense[kept].abs().amax(1, keepdim=True)
    assert ((found[kept] - dense[kept]).abs() <= largest / 127 * 1.02).all()
    assert not np.delete(found.numpy(), kept, 0).any()
    (report,) = table.explain()
    assert (report.kind, report.own_rows, report.lookups) == ("zeros", len(kept), 90)


@pytest.mark.parametrize("budget", [500, 5000, ALL])
def test_and_back_to_plain_tables(budget):
    small = compress(Model(), budget / 1e6, ids(), seed=1)
    plain = decompress(small)
    assert all(type(m) is nn.EmbeddingBag for m in (plain.few, *plain.rest.values()))
    torch.testing.assert_close(plain(*call()), small(*call()))
    assert plain.rest["some"].padding_idx == 3
    again = decompress(nn.Sequential(small.few))
    assert torch.equal(again[0].weight, small.few.materialize())


def test_it_is_trained_further():
    small = compress(Model(), 0.005, ids(), seed=1)
    optimizer, before = QuantizedOptimizer(small, lr=0.1), small.rest["some"].materialize()
    small(*call()).sum().backward()
    optimizer.step()
    assert not torch.equal(small.rest["some"].materialize(), before)


def test_one_table_alone_in_low_precision():
    table = nn.EmbeddingBag(100, 16, mode="sum").bfloat16()
    small = compress(table, 0.0018, torch.arange(50))
    assert isinstance(small, QuantizedEmbeddingBag)
    assert small(torch.tensor([[1, 2]])).dtype == torch.bfloat16
    never = compress(table, 0.001, torch.zeros(0, dtype=torch.int64))
    assert not decompress(never).weight.any()


def test_bad_input_is_a_sentence():
    model = Model()
    with pytest.raises(ValueError, match=r"there is no torch.nn.EmbeddingBag"):
        compress(model.out, 1, ids())
    with pytest.raises(ValueError, match=r"give ids for each of few, rest.some, rest.many, not for few"):
        compress(model, 0.01, {"few": ids()["few"]})
    with pytest.raises(ValueError, match=r"give ids for each of few, .*, not one tensor for all"):
        compress(model, 0.01, torch.tensor([1]))
    with pytest.raises(ValueError, match="93 bytes do not hold a row for each of 3 tables: the least is budget_mb="):
        compress(model, 93e-6, ids())
    with pytest.raises(
        ValueError, match=r"bytes are more than the dense float32 tables take: at most budget_mb=0.10272"
    ):
        compress(model, 1, ids())
    with pytest.raises(ValueError, match="budget_mb must be a number of MB, not nan"):
        compress(model, float("nan"), ids())
    with pytest.raises(IndexError, match="index 200 at position 0 is out of range"):
        compress(model, 0.01, {**ids(), "rest.some": torch.tensor([200])})
    with pytest.raises(TypeError, match=r"ids of rest.some must be a tensor, not list"):
        compress(model, 0.01, {**ids(), "rest.some": [1]})
    with pytest.raises(ValueError, match="has a max_norm"):
        compress(nn.EmbeddingBag(100, 8, max_norm=1.0), 0.001, torch.tensor([1]))
    with torch.no_grad():
        model.few.weight[0, 0] = float("inf")
    with pytest.raises(ValueError, match="hold NaN or infinity"):
        compress(model, ALL / 1e6, ids())
    with pytest.raises(ValueError, match="no quantized or compressed table"):
        decompress(model)


def test_a_frozen_table_stays_frozen_there_and_back():
    model = Model()
    model.few.weight.requires_grad_(False)
    small = compress(model.eval(), 0.005, ids(), seed=1)
    plain = decompress(small)
    assert not plain.few.weight.requires_grad
    assert plain.rest["some"].weight.requires_grad
    assert not plain.few.training


def test_tables_of_mixed_precision_become_plain_ones():
    mixed = MixedPrecisionEmbeddingBag(500, 16, 0.2, counts=torch.arange(500), seed=1)
    plain = decompress(nn.Sequential(mixed))[0]
    assert type(plain) is nn.EmbeddingBag
    assert torch.equal(plain.weight, mixed.materialize())
