"""Kernels of C++: what is tried for one on the CPU, how it is built, called and measured."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir.backend import toolchain, tuning
from bench_engine.kernels.gir.backend.tuning import Candidate, best, ranked, stages, variants
from bench_engine.kernels.gir.cpu import codegen
from bench_engine.kernels.gir.cpu.calibration import AHEAD, Machine, caches, machine
from bench_engine.kernels.gir.cpu.cost import predict
from bench_engine.kernels.gir.cpu.strategy import (
    WHOLE,
    Strategy,
    bytes_looked_up,
    falls_apart,
    lacks_vectors,
    schedule,
    tiles,
)
from bench_engine.kernels.gir.program.ir import Buffer, Kernel
from bench_engine.kernels.gir.program.traffic import Caches

_STREAMED = 4  # times the L2 cache that outputs must hold


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
        return best(self._scheduled(kernel, variants(kernel), batch, threads))

    def space(self, kernel: Kernel, batch: int, threads: int) -> list[Candidate]:
        """Also those that are never measured to decide: some of what the kernel was while it was rewritten."""
        return self._scheduled(kernel, {**variants(kernel), **stages(kernel)}, batch, threads)

    def _scheduled(self, kernel: Kernel, variants: dict[str, Kernel], batch: int, threads: int) -> list[Candidate]:
        on, found = machine(threads), dict[Kernel, Candidate]()
        for variant, body in variants.items():
            for strategy in _strategies(body, batch, threads, toolchain.vector_width(), on):
                scheduled = schedule(body, strategy)
                if lacks_vectors(scheduled):
                    continue
                said = f"{variant} unroll {strategy.unroll}" + (" stream" if strategy.stream else "")
                said += f" tile {strategy.tile}" if strategy.tile > 1 else ""
                said += " apart" if strategy.apart > 1 else ""
                said += f" ahead {strategy.ahead}" if strategy.ahead else ""
                said += f" grain {strategy.grain}"
                found.setdefault(scheduled, Candidate(said, scheduled, predict(scheduled, batch, threads, on)))
        return ranked(kernel, found.values())

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
            return tuning.measure(calls)
        others = torch.ones(2 * sizes.l2 // 4)
        return tuning.measure(calls, before=others.sum)  # the next ids of a model are others: their rows are not in L2


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
