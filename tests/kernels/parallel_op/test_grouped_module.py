"""GroupedEmbeddingBag as a module: its settings, copies and pickles."""

import copy
import pickle

import pytest
import torch
from torch.nn.utils import prune

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import switching
from bench_engine.kernels.parallel_op.grouped_embedding import GroupedEmbeddingBag
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.processes import run

pytestmark = pytest.mark.usefixtures("grouped_ops")


def module() -> GroupedEmbeddingBag:
    generator = torch.Generator().manual_seed(0)
    return GroupedEmbeddingBag([torch.randn(50, dim, generator=generator) for dim in (4, 8)], names=["user", "item"])


def ids() -> list[torch.Tensor]:
    return [torch.arange(12).view(4, 3), torch.arange(8).view(4, 2)]


def test_it_heeds_the_settings_of_the_environment(cache_dir):
    bags = module()
    for _ in range(400):
        bags(ids())
        if ops.unsettled() == {}:
            break
    assert [path.name.startswith("choices-") for path in cache_dir.iterdir()] == [True]


def test_it_heeds_the_settings_that_parallel_op_was_switched_on_with(monkeypatch):
    told: list[Settings] = []
    monkeypatch.setattr(ops, "configure", told.append)
    switching.enable(Settings(threads=1))
    try:
        bags = module()
    finally:
        switching.disable()
    copy.deepcopy(bags)
    assert told == [Settings(threads=1), Settings.from_environment()]


def test_settings_that_nobody_understands(monkeypatch):
    monkeypatch.setenv("MIRROR_PARALLEL_OP_SCHEDULE", "best")
    with pytest.raises(ValueError, match="known: auto, table, batch, flat"):
        module()


def test_it_is_unpickled_in_a_new_process(tmp_path):
    bags = module()
    (tmp_path / "bags.pickle").write_bytes(pickle.dumps((bags, ids(), bags(ids()))))
    done = run(f"""
import pickle, torch
with open("{tmp_path}/bags.pickle", "rb") as file:
    bags, ids, expected = pickle.load(file)
torch.testing.assert_close(bags(ids), expected)
ids[1][2, 1] = 99
try:
    bags(ids)
except IndexError as error:
    print(error)
""")
    assert "item: index 99" in done.stdout


@pytest.mark.parametrize("sizes", [(3, 2), (1, 1), (0, 4)])
def test_ids_of_all_tables_in_one_tensor(sizes):
    tables = [torch.randn(50, dim) for dim in (4, 8)]
    joined = torch.randint(0, 50, (6, sum(sizes)))
    found = GroupedEmbeddingBag(tables, bag_sizes=sizes)(joined)
    assert torch.equal(found, GroupedEmbeddingBag(tables)(list(joined.split(sizes, 1))))
    assert torch.equal(copy.deepcopy(GroupedEmbeddingBag(tables, bag_sizes=sizes))(joined), found)


def test_one_tensor_of_ids_that_does_not_fit():
    tables = [torch.randn(50, 4), torch.randn(50, 4)]
    with pytest.raises(ValueError, match="bag_sizes must hold a size for each of 2 tables"):
        GroupedEmbeddingBag(tables, bag_sizes=(1, 2, 3))
    bags = GroupedEmbeddingBag(tables, bag_sizes=(1, 2))
    with pytest.raises(ValueError, match=r"ids must be \(bags, 3\), all bag_sizes together, not \(5, 4\)"):
        bags(torch.zeros(5, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="one tensor, without offsets"):
        bags([torch.zeros(5, 1, dtype=torch.int64), torch.zeros(5, 2, dtype=torch.int64)])


def test_tables_that_are_pruned_stay_in_their_places():
    bags = GroupedEmbeddingBag([torch.full((50, 4), 1.0), torch.full((50, 4), 2.0)])
    prune.custom_from_mask(bags.weights, "0", torch.zeros(50, 4))
    found = bags([torch.zeros(3, 1, dtype=torch.int64)] * 2)
    assert found.tolist() == [[0.0] * 4 + [2.0] * 4] * 3
