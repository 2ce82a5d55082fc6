"""Parts of vectors are clustered while a table trains."""

import copy

import pytest
import torch

from bench_engine.benchmarks.lookup import gradient_error, output_error
from bench_engine.kernels.compressed.clustered import ClusteredEmbeddingBag

ROWS, DIM = 400, 16


def make(compression=0.2, **options):
    torch.manual_seed(0)
    return ClusteredEmbeddingBag(ROWS, DIM, compression, **options)


def train(module, steps):
    optimizer = module.training_optimizer(0.5, 1e-3)
    draw = torch.Generator().manual_seed(1)
    target = torch.randn(8, DIM, generator=draw).repeat(ROWS // 8, 1)  # eight kinds of ids
    for _ in range(steps):
        ids = torch.randint(ROWS, (ROWS,), generator=draw)
        optimizer.zero_grad()
        (module(ids.unsqueeze(1)) - target[ids]).pow(2).mean().backward()
        optimizer.step()
    return optimizer, float((module.materialize() - target).pow(2).mean())


@pytest.mark.parametrize("columns", [None, 1, 2, 4])
@pytest.mark.parametrize("compression", [0.12, 0.2, 0.5, 1.0])
def test_all_that_it_holds_is_within_its_share_of_the_bytes(columns, compression):
    module = make(compression, columns=columns)
    held = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    budget = int(compression * ROWS * DIM * 4)
    assert held <= budget
    assert held > budget - 8 * DIM or module.weight.size(1) == 256
    assert module.metadata_bytes() == ROWS * module.weight.size(2) + 16


@pytest.mark.parametrize(("compression", "columns"), [(0.03, 1), (0.06, 2), (0.1, 4)])
def test_vectors_have_as_many_parts_as_the_bytes_of_codes_allow(compression, columns):
    assert make(compression).weight.size(2) == columns


def test_clusterings_come_as_lookups_double_and_end():
    module = make(first=2, most=3)
    found = []
    optimizer = module.training_optimizer(0.1, 1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        module(torch.arange(ROWS).unsqueeze(1)).sum().backward()
        optimizer.step()
        found.append(int(module.progress[1]))
    assert [found.index(n) + 1 for n in (1, 2, 3)] == [2, 4, 8]
    assert found[-1] == 3


def test_a_clustering_keeps_what_a_cluster_has_in_common():
    module = make()
    with torch.no_grad():  # ids of a first row differ by nothing else
        module.weight[1] = 0
    before = module.materialize()
    module.cluster()
    assert (module.materialize() - before).pow(2).mean() < 0.1 * before.var()
    assert not module.weight[1].any()


def test_clustering_finds_ids_that_are_alike():
    (_, without), (_, found) = (train(make(0.6, most=most), 100) for most in (0, 3))
    assert found < without / 4


def test_states_of_the_optimizer_start_anew():
    module = make(first=2, most=1)
    optimizer, _ = train(module, 2)
    assert int(module.progress[1]) == 1
    assert not optimizer.state[module.weight]["sum"].any()


def test_hashes_change_with_a_clustering():
    module = make()
    ids = torch.arange(ROWS)
    before = module._hashes(ids, 0)
    module.cluster()
    assert (module._hashes(ids, 0) != before).float().mean() > 0.5


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_outputs_and_gradients_are_those_of_float64(mode):
    module = make(mode=mode)
    module.cluster()
    torch.nn.init.normal_(module.weight)
    ids = torch.randint(ROWS, (32, 5))
    output_error(module, ids, mode)
    gradient_error(module, ids, torch.randn(32, DIM), mode)


def test_copies_look_up_the_same_and_are_not_clustered():
    module = make(first=1)
    train(module, 2)
    other = copy.deepcopy(module)
    assert torch.equal(other.materialize(), module.materialize())
    done = int(other.progress[1])
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(10):
        other(torch.arange(ROWS).unsqueeze(1)).sum().backward()
        optimizer.step()
    assert int(other.progress[1]) == done


def test_the_smallest_compression_that_is_named_works():
    with pytest.raises(ValueError, match=r"compression 0.01 leaves no row beside codes of 400 ids") as error:
        make(0.01)
    named = float(str(error.value).split("the smallest is ")[1])
    assert make(named).weight.size(1) == 1


def test_columns_have_to_divide_the_dimension():
    with pytest.raises(ValueError, match="columns must be a divisor of 16, not 3"):
        make(columns=3)
