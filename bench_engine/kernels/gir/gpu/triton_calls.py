"""Kernels of Triton: what is tried for one on a GPU, how it is called and measured."""

import linecache
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir.backend import tuning
from bench_engine.kernels.gir.backend.tuning import Candidate, best, ranked, variants
from bench_engine.kernels.gir.gpu import triton_codegen
from bench_engine.kernels.gir.gpu.blocks import Blocks, blocked
from bench_engine.kernels.gir.gpu.gpu_cost import gpu, predict_on_gpu
from bench_engine.kernels.gir.program.ir import Buffer, Kernel, UnsupportedError
from bench_engine.kernels.gir.program.traffic import Caches
from bench_engine.kernels.native.extension import CompilerMissingError

_CYCLES_PER_S = 2e9  # at least those of a GPU
# Elements and warps of a block, so that a thread has 4 to 32 elements.
_BLOCKS = ((256, 1), (256, 2), (512, 1), (512, 2), (512, 4), (1024, 2), (1024, 4), (1024, 8), (2048, 2), (2048, 4),
           (2048, 8), (4096, 4), (4096, 8), (4096, 16), (8192, 8), (8192, 16))  # fmt: skip


class Triton:
    """Kernels of Triton for tensors on a GPU."""

    device, language, refused, entered_in_cpp = "cuda", "Triton", "", False
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
        return best(self.space(kernel, batch, threads))

    def space(self, kernel: Kernel, batch: int, threads: int) -> list[Candidate]:
        """All that there are, best first."""
        found: dict[Kernel, Candidate] = {}
        for (variant, body), whole, (elements, warps) in product(variants(kernel).items(), (True, False), _BLOCKS):
            try:
                scheduled = blocked(body, Blocks(elements, warps, whole), batch)
            except UnsupportedError:
                continue
            said = f"{variant}{'' if whole else '_in_steps'} block {elements} warps {warps}"
            predicted = predict_on_gpu(scheduled, batch, gpu())
            found.setdefault(scheduled, Candidate(said, scheduled, predicted))
        return ranked(kernel, found.values())

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
        times = iter(measure_on_gpu(works) if on_gpu else tuning.measure(works))
        return [next(times) if call in works else float("inf") for call in calls]


def measure_on_gpu(calls: Sequence[Callable[[], object]], row: int = 10) -> list[float]:
    """Lower quartile of the microseconds that the GPU takes for a call; they take turns.

    Events are around `row` calls that wait in the GPU's queue behind one that sleeps for as long as queueing takes, so
    that the time of the host does not count.
    """
    queueing = [_queued(call, row) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    until = time.perf_counter() + tuning.BUDGET_S
    while len(samples[0]) < 5 or (time.perf_counter() < until and len(samples[0]) < tuning.MOST_ROUNDS):
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
