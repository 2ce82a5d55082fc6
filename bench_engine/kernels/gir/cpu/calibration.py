"""What this machine's processor gives, measured once by kernels that GIR describes and this compiler builds.

The bandwidths of copies of sizes that stay in L1, in L2, in the last cache, and in memory; rows of tables of these
sizes, wherever ids say; each computation that takes long; and what it takes to start threads.
"""

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.cpu.codegen import unit
from bench_engine.kernels.gir.cpu.strategy import Strategy, schedule
from bench_engine.kernels.gir.program.ir import MAPS, Kernel
from bench_engine.kernels.gir.program.text import parse
from bench_engine.kernels.gir.program.traffic import Caches

# Cycles that one vector of an instruction takes, about, where nothing is measured; those not named take PLAIN.
CYCLES = {
    "exp": 9.0, "log": 16.0, "log1p": 18.0, "tanh": 26.0, "erf": 26.0, "ndtr": 16.0, "div": 12.0, "sqrt": 16.0,
    "sumexp": 14.0,
}  # fmt: skip
PLAIN, CYCLES_PER_US = 0.5, 2500.0
AHEAD, _LEAST = 32, 0.02  # ids; cycles that an instruction takes at least
_ROWS, _IDS, _LARGEST = 8, 1 << 14, 1 << 28  # ids in a bag, bags of one call, and bytes of the largest table
_AGAIN = 50  # times that a call computes the same, for a call by itself takes as long as some vectors
_COUNTS = (2, 6)
_SIZES = {"L1": 1 << 12, "L2": 1 << 16, "L3": 1 << 20, "memory": 1 << 24}  # floats that a calibrating copy reads
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
        cycles: of a vector, by computation; plain: of one not named there; chain: until a sum takes another vector.
        rows, fetched: nanoseconds for a line anywhere by level, and for one that was fetched ahead.
    """

    one: dict[str, float]
    all: dict[str, float]
    threads: int
    caches: Caches
    fork_us: float = 4.0
    cycles: dict[str, float] = field(default_factory=lambda: CYCLES)
    plain: float = PLAIN
    chain: float = 3.0
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
    computed, rows = _kept(("computations",), _computations), _kept(("rows",), _rows)
    return Machine(**speeds, threads=threads, caches=caches(), **computed, **rows)


def _kept(name: tuple[object, ...], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    key = toolchain.key(*name)
    kept = toolchain.find(key)
    found: dict[str, Any] = kept[0]["measured"] if kept else measure()
    if not kept:
        toolchain.keep(key, {"measured": found}, None)
    return found


def _built(kernels: Sequence[Kernel]) -> list[toolchain.Function]:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernels.so"
        toolchain.compile_unit(unit(kernels, toolchain.vector_width()), library)
        return toolchain.load(library, [kernel.name for kernel in kernels])


def _rows() -> dict[str, dict[str, float]]:
    """Nanoseconds for a line of a table in each level, and for one that was fetched ahead."""
    sizes, width = caches(), toolchain.vector_width()
    tables = {
        "L1": sizes.l1 // 2,
        "L2": sizes.l2 // 2,
        "L3": max(sizes.l3 // 4, sizes.l2),
        "memory": min(4 * sizes.l3, _LARGEST),
    }
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


def _computations() -> dict[str, Any]:
    """Cycles of one vector, as Machine has them."""
    width, (few, many) = toolchain.vector_width(), _COUNTS
    alone = [op for op in CYCLES if op != "sumexp"]
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
    plain = max(per_op[0] / 3, _LEAST)  # each comes with two sums; whatever noise there is
    found = {op: max(own - 2 * plain, PLAIN) for op, own in zip(alone, per_op[1:], strict=True)}
    rows = torch.randn(_AGAIN, 832, generator=torch.Generator().manual_seed(0))
    buffers = toolchain.pointers([rows, target])
    chain, both = (
        _microseconds(lambda: function(buffers, _AGAIN, 1), 0.03) * CYCLES_PER_US * width / rows.numel()  # noqa: B023
        for function in functions[-2:]
    )
    return {"cycles": {**found, "sumexp": both}, "plain": plain, "chain": chain}


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
