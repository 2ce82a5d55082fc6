"""What rewrites need to know of loops and addresses: renaming, ranges, and whether an element stays in an iteration."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import Address, Argument, Instr, Kernel, Loop, Size, Statement

TYPICAL_BATCH = 64  # where a choice depends on a size that varies
Body = tuple[Statement, ...]


def renamed(body: Body, axes: Mapping[str, Address] = {}, values: Mapping[str, Argument] = {}) -> Body:
    """The body with axes replaced by expressions, and values by others."""

    def argument(arg: Argument) -> Argument:
        found = values.get(str(arg), arg) if isinstance(arg, str) else arg
        if isinstance(found, str) and found in axes:
            (name, stride), *_ = axes[found].terms or (("", ir.ONE),)
            return name if name and stride == ir.ONE and not axes[found].offset else found
        return found

    def one(statement: Statement) -> Statement:
        if isinstance(statement, Loop):
            axis = axes[statement.axis].variables()[0] if statement.axis in axes else statement.axis
            bounds = tuple(str(argument(bound)) for bound in statement.bounds)
            return replace(statement, axis=axis, bounds=bounds, body=tuple(map(one, statement.body)))
        address = statement.address
        if address is not None:
            by = {name: Address(((str(new), ir.ONE),)) for name, new in values.items() if isinstance(new, str)}
            address = address.substitute({**axes, **by})
        result = values.get(statement.result, statement.result) if statement.result else None
        assert result is None or isinstance(result, str)
        return replace(statement, args=tuple(map(argument, statement.args)), address=address, result=result)

    return tuple(map(one, body))


def to_axis(name: str) -> Address:
    """An axis as an expression."""
    return Address(((name, ir.ONE),))


def mapped(body: Body, change: Callable[[Body], Body]) -> Body:
    """The body with `change` applied to the body of each loop, innermost first, and then to itself."""
    inner = (replace(s, body=mapped(s.body, change)) if isinstance(s, Loop) else s for s in body)
    return change(tuple(inner))


def replaced(body: Body, old: Instr, new: Body) -> Body:
    """The body with one instruction replaced by others, wherever it stands."""
    found: list[Statement] = []
    for statement in body:
        if statement == old:
            found.extend(new)
        elif isinstance(statement, Loop):
            found.append(replace(statement, body=replaced(statement.body, old, new)))
        else:
            found.append(statement)
    return tuple(found)


def defined(body: Iterable[Statement]) -> set[str]:
    """The values that a body defines, those in its loops included."""
    return {instr.result for instr, _ in ir.instructions(tuple(body)) if instr.result}


def used(body: Iterable[Statement]) -> set[str]:
    """The values that a body uses, bounds of ragged loops included."""
    body = tuple(body)
    return {v for instr, _ in ir.instructions(body) for v in instr.uses()} | {
        v for lp in ir.loops(body) for v in lp.bounds
    }


def chain_of(body: Body, value: str) -> Body | None:
    """The instructions of a body that a value needs, in order; None where a loop or a reduction is among them."""
    wanted, found = {value}, list[Statement]()
    for statement in reversed(body):
        made = defined([statement])
        if not made & wanted:
            continue
        if isinstance(statement, Loop) or statement.is_reduction:
            return None
        found.insert(0, statement)
        wanted |= set(statement.uses())
    return tuple(found)


def buffers(body: Iterable[Statement], wanted: str) -> dict[str, list[Instr]]:
    """The instructions of a body that do `reads` or `writes`, by buffer."""
    found: dict[str, list[Instr]] = {}
    for instr, _ in ir.instructions(tuple(body)):
        if getattr(instr, wanted):
            found.setdefault(str(instr.buffer), []).append(instr)
    return found


def reductions_of(loop: Loop) -> list[Instr]:
    """Those that a loop itself holds."""
    return [s for s in loop.body if isinstance(s, Instr) and s.is_reduction]


def fresh(kernel: Kernel) -> Iterator[str]:
    """Names of values that the kernel does not have."""
    return (f"%{n}" for n in count(max((int(name[1:]) for name in defined(kernel.body)), default=-1) + 1))


def grid_of(nest: Loop) -> list[Loop]:
    """The par loops that a nest begins with."""
    chain, body = [nest], nest.body
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].kind == "par":
        chain.append(body[0])
        body = body[0].body
    return chain


def shared_axes(arounds: list[tuple[Loop, ...]]) -> tuple[str, ...]:
    """The par loops, outermost first, that are around all uses, given the loops around each."""
    shared: list[str] = []
    for level in zip(*arounds, strict=False):
        if len({loop.axis for loop in level}) > 1 or level[0].kind != "par":
            break
        shared.append(level[0].axis)
    return tuple(shared)


class Ranges:
    """How large axes and integer values of a kernel become."""

    def __init__(self, kernel: Kernel) -> None:
        self.largest: dict[str, Size | None] = {}
        for loop in ir.loops(kernel.body):
            self.largest[loop.axis] = None if loop.kind == "ragged" else loop.extent + -1
        for instr, _ in ir.instructions(kernel.body):
            largest = self._largest(instr)
            if largest is not None:
                self.largest[str(instr.result)] = largest

    def _largest(self, instr: Instr) -> Size | None:
        """Of a value that is never negative."""
        if instr.op not in ("row", "idiv", "irem") or not isinstance(instr.args[1], float):
            return None
        number, known = int(instr.args[1]), self.largest.get(str(instr.args[0]))
        if instr.op == "row":
            return Size(0, number - 1)
        if known is None or known.batch:
            return None
        return Size(0, known.const // number if instr.op == "idiv" else number - 1)

    def largest_of(self, address: Address) -> Size | None:
        """The largest value of an address whose smallest is its offset; None where it is not known."""
        total = address.offset
        for name, stride in address.terms:
            largest = self.largest.get(name)
            if largest is None:
                return None
            total = total + largest * stride
        return total

    def fits(self, address: Address, stride: Size) -> bool:
        """Whether an address always stays below a stride."""
        largest = self.largest_of(address)
        return largest is not None and (largest + ir.ONE).never_above(stride)


def without(address: Address, axes: Iterable[str]) -> Address:
    """The address less the terms of some axes."""
    left_out = set(axes)
    return Address(tuple(term for term in address.terms if term[0] not in left_out), address.offset)


def local(ranges: Ranges, one: Address, other: Address, axes: tuple[str, ...]) -> bool:
    """Whether two addresses can only be the same element in the same iteration of nested loops over `axes`.

    So it is where both have the same terms in these axes, larger strides first, and what is left stays below each
    stride: an element then tells its iteration.
    """
    strides = [one.stride(axis) for axis in axes]
    if strides != [other.stride(axis) for axis in axes]:
        return False
    fixed = {axis for axis in axes if ranges.largest.get(axis) == ir.ZERO}
    rests = [without(one, axes), without(other, axes)]
    order = sorted((axis for axis in axes if axis not in fixed), key=lambda axis: one.stride(axis))
    for axis in order:
        if not one.stride(axis) or not all(ranges.fits(rest, one.stride(axis)) for rest in rests):
            return False
        step = one.stride(axis)
        rests = [Address(((axis, step), *rest.terms), rest.offset) for rest in rests]
    return True


def solve(address: Address, target: Address, extents: Mapping[str, Size], ranges: Ranges) -> dict[str, Address] | None:
    """Each axis of `target`, as an expression of the variables of `address`, so that both are the same element.

    `target` is where a loop nest over `extents` stores; None unless every element of `address` is one of these.
    """
    axes = sorted(target.terms, key=lambda term: term[1], reverse=True)
    found: dict[str, tuple[dict[str, Size], Size]] = {axis: ({}, ir.ZERO) for axis in extents}
    for name, stride in address.terms:
        place = next(((axis, step) for axis, step in axes if _goes_into(stride, step)), None)
        if place is None or place[0] not in found:
            return None
        factor = stride.divided_by(place[1])
        assert factor is not None
        found[place[0]][0][name] = found[place[0]][0].get(name, ir.ZERO) + factor
    offset = address.offset + target.offset * -1
    for axis, step in axes:
        if axis not in found or offset.batch or step.batch or offset.const < 0:
            break
        count, rest = divmod(offset.const, step.const)
        found[axis] = (found[axis][0], Size(0, count))
        offset = Size(0, rest)
    if offset != ir.ZERO:
        return None
    solution = {axis: Address.of(*expression) for axis, expression in found.items()}
    inside = all(ranges.fits(expression, extents[axis]) for axis, expression in solution.items())
    return solution if inside else None


def _goes_into(stride: Size, step: Size) -> bool:
    return step <= stride and stride.divided_by(step) is not None


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
    try:
        for instr, _ in ir.instructions(outer.body):
            if {outer.axis, inner.axis} & set(instr.args):
                return outer
            if instr.address and instr.place().stride(outer.axis) != instr.place().stride(inner.axis) * inner.extent:
                return outer
        extent = outer.extent * inner.extent
    except ir.UnsupportedError:  # a size that grows with the square of the batch
        return outer
    found = renamed(inner.body, {outer.axis: Address()}, {str(i.args[0]): str(i.result) for i in over})
    return replace(inner, extent=extent, body=found)


def integers_of(kernel: Kernel) -> set[str]:
    """The values that are integers."""
    return {str(i.result) for i, _ in ir.instructions(kernel.body) if i.result and _is_integer(kernel, i)}


def _is_integer(kernel: Kernel, instr: Instr) -> bool:
    if instr.buffer is not None:
        return instr.op == "count" or kernel.index[instr.buffer].dtype != "f32"
    return instr.op in ir.INTEGERS
