"""What a kernel will take, from the bytes it moves, what it computes, and what this machine gives."""

import math

from bench_engine.kernels.gir.cpu.calibration import CYCLES_PER_US, Machine
from bench_engine.kernels.gir.cpu.strategy import WHOLE
from bench_engine.kernels.gir.program.forms import reductions_of
from bench_engine.kernels.gir.program.ir import BYTES, Instr, Kernel, Loop, Size, Statement, instructions
from bench_engine.kernels.gir.program.traffic import (
    LINE,
    Access,
    Caches,
    accesses_of,
    extent_of,
    nest_traffic,
    working_set,
)

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


def predict(kernel: Kernel, batch: int, threads: int, on: Machine) -> float:
    """Microseconds of one call, outputs allocated."""
    total, held = 0.0, working_set(kernel, batch)
    for nest in kernel.body:
        parts = _parts(nest, batch, threads)
        bandwidth = on.one if parts == 1 else on.all
        moved, cycles = nest_traffic(kernel, nest, batch, on.caches), _Core(kernel, nest, batch, on).loop(nest)
        near = max(moved["L1"] / bandwidth["L1"], cycles / CYCLES_PER_US / parts)
        rows = [a for a in accesses_of(kernel, nest, batch) if _is_row(kernel, nest, a)]
        far = max(moved["memory"] - sum(access.touched for access in rows), 0) / bandwidth[_level(held, on.caches)]
        times = (near, moved["L2"] / bandwidth["L2"], far, _rows_us(kernel, nest, rows, batch, held, on) / parts)
        total += max(times) + (1 - _HIDDEN) * (sum(times) - max(times))
        total += on.fork_us if parts > 1 else 0.0
    return total


def _is_row(kernel: Kernel, nest: Loop, access: Access) -> bool:
    """Whether it lies in a table, wherever an id says."""
    place, buffer = access.instr.place(), kernel.index[str(access.instr.buffer)]
    return bool(place.values()) and not place.stride(nest.axis) and buffer.place == "memory"


def _level(held: int, sizes: Caches) -> str:
    """Where so many bytes come from again and again."""
    return "L1" if held <= sizes.l1 // 2 else "L2" if held <= sizes.l2 else "L3" if held <= sizes.l3 // 2 else "memory"


def _rows_us(kernel: Kernel, nest: Loop, rows: list[Access], batch: int, held: int, on: Machine) -> float:
    """Of rows of tables; loops that take all of them each have the caches for one table at a time."""
    if not rows:
        return 0.0
    fetched = {instr.buffer for instr, _ in instructions((nest,)) if instr.op == "prefetch"}
    waits = _in_line(nest, rows, batch)
    beyond, total = _level(held, on.caches), 0.0
    for access in rows:
        buffer = kernel.index[str(access.instr.buffer)]
        ns = on.fetched if buffer.name in fetched else {level: waits * own for level, own in on.rows.items()}
        table = BYTES[buffer.dtype] * buffer.elements.at(batch)
        first = min(table, access.touched) if nest.tile == WHOLE else access.touched
        lines = first * ns[beyond] + (access.touched - first) * ns[_level(table, on.caches)]
        total += lines / LINE / 1e3
    if nest.tile != WHOLE and len(rows) > _STREAMS:
        ids = [a for a in accesses_of(kernel, nest, batch) if kernel.index[str(a.instr.buffer)].dtype != "f32"]
        total += sum(access.touched for access in ids) / LINE * _LATE * on.rows[beyond] / 1e3
    return total


def _in_line(nest: Loop, rows: list[Access], batch: int) -> float:
    """How many times as long a row takes because work between rows leaves few of them in the processor's window."""
    work = 0.0
    for instr, around in instructions((nest,)):
        times = math.prod(-(-extent_of(loop, batch) // loop.vec) for loop in around)
        work += _INSTRUCTIONS.get(instr.op, 1) * times
    lines = sum(access.touched for access in rows) / LINE
    return min(max(1.0, _AHEAD_OF * work / max(lines, 1.0)), _LONGEST_WAIT)


def _parts(nest: Loop, batch: int, threads: int) -> int:
    loop = next((s for s in nest.body if isinstance(s, Loop) and s.grain), nest)
    if not loop.grain:
        return 1
    return max(1, min(threads, -(-loop.extent.at(batch) // loop.grain)))


class _Core:
    """Cycles that one core takes for the loops of a nest where everything is in L1."""

    def __init__(self, kernel: Kernel, nest: Loop, batch: int, on: Machine) -> None:
        self.kernel, self.nest, self.batch, self.on = kernel, nest, batch, on

    def loop(self, loop: Loop, vector: Loop | None = None, around: int = 1) -> float:
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
        wait = self.on.chain * (steps + math.log2(copies) + 2 * math.log2(loop.vec))
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
        return self.on.cycles.get(instr.op, _INTEGERS.get(instr.op, self.on.plain))

    def _waits(self, body: list[Instr], copies: int) -> float:
        """Cycles of a vector whose instructions wait for one another, beside others for which the window has room."""
        done, longest, count = dict[str, float](), 0.0, 0.0
        for instr in body:
            links = max(1.0, self.on.cycles.get(instr.op, 0.0) / self.on.plain / _PER_LINK)
            count += links
            begin = max((done.get(arg, 0.0) for arg in instr.uses()), default=0.0)
            end = begin + links * _PRODUCT * self.on.chain
            longest = max(longest, end)
            if instr.result:
                done[instr.result] = end
        return longest / (_ROOM / max(count, 1) + copies - 1)
