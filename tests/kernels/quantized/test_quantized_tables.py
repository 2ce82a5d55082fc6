"""Looking up in tables of quantized rows: pooling, budgets, states and bad input."""

import copy
import pickle
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.quantized import (
    QuantizedEmbeddingBag,
    QuantizedOptimizer,
    QuantizedQuotientRemainderEmbeddingBag,
)

pytestmark = pytest.mark.usefixtures("built_kernels")

TABLES = (QuantizedEmbeddingBag, QuantizedQuotientRemainderEmbeddingBag)
STORAGES = ("int8", "int4", "float16")
each_table = pytest.mark.parametrize("kind", TABLES)


def bags(generator, rows=200, count=40):
    lengths = torch.randint(0, 6, (count,), generator=generator)
    ids = torch.randint(rows, (int(lengths.sum()),), generator=generator)
    return ids, torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)[:-1]])


@each_table
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dim", [5, 16, 24, 32, 64, 128, 144])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_are_those_of_torch_over_the_rows_that_are_read(kind, storage, dim, mode):
    generator = torch.Generator().manual_seed(dim)
    module = kind(200, dim, mode=mode, storage=storage, padding_idx=-3)
    dense = module.materialize().double()
    ids, offsets = bags(generator)
    expected = F.embedding_bag(ids, dense, offsets, mode=mode, padding_idx=197)
    torch.testing.assert_close(module(ids, offsets).double(), expected, rtol=1e-5, atol=1e-6)
    square = torch.randint(200, (9, 4), generator=generator, dtype=torch.int32)
    expected = F.embedding_bag(square, dense, mode=mode, padding_idx=197)
    torch.testing.assert_close(module(square).double(), expected, rtol=1e-5, atol=1e-6)


@each_table
def test_factors_and_the_end_of_the_last_bag(kind):
    generator = torch.Generator().manual_seed(3)
    module = kind(200, 16, include_last_offset=True)
    dense = module.materialize().double()
    ids, offsets = bags(generator)
    factors = torch.rand(len(ids), generator=generator)
    ends = torch.cat([offsets, torch.tensor([len(ids) - 1])])  # what lies behind is in no bag
    expected = F.embedding_bag(ids[:-1], dense, offsets, mode="sum", per_sample_weights=factors[:-1].double())
    torch.testing.assert_close(module(ids, ends, factors).double(), expected, rtol=1e-5, atol=1e-6)


@each_table
def test_empty_calls(kind):
    module = kind(50, 16)
    none = torch.zeros(0, dtype=torch.int64)
    assert module(none, none).shape == (0, 16)
    assert torch.equal(module(none, torch.zeros(2, dtype=torch.int64)), torch.zeros(2, 16))
    assert torch.equal(module(torch.zeros(3, 0, dtype=torch.int64)), torch.zeros(3, 16))


@pytest.mark.parametrize(("storage", "bytes_of_row"), [("int8", 18), ("int4", 10), ("float16", 32)])
def test_bytes_are_what_they_are_said_to_be(storage, bytes_of_row):
    module = QuantizedEmbeddingBag(1000, 16, storage=storage)
    held = [t for t in (*module.parameters(), *module.buffers()) if t.numel()]
    assert sum(t.nbytes for t in held) == module.memory_bytes() == 1000 * bytes_of_row
    assert module.metadata_bytes() == (0 if storage == "float16" else 2000)
    optimizer = QuantizedOptimizer(module)
    assert module.optimizer_bytes(optimizer) == 4000
    optimizer.release()
    assert module.optimizer_bytes(QuantizedOptimizer(module, "sgd")) == 0


@pytest.mark.parametrize("ids", [4, 17, 1000, 54_321])
@pytest.mark.parametrize("compression", [0.02, 0.05, 0.1, 0.25, 0.9])
def test_the_most_quotient_and_remainder_rows_that_a_budget_holds(ids, compression):
    budget = int(compression * ids * 64 * (1 + 1e-12))
    rows = min(budget // 18, ids)
    fitting = [r for r in range(1, ids + 1) if r + -(-ids // r) <= rows]
    if not fitting:
        with pytest.raises(ValueError, match="bytes do not hold quotient and remainder rows"):
            QuantizedQuotientRemainderEmbeddingBag(ids, 16, compression)
        return
    module = QuantizedQuotientRemainderEmbeddingBag(ids, 16, compression)
    assert module.remainders == fitting[-1]
    assert module.memory_bytes() <= budget
    given = QuantizedQuotientRemainderEmbeddingBag(ids, 16, budget_bytes=budget)
    assert given.remainders == module.remainders


@each_table
def test_the_least_budget_that_is_named_works(kind):
    with pytest.raises(ValueError, match=r"bytes do not hold .* the least is") as error:
        kind(10_000, 16, 1e-5)
    told = str(error.value)
    kind(10_000, 16, float(told.rsplit(" ", 1)[1]))
    least = int(told.split("the least is ")[1].split()[0])
    kind(10_000, 16, budget_bytes=least)
    with pytest.raises(ValueError, match="do not hold"):
        kind(10_000, 16, budget_bytes=least - 1)


def test_a_vector_is_the_product_of_its_two_rows():
    module = QuantizedQuotientRemainderEmbeddingBag(100, 4, 0.6)
    read = QuantizedEmbeddingBag(len(module.rows), 4)
    read.rows.copy_(module.rows)
    rows, table = read.materialize(), module.materialize()
    ids = torch.arange(100)
    torch.testing.assert_close(
        table, rows[ids % module.remainders] * rows[module.remainders + ids // module.remainders]
    )
    assert len({(i % module.remainders, i // module.remainders) for i in range(100)}) == 100


@each_table
def test_states_and_copies_are_the_same_bits(kind):
    module, other = kind(60, 16, seed=1), kind(60, 16, seed=2)
    other.load_state_dict(module.state_dict())
    for twin in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(twin.rows, module.rows)
        assert twin.seed == 1
        ids = torch.tensor([[1, 2], [3, 4]])
        assert torch.equal(twin(ids), module(ids))


def test_a_state_that_means_something_else_is_refused():
    with pytest.raises(ValueError, match="saved with storage int8, and this one has int4"):
        QuantizedEmbeddingBag(10, 32, storage="int4").load_state_dict(QuantizedEmbeddingBag(10, 16).state_dict())
    with pytest.raises(ValueError, match="saved with ids 11, and this one has 10"):
        QuantizedEmbeddingBag(10, 16).load_state_dict(QuantizedEmbeddingBag(11, 16).state_dict())


@each_table
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "min"}, ValueError, "mode must be sum, mean or max, not 'min'"),
        ({"dtype": torch.float64}, TypeError, "vectors are float32, bfloat16 or float16, not float64"),
        ({"device": "cuda"}, ValueError, "on the CPU, not on cuda"),
        ({"storage": "int2"}, ValueError, "storage must be int8, int4 or float16, not 'int2'"),
        ({"compression": 0}, ValueError, "fraction of the dense bytes"),
        ({"compression": 1.5}, ValueError, "fraction of the dense bytes"),
        ({"budget_bytes": 0}, ValueError, "budget_bytes must be a whole number"),
        ({"budget_bytes": 17}, ValueError, "17 bytes do not hold"),
        ({"seed": -1}, ValueError, "seed must be a whole number"),
        ({"padding_idx": 100}, ValueError, "padding_idx must be a row of the table"),
    ],
)
def test_bad_arguments_are_named(kind, options, error, message):
    with pytest.raises(error, match=message):
        kind(100, 16, **options)


@each_table
def test_bad_calls_are_named(kind):
    module = kind(100, 16)
    with pytest.raises(IndexError, match="index 100 at position 3 is out of range: ids of this table run from 0 to 99"):
        module(torch.tensor([[1, 2], [3, 100]]))
    with pytest.raises(IndexError, match="index -1 at position 0"):
        module(torch.tensor([-1]), torch.tensor([0]))
    with pytest.raises(TypeError, match="input must be int32 or int64, not float32"):
        module(torch.ones(2, 2))
    with pytest.raises(ValueError, match="offsets must not fall"):
        module(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    with pytest.raises(ValueError, match="must have the shape of the input"):
        module(torch.ones(2, 2).long(), per_sample_weights=torch.ones(3))
    with pytest.raises(TypeError, match="per_sample_weights must be float32"):
        module(torch.ones(2, 2).long(), per_sample_weights=torch.ones(2, 2).double())
    with pytest.raises(TypeError, match="leave it out of the move to meta"):
        module.to("meta")
    with pytest.raises(ValueError, match="NaN or infinity"):
        QuantizedEmbeddingBag.from_pretrained(torch.tensor([[float("nan")]]))
    with pytest.raises(ValueError, match="at least 4"):
        QuantizedQuotientRemainderEmbeddingBag(3, 8)


def test_the_example_of_the_readme_runs():
    text = (Path(__file__).parents[3] / "README.md").read_text()
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "quantized" in block]
    done: dict = {}
    exec(example, done)
    assert done["table"].memory_bytes() <= 1_000_000 * 64 * 0.02
    assert int(done["optimizer"].state[done["table"].anchor]["step"]) == 1
