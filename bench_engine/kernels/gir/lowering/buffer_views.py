"""Views of buffers, and sizes, as the tensors of a graph have them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import Address, Size, UnsupportedError

SYMBOLIC = object()  # a number that depends on the batch size: shapes have it, and no instruction


@dataclass(frozen=True)
class View:
    """Elements of a buffer in an order of their own; `step`: no buffer, but the numbers offset + step * i."""

    buffer: str
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = ir.ZERO
    dtype: ir.DType = "f32"
    step: Size | None = None

    def expanded(self, shape: tuple[Size, ...]) -> "View":
        """Broadcast as torch does it."""
        missing = len(shape) - len(self.shape)
        own = ((ir.ONE,) * missing) + self.shape
        strides = ((ir.ZERO,) * missing) + self.strides
        if any(size not in (wanted, ir.ONE) for size, wanted in zip(own, shape, strict=True)):
            raise UnsupportedError("shapes that depend on the batch size in a way that GIR cannot say")
        steps = tuple(
            ir.ZERO if size != wanted else stride for size, wanted, stride in zip(own, shape, strides, strict=True)
        )
        return replace(self, shape=shape, strides=steps)

    def at(self, axes: Sequence[str | None]) -> Address:
        """The address of the element at these axes, one for each dimension; None is 0."""
        strides: dict[str, Size] = {}
        for axis, stride in zip(axes, self.strides, strict=True):
            if axis:
                strides[axis] = strides.get(axis, ir.ZERO) + stride
        return Address.of(strides, self.offset)


@dataclass(frozen=True)
class Padded:
    """Zeros but for a part: the gradient of a slice. No zeros are made where it is added to something."""

    value: torch.Tensor
    part: View
    dim: int
    start: int

    def slot(self, whole: View) -> View:
        """Where the part lies in a tensor of this shape."""
        return replace(
            whole, shape=self.part.shape, offset=whole.offset + whole.strides[self.dim] * Size(0, self.start)
        )


Operand = View | float


def size_of(value: Any) -> Size:
    """A dimension of a fake tensor. Raises UnsupportedError unless it is a number or linear in one symbol."""
    if isinstance(value, int):
        return Size(0, value)
    expression = value.node.expr
    if expression.is_Integer:
        return Size(0, int(expression))
    (symbol,) = expression.free_symbols if len(expression.free_symbols) == 1 else (None,)
    if symbol is not None:
        slope, const = expression.coeff(symbol), expression.subs(symbol, 0)
        if slope.is_Integer and const.is_Integer and expression == slope * symbol + const:
            return Size(int(slope), int(const))
    raise UnsupportedError(f"a size of {expression}")


def symbols_of(value: Any) -> set[Any]:
    """The symbols in the sizes of a fake tensor."""
    sizes = value.shape if isinstance(value, torch.Tensor) else ()
    symbolic: list[Any] = [size for size in sizes if not isinstance(size, int)]
    return set().union(*(size.node.expr.free_symbols for size in symbolic))
