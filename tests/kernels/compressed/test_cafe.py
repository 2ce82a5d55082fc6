"""Ids of large gradients get rows of their own while a table trains, and lose them."""

import copy
import math
import pickle

import pytest
import torch

from bench_engine.benchmarks.lookup import gradient_error, output_error
from bench_engine.kernels.compressed.cafe import CafeEmbeddingBag

ROWS, DIM = 500, 8


def make(compression=0.2, **options):
    return CafeEmbeddingBag(ROWS, DIM, compression, **{"threshold": 3.0, **options})


def batches(count, seed=0, size=64):
    """Ids (size, 2) of a law with a long tail, and what their bags should be."""
    draw = torch.Generator().manual_seed(seed)
    target = torch.randn(ROWS, DIM, generator=draw)
    for _ in range(count):
        ids = (torch.rand(size, 2, generator=draw) ** 4 * ROWS).long()
        yield ids, target[ids].sum(1)


def train(module, optimizer, steps):
    for ids, wanted in steps:
        optimizer.zero_grad()
        (module(ids) - wanted).pow(2).mean().backward()
        optimizer.step()


def state(module, optimizer):
    return [*module.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())]


@pytest.fixture(scope="module")
def after_training():
    torch.manual_seed(0)
    module = make()
    train(module, module.training_optimizer(0.1, 1e-3), batches(20))
    return module


@pytest.fixture
def trained(after_training):
    return copy.deepcopy(after_training)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("compression", [0.1, 0.2, 0.5, 1.0])
def test_all_that_it_holds_is_within_its_share_of_the_bytes(levels, compression):
    module = make(compression, levels=levels)
    held = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    budget = int(compression * ROWS * DIM * 4)
    assert budget - DIM * 4 < held <= budget
    hot = module.sketch.num_buckets
    assert module.metadata_bytes() == 48 * hot + 8
    assert hot == int((budget - 8) * 0.3 / (DIM * 4 + 48) + 1e-9)
    assert len(module.weight) == module.first_rows + module.second_rows + hot
    assert (module.second_rows > 0) == (levels == 2)


def test_rows_are_shared_by_the_remainder_before_anything_is_hot():
    module = make()
    table, shared = module.materialize(), module.first_rows
    assert torch.equal(table[:shared], module.weight[:shared])
    assert torch.equal(table, table[torch.arange(ROWS) % shared])
    assert not module.live_mask(torch.arange(ROWS)).any()


def test_frequent_ids_become_hot_and_learn_alone(trained):
    live = trained.live_mask(torch.arange(ROWS)).squeeze(1)
    assert 0 < live.sum() <= trained.sketch.num_buckets
    often = torch.cat([ids for ids, _ in batches(20)]).reshape(-1).bincount(minlength=ROWS)
    assert often[live].float().mean() > 5 * often[~live].float().mean()
    hot = live.nonzero().squeeze(1)
    before = trained.materialize().clone()
    trained.zero_grad()
    trained(hot[:1].reshape(1, 1)).sum().backward()
    with torch.no_grad():
        trained.weight -= trained.weight.grad
    assert (trained.materialize() != before).any(1).nonzero().squeeze(1).tolist() == hot[:1].tolist()


def test_an_id_takes_its_vector_along_and_its_row_starts_anew():
    module = make(levels=2)
    optimizer = module.training_optimizer(0.1, 1e-3)
    moved = 0
    for step in batches(12):
        train(module, optimizer, [step])
        optimizer.state[module.weight]["sum"].add_(1)
        live = module.live_mask(torch.arange(ROWS)).squeeze(1)
        table, sums = module.materialize(), optimizer.state[module.weight]["sum"].clone()
        with torch.no_grad():  # a step that changes nothing but who is hot
            ids = torch.arange(0, ROWS, 5)
            module._recorded.append((ids, torch.ones(len(ids))))
            module._move(optimizer)
        new = module.live_mask(torch.arange(ROWS)).squeeze(1) & ~live
        assert torch.equal(module.materialize()[new], table[new])
        rows = module.first_rows + module.second_rows + module.sketch.find(new.nonzero().squeeze(1))[0] - 1
        now = optimizer.state[module.weight]["sum"]
        assert not now[rows].any()
        others = torch.ones(len(now), dtype=torch.bool).index_fill(0, rows, False)
        assert torch.equal(now[others], sums[others])
        moved += int(new.sum())
    assert moved


def test_who_is_no_longer_seen_shares_again():
    module = make(decay=0.5)
    optimizer = module.training_optimizer(0.1, 1e-3)
    train(module, optimizer, batches(15))
    first = module.live_mask(torch.arange(ROWS)).squeeze(1)
    train(module, optimizer, ((ROWS - 1 - ids, wanted) for ids, wanted in batches(40, seed=1)))
    now = module.live_mask(torch.arange(ROWS)).squeeze(1)
    lost = (first & ~now).nonzero().squeeze(1)
    assert len(lost)
    assert (now & ~first).any()
    assert torch.equal(module.materialize(lost), module.weight[lost % module.first_rows])


def test_ids_of_middling_scores_add_a_second_row():
    module = make(levels=2)
    module.sketch.insert(torch.tensor([1, 2]), torch.tensor([0.5, 0.7]))  # a fifth of the threshold is 0.6
    shared, second = module.first_rows, module.second_rows
    assert torch.equal(module.materialize([1]), module.weight[1 % shared].unsqueeze(0))
    expected = module.weight[2 % shared] + module.weight[shared + 2 % second]
    assert torch.equal(module.materialize([2]), expected.unsqueeze(0))


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_outputs_and_gradients_are_those_of_float64(mode, levels):
    torch.manual_seed(1)
    module = make(mode=mode, levels=levels)
    train(module, module.training_optimizer(0.1, 1e-3), batches(12))
    assert module.live_mask(torch.arange(ROWS)).any()
    ids, _ = next(batches(1, seed=2))
    output_error(module, ids, mode)
    gradient_error(module, ids, torch.randn(len(ids), DIM), mode)


def test_a_score_is_the_norm_of_a_lookups_gradient_over_their_mean():
    module = make()
    optimizer = module.training_optimizer(0.1, 1e-3)
    ids = torch.tensor([[3, 4], [3, 5], [6, 6]])
    factors = torch.tensor([[1.0], [2.0], [0.0]])
    (module(ids) * factors).sum().backward()
    optimizer.step()
    # Norms of the six lookups are 1, 1, 2, 2 and none, each times sqrt(8); the mean of those there are is 1.5.
    _, scores = module.sketch.find(torch.tensor([3, 4, 5, 6]))
    assert scores.tolist() == pytest.approx([3 / 1.5, 1 / 1.5, 2 / 1.5, 0])


@pytest.mark.parametrize(("levels", "eps"), [(1, 1e-8), (2, 1e-3)])
def test_with_one_level_its_adagrad_holds_no_row_back(levels, eps):
    (group,) = make(levels=levels).training_optimizer(0.1, 1e-3).param_groups
    assert (group["lr"], group["eps"]) == (0.1, eps)


def test_evaluation_and_dropped_batches_change_nothing(trained):
    optimizer = trained.follow(torch.optim.SGD(trained.parameters(), lr=0.1))
    before = [value.clone() for value in trained.state_dict().values()]
    ids, _ = next(batches(1))
    with torch.no_grad():
        trained(ids)
    trained(ids).sum().backward()
    optimizer.zero_grad()
    optimizer.step()
    assert all(map(torch.equal, trained.state_dict().values(), before))


def test_a_training_that_goes_on_is_one_that_was_not_interrupted():
    torch.manual_seed(0)
    module = make()
    optimizer = module.training_optimizer(0.1, 1e-3)
    steps = list(batches(16))
    train(module, optimizer, steps[:8])
    saved = pickle.loads(pickle.dumps((module.state_dict(), optimizer.state_dict())))
    train(module, optimizer, steps[8:])
    other = make()
    again = other.training_optimizer(0.1, 1e-3)
    other.load_state_dict(saved[0])
    again.load_state_dict(saved[1])
    train(other, again, steps[8:])
    assert all(map(torch.equal, state(other, again), state(module, optimizer)))


def test_a_training_has_the_same_bits_at_any_number_of_threads():
    found, threads = [], torch.get_num_threads()
    for count in (1, 3):
        torch.set_num_threads(count)
        torch.manual_seed(0)
        module = make()
        optimizer = module.training_optimizer(0.1, 1e-3)
        train(module, optimizer, batches(4, size=20_000))
        found.append(state(module, optimizer))
    torch.set_num_threads(threads)
    assert all(map(torch.equal, *found))


def test_copies_look_up_the_same_and_follow_no_optimizer(trained):
    other = copy.deepcopy(trained)
    assert torch.equal(other.materialize(), trained.materialize())
    before = other.sketch.buckets.clone()
    train(other, torch.optim.SGD(other.parameters(), lr=0.1), batches(5))
    assert torch.equal(other.sketch.buckets, before)


def test_a_gradient_that_is_no_number_is_refused(trained):
    optimizer = trained.follow(torch.optim.SGD(trained.parameters(), lr=0.1))
    before = [value.clone() for value in trained.state_dict().values()]
    (trained(torch.tensor([[1]])) * math.nan).sum().backward()
    with pytest.raises(FloatingPointError, match="nothing was changed"):
        optimizer.step()
    assert all(map(torch.equal, trained.state_dict().values(), before))
    optimizer.zero_grad()
    train(trained, optimizer, batches(1))
    assert all(value.isfinite().all() for value in trained.state_dict().values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": 3}, "levels must be 1 or 2, not 3"),
        ({"hash_rate": 0.0}, "hash_rate must be above 0 and at most 1, not 0.0"),
        ({"decay": 1.5}, "decay must be above 0 and at most 1"),
        ({"threshold": -1.0}, "threshold must be above 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize("levels", [1, 2])
def test_the_smallest_compression_that_is_named_works(levels):
    with pytest.raises(ValueError, match=r"compression 0.001 leaves no hot row and shared ones of 500 ids") as error:
        make(0.001, levels=levels)
    named = float(str(error.value).split("the smallest is ")[1])
    module = make(named, levels=levels)
    assert (module.sketch.num_buckets, len(module.weight)) == (1, levels + 1)


def test_an_optimizer_of_other_parameters_is_refused():
    with pytest.raises(ValueError, match="the optimizer does not train this table"):
        make().follow(torch.optim.SGD(make().parameters(), lr=0.1))


def test_a_state_of_other_levels_is_refused_and_changes_nothing():
    one, two = (CafeEmbeddingBag(1000, 8, 0.3, levels=levels) for levels in (1, 2))
    before = two.weight.detach().clone()
    with pytest.raises(ValueError, match="saved with shared rows of"):
        two.load_state_dict(one.state_dict())
    assert torch.equal(two.weight, before)


def test_gradients_that_were_set_to_zero_are_dropped(trained):
    optimizer = trained.follow(torch.optim.SGD(trained.parameters(), lr=0.1))
    ids, _ = next(batches(1))
    (trained(ids) * float("nan")).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    before = trained.weight.detach().clone()
    optimizer.step()
    assert torch.equal(trained.weight, before)


def test_a_gradient_of_a_closure_is_refused_too():
    module = CafeEmbeddingBag(200, 12, 0.3)
    optimizer, before = module.training_optimizer(0.1, 1e-3), module.weight.detach().clone()

    def closure():
        optimizer.zero_grad()
        loss = (module(torch.tensor([[1]])) * math.nan).sum()
        loss.backward()
        return loss

    with pytest.raises(FloatingPointError, match="nothing was changed"):
        optimizer.step(closure)
    assert torch.equal(module.weight, before)
