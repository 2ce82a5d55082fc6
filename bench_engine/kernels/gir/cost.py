"""What a kernel will take, from the bytes it moves, what it computes, and what this machine gives (calibration.py)."""

import math

from bench_engine.kernels.gir.calibration import CYCLES, CYCLES_PER_US, PLAIN, Gpu, Machine
from bench_engine.kernels.gir.forms import buffers, grid_of
from bench_engine.kernels.gir.ir import Kernel, Loop, Size, instructions
from bench_engine.kernels.gir.strategy import WHOLE
from bench_engine.kernels.gir.traffic import LINE, Caches, accesses_of, extent_of, nest_traffic, working_set

_STEP = 2.0  # cycles for each step of a loop
_HIDDEN = 0.9  # of what takes less than the slowest part of a nest, this share goes on meanwhile
_FORK_JOIN_US = 4.0
_STREAMS, _LOST = 12, 2.0  # buffers that prefetchers follow at once, and what a byte costs beyond that
_COLUMN, _SCATTERED = 1.0, 12.0  # cycles for an element down a column, transposed in tiles and alone


def predict(kernel: Kernel, batch: int, threads: int, on: Machine) -> float:
    """Microseconds of one call, outputs allocated."""
    total = 0.0
    beyond = _level(working_set(kernel, batch), on.caches)
    for nest in kernel.body:
        parts = _parts(nest, batch, threads)
        bandwidth = on.one if parts == 1 else on.all
        moved = nest_traffic(kernel, nest, batch, on.caches)
        near = max(moved["L1"] / bandwidth["L1"], _cycles(kernel, nest, batch, on) / CYCLES_PER_US / parts)
        far = moved["memory"] / bandwidth[beyond] * (_LOST if _streams(nest) > _STREAMS else 1.0)
        rows = _rows_us(kernel, nest, batch, on) / parts
        times = (near, moved["L2"] / bandwidth["L2"], far, rows)
        total += max(times) + (1 - _HIDDEN) * (sum(times) - max(times))
        total += _FORK_JOIN_US if parts > 1 else 0.0
    return total


def _streams(nest: Loop) -> int:
    """Buffers that are read in turn."""
    apart = nest.body if nest.tile > 1 else (nest,)
    return max(len(buffers([statement], "reads")) for statement in apart)


def _level(held: int, sizes: Caches) -> str:
    """Where so many bytes come from again and again."""
    return "L2" if held <= sizes.l2 else "L3" if held <= sizes.l3 // 4 else "memory"


def _rows_us(kernel: Kernel, nest: Loop, batch: int, on: Machine) -> float:
    """Of lines that lie wherever an id says; loops that take all rows each have the caches for one table at a time."""
    fetched = {instr.buffer for instr, _ in instructions((nest,)) if instr.op == "prefetch"}
    total, all_held = 0.0, working_set(kernel, batch)
    for access in accesses_of(kernel, nest, batch):
        buffer = kernel.index[str(access.instr.buffer)]
        if not access.instr.place().values() or buffer.place != "memory":
            continue
        held = 4 * buffer.elements.at(batch) if nest.tile == WHOLE else all_held
        waits = (on.fetched if buffer.name in fetched else on.rows)[_level(held, on.caches)]
        total += access.touched / LINE * waits / 1e3
    return total


def _parts(nest: Loop, batch: int, threads: int) -> int:
    loop = next((s for s in nest.body if isinstance(s, Loop) and s.grain), nest)
    if not loop.grain:
        return 1
    return max(1, min(threads, -(-loop.extent.at(batch) // loop.grain)))


def _loop_steps(loop: Loop, batch: int) -> float:
    """Steps of all loops of a nest."""
    inner = sum(_loop_steps(statement, batch) for statement in loop.body if isinstance(statement, Loop))
    return -(-extent_of(loop, batch) // (loop.vec * (loop.unroll if loop.vec > 1 else 1))) * (1 + inner)


def _cycles(kernel: Kernel, nest: Loop, batch: int, on: Machine) -> float:
    total = _STEP * _loop_steps(nest, batch)
    for instr, around in instructions((nest,)):
        times = 1.0
        for loop in around:
            times *= -(-extent_of(loop, batch) // loop.vec)
        near = instr.buffer is not None and kernel.index[instr.buffer].place != "memory"
        vector = next((loop for loop in around if loop.vec > 1), None)
        if vector and instr.address and instr.place().stride(vector.axis) > Size(0, 1):
            total += times * (_COLUMN if near or nest.tile == vector.vec else _SCATTERED) * vector.vec
        width = next((loop.unroll for loop in around if loop.vec > 1), 1)
        own = on.cycles.get(instr.op, PLAIN)
        if instr.is_reduction and around[-1].vec > 1:
            own = max(own, 4.0 / width)  # one sum waits for the other
        total += times * own
    return total


_LAUNCH_US, _FULL_WARPS, _LANES_PER_US = 3.0, 16, 128 * 1500  # of a multiprocessor


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
