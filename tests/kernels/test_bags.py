"""The interface that all embedding-bag methods share, and pooling in plain PyTorch."""

import copy
import math

import numpy
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from bench_engine.kernels import (
    DenseEmbeddingBag,
    HashedEmbeddingBag,
    HashedEmbeddingBagReference,
    QuotientRemainderEmbeddingBag,
    SmallDimEmbeddingBag,
)
from bench_engine.kernels.bags import as_bags, at_least, check_ids, pool
from bench_engine.kernels.compressed.cafe import CafeEmbeddingBag
from bench_engine.kernels.compressed.clustered import ClusteredEmbeddingBag
from bench_engine.kernels.compressed.deep_hash import DeepHashEmbeddingBag
from bench_engine.kernels.compressed.memcom import MemcomEmbeddingBag
from bench_engine.kernels.compressed.row_hashing import DoubleHashEmbeddingBag, RowModuloEmbeddingBag

pytestmark = pytest.mark.usefixtures("built_kernels")

MODES = ("sum", "mean", "max")
METHODS = {
    DenseEmbeddingBag: 1.0,
    SmallDimEmbeddingBag: 0.25,
    HashedEmbeddingBag: 0.1,
    HashedEmbeddingBagReference: 0.1,
    QuotientRemainderEmbeddingBag: 0.2,
    RowModuloEmbeddingBag: 0.2,
    DoubleHashEmbeddingBag: 0.2,
    CafeEmbeddingBag: 0.3,
    ClusteredEmbeddingBag: 0.3,
    MemcomEmbeddingBag: 0.3,
    DeepHashEmbeddingBag: 0.3,
}
CHECKING = [m for m in METHODS if m is not DenseEmbeddingBag]  # a dense table leaves checks to torch
every_method = pytest.mark.parametrize("method", METHODS)


def make(method, mode="sum", rows=200, dim=12, **options):
    return method(rows, dim, compression=METHODS[method], mode=mode, **options)


def pooled_by_hand(table: torch.Tensor, bags: list[list[int]], mode: str) -> torch.Tensor:
    rows = []
    for ids in bags:
        vectors = [table[i] for i in ids]
        if not vectors:
            rows.append(torch.zeros_like(table[0]))
        elif mode == "max":
            rows.append(torch.stack(vectors).max(0).values)
        else:
            total = torch.stack(vectors).sum(0)
            rows.append(total / len(vectors) if mode == "mean" else total)
    return torch.stack(rows)


@every_method
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_forward_pools_the_rows_that_materialize_shows(method, mode, index):
    module = make(method, mode, dtype=torch.float64)
    table = module.materialize()
    assert table.shape == (200, 12)
    assert not table.requires_grad
    bags = [[], [3], [4, 4, 199], [], [0, 1, 2, 3, 4, 5], []]
    ids = torch.tensor([i for bag in bags for i in bag], dtype=index)
    offsets = torch.tensor([0, 0, 1, 4, 4, 10], dtype=index)
    torch.testing.assert_close(module(ids, offsets), pooled_by_hand(table, bags, mode))
    square = torch.tensor([[1, 2, 3], [7, 7, 7]], dtype=index)
    torch.testing.assert_close(module(square), pooled_by_hand(table, square.tolist(), mode))
    single = torch.arange(200, dtype=index).unsqueeze(1)
    torch.testing.assert_close(module(single), table)


@every_method
@pytest.mark.parametrize("mode", MODES)
def test_no_ids_at_all(method, mode):
    module = make(method, mode)
    if method is not DenseEmbeddingBag:  # torch takes no (B, 0)
        assert torch.equal(module(torch.zeros(3, 0, dtype=torch.int64)), torch.zeros(3, 12))
    none = torch.zeros(0, dtype=torch.int64)
    assert module(none, none).shape == (0, 12)
    assert torch.equal(module(none, torch.zeros(2, dtype=torch.int64)), torch.zeros(2, 12))


@every_method
def test_some_rows(method):
    module = make(method)
    table = module.materialize()
    torch.testing.assert_close(module.materialize([5, 199, 5]), table[[5, 199, 5]])
    torch.testing.assert_close(module.materialize(torch.tensor([7], dtype=torch.int32)), table[7:8])
    assert module.materialize([]).shape == (0, 12)
    with pytest.raises(IndexError, match="index 200 at position 1 is out of range"):
        module.materialize([1, 200])


@every_method
def test_rows_are_materialized_in_chunks(method, monkeypatch):
    module = make(method)
    table = module.materialize()
    monkeypatch.setattr("bench_engine.kernels.bags._CHUNK_ELEMENTS", 12 * 7)
    torch.testing.assert_close(module.materialize(), table, rtol=0, atol=1e-6)


@every_method
@pytest.mark.parametrize("mode", MODES)
def test_every_parameter_learns(method, mode):
    module = make(method, mode)
    (module(torch.arange(200).reshape(50, 4)) - 1).pow(2).sum().backward()
    assert all(p.grad is not None and p.grad.ne(0).any() for p in module.parameters())


@every_method
def test_all_start_with_vectors_of_the_same_spread(method):
    torch.manual_seed(0)
    module = method(3000, 32, compression=METHODS[method])
    table = module.materialize()
    assert float(table.std()) == pytest.approx(math.sqrt(1 / 3000 / 3), rel=0.15)
    assert abs(float(table.mean())) < float(table.std()) * 0.15


# Hashed tables are left out: elements that share a slot, or ids that share rows, cannot all be fitted.
@pytest.mark.parametrize(
    "method", [DenseEmbeddingBag, SmallDimEmbeddingBag, QuotientRemainderEmbeddingBag, RowModuloEmbeddingBag]
)
def test_a_table_that_keeps_everything_fits_anything(method):
    torch.manual_seed(0)
    target = torch.randn(100, 8)
    module = method(100, 8, compression=1.0)
    optimizer = torch.optim.Adagrad(module.parameters(), lr=0.5)
    ids = torch.arange(100).unsqueeze(1)
    for _ in range(100):
        optimizer.zero_grad()
        (module(ids) - target).pow(2).mean().backward()
        optimizer.step()
    assert (module.materialize() - target).pow(2).mean() < 0.05


@every_method
def test_state_and_copies(method):
    module, other = make(method), make(method)
    other.load_state_dict(module.state_dict())
    ids = torch.tensor([[1, 2], [3, 4]])
    assert torch.equal(other(ids), module(ids))
    assert torch.equal(copy.deepcopy(module)(ids), module(ids))
    assert module.double()(ids).dtype == torch.float64


@every_method
@pytest.mark.parametrize("mode", MODES)
def test_compiles_in_one_graph(method, mode):
    torch._dynamo.reset()
    module = make(method, mode)
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    ids = torch.tensor([1, 2, 3, 4])
    assert torch.equal(compiled(ids.reshape(2, 2)), module(ids.reshape(2, 2)))
    assert torch.equal(compiled(ids, torch.tensor([0, 1])), module(ids, torch.tensor([0, 1])))


@every_method
def test_device_and_dtype(method):
    module = make(method, device="meta", dtype=torch.float64)
    assert {(p.device.type, p.dtype) for p in module.parameters()} == {("meta", torch.float64)}


@every_method
def test_sizes_may_be_numpy_integers(method):
    module = make(method, rows=numpy.int32(2**10), dim=numpy.int64(12))
    assert module(torch.tensor([[1]])).shape == (1, 12)


@every_method
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 8), "num_embeddings must be a whole number of at least 1, not 0"),
        ((8.0, 8), "num_embeddings must be a whole number"),
        ((8, -1), "embedding_dim must be a whole number of at least 1, not -1"),
        ((8, True), "embedding_dim must be a whole number"),
        ((8, 8, 1.0, "median"), "mode must be sum, mean or max, not 'median'"),
        ((8, 8, 0.0), "compression"),
        ((8, 8, 1.01), "compression"),
        ((8, 8, "half"), "compression"),
    ],
)
def test_bad_arguments_are_named(method, arguments, message):
    with pytest.raises(ValueError, match=message):
        method(*arguments)


@pytest.mark.parametrize("method", CHECKING)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bad_ids_and_offsets_are_named(method, mode, dtype):
    module = make(method, mode, dtype=dtype)
    with pytest.raises(
        IndexError, match="index 200 at position 3 is out of range: ids of this table run from 0 to 199"
    ):
        module(torch.tensor([[1, 2], [3, 200]]))
    with pytest.raises(IndexError, match="index -1 at position 0"):
        module(torch.tensor([-1]), torch.tensor([0]))
    with pytest.raises(ValueError, match="offsets must not fall: 1 at position 2 follows 2"):
        module(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="runs past the 1 indices"):
        module(torch.tensor([1]), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="there are 1 indices and no bag"):
        module(torch.tensor([1]), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(TypeError, match="input must be int32 or int64, not bool"):
        module(torch.tensor([[True]]))


class Ops(TorchDispatchMode):
    """Names of the ops that ran."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def ops_of(module, *arguments):
    with Ops() as ops, torch.no_grad():
        module(*arguments)
    return ops.names


@pytest.mark.parametrize("mode", MODES)
def test_a_dense_table_runs_nothing_but_what_torchs_own_module_runs(mode):
    for arguments in ((torch.tensor([[1, 2], [3, 4]]),), (torch.tensor([1, 2, 3]), torch.tensor([0, 1]))):
        ours, theirs = (
            ops_of(m, *arguments) for m in (make(DenseEmbeddingBag, mode), nn.EmbeddingBag(200, 12, mode=mode))
        )
        assert ours == theirs


# How often our own check reads the ids: an op that checks them itself is not asked to do what it does anyway.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("method", "checks"),
    [
        (DenseEmbeddingBag, 0),
        (SmallDimEmbeddingBag, 0),
        (HashedEmbeddingBag, 0),
        (HashedEmbeddingBagReference, 1),
        (QuotientRemainderEmbeddingBag, 1),
        (RowModuloEmbeddingBag, 1),
        (DoubleHashEmbeddingBag, 1),
        (CafeEmbeddingBag, 1),
        (ClusteredEmbeddingBag, 1),
        (MemcomEmbeddingBag, 1),
        (DeepHashEmbeddingBag, 1),
    ],
)
def test_ids_are_checked_once(method, mode, checks):
    if method is SmallDimEmbeddingBag and mode == "max":
        checks = 1  # pooled in plain torch, as all vectors must be there
    assert ops_of(make(method, mode), torch.tensor([[1, 2], [3, 4]])).count("aminmax") == checks


def test_a_dense_table_refuses_ids_out_of_range():
    with pytest.raises((IndexError, RuntimeError)):
        make(DenseEmbeddingBag)(torch.tensor([[200]]))


def test_max_takes_the_first_of_equals_and_lets_nan_through():
    bags = as_bags(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 3]))
    vectors = torch.tensor([[1.0, 5.0], [1.0, 5.0], [0.0, math.nan], [-math.inf, 2.0]], requires_grad=True)
    output = pool(vectors, bags, "max")
    torch.testing.assert_close(output, torch.tensor([[1.0, math.nan], [-math.inf, 2.0]]), equal_nan=True)
    output.sum().backward()
    assert vectors.grad.tolist() == [[1, 0], [0, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize(("fraction", "text"), [(0.5, "0.5"), (1 / 22, "0.04546"), (1e-6 / 3, "0.0000003334")])
def test_fractions_are_printed_rounded_up(fraction, text):
    assert at_least(fraction) == text
    assert float(text) >= fraction


SIXTEEN_BITS = {m: share for m, share in METHODS.items() if m is not DenseEmbeddingBag}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("method", SIXTEEN_BITS)
def test_a_long_bag_in_sixteen_bits_is_as_right_with_offsets_as_without(method, dtype):
    """3,000 ones added one by one stand still at 256 and 2,048."""
    module = make(method, "mean", dtype=dtype)
    ids = torch.full((3000,), 7)
    one = module(ids.unsqueeze(0)).double()
    assert torch.allclose(module(ids, torch.tensor([0])).double(), one, rtol=0.02, atol=1e-4)
    module(ids, torch.tensor([0])).sum().backward()
    with_offsets = [p.grad.double().sum() for p in module.parameters()]
    module.zero_grad()
    module(ids.unsqueeze(0)).sum().backward()
    for found, parameter in zip(with_offsets, module.parameters(), strict=True):
        assert torch.allclose(found, parameter.grad.double().sum(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("rows", [3_000_000_000, 2**32 + 10])
def test_ids_of_32_bits_fit_into_any_table(rows):
    check_ids(torch.tensor([5, 11], dtype=torch.int32), rows)
    with pytest.raises(IndexError, match=f"index -1 at position 1 .* from 0 to {rows - 1}"):
        check_ids(torch.tensor([5, -1], dtype=torch.int32), rows)


def test_a_mean_in_float16_does_not_overflow_on_the_way():
    weight = torch.full((240,), 1000.0, dtype=torch.float16)
    module = HashedEmbeddingBagReference(200, 12, 0.1, "mean", _weight=weight)
    ids = torch.zeros(1, 100, dtype=torch.int64)
    assert torch.equal(module(ids), torch.full((1, 12), 1000.0, dtype=torch.float16))
