"""The compiled hashed embedding bag against the oracle: forward, gradients, state."""

import copy
import inspect
import io
import math

import pytest
import torch
from hashed_calls import IDS, MODES, OFFSETS, op, slots_of
from torch import nn

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("bags", ["offsets", "2-D", "empty 2-D", "no bags"])
def test_forward_and_gradient_agree_with_the_oracle(mode, dtype, index, bags):
    torch.manual_seed(0)
    compiled = HashedEmbeddingBag(1000, 19, 0.01, mode, dtype=dtype)
    reference = HashedEmbeddingBagReference(1000, 19, mode=mode, _weight=compiled.hashed_weight.detach().clone())
    inputs = {
        "offsets": (torch.tensor(IDS, dtype=index), torch.tensor(OFFSETS, dtype=index)),
        "2-D": (torch.randint(0, 1000, (5, 7), dtype=index),),
        "empty 2-D": (torch.zeros(4, 0, dtype=index),),
        "no bags": (torch.zeros(0, dtype=index), torch.zeros(0, dtype=index)),
    }[bags]
    found, expected = compiled(*inputs), reference(*inputs)
    torch.testing.assert_close(found, expected)
    assert found.dtype == dtype
    gradient = torch.randn_like(found)
    found.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(compiled.hashed_weight.grad, reference.hashed_weight.grad)


@pytest.mark.parametrize("mode", MODES)
def test_empty_bags_give_zeros(mode):
    output = HashedEmbeddingBag(1000, 8, 0.5, mode)(torch.tensor(IDS), torch.tensor(OFFSETS))
    assert output.ne(0).any(1).tolist() == [False, True, True, False, True, True, False]


@pytest.mark.parametrize("mode", MODES)
def test_int32_ids_with_int64_offsets_and_strided_tensors(mode):
    module = HashedEmbeddingBag(1000, 8, 0.5, mode)
    expected = module(torch.tensor(IDS), torch.tensor(OFFSETS))
    strided = torch.tensor([IDS, IDS], dtype=torch.int32).t().contiguous()[:, 0]
    assert not strided.is_contiguous()
    assert torch.equal(module(strided, torch.tensor(OFFSETS)), expected)
    strided_weight = torch.stack([module.hashed_weight.detach()] * 2, 1)[:, 0]
    output, _ = op(strided_weight, torch.tensor(IDS), torch.tensor(OFFSETS), 1000, 8, mode)
    assert torch.equal(output, expected)


def test_max_takes_the_first_of_equals():
    module = HashedEmbeddingBag(1000, 4, mode="max", _weight=torch.ones(100))
    module(torch.tensor([[5, 6, 7]])).sum().backward()
    expected = torch.zeros(100).index_add(0, slots_of(torch.tensor([5]), 4, 100)[0], torch.ones(4))
    assert torch.equal(module.hashed_weight.grad, expected)


@pytest.mark.parametrize("mode", MODES)
def test_nan_flows_through(mode):
    weight = torch.randn(40)
    weight[int(slots_of(torch.tensor([6]), 3, 40)[0, 1])] = math.nan
    outputs = [cls(10, 3, mode=mode, _weight=weight) for cls in (HashedEmbeddingBag, HashedEmbeddingBagReference)]
    for ids in ([[5, 6, 7]], [[6, 5, 7]], [[5, 7, 6]]):
        found, expected = (module(torch.tensor(ids)) for module in outputs)
        assert found[0, 1].isnan()
        torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("mode", MODES)
def test_gradient_of_an_expanded_gradient(mode):
    compiled = HashedEmbeddingBag(1000, 8, 0.01, mode, dtype=torch.float64)
    reference = HashedEmbeddingBagReference(1000, 8, mode=mode, _weight=compiled.hashed_weight.detach().clone())
    for module in (compiled, reference):
        module(torch.tensor(IDS), torch.tensor(OFFSETS)).sum().backward()
    torch.testing.assert_close(compiled.hashed_weight.grad, reference.hashed_weight.grad)
    assert compiled.hashed_weight.grad.abs().sum() > 0


def test_state_and_copies():
    module = HashedEmbeddingBag(100, 8, 0.25, "mean")
    other = HashedEmbeddingBag(100, 8, 0.25, "mean")
    assert list(module.state_dict()) == ["hashed_weight"]
    other.load_state_dict(module.state_dict())
    ids = torch.randint(0, 100, (3, 4))
    twin = copy.deepcopy(module)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for same in (other, twin, torch.load(file, weights_only=False)):
        assert torch.equal(same(ids), module(ids))
    assert twin.hashed_weight.data_ptr() != module.hashed_weight.data_ptr()


def test_tables_that_share_a_buffer_add_their_gradients():
    shared = nn.Parameter(torch.randn(20, dtype=torch.float64))
    first, second = (HashedEmbeddingBag(50, 4, _weight=shared) for _ in range(2))
    (first(torch.tensor([[1]])).sum() + second(torch.tensor([[2]])).sum()).backward()
    expected = torch.zeros_like(shared)
    expected.index_add_(0, slots_of(torch.tensor([1, 2]), 4, 20).flatten(), torch.ones(8, dtype=torch.float64))
    assert torch.equal(shared.grad, expected)


def test_arguments_are_those_of_the_original():
    parameters = list(inspect.signature(HashedEmbeddingBag).parameters.values())
    assert [p.name for p in parameters[:5]] == ["num_embeddings", "embedding_dim", "compression", "mode", "_weight"]
    assert parameters[2].default == 1 / 64
    assert parameters[3].default == "sum"


def test_no_per_element_tensor_is_kept_for_backward():
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t.numel()), t)[1], lambda t: t):
        HashedEmbeddingBag(1000, 32, 0.1)(torch.randint(0, 1000, (4, 50)))
    assert max(saved) == 4 * 50


@pytest.mark.parametrize("block", [1, 8])
@pytest.mark.parametrize("signs", [False, True])
def test_of_equal_slots_the_first_has_the_gradient_across_parts_of_a_long_bag(block, signs):
    # Longer than the rows whose slots are found at one time.
    options = {"hash": "mix64", "signs": signs, "block_size": block}
    ids = torch.arange(1000).reshape(1, -1)
    values = torch.randint(-1, 2, (500,)).double()
    gradients = []
    for cls in (HashedEmbeddingBag, HashedEmbeddingBagReference):
        module = cls(1000, 11, mode="max", _weight=values.clone(), **options)
        module(ids).mul(torch.arange(1, 12)).sum().backward()
        gradients.append(module.hashed_weight.grad)
    assert torch.equal(*gradients)


def test_a_padding_beyond_the_ids_type_is_none_of_them():
    module = HashedEmbeddingBag(2**32 + 1, 4, 1e-8, "mean", padding_idx=-1)  # id 2^32, which as int32 would be 0
    ids = torch.zeros(1, 4, dtype=torch.int32)
    torch.testing.assert_close(module(ids), module(ids.long()))
