"""The compiled hashed embedding bag: bit-exact hash, forward, gradients, compilation, bad input."""

import copy
import inspect
import io
import math
from functools import partial

import pytest
import torch
from test_hashed_reference import VECTORS, exact
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from bench_engine.kernels import _hashed_ops
from bench_engine.kernels.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed_reference import HashedEmbeddingBagReference, slots_of

MODES = ("sum", "mean", "max")
# Bags of several sizes, empty ones at the start, in the middle and at the end; ids repeat.
IDS = [7, 7, 3, 999, 0, 512, 7, 11, 12, 13, 14, 999]
OFFSETS = [0, 0, 1, 4, 4, 11, 12]


def op(weight, ids, offsets, num_embeddings, dim, mode):
    return torch.ops.mirror.hashed_embedding_bag(weight, ids, offsets, num_embeddings, dim, mode)


@pytest.fixture(autouse=True)
def _loaded(built_kernels):
    _hashed_ops.load()


def compiled_slots(rows: list[int], dim: int, num_slots: int) -> torch.Tensor:
    """Slots (N, D) as the kernel finds them: the value of each slot is its own number."""
    weight = torch.arange(num_slots, dtype=torch.float64)
    output, _ = op(weight, torch.tensor(rows), torch.arange(len(rows)), 2**63 - 1, dim, "sum")
    return output.long()


@pytest.mark.parametrize(("at", "h"), VECTORS.items())
def test_known_hashes(at, h):
    row, d = at
    # The remainders by three coprime numbers, whose product exceeds every hash, leave one possible hash.
    for num_slots in (99_991, 99_989, 99_971):
        assert int(compiled_slots([row], d + 1, num_slots)[0, d]) == h % num_slots


@pytest.mark.parametrize("num_slots", [1, 2, 3, 1000, 65_536, 99_991])
@pytest.mark.parametrize("dim", [1, 5, 16, 33, 200])
def test_slots_agree_with_the_oracle(dim, num_slots):
    edge = (2**64 - 1 - 104729 - (dim - 1) * 57857966300227) // 9824516537  # last row whose sum does not wrap
    rows = torch.randint(0, 2 * edge, (300,), generator=torch.Generator().manual_seed(dim)).tolist()
    rows += [0, 1, 11922, 11923, edge - 1, edge, edge + 1, edge + 2, 2**40, 2**62, 2**63 - 2]
    found = compiled_slots(rows, dim, num_slots)
    assert torch.equal(found, slots_of(torch.tensor(rows), dim, num_slots))
    assert found[-1].tolist() == [exact(2**63 - 2, d) % num_slots for d in range(dim)]


def test_slots_of_a_dimension_whose_own_factor_wraps():
    dim = 2**64 // 57857966300227 + 10
    assert torch.equal(compiled_slots([0, 5], dim, 1001), slots_of(torch.tensor([0, 5]), dim, 1001))


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


@pytest.mark.parametrize("mode", MODES)
def test_numerical_gradients(mode):
    weight = torch.randn(30, dtype=torch.float64, requires_grad=True)
    ids, offsets = torch.tensor(IDS), torch.tensor(OFFSETS)

    def pooled(w):
        return op(w, ids, offsets, 1000, 3, mode)[0]

    assert gradcheck(pooled, weight)
    assert gradgradcheck(pooled, weight)
    assert gradgradcheck(lambda w: pooled(w).pow(3), weight)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(mode, requires_grad):
    weight = torch.randn(30, requires_grad=requires_grad)
    arguments = (torch.tensor(IDS), torch.tensor(OFFSETS))
    torch.library.opcheck(torch.ops.mirror.hashed_embedding_bag, (weight, *arguments, 1000, 3, mode))
    if mode != "max":
        gradient = torch.randn(len(OFFSETS), 3, requires_grad=requires_grad)
        backward = torch.ops.mirror.hashed_embedding_bag_backward
        torch.library.opcheck(backward, (gradient, *arguments, 30, 1000, mode))


@pytest.mark.parametrize("mode", MODES)
def test_compiles_in_one_graph(mode):
    torch._dynamo.reset()
    module = HashedEmbeddingBag(1000, 8, 0.1, mode)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for size in (2, 3):
        ids = torch.randint(0, 1000, (4, size))
        module.zero_grad()
        module(ids).pow(2).sum().backward()
        expected = module.hashed_weight.grad.clone()
        module.zero_grad()
        compiled(ids).pow(2).sum().backward()
        assert torch.equal(module.hashed_weight.grad, expected)
    found = compiled(torch.tensor(IDS), torch.tensor(OFFSETS))
    assert torch.equal(found, module(torch.tensor(IDS), torch.tensor(OFFSETS)))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_number_of_threads_does_not_change_a_bit(mode):
    # Enough work per slot for several private gradient buffers.
    module = HashedEmbeddingBag(50_000, 16, 0.002, mode)
    ids, offsets = torch.randint(0, 50_000, (8192,)), torch.arange(0, 8192, 4)
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 2, 3):
            torch.set_num_threads(threads)
            output = module(ids, offsets)
            (gradient,) = torch.autograd.grad(output.sin().sum(), module.hashed_weight)
            results.append((output.detach(), gradient))
    finally:
        torch.set_num_threads(before)
    for output, gradient in results[1:]:
        assert torch.equal(output, results[0][0])
        assert torch.equal(gradient, results[0][1])
    reference = HashedEmbeddingBagReference(50_000, 16, mode=mode, _weight=module.hashed_weight.detach().clone())
    (expected,) = torch.autograd.grad(reference(ids, offsets).sin().sum(), reference.hashed_weight)
    torch.testing.assert_close(results[0][1], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize(
    ("ids", "offsets", "error", "message"),
    [
        ([1, 2, 10], [0], IndexError, r"index 10 at position 2 is out of range: ids of this table run from 0 to 9"),
        ([1, -1, 10], [0], IndexError, r"index -1 at position 1 is out of range"),
        ([1, 2], [1], ValueError, r"offsets must start at 0, not at 1"),
        ([1, 2], [-1, 0], ValueError, r"offsets must start at 0, not at -1"),
        ([1, 2, 3], [0, 2, 1], ValueError, r"offsets must not fall: 1 at position 2 follows 2"),
        ([1, 2, 3], [0, 4], ValueError, r"offset 4 at position 1 runs past the 3 indices"),
        ([1, 2, 3], [], ValueError, r"there are 3 indices and no bag: offsets is empty"),
        ([1, 2, 3], None, ValueError, r"a 1-D input needs offsets"),
        ([[1, 2]], [0], ValueError, r"one bag per row: leave offsets out"),
        ([[[1, 2]]], None, ValueError, r"input must be \(B, L\), or \(N,\) with offsets, not \(1, 1, 2\)"),
        ([1, 2], [[0]], ValueError, r"offsets must have one dimension, not 2"),
    ],
)
@pytest.mark.parametrize("cls", [HashedEmbeddingBag, HashedEmbeddingBagReference])
def test_bad_input_is_named(cls, index, ids, offsets, error, message):
    module = cls(10, 4, 0.5)
    starts = None if offsets is None else torch.tensor(offsets, dtype=index)
    with pytest.raises(error, match=message):
        module(torch.tensor(ids, dtype=index), starts)


@pytest.mark.parametrize("cls", [HashedEmbeddingBag, HashedEmbeddingBagReference])
def test_ids_must_be_whole_numbers(cls):
    module = cls(10, 4, 0.5)
    with pytest.raises(TypeError, match="input must be int32 or int64, not float32"):
        module(torch.zeros(1, 2))
    with pytest.raises(TypeError, match="offsets must be int32 or int64, not int16"):
        module(torch.zeros(2, dtype=torch.int64), torch.zeros(1, dtype=torch.int16))


def test_the_op_itself_is_as_strict():
    weight, ids, offsets = torch.randn(5), torch.tensor([1]), torch.tensor([0])
    backward = torch.ops.mirror.hashed_embedding_bag_backward
    calls = {
        "weight must be float32 or float64, not Half": partial(op, weight.half(), ids, offsets, 9, 2, "sum"),
        "weight must have one dimension": partial(op, weight[None], ids, offsets, 9, 2, "sum"),
        "at least one slot": partial(op, weight[:0], ids, offsets, 9, 2, "sum"),
        "mode must be sum, mean or max, not 'median'": partial(op, weight, ids, offsets, 9, 2, "median"),
        "must be at least 1, not 9 and 0": partial(op, weight, ids, offsets, 9, 0, "sum"),
        "indices must have one dimension": partial(op, weight, ids[None], offsets, 9, 2, "sum"),
        "indices must be int32 or int64": partial(op, weight, ids.short(), offsets, 9, 2, "sum"),
        "index 1 at position 0": partial(op, weight, ids, offsets, 1, 2, "sum"),
        "grad must be": partial(backward, torch.zeros(2, 3), ids, offsets, 5, 9, "sum"),
        "index 1 at position 0 is": partial(backward, torch.zeros(1, 3), ids, offsets, 5, 1, "sum"),
        "gradient of max goes to its winners": partial(backward, torch.zeros(1, 3), ids, offsets, 5, 9, "max"),
    }
    for message, call in calls.items():
        with pytest.raises((ValueError, TypeError, IndexError), match=message):
            call()


def test_a_tensor_on_another_device_is_refused():
    ids, offsets = torch.tensor([1]), torch.tensor([0])
    for arguments in ((ids.to("meta"), offsets), (ids, offsets.to("meta"))):
        with pytest.raises(ValueError, match="must be on one device, not on cpu, "):
            op(torch.randn(5), *arguments, 9, 2, "sum")


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
