"""Bad input is refused in a sentence that names it, and nothing changes."""

import math
import os

import numpy as np
import pytest
import torch

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, checkpoint
from tests.kernels.fiited.twins import LAYOUTS, METHODS, OPTIMIZERS, Case, draw_call, frozen, optimizer_of, train

each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def trained(layout="compact", method="adagrad", steps=6, **changes):
    case = Case(**{**vars(CASE), "optimizer": OPTIMIZERS[method], **changes})
    module, optimizer = case.module(layout=layout)
    random = np.random.default_rng(0)
    train(module, optimizer, [draw_call(random, case) for _ in range(steps)])
    optimizer.zero_grad()
    return module, optimizer


CASE = Case((40,), 12, 4, 0.7, OPTIMIZERS["adagrad"], {"interval": 4})


# Making a module


@pytest.mark.parametrize("ratio", [1.0, 1.5, -0.1, math.nan, math.inf, True, False, "half", None])
def test_the_ratio_is_a_fraction_below_1(ratio):
    with pytest.raises((ValueError, TypeError), match="pruning_ratio"):
        FIITEDEmbeddingBag(100, 8, 4, ratio)


def test_a_ratio_that_leaves_nothing():
    with pytest.raises(ValueError, match=r"0\.999"):
        FIITEDEmbeddingBag(10, 8, 4, 0.999)
    with pytest.raises(ValueError, match="pruning_ratio"):
        FIITEDEmbeddingBag([1, 1000], 8, 4, 0.9, scope="table")


@pytest.mark.parametrize(("dim", "chunks"), [(8, 3), (8, 16), (7, 2)])
def test_chunks_must_divide_the_dimension(dim, chunks):
    with pytest.raises(ValueError, match=rf"embedding_dim.*{dim}.*num_chunks.*{chunks}|num_chunks.*{chunks}.*{dim}"):
        FIITEDEmbeddingBag(100, dim, chunks, 0.5)


@pytest.mark.parametrize("interval", [0, -1, 1.5, True, "often", None])
def test_the_interval_is_a_number_of_steps(interval):
    with pytest.raises((ValueError, TypeError), match="interval"):
        FIITEDEmbeddingBag(100, 8, 4, 0.5, interval=interval)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("num_embeddings", [0, -1, 2.0, True, "ten", [], [3, 0], [3, 2.5], [True]]),
        ("embedding_dim", [0, -4, 8.0, True, None]),
        ("num_chunks", [0, -1, 4.0, True, None]),
        ("decay", [-0.1, 1.1, math.nan, "half", None]),
        ("scope", ["row", "", None, 1]),
        ("score", ["magnitude", "", None, 1]),
        ("mode", ["max", "median", None]),
        ("layout", ["dense", "", None]),
        ("init", ["zeros", "", None]),
        ("min_turnover", [-0.1, 1.1, math.nan, "some", None]),
        ("candidate_share", [-0.1, math.nan, math.inf, "all", None]),
        ("admission_filter", [-1, 1.5, True, None]),
        ("ttl", [-1, 1.5, True, None]),
        ("seed", [0.5, "x", True]),
        ("hashed_ids", ["no", None]),
    ],
)
def test_arguments_are_named(name, values):
    good = {"num_embeddings": 100, "embedding_dim": 8, "num_chunks": 4, "pruning_ratio": 0.5}
    for value in values:
        with pytest.raises((ValueError, TypeError), match=name):
            FIITEDEmbeddingBag(**{**good, name: value})


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32])
def test_weights_are_float32(dtype):
    with pytest.raises((ValueError, TypeError), match="float32"):
        FIITEDEmbeddingBag(100, 8, 4, 0.5, dtype=dtype)
    assert FIITEDEmbeddingBag(100, 8, 4, 0.5, dtype=torch.float32).materialize().dtype == torch.float32


@pytest.mark.parametrize("change", [torch.float64, torch.float16])
def test_a_module_stays_float32(change):
    module = FIITEDEmbeddingBag(100, 8, 4, 0.5)
    with pytest.raises(TypeError, match="float32"):
        module.to(change)
    assert module(torch.tensor([[1]])).dtype == torch.float32


def test_a_device_that_it_cannot_be_on():
    with pytest.raises((ValueError, TypeError, RuntimeError, NotImplementedError), match="meta"):
        FIITEDEmbeddingBag(100, 8, 4, 0.5, device="meta")


# Looking up


@each_layout
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_ids_out_of_range_are_named(layout, training, index):
    module, _ = trained(layout)
    module.train(training)
    with pytest.raises(IndexError, match=r"index 40 at position 3 is out of range.* 0 to 39"):
        module(torch.tensor([[1, 2], [3, 40]], dtype=index))
    with pytest.raises(IndexError, match="index -1 at position 0"):
        module(torch.tensor([-1], dtype=index), torch.tensor([0], dtype=index))
    with pytest.raises(IndexError, match="index -7 at position 2"):
        module(torch.tensor([39, 0, -7, 99], dtype=index), torch.tensor([0, 2], dtype=index))


@each_layout
def test_a_large_batch_names_its_first_bad_id(layout, threads):
    threads(2)
    module, _ = trained(layout)
    ids = torch.randint(0, 40, (50_000, 4))
    ids[30_000, 1], ids[40_000, 2] = 2**40, -5
    with pytest.raises(IndexError, match=f"index {2**40} at position 120001"):
        module(ids)


def test_ids_are_checked_table_by_table():
    module = FIITEDEmbeddingBag([5, 50], 8, 4, 0.5)
    module([torch.tensor([[4]]), torch.tensor([[49]])])
    with pytest.raises(IndexError, match="index 5 at position 0"):
        module([torch.tensor([[5]]), torch.tensor([[4]])])
    with pytest.raises(IndexError, match="index 50 at position 1"):
        module([torch.tensor([[4]]), torch.tensor([[4, 50]])])


def test_offsets_and_shapes():
    module, _ = trained()
    with pytest.raises(ValueError, match="offsets must not fall: 1 at position 2 follows 2"):
        module(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="runs past the 1 indices"):
        module(torch.tensor([1]), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="offsets must start at 0"):
        module(torch.tensor([1, 2]), torch.tensor([1]))
    with pytest.raises(ValueError, match="there are 1 indices and no bag"):
        module(torch.tensor([1]), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(ValueError, match="offsets"):
        module(torch.tensor([1]))
    with pytest.raises(ValueError, match="offsets"):
        module(torch.tensor([[1]]), torch.tensor([0]))
    with pytest.raises(ValueError, match="input must be"):
        module(torch.zeros(2, 2, 2, dtype=torch.int64))


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.uint8])
def test_ids_are_whole_numbers(dtype):
    module, _ = trained()
    with pytest.raises(TypeError, match="input must be int32 or int64"):
        module(torch.ones(2, 2, dtype=dtype))
    with pytest.raises(TypeError, match="offsets must be int32 or int64"):
        module(torch.tensor([1, 2]), torch.zeros(1, dtype=dtype))


def test_a_list_per_table():
    several = FIITEDEmbeddingBag([5, 50], 8, 4, 0.5)
    ids = torch.tensor([[1]])
    for wrong in (ids, [ids], [ids, ids, ids]):
        with pytest.raises((ValueError, TypeError), match="2 tables"):
            several(wrong)
    with pytest.raises((ValueError, TypeError), match="offsets"):
        several([torch.tensor([1]), torch.tensor([1])], [torch.tensor([0])])


@pytest.mark.parametrize("what", ["materialize", "live_mask", "utilities"])
def test_rows_out_of_range(what):
    module, _ = trained()
    with pytest.raises(IndexError, match="row 40 at position 1 is out of range"):
        getattr(module, what)([1, 40])


# Training


@each_layout
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_is_refused_and_named(layout, method, bad):
    module, optimizer = trained(layout, method)
    before = frozen(module.state_dict()), frozen(optimizer.state_dict())
    gradient = torch.ones(3, 12)
    gradient[1, 7] = bad
    module(torch.tensor([[1, 2], [3, 4], [5, 6]])).backward(gradient)
    with pytest.raises(FloatingPointError, match="gradient"):
        optimizer.step()
    assert (frozen(module.state_dict()), frozen(optimizer.state_dict())) == before
    optimizer.zero_grad()
    module(torch.tensor([[1, 2], [3, 4]])).sum().backward()
    optimizer.step()
    assert module.utilities().isfinite().all()
    assert module.materialize().isfinite().all()


@each_layout
def test_one_bad_gradient_among_many(layout, threads):
    threads(2)
    module, optimizer = trained(layout)
    before = frozen(module.state_dict())
    gradient = torch.ones(20_000, 12)
    gradient[13_333, 5] = math.nan
    module(torch.randint(0, 40, (20_000, 3))).backward(gradient)
    with pytest.raises(FloatingPointError):
        optimizer.step()
    assert frozen(module.state_dict()) == before


@each_layout
@pytest.mark.parametrize("at", [0, 1])
def test_a_bad_gradient_of_one_module_changes_none(layout, at):
    modules = [trained(layout)[0] for _ in range(2)]
    optimizer = FIITEDOptimizer(modules, "sgd", lr=0.1)
    before = [frozen(module.state_dict()) for module in modules]
    for i, module in enumerate(modules):
        module(torch.tensor([[1]])).backward(torch.full((1, 12), math.nan if i == at else 1.0))
    with pytest.raises(FloatingPointError):
        optimizer.step()
    assert [frozen(module.state_dict()) for module in modules] == before


@each_layout
def test_huge_gradients_leave_utilities_finite(layout):
    module, optimizer = trained(layout)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.tensor([[1, 1, 1]])).backward(torch.full((1, 12), torch.finfo(torch.float32).max))
        optimizer.step()
    assert module.utilities().isfinite().all()
    assert float(module.utilities().max()) > 1e38


def test_training_without_an_optimizer_says_what_to_do():
    module = FIITEDEmbeddingBag(40, 12, 4, 0.5)
    with pytest.raises(RuntimeError, match="FIITEDOptimizer"):
        module(torch.tensor([[1]])).sum().backward()
    module.eval()
    with torch.no_grad():
        assert module(torch.tensor([[1]])).shape == (1, 12)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("method", ["momentum", "", None, 1]),
        ("lr", [-0.1, math.nan, math.inf, "fast", True]),
        ("eps", [-1e-8, math.nan, "small"]),
        ("betas", [(0.9,), (1.0, 0.9), (0.9, -0.1), 0.9, (0.9, math.nan)]),
        ("initial_accumulator_value", [-0.1, math.nan, "none"]),
    ],
)
def test_arguments_of_the_optimizer_are_named(name, values):
    module = FIITEDEmbeddingBag(40, 12, 4, 0.5)
    for value in values:
        method = {"betas": "adam"}.get(name, "adagrad")
        with pytest.raises((ValueError, TypeError), match=name.split("_")[0]):
            FIITEDOptimizer(module, **{"method": method, "lr": 0.1, name: value})


def test_what_an_optimizer_is_for():
    module = FIITEDEmbeddingBag(40, 12, 4, 0.5)
    with pytest.raises((ValueError, TypeError), match="FIITEDEmbeddingBag"):
        FIITEDOptimizer([], "sgd", lr=0.1)
    with pytest.raises((ValueError, TypeError), match="FIITEDEmbeddingBag"):
        FIITEDOptimizer(torch.nn.EmbeddingBag(4, 4), "sgd", lr=0.1)
    with pytest.raises((ValueError, TypeError), match="FIITEDEmbeddingBag"):
        FIITEDOptimizer(list(module.parameters()), "sgd", lr=0.1)


def test_a_module_that_is_given_twice_is_trained_once():
    module = trained()[0]
    optimizer = FIITEDOptimizer([module, torch.nn.Sequential(module)], "sgd", lr=0.1)
    before = module.step_count
    module(torch.tensor([[1]])).sum().backward()
    optimizer.step()
    assert module.step_count == before + 1


@pytest.mark.parametrize("ratio", [1.0, -0.1, math.nan, "half", None, True])
def test_a_dry_run_of_a_ratio_that_cannot_be(ratio):
    module, _ = trained()
    with pytest.raises((ValueError, TypeError), match="pruning_ratio"):
        module.dry_run(ratio)


# Checkpoints


@each_layout
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_chunks": 2}, "num_chunks.*4.*2|num_chunks.*2.*4"),
        ({"dim": 8}, "embedding_dim.*12.*8|embedding_dim.*8.*12"),
        ({"tables": (41,)}, "num_embeddings|rows"),
        ({"tables": (30, 10)}, "num_embeddings|tables"),
    ],
)
def test_a_checkpoint_of_another_shape(layout, changes, named):
    state = trained(layout)[0].state_dict()
    other = trained(layout, **changes)[0]
    before = frozen(other.state_dict())
    with pytest.raises((ValueError, RuntimeError), match=named):
        other.load_state_dict(state)
    assert frozen(other.state_dict()) == before


@each_layout
def test_a_checkpoint_of_something_else(layout):
    module = trained(layout)[0]
    before = frozen(module.state_dict())
    with pytest.raises((ValueError, RuntimeError, KeyError, TypeError)):
        module.load_state_dict(torch.nn.EmbeddingBag(40, 12).state_dict())
    with pytest.raises((ValueError, RuntimeError, KeyError, TypeError)):
        module.load_state_dict({**module.state_dict(), "_extra_state": {}})
    assert frozen(module.state_dict()) == before


@each_layout
def test_a_checkpoint_of_another_optimizer(layout):
    module, _ = trained(layout, "adam")
    state = module.state_dict()
    other, _ = trained(layout, "sgd")
    before = frozen(other.state_dict())
    with pytest.raises((ValueError, RuntimeError), match=r"adam.*sgd|sgd.*adam"):
        other.load_state_dict(state)
    assert frozen(other.state_dict()) == before


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_disk_that_fills_leaves_the_old_checkpoint(failing, monkeypatch, tmp_path):
    module, optimizer = trained()
    path = tmp_path / "run.pt"
    checkpoint.save(path, {"module": module, "optimizer": optimizer})
    kept, state = path.read_bytes(), frozen(module.state_dict())
    module(torch.tensor([[1, 2]])).sum().backward()
    optimizer.step()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, full)
        with pytest.raises(OSError, match="No space left"):
            checkpoint.save(path, {"module": module, "optimizer": optimizer})
    assert path.read_bytes() == kept
    assert [found.name for found in tmp_path.iterdir()] == ["run.pt"]
    again, again_optimizer = trained(steps=0)
    checkpoint.load(path, {"module": again, "optimizer": again_optimizer})
    assert frozen(again.state_dict()) == state


def test_a_file_that_was_cut(tmp_path):
    module, optimizer = trained()
    path = tmp_path / "run.pt"
    checkpoint.save(path, {"module": module, "optimizer": optimizer})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    before = frozen(module.state_dict())
    with pytest.raises((ValueError, RuntimeError, OSError, EOFError), match=r"run\.pt"):
        checkpoint.load(path, {"module": module, "optimizer": optimizer})
    assert frozen(module.state_dict()) == before
    with pytest.raises(OSError, match=r"absent\.pt"):
        checkpoint.load(tmp_path / "absent.pt", {"module": module, "optimizer": optimizer})


def test_a_failed_call_leaves_training_as_it_was():
    module, optimizer = trained()
    same, same_optimizer = trained()
    module(torch.tensor([[1, 2]])).sum().backward()
    with pytest.raises(IndexError):
        module(torch.tensor([[40]]))
    optimizer.step()
    same(torch.tensor([[1, 2]])).sum().backward()
    same_optimizer.step()
    assert frozen(module.state_dict()) == frozen(same.state_dict())


def test_two_optimizers_of_one_module_are_refused():
    module, optimizer = trained(method="adam")
    with pytest.raises(ValueError, match="a FIITEDEmbeddingBag has an optimizer already"):
        optimizer_of(module, OPTIMIZERS["sgd"])
    assert module.rule == "adam"
    optimizer.step()


def test_a_later_optimizer_takes_over_with_fresh_slots():
    module = trained(method="adam")[0]
    other = optimizer_of(module, OPTIMIZERS["sgd"])
    before = module.materialize()
    row = int(module.live_mask().all(1).nonzero()[0])
    module(torch.tensor([[row]])).sum().backward()
    other.step()
    torch.testing.assert_close(module.materialize()[row], before[row] - 0.1)


@each_layout
def test_a_damaged_state_of_another_rule_leaves_the_slots(layout):
    good = FIITEDEmbeddingBag(100, 8, pruning_ratio=0.5, layout=layout)
    FIITEDOptimizer(good, "adagrad")
    state = good.get_extra_state()
    state["state"]["utilities"] = state["state"]["utilities"] - 1
    table = FIITEDEmbeddingBag(100, 8, pruning_ratio=0.5, layout=layout)
    before = frozen(table.state_dict())
    with pytest.raises(ValueError, match="utilit"):
        table.set_extra_state(state)
    assert frozen(table.state_dict()) == before
    FIITEDOptimizer(table, "adagrad", initial_accumulator_value=0.5)
    assert table.get_extra_state()["state"]["slots"].unique().tolist() == [0.5]


def test_a_model_that_holds_one_is_not_shared():
    with pytest.raises(RuntimeError, match="use ShardedFIITEDEmbeddingBag"):
        torch.nn.Sequential(FIITEDEmbeddingBag(100, 8)).share_memory()


@each_layout
def test_the_default_device_is_not_the_table_s(layout):
    table = FIITEDEmbeddingBag(100, 8, pruning_ratio=0.5, layout=layout)
    optimizer = FIITEDOptimizer(table, "adagrad")
    with torch.device("meta"):
        assert table.live_mask().sum() == table.capacity
        assert table.materialize([1, 2]).shape == (2, 8)
        table(torch.tensor([[1, 2]], device="cpu")).sum().backward()
        optimizer.step()
        table.prune()
    table.verify()
