"""What a kernel will take, from the bytes it moves, what it computes, and what this machine gives.

Measured once per machine, by kernels that GIR describes and this compiler builds: the bandwidths of copies of sizes
that stay in L1, in L2, in the last cache, and in memory; rows of tables of these sizes, wherever ids say; and each
computation that takes long.
"""

import itertools
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from bench_engine.kernels.gir import toolchain
from bench_engine.kernels.gir.codegen import unit
from bench_engine.kernels.gir.forms import buffers, grid_of
from bench_engine.kernels.gir.ir import MAPS, Kernel, Loop, Size, instructions
from bench_engine.kernels.gir.strategy import WHOLE, Strategy, schedule
from bench_engine.kernels.gir.text import parse
from bench_engine.kernels.gir.traffic import LINE, Caches, accesses_of, extent_of, nest_traffic, working_set

# Cycles that one vector of an instruction takes, about, where nothing is measured; those not named take PLAIN.
CYCLES = {
    "exp": 9.0, "log": 16.0, "log1p": 18.0, "tanh": 26.0, "erf": 26.0, "ndtr": 16.0, "div": 12.0, "sqrt": 16.0,
    "sumexp": 14.0,
}  # fmt: skip
PLAIN, CYCLES_PER_US = 0.5, 2500.0
AHEAD = 32  # ids
_ROWS, _IDS, _LARGEST = 8, 1 << 14, 1 << 28  # ids in a bag, bags of one call, and bytes of the largest table
_COUNTS = (2, 6)
_SIZES = {"L1": 1 << 12, "L2": 1 << 16, "L3": 1 << 20, "memory": 1 << 24}  # floats that a calibrating copy reads
_STEP = 2.0  # cycles for each step of a loop
_HIDDEN = 0.9  # of what takes less than the slowest part of a nest, this share goes on meanwhile
_FORK_JOIN_US = 4.0
_STREAMS, _LOST = 12, 2.0  # buffers that prefetchers follow at once, and what a byte costs beyond that
_COLUMN, _SCATTERED = 1.0, 12.0  # cycles for an element down a column, transposed in tiles and alone
_COPY = """
kernel copy {{
  input x0: f32[B]
  output y0: f32[B]
  par b < B vec {vec} unroll 4 grain 4096 {{
    %0 = load x0[b]
    store y0[b], %0
  }}
}}
"""
# Bags of rows of one line.
_BAGS = """
kernel {name} {{
  input i: i64[B, {bag}]
  input w: f32[{count}, 16]
  output y: f32[B, 16]
  par b < B {{
    par n < 16 {{
      reduce l < {bag} {{
        %0 = load i[{bag}*b + l]
        %1 = row %0 {count}.0
        %2 = load w[16*%1 + n]
        %3 = reduce_sum %2
      }}
      store y[16*b + n], %3
    }}
  }}
}}
"""
# Some of one computation: how much longer six take than two is the time of four, whatever loads and stores take.
_SOME = """
kernel {op}_{count} {{
  input x0: f32[B]
  output y0: f32[B]
  par b < B vec {vec} unroll 2 {{
    %0 = load x0[b]
{computed}
    store y0[b], %{last}
  }}
}}
"""


@dataclass(frozen=True)
class Machine:
    """A processor.

    Attributes:
        one, all: bytes per microsecond by level with one thread and with all.
        caches: their sizes.
        cycles: of a vector, by computation.
        rows, fetched: nanoseconds for a line anywhere by level, and for one that was fetched ahead.
    """

    one: dict[str, float]
    all: dict[str, float]
    threads: int
    caches: Caches
    cycles: dict[str, float] = field(default_factory=lambda: CYCLES)
    rows: dict[str, float] = field(default_factory=lambda: {"L2": 0.5, "L3": 4.0, "memory": 12.0})
    fetched: dict[str, float] = field(default_factory=lambda: {"L2": 0.5, "L3": 2.0, "memory": 6.0})


@lru_cache(1)
def caches() -> Caches:
    """The caches of this machine's first core, where the system tells; else common sizes."""
    found: dict[int, int] = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[int(level)] = int(size[:-1]) * 1024
    usual = Caches()
    return Caches(found.get(1, usual.l1), found.get(2, usual.l2), found.get(3, usual.l3))


@lru_cache(2)
def machine(threads: int) -> Machine:
    """This machine, from the cache or calibrated now. Raises CompileError and CompilerMissingError."""
    speeds = _kept(("machine", threads), lambda: _bandwidths(threads))
    cycles, rows = _kept(("computations",), lambda: {"cycles": _computations()})["cycles"], _kept(("rows",), _rows)
    return Machine(speeds["one"], speeds["all"], threads, caches(), cycles, rows["rows"], rows["fetched"])


def _kept(name: tuple[object, ...], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    key = toolchain.key(*name)
    kept = toolchain.find(key)
    said = kept[0] if kept else measure()
    if not kept:
        toolchain.keep(key, said, None)
    return said


def _built(kernels: Sequence[Kernel]) -> list[toolchain.Function]:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernels.so"
        toolchain.compile_unit(unit(kernels, toolchain.vector_width()), library)
        return toolchain.load(library, [kernel.name for kernel in kernels])


def _rows() -> dict[str, dict[str, float]]:
    """Nanoseconds for a line of a table in each level, and for one that was fetched ahead."""
    sizes, width = caches(), toolchain.vector_width()
    tables = {"L2": sizes.l2 // 2, "L3": max(sizes.l3 // 4, sizes.l2), "memory": min(4 * sizes.l3, _LARGEST)}
    counts = {level: size // 64 for level, size in tables.items()}
    plain = [parse(_BAGS.format(name=f"rows_{level}", bag=_ROWS, count=count)) for level, count in counts.items()]
    strategies = {"rows": Strategy(width), "fetched": Strategy(width, ahead=AHEAD)}
    kernels = [
        replace(schedule(kernel, strategy), name=f"{kernel.name}_{kind}")
        for kind, strategy in strategies.items()
        for kernel in plain
    ]
    functions = iter(_built(kernels))
    found: dict[str, dict[str, float]] = {}
    for kind in strategies:
        found[kind] = {level: _bags_ns(next(functions), count) for level, count in counts.items()}
    return found


def _bags_ns(function: toolchain.Function, count: int) -> float:
    """Nanoseconds of a row, of calls whose ids are others each time."""
    calls = max(1, count // (_ROWS * _IDS))
    ids = torch.randint(count, (calls, _IDS, _ROWS), generator=torch.Generator().manual_seed(0))
    table, output = torch.ones(count, 16), torch.empty(_IDS, 16)
    buffers = itertools.cycle([toolchain.pointers([own, table, output]) for own in ids])
    return _microseconds(lambda: function(next(buffers), _IDS, 1), 0.05) / (_ROWS * _IDS) * 1e3


def _computations() -> dict[str, float]:
    """Cycles of one vector by computation."""
    width, (few, many) = toolchain.vector_width(), _COUNTS
    alone = [op for op in CYCLES if op != "sumexp"]
    functions = _built([_some(op, count, width) for op in ("mul", *alone) for count in _COUNTS])
    source, target = torch.linspace(0.1, 1, _SIZES["L1"]), torch.empty(_SIZES["L1"])
    buffers = toolchain.pointers([source, target])
    took = iter([_microseconds(lambda: function(buffers, len(source), 1), 0.03) for function in functions])  # noqa: B023
    vectors = (many - few) * len(source) / width
    per_op = [max(next(took) - less, 0.0) / vectors * CYCLES_PER_US for less in took]
    plain = per_op[0] / 3  # each comes with two sums
    found = {op: max(own - 2 * plain, PLAIN) for op, own in zip(alone, per_op[1:], strict=True)}
    return {**found, "sumexp": found["exp"] + CYCLES["sumexp"] - CYCLES["exp"]}


def _some(op: str, count: int, width: int) -> Kernel:
    lines, last = list[str](), 0
    for number in range(count):
        at = 3 * number + 1
        other = " %0" if MAPS[op] == 2 else ""
        lines += [f"%{at} = add %0 {0.01 * (number + 1):g}", f"%{at + 1} = {op} %{at}{other}"]
        lines += [f"%{at + 2} = add %{at + 1} %{last}"]
        last = at + 2
    return parse(_SOME.format(op=op, count=count, vec=width, computed="\n".join(lines), last=last))


def _bandwidths(threads: int) -> dict[str, dict[str, float]]:
    """Bytes per microsecond by level, with one thread and with all."""
    (copy,) = _built([parse(_COPY.format(vec=toolchain.vector_width()))])
    one: dict[str, float] = {}
    every: dict[str, float] = {}
    for level, count in _SIZES.items():
        source, target = torch.ones(count), torch.ones(count)
        buffers = toolchain.pointers([source, target])
        for bandwidths, used in ((one, 1), (every, threads)):
            call = _microseconds(lambda: copy(buffers, 1, used))  # noqa: B023
            copying = _microseconds(lambda: copy(buffers, count, used))  # noqa: B023
            bandwidths[level] = 2 * 4 * count / max(copying - call, copying / 10)  # whatever noise there is
    return {"one": one, "all": every}


def _microseconds(call: Callable[[], object], budget_s: float = 0.15) -> float:
    samples: list[float] = []
    until = time.perf_counter() + budget_s
    while time.perf_counter() < until or len(samples) < 3:
        begin = time.perf_counter_ns()
        call()
        samples.append((time.perf_counter_ns() - begin) / 1e3)
    return statistics.median(samples)


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


@dataclass(frozen=True)
class Gpu:
    """Bytes per microsecond of a copy in memory and in L2, multiprocessors, and what one and all of them cache."""

    memory: float = 2.4e6
    l2: float = 5.0e6
    multiprocessors: int = 132
    caches: Caches = field(default_factory=lambda: Caches(128 * 1024, 50 * 1024 * 1024))


@lru_cache(1)
def gpu() -> Gpu:
    """The current GPU, from the cache or measured now; where there is none, about an H100."""
    if not torch.cuda.is_available():
        return Gpu()
    said = torch.cuda.get_device_properties(torch.cuda.current_device())
    name = toolchain.key("gpu", said.name)
    kept = toolchain.find(name)
    memory, l2 = kept[0]["speeds"] if kept else (_copied(1 << 26), _copied(said.L2_cache_size // 32))
    if not kept:
        toolchain.keep(name, {"speeds": [memory, l2]}, None)
    return Gpu(memory, l2, said.multi_processor_count, Caches(128 * 1024, said.L2_cache_size))


def _copied(count: int) -> float:
    """Bytes per microsecond of copies of so many floats on the GPU."""
    source, target = (torch.zeros(count, device="cuda") for _ in range(2))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    target.copy_(source)
    begin.record()
    for _ in range(10):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    return 10 * 8 * count / (begin.elapsed_time(end) * 1e3)


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
