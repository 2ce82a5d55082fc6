"""The hashed embedding in graphs: torch.compile, torch.export, autocast."""

import pytest
import torch
from hashed_calls import IDS, MODES, OFFSETS
from torch import nn

from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbedding, HashedEmbeddingBag

pytestmark = pytest.mark.usefixtures("hashed_ops")
OPTIONS = {
    "plain": {},
    "mix64": {"hash": "mix64", "seed": 3, "table": 2, "signs": True, "padding_idx": 7},
    "blocks": {"hash": "mix64", "block_size": 8, "padding_idx": 0, "include_last_offset": True},
}


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def bag_module(mode: str, options: str) -> HashedEmbeddingBag:
    return HashedEmbeddingBag(1000, 10, 0.1, mode, **OPTIONS[options])


def offsets_for(options: str) -> torch.Tensor:
    return torch.tensor([*OFFSETS, len(IDS)] if options == "blocks" else OFFSETS)


def outcome(call, module: nn.Module, *inputs) -> list[torch.Tensor]:
    """Output, and gradients of the buffer and the sample weights."""
    module.zero_grad()
    output = call(*inputs)
    output.pow(2).sum().backward()
    gradients = [t.grad.clone() for t in inputs if t is not None and t.requires_grad]
    for tensor in inputs:
        if tensor is not None:
            tensor.grad = None
    return [output.detach(), module.hashed_weight.grad.clone(), *gradients]


def check(call, module: nn.Module, *inputs) -> None:
    for found, expected in zip(outcome(call, module, *inputs), outcome(module, module, *inputs), strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", OPTIONS)
def test_compiles_in_one_graph(mode, options):
    module = bag_module(mode, options)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for size in (2, 3):
        ids = torch.randint(0, 1000, (4, size))
        check(compiled, module, ids)
        if mode != "max":
            check(compiled, module, ids, None, torch.randn(4, size, requires_grad=True))
    check(compiled, module, torch.tensor(IDS), offsets_for(options))
    if mode != "max":
        check(compiled, module, torch.tensor(IDS), offsets_for(options), torch.randn(len(IDS), requires_grad=True))


@pytest.mark.parametrize("options", ["plain", "mix64"])
def test_an_embedding_compiles_in_one_graph(options):
    module = HashedEmbedding(1000, 10, 0.1, **OPTIONS[options])
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for shape in ((4, 2), (3, 5), (2, 3, 4)):
        check(compiled, module, torch.randint(0, 1000, shape))


def test_a_number_of_bags_that_changes_takes_no_new_graph():
    module = bag_module("mean", "mix64")
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager", dynamic=True)
    check(compiled, module, torch.randint(0, 1000, (4, 3)))
    with torch.compiler.set_stance("fail_on_recompile"):
        check(compiled, module, torch.randint(0, 1000, (7, 5)))


def test_bad_ids_are_named_in_a_graph():
    compiled = torch.compile(bag_module("sum", "plain"), fullgraph=True, backend="aot_eager")
    compiled(torch.tensor([[1, 2]]))
    with pytest.raises(IndexError, match="index 1000 at position 1 is out of range"):
        compiled(torch.tensor([[1, 1000]]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", OPTIONS)
def test_exports(tmp_path, mode, options):
    module = bag_module(mode, options)
    inputs = (torch.tensor(IDS), offsets_for(options), None if mode == "max" else torch.randn(len(IDS)))
    # torch.export takes one bag to be another program than several.
    ids, bags = torch.export.Dim("ids"), torch.export.Dim("bags", min=3 if options == "blocks" else 2)
    shapes = {"input": {0: ids}, "offsets": {0: bags}, "per_sample_weights": None if mode == "max" else {0: ids}}
    program = torch.export.export(module, inputs, dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    assert torch.equal(loaded(*inputs), module(*inputs))
    last = [6] if options == "blocks" else []
    samples = None if mode == "max" else torch.randn(6)
    other = (torch.tensor([5, 4, 3, 7, 0, 999]), torch.tensor([0, 2, *last]), samples)
    assert torch.equal(loaded(*other), module(*other))


def test_an_embedding_exports():
    module = HashedEmbedding(1000, 10, 0.1, **OPTIONS["mix64"])
    ids = torch.randint(0, 1000, (4, 3))
    program = torch.export.export(module, (ids,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    ids = torch.randint(0, 1000, (9, 3))
    assert torch.equal(program.module()(ids), module(ids))


@pytest.mark.parametrize("compiling", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_autocast_leaves_the_buffers_type(mode, compiling):
    module = bag_module(mode, "mix64")
    call = torch.compile(module, fullgraph=True, backend="aot_eager") if compiling else module
    scores, layer = torch.randn(4, 5), nn.Linear(5, 5)
    ids = torch.randint(0, 1000, (4, 5))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        samples = layer(scores)  # attention weights, of autocast's type
        assert samples.dtype == torch.bfloat16
        found = call(ids, None, samples)
        after = nn.Linear(10, 2)(found)
    assert found.dtype == torch.float32
    assert after.dtype == torch.bfloat16
    after.sum().backward()
    assert layer.weight.grad.abs().sum() > 0
    assert module.hashed_weight.grad.dtype == torch.float32
    torch.testing.assert_close(found, module(ids, None, samples.float()))
