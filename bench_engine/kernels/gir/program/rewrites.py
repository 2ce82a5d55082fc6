"""Rewrites of GIR. None moves more bytes at any level than before: `optimize` applies one only where that is so.

Each takes a kernel and gives another that computes the same, or None where it finds no place. They rest on one property
of the kernels that lowering makes: every element is written once, but for what is added to it before it is loaded, and
inputs never.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.forms import (
    Body,
    Ranges,
    buffers,
    chain_of,
    defined,
    grid_of,
    local,
    mapped,
    renamed,
    replaced,
    shared_axes,
    solve,
    to_axis,
    used,
    without,
)
from bench_engine.kernels.gir.program.ir import Address, Argument, Buffer, Instr, Kernel, Loop, Size, Statement
from bench_engine.kernels.gir.program.traffic import LEVELS, Caches, nest_traffic

# Not worth computing twice, unless that saves a buffer.
_EXPENSIVE = {"exp", "log", "log1p", "tanh", "erf", "ndtr", "div", "sqrt"}
_CHECKS = ("row", "upto")  # of ids: a kernel that finds one outside gives up
_BATCHES, _CACHES = (1, 4096), Caches()  # where a rewrite must not add bytes
_L1_SHARE, _L2_SHARE = 24 * 1024, 128 * 1024  # what temps of one iteration may take

Rewrite = Callable[[Kernel], Iterator[Kernel]]


def optimize(kernel: Kernel, rewrites: tuple[Rewrite, ...] | None = None) -> Kernel:
    """Applies rewrites until none finds a place where it adds no bytes."""
    return ir.check(numbered(path(kernel, rewrites)[-1]))


def path(kernel: Kernel, rewrites: tuple[Rewrite, ...] | None = None) -> list[Kernel]:
    """The kernel, and what it is after each rewrite that `optimize` applies."""
    meter, found = _Meter(kernel), [kernel]
    before = 0
    while len(found) > before:
        before = len(found)
        for rewrite in REWRITES if rewrites is None else rewrites:
            _exhaust(found, rewrite, meter)
    return found


def _exhaust(found: list[Kernel], rewrite: Rewrite, meter: "_Meter") -> None:
    """One rewrite wherever it adds no bytes."""
    before, changed = meter.moved(found[-1]), True
    while changed:
        changed = False
        for candidate in rewrite(found[-1]):
            after = meter.moved(candidate)
            if all(new <= old for new, old in zip(after, before, strict=True)):
                found.append(candidate)
                before, changed = after, True
                break


class _Meter:
    """Bytes per level and batch size; nests that a rewrite has left as they were are not counted again."""

    def __init__(self, kernel: Kernel) -> None:
        varies = any(buffer.elements.batch for buffer in kernel.buffers)
        self.batches = _BATCHES if varies else (1,)
        self.known: dict[tuple[object, ...], list[int]] = {}

    def moved(self, kernel: Kernel) -> list[int]:
        cached = tuple(buffer for buffer in kernel.buffers if buffer.place != "memory")
        total = [0] * (len(LEVELS) * len(self.batches))
        for nest in kernel.body:
            own = self.known.get((nest, cached))
            if own is None:
                counts = [nest_traffic(kernel, nest, batch, _CACHES) for batch in self.batches]
                own = self.known[nest, cached] = [count[level] for count in counts for level in LEVELS]
            total = [a + b for a, b in zip(total, own, strict=True)]
        return total


_MOST_INNER = 4  # reductions whose sums are in registers at once


def fuse_producer(kernel: Kernel) -> Iterator[Kernel]:
    """An elementwise nest moves to where its result is loaded: the result is in a register and never in memory."""
    for position, nest in enumerate(kernel.body):
        chain = _elementwise(kernel, nest)
        if chain is None:
            continue
        axes, body, store = chain
        loads = [(i, around) for i, around in ir.instructions(kernel.body) if i.reads and i.buffer == store.buffer]
        costly = any(isinstance(s, Instr) and s.op in _EXPENSIVE for s in body)
        checks = any(isinstance(s, Instr) and s.op in _CHECKS for s in body)
        if not loads or (costly and len(loads) > 1) or kernel.index[str(store.buffer)].role != "temp":
            continue
        names = _Names(kernel)
        ranges = Ranges(kernel)
        after: Body = kernel.body[:position] + kernel.body[position + 1 :]
        for load, _ in loads:
            solution = solve(load.place(), store.place(), axes, ranges)
            if solution is None or (checks and not _takes_all(solution, axes, ranges)):
                break
            values = {name: names.fresh() for name in defined(body)}
            inlined = renamed(body, solution, values)
            last = values.get(str(store.args[0]), store.args[0])
            after = replaced(after, load, inlined)
            after = renamed(after, values={str(load.result): last})
        else:
            yield kernel.with_body(tuple(loop for loop in after if isinstance(loop, Loop)))


def _takes_all(solution: Mapping[str, Address], axes: dict[str, Size], ranges: Ranges) -> bool:
    """Whether a load takes every element, axis for axis: what checks ids is not left out for some."""
    return all(
        not solution[axis].offset
        and [(ranges.largest.get(name), step) for name, step in solution[axis].terms]
        == ([] if extent == ir.ONE else [(extent + -1, ir.ONE)])
        for axis, extent in axes.items()
    )


def _elementwise(kernel: Kernel, nest: Loop) -> tuple[dict[str, Size], Body, Instr] | None:
    """Axes, instructions and the one store of a nest of par loops with nothing between them."""
    chain = grid_of(nest)
    axes, body = {loop.axis: loop.extent for loop in chain}, chain[-1].body
    stores = [s for s in body if isinstance(s, Instr) and s.writes]
    if len(stores) != 1 or stores[0] is not body[-1] or any(isinstance(s, Loop) for s in body):
        return None
    writers = [i for i, _ in ir.instructions(kernel.body) if i.writes and i.buffer == stores[0].buffer]
    checked = any(isinstance(s, Instr) and (s.op in ir.INTEGERS or s.op == "gather") for s in body)
    return None if len(writers) > 1 or (checked and len(axes) > 1) else (axes, body[:-1], stores[0])


def fuse_sums(kernel: Kernel) -> Iterator[Kernel]:
    """Reductions whose results are stored for some of them to be gathered are made where they are gathered."""
    for nest in kernel.body:
        chain = grid_of(nest)
        axes = {loop.axis: loop.extent for loop in chain}
        *made, store = chain[-1].body
        if not isinstance(store, Instr) or not store.writes or not any(isinstance(part, Loop) for part in made):
            continue
        if any(i.writes or i.op in _CHECKS for i, _ in ir.instructions(tuple(made))):
            continue  # all of it is stored, and all ids are checked, whichever are gathered
        uses = [i for i, _ in ir.instructions(kernel.body) if i.buffer == store.buffer and i is not store]
        if len(uses) != 1 or uses[0].op != "gather" or kernel.index[str(store.buffer)].role != "temp":
            continue
        (gather,), names, ranges = uses, _Names(kernel), Ranges(kernel)
        places, address = _taken_apart(gather.place(), store.place(), axes, ranges, names)
        solution = solve(address, store.place(), axes, ranges)
        if solution is None:
            continue
        values: dict[str, Argument] = {name: names.fresh() for name in defined(tuple(made))}
        inner = {loop.axis: to_axis(names.fresh(loop.axis)) for loop in ir.loops(tuple(made))}
        after: Body = tuple(other for other in kernel.body if other is not nest)
        after = replaced(after, gather, (*places, *renamed(tuple(made), {**solution, **inner}, values)))
        after = renamed(after, values={str(gather.result): values.get(str(store.args[0]), store.args[0])})
        yield kernel.with_body(tuple(loop for loop in after if isinstance(loop, Loop)))


def _taken_apart(
    address: Address, target: Address, extents: dict[str, Size], ranges: Ranges, names: "_Names"
) -> tuple[Body, Address]:
    """Values that are places in several axes of `target` as one value each, and the address by these."""
    made = list[Instr]()
    for axis, step in sorted(target.terms, key=lambda term: term[1]):
        extent = extents[axis]
        for name, stride in address.terms:
            largest = ranges.largest.get(name)
            if stride != step or not name.startswith("%") or extent.batch or largest is None or largest.batch:
                continue
            if largest >= extent:
                above, within = names.fresh(), names.fresh()
                made += [Instr(op, (name, float(extent.const)), new) for op, new in (("idiv", above), ("irem", within))]
                ranges.largest |= {above: Size(0, largest.const // extent.const), within: extent + -1}
                address = address.substitute({name: Address(((above, extent), (within, ir.ONE)))})
    return tuple(made), address


class _Names:
    """Values and axes that a kernel does not have yet."""

    def __init__(self, kernel: Kernel) -> None:
        self.taken = defined(kernel.body) | {loop.axis for loop in ir.loops(kernel.body)}
        self.number = 0

    def fresh(self, prefix: str = "%") -> str:
        while f"{prefix}{self.number}" in self.taken:
            self.number += 1
        self.taken.add(f"{prefix}{self.number}")
        return f"{prefix}{self.number}"


def fuse_nests(kernel: Kernel) -> Iterator[Kernel]:
    """A nest joins an earlier one over the same axis, where each iteration needs only what the same one made."""
    ranges = Ranges(kernel)
    for later in range(1, len(kernel.body)):
        for earlier in range(later - 1, -1, -1):
            first, second = kernel.body[earlier], kernel.body[later]
            if first.extent == second.extent and _may_join(first, second, ranges):
                moved = renamed(second.body, {second.axis: to_axis(first.axis)})
                joined = replace(first, body=first.body + moved)
                body = list(kernel.body)
                body[earlier : later + 1] = [joined, *kernel.body[earlier + 1 : later]]
                yield kernel.with_body(tuple(body))
            if set(buffers(kernel.body[earlier : earlier + 1], "writes")) & set(buffers([second], "reads")):
                break  # it cannot move up across what it depends on


def _may_join(first: Loop, second: Loop, ranges: Ranges, around: tuple[str, ...] = ()) -> bool:
    """Whether what `second` reads of `first`'s buffers comes from the same iteration of both."""
    written, read = buffers([first], "writes"), buffers([second], "reads")
    for name in set(written) & set(read):
        for store in written[name]:
            for load in read[name]:
                there = load.place().substitute({second.axis: to_axis(first.axis)})
                if not local(ranges, store.place(), there, (*around, first.axis)):
                    return False
    return True


def fuse_loops(kernel: Kernel) -> Iterator[Kernel]:
    """Two loops over the same extent in one body become one: what both load, or one stores, is loaded once or never."""
    ranges = Ranges(kernel)
    for nest, change in _bodies(kernel):
        body, around = nest
        for later in range(1, len(body)):
            for earlier in range(later - 1, -1, -1):
                first, second = body[earlier], body[later]
                if not _alike(first, second):
                    continue
                between = body[earlier + 1 : later]
                if _may_meet(first, between, second, ranges, around):
                    yield change(_joined(body, earlier, later))
                    break


def _alike(first: Statement, second: Statement) -> bool:
    if not isinstance(first, Loop) or not isinstance(second, Loop) or "ragged" in (first.kind, second.kind):
        return False
    reads = set(buffers([second], "reads"))
    if first.extent != second.extent or not reads & {*buffers([first], "reads"), *buffers([first], "writes")}:
        return False
    inner = [sum(isinstance(s, Loop) for s in loop.body) for loop in (first, second)]
    # A reduction in a par loop, as of bags, keeps its vectors of sums in registers: nothing with other loops joins it,
    # and few of its own kind.
    return (first.kind == second.kind and sum(inner) <= _MOST_INNER) or not any(inner)


def _may_meet(first: Statement, between: Body, second: Statement, ranges: Ranges, around: tuple[str, ...]) -> bool:
    """Whether two loops can become one, and what stands between them can go before it or after it."""
    assert isinstance(first, Loop)
    assert isinstance(second, Loop)
    if used([second]) & defined([first]):
        return False
    _, late = _divided(first, between)
    if used([second]) & defined(late) or set(buffers(late, "writes")) & set(buffers([second], "reads")):
        return False
    return _may_join(first, second, ranges, around)


def _divided(first: Loop, between: Body) -> tuple[Body, Body]:
    """Statements that need nothing from `first`, and the others."""
    early, late, made = list[Statement](), list[Statement](), defined([first])
    for statement in between:
        reads = set(buffers([statement], "reads")) & set(buffers([first, *late], "writes"))
        if used([statement]) & made or reads:
            late.append(statement)
            made |= defined([statement])
        else:
            early.append(statement)
    return tuple(early), tuple(late)


def _joined(body: Body, earlier: int, later: int) -> Body:
    first, second = body[earlier], body[later]
    assert isinstance(first, Loop)
    assert isinstance(second, Loop)
    moved = renamed(second.body, {second.axis: to_axis(first.axis)})
    kind = first.kind if first.kind == second.kind else "reduce"
    joined = replace(first, kind=kind, body=first.body + moved)
    early, late = _divided(first, body[earlier + 1 : later])
    return (*body[:earlier], *early, joined, *late, *body[later + 1 :])


Place = tuple[Body, tuple[str, ...]]


def _bodies(kernel: Kernel) -> Iterator[tuple[Place, Callable[[Body], Kernel]]]:
    """The body of every loop with the axes around it, and how the kernel is made that has another body there."""

    def inside(
        loop: Loop, around: tuple[str, ...], rebuild: Callable[[Loop], Kernel]
    ) -> Iterator[tuple[Place, Callable[[Body], Kernel]]]:
        axes = (*around, loop.axis)
        yield (loop.body, axes), lambda body: rebuild(replace(loop, body=body))
        for position, statement in enumerate(loop.body):
            if isinstance(statement, Loop):

                def again(new: Loop, position: int = position) -> Kernel:
                    body = (*loop.body[:position], new, *loop.body[position + 1 :])
                    return rebuild(replace(loop, body=body))

                yield from inside(statement, axes, again)

    for number, nest in enumerate(kernel.body):

        def top(new: Loop, number: int = number) -> Kernel:
            return kernel.with_body((*kernel.body[:number], new, *kernel.body[number + 1 :]))

        yield from inside(nest, (), top)


def drop_round_trip(kernel: Kernel) -> Iterator[Kernel]:
    """A load of what the same iteration has stored takes the value itself."""
    grows = {instr.buffer for instr, _ in ir.instructions(kernel.body) if instr.op == "add_to"}
    for nest in kernel.body:
        for store, _ in list(ir.instructions((nest,))):
            if not store.writes or store.buffer in grows:
                continue
            found = _loads_after(nest.body, store)
            if found:
                body: Body = kernel.body
                for load in found:
                    body = replaced(body, load, ())
                body = renamed(body, values={str(load.result): store.args[0] for load in found})
                yield kernel.with_body(tuple(loop for loop in body if isinstance(loop, Loop)))


def _loads_after(body: Body, store: Instr) -> list[Instr]:
    """The loads of the stored element in the body where the store stands, and in loops after it there."""
    for position, statement in enumerate(body):
        if statement is store:
            following = ir.instructions(body[position + 1 :])
            return [
                i for i, _ in following if i.op == "load" and (i.buffer, i.address) == (store.buffer, store.address)
            ]
        if isinstance(statement, Loop) and (found := _loads_after(statement.body, store)):
            return found
    return []


def drop_dead(kernel: Kernel) -> Iterator[Kernel]:
    """What nobody loads is not stored, and what nobody uses is not computed."""
    read = {instr.buffer for instr, _ in ir.instructions(kernel.body) if instr.reads or instr.op == "count"}
    needed = used(kernel.body)

    def lives(statement: Statement) -> bool:
        if isinstance(statement, Loop):
            return bool(statement.body)
        if statement.writes:
            return statement.buffer in read or kernel.index[str(statement.buffer)].role == "output"
        return statement.result in needed or statement.op in ("row", "upto")

    body = mapped(kernel.body, lambda body: tuple(s for s in body if lives(s)))
    if body != kernel.body:
        yield kernel.with_body(tuple(loop for loop in body if isinstance(loop, Loop)))


def share(kernel: Kernel) -> Iterator[Kernel]:
    """The same instruction twice, in one body or in a loop of it, is done once."""
    for (body, _), change in _bodies(kernel):
        seen: dict[tuple[object, ...], str] = {}
        for position, statement in enumerate(body):
            if isinstance(statement, Loop) or not statement.result:
                continue
            key = _key(statement)
            if key in seen and not statement.is_reduction:
                rest = renamed(body[position + 1 :], values={statement.result: seen[key]})
                yield change(body[:position] + rest)
                return
            seen.setdefault(key, statement.result)
            for twin in _twins(body[position + 1 :], key):
                if not statement.is_reduction:
                    rest = renamed(replaced(body, twin, ()), values={str(twin.result): statement.result})
                    yield change(rest)
                    return


def _key(instr: Instr) -> tuple[object, ...]:
    return instr.op, instr.args, instr.buffer, instr.address


def _twins(body: Body, key: tuple[object, ...]) -> Iterator[Instr]:
    inner = (statement.body for statement in body if isinstance(statement, Loop))
    return (instr for part in inner for instr, _ in ir.instructions(part) if instr.result and _key(instr) == key)


def hoist(kernel: Kernel) -> Iterator[Kernel]:
    """What does not depend on a loop moves before it."""
    for (body, _), change in _bodies(kernel):
        for position, loop in enumerate(body):
            if not isinstance(loop, Loop):
                continue
            inside = defined(loop.body)
            moved = next((s for s in loop.body if isinstance(s, Instr) and _invariant(s, loop, inside)), None)
            if moved is not None:
                yield change(
                    (*body[:position], moved, replace(loop, body=replaced(loop.body, moved, ())), *body[position + 1 :])
                )


def _invariant(instr: Instr, loop: Loop, inside: set[str]) -> bool:
    if instr.writes or instr.is_reduction or not instr.result or set(instr.uses()) & (inside | {loop.axis}):
        return False
    stored = instr.buffer in buffers(loop.body, "writes")
    empty = loop.kind == "ragged" and instr.op in ("row", "upto", "gather", "load")  # an empty bag loads nothing
    return not stored and not empty and not (instr.address and loop.axis in instr.place().variables())


def place_in_cache(kernel: Kernel) -> Iterator[Kernel]:
    """A temp whose elements stay within one iteration of par loops shrinks to these, and lives in the core's cache."""
    ranges = Ranges(kernel)
    for buffer in kernel.named("temp"):
        uses = [(i, a) for i, a in ir.instructions(kernel.body) if i.buffer == buffer.name]
        if buffer.place != "memory" or not any(i.reads for i, _ in uses):
            continue
        axes = shared_axes([around for _, around in uses])
        while axes and not all(local(ranges, uses[0][0].place(), i.place(), axes) for i, _ in uses):
            axes = axes[:-1]
        rests = [without(i.place(), axes) for i, _ in uses]
        largest = [ranges.largest_of(rest) for rest in rests]
        if not axes or any(size is None or size.batch for size in largest):
            continue
        elements = max(size.const for size in largest if size is not None) + 1
        free = _L2_SHARE - sum(b.elements.const * 4 for b in kernel.buffers if b.place != "memory")
        if elements * 4 > free:
            continue
        place: Buffer = replace(
            buffer,
            shape=(Size(0, elements),),
            strides=ir.contiguous((ir.ONE,)),
            place="L1" if elements * 4 <= _L1_SHARE else "L2",
        )
        body: Body = kernel.body
        for (instr, _), rest in zip(uses, rests, strict=True):
            body = replaced(body, instr, (replace(instr, address=rest),))
        others = tuple(place if b is buffer else b for b in kernel.buffers)
        yield replace(kernel, buffers=others, body=tuple(s for s in body if isinstance(s, Loop)))


def numbered(kernel: Kernel) -> Kernel:
    """The kernel with values and axes named in the order in which they occur."""
    values = {instr.result: f"%{n}" for n, instr in enumerate(i for i, _ in ir.instructions(kernel.body) if i.result)}
    counts: dict[str, int] = {}
    axes: dict[str, Address] = {}
    for loop in ir.loops(kernel.body):
        letter = loop.axis.rstrip("0123456789")
        counts[letter] = counts.get(letter, -1) + 1
        axes[loop.axis] = to_axis(f"{letter}{counts[letter] or ''}")
    body = renamed(kernel.body, axes, {str(old): new for old, new in values.items()})
    temps = {b.name: f"t{n}" for n, b in enumerate(kernel.named("temp"))}

    def named(statement: Statement) -> Statement:
        if isinstance(statement, Loop):
            return replace(statement, body=tuple(map(named, statement.body)))
        return replace(statement, buffer=temps.get(str(statement.buffer), statement.buffer))

    own = tuple(replace(b, name=temps.get(b.name, b.name)) for b in kernel.buffers)
    return Kernel(kernel.name, own, tuple(s for s in map(named, body) if isinstance(s, Loop)))


def invert(kernel: Kernel) -> Iterator[Kernel]:
    """Division by a sum of exponentials becomes multiplication by its inverse, which one division gives for all.

    Such a sum is at least 1, for its largest term is exp(0), or it is NaN: the inverse neither overflows nor is it
    denormal.
    """
    made = {i.result: (i, around) for i, around in ir.instructions(kernel.body)}

    def is_sum(value: object) -> bool:
        instr = made[str(value)][0] if str(value) in made else None
        if instr is None or instr.op not in ("reduce_sum", "sumexp"):
            return False
        return instr.op == "sumexp" or _is_exp_of_difference(made, str(instr.args[0]))

    for (body, _), change in _bodies(kernel):
        for position, loop in enumerate(body):
            if not isinstance(loop, Loop):
                continue
            inside = defined(loop.body)
            for instr, _ in ir.instructions(loop.body):
                if instr.op == "div" and is_sum(instr.args[1]) and instr.args[1] not in inside:
                    inverse = _Names(kernel).fresh()
                    product = replace(instr, op="mul", args=(instr.args[0], inverse))
                    once = Instr("div", (1.0, instr.args[1]), inverse)
                    yield change((*body[:position], once, *replaced(body[position:], instr, (product,))))


def _is_exp_of_difference(made: Mapping[str | None, tuple[Instr, tuple[Loop, ...]]], value: str) -> bool:
    """Whether a value is exp(x - maximum of x), of the very same elements."""

    def of(name: object, op: str) -> Instr | None:
        instr = made[str(name)][0] if str(name) in made else None
        return instr if instr is not None and instr.op == op else None

    power = of(value, "exp")
    difference = of(power.args[0], "sub") if power else None
    largest = of(difference.args[1], "reduce_max") if difference else None
    if difference is None or largest is None:
        return False
    names = [str(difference.args[0]), str(largest.args[0])]
    if names[0] == names[1]:
        return True
    one, other = (of(name, "load") for name in names)
    if one is None or other is None or one.buffer != other.buffer:
        return False
    loop, twin = (made[name][1][-1] for name in names)
    moved = renamed((other,), {twin.axis: to_axis(loop.axis)})[0]
    return loop.extent == twin.extent and isinstance(moved, Instr) and moved.place() == one.place()


def recompute(kernel: Kernel) -> Iterator[Kernel]:
    """What was stored in a cache for a later loop is computed there once more, from what it was made of."""
    ranges = Ranges(kernel)
    for buffer in kernel.named("temp"):
        stores = [(i, a) for i, a in ir.instructions(kernel.body) if i.buffer == buffer.name and i.writes]
        loads = [i for i, _ in ir.instructions(kernel.body) if i.buffer == buffer.name and i.reads]
        if buffer.place == "memory" or len(stores) != 1:
            continue
        store, around = stores[0]
        loop = around[-1]
        chain = chain_of(loop.body, str(store.args[0]))
        if chain is None or not chain:
            continue
        body: Body = kernel.body
        names = _Names(kernel)
        for load in loads:
            solution = solve(load.place(), store.place(), {loop.axis: loop.extent}, ranges)
            if solution is None:
                break
            values = {name: names.fresh() for name in defined(chain)}
            body = replaced(body, load, renamed(chain, solution, values))
            body = renamed(body, values={str(load.result): values[str(store.args[0])]})
        else:
            yield kernel.with_body(tuple(s for s in replaced(body, store, ()) if isinstance(s, Loop)))


def online(kernel: Kernel) -> Iterator[Kernel]:
    """The sum of exp(x - maximum) is made in the loop that finds the maximum: one pass over x less."""
    for (body, _), change in _bodies(kernel):
        pairs = [(one, two) for one in body for two in body if isinstance(one, Loop) and isinstance(two, Loop)]
        for first, second in pairs:
            if body.index(second) <= body.index(first) or first.extent != second.extent:
                continue
            for largest in (s for s in first.body if isinstance(s, Instr) and s.op == "reduce_max"):
                total = _sum_of_exp(first, second, largest)
                if total is None:
                    continue
                summed = Instr("sumexp", (largest.args[0], str(largest.result)), total.result)
                longer = replace(first, body=(*first.body, summed))
                shorter = replace(second, body=tuple(s for s in second.body if s is not total))
                yield change(tuple(longer if s is first else shorter if s is second else s for s in body))


def _sum_of_exp(first: Loop, second: Loop, largest: Instr) -> Instr | None:
    """The reduction in `second` of exp(x - m), where x is what `largest` is the maximum m of in `first`."""
    made = {s.result: s for s in second.body if isinstance(s, Instr)}
    for total in (s for s in second.body if isinstance(s, Instr) and s.op == "reduce_sum"):
        power = made.get(str(total.args[0]))
        difference = made.get(str(power.args[0])) if power is not None and power.op == "exp" else None
        if difference is None or difference.op != "sub" or difference.args[1] != largest.result:
            continue
        others = [i for i, _ in ir.instructions((second,)) if power and power.result in i.uses() and i is not total]
        if not others and _same(first, str(largest.args[0]), second, str(difference.args[0])):
            return total
    return None


def _same(first: Loop, one: str, second: Loop, other: str) -> bool:
    """Whether a value of one loop is computed as one of another is."""
    chain, twin = chain_of(first.body, one), chain_of(second.body, other)
    if chain is None or twin is None or len(chain) != len(twin):
        return False
    pairs = [(a, b) for a, b in zip(chain, twin, strict=True) if isinstance(a, Instr) and isinstance(b, Instr)]
    values: dict[str, Argument] = {str(b.result): str(a.result) for a, b in pairs}
    return renamed(twin, {second.axis: to_axis(first.axis)}, values) == chain


REWRITES: tuple[Rewrite, ...] = (
    drop_dead,
    drop_round_trip,
    share,
    hoist,
    fuse_producer,
    fuse_sums,
    fuse_nests,
    fuse_loops,
    place_in_cache,
    invert,
)
