"""A dense and a frozen table look up what the trained one does."""

import copy
import io

import pytest
import torch

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, to_dense, to_frozen


def trained(rows, **options):
    torch.manual_seed(0)
    bag = FIITEDEmbeddingBag(rows, 12, 4, 0.8, interval=5, **options)
    optimizer = FIITEDOptimizer(bag, "adam", lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        outputs = bag(ids_for(bag))
        torch.cat(outputs if isinstance(outputs, list) else [outputs]).cos().sum().backward()
        optimizer.step()
    assert 0 < int(bag.live_mask().sum()) <= bag.capacity
    return bag


def ids_for(bag):
    def draw(rows):
        return (torch.rand(16, 3) ** 2 * rows).long()

    if bag.joint_ids or len(bag.rows_of_tables) == 1:
        return draw(bag.num_embeddings)
    return [draw(rows) for rows in bag.rows_of_tables]


def equal(one, other):
    one, other = ([x] if isinstance(x, torch.Tensor) else x for x in (one, other))
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


CASES = {
    "one table": (200, {}),
    "flat": (200, {"layout": "flat"}),
    "mean": (200, {"mode": "mean"}),
    "several tables": ([150, 40], {}),
    "joint ids": ([150, 40], {"joint_ids": True}),
    "hashed ids": ([150, 40], {"hashed_ids": True}),
    "nothing pruned": (50, {"pruning_ratio": 0.0}),
}


@pytest.fixture(params=CASES, ids=str)
def bag(request):
    rows, options = CASES[request.param]
    if "pruning_ratio" in options:
        return FIITEDEmbeddingBag(rows, 12, 4, **options)
    return trained(rows, **options)


def test_frozen_looks_up_the_same_in_less_memory(bag):
    frozen, ids = to_frozen(bag), ids_for(bag)
    assert equal(frozen(ids), bag(ids))
    assert sum(frozen.bytes_by_kind().values()) < bag.memory_bytes()
    assert frozen.bytes_by_kind().keys() == {"weights", "index", "owners"}
    assert not any(output.requires_grad for output in frozen(ids))


def test_frozen_is_copied_and_saved(bag):
    frozen, ids = to_frozen(bag), ids_for(bag)
    assert equal(copy.deepcopy(frozen)(ids), frozen(ids))
    file = io.BytesIO()
    torch.save(frozen.state_dict(), file)
    file.seek(0)
    other = to_frozen(bag)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert equal(other(ids), frozen(ids))


def test_dense_looks_up_the_same(bag):
    ids = ids_for(bag)
    if bag.hashed_ids:
        with pytest.raises(ValueError, match="to_frozen"):
            to_dense(bag)
        return
    dense = to_dense(bag)
    outputs = [table(part) for table, part in zip(dense, ids, strict=True)] if isinstance(ids, list) else dense(ids)
    torch.testing.assert_close(outputs, bag(ids) if not isinstance(ids, list) else list(bag(ids)))


def test_the_trained_table_goes_on_as_if_nothing_was_exported():
    bag, other = trained(200), trained(200)
    to_frozen(bag)
    to_dense(bag)
    assert equal(bag.materialize(), other.materialize())
    assert torch.equal(bag.utilities(), other.utilities())


def test_a_frozen_table_refuses_what_the_trained_one_refuses():
    frozen = to_frozen(trained([150, 40]))
    ids = torch.zeros(2, 3, dtype=torch.int64)
    for wrong, message in (
        (ids, "give a list of 2 inputs, not one tensor"),
        ([ids], "give a list of 2 inputs, not 1"),
        ([ids, [1, 2]], "input must be a tensor of ids, not list"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            frozen(wrong)
    with pytest.raises(ValueError, match="give a list of 2 offsets, not 1"):
        frozen([ids.flatten()] * 2, [torch.zeros(1, dtype=torch.int64)])


def test_a_frozen_table_refuses_the_state_of_another_hash():
    one, other = (to_frozen(FIITEDEmbeddingBag(200, 12, 4, 0.8, hashed_ids=True, seed=s)) for s in (1, 2))
    with pytest.raises(ValueError, match="hash seed"):
        other.load_state_dict(one.state_dict())
