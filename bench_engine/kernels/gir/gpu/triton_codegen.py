"""Triton for a scheduled kernel: a nest is a grid of programs, and a program computes a block of values at once.

A loop with `vec` is a dimension of the block, whole or in steps of `vec`; one without is a loop of the program. The par
loops that a nest begins with are the grid. A value has the dimensions of the loops that it varies with; others are 1
wide or not there yet. What the text has computed before is not computed again, so a row that was loaded is loaded
once. Every kernel is a Python function over tensors and the batch size that launches its nests one after the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench_engine.kernels.gir.program.forms import grid_of, reductions_of
from bench_engine.kernels.gir.program.ir import (
    Address,
    Argument,
    Instr,
    Kernel,
    Loop,
    Size,
    Statement,
    UnsupportedError,
    instructions,
)
from bench_engine.kernels.gir.program.printer import Printer

PRELUDE = Path(__file__).with_name("prelude.tl")
_IDENTITY = {"reduce_sum": "0.0", "reduce_max": 'float("-inf")', "reduce_min": 'float("inf")', "sumexp": "0.0"}
_ACROSS = {"reduce_sum": "tl.sum({}, {})", "sumexp": "tl.sum({}, {})", "reduce_max": "tl.reduce({}, {}, k_max)",
           "reduce_min": "tl.reduce({}, {}, k_min)"}  # fmt: skip

_FUNCTIONS = {"abs": "tl.abs", "exp": "tl.exp", "log": "tl.log", "erf": "tl.erf", "sqrt": "tl.sqrt_rn"}
_COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def unit(kernels: Sequence[Kernel]) -> str:
    """A module with a function for each kernel, whose names must differ."""
    return "\n\n".join([PRELUDE.read_text(encoding="utf-8"), *map(function, kernels)])


def function(kernel: Kernel) -> str:
    """The Triton kernels of a kernel's nests, and the function that launches them."""
    nests = [_Nest(kernel, number) for number in range(len(kernel.body))]
    arguments = {id(nest): [b.name for b in kernel.buffers if b.name in nest.used] for nest in nests}
    used = {name for names in arguments.values() for name in names}
    scratch = [b.name for b in kernel.named("temp") if b.name in used]
    given = [*(b.name for role in ("input", "output") for b in kernel.buffers if b.role == role), *scratch]
    buffers = [kernel.index[name] for name in given]
    reach = {stride * size for b in buffers for size, stride in zip(b.shape, b.strides, strict=True)}
    largest = [nests[0].size(size) for size in sorted(reach) if size.batch or size.const >= 2**31]
    wide = f"max({', '.join(largest)}, 0) >= 2**31" if largest else "False"
    lines = [f"def {kernel.name}({', '.join(given)}, batch):", f"    wide = {wide}"]
    for nest in nests:
        flags = ", debug=True, sanitize_overflow=False" if nest.checks else ""
        passed = ", ".join([*arguments[id(nest)], "batch", "wide"])
        lines.append(f"    {nest.name}[({nest.programs},)]({passed}, num_warps={nest.warps}{flags})")
    lines.append(f"\n\n{kernel.name}.scratch = {scratch}")
    heads = [
        f"@triton.jit\ndef {nest.name}({', '.join([*arguments[id(nest)], 'batch', 'WIDE: tl.constexpr'])}):\n"
        for nest in nests
    ]
    return (
        "\n\n".join(
            [*(head + "\n".join(nest.lines) + "\n" for head, nest in zip(heads, nests, strict=True)), "\n".join(lines)]
        )
        + "\n"
    )


@dataclass(frozen=True)
class _Value:
    """A variable of the text: how many dimensions of the block it has, and the axes that it varies with."""

    text: str
    rank: int = 0
    axes: frozenset[str] = frozenset()

    def at(self, rank: int) -> str:
        """With as many dimensions."""
        if self.rank in (0, rank):
            return self.text
        return f"{self.text}[{', '.join([':'] * self.rank + ['None'] * (rank - self.rank))}]"


class _Nest(Printer):
    infinity, nan, float_suffix = 'float("inf")', 'float("nan")', ""

    def __init__(self, kernel: Kernel, number: int, unloaded: frozenset[str] = frozenset()) -> None:
        super().__init__(kernel)
        self.unloaded = unloaded
        nest = kernel.body[number]
        self.name, self.warps = f"{kernel.name}_nest{number}", nest.warps or 4
        self.env: dict[str, _Value] = {}
        self.masks: dict[str, _Value] = {}  # axis -> which of its iterations there are
        self.dims: list[int] = []
        self.axes: list[str] = []
        self.known: dict[str, _Value] = {}  # text -> the variable that has its value
        self.inner: list[tuple[Loop, bool]] = []  # loops, and whether reductions in them accumulate
        self.rank = 0
        self.loaded: set[str] = set()
        self.waiting: set[str] = set()  # buffers that were written since the threads of a program last met
        moves = [i for i, _ in instructions((nest,)) if i.buffer]
        self.written = {str(i.buffer) for i in moves if i.writes}
        self.checks = any(i.op in ("row", "upto") for i, _ in instructions((nest,)))
        self.start(nest)
        own = {b.name for b in kernel.named("temp")} & self.written - self.loaded - unloaded
        elsewhere = {i.buffer for n, other in enumerate(kernel.body) if n != number for i, _ in instructions((other,))}
        if own - elsewhere:  # all that is read of them was still in registers
            self.__init__(kernel, number, unloaded | frozenset(own - elsewhere))  # type: ignore[misc]
        self.used = {str(i.buffer) for i in moves if i.op != "count"} - self.unloaded

    # Variables

    def variable(self, name: str) -> str:
        """A value or an axis with the dimensions of the instruction that is written."""
        return self.env[name].at(self.rank)

    def let(self, text: str, rank: int, axes: Iterable[str], name: str = "") -> _Value:
        """A variable for a text; the one that there is where the text has been computed before.

        It varies with the axes of now, whose ends are not those of the axes that it was computed for.
        """
        if text not in self.known:
            name = name or f"v{len(self.lines)}"
            self.line(f"{name} = {text}")
            self.known[text] = _Value(name, rank)
        return replace(self.known[text], axes=frozenset(axes))

    def mask(self, axes: Iterable[str], rank: int, *more: str) -> str:
        """Where all iterations of these axes are there; empty where they always are."""
        masks = dict.fromkeys(self.masks[axis].at(rank) for axis in sorted(axes) if axis in self.masks)
        return " & ".join([*masks, *more])

    def line(self, text: str, indent: int | None = None) -> None:
        self.lines.append("    " * (self.indent if indent is None else indent) + text)

    # Loops

    def start(self, nest: Loop) -> None:
        """The grid, and what a program of it does."""
        self.line("pid = tl.program_id(0)")
        self.line("if WIDE:")
        self.line("    pid = pid.to(tl.int64)")
        chain, counts = grid_of(nest), list[str]()
        for position, loop in reversed(list(enumerate(chain))):
            blocks = self.blocks(loop)
            counts.insert(0, blocks)
            at = "pid"
            if blocks == "1":
                at = "0"
            elif any(self.blocks(other) != "1" for other in chain[:position]):
                at = f"{loop.axis}_block"
                self.line(f"{at} = pid % ({blocks})")
                self.line(f"pid = pid // ({blocks})")
            self.env[loop.axis] = _Value(at)
        counts = [count for count in counts if count != "1"]
        self.programs = " * ".join(f"({c})" for c in counts) if len(counts) > 1 else "".join(counts) or "1"
        for loop in chain:
            at = self.env[loop.axis].text
            if loop.vec > 1:
                self.enter(loop, "" if at == "0" else f"{at} * {loop.vec} + ")
        self.block(chain[-1].body)

    def blocks(self, loop: Loop) -> str:
        """How many blocks a loop of the grid has."""
        if not loop.extent.batch:
            return str(-(-loop.extent.const // loop.vec))
        return self.size(loop.extent) if loop.vec == 1 else f"({self.size(loop.extent)} + {loop.vec - 1}) // {loop.vec}"

    def enter(self, loop: Loop, begin: str) -> None:
        """One more dimension: the axis is a range from `begin`."""
        self.dims.append(loop.vec)
        self.axes.append(loop.axis)
        rank = len(self.dims)
        lanes = f"tl.arange(0, {loop.vec})"
        strides = [i.place().stride(loop.axis) for i, _ in instructions(self.kernel.body) if i.address]
        if not begin and any(s.batch or s.const * loop.vec >= 2**31 for s in strides):
            lanes = f"k_axis({lanes}, WIDE)"  # nothing else in the offset need be of 64 bits
        lanes += f"[{', '.join(['None'] * (rank - 1) + [':'])}]" if rank > 1 else ""
        self.env[loop.axis] = self.let(begin + lanes, rank, [loop.axis], loop.axis)
        if loop.extent.batch or loop.extent.const % loop.vec:
            text = f"{self.env[loop.axis].text} < {self.size(loop.extent)}"
            self.masks[loop.axis] = self.let(text, rank, [loop.axis], f"{loop.axis}_in")

    def leave(self) -> None:
        self.dims.pop()
        self.axes.pop()

    def block(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, Instr):
                self.instr(statement)
            else:
                self.loop(statement)

    def loop(self, loop: Loop) -> None:
        once = loop.kind != "ragged" and not loop.extent.batch and loop.extent.const <= loop.vec
        self.inner.append((loop, not once))
        if once:
            self.env[loop.axis] = _Value("0")
            if loop.vec > 1:
                self.enter(loop, "")
            self.block(loop.body)
            if loop.vec > 1:
                self.leave()
        else:
            self.repeated(loop)
        self.inner.pop()

    def repeated(self, loop: Loop) -> None:
        """A loop of the program; what is reduced is reduced for each element of the block, and then across it."""
        reductions = reductions_of(loop)
        shape = [*self.dims, *([loop.vec] if loop.vec > 1 else [])]
        for reduction in reductions:
            number = str(reduction.result)[1:]
            self.line(f"a{number} = tl.full({_shape(shape)}, {_IDENTITY[reduction.op]}, tl.float32)")
            if reduction.op == "sumexp":
                self.line(f'm{number} = tl.full({_shape(shape)}, float("-inf"), tl.float32)')
        with self.iterations(loop):
            self.block(loop.body)
        axes = frozenset(self.axes)
        for reduction in reductions:
            number = str(reduction.result)[1:]
            total = f"a{number}"
            if reduction.op == "sumexp":
                largest = self.env[str(reduction.args[1])].at(len(shape))
                total = f"{total} * k_scaled(m{number}, {largest}) + ({largest} - {largest})"
            if loop.vec > 1:
                total = _ACROSS[reduction.op].format(total, len(shape) - 1)
            self.env[str(reduction.result)] = self.let(total, len(self.dims), axes)

    @contextmanager
    def iterations(self, loop: Loop) -> Iterator[None]:
        """The head of a loop; what its body computes is not known after it."""
        step = f"{loop.axis}_from" if loop.vec > 1 or loop.kind == "ragged" else loop.axis
        by, known = (f", {loop.vec}" if loop.vec > 1 else ""), dict(self.known)
        if loop.kind == "ragged":
            begin, end = (self.env[bound] for bound in loop.bounds)
            rank, around = max(begin.rank, end.rank), begin.axes | end.axes
            there = self.mask(around, rank)
            span = f"{end.at(rank)} - {begin.at(rank)}"
            longest = f"tl.where({there}, {span}, 0)" if there else span
            longest = f"tl.max({longest})" if rank else f"({longest})"
            self.line(f"for {step} in range(0, {longest}.to(tl.int32){by}):")
        else:
            spelled = "tl.static_range" if loop.unroll > 1 and not loop.extent.batch else "range"
            self.line(f"for {step} in {spelled}(0, {self.size(loop.extent)}{by}):")
        self.indent += 1
        if loop.kind == "ragged" or loop.extent.batch or not loop.unroll > 1:  # a step is of 32 bits
            self.line(f"{step}_at = {step}")
            self.line("if WIDE:")
            self.line(f"    {step}_at = {step}.to(tl.int64)")
            step = f"{step}_at"
        if loop.kind == "ragged":
            self.ragged(loop, step, begin, end)
        elif loop.vec > 1:
            self.enter(loop, f"{step} + ")
        else:
            self.env[loop.axis] = _Value(step)
        yield
        if loop.vec > 1:
            self.leave()
        self.indent -= 1
        self.known = known

    def ragged(self, loop: Loop, step: str, begin: _Value, end: _Value) -> None:
        """The index of a ragged loop, which begins elsewhere for each row of the block."""
        if loop.vec > 1:
            self.enter(loop, f"{step} + ")
            step = self.env[loop.axis].text
        rank = len(self.dims) if loop.vec > 1 else max(begin.rank, end.rank)
        axes = begin.axes | end.axes | {loop.axis}
        index = self.let(f"{begin.at(rank)} + {step}", rank, axes)
        self.env[loop.axis] = index
        if rank:
            self.masks[loop.axis] = self.let(f"{index.text} < {end.at(rank)}", rank, axes)

    # Instructions

    def instr(self, instr: Instr) -> None:
        if instr.is_reduction:
            self.reduction(instr)
            return
        values = [self.env[name] for name in {*instr.uses(), *(instr.address.variables() if instr.address else ())}]
        self.rank = rank = max((value.rank for value in values), default=0)
        axes = frozenset[str]().union(*(value.axes for value in values))
        if instr.op == "add_to":
            raise UnsupportedError("add_to on a GPU")
        if instr.writes:
            self.store(instr, rank, axes)
        elif instr.address is not None:
            self.env[str(instr.result)] = self.load(instr, rank, axes)
        else:
            self.env[str(instr.result)] = self.let(self.compute(instr, rank, axes), rank, axes)

    def argument(self, argument: Argument, integer: bool = False) -> str:
        if isinstance(argument, str):
            return self.variable(argument)
        return str(int(argument)) if integer else self.number(argument)

    def compute(self, instr: Instr, rank: int, axes: frozenset[str]) -> str:
        integer = instr.result in self.integers
        args = [self.argument(arg, integer) for arg in instr.args]
        if instr.op == "size":
            return f"k_wide({self.size(Size(int(args[0]), int(args[1])))})"
        there = self.mask(axes, rank) if instr.op in ("row", "upto") else ""
        if there:
            args[0] = f"tl.where({there}, {args[0]}, 0)"
        return self.computed(instr.op, args)

    def computed(self, op: str, args: Sequence[str]) -> str:
        """What Triton has is called directly; a comparison gives 1 or 0."""
        if op in _COMPARISONS:
            return f"tl.where({args[0]} {_COMPARISONS[op]} {args[1]}, 1.0, 0.0)"
        return f"{_FUNCTIONS[op]}({args[0]})" if op in _FUNCTIONS else super().computed(op, args)

    def address(self, address: Address) -> str:
        """The offset of an element in its buffer; an axis of one iteration is left out."""
        return super().address(
            address.substitute({n: Address() for n in address.variables() if self.env[n].text == "0"})
        )

    def load(self, instr: Instr, rank: int, axes: frozenset[str]) -> _Value:
        buffer = self.kernel.index[str(instr.buffer)]
        if instr.op == "count":
            return self.let(f"k_wide({self.size(buffer.elements)})", 0, ())
        where = f"{buffer.name} + {self.address(instr.place())}"
        more, other = [], "0"
        if instr.op == "load_or":
            more = [f"({self.address(instr.place())} < {self.size(buffer.elements)})"]
            other = self.argument(instr.args[0], True)
        mask = self.mask(axes, rank, *more)
        if stored := self.known.get(f"{where} in {mask}"):
            return replace(stored, axes=axes if stored.rank == rank else axes & set(self.axes[: stored.rank]))
        if buffer.name in self.waiting:
            self.line("tl.debug_barrier()")
            self.waiting.clear()
        self.loaded.add(buffer.name)
        text = f"tl.load({where}{f', mask={mask}, other={other}' if mask else ''})"
        text += ".to(tl.int64)" if buffer.dtype == "i32" else ""
        if buffer.name in self.written:
            self.known.pop(text, None)
        return self.let(text, rank, axes)

    def store(self, instr: Instr, rank: int, axes: frozenset[str]) -> None:
        where = f"{instr.buffer} + {self.address(instr.place())}"
        value = self.argument(instr.args[0], instr.args[0] in self.integers)
        mask = self.mask(axes, rank)
        if isinstance(instr.args[0], str):
            self.known[f"{where} in {mask}"] = self.env[instr.args[0]]
        if instr.buffer in self.unloaded:
            return
        self.line(f"tl.store({where}, {value}{f', mask={mask}' if mask else ''})")
        self.waiting.add(str(instr.buffer))

    def reduction(self, instr: Instr) -> None:
        loop, accumulates = self.inner[-1]
        rank, identity = len(self.dims), _IDENTITY[instr.op]
        first = instr.args[0]
        given = self.env[first] if isinstance(first, str) else _Value(self.number(first))
        value = given.at(rank)
        number = str(instr.result)[1:]
        there = self.mask([loop.axis], rank)
        if accumulates and instr.op == "sumexp":
            self.line(f"m{number}, a{number} = k_more(m{number}, a{number}, {value}, {there or 'True'})")
            return
        if instr.op == "sumexp":
            value = f"tl.exp({value} - {self.env[str(instr.args[1])].at(rank)})"
        if there:
            value = f"tl.where({there}, {value}, {identity})"
        elif loop.vec > 1 and loop.axis not in given.axes:
            value = f"{value} + tl.zeros({_shape([1] * (rank - 1) + [loop.vec])}, tl.float32)"
        if accumulates:
            more = f"a{number} + {value}" if instr.op == "reduce_sum" else f"k_{instr.op[-3:]}(a{number}, {value})"
            self.line(f"a{number} = {more}")
            return
        axes = given.axes - {loop.axis}
        if loop.vec == 1:
            self.env[str(instr.result)] = self.let(value, given.rank, axes)
        else:
            self.env[str(instr.result)] = self.let(_ACROSS[instr.op].format(value, rank - 1), rank - 1, axes)


def _shape(sizes: Sequence[int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
