"""How a kernel is run on a GPU: what a program computes at once, with how many warps, and reductions in parts."""

from dataclasses import dataclass, replace
from math import isqrt
from typing import cast

from bench_engine.kernels.gir.program.forms import (
    TYPICAL_BATCH,
    Body,
    collapsed,
    fresh,
    grid_of,
    reductions_of,
    renamed,
    shared_axes,
    to_axis,
)
from bench_engine.kernels.gir.program.ir import (
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

# On a GPU: elements of a row that is computed as a whole, instructions that are written out, and how wide a block of a
# grid gets where its programs have loops; a reduction of as many elements to few rows is made in parts.
_LONGEST_ROW, _WRITTEN_OUT, _GRID_ROW = 16384, 64, 64
_FEW_ROWS, _LONG, _PARTS, _GROUP, _PART = 2048, 1 << 16, 256, 16, "part"


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
            _power_of_two(loop.extent.at(TYPICAL_BATCH) if loop.extent.batch else loop.extent.const), side
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
        inside = [i for i, _ in instructions(found.body)]
        if before or any(i.writes or i.op == "sumexp" for i in inside) or any(isinstance(s, Loop) for s in found.body):
            continue  # a sumexp of parts is not their sum
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
