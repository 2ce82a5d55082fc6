"""C++ for a scheduled kernel: loops as they stand, vectors of `vec` floats, every value a constant of its own.

A value that varies along the vectorized axis is a vector, one for each of the unrolled copies; the last elements, which
fill no vector, run through the same body with masks. Every kernel is a C function

    int64_t NAME(void* const* buffers, int64_t size, int64_t threads)

over inputs, outputs and temps in memory, in this order; it returns 1 where an index was out of range, else 0.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench_engine.kernels.gir.program.forms import reductions_of, to_axis
from bench_engine.kernels.gir.program.ir import (
    ONE,
    Argument,
    Instr,
    Kernel,
    Loop,
    Size,
    Statement,
    instructions,
)
from bench_engine.kernels.gir.program.printer import Printer

PRELUDE = Path(__file__).with_name("prelude.h")
_TYPES = {"f32": "float", "i64": "int64_t", "i32": "int32_t"}
_PARTS = 4  # of a reduction within one element of a vector
_ACCUMULATORS = {"reduce_sum": "Sum", "reduce_max": "Max", "reduce_min": "Min", "sumexp": "Online"}
_IDENTITY = {"reduce_sum": "0.0f", "reduce_max": "-INF", "reduce_min": "INF"}


def unit(kernels: Sequence[Kernel], vec: int) -> str:
    """One translation unit with a function for each kernel, whose names must differ."""
    functions = "\n".join(function(kernel) for kernel in kernels)
    return f"#define W {vec}\n{PRELUDE.read_text(encoding='utf-8')}\n{functions}"


def function(kernel: Kernel) -> str:
    """The C function of one kernel."""
    return _Function(kernel).text()


@dataclass(frozen=True)
class _Lane:
    """Where an instruction stands with respect to vectors: the axis, copies of it, and how many elements are left."""

    axis: str = ""
    width: int = 1
    copies: int = 1
    left: str = ""


class _Function(Printer):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.vectors: set[str] = set()
        self.turned: dict[str, Instr] = {}  # loads down columns that are transposed, a tile at a time
        self.row = ""
        self.part = ""  # of reductions that are split
        self.across: set[str] = set()  # what is reduced across the elements of a vector
        self.maxima: dict[str, str] = {}  # sumexp -> the maximum that it follows

    def text(self) -> str:
        self.line(f"// {self.kernel.name}", 0)
        name = self.kernel.name
        self.line(f'extern "C" int64_t {name}(void* const* buffers, int64_t size, int64_t threads) {{', 0)
        self.line("int bad = 0;")
        self.line("const int64_t batch = size;")
        self.line("(void)batch, (void)threads;")
        for nest in self.kernel.body:
            self.nest(nest)
        self.line("return bad;")
        self.line("}", 0)
        return "\n".join(self.lines) + "\n"

    def open(self, text: str) -> None:
        self.line(f"{text} {{")
        self.indent += 1

    def close(self, text: str = "}") -> None:
        self.indent -= 1
        self.line(text)

    def nest(self, nest: Loop) -> None:
        self.parallel(nest)
        for buffer in self.kernel.buffers:
            if buffer.place != "memory" and any(i.buffer == buffer.name for i, _ in instructions((nest,))):
                self.line(f"alignas(64) {_TYPES[buffer.dtype]} {buffer.name}[{buffer.shape[0].const} + W];")
        if nest.tile > 1 and len(nest.body) > 1:
            self.apart(nest)
        elif nest.tile > 1:
            self.tiled(nest)
        elif nest.vec > 1:
            self.vector_loop(nest, "begin", "end")
        else:
            self.open(f"for (int64_t {nest.axis} = begin; {nest.axis} < end; ++{nest.axis})")
            self.block(nest.body, _Lane())
            self.close()
        if any(i.op == "stream_store" for i, _ in instructions((nest,))):
            self.line("stream_done();")
        self.close("});")

    def parallel(self, loop: Loop) -> None:
        """Opens the function of one thread's part of a loop.

        What it reads often are locals of its own: what it captured would be read again after each store.
        """
        head = f"parallel(threads, {self.size(loop.extent)}, {loop.grain}"
        self.open(f"{head}, [&](int64_t begin, int64_t end, int64_t part)")
        self.line("(void)part;")
        self.line("[[maybe_unused]] const int64_t batch = size;")
        memory = [b for role in ("input", "output", "temp") for b in self.kernel.buffers if b.role == role]
        used = {i.buffer for i, _ in instructions((loop,))}
        for number, buffer in enumerate(b for b in memory if b.place == "memory"):
            if buffer.name in used:
                kind = f"{'const ' if buffer.role == 'input' else ''}{_TYPES[buffer.dtype]}*"
                self.line(f"{kind} __restrict {buffer.name} = static_cast<{kind}>(buffers[{number}]);")

    def tiles(self, nest: Loop) -> None:
        """Opens the loop over tiles of an outermost loop, from `tile` to `stop`."""
        self.open(f"for (int64_t tile = begin; tile < end; tile += {nest.tile})")
        self.line(f"const int64_t stop = tile + {nest.tile} < end ? tile + {nest.tile} : end;")

    def apart(self, nest: Loop) -> None:
        """Some rows at a time, and all of these in one loop after the other."""
        self.tiles(nest)
        for statement in nest.body:
            self.open(f"for (int64_t {nest.axis} = tile; {nest.axis} < stop; ++{nest.axis})")
            self.block((statement,), _Lane())
            self.close()
        self.close()

    def tiled(self, nest: Loop) -> None:
        """Some rows at a time, and for each vector of columns all of these rows; what goes down columns is transposed
        where there are as many rows as a vector has elements."""
        (inner,) = nest.body
        assert isinstance(inner, Loop)
        down = [s for s in inner.body if isinstance(s, Instr) and s.op == "load" and s.place().stride(nest.axis) == ONE]
        down = [s for s in down if s.place().stride(inner.axis).at(1) > 1 and not s.place().values()]
        end = self.size(inner.extent)
        self.tiles(nest)
        if down and nest.tile == inner.vec:
            self.open("if (stop - tile == W)")
            self.turned = {str(s.result): s for s in down}
            self.vector_loop(inner, "0", end, rows=nest.axis)
            self.turned = {}
            self.close("} else {")
            self.indent += 1
        self.vector_loop(inner, "0", end, rows=nest.axis)
        if down and nest.tile == inner.vec:
            self.close()
        self.close()

    def block(self, body: tuple[Statement, ...], lane: _Lane) -> None:
        for statement in body:
            if isinstance(statement, Instr):
                self.instr(statement, lane)
            elif statement.vec > 1:
                self.vector_loop(statement, "0", self.size(statement.extent))
            else:
                self.plain_loop(statement, lane)

    def plain_loop(self, loop: Loop, lane: _Lane) -> None:
        """A loop whose iterations are one element each, which may stand inside of a vector's."""
        reductions = reductions_of(loop)
        varying = _varying(loop, lane.axis, self.vectors) if lane.axis else set()
        self.vectors |= {str(r.result) for r in reductions} & varying
        for reduction in reductions:
            for copy in self.copies(str(reduction.result), lane):
                self.declare(reduction, copy)
        if loop.grain and reductions and not lane.axis:
            with self.in_parts(reductions, loop):
                self.open(f"for (int64_t {loop.axis} = begin; {loop.axis} < end; ++{loop.axis})")
                self.block(loop.body, lane)
                self.close()
            return
        if loop.kind == "ragged":
            begin, end = (self.value(bound, 0) for bound in loop.bounds)
        else:
            begin, end = "0", self.size(loop.extent)
        if reductions and loop.kind == "reduce" and _splits(loop) and lane.copies <= 2:
            self.split(loop, reductions, lane)
            return
        self.open(f"for (int64_t {loop.axis} = {begin}; {loop.axis} < {end}; ++{loop.axis})")
        self.block(loop.body, lane)
        self.close()

    def split(self, loop: Loop, reductions: list[Instr], lane: _Lane) -> None:
        """Several partial reductions side by side, so that one need not wait for the other."""
        for part in range(1, _PARTS):
            self.part = f"_{part}p"
            for reduction in reductions:
                for copy in self.copies(str(reduction.result), lane):
                    self.declare(reduction, copy)
        self.open(f"for (int64_t {loop.axis} = 0; {loop.axis} < {self.size(loop.extent)}; {loop.axis} += {_PARTS})")
        for part in range(_PARTS):
            self.part = f"_{part}p" if part else ""
            self.open("")
            self.line(f"const int64_t next = {loop.axis} + {part};")
            self.open("")
            self.line(f"const int64_t {loop.axis} = next;")
            self.block(loop.body, lane)
            self.close()
            self.close()
        self.close()
        for reduction in reductions:
            for part in range(1, _PARTS):
                self.part = ""
                names = self.copies(str(reduction.result), lane)
                for name in names:
                    self.line(f"{name} = {_more(reduction.op)}({name}, {name}_{part}p);")

    def declare(self, reduction: Instr, name: str) -> None:
        vector = str(reduction.result) in self.vectors
        start = _IDENTITY[reduction.op]
        self.line(f"vf {name} = splat({start});" if vector else f"float {name} = {start};")

    @contextmanager
    def in_parts(self, reductions: list[Instr], loop: Loop) -> Iterator[None]:
        """Each thread reduces from `begin` to `end`, and the parts are reduced in their order."""
        names = {self.variable(str(reduction.result)): reduction.op for reduction in reductions}
        for name, op in names.items():
            self.line(f"float {name}_parts[MOST_PARTS];")
            self.line(f"for (float& part : {name}_parts) part = {_IDENTITY[op]};")
        self.parallel(loop)
        for name, op in names.items():
            self.line(f"float {name} = {_IDENTITY[op]};")
        yield
        for name in names:
            self.line(f"{name}_parts[part] = {name};")
        self.close("});")
        for name, op in names.items():
            self.line(f"for (float part : {name}_parts) {name} = {_more(op)}({name}, part);")

    def vector_loop(self, loop: Loop, begin: str, end: str, rows: str = "") -> None:
        """A vectorized loop; its reductions come together at its end."""
        reductions = reductions_of(loop)
        for reduction in reductions:
            if reduction.op == "sumexp":
                self.maxima[str(reduction.result)] = str(reduction.args[1])
            self.line(f"float {self.variable(str(reduction.result))} = {_IDENTITY.get(reduction.op, '0.0f')};")
        if loop.grain and reductions:
            with self.in_parts(reductions, loop):
                self.vectors_of(loop, reductions, "begin", "end", rows)
        else:
            self.open("")
            self.vectors_of(loop, reductions, begin, end, rows)
            self.close()

    def vectors_of(self, loop: Loop, reductions: list[Instr], begin: str, end: str, rows: str) -> None:
        """Whole steps of `unroll` vectors, then single vectors, then what is left."""
        self.accumulators(loop, reductions)
        self.line(f"int64_t {loop.axis} = {begin};")
        self.steps(loop, end, rows)
        self.combine(loop, reductions)

    def accumulators(self, loop: Loop, reductions: list[Instr]) -> None:
        for reduction in reductions:
            self.vectors.add(str(reduction.result))
            self.across.add(str(reduction.result))
            names = [f"{self.variable(str(reduction.result))}_{copy}" for copy in range(loop.unroll)]
            self.line(f"{_ACCUMULATORS[reduction.op]} {', '.join(names)};")

    def steps(self, loop: Loop, end: str, rows: str) -> None:
        axis, width = loop.axis, loop.vec
        known = loop.extent.const if not loop.extent.batch and end != "end" else None
        for copies in dict.fromkeys((loop.unroll, 1)):
            step = copies * width
            if known is not None and known < step:
                continue
            self.open(f"for (; {axis} + {step} <= {end}; {axis} += {step})")
            self.rows(loop, _Lane(axis, width, copies), rows)
            self.close()
        if known is None or known % width:
            self.open(f"if ({axis} < {end})")
            self.line(f"const int64_t left = {end} - {axis};")
            self.rows(loop, _Lane(axis, width, 1, "left"), rows)
            self.close()

    def rows(self, loop: Loop, lane: _Lane, rows: str) -> None:
        if rows and not lane.left:
            for number, load in enumerate(self.turned.values()):
                start = load.place().substitute({rows: to_axis("tile")})
                self.line(f"alignas(64) float turned{number}[W * W];")
                step = self.size(load.place().stride(lane.axis))
                self.line(f"transpose({load.buffer} + {self.address(start)}, {step}, turned{number});")
        if rows:
            self.row = rows
            stop = "tile + W" if self.turned else "stop"  # so many that the compiler may write them out
            self.open(f"for (int64_t {rows} = tile; {rows} < {stop}; ++{rows})")
        self.block(loop.body, lane)
        if rows:
            self.close()

    def combine(self, loop: Loop, reductions: list[Instr]) -> None:
        for reduction in reductions:
            name = self.variable(str(reduction.result))
            self.vectors.discard(str(reduction.result))
            left = loop.unroll
            while left > 1:  # in pairs, so that few wait for one another
                half = (left + 1) // 2
                for copy in range(left - half):
                    self.line(f"{name}_{copy}.join({name}_{copy + half});")
                left = half
            largest = self.variable(self.maxima[str(reduction.result)]) if reduction.op == "sumexp" else ""
            self.line(f"{name} = {name}_0.total({largest});")

    def copies(self, result: str, lane: _Lane) -> list[str]:
        name = self.variable(result)
        if result not in self.vectors:
            return [name + self.part]
        return [f"{name}_{copy}{self.part}" for copy in range(lane.copies)]

    def value(self, argument: Argument, copy: int, vector: bool = False) -> str:
        """An argument as C++; splat where a vector is wanted and it is a number."""
        if isinstance(argument, str):
            if argument in self.vectors:
                return f"{self.variable(argument)}_{copy}"
            text = self.variable(argument)
        else:
            text = self.number(argument)
        return f"splat({text})" if vector else text

    def instr(self, instr: Instr, lane: _Lane) -> None:
        if instr.is_reduction:
            self.reduction(instr, lane)
        elif instr.writes:
            self.store(instr, lane)
        elif instr.op == "prefetch":
            self.line(f"__builtin_prefetch({instr.buffer} + {self.address(instr.place())});")
        else:
            vector = bool(lane.axis) and self.varies(instr, lane)
            if vector:
                self.vectors.add(str(instr.result))
            elif instr.result:
                self.vectors.discard(instr.result)
            for copy in range(lane.copies if vector else 1):
                self.assign(instr, copy, lane, vector)

    def varies(self, instr: Instr, lane: _Lane) -> bool:
        own = instr.address is not None and instr.place().stride(lane.axis)
        return bool(own) or any(arg in self.vectors for arg in instr.args)

    def assign(self, instr: Instr, copy: int, lane: _Lane, vector: bool) -> None:
        name = self.variable(str(instr.result)) + (f"_{copy}" if vector else "")
        kind = "vf" if vector else "int64_t" if instr.result in self.integers else "float"
        if instr.address is not None:
            text = self.load(instr, copy, lane, vector)
        else:
            text = self.compute(instr, copy, lane, vector)
        self.line(f"const {kind} {name} = {text};")

    def compute(self, instr: Instr, copy: int, lane: _Lane, vector: bool) -> str:
        if instr.result in self.integers:
            return self.integer(instr, lane)
        args = [self.value(arg, copy, vector) for arg in instr.args]
        return self.computed(instr.op, args)

    def integer(self, instr: Instr, lane: _Lane) -> str:
        args = [str(int(a)) if isinstance(a, float) else self.value(a, 0) for a in instr.args]
        if instr.op == "size":
            return self.size(Size(int(float(args[0])), int(float(args[1]))))
        return self.computed(instr.op, [*args, "&bad"] if instr.op in ("row", "upto") else args)

    def place(self, instr: Instr, copy: int, lane: _Lane) -> str:
        buffer = str(instr.buffer)
        address = instr.place()
        stride = address.stride(lane.axis) if lane.axis else Size(0, 0)
        offset = f" + {self.size(stride * (copy * lane.width))}" if copy and stride else ""
        return f"{buffer} + {self.address(address)}{offset}"

    def load(self, instr: Instr, copy: int, lane: _Lane, vector: bool) -> str:
        buffer = self.kernel.index[str(instr.buffer)]
        if instr.op == "count":
            return self.size(buffer.elements)
        if instr.op in ("load_or", "peek"):
            address = self.address(instr.place())
            other = self.value(instr.args[0], 0) if instr.args else "0"
            return f"{address} < {self.size(buffer.elements)} ? {buffer.name}[{address}] : {other}"
        if not vector:
            return f"{buffer.name}[{self.address(instr.place())}]"
        stride = instr.place().stride(lane.axis)
        where = self.place(instr, copy, lane)
        if instr.result in self.turned and not lane.left:
            return f"load(turned{list(self.turned).index(str(instr.result))} + W * ({self.row} - tile))"
        if stride == ONE:
            return f"load_part({where}, {lane.left})" if lane.left else f"load({where})"
        left = f", {lane.left}" if lane.left else ""
        return f"load_strided({where}, {self.size(stride)}{left})"

    def store(self, instr: Instr, lane: _Lane) -> None:
        stride = instr.place().stride(lane.axis) if lane.axis else Size(0, 0)
        if not stride:
            sign = "+=" if instr.op == "add_to" else "="
            self.line(f"{instr.buffer}[{self.address(instr.place())}] {sign} {self.value(instr.args[0], 0)};")
            return
        for copy in range(lane.copies):
            where, value = self.place(instr, copy, lane), self.value(instr.args[0], copy, vector=True)
            if instr.op == "add_to":
                value = self.computed(
                    "add", [f"load_part({where}, {lane.left})" if lane.left else f"load({where})", value]
                )
            if stride != ONE:
                left = f", {lane.left}" if lane.left else ""
                self.line(f"store_strided({where}, {self.size(stride)}, {value}{left});")
            elif lane.left:
                self.line(f"store_part({where}, {value}, {lane.left});")
            else:
                self.line(f"{'stream' if instr.op == 'stream_store' else 'store'}({where}, {value});")

    def reduction(self, instr: Instr, lane: _Lane) -> None:
        """One more element for each copy; in the loop of the vectors itself what fills no vector is left out."""
        result = str(instr.result)
        vector = result in self.vectors
        own = vector and result in self.across
        for copy, name in enumerate(self.copies(result, lane)):
            value = self.value(instr.args[0], copy, vector)
            if own:
                self.line(f"{name}.more({value}{f', {lane.left}' if lane.left else ''});")
            else:
                self.line(f"{name} = {_more(instr.op)}({name}, {value});")


def _varying(loop: Loop, axis: str, vectors: set[str]) -> set[str]:
    """The values of a loop that vary along an axis around it, reductions included."""
    found = set(vectors)
    for instr, _ in instructions((loop,)):
        own = instr.address is not None and bool(instr.place().stride(axis))
        if instr.result and (own or any(arg in found for arg in instr.args)):
            found.add(instr.result)
    return found


def _splits(loop: Loop) -> bool:
    """Whether a loop is worth splitting: nothing in it but instructions, and a number of them that divides."""
    simple = not any(isinstance(s, Loop) for s in loop.body) and not loop.extent.batch
    return simple and loop.extent.const % _PARTS == 0 and loop.extent.const >= 4 * _PARTS


def _more(op: str) -> str:
    return f"more_{op.removeprefix('reduce_')}"
