"""How a kernel is run: which loop is a vector's, how often it is unrolled, tiles, threads, and streaming stores.

`Strategy` is one point of the space that the search goes through; `schedule` writes it into the loops.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import cast

from bench_engine.kernels.gir.program.forms import (
    TYPICAL_BATCH,
    Body,
    buffers,
    chain_of,
    collapsed,
    defined,
    fresh,
    integers_of,
    mapped,
    renamed,
    replaced,
    to_axis,
    used,
)
from bench_engine.kernels.gir.program.ir import (
    Address,
    Buffer,
    Instr,
    Kernel,
    Loop,
    Size,
    Statement,
    contiguous,
    instructions,
)

WHOLE = 1 << 30  # rows: all that a thread has
_STAGED_BYTES = 16 * 1024


@dataclass(frozen=True)
class Strategy:
    """Parameters of a candidate.

    Attributes:
        vec: floats per vector.
        unroll: vectors per step.
        stream: whether outputs bypass the caches.
        tile: rows of the outermost loop that are computed together where one of its loads goes down columns.
        apart: the same where several loops stand in it that need nothing of one another, as of bags.
        ahead: ids whose rows are fetched before they are read; 0 for none.
        grain: bytes that a thread moves at least; 0 for one thread.
    """

    vec: int = 16
    unroll: int = 2
    stream: bool = False
    tile: int = 1
    apart: int = 1
    ahead: int = 0
    grain: int = 1 << 17


def schedule(kernel: Kernel, strategy: Strategy) -> Kernel:
    """The kernel with this strategy; what it computes stays the same."""
    kernel = _staged(collapsed(kernel))
    kernel = kernel.with_body(tuple(_scheduled(kernel, nest, strategy) for nest in kernel.body))
    return _fetched(kernel, strategy.ahead) if strategy.ahead else kernel


def _staged(kernel: Kernel) -> Kernel:
    """Columns that a product reads again and again are laid out as rows first, in the core's cache."""
    for number, nest in enumerate(kernel.body):
        for position, statement in enumerate(nest.body):
            found = _column(statement) if isinstance(statement, Loop) else None
            if found is None:
                continue
            load, column, inner = found
            name = f"t{len(kernel.buffers)}"
            count = column.extent.const * inner.extent.const
            buffer = Buffer(name, "f32", (Size(0, count),), (Size(0, 1),), "temp", "L1")
            value = next(fresh(kernel))
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


def _column(statement: Loop) -> tuple[Instr, Loop, Loop] | None:
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


_ONE_THREAD = ("add_to", "sumexp")  # sums at places that others may name too; what has no parts to put together


def _scheduled(kernel: Kernel, nest: Loop, strategy: Strategy) -> Loop:
    integers = integers_of(kernel)
    nest = _vectorized(kernel, nest, strategy, integers)
    if strategy.stream:
        (nest,) = _streamed(kernel, (nest,), None)  # type: ignore[assignment]
    if strategy.tile > 1 and _goes_down_columns(nest):
        (inner,) = cast(tuple[Loop], nest.body)
        nest = replace(nest, tile=strategy.tile, body=(replace(inner, unroll=1),))
    if strategy.apart > 1 and _falls_apart(kernel, nest):
        nest = replace(nest, tile=strategy.apart)
    if not strategy.grain:
        return nest
    moved = sum(4 * _times(around) for instr, around in instructions((nest,)) if instr.address)
    first = nest.body[0] if nest.body else None
    cached = any(i.buffer and kernel.index[i.buffer].place != "memory" for i, _ in instructions((nest,)))
    alone = isinstance(first, Loop) and any(i.op in _ONE_THREAD for i, _ in instructions((first,)))
    if nest.extent == Size(0, 1) and isinstance(first, Loop) and first.kind == "reduce" and not (cached or alone):
        grain = _grain(strategy.grain, moved, first.extent)
        return replace(nest, body=(replace(first, grain=grain), *nest.body[1:]))
    return replace(nest, grain=_grain(strategy.grain, moved, nest.extent))


def _grain(wanted: int, moved: int, extent: Size) -> int:
    return max(1, wanted * max(extent.at(TYPICAL_BATCH), 1) // max(moved, 1))


def _times(around: tuple[Loop, ...]) -> int:
    times = 1
    for loop in around:
        times *= max(loop.extent.at(TYPICAL_BATCH), 1)
    return times


def _vectorized(kernel: Kernel, loop: Loop, strategy: Strategy, integers: set[str]) -> Loop:
    """The loop, with `vec` on it or, where that scores more, on loops in it; a path has one vectorized loop at most."""
    inner = [_vectorized(kernel, s, strategy, integers) if isinstance(s, Loop) else s for s in loop.body]
    nested = [s for s in loop.body if isinstance(s, Loop)]
    own = _score(kernel, loop, integers)
    if own > 0 and own >= sum(_best(kernel, child, integers) for child in nested):
        most = max(1, -(-loop.extent.at(TYPICAL_BATCH) // strategy.vec))
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
    score, varying, written = 0.0, {loop.axis}, buffers((loop,), "writes")
    for instr, around in instructions((loop,)):
        varies = any(arg in varying for arg in instr.uses())
        stride = instr.place().stride(loop.axis) if instr.address else Size(0, 0)
        if stride and instr.writes and kernel.index[str(instr.buffer)].dtype != "f32":
            return -inf  # vectors are of floats
        if (varies or stride) and instr.result:
            varying.add(instr.result)
        if instr.buffer in written and kernel.index[instr.buffer].place != "memory" and not stride:
            return -inf  # room for one iteration only
        if instr.op == "add_to" and (loop.kind != "par" or stride != Size(0, 1)):
            return -inf  # one iteration after another
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


def _falls_apart(kernel: Kernel, nest: Loop) -> bool:
    """Whether several loops stand in a par loop, and nothing else, that need nothing of one another."""
    if nest.kind != "par" or len(nest.body) < 2 or not all(isinstance(s, Loop) for s in nest.body):
        return False
    if any(i.buffer and kernel.index[i.buffer].place != "memory" for i, _ in instructions(nest.body)):
        return False  # room for one iteration only
    return not defined(nest.body) & {v for s in nest.body for v in used([s]) - defined([s])} and not (
        set(buffers(nest.body, "reads")) & set(buffers(nest.body, "writes"))
    )


def _fetched(kernel: Kernel, ahead: int) -> Kernel:
    """What leads from an id to its row is computed for a later id too, and that row fetched where this one is read."""
    names, later = fresh(kernel), dict[str, str]()

    def one(body: Body) -> Body:
        found = list[Statement]()
        for statement in body:
            if isinstance(statement, Instr) and statement.op == "row":
                found += _peeked(kernel, body, statement, ahead, names, later)
            found.append(statement)
        return tuple(found)

    def fetch(body: Body) -> Body:
        found = list[Statement]()
        for statement in body:
            if isinstance(statement, Instr) and _far(kernel, statement, set(later)):
                (there,) = renamed((replace(statement, op="prefetch", result=None),), values=later)
                found += [] if there in found else [there]
            found.append(statement)
        return tuple(found)

    body = mapped(mapped(kernel.body, one), fetch)
    return kernel.with_body(tuple(s for s in body if isinstance(s, Loop)))


def _far(kernel: Kernel, instr: Instr, rows: set[str]) -> bool:
    """Whether it reads one of these rows of what may be in no cache."""
    return (
        instr.reads and kernel.index[str(instr.buffer)].place == "memory" and bool(rows & set(instr.place().values()))
    )


def _peeked(
    kernel: Kernel, body: Body, row: Instr, ahead: int, names: Iterator[str], later: dict[str, str]
) -> list[Statement]:
    """The instructions that compute `row` for an id so far ahead; none where it comes of more than one id."""
    chain = chain_of(body, str(row.result)) or ()
    loads = [s for s in chain if isinstance(s, Instr) and s.address is not None]
    if len(loads) != 1 or loads[0].op != "load" or loads[0].place().values():
        return []
    (load,) = loads
    buffer = kernel.index[str(load.buffer)]
    if buffer.role != "input" or buffer.strides != contiguous(buffer.shape):
        return []
    place = replace(load.place(), offset=load.place().offset + ahead)
    chain = replaced(chain[:-1], load, (replace(load, op="peek", address=place),))
    values = {name: next(names) for name in sorted(defined(chain))}
    later[str(row.result)] = values[str(row.args[0])]
    return list(renamed(chain, values=values))


def tiles(kernel: Kernel) -> bool:
    """Whether a tile would change anything."""
    return schedule(kernel, Strategy(tile=2)) != schedule(kernel, Strategy())


def lacks_vectors(kernel: Kernel) -> bool:
    """Whether a scheduled kernel has a `sumexp` in a loop without vectors, which there is no C++ for."""
    return any(i.op == "sumexp" and around[-1].vec == 1 for i, around in instructions(kernel.body))


def falls_apart(kernel: Kernel) -> bool:
    """Whether loops would run apart."""
    return schedule(kernel, Strategy(apart=2)) != schedule(kernel, Strategy())


def bytes_looked_up(kernel: Kernel) -> int:
    """Bytes of the tables whose rows could be fetched ahead."""
    fetched = {i.buffer for i, _ in instructions(schedule(kernel, Strategy(ahead=1)).body) if i.op == "prefetch"}
    return sum(4 * kernel.index[str(name)].elements.at(TYPICAL_BATCH) for name in fetched)
