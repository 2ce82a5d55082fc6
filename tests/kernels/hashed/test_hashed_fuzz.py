"""Thousands of random calls, good and bad ones: compiled kernels and oracle give the same, or the same error."""

import random

import pytest
import torch

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference

pytestmark = pytest.mark.usefixtures("hashed_ops")
CALLS = 3000
TOLERANCE = {torch.float64: 1e-11, torch.float32: 3e-5, torch.bfloat16: 0.06, torch.float16: 0.01}


def random_table(draw: random.Random, weight: torch.Tensor) -> dict:
    mixing = draw.random() < 0.6
    return {
        "num_embeddings": draw.choice([1, 2, 17, 1000, 2**31 - 1, 2_000_000_000, 2**40]),
        "embedding_dim": draw.choice([1, 2, 3, 7, 8, 9, 16, 24, 31, 64, 65, 80]),
        "mode": draw.choice(["sum", "mean", "max"]),
        "_weight": weight,
        "hash": "mix64" if mixing else "reference",
        "seed": draw.randrange(2**63) if mixing else 0,
        "table": draw.randrange(5) if mixing else 0,
        "signs": mixing and draw.random() < 0.5,
        "block_size": draw.choice([1, 1, 1, 2, 3, 8, 16, 24, 64, 100]),
        "padding_idx": draw.choice([None, 0, -1]),
        "include_last_offset": draw.random() < 0.4,
    }


def random_weight(draw: random.Random) -> torch.Tensor:
    dtype = draw.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16])
    size = draw.choice([1, 2, 7, 8, 9, 30, 64, 100, 1000, draw.randrange(1, 5000)])
    weight = torch.randn(size)
    kind = draw.random()
    if kind < 0.2:
        weight = weight.round()  # ties
    elif kind < 0.3:
        weight[torch.rand(size) < 0.1] = draw.choice([torch.nan, torch.inf, -torch.inf])
    return weight.to(dtype)


def random_call(draw: random.Random, table: dict) -> dict:
    count = draw.choice([0, 1, 2, 5, 20, 60, 300])
    top = draw.choice([table["num_embeddings"], min(table["num_embeddings"], 5)])
    dtype = draw.choice([torch.int32, torch.int64]) if table["num_embeddings"] < 2**31 else torch.int64
    ids = torch.tensor([draw.randrange(top) for _ in range(count)], dtype=dtype)
    if count and table["padding_idx"] is not None and draw.random() < 0.7:
        padding = table["padding_idx"] % table["num_embeddings"]
        ids[torch.rand(count) < 0.3] = padding
    offsets = None
    if draw.random() < 0.3:
        rows = draw.choice([n for n in (1, 2, 5, count) if n and count % n == 0] or [1])
        ids = ids.reshape(rows, -1) if count else ids.reshape(draw.choice([(0, 3), (3, 0), (0, 0)]))
    else:
        bags = draw.choice([1, 2, 5, 30]) if count else draw.choice([0, 1, 3])
        starts = [0, *sorted(draw.randrange(count + 1) for _ in range(bags - 1))][:bags]
        if table["include_last_offset"]:
            starts.append(draw.randrange(starts[-1], count + 1) if starts else 0)
        offsets = torch.tensor(starts, dtype=draw.choice([torch.int32, torch.int64]))
    samples = None
    if table["mode"] != "max" and draw.random() < 0.4:
        samples = torch.randn(ids.shape).to(table["_weight"].dtype)
    return {"input": ids, "offsets": offsets, "per_sample_weights": samples}


def spoil(draw: random.Random, table: dict, call: dict) -> None:
    """Make one thing of a call wrong, as far as it is there."""
    ids, offsets = call["input"], call["offsets"]
    what = draw.randrange(14)
    if what < 3 and ids.numel():
        at = draw.randrange(ids.numel())
        bad = draw.choice([-1, -5, table["num_embeddings"], table["num_embeddings"] + 3])
        if bad <= torch.iinfo(ids.dtype).max:
            ids.view(-1)[at] = bad
    elif what == 3 and offsets is not None and offsets.numel():
        offsets += draw.choice([1, -1])
    elif what == 4 and offsets is not None and offsets.numel() > 1:
        offsets[-1] = draw.choice([-1, ids.numel() + 1])
    elif what == 5 and offsets is not None and offsets.numel() > 2:
        call["offsets"] = offsets.flip(0)
    elif what == 6:
        call["input"] = ids.to(draw.choice([torch.float32, torch.int16, torch.bool, torch.uint8]))
    elif what == 7 and offsets is not None:
        call["offsets"] = offsets.to(draw.choice([torch.float32, torch.int16]))
    elif what == 8:
        call["input"] = ids.unsqueeze(0).unsqueeze(0)
    elif what == 9:
        call["offsets"] = torch.zeros(1, dtype=torch.int64) if offsets is None else None
    elif what == 10:
        call["per_sample_weights"] = torch.ones(draw.choice([(1,), (3, 2), tuple(ids.shape)]), dtype=torch.float64)
    elif what == 11 and offsets is not None:
        call["offsets"] = offsets.unsqueeze(0)
    elif what == 12 and offsets is not None:
        call["offsets"] = offsets[:0]
    else:
        name = draw.choice([name for name, tensor in call.items() if tensor is not None])
        call[name] = call[name].to("meta")


def outcome(cls, table: dict, call: dict):
    """Output and gradients, or the kind of error and what it says of values and positions."""
    weight = table["_weight"].clone()
    samples = call["per_sample_weights"]
    if samples is not None:
        samples = samples.detach().clone().requires_grad_()
    module = cls(**{**table, "_weight": weight})
    try:
        output = module(call["input"], call["offsets"], samples)
    except (IndexError, TypeError, ValueError) as error:
        said = str(error) if isinstance(error, IndexError) else ""
        return type(error).__name__ + said, []
    factors = torch.linspace(-1, 2, output.numel()).reshape(output.shape).to(output.dtype)
    (output * factors).sum().backward()
    gradients = [module.hashed_weight.grad] + ([] if samples is None else [samples.grad])
    return "", [output.detach(), *gradients]


@pytest.mark.parametrize("part", range(3))
def test_random_calls(part):
    draw = random.Random(part)
    torch.manual_seed(part)
    errors, results = set(), 0
    for number in range(CALLS // 3):
        table = random_table(draw, random_weight(draw))
        call = random_call(draw, table)
        if draw.random() < 0.35:
            spoil(draw, table, call)
        found, expected = (outcome(cls, table, call) for cls in (HashedEmbeddingBag, HashedEmbeddingBagReference))
        told = f"call {number} of part {part}: {table} {call}"
        assert found[0] == expected[0], told
        if found[0]:
            errors.add(found[0].partition("index")[0])
            continue
        results += 1
        exact = table["_weight"].dtype
        if exact in (torch.bfloat16, torch.float16):  # the oracle sums in these types
            expected = outcome(HashedEmbeddingBagReference, *in_float32(table, call))
        for mine, theirs in zip(found[1], expected[1], strict=True):
            assert mine.dtype == exact, told
            scale = max(1.0, float(theirs[theirs.isfinite()].abs().max())) if theirs.isfinite().any() else 1.0
            torch.testing.assert_close(
                mine.to(theirs.dtype),
                theirs,
                rtol=TOLERANCE[exact],
                atol=TOLERANCE[exact] * scale,
                equal_nan=True,
                msg=lambda message, told=told: f"{message}\n{told}",
            )
    assert errors == {"IndexError", "TypeError", "ValueError"}
    assert results > CALLS // 6


def in_float32(table: dict, call: dict) -> tuple[dict, dict]:
    samples = call["per_sample_weights"]
    return (
        {**table, "_weight": table["_weight"].float()},
        {**call, "per_sample_weights": None if samples is None else samples.float()},
    )
