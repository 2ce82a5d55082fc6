"""How a kernel is run: which loop is a vector's, how often it is unrolled, tiles, threads, and streaming stores.

`Strategy` is one point of the space that the search goes through; `schedule` writes it into the loops.
"""

from dataclasses import dataclass, replace
from math import inf

from bench_engine.kernels.gir.forms import Body, mapped, renamed, replaced, to_axis
from bench_engine.kernels.gir.ir import INTEGERS, Address, Buffer, Instr, Kernel, Loop, Size, Statement, instructions

_TYPICAL_BATCH = 64
_STAGED_BYTES = 16 * 1024


@dataclass(frozen=True)
class Strategy:
    """Parameters of a candidate.

    Attributes:
        vec: floats per vector.
        unroll: vectors per step.
        stream: whether outputs bypass the caches.
        tile: rows of the outermost loop that are computed together where one of its loads goes down columns.
        grain: bytes that a thread moves at least; 0 for one thread.
    """

    vec: int = 16
    unroll: int = 2
    stream: bool = False
    tile: int = 1
    grain: int = 1 << 17


def schedule(kernel: Kernel, strategy: Strategy) -> Kernel:
    """The kernel with this strategy; what it computes stays the same."""
    kernel = _staged(collapsed(kernel))
    nests = tuple(_scheduled(kernel, nest, strategy) for nest in kernel.body)
    return kernel.with_body(nests)


def collapsed(kernel: Kernel) -> Kernel:
    """Two loops, one in the other and nothing beside it, become one wherever all addresses go on from row to row."""
    return kernel.with_body(tuple(s for s in mapped(kernel.body, _collapse) if isinstance(s, Loop)))


def _collapse(body: Body) -> Body:
    return tuple(_one_loop(statement) if isinstance(statement, Loop) else statement for statement in body)


def _one_loop(outer: Loop) -> Loop:
    if not outer.body or not isinstance(outer.body[0], Loop):
        return outer
    inner, rest = outer.body[0], outer.body[1:]
    if outer.kind != inner.kind or outer.kind == "ragged" or (outer.kind == "par" and rest):
        return outer
    partial = {i.result: i for i in inner.body if isinstance(i, Instr) and i.is_reduction}
    over = [i for i in rest if isinstance(i, Instr) and i.is_reduction and i.args[0] in partial]
    if len(over) != len(rest) or len(over) != len(partial):
        return outer
    for instr, _ in instructions(outer.body):
        if {outer.axis, inner.axis} & set(instr.args):
            return outer
        if instr.address and instr.place().stride(outer.axis) != instr.place().stride(inner.axis) * inner.extent:
            return outer
    try:
        extent = outer.extent * inner.extent
    except Exception:
        return outer
    found = renamed(inner.body, {outer.axis: Address()}, {str(i.args[0]): str(i.result) for i in over})
    return replace(inner, extent=extent, body=found)


def _staged(kernel: Kernel) -> Kernel:
    """Columns that a product reads again and again are laid out as rows first, in the core's cache."""
    for number, nest in enumerate(kernel.body):
        for position, statement in enumerate(nest.body):
            found = _column(kernel, statement) if isinstance(statement, Loop) else None
            if found is None:
                continue
            load, column, inner = found
            name = f"t{len(kernel.buffers)}"
            count = column.extent.const * inner.extent.const
            buffer = Buffer(name, "f32", (Size(0, count),), (Size(0, 1),), "temp", "L1")
            taken = [int(i.result[1:]) for i, _ in instructions(kernel.body) if i.result]
            value = f"%{max(taken) + 1}"
            axes = {loop.axis: to_axis(f"{loop.axis}s") for loop in (column, inner)}
            place = Address.of({column.axis: Size(0, 1), inner.axis: column.extent})
            copy: Body = (
                Instr("load", (), value, load.buffer, load.place().substitute(axes)),
                Instr("store", (value,), None, name, place.substitute(axes)),
            )
            for loop in (column, inner):
                copy = (Loop(f"{loop.axis}s", "par", loop.extent, copy),)
            staged = replaced((statement,), load, (replace(load, buffer=name, address=place),))
            nest = replace(nest, body=(*nest.body[:position], *copy, *staged, *nest.body[position + 1 :]))
            nests = (*kernel.body[:number], nest, *kernel.body[number + 1 :])
            return replace(kernel, buffers=(*kernel.buffers, buffer), body=nests)
    return kernel


def _column(kernel: Kernel, statement: Loop) -> tuple[Instr, Loop, Loop] | None:
    """A load in loops i, j and k that goes along j in steps, along k by one, and along i not at all; with j and k."""
    for load, around in instructions((statement,)):
        if load.op != "load" or len(around) != 3 or around[1].kind != "par" or around[2].kind != "reduce":
            continue
        repeated, column, inner = around
        steps = [load.place().stride(loop.axis) for loop in around]
        small = column.extent.batch == inner.extent.batch == 0
        if steps[0] or steps[2] != Size(0, 1) or steps[1] <= Size(0, 1) or repeated.kind != "par" or not small:
            continue
        if 4 * column.extent.const * inner.extent.const <= _STAGED_BYTES and not load.place().values():
            return load, column, inner
    return None


def _scheduled(kernel: Kernel, nest: Loop, strategy: Strategy) -> Loop:
    integers = _integers(kernel)
    nest = _vectorized(kernel, nest, strategy, integers)
    if strategy.stream:
        (nest,) = _streamed(kernel, (nest,), None)  # type: ignore[assignment]
    if strategy.tile > 1 and _goes_down_columns(nest):
        nest = replace(nest, tile=strategy.tile)
    if not strategy.grain:
        return nest
    moved = sum(4 * _times(around) for instr, around in instructions((nest,)) if instr.address)
    first = nest.body[0] if nest.body else None
    cached = any(i.buffer and kernel.index[i.buffer].place != "memory" for i, _ in instructions((nest,)))
    if nest.extent == Size(0, 1) and isinstance(first, Loop) and first.kind == "reduce" and not cached:
        grain = _grain(strategy.grain, moved, first.extent)
        return replace(nest, body=(replace(first, grain=grain), *nest.body[1:]))
    return replace(nest, grain=_grain(strategy.grain, moved, nest.extent))


def _grain(wanted: int, moved: int, extent: Size) -> int:
    return max(1, wanted * max(extent.at(_TYPICAL_BATCH), 1) // max(moved, 1))


def _times(around: tuple[Loop, ...]) -> int:
    times = 1
    for loop in around:
        times *= max(loop.extent.at(_TYPICAL_BATCH), 1)
    return times


def _integers(kernel: Kernel) -> set[str]:
    """The values that are integers."""
    return {str(i.result) for i, _ in instructions(kernel.body) if i.result and is_integer(kernel, i)}


def is_integer(kernel: Kernel, instr: Instr) -> bool:
    """Whether an instruction's result is an integer."""
    if instr.buffer is not None:
        return instr.op == "count" or kernel.index[instr.buffer].dtype != "f32"
    return instr.op in INTEGERS


def _vectorized(kernel: Kernel, loop: Loop, strategy: Strategy, integers: set[str]) -> Loop:
    """The loop, with `vec` on it or, where that scores more, on loops in it; a path has one vectorized loop at most."""
    inner = [_vectorized(kernel, s, strategy, integers) if isinstance(s, Loop) else s for s in loop.body]
    nested = [s for s in loop.body if isinstance(s, Loop)]
    own = _score(kernel, loop, integers)
    if own > 0 and own >= sum(_best(kernel, child, integers) for child in nested):
        most = max(1, -(-loop.extent.at(_TYPICAL_BATCH) // strategy.vec))
        wanted = min(4, 2 * strategy.unroll) if nested else strategy.unroll
        return replace(loop, vec=strategy.vec, unroll=min(wanted, most))
    return replace(loop, body=tuple(inner))


def _best(kernel: Kernel, loop: Loop, integers: set[str]) -> float:
    nested = sum(_best(kernel, s, integers) for s in loop.body if isinstance(s, Loop))
    return max(_score(kernel, loop, integers), nested, 0)


def _score(kernel: Kernel, loop: Loop, integers: set[str]) -> float:
    """How much is gained by vectors along a loop: moves of neighbours, weighted by how often they are made."""
    if loop.kind == "ragged" or loop.extent == Size(0, 1):
        return -inf
    if loop.kind == "reduce" and any(isinstance(s, Loop) for s in loop.body):
        return -inf
    score, varying = 0.0, {loop.axis}
    for instr, around in instructions((loop,)):
        varies = any(arg in varying for arg in instr.uses())
        stride = instr.place().stride(loop.axis) if instr.address else Size(0, 0)
        if (varies or stride) and instr.result:
            varying.add(instr.result)
        if instr.buffer and kernel.index[instr.buffer].place != "memory" and not stride:
            return -inf  # room for one iteration only
        if (instr.result in integers and instr.result in varying) or loop.axis in instr.args:
            return -inf
        if instr.address and any(value in varying for value in instr.place().values()):
            return -inf
        if stride:
            score += _times(around) * (1.0 if stride == Size(0, 1) else -0.5)
        elif instr.address is None and (varies or instr.is_reduction):
            score += 0.01
    return score


def _streamed(kernel: Kernel, body: Body, vec: Loop | None) -> Body:
    """Stores of whole vectors to outputs that the kernel does not load again go past the caches."""
    read = {i.buffer for i, _ in instructions(kernel.body) if i.reads}

    def one(statement: Statement, around: Loop | None) -> Statement:
        if isinstance(statement, Loop):
            inside = statement if statement.vec > 1 else around
            return replace(statement, body=tuple(one(s, inside) for s in statement.body))
        if statement.op != "store" or around is None or statement.buffer in read:
            return statement
        neighbours = statement.place().stride(around.axis) == Size(0, 1)
        output = kernel.index[str(statement.buffer)].role == "output"
        return replace(statement, op="stream_store") if neighbours and output else statement

    return tuple(one(statement, vec) for statement in body)


def _goes_down_columns(nest: Loop) -> bool:
    """Whether a nest of two par loops loads along its outer axis what it computes along its inner one."""
    if nest.kind != "par" or len(nest.body) != 1 or not isinstance(nest.body[0], Loop):
        return False
    inner = nest.body[0]
    if inner.kind != "par" or inner.vec == 1 or any(isinstance(s, Loop) for s in inner.body):
        return False
    places = [s.place() for s in inner.body if isinstance(s, Instr) and s.address]
    return any(place.stride(nest.axis) == Size(0, 1) and place.stride(inner.axis) for place in places)


def tiles(kernel: Kernel) -> bool:
    """Whether a tile would change anything."""
    return schedule(kernel, Strategy(tile=2)) != schedule(kernel, Strategy())
