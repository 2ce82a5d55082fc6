"""HashedEmbedding: one vector per id; and what both modules keep in files and copies."""

import copy
import pickle

import pytest
import torch
from torch.nn import functional

import bench_engine.kernels
from bench_engine.kernels import HashedEmbedding, HashedEmbeddingBag

pytestmark = pytest.mark.usefixtures("hashed_ops")
OPTIONS = [
    {},
    {"hash": "mix64", "seed": 5, "table": 1, "signs": True, "padding_idx": 3},
    {"block_size": 8, "padding_idx": -1},
    {"hash": "mix64", "signs": True, "block_size": 3},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", [(), (5,), (0,), (2, 3), (2, 3, 4), (3, 0)])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_vectors_are_rows_of_the_table(options, shape, index):
    torch.manual_seed(0)
    module = HashedEmbedding(50, 12, 0.2, dtype=torch.float64, **options)
    ids = torch.randint(0, 50, shape).to(index)
    if ids.dim():
        ids.view(-1)[:1] = 3
    found = module(ids)
    assert found.shape == (*shape, 12)
    assert torch.equal(found, functional.embedding(ids, module.materialize()))
    found.pow(2).sum().backward()
    table = module.vectors(torch.arange(50))
    (expected,) = torch.autograd.grad(functional.embedding(ids, table).pow(2).sum(), module.hashed_weight)
    torch.testing.assert_close(module.hashed_weight.grad, expected)


def test_the_vector_of_padding_is_zero_and_has_no_gradient():
    module = HashedEmbedding(50, 8, 0.5, padding_idx=-47)
    assert module.padding_idx == 3
    module(torch.tensor([3, 3])).sum().backward()
    assert module(torch.tensor([3])).eq(0).all()
    assert module.materialize([3]).eq(0).all()
    assert module.hashed_weight.grad.eq(0).all()


def test_it_is_the_bag_of_one_id():
    weight = torch.randn(100)
    options = {"_weight": weight, "hash": "mix64", "seed": 4, "signs": True, "block_size": 4}
    ids = torch.randint(0, 60, (7, 1))
    assert torch.equal(HashedEmbedding(60, 9, **options)(ids)[:, 0], HashedEmbeddingBag(60, 9, **options)(ids))


def test_ids_that_are_not_contiguous():
    module = HashedEmbedding(50, 8, 0.5)
    ids = torch.randint(0, 50, (6, 4)).t()
    assert torch.equal(module(ids), functional.embedding(ids, module.materialize()))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("cls", [HashedEmbedding, HashedEmbeddingBag])
def test_copies_compute_the_same(tmp_path, cls, options):
    module = cls(100, 8, 0.25, **options)
    ids = torch.randint(0, 100, (3, 4))
    torch.save(module, tmp_path / "module.pt")
    for twin in (
        copy.deepcopy(module),
        pickle.loads(pickle.dumps(module)),
        torch.load(tmp_path / "module.pt", weights_only=False),
    ):
        assert torch.equal(twin(ids), module(ids))
        assert twin.layout == module.layout
        assert repr(twin) == repr(module)
        assert twin.hashed_weight.data_ptr() != module.hashed_weight.data_ptr()


@pytest.mark.parametrize("cls", [HashedEmbedding, HashedEmbeddingBag])
def test_the_state_dict_is_that_of_the_original(cls):
    module = cls(100, 8, 0.25, hash="mix64", seed=3, signs=True, block_size=4, padding_idx=1)
    assert list(module.state_dict()) == ["hashed_weight"]
    weight = torch.randn(200)
    module.load_state_dict({"hashed_weight": weight})
    assert torch.equal(module.hashed_weight.detach(), weight)
    with pytest.raises(RuntimeError, match="size mismatch"):
        module.load_state_dict({"hashed_weight": weight[:-1]})


def test_a_module_pickled_before_there_were_options_loads():
    module = HashedEmbeddingBag(100, 8, 0.25, "mean")
    state = module.__dict__.copy()
    for name in ("hash", "seed", "table", "signs", "block_size", "padding_idx", "include_last_offset"):
        del state[name]
    old = HashedEmbeddingBag.__new__(HashedEmbeddingBag)
    old.__setstate__(state)
    ids = torch.randint(0, 100, (3, 4))
    assert torch.equal(old(ids), module(ids))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_example_of_the_original(mode):
    bag = HashedEmbeddingBag(1000, 16, 0.1, mode)
    sizes = torch.randint(0, 7, (18,), generator=torch.Generator().manual_seed(0))
    assert 0 in sizes
    ids, offsets = torch.randint(0, 1000, (int(sizes.sum()),)), sizes.cumsum(0) - sizes
    output = bag(ids, offsets)
    assert output.shape == (18, 16)
    assert torch.equal(output.eq(0).all(1), sizes.eq(0))
    table = bag.materialize()
    assert table.shape == (1000, 16)
    torch.testing.assert_close(output, functional.embedding_bag(ids, table, offsets, mode=mode))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_padding_and_last_offsets_are_those_of_torch(mode, last):
    bag = HashedEmbeddingBag(50, 6, 0.5, mode, hash="mix64", padding_idx=3, include_last_offset=last)
    ids, offsets = torch.tensor([3, 1, 2, 3, 3, 4, 3, 5, 3]), torch.tensor([0, 1, 4, 5, 5, 7, *([9] if last else [])])
    samples = torch.randn(9) if mode == "sum" else None
    expected = functional.embedding_bag(
        ids, bag.materialize(), offsets, mode=mode, per_sample_weights=samples, include_last_offset=last, padding_idx=3
    )
    torch.testing.assert_close(bag(ids, offsets, samples), expected)


def test_text_of_a_module_names_what_differs():
    module = HashedEmbeddingBag(100, 8, 0.25, hash="mix64", seed=3, block_size=4)
    assert repr(module) == "HashedEmbeddingBag(100, 8, mode='sum', slots=200, hash='mix64', seed=3, block_size=4)"


def test_both_modules_are_exported_by_the_package():
    assert {"HashedEmbedding", "HashedEmbeddingBag"} <= set(bench_engine.kernels.__all__)
