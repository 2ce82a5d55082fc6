"""Bytes that a kernel moves: between core and L1, between L1 and L2, and to and from memory beyond the L2 cache.

Counted from the GIR alone. A cache keeps what one iteration of the outermost loop touches, if that fits; what does not
depend on that loop stays. A store reads its line first (read for ownership) unless it is a stream_store. An element
or a row that is shorter than its cache line and lies alone there moves the line.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bench_engine.kernels.gir.program.ir import BYTES, UNCOUNTED, Instr, Kernel, Loop, instructions

LINE = 64
AVERAGE_BAG = 8  # ids in a bag of unknown size
LEVELS = ("L1", "L2", "memory")


@dataclass(frozen=True)
class Caches:
    """Sizes of the caches of one core, and of the last one, which cores share, in bytes."""

    l1: int = 32 * 1024
    l2: int = 1024 * 1024
    l3: int = 32 * 1024 * 1024


@dataclass(frozen=True)
class Access:
    """One instruction that moves, at one batch size.

    Attributes:
        times: how often it runs in the nest.
        touched: bytes of whole lines that it touches in the nest; inside: in one iteration of the outermost loop.
        what: two accesses of the same elements have this in common.
    """

    instr: Instr
    times: int
    touched: int
    inside: int
    what: tuple[object, ...]
    varies: bool


def traffic(kernel: Kernel, batch: int, caches: Caches = Caches()) -> dict[str, int]:
    """Bytes per level (LEVELS) of one call at a batch size."""
    total = dict.fromkeys(LEVELS, 0)
    for nest in kernel.body:
        for level, count in nest_traffic(kernel, nest, batch, caches).items():
            total[level] += count
    return total


def nest_traffic(kernel: Kernel, nest: Loop, batch: int, caches: Caches) -> dict[str, int]:
    """Bytes per level of one nest."""
    accesses = list(accesses_of(kernel, nest, batch))
    outer = max(nest.extent.at(batch), 0)
    first: dict[tuple[object, ...], Access] = {access.what: access for access in reversed(accesses)}
    working_set = sum(access.inside for access in first.values())
    total = {"L1": 0, "L2": 0, "memory": 0}
    for access in accesses:
        buffer = kernel.index[str(access.instr.buffer)]
        total["L1"] += access.times * BYTES[buffer.dtype]
        once = first[access.what] is access
        factor = 2 if access.instr.op == "store" and buffer.place == "memory" else 1
        for level, size in (("L2", caches.l1), ("memory", caches.l2)):
            fits = working_set <= size
            if fits and (not once or buffer.place != "memory"):
                continue
            total[level] += factor * (access.touched if fits or access.varies else access.inside * outer)
    return total


def working_set(kernel: Kernel, batch: int) -> int:
    """Bytes in memory that the kernel touches in all."""
    touched: dict[str, int] = defaultdict(int)
    for nest in kernel.body:
        seen: dict[str, int] = defaultdict(int)
        for access in {access.what: access for access in accesses_of(kernel, nest, batch)}.values():
            seen[str(access.instr.buffer)] += access.touched
        for name, count in seen.items():
            touched[name] = max(touched[name], count)
    held = {b.name: BYTES[b.dtype] * b.elements.at(batch) for b in kernel.buffers if b.place == "memory"}
    return sum(min(touched[name], most) for name, most in held.items())


def accesses_of(kernel: Kernel, nest: Loop, batch: int) -> Iterator[Access]:
    """What moves in a nest."""
    depends: dict[str, frozenset[str]] = {}  # a value -> the axes that it varies with
    for instr, around in instructions((nest,)):
        axes = set(instr.place().variables()) if instr.address else set()
        if any(loop.axis in axes and loop.kind == "ragged" for loop in around):
            axes |= {loop.axis for loop in around}
        if instr.reads and kernel.index[str(instr.buffer)].place != "memory":
            axes.add(nest.axis)  # what is in a cache is made anew in every iteration
        axes |= {axis for value in instr.uses() for axis in depends.get(value, ())}
        if instr.result:
            depends[instr.result] = frozenset(axes)
        if instr.address is not None and instr.op not in UNCOUNTED:
            yield _access(kernel, instr, around, batch, depends)


def extent_of(loop: Loop, batch: int) -> int:
    """How many iterations a loop has, about."""
    return AVERAGE_BAG if loop.kind == "ragged" else max(loop.extent.at(batch), 0)


def _access(
    kernel: Kernel, instr: Instr, around: tuple[Loop, ...], batch: int, depends: dict[str, frozenset[str]]
) -> Access:
    buffer, address = kernel.index[str(instr.buffer)], instr.place()
    size = BYTES[buffer.dtype]
    own = set(address.variables())
    by_value = {axis for value in address.values() for axis in depends.get(value, ())}
    if any(loop.axis in own and loop.kind == "ragged" for loop in around):
        by_value |= {loop.axis for loop in around}  # where a bag begins depends on the loops around it
    relevant = [loop for loop in around if loop.axis in own | by_value]
    times = 1
    for loop in around[: around.index(relevant[-1]) + 1] if relevant else ():
        times *= extent_of(loop, batch)
    touched = _touched(relevant, instr, by_value, size, batch)
    inner = [loop for loop in relevant if loop is not around[0]]
    inside = _touched(inner, instr, by_value, size, batch)
    held = max(size, buffer.elements.at(batch) * size) if buffer.elements.at(1) > 0 else math.inf
    row = address.stride(around[0].axis).at(batch) * size
    key = tuple(sorted((address.stride(loop.axis), extent_of(loop, batch)) for loop in relevant))
    what: tuple[object, ...] = (buffer.name, address.offset, key, address.values())
    if not by_value or buffer.place != "memory":
        touched, inside = int(min(touched, held)), int(min(inside, held))
    elif row > LINE:  # a gather within the row of its iteration
        if inside >= row:
            what = (buffer.name, row)  # all of it, whichever elements these are
        touched, inside = min(touched, row * extent_of(around[0], batch)), min(inside, row)
    return Access(instr, times, touched, inside, what, around[0] in relevant)


def _touched(loops: list[Loop], instr: Instr, by_value: set[str], size: int, batch: int) -> int:
    """Bytes of the lines of all elements that these loops reach."""
    address = instr.place()
    run, count = size, 1
    for loop in sorted(loops, key=lambda loop: address.stride(loop.axis).at(batch) or math.inf):
        stride = address.stride(loop.axis).at(batch) * size
        extent = extent_of(loop, batch)
        if loop.axis not in by_value and count == 1 and stride <= max(run, size):
            run = max(run, stride * (extent - 1) + run)
        else:
            count *= extent
    return count * run if count == 1 else count * (math.ceil(run / LINE) * LINE if run % LINE else run)
