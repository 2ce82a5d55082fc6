"""The hashed embedding bag as the original project computes it, against the oracle and the one in plain PyTorch."""

import pytest
import torch
from hash_oracle import VECTORS, slot_and_sign
from hashed_calls import IDS, MODES, OFFSETS

from bench_engine.kernels.hashed.hashed_original import HashedEmbeddingBagOriginal
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("built_kernels")

DIM = 19


def slots_of(row: int, dim: int, num_slots: int) -> list[int]:
    """Slots of a row as the kernel finds them: the value of each slot is its number."""
    weight = torch.arange(num_slots, dtype=torch.float64)
    module = HashedEmbeddingBagOriginal(2**62, dim, _weight=weight)
    with torch.no_grad():
        return module(torch.tensor([[row]])).long()[0].tolist()


@pytest.mark.parametrize("num_slots", [1, 7, 4800, 65536])
@pytest.mark.parametrize("row", sorted({row for row, _ in VECTORS} | {938_723_462, 1_877_623_596}))
def test_slots_are_those_of_the_original(row, num_slots):
    found = slots_of(row, 256, num_slots)
    assert found == [slot_and_sign(row, d, num_slots)[0] for d in range(256)]
    for (known, d), h in VECTORS.items():
        assert known != row or found[d] == h % num_slots


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("bags", ["offsets", "2-D", "empty 2-D", "no bags", "many"])
def test_output_and_gradient_agree_with_plain_pytorch(mode, dtype, index, bags):
    torch.manual_seed(0)
    module = HashedEmbeddingBagOriginal(1000, DIM, 0.01, mode, dtype=dtype)
    reference = HashedEmbeddingBagReference(1000, DIM, mode=mode, _weight=module.hashed_weight.detach().clone())
    inputs = {
        "offsets": (torch.tensor(IDS, dtype=index), torch.tensor(OFFSETS, dtype=index)),
        "2-D": (torch.randint(0, 1000, (5, 7), dtype=index),),
        "empty 2-D": (torch.zeros(4, 0, dtype=index),),
        "no bags": (torch.zeros(0, dtype=index), torch.zeros(0, dtype=index)),
        "many": (torch.randint(0, 1000, (900, 9), dtype=index),),  # enough for several threads
    }[bags]
    found, expected = module(*inputs), reference(*inputs)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn_like(found)
    found.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(module.hashed_weight.grad, reference.hashed_weight.grad, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_empty_bags_give_zeros(mode):
    output = HashedEmbeddingBagOriginal(1000, 8, 0.5, mode)(torch.tensor(IDS), torch.tensor(OFFSETS))
    assert output.ne(0).any(1).tolist() == [False, True, True, False, True, True, False]


@pytest.mark.parametrize("mode", MODES)
def test_gradient_of_an_expanded_gradient(mode):
    module = HashedEmbeddingBagOriginal(1000, 8, 0.01, mode, dtype=torch.float64)
    reference = HashedEmbeddingBagReference(1000, 8, mode=mode, _weight=module.hashed_weight.detach().clone())
    for either in (module, reference):
        either(torch.tensor(IDS), torch.tensor(OFFSETS)).sum().backward()
    torch.testing.assert_close(module.hashed_weight.grad, reference.hashed_weight.grad)
    assert module.hashed_weight.grad.abs().sum() > 0


def test_of_equal_elements_the_first_has_the_gradient_and_a_nan_wins():
    module = HashedEmbeddingBagOriginal(1000, 4, mode="max", _weight=torch.ones(100))
    module(torch.tensor([[5, 6, 7]])).sum().backward()
    expected = torch.zeros(100).index_add(0, torch.tensor(slots_of(5, 4, 100)), torch.ones(4))
    assert torch.equal(module.hashed_weight.grad, expected)
    with torch.no_grad():
        module.hashed_weight[slots_of(6, 4, 100)] = float("nan")
    assert module(torch.tensor([[5, 6, 7], [6, 5, 7], [5, 7, 6]])).isnan().all()


@pytest.mark.parametrize("mode", MODES)
def test_results_are_the_same_bits_at_any_number_of_threads(mode):
    module = HashedEmbeddingBagOriginal(1000, 16, 0.05, mode)
    ids = torch.randint(0, 1000, (3000, 5))
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            module.zero_grad()
            output = module(ids)
            output.backward(torch.linspace(-1, 1, output.numel()).view_as(output))
            results.append((output.detach(), module.hashed_weight.grad))
    finally:
        torch.set_num_threads(before)
    for output, gradient in results[1:]:
        assert torch.equal(output, results[0][0])
        assert torch.equal(gradient, results[0][1])


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("wrong", [-1, 1000])
def test_an_id_out_of_range_is_named(index, wrong):
    module = HashedEmbeddingBagOriginal(1000, 8, 0.5)
    with pytest.raises(IndexError, match=f"index {wrong} at position 4 is out of range: ids .* from 0 to 999"):
        module(torch.tensor([[1, 2, 3], [4, wrong, wrong]], dtype=index))


def test_wrong_offsets_and_types_are_refused():
    module = HashedEmbeddingBagOriginal(1000, 8, 0.5)
    with pytest.raises(ValueError, match="offsets must not fall"):
        module(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="offset 4 at position 1 runs past the 3 indices"):
        module(torch.tensor([1, 2, 3]), torch.tensor([0, 4]))
    with pytest.raises(TypeError, match="input must be int32 or int64"):
        module(torch.tensor([[1.0]]))


def test_the_rows_are_those_of_the_other_hashed_tables():
    module = HashedEmbeddingBagOriginal(50, 6, 0.2)
    ids = torch.arange(50)
    assert torch.equal(module.materialize(), module(ids.unsqueeze(1)))
    assert list(module.state_dict()) == ["hashed_weight"]
