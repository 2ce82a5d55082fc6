"""First and second derivatives of the compiled hashed embedding bag, and opcheck, over a table of its options."""

import pytest
import torch
from hashed_calls import IDS, MODES, OFFSETS, Options, arguments, op
from torch.autograd import gradcheck, gradgradcheck

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")
SLOTS = 30
# mode, hash, signs, block, dimension, sample weights, padding, last offset: each pair of values of two options is here.
TABLE = {
    "sum": ("sum", "reference", False, 1, 3, False, -1, False),
    "sum samples": ("sum", "reference", False, 1, 3, True, 7, True),
    "sum mix64 samples": ("sum", "mix64", False, 3, 5, True, -1, False),
    "sum signs": ("sum", "mix64", True, 1, 3, False, 7, True),
    "sum signs samples block": ("sum", "mix64", True, 8, 11, True, 7, False),
    "sum block": ("sum", "reference", False, 8, 9, False, 7, False),
    "mean": ("mean", "reference", False, 1, 3, False, -1, True),
    "mean samples": ("mean", "mix64", True, 1, 3, True, -1, True),
    "mean samples padding": ("mean", "reference", False, 3, 5, True, 7, False),
    "mean block": ("mean", "mix64", True, 8, 10, False, 7, False),
    "mean samples block": ("mean", "reference", False, 8, 9, True, -1, True),
    "max": ("max", "reference", False, 1, 3, False, -1, False),
    "max signs": ("max", "mix64", True, 1, 3, False, 7, False),
    "max block": ("max", "mix64", True, 8, 9, False, -1, True),
    "max odd block": ("max", "reference", False, 3, 5, False, 7, True),
}


def call(name):
    """Options of a row of the table, and its ids and offsets; the last id is of no bag with include_last_offset."""
    mode, hash, signs, block, dim, samples, padding, last = TABLE[name]
    options = Options(1000, dim, mode, hash, 5 if hash == "mix64" else 0, signs, block, padding, last)
    offsets = [*OFFSETS[:-1], len(IDS) - 1] if last else OFFSETS
    return options, samples, torch.tensor(IDS), torch.tensor(offsets)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(3)


@pytest.mark.parametrize("mode", MODES)
def test_numerical_gradients(mode):
    weight = torch.randn(30, dtype=torch.float64, requires_grad=True)
    ids, offsets = torch.tensor(IDS), torch.tensor(OFFSETS)

    def pooled(w):
        return op(w, ids, offsets, 1000, 3, mode)[0]

    assert gradcheck(pooled, weight)
    assert gradgradcheck(pooled, weight)
    assert gradgradcheck(lambda w: pooled(w).pow(3), weight)


@pytest.mark.parametrize("name", TABLE)
def test_numerical_gradients_with_options(name):
    options, weighted, ids, offsets = call(name)
    weight = torch.randn(SLOTS, dtype=torch.float64, requires_grad=True)

    def pooled(w, s=None):
        return torch.ops.mirror.hashed_embedding_bag(*arguments(w, ids, offsets, s, options))[0].sin()

    inputs = [weight]
    if weighted:
        inputs.append(torch.randn(len(IDS), dtype=torch.float64, requires_grad=True))
    assert gradcheck(pooled, inputs)
    assert gradgradcheck(pooled, inputs)


@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name][5]])
def test_third_derivatives_by_weight_and_samples_are_those_of_the_oracle(name):
    options, _, ids, offsets = call(name)
    found = []
    for cls in (HashedEmbeddingBag, HashedEmbeddingBagReference):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(SLOTS, dtype=torch.float64))
        samples = torch.randn(len(IDS), dtype=torch.float64, requires_grad=True)
        module = cls(
            1000, options.embedding_dim, mode=options.mode, _weight=weight, hash=options.hash, signs=options.signs,
            block_size=options.block_size, padding_idx=None if options.padding_idx < 0 else options.padding_idx,
            include_last_offset=options.include_last_offset,
        )  # fmt: skip
        values = [module(ids, offsets, samples).pow(3).sum()]
        for _ in range(3):
            gradients = torch.autograd.grad(values[-1], (weight, samples), create_graph=True)
            values.append(sum(gradient.pow(2).sum() for gradient in gradients))
        found.append(torch.stack(values))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(mode, requires_grad):
    weight = torch.randn(30, requires_grad=requires_grad)
    options = Options(1000, 3, mode)
    call = arguments(weight, torch.tensor(IDS), torch.tensor(OFFSETS), None, options, requires_grad)
    torch.library.opcheck(torch.ops.mirror.hashed_embedding_bag, call)
    if mode != "max":
        gradient = torch.randn(len(OFFSETS), 3, requires_grad=requires_grad)
        backward = torch.ops.mirror.hashed_embedding_bag_backward
        torch.library.opcheck(
            backward, (gradient, torch.tensor(IDS), torch.tensor(OFFSETS), None, 30, 1000, *options.tail())
        )


@pytest.mark.parametrize("name", TABLE)
def test_opcheck_with_options(name):
    options, weighted, ids, offsets = call(name)
    weight = torch.randn(SLOTS, requires_grad=True)
    samples = torch.randn(len(IDS), requires_grad=True) if weighted else None
    torch.library.opcheck(torch.ops.mirror.hashed_embedding_bag, arguments(weight, ids, offsets, samples, options))


def test_opcheck_of_ids_in_rows():
    weight = torch.randn(SLOTS, requires_grad=True)
    ids, samples = torch.tensor(IDS).reshape(3, 4), torch.randn(3, 4, requires_grad=True)
    torch.library.opcheck(
        torch.ops.mirror.hashed_embedding_bag, arguments(weight, ids, None, samples, Options(1000, 3, "mean"))
    )


@pytest.mark.parametrize("name", ["sum signs samples block", "mean samples"])
def test_opcheck_of_the_gradients(name):
    options, _, ids, offsets = call(name)
    weight, samples = torch.randn(SLOTS, requires_grad=True), torch.randn(len(IDS), requires_grad=True)
    bags = len(offsets) - options.include_last_offset
    grad = torch.randn(bags, options.embedding_dim, requires_grad=True)
    table = (options.num_embeddings, *options.tail())
    ops = torch.ops.mirror
    torch.library.opcheck(ops.hashed_embedding_bag_backward, (grad, ids, offsets, samples, SLOTS, *table))
    torch.library.opcheck(ops.hashed_embedding_bag_sample_gradient, (grad, weight, ids, offsets, *table))


@pytest.mark.parametrize("signs", [False, True])
def test_opcheck_of_the_gradient_of_max(signs):
    hash = "mix64" if signs else "reference"
    ids, offsets = torch.tensor(IDS), torch.tensor(OFFSETS)
    _, winners = op(torch.randn(SLOTS), ids, offsets, 1000, 3, "max", hash=hash, signs=signs)
    assert winners.min() == -1
    grad = torch.randn(len(OFFSETS), 3, requires_grad=True)
    torch.library.opcheck(torch.ops.mirror.hashed_embedding_bag_max_backward, (grad, winners, SLOTS, signs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["expanded", "transposed", "every other"])
def test_gradients_that_are_not_contiguous(mode, form):
    module = HashedEmbeddingBag(1000, 9, 0.05, mode, hash="mix64", signs=True)
    output = module(torch.tensor(IDS), torch.tensor(OFFSETS))
    rows, dim = output.shape
    gradient = {
        "expanded": torch.randn(dim).expand(rows, dim),
        "transposed": torch.randn(dim, rows).t(),
        "every other": torch.randn(rows, 2 * dim)[:, ::2],
    }[form]
    assert not gradient.is_contiguous()
    (found,) = torch.autograd.grad(output, module.hashed_weight, gradient, retain_graph=True)
    (expected,) = torch.autograd.grad(output, module.hashed_weight, gradient.contiguous())
    assert torch.equal(found, expected)
    assert found.abs().sum() > 0


@pytest.mark.parametrize("dim", [1, 9, 16])
def test_a_nan_elsewhere_in_the_buffer_is_not_in_a_gradient(dim):
    for block in (1, 8):
        torch.manual_seed(0)
        module = HashedEmbeddingBag(1000, dim, mode="sum", _weight=torch.randn(400), block_size=block)
        slots = module.layout.slots(torch.tensor([5])).flatten()
        others = torch.ones(400, dtype=torch.bool).index_fill(0, slots, False)
        module.hashed_weight.data[others] = torch.nan
        samples = torch.ones(1, 1, requires_grad=True)
        module(torch.tensor([[5]]), per_sample_weights=samples).sum().backward()
        torch.testing.assert_close(samples.grad.flatten()[0], module.hashed_weight.detach()[slots].sum())


def test_a_gradient_is_taken_of_what_asks_for_one():
    ids, offsets = torch.tensor(IDS), torch.tensor(OFFSETS)
    weight, samples = torch.randn(SLOTS), torch.randn(len(IDS), requires_grad=True)
    module = HashedEmbeddingBag(1000, 3, _weight=weight)
    module.hashed_weight.requires_grad_(False)
    module(ids, offsets, samples).sum().backward()
    assert samples.grad.abs().sum() > 0
    assert module.hashed_weight.grad is None
    with torch.no_grad():
        assert not module(ids, offsets, samples).requires_grad
