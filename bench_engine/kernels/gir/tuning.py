"""The two back ends: what they try for a kernel, how they build it, call it and measure it.

Candidates are variants of a kernel's GIR and strategies, ranked by the cost model; the best are measured.
"""

import linecache
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir import codegen, toolchain, triton_codegen
from bench_engine.kernels.gir.cost import AHEAD, Machine, caches, gpu, machine, predict, predict_on_gpu
from bench_engine.kernels.gir.ir import Buffer, Kernel, UnsupportedError, instructions
from bench_engine.kernels.gir.rewrites import drop_dead, drop_round_trip, online, optimize, path, recompute
from bench_engine.kernels.gir.strategy import (
    WHOLE,
    Blocks,
    Strategy,
    blocked,
    bytes_looked_up,
    falls_apart,
    schedule,
    tiles,
)
from bench_engine.kernels.gir.traffic import Caches
from bench_engine.kernels.native.extension import CompilerMissingError

MEASURED = 8  # candidates
_BUDGET_S, _MOST_ROUNDS = 0.25, 60
_CYCLES_PER_S = 2e9  # at least those of a GPU
_STREAMED = 4  # times the L2 cache that outputs must hold
_STAGES = 4  # of what a kernel was while it was rewritten
# Elements and warps of a block, so that a thread has 4 to 32 elements.
_BLOCKS = ((256, 1), (256, 2), (512, 1), (512, 2), (512, 4), (1024, 2), (1024, 4), (1024, 8), (2048, 2), (2048, 4),
           (2048, 8), (4096, 4), (4096, 8), (4096, 16), (8192, 8), (8192, 16))  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A scheduled kernel, what it is called, and the microseconds that the model gives it."""

    name: str
    kernel: Kernel
    predicted_us: float


class Cpp:
    """Kernels of C++ for tensors on the CPU."""

    device, language, refused, entered_in_cpp = "cpu", "C++", "", True
    source = staticmethod(codegen.function)

    def key(self, threads: int) -> str:
        """What kept decisions depend on, beside what all do."""
        return str(threads)

    def caches(self) -> Caches:
        """Those of a core."""
        return caches()

    def candidates(self, kernel: Kernel, batch: int, threads: int) -> list[Candidate]:
        """The most promising, best first. Raises CompileError and CompilerMissingError."""
        return _best(self._scheduled(kernel, _variants(kernel), batch, threads))

    def space(self, kernel: Kernel, batch: int, threads: int) -> list[Candidate]:
        """Also those that are never measured to decide: some of what the kernel was while it was rewritten."""
        return self._scheduled(kernel, {**_variants(kernel), **_stages(kernel)}, batch, threads)

    def _scheduled(self, kernel: Kernel, variants: dict[str, Kernel], batch: int, threads: int) -> list[Candidate]:
        on, found = machine(threads), dict[Kernel, Candidate]()
        for variant, body in variants.items():
            for strategy in _strategies(body, batch, threads, toolchain.vector_width(), on):
                scheduled = schedule(body, strategy)
                if any(i.op == "sumexp" and around[-1].vec == 1 for i, around in instructions(scheduled.body)):
                    continue  # which lives on vectors
                said = f"{variant} unroll {strategy.unroll}" + (" stream" if strategy.stream else "")
                said += f" tile {strategy.tile}" if strategy.tile > 1 else ""
                said += " apart" if strategy.apart > 1 else ""
                said += f" ahead {strategy.ahead}" if strategy.ahead else ""
                said += f" grain {strategy.grain}"
                found.setdefault(scheduled, Candidate(said, scheduled, predict(scheduled, batch, threads, on)))
        return _ranked(kernel, found.values())

    def build(self, kernels: Sequence[Kernel], folder: Path) -> list[Callable[..., Any]]:
        """The functions of kernels, and kernels.so in the folder. Raises CompileError and CompilerMissingError."""
        toolchain.compile_unit(codegen.unit(kernels, toolchain.vector_width()), folder / "kernels.so")
        return self.load(kernels, folder)

    def load(self, kernels: Sequence[Kernel], folder: Path) -> list[Callable[..., Any]]:
        """The functions of kernels that were built in a folder. Raises OSError and AttributeError."""
        return toolchain.load(folder / "kernels.so", [kernel.name for kernel in kernels])

    def scratch(self, kernel: Kernel, function: Callable[..., Any]) -> list[Buffer]:
        """The temps that a function takes after the outputs."""
        return [buffer for buffer in kernel.named("temp") if buffer.place == "memory"]

    def bound(self, function: Callable[..., Any], threads: int) -> Callable[[list[Tensor], int], object]:
        """What calls a function with tensors and a batch size; true where an index was out of range."""
        return lambda tensors, batch: function(toolchain.pointers(tensors), batch, toolchain.threads(threads))

    def measure(self, calls: Sequence[Callable[[], object]], kernel: Kernel | None = None) -> list[float]:
        """Microseconds of each call, each of the kernel's work."""
        sizes = self.caches()
        if kernel is None or bytes_looked_up(kernel) <= sizes.l2 // 2:
            return measure(calls)
        others = torch.ones(2 * sizes.l2 // 4)
        return measure(calls, before=others.sum)  # the next ids of a model are others: their rows are not in L2


class Triton(Cpp):
    """Kernels of Triton for tensors on a GPU."""

    device, language, entered_in_cpp = "cuda", "Triton", False
    source = staticmethod(triton_codegen.function)

    def key(self, threads: int) -> str:
        """The GPU and the version of Triton. Raises CompilerMissingError."""
        try:
            import triton
        except ImportError:
            raise CompilerMissingError("triton is not installed: kernels for a GPU need it.") from None
        return f"{torch.cuda.get_device_name() if torch.cuda.is_available() else 'interpreter'} {triton.__version__}"

    def caches(self) -> Caches:
        """Those of a multiprocessor and of the GPU."""
        return gpu().caches

    def candidates(self, kernel: Kernel, batch: int, threads: int) -> list[Candidate]:
        """The most promising, best first."""
        found: dict[Kernel, Candidate] = {}
        for (variant, body), whole, (elements, warps) in product(_variants(kernel).items(), (True, False), _BLOCKS):
            try:
                scheduled = blocked(body, Blocks(elements, warps, whole), batch)
            except UnsupportedError:
                continue
            said = f"{variant}{'' if whole else '_in_steps'} block {elements} warps {warps}"
            predicted = predict_on_gpu(scheduled, batch, gpu())
            found.setdefault(scheduled, Candidate(said, scheduled, predicted))
        return _best(_ranked(kernel, found.values()))

    def build(self, kernels: Sequence[Kernel], folder: Path) -> list[Callable[..., Any]]:
        """The functions of kernels; Triton compiles each with its first call."""
        return self.load(kernels, folder)

    def load(self, kernels: Sequence[Kernel], folder: Path) -> list[Callable[..., Any]]:
        """The same: nothing of them lies in the folder."""
        source = triton_codegen.unit(kernels)
        name = f"<gir {kernels[0].name} {hash(source):x}>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name  # where Triton reads it
        module: dict[str, Any] = {"__name__": name}
        exec(compile(source, name, "exec"), module)
        return [module[kernel.name] for kernel in kernels]

    def scratch(self, kernel: Kernel, function: Callable[..., Any]) -> list[Buffer]:
        """The temps that did not stay in registers."""
        return [kernel.index[name] for name in function.scratch]  # type: ignore[attr-defined]

    def bound(self, function: Callable[..., Any], threads: int) -> Callable[[list[Tensor], int], object]:
        """What calls a function on the GPU of its tensors."""

        def call(tensors: list[Tensor], batch: int) -> object:
            if tensors[0].is_cuda and tensors[0].get_device() != torch.cuda.current_device():
                with torch.cuda.device(tensors[0].device):
                    return function(*tensors, batch)
            return function(*tensors, batch)

        return call

    def measure(self, calls: Sequence[Callable[[], object]], kernel: Kernel | None = None) -> list[float]:
        """Of the GPU, calls in a row; infinite for a call that fails, as one that takes more than a GPU has does."""
        on_gpu, works = torch.cuda.is_available(), []
        for call in calls:
            try:
                call()
                if on_gpu:
                    torch.cuda.synchronize()
                works.append(call)
            except Exception as error:  # of Triton's many kinds
                self.refused = f"{type(error).__name__}: {str(error)[:300]}"
        times = iter(measure_on_gpu(works) if on_gpu else measure(works))
        return [next(times) if call in works else float("inf") for call in calls]


BACKENDS = {backend.device: backend for backend in (Cpp(), Triton())}


def _best(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Those to measure, the best of each kind among them: variant, loops apart, rows fetched ahead, one thread.

    What a fork or a row costs depends on who else is on the machine.
    """
    kinds = [(c.name.split()[0], *(word in c.name for word in ("apart", "ahead", "grain 0"))) for c in ranked]
    firsts = dict(zip(reversed(kinds), reversed(ranked), strict=True)).values()
    best = sorted(ranked, key=lambda c: (not any(c is first for first in firsts), c.predicted_us))[:MEASURED]
    return sorted(best, key=lambda candidate: candidate.predicted_us)


def _ranked(kernel: Kernel, found: Iterable[Candidate]) -> list[Candidate]:
    """By the model; each kernel has a name of its own."""
    best = sorted(found, key=lambda candidate: candidate.predicted_us)
    return [replace(c, kernel=replace(c.kernel, name=f"{kernel.name}_{c.name}".replace(" ", "_"))) for c in best]


@lru_cache(16)
def _variants(kernel: Kernel) -> dict[str, Kernel]:
    stored = optimize(kernel)
    computed = optimize(optimize(stored, (recompute,)))
    one_pass = optimize(optimize(computed, (online,)))
    return {name: k for k, name in {one_pass: "online", computed: "recomputed", stored: "stored"}.items()}


@lru_cache(16)
def _stages(kernel: Kernel) -> dict[str, Kernel]:
    """The kernel as it came, and after a few of the rewrites that make the stored variant of it."""
    found = path(kernel)
    places = {round(step * (len(found) - 1) / _STAGES) for step in range(_STAGES)}
    named = {f"after_{place}_of_{len(found) - 1}": found[place] for place in sorted(places)}
    return {name: optimize(stage, (drop_dead, drop_round_trip)) for name, stage in named.items()}


def _strategies(kernel: Kernel, batch: int, threads: int, width: int, on: Machine) -> Iterator[Strategy]:
    written = sum(4 * buffer.elements.at(batch) for buffer in kernel.named("output"))
    # A store past the caches is slow where its line is in one, as those of an output are that was just freed.
    streams = (False, True) if written > _STREAMED * on.caches.l2 else (False,)
    grains = (1 << 15, 1 << 17, 0) if threads > 1 else (0,)
    rows = (1, width) if tiles(kernel) else (1,)
    aparts = (1, WHOLE) if batch > 1 and falls_apart(kernel) else (1,)
    aheads = (0, AHEAD) if bytes_looked_up(kernel) > on.caches.l2 // 2 else (0,)
    for unroll, stream, tile, apart, ahead, grain in product((1, 2, 4), streams, rows, aparts, aheads, grains):
        if not (stream and tile > 1):  # lines of many rows past the caches take longer than they do through them
            yield Strategy(width, unroll, stream, tile, apart, ahead, grain)


def measure(
    calls: Sequence[Callable[[], object]], budget_s: float | None = None, before: Callable[[], object] | None = None
) -> list[float]:
    """Lower quartile of the microseconds of each call, `before` each of which something may run.

    They take turns, so that what disturbs one disturbs all.
    """
    for call in calls:
        call()
    samples: list[list[float]] = [[] for _ in calls]
    until = time.perf_counter() + (budget_s or _BUDGET_S)
    while len(samples[0]) < 5 or (time.perf_counter() < until and len(samples[0]) < _MOST_ROUNDS):
        for own, call in zip(samples, calls, strict=True):
            if before is not None:
                before()
            begin = time.perf_counter_ns()
            call()
            own.append((time.perf_counter_ns() - begin) / 1e3)
    return [statistics.quantiles(own, n=4)[0] for own in samples]


def measure_on_gpu(calls: Sequence[Callable[[], object]], row: int = 10) -> list[float]:
    """Lower quartile of the microseconds that the GPU takes for a call; they take turns.

    Events are around `row` calls that wait in the GPU's queue behind one that sleeps for as long as queueing takes, so
    that the time of the host does not count.
    """
    queueing = [_queued(call, row) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    until = time.perf_counter() + _BUDGET_S
    while len(samples[0]) < 5 or (time.perf_counter() < until and len(samples[0]) < _MOST_ROUNDS):
        for own, call, host_s in zip(samples, calls, queueing, strict=True):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(int((1.5 * host_s + 5e-5) * _CYCLES_PER_S))
            begin.record()
            _queued(call, row)
            end.record()
            torch.cuda.synchronize()
            own.append(begin.elapsed_time(end) * 1e3 / row)
    return [statistics.quantiles(own, n=4)[0] for own in samples]


def _queued(call: Callable[[], object], row: int) -> float:
    """Seconds of the host for so many calls."""
    begin = time.perf_counter()
    for _ in range(row):
        call()
    return time.perf_counter() - begin
