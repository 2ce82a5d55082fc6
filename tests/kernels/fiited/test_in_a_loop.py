"""What a plain training loop expects of a table and its optimizer."""

import copy
import pickle

import pytest
import torch

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, checkpoint

IDS = torch.tensor([[1, 2], [3, 3]])


def made(**options):
    torch.manual_seed(0)
    bag = FIITEDEmbeddingBag(10, 4, 2, 0.0, **options)
    return bag, FIITEDOptimizer(bag, "sgd", lr=1.0)


def test_a_gradient_is_taken_as_it_was():
    bag, optimizer = made()
    before, gradient = bag.materialize(), torch.ones(2, 4)
    bag(IDS).backward(gradient)
    gradient.zero_()
    optimizer.step()
    assert torch.equal(bag.materialize()[1], before[1] - 1)


def test_zero_grad_of_the_model_drops_what_was_recorded():
    bag, optimizer = made()
    before = bag.materialize()
    bag(IDS).sum().backward()
    bag.zero_grad()
    optimizer.step()
    assert torch.equal(bag.materialize(), before)
    bag(IDS).sum().backward()
    bag.zero_grad()
    bag(IDS[:1]).sum().backward()
    optimizer.step()
    assert torch.equal(bag.materialize()[3], before[3])
    assert torch.equal(bag.materialize()[1], before[1] - 1)


def test_gradients_that_are_only_asked_for_train_nothing():
    bag, optimizer = made()
    before = bag.materialize()
    torch.autograd.grad(bag(IDS).sum(), list(bag.parameters()), allow_unused=True)
    optimizer.step()
    assert torch.equal(bag.materialize(), before)


def test_backward_passes_add_up_until_the_step():
    bag, optimizer = made()
    before = bag.materialize()
    for _ in range(3):
        bag(IDS).sum().backward()
    optimizer.step()
    optimizer.step()
    torch.testing.assert_close(bag.materialize()[1], before[1] - 3)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_table_and_its_optimizer_are_copied_together(copied):
    bag, optimizer = made()
    twin, its_optimizer = copied((bag, optimizer))
    for table, update in ((bag, optimizer), (twin, its_optimizer)):
        update.zero_grad()
        table(IDS).sum().backward()
        update.step()
    assert torch.equal(bag.materialize(), twin.materialize())
    assert twin.step_count == bag.step_count == 1


def test_callbacks_come_when_all_tables_have_made_their_step():
    first, second = (FIITEDEmbeddingBag(10, 4, 2, 0.5, interval=1) for _ in range(2))
    optimizer = FIITEDOptimizer([first, second], "sgd", lr=1.0)
    first.on_prune(lambda event: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        optimizer.step()
    assert first.step_count == second.step_count == 1


def test_states_of_another_method_and_other_parameters_are_refused():
    _, optimizer = made()
    other = FIITEDOptimizer(FIITEDEmbeddingBag(10, 4, 2, 0.0), "adagrad", lr=1.0)
    with pytest.raises(ValueError, match=r"adagrad.*sgd"):
        optimizer.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="FIITEDEmbeddingBags only"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    optimizer.param_groups[0]["lr"] = float("nan")
    with pytest.raises(ValueError, match="lr"):
        optimizer.step()


@pytest.mark.parametrize("ids", [[[1, 2]], None, IDS.numpy()])
def test_ids_that_are_no_tensor(ids):
    bag, _ = made()
    with pytest.raises(TypeError, match="input must be a tensor"):
        bag(ids)


def test_the_default_dtype_is_not_the_tables():
    torch.set_default_dtype(torch.float64)
    try:
        bag, _ = made()
        assert bag.materialize().dtype == bag(IDS).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_checkpoint_with_more_than_tensors_says_so(tmp_path):
    class Odd:
        def state_dict(self):
            return {"odd": object}

    path = tmp_path / "run.pt"
    checkpoint.save(path, {"odd": Odd()})
    with pytest.raises(checkpoint.CheckpointError, match="more than tensors"):
        checkpoint.load(path, {"odd": Odd()})
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
