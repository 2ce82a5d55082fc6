"""FIITED over quantized rows: which chunks live, what they learn, its bytes, and that it is an embedding bag."""

import copy
import io
import pickle

import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.quantized import QuantizedEmbeddingBag, QuantizedFIITEDEmbeddingBag, QuantizedOptimizer
from tests.kernels.quantized.live_oracle import LiveOracle

pytestmark = pytest.mark.usefixtures("built_kernels")


@pytest.fixture(autouse=True)
def one_thread():
    """Two that wait for each other are slow on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def skewed(rows, count, generator):
    """Ids of which a few come often."""
    return (rows * torch.rand(count, generator=generator).pow(4)).long()


def trained(steps=30, rows=3000, dim=16, batch=256, seed=0, **options):
    """A table and its optimizer after steps on a skewed stream."""
    generator = torch.Generator().manual_seed(seed)
    given = {"compression": 0.1, "admission": 3, "seed": 7, **options}
    table = QuantizedFIITEDEmbeddingBag(rows, dim, **given)
    optimizer = QuantizedOptimizer(table, lr=0.1)
    train(table, optimizer, steps, generator, batch)
    return table, optimizer, generator


def train(table, optimizer, steps, generator, batch=256):
    for _ in range(steps):
        ids = skewed(table.num_embeddings, batch, generator).reshape(-1, 4)
        target = torch.randn(len(ids), table.embedding_dim, generator=generator)
        optimizer.zero_grad()
        (table(ids) - target).pow(2).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("admission", [1, 5])
@pytest.mark.parametrize(("rows", "compression"), [(400, 0.3), (5000, 0.02)])
def test_who_lives_is_what_the_rules_say(chunks, admission, rows, compression):
    table = QuantizedFIITEDEmbeddingBag(
        rows, 64, compression, num_chunks=chunks, admission=admission, margin=1.5, interval=7, decay=0.5, seed=3
    )
    optimizer = QuantizedOptimizer(table, "sgd", lr=0.01)
    oracle = LiveOracle(len(table.buckets), admission, 1.5)
    generator = torch.Generator().manual_seed(1)
    scale = 1.0
    for step in range(1, 41):
        ids = skewed(rows, 120, generator).unsqueeze(1)
        grad = torch.randn(len(ids), 64, generator=generator)
        optimizer.zero_grad()
        table(ids).backward(grad)
        optimizer.step()
        firsts = dict.fromkeys(ids.flatten().tolist())
        asked = []
        for row in firsts:
            mine = (ids.flatten() == row).nonzero().flatten()
            total = grad[mine].cumsum(0)[-1].reshape(chunks, -1)
            lengths = total.double().pow(2).sum(1).sqrt().float().tolist()
            asked += [(row * chunks + part, len(mine), length) for part, length in enumerate(lengths)]
        oracle.step(asked, step, scale)
        scale *= 0.5 if step % 7 == 0 else 1.0
        live, utilities = table.utilities()
        wanted = oracle.live()
        assert live.tolist() == [chunk for chunk, _ in wanted]
        stored = (utilities / table.utility_scale).bfloat16().view(torch.int16)
        # Sums of several gradients may differ from the kernel's in the last bit.
        assert (stored.int() - torch.tensor([bits for _, bits in wanted]).int()).abs().max() <= 1
    assert len(live) > 20
    assert table.replaced > 0 or rows == 400


def test_with_room_for_all_it_learns_what_a_table_of_float32_learns():
    rows, dim = 200, 16
    table = QuantizedFIITEDEmbeddingBag(rows, dim, 1.0, admission=1, storage="float16", seed=0)
    optimizer = QuantizedOptimizer(table, lr=0.1, eps=1e-6)
    weight = torch.zeros(rows, dim, requires_grad=True)
    sums = torch.zeros(rows)
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        ids = torch.randint(rows, (64, 3), generator=generator)
        target = torch.randn(64, dim, generator=generator)
        optimizer.zero_grad()
        (table(ids) - target).pow(2).mean().backward()
        optimizer.step()
        weight.grad = None
        (F.embedding_bag(ids, weight, mode="sum") - target).pow(2).mean().backward()
        with torch.no_grad():
            sums += weight.grad.pow(2).mean(1)
            weight -= 0.1 * weight.grad / (sums.sqrt() + 1e-6).unsqueeze(1)
    assert bool(table.live_mask().all())
    assert table.statistics()["free"] < 0.1
    torch.testing.assert_close(table.materialize(), weight.detach(), rtol=0.02, atol=0.01)


@pytest.mark.parametrize("chunks", [1, 4])
def test_those_who_are_asked_for_most_live(chunks):
    table, _, _ = trained(steps=200, dim=64, num_chunks=chunks, batch=512, compression=0.05)
    live = table.live_mask().any(1)
    capacity = len(table.rows) // chunks
    assert capacity < 600
    often = live[: capacity // 3].float().mean()  # the stream asks for low ids most
    assert often > 0.9
    assert live[2000:].float().mean() < 0.1


@pytest.mark.parametrize("dim", [16, 64])
@pytest.mark.parametrize("storage", ["int8", "int4", "float16"])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_the_budget_is_kept_and_used(dim, storage, share):
    table = QuantizedFIITEDEmbeddingBag(100_000, dim, share, storage=storage)
    dense = 100_000 * dim * 4
    assert 0.97 * share * dense <= table.memory_bytes() <= share * dense
    held = sum(buffer.nbytes for buffer in table.buffers())
    assert held == table.memory_bytes()
    if dim == 16 and storage == "int8":
        assert table.memory_bytes() / len(table.rows) < 25  # bytes of a live vector, all in all


def test_bytes_given_are_a_ceiling():
    assert QuantizedFIITEDEmbeddingBag(1000, 16, budget_bytes=5000).memory_bytes() <= 5000
    whole = QuantizedFIITEDEmbeddingBag(1000, 16)
    assert 1000 <= len(whole.rows) < 1014


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_bits_at_any_number_of_threads(threads):
    def run():
        table, optimizer, _ = trained(steps=20, rows=60_000, batch=20_000, dim=16)
        return [*table.buffers(), optimizer.state_dict()["state"][0]["sums"]]

    alone = run()
    torch.set_num_threads(threads)
    for one, other in zip(alone, run(), strict=True):
        assert torch.equal(one, other)


def test_a_training_goes_on_from_its_states():
    table, optimizer, generator = trained(steps=25, interval=10)
    file = io.BytesIO()
    torch.save((table.state_dict(), optimizer.state_dict(), generator.get_state()), file)
    train(table, optimizer, 15, generator)
    file.seek(0)
    of_table, of_optimizer, of_generator = torch.load(file, weights_only=True)
    other = QuantizedFIITEDEmbeddingBag(3000, 16, 0.1, admission=3, interval=10, seed=99)
    again = QuantizedOptimizer(other, lr=0.1)
    other.load_state_dict(of_table)
    again.load_state_dict(of_optimizer)
    generator = torch.Generator()
    generator.set_state(of_generator)
    train(other, again, 15, generator)
    for one, two in zip(table.buffers(), other.buffers(), strict=True):
        assert torch.equal(one, two)
    assert other.statistics() == table.statistics()
    assert other.utility_scale == table.utility_scale


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_copies_look_up_the_same(copied):
    table, _, generator = trained()
    ids = skewed(3000, 100, generator).reshape(-1, 5)
    assert torch.equal(copied(table)(ids), table(ids))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("form", ["square", "offsets", "last_offset"])
def test_it_is_an_embedding_bag(mode, padding, chunks, form):
    table, _, generator = trained(
        dim=32, num_chunks=chunks, mode=mode, padding_idx=padding, include_last_offset=form == "last_offset"
    )
    ids = skewed(3000, 60, generator)
    ids[::7] = 3
    weight = table.materialize()
    assert (weight != 0).any()
    call = {"input": ids.reshape(-1, 4)}
    if form != "square":
        starts = [0, 4, 4, 5, 30, 60]
        call = {"input": ids, "offsets": torch.tensor(starts if form == "last_offset" else starts[:-1])}
    options = {"mode": mode, "padding_idx": padding, "include_last_offset": form == "last_offset"}
    for kind in (torch.int64, torch.int32):
        given = {name: value.to(kind) for name, value in call.items()}
        torch.testing.assert_close(
            table(**given), F.embedding_bag(given["input"], weight, given.get("offsets"), **options)
        )
        frozen = table.to_frozen()
        assert torch.equal(frozen(**given), table(**given).detach())
    if mode == "sum":
        samples = torch.rand(call["input"].shape, generator=generator)
        wanted = F.embedding_bag(call["input"], weight, call.get("offsets"), per_sample_weights=samples, **options)
        torch.testing.assert_close(table(**call, per_sample_weights=samples), wanted)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("padding", [None, 7])
@pytest.mark.parametrize("chunks", [1, 2])
def test_gradients_are_those_of_a_dense_table(mode, weighted, padding, chunks):
    table, optimizer, generator = trained(
        dim=12, rows=50, compression=0.9, num_chunks=chunks, mode=mode, padding_idx=padding
    )
    optimizer.zero_grad()
    ids = torch.randint(50, (30, 4), generator=generator)
    factors = torch.rand(30, 4, generator=generator) if weighted else None
    grad = torch.randn(30, 12, generator=generator)
    weight = table.materialize().double().requires_grad_()
    if weighted:
        factors.requires_grad_()
    table(ids, None, factors).backward(grad)
    there = torch.ones_like(ids, dtype=torch.float64) if padding is None else (ids != padding).double()
    wide = factors.detach().double().requires_grad_() if weighted else torch.ones_like(there)
    pooled = (weight[ids] * (wide * there).unsqueeze(2)).sum(1)
    if mode == "mean":
        pooled = pooled / there.sum(1, keepdim=True).clamp_min(1)
    pooled.backward(grad.double())
    torch.testing.assert_close(table.row_gradients().to_dense().double(), weight.grad, rtol=1e-5, atol=1e-6)
    if weighted:
        torch.testing.assert_close(factors.grad.double(), wide.grad, rtol=1e-5, atol=1e-6)


def test_a_frozen_one_can_be_exported_and_traced():
    table, _, generator = trained(dim=64)
    ids = skewed(3000, 40, generator).reshape(-1, 4)
    frozen = table.to_frozen()
    wanted = table(ids).detach()
    batch = torch.export.Dim("batch", min=2)
    exported = torch.export.export(frozen, (ids,), dynamic_shapes=({0: batch},)).module()
    assert torch.equal(exported(ids), wanted)
    assert torch.equal(exported(ids[:3]), wanted[:3])
    traced = torch.jit.trace(frozen, (ids,))
    assert torch.equal(traced(ids[:2]), wanted[:2])
    torch.library.opcheck(
        torch.ops.mirror.live_pool.default,
        (table.buckets, table.rows, ids, None, None, "int8", 64, 3000, table.num_chunks, -1, False),
    )


def test_steps_add_up_however_small():
    """A step of a hundredth of what int8 tells apart is lost when rounded to the nearest."""
    table = QuantizedFIITEDEmbeddingBag(1, 16, budget_bytes=2000, admission=1, seed=1)
    optimizer = QuantizedOptimizer(table, "sgd", lr=1.0)
    first = torch.full((1, 16), -1.0)
    first[0, 0] = -1.27
    for grad in [first, *[torch.full((1, 16), 1e-4)] * 1000]:
        optimizer.zero_grad()
        table(torch.zeros(1, 1, dtype=torch.int64)).backward(grad)
        optimizer.step()
    assert abs(float(table.materialize()[0, 1:].mean()) - 0.9) < 0.02


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"compression": 0.00005}, "too few to tell"),
        ({"compression": 0}, "compression"),
        ({"num_chunks": 3}, "not divisible by num_chunks 3"),
        ({"num_chunks": 17}, "num_chunks must be a whole number from 1 to 16"),
        ({"admission": 0}, "admission must be a whole number from 1 to 255"),
        ({"margin": 0.5}, "margin must be a number of at least 1"),
        ({"margin": float("nan")}, "margin must be"),
        ({"decay": 0}, "decay must be"),
        ({"interval": 0}, "interval must be"),
        ({"storage": "int3"}, "storage must be"),
        ({"device": "cuda"}, "on the CPU"),
    ],
)
def test_wrong_arguments_are_told(arguments, said):
    with pytest.raises(ValueError, match=said):
        QuantizedFIITEDEmbeddingBag(2_000_000, 16, **{"compression": 0.1, **arguments})


@pytest.mark.parametrize("wrong", [-1, 3000, 2**40])
def test_an_id_out_of_range_is_told_and_changes_nothing(wrong):
    table, optimizer, _ = trained()
    before = [buffer.clone() for buffer in table.buffers()]
    with pytest.raises(IndexError, match=f"index {wrong} at position 1 is out of range"):
        table(torch.tensor([[0, wrong]]))
    with pytest.raises(IndexError, match=f"index {wrong} at position 0"):
        table.live_mask(torch.tensor([wrong]))
    optimizer.step()
    for one, other in zip(before, table.buffers(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gradient_that_is_no_number_is_refused(value):
    table, optimizer, _ = trained()
    before = [buffer.clone() for buffer in table.buffers()]
    optimizer.zero_grad()
    table(torch.tensor([[0, 5]])).backward(torch.full((1, 16), value))
    with pytest.raises(FloatingPointError, match="gradient of rows 0, 5"):
        optimizer.step()
    for one, other in zip(before, table.buffers(), strict=True):
        assert torch.equal(one, other)


def test_a_state_of_another_table_is_told():
    table, _, _ = trained(dim=64, num_chunks=4)
    other = QuantizedFIITEDEmbeddingBag(3000, 64, 0.1, num_chunks=2)
    with pytest.raises((ValueError, RuntimeError), match=r"4 chunks|size mismatch"):
        other.load_state_dict(table.state_dict())
    with pytest.raises(ValueError, match=r"was saved in the shape .*make it with the same budget"):
        QuantizedFIITEDEmbeddingBag(3000, 64, 0.2, num_chunks=4).load_state_dict(table.state_dict())
    with pytest.raises((RuntimeError, KeyError, ValueError)):
        table.load_state_dict(QuantizedEmbeddingBag(3000, 64).state_dict())


def test_a_state_that_is_refused_has_changed_nothing():
    table, other = (QuantizedFIITEDEmbeddingBag(3000, 16, c, seed=s) for c, s in ((0.2, 1), (0.1, 2)))
    table.utility_scale = 0.5
    whole = QuantizedFIITEDEmbeddingBag(100, 32, budget_bytes=600, num_chunks=1, seed=3)
    parts = QuantizedFIITEDEmbeddingBag(100, 32, budget_bytes=600, num_chunks=2, seed=4)
    for given, own in ((table, other), (whole, parts)):
        before = [buffer.clone() for buffer in own.buffers()]
        with pytest.raises(ValueError, match=r"was saved|saved with"):
            own.load_state_dict(given.state_dict())
        assert all(map(torch.equal, before, own.buffers()))
        assert (own.seed, own.utility_scale) in ((2, 1.0), (4, 1.0))


def test_empty_calls():
    table, optimizer, _ = trained()
    assert table(torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 16)
    optimizer.zero_grad()
    empty = table(torch.zeros(3, 0, dtype=torch.int64))
    assert empty.shape == (3, 16)
    assert not empty.any()
    empty.sum().backward()
    optimizer.step()
    assert torch.equal(table(torch.tensor([], dtype=torch.int64), torch.tensor([0, 0])), torch.zeros(2, 16))


def test_ids_that_follow_one_another_never_crowd_a_bucket():
    """The ids 0 to B - 1 have a bucket each: sorted by frequency, the most frequent ones never push each other out."""
    table = QuantizedFIITEDEmbeddingBag(100_000, 16, 0.05, admission=1)
    optimizer = QuantizedOptimizer(table, "sgd", lr=0.1)
    ids = torch.arange(len(table.rows)).unsqueeze(1)
    table(ids).backward(torch.ones(len(ids), 16))
    optimizer.step()
    assert bool(table.live_mask(ids.flatten()).all())


def test_offsets_that_are_wrong_read_nothing_else():
    """A recorded graph checks ids alone; its offsets lie within the ids, in whatever order."""
    table, _, generator = trained(dim=64)
    ids = skewed(3000, 10, generator)
    shape = ("int8", 64, 3000, table.num_chunks, -1, True)
    for offsets in ([0, 5, 2, 10], [10, 0, 10], [7, 7, 3, 0]):
        found = torch.ops.mirror.live_pool(table.buckets, table.rows, ids, torch.tensor(offsets), None, *shape)
        assert found.shape == (len(offsets), 64)
        assert found.isfinite().all()
