"""The op called past torch.ops: same results, same errors, and whoever looks on still sees it."""

import itertools
import platform
import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.grouped_embedding import GroupedEmbeddingBag
from bench_engine.kernels.parallel_op.plan import Output, Plan, Source, Table
from tests.kernels.parallel_op.processes import run

pytestmark = pytest.mark.usefixtures("grouped_ops")

OP = torch.ops.mirror


def call(rows: int = 30, requires_grad: bool = False) -> tuple[list[Tensor], list[Tensor], list, list, list, str]:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(rows, dim, generator=generator, requires_grad=requires_grad) for dim in (4, 16, 9)]
    ids = [torch.randint(0, rows, (5, 2), generator=generator) for _ in weights]
    tables = tuple(Table(f"t{t}", Source(t)) for t in range(3))
    return weights, ids, [], [], [], Plan(tables, tuple(Output("out", (t,)) for t in range(3))).text()


@pytest.fixture(params=["direct", "torch.ops"])
def way(request, monkeypatch):
    if request.param == "direct":
        assert ops._direct is not None, "csrc/python was not built"
    else:
        monkeypatch.setattr(ops, "_direct", None)


@pytest.mark.usefixtures("way")
def test_both_ways_give_the_sums_and_their_gradients():
    weights, ids, *rest = call(requires_grad=True)
    outputs = ops.grouped_embedding(weights, ids, *rest)
    expected = [F.embedding_bag(i, w, mode="sum") for i, w in zip(ids, weights, strict=True)]
    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(
        torch.autograd.grad(outputs[1].sum(), weights[1]), torch.autograd.grad(expected[1].sum(), weights[1])
    )


@pytest.mark.usefixtures("way")
def test_both_ways_refuse_alike():
    weights, ids, *rest, plan = call()
    ids[1] = ids[1] + 30
    with pytest.raises(IndexError, match=r"^table t1: index \d+ at position \d+ is out of range"):
        ops.grouped_embedding(weights, ids, *rest, plan)
    with pytest.raises(ValueError, match="plan"):
        ops.grouped_embedding(weights, ids, *rest, "nonsense")
    for wrong in ([1], [None], 7, "ids"):
        with pytest.raises((RuntimeError, TypeError), match=r"grouped_embedding\(\)"):
            ops.grouped_embedding(weights, wrong, *rest, plan)
    with pytest.raises((RuntimeError, TypeError), match=r"grouped_embedding\(\)"):
        ops.grouped_embedding(weights, ids, *rest, None)


class Seen(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.functions: list[Any] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.functions: list[Any] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


class Labelled(Tensor):
    pass


def test_whoever_looks_at_calls_of_torch_sees_this_one():
    for mode in (Seen(), Dispatched()):
        with mode:
            ops.grouped_embedding(*call())
        assert OP.grouped_embedding.default in mode.functions
    weights, *rest = call()
    outputs = ops.grouped_embedding([weights[0].as_subclass(Labelled), *weights[1:]], *rest)
    assert type(outputs[0]) is Labelled
    with torch.profiler.profile() as profile:
        ops.grouped_embedding(*call())
    assert "mirror::grouped_embedding" in {event.name for event in profile.events()}


def test_a_compiler_sees_the_op_itself():
    seen = []

    def backend(gm, inputs):
        seen.extend(node.target for node in gm.graph.nodes)
        return gm.forward

    weights, ids, *_ = call()
    bags = GroupedEmbeddingBag(weights)
    compiled = torch.compile(bags, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(ids), bags(ids))
    assert OP.grouped_embedding.default in seen


@pytest.fixture
def fused():
    """The compiled kernel, and not one of the ways that are being measured."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


@pytest.mark.usefixtures("fused")
def test_outputs_lie_in_one_block_and_are_no_views_of_one_another():
    weights, ids, *rest = call()
    outputs = ops.grouped_embedding(weights, ids, *rest)
    first = outputs[0].data_ptr()
    assert [output.data_ptr() - first for output in outputs] == [0, 128, 448]  # 5 rows of 4 and 16 floats, rounded up
    assert [output.untyped_storage().nbytes() for output in outputs] == [80, 320, 180]
    before = [output.clone() for output in outputs]
    outputs[0].resize_(50, 40).fill_(7.0)
    outputs[1].fill_(7.0)
    torch.testing.assert_close(outputs[2], before[2], rtol=0, atol=0)
    last = outputs.pop()
    del outputs
    assert torch.equal(last, before[2])


@pytest.mark.usefixtures("fused")
def test_a_compiler_that_checks_for_aliases_finds_none(monkeypatch):
    monkeypatch.setattr(torch._functorch.config, "error_on_custom_op_aliasing", True)
    weights, ids, *_ = call()
    bags = GroupedEmbeddingBag(weights, output="separate")
    compiled = torch.compile(bags, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(ids), bags(ids))


@pytest.mark.usefixtures("fused")
def test_an_output_is_changed_in_place_and_the_gradients_are_right():
    weights, ids, *rest = call(requires_grad=True)
    outputs = ops.grouped_embedding(weights, ids, *rest)
    outputs[1].relu_()
    found = torch.autograd.grad(sum(output.sum() for output in outputs), weights)
    sums = [F.embedding_bag(i, w, mode="sum") for i, w in zip(ids, weights, strict=True)]
    expected = torch.autograd.grad(sums[0].sum() + sums[1].relu().sum() + sums[2].sum(), weights)
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("fused")
def test_large_outputs_have_blocks_of_their_own():
    weights = [torch.randn(3, 64) for _ in range(3)]
    ids = [torch.zeros(40_000, 1, dtype=torch.int64) for _ in weights]  # outputs of 10 MB each
    *rest, plan = call()[2:]
    outputs = ops.grouped_embedding(weights, ids, *rest, plan)
    places = sorted(output.data_ptr() for output in outputs)
    assert all(after - before > outputs[0].nbytes for before, after in itertools.pairwise(places))
    for output, weight in zip(outputs, weights, strict=True):
        assert torch.equal(output[-1], weight[0])


@pytest.mark.usefixtures("fused")
def test_an_output_larger_than_any_memory_is_an_error():
    ids = torch.zeros(1, dtype=torch.int64).expand(2**58).unsqueeze(1)
    plan = Plan((Table("t", Source(0)),), (Output("out", (0,)),)).text()
    with pytest.raises(RuntimeError, match="overflow"):
        ops.grouped_embedding([torch.randn(5, 16)], [ids], [], [], [], plan)


SETTLES = """
import torch
from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.plan import Output, Plan, Source, Table
from bench_engine.kernels.parallel_op.settings import Settings

ops.load()
ops.configure(Settings(threads=1))
# Blocks above 32 MiB are mapped anew by every call.
weight, ids = torch.randn(3, 64), torch.zeros(150_000, 1, dtype=torch.int64)
plan = Plan((Table("t", Source(0)),), (Output("out", (0,)),)).text()
calls = 0
while calls < 200 and (ops.unsettled() or not calls):
    ops.grouped_embedding([weight], [ids], [], [], [], plan)
    calls += 1
assert ops.unsettled() == {}
print(calls)
"""


def test_ways_settle_where_every_call_faults_its_pages_in():
    """In a process of its own: where much ran before, the C library may hold a block that is large enough."""
    # Three ways of at least a call to warm up and three more, after those that were not counted.
    assert int(run(SETTLES).stdout) >= 32 + 3 * 4


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the instruction of x86-64 only")
def test_rows_are_prefetched_in_the_machine_code():
    """GCC drops calls of a function that does nothing but prefetch, unless it is inlined."""
    prefetcht0 = rb"\x0f\x18[\x08-\x0f\x48-\x4f\x88-\x8f]"
    assert len(re.findall(prefetcht0, extension._found()[-1].read_bytes())) > 100
