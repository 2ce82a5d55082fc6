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
from bench_engine.kernels.gir.forms import grid_of, reductions_of
from bench_engine.kernels.gir.ir import BYTES, MAPS, Instr, Kernel, Loop, Size, Statement, instructions
from bench_engine.kernels.gir.strategy import WHOLE, Strategy, integers_of, schedule
from bench_engine.kernels.gir.text import parse
from bench_engine.kernels.gir.traffic import LINE, Access, Caches, accesses_of, extent_of, nest_traffic, working_set

# Cycles that one vector of an instruction takes, about, where nothing is measured; those not named take PLAIN.
CYCLES = {
    "exp": 9.0, "log": 16.0, "log1p": 18.0, "tanh": 26.0, "erf": 26.0, "ndtr": 16.0, "div": 12.0, "sqrt": 16.0,
    "sumexp": 14.0, "chain": 3.0, "plain": 0.5,
}  # fmt: skip
PLAIN, CYCLES_PER_US = 0.5, 2500.0
AHEAD = 32  # ids
_ROWS, _IDS, _LARGEST = 8, 1 << 14, 1 << 28  # ids in a bag, bags of one call, and bytes of the largest table
_AGAIN = 50  # times that a call computes the same, for a call by itself takes as long as some vectors
_COUNTS = (2, 6)
_SIZES = {"L1": 1 << 12, "L2": 1 << 16, "L3": 1 << 20, "memory": 1 << 24}  # floats that a calibrating copy reads
_STEP, _WRITTEN_OUT = 0.5, 8  # cycles of a step of a loop, and steps of one that the compiler writes out
# Instructions that wait at once; plain ones that take as long as a link of a chain; how long one of products is.
_ROOM, _PER_LINK, _PRODUCT = 200.0, 4.0, 1.3
_INTEGERS = {"irem": 2.0, "idiv": 2.0, "row": 0.3, "peek": 0.5}  # cycles
# Instructions of an integer's operation; what one adds to a row's wait, and how many times as long it gets at most.
_INSTRUCTIONS, _AHEAD_OF, _LONGEST_WAIT = {"irem": 12, "idiv": 8}, 0.12, 3.0
_STREAMS, _LATE = 12, 8.0  # lists of ids that are fetched ahead at once, and rows that a line takes of one that is not
_PAGE, _PAGES, _WALK = 4096, 1500, 1.5  # bytes, pages that are translated at once, and cycles for another
_HIDDEN = 0.9  # of what takes less than the slowest part of a nest, this share goes on meanwhile
_COLUMN, _SCATTERED = 0.12, 0.8  # cycles for an element down a column, transposed in tiles and alone
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
  par r < {times} {{
    par b < B vec {vec} unroll 2 {{
      %0 = load x0[b]
{computed}
      store y0[b], %{last}
    }}
  }}
}}
"""
# Rows of a softmax, of numbers drawn at random, that are reduced by vectors, one waiting for the other.
_REDUCED = """
kernel {op} {{
  input x0: f32[B, 832]
  output y0: f32[B]
  par b < B {{
    reduce n < 832 vec {vec} {{
      %0 = load x0[832*b + n]
      %1 = {first} %0
{more}
    }}
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
        fork_us: microseconds until threads have begun and ended.
        cycles: of a vector, by computation.
        rows, fetched: nanoseconds for a line anywhere by level, and for one that was fetched ahead.
    """

    one: dict[str, float]
    all: dict[str, float]
    threads: int
    caches: Caches
    fork_us: float = 4.0
    cycles: dict[str, float] = field(default_factory=lambda: CYCLES)
    rows: dict[str, float] = field(default_factory=lambda: {"L1": 0.3, "L2": 0.5, "L3": 4.0, "memory": 12.0})
    fetched: dict[str, float] = field(default_factory=lambda: {"L1": 0.4, "L2": 0.5, "L3": 2.0, "memory": 6.0})


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
    return Machine(
        speeds["one"], speeds["all"], threads, caches(), speeds["fork_us"], cycles, rows["rows"], rows["fetched"]
    )


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
    tables = {"L1": sizes.l1 // 2, "L2": sizes.l2 // 2, "L3": max(sizes.l3 // 4, sizes.l2), "memory": min(4 * sizes.l3, _LARGEST)}
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
    """Cycles of one vector by computation; `chain`: those after which a reduction takes the next vector."""
    width, (few, many) = toolchain.vector_width(), _COUNTS
    alone = [op for op in CYCLES if op not in ("sumexp", "chain", "plain")]
    reduced = {"chain": ("reduce_sum", "", 1), "sumexp": ("reduce_max", "      %2 = sumexp %0 %1", 2)}
    kernels = [_some(op, count, width) for op in ("mul", *alone) for count in _COUNTS]
    kernels += [
        parse(_REDUCED.format(op=op, vec=width, first=first, more=more, last=last))
        for op, (first, more, last) in reduced.items()
    ]
    functions = _built(kernels)
    source, target = torch.linspace(0.1, 1, _SIZES["L1"]), torch.empty(_SIZES["L1"])
    buffers = toolchain.pointers([source, target])
    took = iter([_microseconds(lambda: function(buffers, len(source), 1), 0.03) for function in functions[:-2]])  # noqa: B023
    vectors = (many - few) * len(source) / width * _AGAIN
    per_op = [max(next(took) - less, 0.0) / vectors * CYCLES_PER_US for less in took]
    plain = per_op[0] / 3  # each comes with two sums
    found = {op: max(own - 2 * plain, PLAIN) for op, own in zip(alone, per_op[1:], strict=True)}
    rows = torch.randn(_AGAIN, 832, generator=torch.Generator().manual_seed(0))
    buffers = toolchain.pointers([rows, target])
    chain, both = (
        _microseconds(lambda: function(buffers, _AGAIN, 1), 0.03) * CYCLES_PER_US * width / rows.numel()  # noqa: B023
        for function in functions[-2:]
    )
    return {**found, "chain": chain, "sumexp": both, "plain": plain}


def _some(op: str, count: int, width: int) -> Kernel:
    lines, last = list[str](), 0
    for number in range(count):
        at = 3 * number + 1
        other = " %0" if MAPS[op] == 2 else ""
        lines += [f"%{at} = add %0 {0.01 * (number + 1):g}", f"%{at + 1} = {op} %{at}{other}"]
        lines += [f"%{at + 2} = add %{at + 1} %{last}"]
        last = at + 2
    return parse(_SOME.format(op=op, count=count, vec=width, times=_AGAIN, computed="\n".join(lines), last=last))


def _bandwidths(threads: int) -> dict[str, Any]:
    """Bytes per microsecond by level, with one thread and with all, and what it takes to start and join these."""
    (copy,) = _built([parse(_COPY.format(vec=toolchain.vector_width()))])
    one: dict[str, float] = {}
    every: dict[str, float] = {}
    fork_us = 0.0
    for level, count in _SIZES.items():
        source, target = torch.ones(count), torch.ones(count)
        buffers = toolchain.pointers([source, target])
        call, alone, together = (
            _microseconds(lambda: copy(buffers, size, used))  # noqa: B023
            for size, used in ((1, 1), (count, 1), (count, threads))
        )
        one[level] = 2 * 4 * count / max(alone - call, alone / 10)  # whatever noise there is
        if level in ("L1", "L2"):  # each core has its own
            every[level] = threads * one[level]
            fork_us = max(0.0, together - alone / threads) if threads > 1 else 0.0
        else:
            every[level] = 2 * 4 * count / max(together - call - fork_us, together / 10)
    return {"one": one, "all": every, "fork_us": fork_us}


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
    total, held = 0.0, working_set(kernel, batch)
    for nest in kernel.body:
        parts = _parts(nest, batch, threads)
        bandwidth = on.one if parts == 1 else on.all
        moved, cycles = nest_traffic(kernel, nest, batch, on.caches), _cycles(kernel, nest, batch, on)
        near = max(moved["L1"] / bandwidth["L1"], cycles / CYCLES_PER_US / parts)
        rows = [a for a in accesses_of(kernel, nest, batch) if _is_row(kernel, nest, a)]
        far = max(moved["memory"] - sum(access.touched for access in rows), 0) / bandwidth[_level(held, on.caches)]
        times = (near, moved["L2"] / bandwidth["L2"], far, _rows_us(kernel, nest, rows, batch, held, on) / parts)
        total += max(times) + (1 - _HIDDEN) * (sum(times) - max(times))
        total += on.fork_us if parts > 1 else 0.0
    return total


def _is_row(kernel: Kernel, nest: Loop, access: Access) -> bool:
    """Whether it lies in a table, wherever an id says."""
    place = access.instr.place()
    return bool(place.values()) and not place.stride(nest.axis) and kernel.index[str(access.instr.buffer)].place == "memory"


def _level(held: int, sizes: Caches) -> str:
    """Where so many bytes come from again and again."""
    return "L1" if held <= sizes.l1 // 2 else "L2" if held <= sizes.l2 else "L3" if held <= sizes.l3 // 2 else "memory"


def _rows_us(kernel: Kernel, nest: Loop, rows: list[Access], batch: int, held: int, on: Machine) -> float:
    """Of rows of tables; loops that take all of them each have the caches for one table at a time."""
    fetched = {instr.buffer for instr, _ in instructions((nest,)) if instr.op == "prefetch"}
    lines = sum(access.touched for access in rows) / LINE
    work = sum(
        _INSTRUCTIONS.get(instr.op, 1) * math.prod(-(-extent_of(loop, batch) // loop.vec) for loop in around)
        for instr, around in instructions((nest,))
    )
    waits = min(max(1.0, _AHEAD_OF * work / lines), _LONGEST_WAIT) if lines else 1.0  # where work between them leaves few in the window
    total = 0.0
    if nest.tile != WHOLE and len(rows) > _STREAMS:
        ids = [a for a in accesses_of(kernel, nest, batch) if kernel.index[str(a.instr.buffer)].dtype != "f32"]
        total += sum(access.touched for access in ids) / LINE * _LATE * on.rows[_level(held, on.caches)] / 1e3
    for access in rows:
        buffer = kernel.index[str(access.instr.buffer)]
        level = {k: v if buffer.name in fetched else v * waits for k, v in (on.fetched if buffer.name in fetched else on.rows).items()}
        own, once = BYTES[buffer.dtype] * buffer.elements.at(batch), 0.0
        again = access.touched
        if nest.tile == WHOLE:
            once, again = min(own, access.touched), max(access.touched - own, 0)
        total += (once * level[_level(held, on.caches)] + again * level[_level(own if nest.tile == WHOLE else held, on.caches)]) / LINE / 1e3
    return total


def _parts(nest: Loop, batch: int, threads: int) -> int:
    loop = next((s for s in nest.body if isinstance(s, Loop) and s.grain), nest)
    if not loop.grain:
        return 1
    return max(1, min(threads, -(-loop.extent.at(batch) // loop.grain)))


def _cycles(kernel: Kernel, nest: Loop, batch: int, on: Machine) -> float:
    """Of all that a nest computes and moves where everything is in L1."""
    return _Core(kernel, nest, batch, on).loop(nest, around=1)


class _Core:
    """Cycles that one core takes for the loops of a nest."""

    def __init__(self, kernel: Kernel, nest: Loop, batch: int, on: Machine) -> None:
        self.kernel, self.nest, self.batch, self.on = kernel, nest, batch, on

    def loop(self, loop: Loop, vector: Loop | None = None, around: int = 0) -> float:
        """Of a loop; `vector` is the vectorized one around it, `around` the instructions of what its loop does once."""
        vectors = -(-extent_of(loop, self.batch) // loop.vec)
        copies = loop.unroll if loop.vec > 1 else 1
        steps = vectors // copies + vectors % copies
        inside = loop if loop.vec > 1 else vector
        own = [s for s in loop.body if isinstance(s, Instr)]
        each = max(sum(self.instr(i, inside) for i in own), self._waits(own, copies) if inside else 0.0)
        once = self.count(loop.body)
        each += sum(self.loop(s, inside, once) for s in loop.body if isinstance(s, Loop))
        work = vectors * each + (steps * _STEP if steps > _WRITTEN_OUT else 0)
        if loop.vec == 1 or not reductions_of(loop):
            return work
        # What waits for another is hidden where the processor is at what comes after it meanwhile.
        wait = self.on.cycles["chain"] * (steps + math.log2(copies) + 2 * math.log2(loop.vec))
        return work + max(0.0, wait - work) * (1 - min(1.0, _ROOM / around))

    def count(self, body: tuple[Statement, ...]) -> int:
        """Instructions of a body, about."""
        inner = (self.count(s.body) * -(-extent_of(s, self.batch) // s.vec) for s in body if isinstance(s, Loop))
        return sum(isinstance(s, Instr) for s in body) + sum(inner)

    def instr(self, instr: Instr, vector: Loop | None) -> float:
        """Of one instruction, on one vector."""
        if vector and instr.address and instr.place().stride(vector.axis) > Size(0, 1):
            near = self.kernel.index[str(instr.buffer)].place != "memory" or self.nest.tile == vector.vec
            step = BYTES["f32"] * instr.place().stride(vector.axis).at(self.batch)
            far = step >= _PAGE and extent_of(vector, self.batch) > _PAGES
            return (_COLUMN if near else _SCATTERED + (_WALK if far else 0)) * vector.vec
        return self.on.cycles.get(instr.op, _INTEGERS.get(instr.op, self.on.cycles["plain"]))

    def _waits(self, body: list[Instr], copies: int) -> float:
        """Cycles of a vector whose instructions wait for one another, with as many vectors as the window has room for."""
        done, most, count = dict[str, float](), 0.0, 0.0
        for instr in body:
            links = max(1.0, self.on.cycles.get(instr.op, 0.0) / self.on.cycles["plain"] / _PER_LINK)
            count += links
            at = max((done.get(arg, 0.0) for arg in instr.uses()), default=0.0) + links * _PRODUCT * self.on.cycles["chain"]
            most = max(most, at)
            if instr.result:
                done[instr.result] = at
        return most / (_ROOM / max(count, 1) + copies - 1)


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
