"""Results of the hashed embedding bag are the same bits at any number of threads."""

import pytest
import torch
from hashed_calls import MODES

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")
THREADS = (1, 2, 2, 3, 5)
# Slots, by how the gradient of 144,000 elements is shared out: enough work per slot for several parts with buffers; too
# little; and so many that threads have slots of their own.
STRATEGIES = {"parts": 1600, "one thread": 400_000, "own slots": 1_200_000}
OPTIONS = {
    "plain": {},
    "signs": {"hash": "mix64", "signs": True, "padding_idx": 3},
    "blocks": {"hash": "mix64", "block_size": 8, "signs": True},
    "reference blocks": {"block_size": 16},
}


def at_each_number_of_threads(run) -> list[list[torch.Tensor]]:
    before = torch.get_num_threads()
    results = []
    try:
        for threads in THREADS:
            torch.set_num_threads(threads)
            results.append(run())
    finally:
        torch.set_num_threads(before)
    return results


def assert_same_bits(results: list[list[torch.Tensor]]) -> None:
    for others in results[1:]:
        for other, first in zip(others, results[0], strict=True):
            assert torch.equal(other, first)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_number_of_threads_does_not_change_a_bit(mode):
    # Enough work per slot for several private gradient buffers.
    module = HashedEmbeddingBag(50_000, 16, 0.002, mode)
    ids, offsets = torch.randint(0, 50_000, (8192,)), torch.arange(0, 8192, 4)

    def run():
        output = module(ids, offsets)
        (gradient,) = torch.autograd.grad(output.sin().sum(), module.hashed_weight)
        return [output.detach(), gradient]

    results = at_each_number_of_threads(run)
    assert_same_bits(results)
    reference = HashedEmbeddingBagReference(50_000, 16, mode=mode, _weight=module.hashed_weight.detach().clone())
    (expected,) = torch.autograd.grad(reference(ids, offsets).sin().sum(), reference.hashed_weight)
    torch.testing.assert_close(results[0][1], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_options_and_strategies(mode, strategy, options, dtype):
    torch.manual_seed(1)
    weight = torch.randn(STRATEGIES[strategy], dtype=dtype)
    tables = [
        cls(50_000, 16, mode=mode, _weight=weight.to(wanted), **OPTIONS[options])
        for cls, wanted in ((HashedEmbeddingBag, dtype), (HashedEmbeddingBagReference, torch.float64))
    ]
    ids = torch.randint(0, 50_000, (9000,))
    ids[torch.rand(9000) < 0.1] = 3
    # Bags of very different sizes, many of them empty.
    offsets = torch.cat([torch.zeros(50), torch.randint(0, 9000, (700,)).sort().values, torch.full((60,), 9000)]).long()
    samples = None if mode == "max" else torch.rand(9000, dtype=dtype)
    grad = torch.randn(len(offsets), 16, dtype=dtype)

    def run(module, samples):
        wanted = [module.hashed_weight] + ([] if samples is None else [samples.requires_grad_()])
        output = module(ids, offsets, samples)
        return [output.detach(), *torch.autograd.grad(output, wanted, grad.to(output.dtype))]

    results = at_each_number_of_threads(lambda: run(tables[0], samples))
    assert_same_bits(results)
    expected = run(tables[1], None if samples is None else samples.detach().double())
    step = torch.finfo(dtype).eps
    for found, right in zip(results[0], expected, strict=True):
        torch.testing.assert_close(found.double(), right, rtol=8 * step, atol=8 * step * float(right.abs().max()))


def test_second_derivatives():
    module = HashedEmbeddingBag(50_000, 16, 0.002, "mean", hash="mix64", signs=True)
    ids, samples = torch.randint(0, 50_000, (2048, 4)), torch.rand(2048, 4, requires_grad=True)

    def run():
        output = module(ids, per_sample_weights=samples)
        first = torch.autograd.grad(output.pow(3).sum(), (module.hashed_weight, samples), create_graph=True)
        return [*first, *torch.autograd.grad(sum(g.pow(2).sum() for g in first), (module.hashed_weight, samples))]

    assert_same_bits([[t.detach() for t in result] for result in at_each_number_of_threads(run)])
