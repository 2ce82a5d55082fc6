"""CompressedEmbeddingBag: its vectors and gradients, its bytes, what it says, and bad input."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.budget import CompressedEmbeddingBag, LookupCounts
from bench_engine.kernels.quantized import QuantizedOptimizer

pytestmark = pytest.mark.usefixtures("built_kernels")

FIELDS = [5, 300, 1500]


def counts() -> LookupCounts:
    """A field for each kind: few ids, some ids that are frequent, and a long tail."""
    tail = np.where(np.arange(1500) % 100 == 7, 200, 1)
    middle = np.floor(20_000 / np.arange(1, 301)).astype(np.int64)
    return LookupCounts.of(FIELDS, torch.from_numpy(np.concatenate([np.full(5, 9000), middle, tail])))


def table(budget: int = 3000, dim: int = 16, **options) -> CompressedEmbeddingBag:
    torch.manual_seed(0)
    return CompressedEmbeddingBag(FIELDS, dim, budget / 1e6, counts=counts(), seed=3, **options)


def test_fields_get_their_kinds_and_say_why():
    reports = table().explain()
    assert [r.kind for r in reports] == ["whole", "shared", "zeros"]
    assert [r.rows for r in reports] == FIELDS
    assert reports[0].own_rows == 5
    assert 0 < reports[2].own_rows <= 15
    assert f"{reports[2].own_rows} frequent ids have rows of their own, and rare ones are zeros" in reports[2].why
    assert "9e+03 lookups for each id" in reports[0].why


@pytest.mark.parametrize("budget", [200, 800, 3000, 5000])
@pytest.mark.parametrize("dim", [8, 16, 33])
def test_bytes_are_those_that_are_held_and_within_the_budget(budget, dim):
    module = table(budget, dim)
    held = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    assert held == module.memory_bytes() <= budget
    of_use = 305 * (dim + 2) + 15 * (dim + 6) + module.shifts.nbytes
    assert module.memory_bytes() >= min(budget - max(0.03 * budget, 2 * dim), of_use)
    told = sum(r.bytes for r in module.explain())
    assert told + module.shifts.nbytes == pytest.approx(held, abs=len(FIELDS))


def test_what_no_id_would_pay_for_is_not_spent():
    module = table(50_000)
    assert [r.kind for r in module.explain()] == ["whole", "whole", "zeros"]
    assert module.memory_bytes() == (5 + 300) * 18 + 15 * 22 + module.shifts.nbytes


def test_vectors_are_those_of_the_rows_that_are_named():
    module = table()
    dense = module.materialize()
    tail = torch.arange(1500) % 100 == 7
    own = torch.isin(torch.arange(sum(FIELDS)), module.live)
    assert torch.equal(dense[:5], module.own.materialize()[:5])
    assert torch.equal(dense[own], module.own.materialize()[5:])
    middle = ~own[5:305]
    assert torch.equal(dense[5:305][middle], module.shared.materialize()[middle])
    assert (dense[305:][~tail] == 0).all()
    assert dense.abs().max() <= math.sqrt(1 / sum(FIELDS)) * 1.01


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_those_of_torch_over_its_vectors(mode):
    module = table(mode=mode)
    dense, generator = module.materialize(), torch.Generator().manual_seed(0)
    ids = torch.randint(sum(FIELDS), (60, 4), generator=generator, dtype=torch.int32)
    torch.testing.assert_close(module(ids), F.embedding_bag(ids, dense, mode=mode))
    offsets = torch.tensor([0, 3, 3, 50])
    expected = F.embedding_bag(ids.reshape(-1).long(), dense, offsets, mode=mode)
    torch.testing.assert_close(module(ids.reshape(-1), offsets), expected)
    each = [torch.randint(rows, (9, 2), generator=generator) for rows in FIELDS]
    starts = np.cumsum([0, *FIELDS[:-1]])
    for found, own, start in zip(module(each), each, starts, strict=True):
        torch.testing.assert_close(found, module(own + int(start)))


def test_gradients_are_those_of_float64():
    module = table()
    QuantizedOptimizer(module)
    ids = torch.arange(sum(FIELDS)).repeat(2).view(-1, 2)
    gradient = torch.randn(len(ids), 16)
    module(ids).backward(gradient)
    wanted = torch.zeros(sum(FIELDS), 16, dtype=torch.float64)
    wanted.index_add_(0, ids.reshape(-1), gradient.double().repeat_interleave(2, 0))
    own = torch.cat([torch.arange(5), module.live.long()])
    found = module.own.row_gradients().to_dense().double()
    torch.testing.assert_close(found, wanted[own], rtol=1e-5, atol=1e-5)

    shared = torch.tensor([i for i in range(5, 305) if i not in module.live])
    place, remainders = shared - 5, module.shared.remainders
    rows = torch.zeros(len(module.shared.rows), 16, dtype=torch.float64)
    read = copy.deepcopy(module.own)  # reads the shared rows one by one
    read.num_embeddings, read.rows = len(module.shared.rows), module.shared.rows
    values = read.materialize().double()
    first, second = place % remainders, remainders + place // remainders
    rows.index_add_(0, first, wanted[shared] * values[second])
    rows.index_add_(0, second, wanted[shared] * values[first])
    torch.testing.assert_close(module.shared.row_gradients().to_dense().double(), rows, rtol=1e-5, atol=1e-5)


def trained(module: CompressedEmbeddingBag, steps: int, threads: int = 1) -> torch.Tensor:
    optimizer, generator = module.training_optimizer(0.1, 1e-3), torch.Generator().manual_seed(1)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for _ in range(steps):
            ids = torch.randint(sum(FIELDS), (400, 3), generator=generator)
            optimizer.zero_grad()
            (module(ids) - 0.5).pow(2).sum().backward()
            optimizer.step()
    finally:
        torch.set_num_threads(before)
    return module.materialize()


def test_training_moves_rows_that_are_there_and_has_the_same_bits_at_any_number_of_threads():
    module = table()
    start = module.materialize()
    after = trained(module, 20)
    assert (after[305 + 7] - start[305 + 7]).min() > 0.1
    assert torch.equal(after, trained(table(), 20, threads=2))
    zeros = (start == 0).all(1)
    assert zeros.sum() > 1000
    assert (after[zeros] == 0).all()


def test_states_and_copies_are_the_same_bits():
    module = table()
    trained(module, 3)
    other = table()
    other.load_state_dict(module.state_dict())
    for twin in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(twin.materialize(), module.materialize())
    with pytest.raises(ValueError, match=r"the table was saved with kinds .*, and this one has"):
        table(50_000).load_state_dict(module.state_dict())


def test_a_batch_that_reads_zeros_alone_can_be_stepped():
    module = table()
    optimizer = module.training_optimizer(0.1, 1e-3)
    zero = int((module.materialize() == 0).all(1).nonzero()[0])
    before = module.materialize()
    module(torch.tensor([[zero]])).sum().backward()
    optimizer.step()
    assert torch.equal(module.materialize(), before)
    assert module(torch.zeros(0, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)).tolist() == [[0.0] * 16] * 2


def test_bad_input_is_a_sentence():
    with pytest.raises(ValueError, match="50 bytes do not hold a row for each of 3 fields: the least is"):
        table(50)
    with pytest.raises(ValueError, match="bytes are more than a dense float32 table takes: at most"):
        table(200_000)
    with pytest.raises(ValueError, match="budget_mb must be a number of MB, not 'much'"):
        CompressedEmbeddingBag(FIELDS, 16, "much", counts=counts())
    with pytest.raises(ValueError, match=r"counts are of fields of \(5, 300, 1500\) rows, not \(5, 300\)"):
        CompressedEmbeddingBag([5, 300], 16, 0.003, counts=counts())
    with pytest.raises(ValueError, match="rows of a field must be a whole number from 1 to 2147483647, not 0"):
        CompressedEmbeddingBag([5, 0], 16, 0.003, counts=counts())
    module = table()
    for ids in ([[0, 1805]], [[-1, 0]]):
        with pytest.raises(IndexError, match="is out of range: ids of this table run from 0 to 1804"):
            module(torch.tensor(ids))
    with pytest.raises(IndexError, match="index 5 at position 0 is out of range: ids of this table run from 0 to 4"):
        module([torch.tensor([[5]]), torch.tensor([[0]]), torch.tensor([[0]])])
    with pytest.raises(RuntimeError, match="is trained by a QuantizedOptimizer"):
        module(torch.tensor([[0]])).sum().backward()


def test_what_it_says_is_of_the_rows_that_were_loaded():
    one, other = table(), None
    turned = torch.from_numpy(np.concatenate([np.full(5, 8000), np.floor(20_000 / np.arange(1, 301)), np.ones(1500)]))
    turned = turned.long()
    turned[305 + 3 :: 100] = 200
    other = CompressedEmbeddingBag(FIELDS, 16, 3000 / 1e6, counts=turned, seed=3)
    assert not torch.equal(one.live, other.live)
    other.load_state_dict(one.state_dict())
    assert other.explain() == one.explain()
    assert [plan.own.tolist() for plan in other.plans] == [plan.own.tolist() for plan in one.plans]


def test_a_table_that_trains_is_not_shared():
    with pytest.raises(RuntimeError, match="not shared between processes"):
        table().share_memory()


def test_the_padding_id_pays_for_nothing():
    each = torch.cat([torch.from_numpy(counts()._exact[f]) for f in range(3)])
    each[305] = 1_000_000
    module = CompressedEmbeddingBag(FIELDS, 16, 0.003, counts=each, seed=3, padding_idx=305)
    assert [r.kind for r in module.explain()] == ["whole", "shared", "zeros"]
    assert 305 not in module.live


def test_a_state_of_another_budget_changes_nothing():
    module, other = table(4000), table(3000)
    trained(other, 2)
    before = module.materialize()
    with pytest.raises(ValueError, match="make it with the same budget"):
        module.load_state_dict(other.state_dict())
    assert torch.equal(module.materialize(), before)
    assert module.budget_bytes == 4000
