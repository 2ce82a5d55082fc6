"""How a kernel is run: which loop is a vector's, how often it is unrolled, tiles, threads, and streaming stores.

`Strategy` is one point of the space that the search goes through; `schedule` writes it into the loops.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isqrt
from typing import cast

from bench_engine.kernels.gir.forms import (
    Body,
    buffers,
    chain_of,
    defined,
    fresh,
    grid_of,
    mapped,
    reductions_of,
    renamed,
    replaced,
    shared_axes,
    to_axis,
    used,
)
from bench_engine.kernels.gir.ir import (
    INTEGERS,
    ONE,
    Address,
    Argument,
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
_TYPICAL_BATCH = 64
_STAGED_BYTES = 16 * 1024
# On a GPU: elements of a row that is computed as a whole, instructions that are written out, and how wide a block of a
# grid gets where its programs have loops; a reduction of as many elements to few rows is made in parts.
_LONGEST_ROW, _WRITTEN_OUT, _GRID_ROW = 16384, 64, 64
_FEW_ROWS, _LONG, _PARTS, _GROUP, _PART = 2048, 1 << 16, 256, 16, "part"


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
    partial = {i.result for i in reductions_of(inner)}
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


def integers_of(kernel: Kernel) -> set[str]:
    """The values that are integers."""
    return {str(i.result) for i, _ in instructions(kernel.body) if i.result and _is_integer(kernel, i)}


def _is_integer(kernel: Kernel, instr: Instr) -> bool:
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
    score, varying, written = 0.0, {loop.axis}, buffers((loop,), "writes")
    for instr, around in instructions((loop,)):
        varies = any(arg in varying for arg in instr.uses())
        stride = instr.place().stride(loop.axis) if instr.address else Size(0, 0)
        if (varies or stride) and instr.result:
            varying.add(instr.result)
        if instr.buffer in written and kernel.index[instr.buffer].place != "memory" and not stride:
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


def falls_apart(kernel: Kernel) -> bool:
    """Whether loops would run apart."""
    return schedule(kernel, Strategy(apart=2)) != schedule(kernel, Strategy())


def bytes_looked_up(kernel: Kernel) -> int:
    """Bytes of the tables whose rows could be fetched ahead."""
    fetched = {i.buffer for i, _ in instructions(schedule(kernel, Strategy(ahead=1)).body) if i.op == "prefetch"}
    return sum(4 * kernel.index[str(name)].elements.at(_TYPICAL_BATCH) for name in fetched)


@dataclass(frozen=True)
class Blocks:
    """Parameters of a candidate for a GPU.

    Attributes:
        elements: what a program computes at once, about.
        warps: that run one program.
        whole: whether rows of known length are computed as a whole, up to `_LONGEST_ROW`; else in steps of `elements`.
    """

    elements: int = 1024
    warps: int = 4
    whole: bool = True


def blocked(kernel: Kernel, blocks: Blocks, batch: int) -> Kernel:
    """The kernel with this strategy; what it computes stays the same."""
    kernel = _spread(_split(collapsed(kernel), batch))
    return kernel.with_body(tuple(replace(_in_blocks(nest, blocks), warps=blocks.warps) for nest in kernel.body))


def _in_blocks(nest: Loop, blocks: Blocks) -> Loop:
    """Inner loops first, for the grid takes what they leave of a block; of its axes the contiguous ones most."""
    chain = grid_of(nest)
    beside = _contiguous(nest) - {_PART}
    near = [loop for loop in chain if loop.axis in beside and loop.extent != ONE]
    side = max(16, _power_of_two(isqrt(blocks.elements)) if len(near) > 1 else min(blocks.elements, _GRID_ROW))
    inner_side = 1
    for loop in near if any(isinstance(s, Loop) for s in chain[-1].body) or len(near) > 1 else ():
        inner_side *= min(
            _power_of_two(loop.extent.at(_TYPICAL_BATCH) if loop.extent.batch else loop.extent.const), side
        )
    body = tuple(
        _inner(s, max(1, blocks.elements // inner_side), blocks, beside, inner_side) if isinstance(s, Loop) else s
        for s in chain[-1].body
    )
    room = max(1, blocks.elements // max((_footprint(s) for s in body if isinstance(s, Loop)), default=1))
    sizes: dict[str, int] = {}
    for loop in sorted(chain, key=lambda loop: (loop not in near, -chain.index(loop))):
        most = 1 << 30 if loop.extent.batch else 1 if loop.axis == _PART else _power_of_two(loop.extent.const)
        sizes[loop.axis] = min(most, room, side if loop in near and (inner_side > 1 or len(near) > 1) else room)
        room = max(1, room // sizes[loop.axis])
    for loop in reversed(chain):
        body = (replace(loop, vec=sizes[loop.axis], body=body),)
    (blocked_nest,) = body
    assert isinstance(blocked_nest, Loop)
    return blocked_nest


def _inner(loop: Loop, room: int, blocks: Blocks, beside: set[str], within: int = 1) -> Loop:
    """A loop of a program: whole where that is wanted and fits, else in steps; written out where it is short."""
    known = not loop.extent.batch and loop.kind != "ragged"
    holds = any(isinstance(s, Loop) for s in loop.body)
    apart = loop.kind != "par" and (
        loop.axis not in beside or any(i.op == "gather" for i, _ in instructions(loop.body))
    )
    whole = blocks.whole and not holds and known
    vec = min(_power_of_two(loop.extent.const), max(1, _LONGEST_ROW // within) if whole else room) if known else room
    if apart and (not whole or vec * within > 4 * blocks.elements) and (known or loop.kind == "ragged"):
        vec = 1
    body = tuple(
        _inner(s, max(1, room // vec), blocks, beside, within * vec) if isinstance(s, Loop) else s for s in loop.body
    )
    short = vec == 1 and known and loop.extent.const > 1 and loop.extent.const * len(loop.body) <= _WRITTEN_OUT
    return replace(loop, vec=vec, unroll=2 if short else 1, body=body)


def _footprint(loop: Loop) -> int:
    """Elements of the largest block in a loop."""
    return loop.vec * max((_footprint(s) for s in loop.body if isinstance(s, Loop)), default=1)


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def _contiguous(nest: Loop) -> set[str]:
    """The axes along which something that is moved lies side by side."""
    places = [instr.place() for instr, _ in instructions((nest,)) if instr.address]
    return {name for place in places for name, stride in place.terms if stride == ONE}


def _spread(kernel: Kernel) -> Kernel:
    """Temps of one iteration become temps of all of them, in memory: programs compute many iterations at once."""
    for buffer in kernel.named("temp"):
        if buffer.place == "memory":
            continue
        arounds = [around for instr, around in instructions(kernel.body) if instr.buffer == buffer.name]
        axes = shared_axes(arounds)
        extents = [next(loop.extent for loop in arounds[0] if loop.axis == axis) for axis in axes]
        shape = (*extents, *buffer.shape)
        strides = contiguous(shape)
        own = Address.of(dict(zip(axes, strides, strict=False)))

        def moved(statement: Statement, name: str = buffer.name, own: Address = own) -> Statement:
            if isinstance(statement, Loop):
                return replace(statement, body=tuple(map(moved, statement.body)))
            if statement.buffer != name:
                return statement
            terms = {**dict(own.terms), **dict(statement.place().terms)}
            return replace(statement, address=Address.of(terms, statement.place().offset))

        large = replace(buffer, shape=shape, strides=strides, place="memory")
        others = tuple(large if b is buffer else b for b in kernel.buffers)
        kernel = replace(kernel, buffers=others, body=tuple(cast(Loop, moved(nest)) for nest in kernel.body))
    return kernel


def _split(kernel: Kernel, batch: int) -> Kernel:
    """A long reduction of few elements is made in parts, by programs of their own, and then of the parts."""
    for number, nest in enumerate(kernel.body):
        chain = grid_of(nest)
        found = next((s for s in chain[-1].body if isinstance(s, Loop)), None)
        rows = ONE
        for loop in chain:
            rows = rows * loop.extent
        if found is None or found.kind != "reduce" or rows.batch or not _parts_pay(found, rows.const, batch):
            continue
        before = chain[-1].body[: chain[-1].body.index(found)]
        if any(i.writes for i, _ in instructions(found.body)) or before or any(isinstance(s, Loop) for s in found.body):
            continue
        return _in_parts(kernel, number, chain, found)
    return kernel


def _parts_pay(loop: Loop, rows: int, batch: int) -> bool:
    return rows <= _FEW_ROWS and loop.extent.at(batch) * rows >= _LONG and loop.extent.at(batch) >= 4 * _PARTS


def _in_parts(kernel: Kernel, number: int, chain: list[Loop], loop: Loop) -> Kernel:
    names = fresh(kernel)
    size, more, groups, chunk, begin, after, end = (next(names) for _ in range(7))
    extents = [each.extent for each in chain]
    shape = (*extents, Size(0, _PARTS))
    strides = contiguous(shape)
    temps, stores, rest = list[Buffer](), list[Instr](), list[Statement]()
    inner = {each.axis: to_axis(f"{each.axis}s") for each in [*chain, loop]}
    values: dict[str, Argument] = {i.result: next(names) for i, _ in instructions(loop.body) if i.result}
    for reduction in reductions_of(loop):
        buffer = Buffer(f"t{len(kernel.buffers) + len(temps)}", "f32", shape, strides, "temp")
        temps.append(buffer)
        place = Address.of(dict(zip([*(each.axis for each in chain), _PART], strides, strict=True)))
        moved = place.substitute({each.axis: inner[each.axis] for each in chain})
        stores.append(Instr("store", (values[str(reduction.result)],), None, buffer.name, moved))
        value = next(names)
        again = place.substitute({_PART: to_axis(loop.axis)})
        rest += [Instr("load", (), value, buffer.name, again), replace(reduction, args=(value,))]
    bounds: Body = (  # that begin at whole groups, which are moved as one
        Instr("size", (float(loop.extent.batch), float(loop.extent.const)), size),
        Instr("iadd", (size, float(_PARTS * _GROUP - 1)), more), Instr("idiv", (more, float(_PARTS * _GROUP)), groups),
        Instr("imul", (groups, float(_GROUP)), chunk), Instr("imul", (_PART, chunk), begin),
        Instr("iadd", (begin, chunk), after), Instr("imin", (after, size), end),
    )  # fmt: skip
    part = replace(loop, axis=f"{loop.axis}s", kind="ragged", extent=Size(0, 0), bounds=(begin, end),
                   body=renamed(loop.body, inner, values))  # fmt: skip
    body: Body = (*bounds, part, *stores)
    for each in reversed(chain):
        body = (replace(each, axis=f"{each.axis}s", body=body),)
    parts = Loop(_PART, "par", Size(0, _PARTS), body)
    joined: Body = (replace(loop, extent=Size(0, _PARTS), body=tuple(rest)), *chain[-1].body[1:])
    for each in reversed(chain):
        joined = (replace(each, body=joined),)
    nests = (*kernel.body[:number], parts, *cast(tuple[Loop, ...], joined), *kernel.body[number + 1 :])
    return replace(kernel, buffers=(*kernel.buffers, *temps), body=nests)
