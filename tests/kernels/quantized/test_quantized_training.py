"""Training of quantized tables: gradients straight through the rounding, steps, resuming, and what they learn."""

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from bench_engine.kernels.quantized import (
    QuantizedEmbeddingBag,
    QuantizedFIITEDEmbeddingBag,
    QuantizedOptimizer,
    QuantizedQuotientRemainderEmbeddingBag,
)
from tests.kernels.quantized.philox_oracle import bits, rounded

pytestmark = pytest.mark.usefixtures("built_kernels")

TABLES = (QuantizedEmbeddingBag, QuantizedQuotientRemainderEmbeddingBag)
each_table = pytest.mark.parametrize("kind", TABLES)


@pytest.fixture(autouse=True)
def one_thread():
    """Two that wait for each other are slow on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def dense_rows(module):
    """What each stored row stands for, float64."""
    table = QuantizedEmbeddingBag(len(module.rows), module.embedding_dim, storage=module.storage)
    table.rows.copy_(module.rows)
    return table.materialize().double()


@each_table
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("padding", [None, 7])
def test_gradients_are_those_of_float64_over_the_rows_that_were_read(kind, mode, weighted, padding):
    generator = torch.Generator().manual_seed(0)
    module = kind(50, 12, mode=mode, padding_idx=padding)
    QuantizedOptimizer(module)
    ids = torch.randint(50, (30, 4), generator=generator)
    factors = torch.rand(30, 4, generator=generator) if weighted else None
    grad = torch.randn(30, 12, generator=generator)
    if weighted:
        factors.requires_grad_()
    module(ids, None, factors).backward(grad)

    rows = dense_rows(module).requires_grad_()
    if module.remainders:
        vectors = rows[ids % module.remainders] * rows[module.remainders + ids // module.remainders]
    else:
        vectors = rows[ids]
    there = torch.ones_like(ids, dtype=torch.float64) if padding is None else (ids != padding).double()
    wide = factors.detach().double().requires_grad_() if weighted else torch.ones_like(there)
    pooled = (vectors * (wide * there).unsqueeze(2)).sum(1)
    if mode == "mean":
        pooled = pooled / there.sum(1, keepdim=True).clamp_min(1)
    pooled.backward(grad.double())
    torch.testing.assert_close(module.row_gradients().to_dense().double(), rows.grad, rtol=1e-5, atol=1e-6)
    if weighted:
        torch.testing.assert_close(factors.grad.double(), wide.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["rowwise_adagrad", "sgd"])
@pytest.mark.parametrize("dim", [6, 16, 70])
def test_a_step_is_that_of_the_oracle(method, dim):
    module = QuantizedEmbeddingBag(9, dim, seed=5)
    optimizer = QuantizedOptimizer(module, method, lr=0.1, eps=1e-3, initial_accumulator_value=0.0)
    sums = np.zeros(9, dtype=np.float32)
    for step in (1, 2, 3):
        before = module.materialize().numpy()
        optimizer.zero_grad()
        module(torch.tensor([[0, 3, 3], [3, 8, 1]])).pow(2).sum().backward()
        grads = module.row_gradients().to_dense().numpy()
        optimizer.step()
        after = module.materialize().numpy()
        for row in range(9):
            if row not in (0, 1, 3, 8):
                np.testing.assert_array_equal(after[row], before[row])
                continue
            grad, divisor = grads[row], np.float32(1)
            if method == "rowwise_adagrad":
                sums[row] += np.float32(np.mean(grad.astype(np.float64) ** 2))
                divisor = np.sqrt(sums[row]) + np.float32(1e-3)
            target = before[row] - np.float32(0.1) * grad / divisor
            np.testing.assert_array_equal(after[row], rounded(target, 127, bits(dim, 5, step, row)))


@each_table
def test_the_same_bits_at_any_number_of_threads(kind):
    def trained(threads):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            torch.manual_seed(0)
            module = kind(3000, 16)
            optimizer = QuantizedOptimizer(module, lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                output = module(torch.randint(3000, (4000, 3)))
                output.pow(2).sum().backward()
                optimizer.step()
            return module.rows, output, optimizer.state[module.anchor]["sums"]
        finally:
            torch.set_num_threads(before)

    for one, two in zip(trained(1), trained(2), strict=True):
        assert torch.equal(one, two)


class Model(nn.Module):
    """Two tables and a layer."""

    def __init__(self):
        super().__init__()
        self.first = QuantizedEmbeddingBag(40, 8)
        self.second = QuantizedQuotientRemainderEmbeddingBag(90, 8, 0.4)
        self.out = nn.Linear(16, 1)

    def forward(self, ids):
        return self.out(torch.cat([self.first(ids[:, :1]), self.second(ids[:, 1:])], 1)).squeeze(1)


def train(model, tables, rest, steps, generator):
    for _ in range(steps):
        ids = torch.stack(
            [torch.randint(40, (16,), generator=generator), torch.randint(90, (16,), generator=generator)], 1
        )
        tables.zero_grad()
        rest.zero_grad()
        F.mse_loss(model(ids), ids.sum(1).float() / 65).backward()
        tables.step()
        rest.step()


def made():
    model = Model()
    return model, QuantizedOptimizer(model, lr=0.1), torch.optim.SGD(model.out.parameters(), lr=0.1)


def test_training_goes_on_from_states_with_the_same_bits(tmp_path):
    torch.manual_seed(0)
    whole, resumed, copied = made(), made(), None
    generator = torch.Generator().manual_seed(1)
    train(*whole, 5, generator)
    torch.save([part.state_dict() for part in whole], tmp_path / "state.pt")
    for part, state in zip(resumed, torch.load(tmp_path / "state.pt"), strict=True):
        part.load_state_dict(state)
    copied = copy.deepcopy(whole)
    kept = generator.get_state()
    for training in (whole, resumed, copied):
        generator.set_state(kept)
        train(*training, 5, generator)
    for other in (resumed[0], copied[0]):
        for name in ("first", "second"):
            assert torch.equal(getattr(other, name).rows, getattr(whole[0], name).rows)
    assert int(resumed[1].state[resumed[0].first.anchor]["step"]) == 10


def test_tables_of_one_optimizer_round_by_numbers_of_their_own():
    first, second = (QuantizedEmbeddingBag(500, 16, seed=3) for _ in range(2))
    second.rows.copy_(first.rows)
    optimizer = QuantizedOptimizer([first, second], "sgd", lr=0.01)
    ids = torch.arange(500).unsqueeze(1)
    (first(ids).sum() + second(ids).sum()).backward()
    optimizer.step()
    assert not torch.equal(first.rows, second.rows)


@each_table
@pytest.mark.parametrize("storage", ["int8", "float16"])
def test_a_planted_task_is_learnt_about_as_well_as_in_float32(kind, storage):
    """A row of targets for each id, seen with noise: the error against the targets without it."""
    generator = torch.Generator().manual_seed(0)
    ids, dim = 120, 16
    target = torch.randn(ids, dim, generator=generator)
    torch.manual_seed(0)
    quantized = kind(ids, dim, storage=storage)
    dense = nn.EmbeddingBag(ids, dim, mode="sum")
    nn.init.uniform_(dense.weight, -math.sqrt(1 / ids), math.sqrt(1 / ids))
    optimizers = QuantizedOptimizer(quantized, lr=0.1), torch.optim.Adagrad(dense.parameters(), lr=0.1)
    for _ in range(200):
        batch = torch.randint(ids, (256, 1), generator=generator)
        noisy = target[batch[:, 0]] + torch.randn(256, dim, generator=generator)
        for module, optimizer in zip((quantized, dense), optimizers, strict=True):
            optimizer.zero_grad()
            (module(batch) - noisy).pow(2).sum(1).mean().backward()
            optimizer.step()
    errors = [float((table - target).pow(2).mean()) for table in (quantized.materialize(), dense.weight.detach())]
    assert errors[1] < 0.05
    assert errors[0] < 1.3 * errors[1] + 0.005


def test_small_steps_are_not_lost():
    """A thousand steps of a hundredth of what int8 can tell apart move a number as far as in float32."""
    module = QuantizedEmbeddingBag.from_pretrained(torch.ones(400, 16))
    optimizer = QuantizedOptimizer(module, "sgd", lr=1e-4)
    ids = torch.arange(400).unsqueeze(1)
    direction = torch.cat([torch.zeros(400, 1), torch.ones(400, 15)], 1)  # the first keeps the scale
    for _ in range(1000):
        optimizer.zero_grad()
        module(ids).backward(direction)
        optimizer.step()
    assert float(module.materialize()[:, 1:].mean()) == pytest.approx(0.9, abs=0.003)


def test_a_gradient_that_is_no_number_changes_nothing():
    module = QuantizedEmbeddingBag(20, 8)
    optimizer = QuantizedOptimizer(module, lr=0.1)
    before = module.rows.clone()
    module(torch.tensor([[3, 4]])).backward(torch.full((1, 8), math.nan))
    with pytest.raises(FloatingPointError, match="the gradient of rows 3, 4 holds NaN or infinity"):
        optimizer.step()
    assert torch.equal(module.rows, before)
    assert int(optimizer.state[module.anchor]["step"]) == 0
    optimizer.zero_grad()
    optimizer.step()
    assert torch.equal(module.rows, before)


def test_without_a_gradient_rows_stay_as_they_are():
    module = QuantizedEmbeddingBag(20, 8)
    optimizer = QuantizedOptimizer(module, lr=0.1, eps=0.0)
    before = module.rows.clone()
    (module(torch.tensor([[3, 4]])) * 0).sum().backward()
    optimizer.step()
    with torch.no_grad():
        module(torch.tensor([[3, 4]]))
    module.eval()
    assert torch.equal(module.rows, before)


def test_gradients_of_several_calls_add_up_and_zero_grad_of_the_model_drops_them():
    module = QuantizedEmbeddingBag(20, 8)
    QuantizedOptimizer(module)
    ids = torch.tensor([[3, 4]])
    for _ in range(2):
        module(ids).sum().backward()
    assert torch.equal(module.row_gradients().to_dense()[3], torch.full((8,), 2.0))
    module.zero_grad()
    module(ids).sum().backward()
    assert torch.equal(module.row_gradients().to_dense()[3], torch.ones(8))


def test_misuse_of_the_optimizer_is_named():
    with pytest.raises(ValueError, match="no quantized table to train"):
        QuantizedOptimizer(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="not a str"):
        QuantizedOptimizer(["model"])
    module = QuantizedEmbeddingBag(20, 8)
    with pytest.raises(RuntimeError, match="trained by a QuantizedOptimizer"):
        module(torch.tensor([[1]])).sum().backward()
    with pytest.raises(ValueError, match="method must be rowwise_adagrad or sgd"):
        QuantizedOptimizer(module, "adam")
    with pytest.raises(ValueError, match="lr must be a number of at least 0"):
        QuantizedOptimizer(module, lr=math.nan)
    optimizer = QuantizedOptimizer(module)
    with pytest.raises(ValueError, match="saved with the method sgd"):
        optimizer.load_state_dict(QuantizedOptimizer(QuantizedEmbeddingBag(20, 8), "sgd").state_dict())
    with pytest.raises(ValueError, match="a QuantizedOptimizer trains quantized tables only"):
        optimizer.add_param_group({"params": nn.Linear(2, 2).weight})
    with pytest.raises(ValueError, match="saved for a table of 30 rows"):
        optimizer.load_state_dict(QuantizedOptimizer(QuantizedEmbeddingBag(30, 8)).state_dict())


def test_a_table_has_one_optimizer_at_a_time():
    module = QuantizedEmbeddingBag(20, 8)
    optimizer = QuantizedOptimizer(module, lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    with pytest.raises(ValueError, match="a quantized table has an optimizer already, and two would both count"):
        QuantizedOptimizer([nn.Linear(2, 2), module])
    twin, its_optimizer = copy.deepcopy((module, optimizer))
    with pytest.raises(ValueError, match="has an optimizer already"):
        QuantizedOptimizer(twin)
    its_optimizer.release()
    with pytest.raises(RuntimeError, match="this optimizer was released"):
        its_optimizer.step()
    del optimizer, scheduler
    for free in (module, twin, copy.deepcopy(module)):
        later = QuantizedOptimizer(free, lr=0.1)
        free(torch.tensor([[1]])).sum().backward()
        later.step()


def test_a_step_between_the_passes_is_refused_where_the_gradient_needs_the_rows():
    module = QuantizedQuotientRemainderEmbeddingBag(20, 8)
    optimizer = QuantizedOptimizer(module, lr=0.1)
    output = module(torch.tensor([[1, 2]]))
    module(torch.tensor([[1, 2]])).sum().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="changed after this forward pass"):
        output.sum().backward()


def scales_of(module):
    """The scale of each row, float64."""
    return module.rows[:, :2].contiguous().view(torch.bfloat16).double().squeeze(1)


@pytest.mark.parametrize("storage", ["int8", "int4"])
@pytest.mark.parametrize("dim", [5, 16, 70])
def test_a_learned_scale_moves_by_its_gradient(storage, dim):
    generator = torch.Generator().manual_seed(2)
    module = QuantizedEmbeddingBag(40, dim, storage=storage, learned_step=0.5, seed=1)
    optimizer = QuantizedOptimizer(module, "sgd", lr=0.02)
    most = 127 if storage == "int8" else 7
    for _ in range(5):
        before, scales = module.materialize().double(), scales_of(module)
        grad = 0.3 * torch.randn(40, dim, generator=generator)
        optimizer.zero_grad()
        module(torch.arange(40).unsqueeze(1)).backward(grad)
        optimizer.step()
        times = (before - 0.02 * grad.double()) / scales.unsqueeze(1)
        slopes = torch.where(times.abs() < most, times.round() - times, times.sign() * most)
        change = 0.01 * (grad.double() * slopes).sum(1) / math.sqrt(dim * most)
        wanted = (scales - change).clamp(scales / 2, scales * 2)
        found = scales_of(module)
        assert ((found - wanted).abs() <= wanted * 2**-7).all()  # one of the two neighbours in bfloat16
        assert (found != scales).any()
        held = times * scales.unsqueeze(1) / found.unsqueeze(1)
        assert ((module.materialize().double() / found.unsqueeze(1) - held.clamp(-most, most)).abs() <= 1.001).all()


def test_learned_scales_learn_and_float16_has_none():
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(100, 16, generator=generator)
    losses = {}
    for learned in (0.0, 1.0):
        module = QuantizedEmbeddingBag(100, 16, learned_step=learned, seed=3)
        optimizer = QuantizedOptimizer(module, lr=0.3)
        for _ in range(300):
            optimizer.zero_grad()
            loss = (module(torch.arange(100).unsqueeze(1)) - target).pow(2).sum()
            loss.backward()
            optimizer.step()
        losses[learned] = float(loss)
    assert losses[1.0] < 10 * losses[0.0] + 1
    alike = []
    for learned in (0.0, 1.0):
        module = QuantizedEmbeddingBag(9, 16, storage="float16", learned_step=learned, seed=3)
        module.write(target[:9])
        optimizer = QuantizedOptimizer(module, lr=0.3)
        module(torch.arange(9).unsqueeze(1)).sum().backward()
        optimizer.step()
        alike.append(module.rows)
    assert torch.equal(*alike)


@pytest.mark.parametrize("size", [1e-30, 1e10, 1e30])
def test_learned_scales_stay_numbers(size):
    module = QuantizedEmbeddingBag(4, 16, learned_step=1.0, seed=0)
    optimizer = QuantizedOptimizer(module, "sgd", lr=0.1)
    for sign in (1, -1, 1):
        optimizer.zero_grad()
        module(torch.arange(4).unsqueeze(1)).backward(torch.full((4, 16), sign * size))
        optimizer.step()
        assert module.materialize().isfinite().all()
        assert (scales_of(module) > 0).all()


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, "1"])
def test_a_learned_step_that_is_no_rate_is_told(wrong):
    with pytest.raises(ValueError, match="learned_step must be a number of at least 0"):
        QuantizedEmbeddingBag(4, 16, learned_step=wrong)


def trained_table():
    table = QuantizedEmbeddingBag(100, 8, seed=1)
    return table, QuantizedOptimizer(table, "sgd", lr=1.0)


def changed_rows(table, optimizer):
    before = table.rows.clone()
    optimizer.step()
    return (table.rows != before).any(1).nonzero().squeeze(1).tolist()


def test_ids_may_be_written_over_once_they_were_looked_up():
    table, optimizer = trained_table()
    ids = torch.tensor([[1, 2]])
    table(ids).sum().backward()
    ids.copy_(torch.tensor([[50, 51]]))
    table(ids).sum().backward()
    ids.zero_()
    assert table.row_gradients().indices()[0].tolist() == [1, 2, 50, 51]
    assert changed_rows(table, optimizer) == [1, 2, 50, 51]


def test_lookups_that_a_backward_pass_makes_again_drop_none_of_the_others():
    table, optimizer = trained_table()

    def tower(ids):
        return table(ids).tanh()

    outputs = [checkpoint(tower, torch.tensor([[row]]), use_reentrant=False) for row in (1, 2)]
    sum(output.sum() for output in outputs).backward()
    assert changed_rows(table, optimizer) == [1, 2]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_training_in_sixteen_bits_goes_on_from_its_state(dtype):
    made = []
    for _ in range(2):
        table = QuantizedEmbeddingBag(50, 8, seed=1, dtype=dtype)
        table.reset_parameters()
        made.append((table, QuantizedOptimizer(table, lr=0.1)))
    (table, optimizer), (other, again) = made
    ids = torch.arange(50).reshape(10, 5)
    for _ in range(3):
        (table(ids) * 3).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    other.load_state_dict(table.state_dict())
    again.load_state_dict(optimizer.state_dict())
    sums = [o.state[t.anchor]["sums"] for t, o in ((table, optimizer), (other, again))]
    assert sums[1].dtype == torch.float32
    assert torch.equal(*sums)
    assert sums[0] is not sums[1]
    for each, its in ((table, optimizer), (other, again)):
        (each(ids) * 3).sum().backward()
        its.step()
    assert torch.equal(table.rows, other.rows)


def test_a_state_that_is_refused_has_changed_nothing():
    table = QuantizedEmbeddingBag(20, 8, storage="int8")
    other = QuantizedEmbeddingBag(20, 8, storage="int4")
    state = {**other.state_dict(), "rows": torch.zeros_like(table.rows)}
    before = table.rows.clone()
    with pytest.raises(ValueError, match="saved with storage int4, and this one has int8"):
        table.load_state_dict(state)
    assert torch.equal(table.rows, before)


def test_a_table_that_trains_is_not_shared():
    with pytest.raises(RuntimeError, match=r"share its to_frozen\(\)"):
        QuantizedEmbeddingBag(20, 8).share_memory()


def test_a_model_that_holds_one_is_not_shared_either():
    with pytest.raises(RuntimeError, match=r"share its to_frozen\(\)"):
        torch.nn.Sequential(QuantizedEmbeddingBag(20, 8)).share_memory()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_default_dtype_is_not_the_tables(dtype):
    torch.set_default_dtype(dtype)
    try:
        live = QuantizedFIITEDEmbeddingBag(100, 16, 0.5, padding_idx=3)
        for table in (QuantizedEmbeddingBag(100, 16), QuantizedQuotientRemainderEmbeddingBag(100, 16, 0.5), live):
            optimizer = QuantizedOptimizer(table, lr=0.1)
            found = table(torch.tensor([[1, 2, 3]]))
            found.sum().backward()
            optimizer.step()
            assert found.dtype == table.materialize([1]).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("method", ["rowwise_adagrad", "sgd"])
def test_gradients_that_sum_beyond_float_leave_numbers(method):
    table = QuantizedEmbeddingBag(4, 16, seed=0)
    optimizer = QuantizedOptimizer(table, method, lr=0.1)
    before = table.materialize()
    table(torch.tensor([[0, 0], [1, 1]])).backward(torch.tensor([[3e38], [1.0]]).expand(2, 16))
    optimizer.step()
    after = table.materialize()
    assert after.isfinite().all()
    assert torch.equal(after[0], before[0]), "its sum is no number: the row stays"
    assert not torch.equal(after[1], before[1])
    for size in (1e20, 1.0):
        optimizer.zero_grad()
        table(torch.tensor([[2]])).backward(torch.full((1, 16), size))
        optimizer.step()
        assert table.materialize().isfinite().all()
    if method == "rowwise_adagrad":
        assert optimizer.state[table.anchor]["sums"].isfinite().all()


def test_sample_weights_may_be_of_autocast_s_type():
    layer, table = torch.nn.Linear(3, 3), QuantizedEmbeddingBag(10, 4)
    ids = torch.zeros(2, 3, dtype=torch.int64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights = layer(torch.rand(2, 3))
        found = table(ids, None, weights)
    assert weights.dtype == torch.bfloat16
    torch.testing.assert_close(found, table(ids, None, weights.float()))
    with pytest.raises(TypeError, match="per_sample_weights must be float32"):
        table(ids, None, weights)
