"""The Triton back end: its text, and what its kernels compute, in Triton's interpreter where there is no GPU."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from importlib import util
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from generated import compare, in_blocks, naive
from gir_operators import interaction, operators, x
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend import tuning
from bench_engine.kernels.gir.compiling import compile_graph
from bench_engine.kernels.gir.gpu import triton_calls
from bench_engine.kernels.gir.gpu.blocks import Blocks, blocked
from bench_engine.kernels.gir.gpu.triton_calls import Triton
from bench_engine.kernels.gir.gpu.triton_codegen import function, unit
from bench_engine.kernels.gir.program.ir import Kernel, check, instructions, loops
from bench_engine.kernels.gir.program.rewrites import online, optimize, recompute
from bench_engine.kernels.gir.region import BACKENDS, Region

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, in the interpreter
interpreted = pytest.mark.skipif(util.find_spec("triton") is None, reason="triton is not installed")
WHOLE, STEPS = Blocks(64, 4, True), Blocks(16, 4, False)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def computed(kernel: Kernel) -> Kernel:
    return optimize(optimize(optimize(kernel), (recompute,)))


def in_one_pass(kernel: Kernel) -> Kernel:
    return optimize(optimize(computed(kernel), (online,)))


def text(fn: Callable, inputs: list[Tensor], blocks: Blocks, change: Callable = computed) -> str:
    return function(blocked(change(naive(fn, inputs)[1]), blocks, 37))


SOFTMAX = """\
@triton.jit
def kernel_nest0(x0, y0, batch, WIDE: tl.constexpr):
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    b = pid * 2 + tl.arange(0, 2)
    b_in = b < batch
    r = tl.arange(0, 64)[None, :]
    r_in = r < 45
    v7 = tl.load(x0 + 45 * b[:, None] + r, mask=b_in[:, None] & r_in, other=0)
    v8 = tl.reduce(tl.where(r_in, v7, float("-inf")), 1, k_max)
    v9 = v7 - v8[:, None]
    v10 = tl.exp(v9)
    v11 = tl.sum(tl.where(r_in, v10, 0.0), 1)
    v12 = 1.0 / v11
    v13 = v10 * v12[:, None]
    tl.store(y0 + 45 * b[:, None] + r, v13, mask=b_in[:, None] & r_in)


def kernel(x0, y0, batch):
    wide = max(45 * batch, 0) >= 2**31
    kernel_nest0[((batch + 1) // 2,)](x0, y0, batch, wide, num_warps=4)


kernel.scratch = []
"""


@pytest.mark.parametrize("change", [optimize, computed])
def test_a_row_is_loaded_once_and_stays_in_registers(change: Callable) -> None:
    """Whether the exponential is stored for later or computed again, the text is the same."""
    assert text(lambda a: a.softmax(-1), [x(37, 45)], Blocks(128, 4, True), change) == SOFTMAX


def test_long_rows_go_in_steps_and_online_once_less() -> None:
    said = [text(lambda a: a.softmax(-1), [x(37, 45)], STEPS, way).count("for ") for way in (computed, in_one_pass)]
    assert said == [3, 2]


def test_a_long_reduction_is_made_in_parts() -> None:
    (_, kernel) = naive(lambda a: a.mean(), [x(4000, 45)])
    parts = check(blocked(optimize(kernel), Blocks(), 4000))
    assert [nest.axis for nest in parts.body] == ["part", "n"]
    assert [instr.op for instr, _ in instructions(parts.body[0:1])][:3] == ["size", "iadd", "idiv"]
    assert "kernel_nest0[(256,)](x0, t2, batch" in function(parts)
    assert blocked(optimize(kernel), Blocks(), 20).body[0].axis != "part"


def test_a_long_online_softmax_of_few_rows_is_not_made_in_parts() -> None:
    """The parts of a sum that is scaled by the largest so far are not added up."""
    fn, inputs = (lambda a, w: (a * 2, w.softmax(-1))), [x(37, 64), x(64, 4096)]
    for change, parts in ((computed, True), (in_one_pass, False)):
        kernel = blocked(change(naive(fn, inputs)[1]), Blocks(1024, 4, False), 37)
        assert ("part" in [nest.axis for nest in kernel.body]) == parts
        assert ("k_more" in function(kernel)) != parts


def test_axes_of_one_block_have_64_bits_where_their_steps_are_wide() -> None:
    with FakeTensorMode():
        wide, narrow = torch.empty(2, 16, 200_000_000), torch.empty(2, 16, 200)
        said = [text(lambda a: a.sum(1), [a], Blocks(1024, 4, True)) for a in (wide, narrow)]
    assert ["k_axis(tl.arange(0, 16)" in each for each in said] == [True, False]


def test_blocks_are_powers_of_two_and_hold_what_was_asked_for() -> None:
    known = operators(37, 45)
    for fn, inputs in (known[name] for name in ("sum of columns", "softmax", "transpose add", "bags", "interaction")):
        for elements in (256, 512, 4096):
            kernel = blocked(computed(naive(fn, inputs)[1]), Blocks(elements), 37)
            sides = [loop.vec for loop in loops(kernel.body)]
            assert all(side & (side - 1) == 0 for side in sides)
            assert all(
                i.buffer is None or kernel.index[i.buffer].place == "memory" for i, _ in instructions(kernel.body)
            )


@interpreted
@pytest.mark.parametrize("name", operators(5, 7))
def test_operators_are_those_of_float64(name: str) -> None:
    fn, inputs = operators(5, 7)[name]
    inputs = [t.to(DEVICE) for t in inputs]
    for blocks, change in ((WHOLE, optimize), (STEPS, in_one_pass)):
        compare(in_blocks(fn, inputs, blocks, change).call(*inputs), fn, inputs, 2e-5, f"{name} {blocks}")


@interpreted
def test_naive_kernels_odd_sizes_and_strides() -> None:
    wide, tall = x(7, 66)[:, ::2].to(DEVICE), x(33, 7).t().to(DEVICE)
    cases: list[tuple[Callable, list[Tensor]]] = [
        (lambda a, b: (a + b).softmax(-1), [wide, tall]), (lambda a: a.softmax(-1), [x(1, 1).to(DEVICE)]),
        (lambda a: F.layer_norm(a, (33,)), [tall]), (lambda a: (a.sum(0), a.amin(1), a.t() * 2), [wide]),
        (lambda a, i: F.embedding_bag(i, a), [wide, torch.tensor([[6, 0]], dtype=torch.int32, device=DEVICE)]),
    ]  # fmt: skip
    for fn, inputs in cases:
        for change in (lambda kernel: kernel, optimize):
            compare(in_blocks(fn, inputs, Blocks(32, 4, True), change).call(*inputs), fn, inputs)


@interpreted
@pytest.mark.parametrize("blocks", [Blocks(2048, 8, False), Blocks(1024, 4, True)])
def test_loops_that_share_an_index_have_masks_of_their_own(blocks: Blocks) -> None:
    rows, columns = torch.tril_indices(27, 27, -1)
    inputs = [t.to(DEVICE) for t in (x(5, 27, 32), rows, columns)]
    compare(in_blocks(interaction, inputs, blocks).call(*inputs), interaction, inputs)


MATHEMATICS: list[Callable] = [
    torch.exp, torch.log, torch.log1p, torch.tanh, torch.erf, torch.sqrt, torch.relu, torch.abs, torch.sigmoid,
    lambda a: a.clamp(-1, 1), lambda a: torch.where(a > 0, a, -a), lambda a: (a <= 1).float() + (a != a).float(),
    lambda a: a.amax(-1), lambda a: a.amin(-1), lambda a: a.sum(-1), lambda a: a.softmax(-1),
    lambda a: a.log_softmax(-1), lambda a: F.rms_norm(a, (8,)), lambda a: torch.maximum(a, 1 - a),
]  # fmt: skip


@interpreted
@pytest.mark.parametrize("blocks", [WHOLE, Blocks(4, 4, False)])
def test_special_values_come_out_as_torch_gives_them(blocks: Blocks) -> None:
    nan, inf = float("nan"), float("inf")
    ordinary = [0.0, -0.0, 1.0, -1.0, 0.5, 3e-8, -1e-3, 20.0]
    a = torch.tensor([
        ordinary, [nan, *ordinary[1:]], [*ordinary[1:], inf], [-inf, *ordinary[1:]], [-inf] * 8,
        [inf, -inf, nan] + [2.0] * 5,
        [1e-42, -1e-42, 88.0, -88.0, 1e30, -1e30, 3e38, -3e38],
    ], device=DEVICE)  # fmt: skip
    ways = (in_one_pass,) if blocks is not WHOLE else (optimize,)
    for number, fn in enumerate(MATHEMATICS if blocks is WHOLE else MATHEMATICS[12:]):
        for change in ways:
            found, wanted = in_blocks(fn, [a], blocks, change).call(a), fn(a.double()).float()
            fine = torch.isclose(found, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)
            single = torch.isclose(found, fn(a), rtol=1e-5, atol=1e-6, equal_nan=True)
            assert bool((fine | single).all()), f"{number}: {found} for {wanted}"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Triton:
    """Triton for what is on the CPU too, with few candidates that win."""
    own = Triton()
    own.device = DEVICE
    monkeypatch.setitem(BACKENDS, DEVICE, own)
    monkeypatch.setattr(tuning, "MEASURED", 2)
    monkeypatch.setattr(tuning, "BUDGET_S", 0.01)
    return own


@interpreted
def test_a_region_is_decided_kept_and_explained(backend: Triton, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tuning.measure
    monkeypatch.setattr(tuning, "measure", lambda calls: [*real(calls)[:-1], 1e9])
    monkeypatch.setattr(triton_calls, "measure_on_gpu", lambda calls: [*real(calls)[:-1], 1e9])
    a = x(6, 10).to(DEVICE)
    said = gir.explain(lambda a: a.softmax(-1), [a])
    for part in ("Triton: ", "warps", "bytes after", "kernel region_0", "@triton.jit", "num_warps="):
        assert part in said
    again = gir.compile(lambda a: a.softmax(-1), [a])
    (region,) = next(iter(again.graphs.values())).regions.values()
    assert [d.reason for d in region.decisions.values()] == ["kept from before"]
    torch.testing.assert_close(again(a), a.softmax(-1))
    for batch in (0, 1, 5):
        torch.testing.assert_close(again(a[:batch]), a[:batch].softmax(-1))


@interpreted
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("leaves_out", [True, False])
def test_a_wrong_candidate_is_never_served(
    leaves_out: bool, count: int, backend: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one, whose last element is not written or 1 too large; it would be the fastest."""
    real = backend.build

    def build(kernels: list[Kernel], folder: Path) -> list[Callable]:
        first, *others = real(kernels, folder)

        @wraps(first)
        def wrong(a: Tensor, output: Tensor, batch: int) -> None:
            last = output[-1, -1].clone()
            first(a, output, batch)
            output[-1, -1] = last if leaves_out else output[-1, -1] + 1

        return [wrong, *others]

    def fn(a: Tensor) -> Tensor:
        return a.softmax(-1)

    monkeypatch.setattr(backend, "build", build)
    monkeypatch.setattr(tuning, "MEASURED", count)
    for module, name in ((tuning, "measure"), (triton_calls, "measure_on_gpu")):
        monkeypatch.setattr(module, name, lambda calls: [float(n) for n in range(len(calls))])
    a = x(6, 12 + 2 * count + leaves_out).to(DEVICE)
    fast = gir.compile(fn, [a])
    for _ in range(2):
        torch.testing.assert_close(fast(a), fn(a))
    (decision,) = fast.decisions()
    assert len(decision.wrong) == 1
    assert (decision.winner is None) == (count == 1)
    assert decision.winner not in decision.wrong
    (region,) = next(iter(fast.graphs.values())).regions.values()
    assert f"{decision.wrong[0]}: its result differs" in region.report()


@interpreted
@pytest.mark.parametrize("faster", [True, False])
def test_a_whole_that_is_slower_than_the_function_is_not_served(
    faster: bool, backend: Triton, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fn(a: Tensor) -> Tensor:
        return torch.cumsum(a.softmax(-1), 1)

    compared = []

    def measure(calls: list[Callable]) -> list[float]:
        compared.append(len(calls))
        return [float(n) if faster or len(compared) < 3 else -float(n) for n in range(len(calls))]

    for module, name in ((tuning, "measure"), (triton_calls, "measure_on_gpu")):
        monkeypatch.setattr(module, name, measure)
    a = x(6, 20 + faster).to(DEVICE)
    fast = gir.compile(fn, [a])
    torch.testing.assert_close(fast(a), fn(a))
    (graph,) = fast.graphs.values()
    assert compared == [3, 2, 2]  # candidates, the best of them, the whole
    assert (graph.call is fn) == (not faster)
    assert ("the whole runs as it is, which is faster" in graph.left) == (not faster)


@interpreted
def test_kernels_that_cannot_run_leave_the_original(backend: Triton, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("out of resource: shared memory")

    monkeypatch.setattr(backend, "bound", lambda function, threads: refuse)
    a = x(6, 11).to(DEVICE)
    fast = gir.compile(lambda a: a.softmax(-1), [a])
    assert torch.equal(fast(a), a.softmax(-1))
    (region,) = next(iter(fast.graphs.values())).regions.values()
    assert "no kernel ran: RuntimeError: out of resource" in region.report()


def test_without_triton_the_original_stays_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    module, kernel = naive(lambda a: a.softmax(-1), [x(6, 10)])
    region = Region(module, kernel, "cuda")
    region.backend.device = DEVICE
    try:
        torch.testing.assert_close(region(x(6, 10).to(DEVICE)), x(6, 10).softmax(-1).to(DEVICE))
    finally:
        region.backend.device = "cuda"
    assert "triton is not installed" in region.report()


def test_graphs_of_cuda_tensors_are_captured_for_triton() -> None:
    mode = FakeTensorMode()
    with mode:
        given = [torch.empty(6, 10, device="cuda"), torch.empty(10, device="cuda")]
    with torch.no_grad(), mode:
        module = make_fx(lambda a, b: torch.cumsum(F.gelu(a + b).softmax(-1), 0), tracing_mode="real")(*given)
    graph = compile_graph(module)
    assert [region.backend.language for region in graph.regions.values()] == ["Triton"]
    assert graph.left == ["aten.cumsum.default is not compiled"]


FOR_HOPPER = """
import linecache, triton
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
source = open({path!r}).read()
linecache.cache["<kernels>"] = len(source), None, source.splitlines(True), "<kernels>"
module = {{"__name__": "kernels"}}
exec(compile(source, "<kernels>", "exec"), module)
for kernel in (value for name, value in module.items() if "_nest" in name):
    kinds = {{"x1": "*i64", "x2": "*i64", "batch": "i32", "WIDE": "constexpr"}}
    signature = {{name: kinds.get(name, "*fp32") for name in kernel.arg_names}}
    compiled = triton.compile(
        ASTSource(kernel, signature, constexprs={{(len(signature) - 1,): False}}), target=GPUTarget("cuda", 90, 32),
        options={{"num_warps": 4, "debug": True, "sanitize_overflow": False}})
    print(".target sm_90" in compiled.asm["ptx"], "__assertfail" in compiled.asm["ptx"])
"""


@interpreted
def test_kernels_compile_for_a_gpu_that_is_not_here_and_check_ids(tmp_path: Path) -> None:
    fn, inputs = operators(37, 45)["ragged bags"]
    kernels = [in_one_pass(naive(lambda a: a.softmax(-1), [x(37, 900)])[1]), optimize(naive(fn, inputs)[1])]
    named = [replace(blocked(k, STEPS, 37), name=f"k{n}") for n, k in enumerate(kernels)]
    (tmp_path / "kernels.py").write_text(unit(named))
    done = subprocess.run(
        [sys.executable, "-c", FOR_HOPPER.format(path=str(tmp_path / "kernels.py"))], capture_output=True, text=True,
        env={**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)},
        timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "False", "True", "True"], done.stderr[-2000:]
