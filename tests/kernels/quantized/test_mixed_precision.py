"""More bits for ids that are looked up more often."""

import copy

import pytest
import torch

from bench_engine.kernels.quantized.mixed_precision import STORAGES, MixedPrecisionEmbeddingBag

pytestmark = pytest.mark.usefixtures("built_kernels")

ROWS = 1000


def counts() -> torch.Tensor:
    """A long tail in no order, and ids that nobody asked for."""
    each = (200_000 / torch.arange(1, ROWS + 1) ** 1.5).long()
    each[800:] = 0
    return each[torch.randperm(ROWS, generator=torch.Generator().manual_seed(0))]


def make(compression=0.1, dim=16, **options):
    return MixedPrecisionEmbeddingBag(ROWS, dim, compression, counts=counts(), seed=1, **options)


@pytest.mark.parametrize("dim", [1, 4, 8, 10, 16, 40])
@pytest.mark.parametrize("compression", [0.1, 0.2, 0.3, 1.0])
def test_all_that_it_holds_is_within_its_share_of_the_bytes(dim, compression):
    budget = int(compression * ROWS * dim * 4)
    if budget < 8 * (32 + 12) + 40:
        pytest.skip("no row fits")
    module = make(compression, dim)
    held = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    assert held <= budget
    rows = sum(t.num_embeddings for t in module.tables.values())
    assert held > budget - 2 * dim or rows == 800  # nothing is spent on ids that nobody asked for
    scales = sum(2 * t.num_embeddings for name, t in module.tables.items() if name != "float16")
    assert module.metadata_bytes() == 8 * (32 + 12) + scales


@pytest.mark.parametrize("compression", [0.05, 0.1, 0.3])
def test_who_is_looked_up_more_often_has_no_fewer_bits(compression):
    module = make(compression)
    kind, _ = module.rows(torch.arange(ROWS))
    order = counts().argsort(stable=True)
    assert (kind[order].diff()[counts()[order].diff() > 0] >= 0).all()
    assert len(kind.unique()) >= 3


def test_ids_of_a_kind_have_rows_of_their_own_in_their_order():
    module = make()
    kind, rows = module.rows(torch.arange(ROWS))
    table = module.materialize()
    assert not table[kind == 0].any()
    for number, storage in enumerate(STORAGES, 1):
        if storage in module.tables:
            mine = rows[kind == number]
            assert torch.equal(mine, torch.arange(module.tables[storage].num_embeddings))
            assert torch.equal(table[kind == number], module.tables[storage].materialize())
    assert torch.equal(module.live_mask(torch.arange(ROWS)).squeeze(1), kind > 0)


def test_a_step_moves_the_rows_that_were_looked_up_and_no_other():
    module = make()
    optimizer = module.training_optimizer(0.1, 1e-3)
    kind, _ = module.rows(torch.arange(ROWS))
    ids = torch.cat([(kind == number).nonzero().squeeze(1)[:2] for number in range(len(STORAGES) + 1)])
    before = module.materialize()
    module(ids.unsqueeze(1)).sum().backward()
    optimizer.step()
    moved = (module.materialize() != before).any(1)
    expected = torch.zeros(ROWS, dtype=torch.bool)
    expected[ids] = kind[ids] > 0
    assert torch.equal(moved, expected)
    assert module.optimizer_bytes(optimizer) == 4 * int((kind > 0).sum())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_pool_the_vectors_that_materialize_shows(mode):
    module = make(mode=mode)
    ids = torch.randint(ROWS, (20, 3), generator=torch.Generator().manual_seed(1))
    vectors = module.materialize()[ids]
    expected = vectors.amax(1) if mode == "max" else getattr(vectors, mode)(1)
    torch.testing.assert_close(module(ids), expected)
    twin = copy.deepcopy(module)
    assert torch.equal(twin(ids), module(ids))


def test_the_smallest_compression_that_is_named_works():
    with pytest.raises(ValueError, match=r"compression 0.001 leaves no row beside the kinds of 1000 ids") as error:
        make(0.001)
    named = float(str(error.value).split("the smallest is ")[1])
    assert [t.num_embeddings for t in make(named).tables.values()] == [1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.ones(5, dtype=torch.int64), r"counts must be of shape \(1000,\), not \(5,\)"),
        (torch.zeros(ROWS, dtype=torch.int64), "no id was looked up in the training part"),
        (torch.full((ROWS,), 0.5), "counts must be whole numbers of at least 0"),
        (torch.full((ROWS,), -1), "counts must be whole numbers of at least 0"),
    ],
)
def test_bad_counts_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        MixedPrecisionEmbeddingBag(ROWS, 16, 0.1, counts=given)


def test_counts_of_few_bits_are_counts_too():
    small, large = (
        MixedPrecisionEmbeddingBag(ROWS, 16, 0.1, counts=torch.full((ROWS,), 5, dtype=dtype), seed=0)
        for dtype in (torch.uint8, torch.int64)
    )
    assert torch.equal(small.kinds, large.kinds)
    assert sum(t.nbytes for t in [*small.parameters(), *small.buffers()]) <= 0.1 * ROWS * 16 * 4


def test_a_model_in_low_precision():
    plain = make()
    low = copy.deepcopy(plain).bfloat16()
    ids = torch.randint(ROWS, (20, 1), generator=torch.Generator().manual_seed(1))
    assert torch.equal(low(ids), plain(ids).bfloat16())
    assert low.materialize().dtype == torch.bfloat16


def test_a_state_of_another_budget_changes_nothing():
    module, other = make(0.1), make(0.2)
    before, kinds = module.materialize(), module.kinds.clone()
    with pytest.raises(ValueError, match="make it with the same budget"):
        module.load_state_dict(other.state_dict())
    assert torch.equal(module.kinds, kinds)
    assert torch.equal(module.materialize(), before)
