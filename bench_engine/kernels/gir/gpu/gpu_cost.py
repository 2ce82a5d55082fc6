"""What a kernel will take on a GPU, from the bytes it moves, what it computes, and what this GPU gives."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import torch

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.cpu.calibration import CYCLES, PLAIN
from bench_engine.kernels.gir.program.forms import grid_of
from bench_engine.kernels.gir.program.ir import Kernel, Loop, instructions
from bench_engine.kernels.gir.program.traffic import Caches, extent_of, nest_traffic, working_set

_LAUNCH_US, _FULL_WARPS, _LANES_PER_US = 3.0, 16, 128 * 1500  # of a multiprocessor
_SLEEP_CYCLES = 2_000_000  # a millisecond, in which ten copies are queued


@dataclass(frozen=True)
class Gpu:
    """Bytes per microsecond of a copy in memory and in L2, multiprocessors, and what one and all of them cache."""

    memory: float = 2.4e6
    l2: float = 5.0e6
    multiprocessors: int = 132
    caches: Caches = field(default_factory=lambda: Caches(128 * 1024, 50 * 1024 * 1024))


def gpu() -> Gpu:
    """The current GPU, from the cache or measured now; where there is none, about an H100."""
    return _gpu(torch.cuda.current_device()) if torch.cuda.is_available() else Gpu()


@lru_cache
def _gpu(device: int) -> Gpu:
    said = torch.cuda.get_device_properties(device)
    name = toolchain.key("gpu", said.name)
    kept = toolchain.find(name)
    memory, l2 = kept[0]["speeds"] if kept else (_copied(1 << 26), _copied(said.L2_cache_size // 32))
    if not kept:
        toolchain.keep(name, {"speeds": [memory, l2]}, None)
    return Gpu(memory, l2, said.multi_processor_count, Caches(128 * 1024, said.L2_cache_size))


def _copied(count: int) -> float:
    """Bytes per microsecond of copies of so many floats on the GPU."""
    source, target = (torch.zeros(count, dtype=torch.float32, device="cuda") for _ in range(2))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    target.copy_(source)
    torch.cuda._sleep(_SLEEP_CYCLES)  # the time of the host is none of the copies'
    begin.record()
    for _ in range(10):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    return 10 * 8 * count / (begin.elapsed_time(end) * 1e3)


def predict_on_gpu(kernel: Kernel, batch: int, on: Gpu) -> float:
    """Microseconds of one call of a kernel in blocks."""
    beyond = on.l2 if working_set(kernel, batch) <= on.caches.l2 else on.memory
    total = 0.0
    for nest in kernel.body:
        programs = math.prod(-(-max(loop.extent.at(batch), 1) // loop.vec) for loop in grid_of(nest))
        busy = min(1.0, programs * nest.warps / (on.multiprocessors * _FULL_WARPS))
        waves = programs * nest.warps / (on.multiprocessors * 4 * _FULL_WARPS)
        busy *= waves / math.ceil(waves) if waves > 1 else 1.0
        lanes = sum(
            CYCLES.get(instr.op, PLAIN) * programs * _steps(around, batch) for instr, around in instructions((nest,))
        )
        moved = nest_traffic(kernel, nest, batch, on.caches)["L2"]
        total += _LAUNCH_US + max(moved / beyond, lanes / (_LANES_PER_US * on.multiprocessors)) / busy
    return total


def _steps(around: tuple[Loop, ...], batch: int) -> float:
    """Lanes that a program has for an instruction, those that compute nothing included."""
    chain = {loop.axis for loop in grid_of(around[0])}
    total = 1.0
    for loop in around:
        total *= loop.vec if loop.axis in chain else -(-extent_of(loop, batch) // loop.vec) * loop.vec
    return total
