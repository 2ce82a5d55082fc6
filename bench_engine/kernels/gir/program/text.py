"""GIR as text: printed, and read back to the same kernel.

kernel softmax {
  input x: f32[B, 832]
  output y: f32[B, 832]
  par b < B grain 16 {
    reduce n < 832 vec 16 unroll 4 {
      %0 = load x[832*b + n]
      %1 = reduce_max %0
    }
    ...
  }
}
"""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar, cast

from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import Address, Argument, Buffer, Instr, Kernel, Loop, Size, Statement

_T = TypeVar("_T")

_STRATEGY = {"vec": 1, "unroll": 1, "tile": 1, "grain": 0, "warps": 0}  # and what is not printed
_HEAD = re.compile(r"kernel (\w+) \{")
_BUFFER = re.compile(r"(\w+) (\w+): (\w+)\[([^]]*)\](?: strides \[([^]]*)\])?(?: in (\w+))?")
_LOOP = re.compile(r"(\w+) (\w+) (?:< (\S+)|from (%\w+) to (%\w+))((?: \w+ \d+)*) \{")
_MOVE = re.compile(r"(?:(%\w+) = )?(\w+) (\w+)\[([^]]*)\](?:, (\S+))?")
_COMPUTE = re.compile(r"(%\w+) = (\w+)((?: \S+)+)")


def to_text(kernel: Kernel) -> str:
    """The kernel as text, which `parse` reads back to an equal one."""
    lines = [f"kernel {kernel.name} {{", *(f"  {_buffer_text(buffer)}" for buffer in kernel.buffers)]
    _print(kernel.body, "  ", lines)
    return "\n".join([*lines, "}", ""])


def _buffer_text(buffer: Buffer) -> str:
    text = f"{buffer.role} {buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]"
    if buffer.strides != ir.contiguous(buffer.shape):
        text += f" strides [{', '.join(map(str, buffer.strides))}]"
    return text if buffer.place == "memory" else f"{text} in {buffer.place}"


def _print(body: tuple[Statement, ...], indent: str, lines: list[str]) -> None:
    for statement in body:
        if isinstance(statement, Instr):
            lines.append(indent + instr_text(statement))
            continue
        over = f"from {' to '.join(statement.bounds)}" if statement.bounds else f"< {statement.extent}"
        said = {name: getattr(statement, name) for name in _STRATEGY}
        chosen = [f" {name} {number}" for name, number in said.items() if number != _STRATEGY[name]]
        lines.append(f"{indent}{statement.kind} {statement.axis} {over}{''.join(chosen)} {{")
        _print(statement.body, f"{indent}  ", lines)
        lines.append(f"{indent}}}")


def instr_text(instr: Instr) -> str:
    """One instruction as a line."""
    result = f"{instr.result} = " if instr.result else ""
    if instr.address is not None:
        stored = "".join(f", {_argument_text(arg)}" for arg in instr.args)
        return f"{result}{instr.op} {instr.buffer}[{instr.address}]{stored}"
    return f"{result}{instr.op} {' '.join(map(_argument_text, instr.args))}"


def _argument_text(argument: Argument) -> str:
    return argument if isinstance(argument, str) else repr(float(argument))


def parse(text: str) -> Kernel:
    """The kernel whose text this is. Raises ir.GirError, with the line that is wrong."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return _Parser([(number, line) for number, line in lines if line and not line.startswith("#")]).kernel()


class _Parser:
    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.lines = lines
        self.at = 0

    def kernel(self) -> Kernel:
        head = _HEAD.fullmatch(self._next())
        if not head:
            self._fail("a kernel begins with `kernel NAME {`")
        buffers: list[Buffer] = []
        while self._peek().split(" ")[0] in ir.ROLES:
            buffers.append(self._read(_buffer))
        body = self._block()
        if self.at != len(self.lines):
            self._next()
            self._fail("nothing comes after the kernel's last brace")
        nests = tuple(statement for statement in body if isinstance(statement, Loop))
        if len(nests) != len(body):
            raise ir.GirError(f"kernel {head[1]}: an instruction stands outside of the loops")
        return ir.check(Kernel(head[1], tuple(buffers), nests))

    def _block(self) -> tuple[Statement, ...]:
        body: list[Statement] = []
        while self._peek() != "}":
            if self._peek().endswith("{"):
                head = self._read(_loop)
                body.append(Loop(**{**head.__dict__, "body": self._block()}))
            else:
                body.append(self._read(_instr))
        self._next()
        return tuple(body)

    def _read(self, reader: Callable[[str], _T | None]) -> _T:
        line = self._next()
        try:
            found = reader(line)
        except ValueError:
            found = None
        if found is None:
            self._fail(f"this line is wrong: {line}")
        return found

    def _peek(self) -> str:
        if self.at == len(self.lines):
            raise ir.GirError("the text ends before the kernel's last brace")
        return self.lines[self.at][1]

    def _next(self) -> str:
        line = self._peek()
        self.at += 1
        return line

    def _fail(self, what: str) -> NoReturn:
        raise ir.GirError(f"line {self.lines[self.at - 1][0]}: {what}")


def _size(text: str) -> Size:
    total = ir.ZERO
    for part in text.split("+"):
        product = ir.ONE
        for factor in part.split("*"):
            product = product * (ir.BATCH if factor.strip() == "B" else int(factor))
        total = total + product
    return total


def _sizes(text: str) -> tuple[Size, ...]:
    return tuple(_size(part) for part in text.split(",")) if text.strip() else ()


def _buffer(line: str) -> Buffer | None:
    found = _BUFFER.fullmatch(line)
    if not found or found[1] not in ir.ROLES or found[3] not in ir.BYTES or (found[6] or "memory") not in ir.PLACES:
        return None
    shape = _sizes(found[4])
    strides = ir.contiguous(shape) if found[5] is None else _sizes(found[5])
    place = cast(ir.Place, found[6] or "memory")
    return Buffer(found[2], cast(ir.DType, found[3]), shape, strides, cast(ir.Role, found[1]), place)


def _loop(line: str) -> Loop | None:
    found = _LOOP.fullmatch(line)
    if not found or found[1] not in ir.KINDS:
        return None
    words = found[6].split()
    chosen = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    if set(chosen) - set(_STRATEGY):
        return None
    extent = _size(found[3]) if found[3] else ir.ZERO
    bounds = (found[4], found[5]) if found[4] else ()
    return Loop(found[2], cast(ir.Kind, found[1]), extent, (), bounds, **chosen)


def _instr(line: str) -> Instr | None:
    if found := _MOVE.fullmatch(line):
        args = (_argument(found[5]),) if found[5] else ()
        return Instr(found[2], args, found[1], found[3], _address(found[4]))
    if found := _COMPUTE.fullmatch(line):
        return Instr(found[2], tuple(map(_argument, found[3].split())), found[1])
    return None


def _argument(text: str) -> Argument:
    """A value, an axis (which only integer instructions take), or a number."""
    return text if text.startswith("%") or (text.isidentifier() and text not in ("inf", "nan")) else float(text)


def _address(text: str) -> Address:
    strides: dict[str, Size] = {}
    offset = ir.ZERO
    for part in map(str.strip, text.split(" + ")):
        *factors, last = part.split("*")
        if last.startswith("%") or (last.isidentifier() and last != "B"):
            strides[last] = strides.get(last, ir.ZERO) + (_size("*".join(factors)) if factors else ir.ONE)
        else:
            offset = offset + _size(part)
    return Address.of(strides, offset)
