"""What the languages that kernels are written in have in common."""

from collections.abc import Sequence

from bench_engine.kernels.gir.program.forms import integers_of
from bench_engine.kernels.gir.program.ir import Address, Kernel, Size

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "iadd": "+", "isub": "-", "imul": "*"}


class Printer:
    """What the languages have in common: lines, and how sizes, addresses, numbers and computations are written."""

    infinity, nan, float_suffix = "INF", '__builtin_nanf("")', "f"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.indent = 1
        self.integers = integers_of(kernel)

    def line(self, text: str, indent: int | None = None) -> None:
        """One more line, at the present indent unless another is given."""
        self.lines.append("  " * (self.indent if indent is None else indent) + text)

    def variable(self, name: str) -> str:
        """A value or an axis by its name."""
        return f"v{name[1:]}" if name.startswith("%") else name

    def number(self, value: float) -> str:
        """A constant."""
        if value != value:
            return self.nan
        if value in (float("inf"), float("-inf")):
            return self.infinity if value > 0 else f"-{self.infinity}"
        return f"{float(value)!r}{self.float_suffix}"

    def size(self, size: Size) -> str:
        """A number of elements."""
        parts = [f"{size.batch} * batch" if size.batch != 1 else "batch"] if size.batch else []
        if size.const or not parts:
            parts.append(str(size.const))
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"

    def address(self, address: Address) -> str:
        """The offset of an element in its buffer."""
        terms = [(self.size(stride), self.variable(name)) for name, stride in address.terms]
        parts = [name if stride == "1" else f"{stride} * {name}" for stride, name in terms]
        return " + ".join([*parts, self.size(address.offset)] if address.offset or not parts else parts)

    def computed(self, op: str, args: Sequence[str]) -> str:
        """An operator between its arguments, or a function of the prelude, `k_` and its name."""
        if op in _OPERATORS:
            return f" {_OPERATORS[op]} ".join(args)
        return f"-({args[0]})" if op == "neg" else f"k_{op}({', '.join(args)})"
