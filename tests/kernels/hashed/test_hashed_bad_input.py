"""What is wrong with a call of the hashed embedding bag is named, by the compiled kernel and by the oracle alike."""

from functools import partial

import pytest
import torch
from hashed_calls import Options, backward, op

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbedding, HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")
BAGS = [HashedEmbeddingBag, HashedEmbeddingBagReference]


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
@pytest.mark.parametrize("cls", BAGS)
def test_bad_input_is_named(cls, index, ids, offsets, error, message):
    module = cls(10, 4, 0.5)
    starts = None if offsets is None else torch.tensor(offsets, dtype=index)
    with pytest.raises(error, match=message):
        module(torch.tensor(ids, dtype=index), starts)


@pytest.mark.parametrize("cls", BAGS)
def test_ids_must_be_whole_numbers(cls):
    module = cls(10, 4, 0.5)
    with pytest.raises(TypeError, match="input must be int32 or int64, not float32"):
        module(torch.zeros(1, 2))
    with pytest.raises(TypeError, match="offsets must be int32 or int64, not int16"):
        module(torch.zeros(2, dtype=torch.int64), torch.zeros(1, dtype=torch.int16))


def test_the_op_itself_is_as_strict():
    weight, ids, offsets = torch.randn(5), torch.tensor([1]), torch.tensor([0])
    calls = {
        "weight must be float32, float64, bfloat16 or float16, not Int": partial(
            op, weight.int(), ids, offsets, 9, 2, "sum"
        ),
        "weight must have one dimension": partial(op, weight[None], ids, offsets, 9, 2, "sum"),
        "at least one slot": partial(op, weight[:0], ids, offsets, 9, 2, "sum"),
        "mode must be sum, mean or max, not 'median'": partial(op, weight, ids, offsets, 9, 2, "median"),
        "embedding_dim must be at least 1, not 0": partial(op, weight, ids, offsets, 9, 0, "sum"),
        "num_embeddings must be at least 1, not 0": partial(op, weight, ids, offsets, 0, 2, "sum"),
        "indices must have one dimension": partial(op, weight, ids[None], offsets, 9, 2, "sum"),
        "indices must have two dimensions, or one and offsets, not 1": partial(op, weight, ids, None, 9, 2, "sum"),
        "indices must be int32 or int64": partial(op, weight, ids.short(), offsets, 9, 2, "sum"),
        "offsets must be int32 or int64": partial(op, weight, ids, offsets.short(), 9, 2, "sum"),
        "offsets must have one dimension": partial(op, weight, ids, offsets[None], 9, 2, "sum"),
        "index 1 at position 0": partial(op, weight, ids, offsets, 1, 2, "sum"),
        "hash must be reference or mix64, not 'md5'": partial(op, weight, ids, offsets, 9, 2, "sum", hash="md5"),
        "reference hash has no signs": partial(op, weight, ids, offsets, 9, 2, "sum", signs=True),
        "block_size must be at least 1, not 0": partial(op, weight, ids, offsets, 9, 2, "sum", block_size=0),
        "padding_idx must be an id of the table or -1 for none, not 9": partial(
            op, weight, ids, offsets, 9, 2, "sum", padding_idx=9
        ),
        "for sum and mean, not for max": partial(op, weight, ids, offsets, 9, 2, "max", torch.ones(1)),
        "shape of the indices": partial(op, weight, ids, offsets, 9, 2, "sum", torch.ones(2)),
        "per_sample_weights must be Float as the weight, not Double": partial(
            op, weight, ids, offsets, 9, 2, "sum", torch.ones(1).double()
        ),
        "grad must be": partial(backward, torch.zeros(2, 3), ids, offsets, 5, 9, "sum"),
        "grad must be .bags, embedding_dim.": partial(backward, torch.zeros(3), ids, offsets, 5, 9, "sum"),
        "grad must be float32": partial(backward, torch.zeros(1, 3).int(), ids, offsets, 5, 9, "sum"),
        "index 1 at position 0 is": partial(backward, torch.zeros(1, 3), ids, offsets, 5, 1, "sum"),
        "gradient of max goes to its winners": partial(backward, torch.zeros(1, 3), ids, offsets, 5, 9, "max"),
    }
    for message, call in calls.items():
        with pytest.raises((ValueError, TypeError, IndexError), match=message):
            call()


def test_the_gradients_of_max_and_of_sample_weights_are_as_strict():
    ids, offsets, grad = torch.tensor([1]), torch.tensor([0]), torch.zeros(1, 2)
    tail = Options(9, 2, "sum").tail()
    for weight in (torch.zeros(5).double(), torch.zeros(1, 5)):
        with pytest.raises(ValueError, match="weight must have one dimension, and the type and device of grad"):
            torch.ops.mirror.hashed_embedding_bag_sample_gradient(grad, weight, ids, offsets, 9, *tail)
    winners = torch.zeros(1, 2, dtype=torch.int32)
    max_backward = torch.ops.mirror.hashed_embedding_bag_max_backward
    with pytest.raises(ValueError, match="grad must have the shape of the winners"):
        max_backward(torch.zeros(2, 2), winners, 5, False)
    with pytest.raises(ValueError, match="at least one slot"):
        max_backward(grad, winners, 0, False)
    with pytest.raises(TypeError, match="winners must be of the type that max pooling gives"):
        max_backward(grad, winners.long(), 5, False)


@pytest.mark.parametrize("at", [[-2], [5], [2**31 - 1]])
def test_the_gradient_of_max_stays_inside_its_buffer(at):
    winners = torch.tensor([at], dtype=torch.int32)
    with pytest.raises(IndexError, match=f"winner {at[0]} at position 0 is out of range"):
        torch.ops.mirror.hashed_embedding_bag_max_backward(torch.ones(1, 1), winners, 5, False)


def test_a_tensor_on_another_device_is_refused():
    ids, offsets = torch.tensor([1]), torch.tensor([0])
    for arguments in ((ids.to("meta"), offsets), (ids, offsets.to("meta"))):
        with pytest.raises(ValueError, match="must be on one device, not on cpu, "):
            op(torch.randn(5), *arguments, 9, 2, "sum")
    with pytest.raises(ValueError, match="must be on one device, not on cpu, cpu, cpu and meta"):
        op(torch.randn(5), ids, offsets, 9, 2, "sum", torch.ones(1, device="meta"))


@pytest.mark.parametrize("cls", BAGS)
def test_a_module_and_its_input_are_on_one_device(cls):
    module, ids, offsets, samples = cls(10, 4, 0.5), torch.tensor([1, 2]), torch.tensor([0]), torch.ones(2)
    for arguments in (
        (ids.to("meta"), offsets),
        (ids, offsets.to("meta")),
        (ids.to("meta"), offsets.to("meta")),
        (ids.reshape(1, 2).to("meta"),),
        (ids, offsets, samples.to("meta")),
    ):
        with pytest.raises(ValueError, match="must be on one device, not on cpu"):
            module(*arguments)


@pytest.mark.parametrize("cls", BAGS)
@pytest.mark.parametrize(
    ("mode", "samples", "error", "message"),
    [
        ("max", torch.ones(2, 3), ValueError, "per_sample_weights are for sum and mean, not for max"),
        ("sum", torch.ones(6), ValueError, r"must have the shape of the input, \(2, 3\), not \(6,\)"),
        ("mean", torch.ones(2, 1), ValueError, r"must have the shape of the input, \(2, 3\), not \(2, 1\)"),
        ("sum", torch.ones(2, 3).double(), TypeError, "per_sample_weights must be float32 as the weight, not float64"),
        ("sum", torch.ones(2, 3).int(), TypeError, "per_sample_weights must be float32 as the weight, not int32"),
    ],
)
def test_bad_sample_weights_are_named(cls, mode, samples, error, message):
    with pytest.raises(error, match=message):
        cls(10, 4, 0.5, mode)(torch.ones(2, 3).long(), per_sample_weights=samples)


@pytest.mark.parametrize("cls", BAGS)
@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        ([], [], "with include_last_offset, offsets hold at least the end of the last bag"),
        ([1, 2], [0, 3], "offset 3 at position 1 runs past the 2 indices"),
        ([1, 2], [1, 2], "offsets must start at 0, not at 1"),
    ],
)
def test_offsets_that_end_with_the_end_of_the_last_bag_are_checked(cls, ids, offsets, message):
    module = cls(10, 4, 0.5, include_last_offset=True)
    with pytest.raises(ValueError, match=message):
        module(torch.tensor(ids, dtype=torch.int64), torch.tensor(offsets, dtype=torch.int64))


@pytest.mark.parametrize("cls", [*BAGS, HashedEmbedding])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash": "md5"}, "hash must be reference or mix64, not 'md5'"),
        ({"seed": 1}, "the reference hash has neither seed, table nor signs: use hash='mix64'"),
        ({"table": 1}, "neither seed, table nor signs"),
        ({"signs": True}, "neither seed, table nor signs"),
        ({"hash": "mix64", "seed": -1}, r"seed must be a whole number in \[0, 2\^63\), not -1"),
        ({"hash": "mix64", "table": 2**63}, "table must be a whole number"),
        ({"hash": "mix64", "seed": 0.5}, "seed must be a whole number"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1 and below 2.63, not 0"),
        ({"block_size": 2.0}, "block_size must be a whole number"),
        ({"block_size": 2**63}, "block_size must be"),
        ({"padding_idx": 10}, "padding_idx must be a row of the table, of 10, not 10"),
        ({"padding_idx": -11}, "padding_idx must be a row of the table, of 10, not -11"),
        ({"padding_idx": 1.5}, "padding_idx must be a row of the table or None, not 1.5"),
        ({"compression": 0}, "compression is the fraction of parameters kept"),
        ({"compression": 1.5}, "compression is the fraction of parameters kept"),
        ({"compression": 0.02}, "leaves no slot of 10 x 4 elements: it must be at least 1 / 40"),
        ({"embedding_dim": 0}, "embedding_dim must be a whole number of at least 1, not 0"),
        ({"num_embeddings": -1}, "num_embeddings must be a whole number of at least 1, not -1"),
        ({"_weight": torch.zeros(2, 2)}, "_weight must be a 1-D floating-point tensor with at least one slot"),
        ({"_weight": torch.zeros(0)}, "_weight must be a 1-D floating-point tensor with at least one slot"),
        ({"_weight": torch.zeros(3).int()}, r"not \(3,\) int32"),
    ],
)
def test_bad_arguments_of_a_table_are_named(cls, options, message):
    with pytest.raises(ValueError, match=message):
        cls(**{"num_embeddings": 10, "embedding_dim": 4, "compression": 0.5, **options})


@pytest.mark.parametrize("cls", BAGS)
def test_an_unknown_mode_is_named(cls):
    with pytest.raises(ValueError, match="mode must be sum, mean or max, not 'median'"):
        cls(10, 4, 0.5, "median")


def test_ids_of_an_embedding_are_checked():
    module = HashedEmbedding(10, 4, 0.5)
    with pytest.raises(IndexError, match="index 10 at position 3 is out of range: ids of this table run from 0 to 9"):
        module(torch.tensor([[1, 2], [3, 10]]))
    with pytest.raises(TypeError, match="input must be int32 or int64, not float32"):
        module(torch.zeros(2))
    with pytest.raises(TypeError, match="include_last_offset"):
        HashedEmbedding(10, 4, include_last_offset=True)
