"""GIR: what a kernel computes, what it moves and how it is run in parallel, as nested loops in SSA form.

A kernel is a list of buffers and a list of loop nests. Loops have named axes; a `par` axis may run in any order, a
`reduce` axis feeds reductions, a `ragged` axis is a reduce axis whose bounds are values (the bags of an embedding bag).
Instructions move (load, gather, store, stream_store) or compute. A buffer's place is where it lives: in
memory, or in the L1 or L2 cache of the core that runs one iteration of the outermost loop.

Sizes are integers or linear in the batch size B, so that one kernel serves all batch sizes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

DType = Literal["f32", "i64", "i32"]
Role = Literal["input", "output", "temp"]
Place = Literal["memory", "L2", "L1"]
Kind = Literal["par", "reduce", "ragged"]

BYTES = {"f32": 4, "i64": 8, "i32": 4}
ROLES, PLACES, KINDS = ("input", "output", "temp"), ("memory", "L2", "L1"), ("par", "reduce", "ragged")

# Computation: name -> number of arguments. `min`, `max` and `relu` hand on NaN as torch does; comparisons give 1 or 0.
MAPS = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "max": 2, "min": 2, "neg": 1, "abs": 1, "exp": 1, "log": 1, "log1p": 1,
    "tanh": 1, "erf": 1, "ndtr": 1, "sqrt": 1, "relu": 1, "gt": 2, "ge": 2, "lt": 2, "le": 2, "eq": 2, "ne": 2,
    "where": 3, "float": 1,
}  # fmt: skip
# Over the loop they stand in; `sumexp x m` is the sum of exp(x - m) while m, a maximum in the same loop, still grows.
REDUCTIONS = {"reduce_sum": 1, "reduce_max": 1, "reduce_min": 1, "sumexp": 2}
# Of integers, where axes may be arguments too: `row i n` is i, checked to lie in 0 .. n - 1, and `upto i n` in 0 .. n:
# a kernel that finds one outside gives up; `wrap i n` first adds n where i is negative, as an index of a tensor does;
# `size a c` is a * B + c; `idiv` is of numbers that are not negative.
INTEGERS = {"size": 2, "iadd": 2, "isub": 2, "imul": 2, "idiv": 2, "imin": 2, "irem": 2, "row": 2, "upto": 2, "wrap": 2}
# `load_or buffer[address], v` is v past the buffer's end; `count buffer[0]` is how many elements the buffer has;
# `peek` is what is loaded soon, 0 past the end, and `prefetch` brings it into the caches; `add_to` adds to what was
# stored: in a par loop each iteration to another element, else one iteration after another.
MOVES = {"load", "gather", "load_or", "count", "store", "stream_store", "add_to", "peek", "prefetch"}
UNCOUNTED = ("count", "peek", "prefetch")  # which move no byte that is not moved anyway
READS, WRITES = ("load", "gather", "load_or", "add_to"), ("store", "stream_store", "add_to")


class GirError(ValueError):
    """A kernel is not well formed, or its text cannot be read; the sentence says where."""


class UnsupportedError(Exception):
    """GIR cannot say this; the sentence says what."""


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or its name."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


@dataclass(frozen=True, order=True)
class Size:
    """`batch` * B + `const` elements."""

    batch: int
    const: int

    @staticmethod
    def of(value: "int | Size") -> "Size":
        """An integer as a size."""
        return value if isinstance(value, Size) else Size(0, value)

    def __add__(self, other: "int | Size") -> "Size":
        other = Size.of(other)
        return Size(self.batch + other.batch, self.const + other.const)

    def __mul__(self, other: "int | Size") -> "Size":
        other = Size.of(other)
        if self.batch and other.batch:
            raise UnsupportedError("a size grows with the square of the batch")
        return Size(self.batch * other.const + self.const * other.batch, self.const * other.const)

    def at(self, batch: int) -> int:
        """The number at a batch size."""
        return self.batch * batch + self.const

    def never_above(self, other: "Size") -> bool:
        """Whether this is at most the other at every batch size from 1."""
        return self.batch <= other.batch and self.at(1) <= other.at(1)

    def divided_by(self, other: "Size") -> "Size | None":
        """The exact quotient at every batch size, where there is one."""
        if other.batch == 0 and other.const > 0 and self.batch % other.const == 0 and self.const % other.const == 0:
            return Size(self.batch // other.const, self.const // other.const)
        if other.batch and self.batch % other.batch == 0:
            quotient = self.batch // other.batch
            return Size(0, quotient) if other.const * quotient == self.const else None
        return None

    def __bool__(self) -> bool:
        return bool(self.batch or self.const)

    def __str__(self) -> str:
        batch = "B" if self.batch == 1 else f"{self.batch}*B"
        if not self.batch:
            return str(self.const)
        return f"{batch}+{self.const}" if self.const else batch


ONE, ZERO, BATCH = Size(0, 1), Size(0, 0), Size(1, 0)


@dataclass(frozen=True)
class Address:
    """An element of a buffer: the sum of stride * variable, and an offset. Variables are axes and integer values."""

    terms: tuple[tuple[str, Size], ...] = ()
    offset: Size = ZERO

    @staticmethod
    def of(strides: Mapping[str, Size], offset: Size = ZERO) -> "Address":
        """With the terms in the one order that equal addresses share: larger strides first."""
        terms = [(name, stride) for name, stride in strides.items() if stride]
        return Address(tuple(sorted(terms, key=lambda t: (-t[1].batch, -t[1].const, t[0]))), offset)

    def stride(self, variable: str) -> Size:
        """What one step of a variable adds; 0 where it does not occur."""
        return next((stride for name, stride in self.terms if name == variable), ZERO)

    def variables(self) -> tuple[str, ...]:
        """Axes and values (which begin with %)."""
        return tuple(name for name, _ in self.terms)

    def values(self) -> tuple[str, ...]:
        """The integer values among the variables."""
        return tuple(name for name, _ in self.terms if name.startswith("%"))

    def substitute(self, by: Mapping[str, "Address"]) -> "Address":
        """Each variable that `by` names replaced by an expression of the same form."""
        strides: dict[str, Size] = {}
        offset = self.offset
        for name, stride in self.terms:
            expression = by.get(name, Address(((name, ONE),)))
            offset = offset + expression.offset * stride
            for inner, factor in expression.terms:
                strides[inner] = strides.get(inner, ZERO) + factor * stride
        return Address.of(strides, offset)

    def __str__(self) -> str:
        parts = [name if stride == ONE else f"{stride}*{name}" for name, stride in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts)


Argument = str | float  # a value (%name) or a constant


@dataclass(frozen=True)
class Instr:
    """One instruction: `result = op args`, `result = load buffer[address]` or `store buffer[address], args`."""

    op: str
    args: tuple[Argument, ...] = ()
    result: str | None = None
    buffer: str | None = None
    address: Address | None = None

    @property
    def is_reduction(self) -> bool:
        """Whether the result is there after the loop, and not in it."""
        return self.op in REDUCTIONS

    @property
    def reads(self) -> bool:
        """Whether it reads its buffer."""
        return self.op in READS

    @property
    def writes(self) -> bool:
        """Whether it writes its buffer."""
        return self.op in WRITES

    def uses(self) -> tuple[str, ...]:
        """The values that it needs."""
        named = tuple(arg for arg in self.args if isinstance(arg, str))
        return named + (self.address.values() if self.address else ())

    def place(self) -> Address:
        """The address of an instruction that moves."""
        assert self.address is not None
        return self.address


@dataclass(frozen=True)
class Loop:
    """A loop over one axis, and its part in the parallel strategy.

    Attributes:
        axis: its name, unique in the kernel.
        kind: par, reduce or ragged.
        extent: number of iterations; ZERO for ragged.
        bounds: for ragged, the values where it begins and where it ends.
        vec: elements per vector, 1 for a loop that is not vectorized; unroll: vectors per step.
        tile: iterations of this loop that run inside of the next one or, where several loops stand in it, inside of
            each of them in turn; 1 for none.
        grain: for the outermost loop of a nest, the least iterations per thread; 0 for one thread.
        warps: on a GPU, for the outermost loop of a nest, those that run one program; `vec` there is a side of the
            block that a program computes at once, and `unroll`, for a loop without one, whether it is written out.
    """

    axis: str
    kind: Kind
    extent: Size
    body: tuple["Statement", ...]
    bounds: tuple[str, ...] = ()
    vec: int = 1
    unroll: int = 1
    tile: int = 1
    grain: int = 0
    warps: int = 0


Statement = Instr | Loop


@dataclass(frozen=True)
class Buffer:
    """Where elements are: shape and strides in elements.

    Inputs and outputs are tensors in memory. Temps are in memory, or, in L1 or L2, one for each running iteration of
    the outermost loop.
    """

    name: str
    dtype: DType
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    role: Role
    place: Place = "memory"

    @property
    def elements(self) -> Size:
        """Elements that a dense tensor of this shape holds."""
        total = ONE
        for size in self.shape:
            total = total * size
        return total


def contiguous(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """Strides of a dense tensor whose last dimension is the innermost."""
    strides: list[Size] = []
    step = ONE
    for size in reversed(shape):
        strides.insert(0, step)
        step = step * size
    return tuple(strides)


@dataclass(frozen=True)
class Kernel:
    """One generated kernel: buffers, and loop nests that run one after the other."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Loop, ...]
    index: Mapping[str, Buffer] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {buffer.name: buffer for buffer in self.buffers})

    def named(self, role: Role) -> tuple[Buffer, ...]:
        """The buffers of a role, in order."""
        return tuple(buffer for buffer in self.buffers if buffer.role == role)

    def with_body(self, body: tuple[Loop, ...]) -> "Kernel":
        """This kernel with other nests, and without the temps that they no longer use."""
        used = {instr.buffer for instr, _ in instructions(body)}
        kept = tuple(b for b in self.buffers if b.role != "temp" or b.name in used)
        return replace(self, buffers=kept, body=body)


def instructions(
    body: tuple[Statement, ...], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Instr, tuple[Loop, ...]]]:
    """All instructions in the order they are written, each with the loops around it, outermost first."""
    for statement in body:
        if isinstance(statement, Loop):
            yield from instructions(statement.body, (*around, statement))
        else:
            yield statement, around


def loops(body: tuple[Statement, ...]) -> Iterator[Loop]:
    """All loops, outer ones before inner ones."""
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
            yield from loops(statement.body)


def check(kernel: Kernel) -> Kernel:
    """The kernel itself. Raises GirError unless it is in SSA form and uses only what is there."""
    axes = [loop.axis for loop in loops(kernel.body)]
    if len(axes) != len(set(axes)):
        raise GirError(f"kernel {kernel.name}: two loops have an axis of the same name")
    if len(kernel.index) != len(kernel.buffers):
        raise GirError(f"kernel {kernel.name}: two buffers have the same name")
    moves = [instr for instr, _ in instructions(kernel.body) if instr.buffer]
    stored = {instr.buffer for instr in moves if instr.writes}
    for buffer in kernel.named("temp"):
        if buffer.name not in stored:
            raise GirError(f"kernel {kernel.name}: {buffer.name} is loaded, and never stored")
    _Checker(kernel).block(kernel.body, frozenset(), frozenset(), "par")
    return kernel


class _Checker:
    """Walks the blocks with the names that are known in each."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.defined: set[str] = set()

    def block(
        self, body: tuple[Statement, ...], values: frozenset[str], axes: frozenset[str], kind: Kind
    ) -> frozenset[str]:
        """The values that are known after the loop whose body this is."""
        reduced: frozenset[str] = frozenset()
        for statement in body:
            if isinstance(statement, Loop):
                if set(statement.bounds) - values or (statement.kind == "ragged") != (len(statement.bounds) == 2):
                    raise GirError(f"loop {statement.axis}: a ragged axis has two bounds, values known before it")
                values |= self.block(statement.body, values, axes | {statement.axis}, statement.kind)
                continue
            self.instr(statement, values | (reduced if statement.op == "sumexp" else frozenset()), axes)
            if statement.is_reduction:
                if kind == "par":
                    raise GirError(f"{statement.result}: {statement.op} stands in a par loop")
                reduced |= {str(statement.result)}
            elif statement.result:
                values |= {statement.result}
        return reduced

    def instr(self, instr: Instr, values: frozenset[str], axes: frozenset[str]) -> None:
        """Raises GirError for what is not known, or defined twice."""
        what = instr.result or f"{instr.op} {instr.buffer}"
        counts = {**MAPS, **REDUCTIONS, **INTEGERS}
        if instr.op in MOVES:
            if instr.buffer not in self.kernel.index:
                raise GirError(f"{what}: there is no buffer {instr.buffer}")
            unknown = {v for v in instr.place().variables() if not v.startswith("%")} - axes
            if unknown:
                raise GirError(f"{what}: the axis {min(unknown)} is not around it")
        elif instr.op not in counts:
            raise GirError(f"{what}: there is no instruction {instr.op}")
        elif len(instr.args) != counts[instr.op]:
            raise GirError(f"{what}: {instr.op} takes {counts[instr.op]} arguments")
        unknown = set(instr.uses()) - values - (axes if instr.op in INTEGERS else set())
        if unknown:
            raise GirError(f"{what}: {min(unknown)} is not known there")
        if instr.result:
            if instr.result in self.defined:
                raise GirError(f"{instr.result} is defined twice")
            self.defined.add(instr.result)
