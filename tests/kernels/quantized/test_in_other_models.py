"""What other people's models ask of the tables: torch's options, low precision, export and tracing, many processes."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bench_engine.kernels.budget import CompressedEmbeddingBag, LookupCounts
from bench_engine.kernels.fiited import FIITEDEmbeddingBag
from bench_engine.kernels.quantized import (
    QuantizedEmbeddingBag,
    QuantizedOptimizer,
    QuantizedQuotientRemainderEmbeddingBag,
)
from tests.kernels.fiited.processes import run

pytestmark = pytest.mark.usefixtures("built_kernels")

FIELDS = [5, 75, 120]


def fields(num_embeddings, dim, **options):
    """Three fields, a kind of rows each."""
    assert num_embeddings == sum(FIELDS)
    counts = torch.cat([torch.full((5,), 900), torch.full((75,), 20), torch.where(torch.arange(120) % 9 == 2, 60, 1)])
    table = CompressedEmbeddingBag(FIELDS, dim, 0.0016, counts=LookupCounts.of(FIELDS, counts), seed=3, **options)
    assert [plan.kind for plan in table.plans] == ["whole", "shared", "zeros"]
    return table


KINDS = {"rows": QuantizedEmbeddingBag, "products": QuantizedQuotientRemainderEmbeddingBag, "fields": fields}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_mode = pytest.mark.parametrize("mode", ["sum", "mean", "max"])


def made(kind, **options):
    torch.manual_seed(0)
    return KINDS[kind](200, 16, **options)


def calls(mode, last=False):
    """A call with ids (B, L), and one with offsets, an empty bag and one of padding alone; factors but for max."""
    generator = torch.Generator().manual_seed(1)
    square, flat = (torch.randint(200, size, generator=generator) for size in ((9, 4), (20,)))
    square[3], flat[5:8] = 7, 7
    offsets = torch.tensor([0, 5, 5, 8, 12, 20] if last else [0, 5, 5, 8, 12])
    for ids, starts in ((square, None), (flat, offsets)):
        yield ids, starts, None
        if mode != "max":
            yield ids, starts, torch.randn(ids.shape, generator=generator)


@each_kind
@each_mode
@pytest.mark.parametrize("padding", [None, 7, -193])
@pytest.mark.parametrize("last", [False, True])
def test_bags_are_those_of_torch(kind, mode, padding, last):
    table = made(kind, mode=mode, padding_idx=padding, include_last_offset=last)
    dense = table.materialize().double()
    for ids, starts, factors in calls(mode, last):
        there = torch.ones_like(ids) if padding is None else (ids != 7).long()
        options = {"mode": mode, "padding_idx": padding, "include_last_offset": last}
        if factors is not None and mode == "mean":  # torch takes factors for sums alone
            options["mode"] = "sum"
            counts = F.embedding_bag(ids, torch.ones(200, 1), starts, **options)
            expected = F.embedding_bag(ids, dense, starts, per_sample_weights=factors.double(), **options)
            expected = expected / counts.clamp_min(1)
        else:
            factor = None if factors is None else factors.double()
            expected = F.embedding_bag(ids, dense, starts, per_sample_weights=factor, **options)
        assert there.sum() > 0
        for module in (table, table.to_frozen()):
            torch.testing.assert_close(module(ids, starts, factors).double(), expected, rtol=1e-5, atol=1e-6)
        if factors is None:
            torch.testing.assert_close(table.to_dense()(ids, starts).double(), expected, rtol=1e-5, atol=1e-6)


@each_kind
@each_mode
def test_gradients_reach_the_rows_as_in_torch(kind, mode):
    table = made(kind, mode=mode, padding_idx=7)
    optimizer = QuantizedOptimizer(table)
    dense = nn.Parameter(table.materialize())
    for ids, starts, factors in calls(mode):
        own = None if factors is None else factors.clone().requires_grad_()
        output = table(ids, starts, own)
        output.pow(2).sum().backward()
        if factors is None or mode == "sum":
            twin = None if factors is None else factors.clone().requires_grad_()
            expected = F.embedding_bag(ids, dense, starts, mode=mode, padding_idx=7, per_sample_weights=twin)
            expected.pow(2).sum().backward()
            if twin is not None:
                torch.testing.assert_close(own.grad, twin.grad, rtol=1e-4, atol=1e-6)
        else:
            assert own.grad.abs().sum() > 0
            optimizer.zero_grad()
    if kind == "rows" and mode != "mean":
        torch.testing.assert_close(table.row_gradients().to_dense(), dense.grad, rtol=1e-4, atol=1e-6)
    if kind == "fields" and mode != "mean":
        own = torch.cat([torch.arange(5), table.live.long()])
        torch.testing.assert_close(table.own.row_gradients().to_dense(), dense.grad[own], rtol=1e-4, atol=1e-6)


@each_kind
@each_mode
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_in_low_precision(kind, mode, dtype):
    table, ids = made(kind, mode=mode), torch.randint(200, (9, 4))
    model = nn.Sequential(table, nn.Linear(16, 1)).to(dtype)
    alike, factors = made(kind, mode=mode, dtype=dtype), torch.rand(9, 4).to(dtype)
    plain = made(kind, mode=mode)
    assert torch.equal(table(ids), plain(ids).to(dtype))
    assert torch.equal(alike(ids), table(ids))
    if mode != "max":
        assert torch.equal(table(ids, None, factors), plain(ids, None, factors.float()).to(dtype))
    assert table.to_frozen()(ids).dtype == table.materialize().dtype == dtype
    assert table.memory_bytes() == plain.memory_bytes()
    optimizer = QuantizedOptimizer(model, lr=0.5)
    before = table.materialize()
    model(ids).sum().backward()
    optimizer.step()
    assert not torch.equal(table.materialize(), before)
    with pytest.raises(TypeError, match="vectors are float32, bfloat16 or float16, not float64"):
        model.double()


@pytest.mark.filterwarnings("ignore:.*jit.trace:DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize(("kind", "mode"), [("rows", "max"), ("products", "mean"), ("fields", "sum")])
def test_the_frozen_form_is_exported_and_traced_for_any_size(kind, mode):
    frozen = made(kind, mode=mode, padding_idx=7).to_frozen()
    batch, length, count = (torch.export.Dim(name, min=2) for name in ("batch", "length", "count"))
    square, flat = torch.randint(200, (6, 3)), torch.randint(200, (18,))
    others = torch.randint(200, (11, 5)), torch.randint(200, (30,)), torch.tensor([0, 2, 2, 29])
    exported = torch.export.export(frozen, (square,), dynamic_shapes=({0: batch, 1: length},)).module()
    assert torch.equal(exported(others[0]), frozen(others[0]))
    with_offsets = torch.export.export(
        frozen, (flat, torch.tensor([0, 4])), dynamic_shapes=({0: length}, {0: count})
    ).module()
    assert torch.equal(with_offsets(*others[1:]), frozen(*others[1:]))
    traced = torch.jit.trace(frozen, (flat, torch.tensor([0, 4])))
    assert torch.equal(traced(*others[1:]), frozen(*others[1:]))
    assert torch.equal(torch.jit.trace(frozen, (square,))(others[0]), frozen(others[0]))
    for graph in (exported, traced):
        call = (torch.tensor([[3, -2], [1, 2]]),) if graph is exported else (torch.tensor([3, -2]), torch.tensor([0]))
        with pytest.raises((IndexError, RuntimeError), match="index -2 at position 1 is out of range"):
            graph(*call)
    assert torch.is_grad_enabled()
    if mode != "max":  # nothing beyond the ids is read
        assert with_offsets(flat, torch.tensor([0, 10**6, -5])).shape == (3, 16)


@each_kind
def test_the_frozen_form_shares_the_bytes_and_is_copied(kind):
    table = made(kind)
    frozen, ids = table.to_frozen(), torch.randint(200, (9, 4))
    assert frozen.memory_bytes() == table.memory_bytes()
    assert {b.data_ptr() for b in frozen.buffers() if b.numel()} <= {b.data_ptr() for b in table.buffers()}
    assert not frozen(ids).requires_grad
    for twin in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert torch.equal(twin(ids), frozen(ids))
    with pytest.raises(IndexError, match="index 200 at position 1 is out of range"):
        frozen(torch.tensor([[3, 200]]))
    with pytest.raises(ValueError, match="offsets must not fall"):
        frozen(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="per_sample_weights are for the modes sum and mean, not for max"):
        made(kind, mode="max").to_frozen()(ids, None, torch.ones(9, 4))


def test_fields_are_called_one_by_one_in_both_forms():
    table = made("fields", mode="mean", padding_idx=6)
    each = [torch.randint(rows, (9, 2)) for rows in FIELDS]
    factors = [torch.rand(9, 2) for _ in FIELDS]
    for module in (table, table.to_frozen()):
        for first, ids, factor, found in zip((0, 5, 80), each, factors, module(each, None, factors), strict=True):
            torch.testing.assert_close(found, table(ids + first, None, factor))
        with pytest.raises(IndexError, match="ids of this table run from 0 to 4"):
            module([torch.tensor([[5]]), *each[1:]])
        with pytest.raises(ValueError, match="give a list of 3 per_sample_weights"):
            module(each, None, factors[:2])


def refusals():
    torch.manual_seed(0)
    for table in (made("rows"), made("fields"), FIITEDEmbeddingBag(200, 16)):
        model = DistributedDataParallel(nn.Sequential(table, nn.Linear(16, 1)))
        with torch.no_grad():
            model(torch.tensor([[1, 2]]))  # evaluation is right
        with pytest.raises(RuntimeError, match="is not trained under DistributedDataParallel"):
            model(torch.tensor([[1, 2]]))


def test_copies_in_several_processes_are_refused():
    assert [ended.message for ended in run(2, refusals)] == ["", ""]


@pytest.mark.parametrize(("kind", "mode"), [("rows", "max"), ("products", "mean"), ("fields", "sum")])
def test_a_graph_leaves_out_what_follows_the_last_bag(kind, mode):
    frozen = made(kind, mode=mode, include_last_offset=True).to_frozen()
    ids, ends = torch.randint(200, (12,)), torch.tensor([0, 3, 5])
    exported = torch.export.export(frozen, (ids, ends)).module()
    assert torch.equal(exported(ids, ends), frozen(ids, ends))
    assert frozen(ids, ends).shape == (2, 16)


def test_a_graph_refuses_ids_of_another_field():
    frozen = made("fields").to_frozen()
    each = [torch.zeros(2, 2, dtype=torch.int64) for _ in FIELDS]
    graph = torch.export.export(frozen, (each,)).module()
    for field, wrong in ((0, FIELDS[0]), (1, -1), (2, FIELDS[2])):
        call = [ids.clone() for ids in each]
        call[field][0, 1] = wrong
        with pytest.raises((IndexError, RuntimeError), match="at position 1 is out of range"):
            graph(call)


@each_kind
def test_factors_of_padding_are_not_looked_at(kind):
    table, ids = made(kind, padding_idx=7), torch.tensor([[7, 1]])
    for factor in (float("inf"), float("nan")):
        for module in (table, table.to_frozen()):
            found = module(ids, None, torch.tensor([[factor, 1.0]]))
            torch.testing.assert_close(found.detach(), module(ids).detach())


@each_kind
def test_a_frozen_form_follows_a_model_into_low_precision(kind):
    frozen, ids = made(kind).to_frozen(), torch.randint(200, (9, 4))
    before = frozen(ids)
    model = nn.Sequential(frozen, nn.Linear(16, 1)).bfloat16()
    assert torch.equal(frozen(ids), before.bfloat16())
    assert model(ids).dtype == torch.bfloat16


def sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(made("rows"), nn.Linear(16, 1))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    optimizer = QuantizedOptimizer(model)
    with pytest.raises(RuntimeError, match="is not trained under FSDP"):
        optimizer.step()


def test_sharded_models_are_refused():
    assert [ended.message for ended in run(2, sharded)] == ["", ""]


def test_a_graph_names_an_id_behind_the_last_field():
    frozen = made("fields").to_frozen()
    ids = torch.zeros(2, 2, dtype=torch.int64)
    graph = torch.export.export(frozen, (ids,)).module()
    wrong = ids.clone()
    wrong[0, 1] = last = frozen.num_embeddings
    with pytest.raises((IndexError, RuntimeError), match=f"index {last} at position 1 is out of range"):
        graph(wrong)
