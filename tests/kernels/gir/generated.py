"""Kernels of plain functions, built many at a time and called beside eager; for the tests of the compiler."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.capture import to_kernel
from bench_engine.kernels.gir.compiling import traced
from bench_engine.kernels.gir.cpu.codegen import unit
from bench_engine.kernels.gir.cpu.strategy import Strategy, lacks_vectors, schedule
from bench_engine.kernels.gir.gpu.blocks import Blocks, blocked
from bench_engine.kernels.gir.program.ir import Kernel, UnsupportedError, loops
from bench_engine.kernels.gir.program.rewrites import optimize
from bench_engine.kernels.gir.program.text import parse, to_text
from bench_engine.kernels.gir.region import BACKENDS, Region

WIDTH = toolchain.vector_width()


def naive(fn: Callable, inputs: Sequence[Tensor]) -> tuple[torch.fx.GraphModule, Kernel]:
    """The graph of a function, and its GIR as lowering makes it."""
    try:
        return _naive(fn, inputs, varies=True)
    except UnsupportedError:
        return _naive(fn, inputs, varies=False)


def _naive(fn: Callable, inputs: Sequence[Tensor], varies: bool) -> tuple[torch.fx.GraphModule, Kernel]:
    module = traced(fn, inputs, varies)
    nodes = module.graph.find_nodes(op="placeholder")
    return module, to_kernel(module, [node.meta["val"] for node in nodes], "kernel")


@dataclass
class Case:
    """A kernel to build, what it comes from, and once built what calls it."""

    fn: Callable
    inputs: Sequence[Tensor]
    region: Region
    kernel: Kernel
    call: Callable | None = None


def case(
    fn: Callable,
    inputs: Sequence[Tensor],
    strategy: Strategy = Strategy(WIDTH),  # noqa: B008
    change: Callable[[Kernel], Kernel] = optimize,
) -> Case:
    """A function as one kernel; `change` is what rewrites it."""
    module, kernel = naive(fn, inputs)
    scheduled = schedule(change(kernel), strategy)
    if lacks_vectors(scheduled):
        scheduled = schedule(optimize(kernel), strategy)
    assert parse(to_text(scheduled)) == scheduled
    return Case(fn, inputs, Region(module, kernel), scheduled)


def build(cases: Sequence[Case], threads: int = 1) -> None:
    """Compiles all cases, some dozens to a unit."""
    widths = {loop.vec for c in cases for loop in _loops(c.kernel)} - {1} or {WIDTH}
    (width,) = widths
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(cases), 50):
            part = cases[begin : begin + 50]
            kernels = [replace(c.kernel, name=f"kernel_{n}") for n, c in enumerate(part)]
            library = Path(folder) / f"{begin}.so"
            toolchain.compile_unit(unit(kernels, width), library)
            functions = toolchain.load(library, [kernel.name for kernel in kernels])
            for c, function in zip(part, functions, strict=True):
                c.call = c.region.caller(c.kernel, function, threads, range(8))


def in_blocks(
    fn: Callable, inputs: Sequence[Tensor], blocks: Blocks, change: Callable[[Kernel], Kernel] = optimize
) -> Case:
    """A function as kernels of Triton, ready to be called: on a GPU, or in Triton's interpreter.

    What they do not write is NaN.
    """
    module, kernel = naive(fn, inputs)
    region = Region(module, kernel, "cuda")
    scheduled = blocked(change(kernel), blocks, region.batch_of(inputs))
    assert parse(to_text(scheduled)) == scheduled
    (function,) = BACKENDS["cuda"].load([scheduled], Path())
    return Case(fn, inputs, region, scheduled, region.caller(scheduled, function, 1, checked=True))


def _loops(kernel: Kernel) -> list:
    return list(loops(kernel.body))


def compare(found: object, fn: Callable, inputs: Sequence[Tensor], tolerance: float = 2e-5, what: str = "") -> None:
    """Raises AssertionError unless outputs are those of float64, NaN and infinities in the same places."""
    doubles = [t.double() if t.is_floating_point() else t for t in inputs]
    exact = fn(*doubles)
    exact = exact if isinstance(exact, tuple | list) else (exact,)
    found = found if isinstance(found, tuple | list) else (found,)
    assert len(exact) == len(found)
    for one, other in zip(found, exact, strict=True):
        assert one.shape == other.shape, what
        wanted = other.to(one.dtype)
        scale = float(wanted[wanted.isfinite()].abs().max()) if wanted.isfinite().any() else 1.0
        close = torch.isclose(one, wanted, rtol=tolerance, atol=tolerance * max(scale, 1.0), equal_nan=True)
        assert bool(close.all()), f"{what}: {one[~close][:4]} for {wanted[~close][:4]}"
