"""Makes buffers and loop nests: what the ops of a graph are lowered with."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from bench_engine.kernels.gir.lowering.buffer_views import Operand, View, size_of
from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import (
    Address,
    Argument,
    Buffer,
    Instr,
    Loop,
    Size,
    Statement,
    UnsupportedError,
)

# A comparison's result is 1 or 0 until it is used.
_DTYPES: dict[torch.dtype, ir.DType] = {
    torch.float32: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "f32",
}
_OF_INTEGERS = {"add": "iadd", "sub": "isub", "mul": "imul", **{name: name for name in ir.INTEGERS}}


class Nest:
    """The loops of one op, outermost first, and what stands in the innermost."""

    def __init__(self, builder: "Builder", axes: list[tuple[str, Size]]) -> None:
        self.builder = builder
        self.axes = axes
        self.body: list[Statement] = []

    def op(self, name: str, *args: Argument) -> str:
        """The value of an instruction over values."""
        name = self._typed(name, args)
        result = self.builder.fresh()
        if name in ir.INTEGERS:
            self.builder.integers.add(result)
        self.body.append(Instr(name, args, result))
        return result

    def _typed(self, name: str, args: tuple[Argument, ...]) -> str:
        """The instruction for integers where the arguments are integers."""
        integers = self.builder.integers
        if name == "float" or not any(arg in integers for arg in args):
            if name in _OF_INTEGERS.values() and name != "size":
                raise UnsupportedError(f"{name} of floats")
            return name
        if not all(arg in integers or (isinstance(arg, float) and arg.is_integer()) for arg in args):
            raise UnsupportedError("integers and floats in one op")
        if name not in _OF_INTEGERS:
            raise UnsupportedError(f"{name} of integers")
        return _OF_INTEGERS[name]

    def move(self, name: str, buffer: str, address: Address, *args: Argument) -> str:
        """The value of an instruction that reads memory."""
        result = self.builder.fresh()
        if name == "count" or self.builder.known(buffer).dtype != "f32":
            self.builder.integers.add(result)
        self.body.append(Instr(name, args, result, buffer, address))
        return result

    def load(self, operand: Operand, axes: Sequence[str | None]) -> Argument:
        """The element of an operand; a number is itself."""
        if not isinstance(operand, View):
            return operand
        if operand.step is not None:
            raise UnsupportedError("arange, other than as offsets of bags")
        return self.move("load", operand.buffer, operand.at(axes))

    def store(self, view: View, axes: Sequence[str | None], value: Argument) -> None:
        """A value becomes the element at these axes."""
        if (value in self.builder.integers) != (view.dtype == "i64"):
            raise UnsupportedError("an op that mixes integers and floats")
        self.body.append(Instr("store", (value,), None, view.buffer, view.at(axes)))

    def reduce(self, axes: list[tuple[str, Size]], inner: "Nest", kind: ir.Kind = "reduce", bounds: Any = ()) -> None:
        """What stands in `inner`, in loops over these axes, outermost first."""
        body = tuple(inner.body)
        for axis, extent in reversed(axes):
            body = (Loop(axis, kind, extent, body, bounds),)
        self.body.extend(body)

    def done(self) -> None:
        """Put the nest behind those that the kernel has."""
        body = tuple(self.body)
        axes = self.axes or [(self.builder.axis(ir.ONE), ir.ONE)]
        for axis, extent in reversed(axes):
            body = (Loop(axis, "par", extent, body),)
        self.builder.nests.append(cast(Loop, body[0]))


class Builder:
    """The buffers and nests of a kernel, and what makes more of them."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.nests: list[Loop] = []
        self.values = 0
        self.integers: set[Argument] = set()
        self.names: dict[str, int] = {}
        self.devices: set[torch.device] = set()

    def fresh(self) -> str:
        """A name for a value."""
        self.values += 1
        return f"%{self.values - 1}"

    def axis(self, extent: Size, letter: str = "") -> str:
        """A name for a loop."""
        letter = letter or ("b" if extent.batch else "n")
        number = self.names[letter] = self.names.get(letter, -1) + 1
        return f"{letter}{number or ''}"

    def buffer(self, name: str, value: torch.Tensor, role: ir.Role) -> View:
        """A new buffer for a fake tensor."""
        if value.dtype not in _DTYPES:
            raise UnsupportedError(f"a tensor of type {value.dtype}".replace("torch.", ""))
        if role != "temp":
            self.devices.add(value.device)
        if len(self.devices) > 1:
            raise UnsupportedError("tensors on two devices")
        shape, strides = tuple(map(size_of, value.shape)), tuple(map(size_of, value.stride()))
        buffer = Buffer(name, _DTYPES[value.dtype], shape, strides, role)
        self.buffers.append(buffer)
        return View(name, shape, strides, ir.ZERO, buffer.dtype)

    def result(self, value: torch.Tensor) -> View:
        """A temp for a result."""
        return self.buffer(f"t{len(self.buffers)}", value, "temp")

    def like(self, view: View) -> View:
        """A dense temp for elements of a view's shape."""
        buffer = Buffer(f"t{len(self.buffers)}", view.dtype, view.shape, ir.contiguous(view.shape), "temp")
        self.buffers.append(buffer)
        return View(buffer.name, buffer.shape, buffer.strides, ir.ZERO, buffer.dtype)

    def known(self, name: str) -> Buffer:
        """The buffer of a name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def axes(self, view: View) -> tuple[list[tuple[str, Size]], list[str | None]]:
        """Loops over a result, the largest stride outermost; and for each dimension its axis, or None."""
        names = [None if size == ir.ONE else self.axis(size) for size in view.shape]
        order = sorted(range(len(names)), key=lambda d: (-view.strides[d].batch, -view.strides[d].const, d))
        return [(str(names[d]), view.shape[d]) for d in order if names[d]], names

    def pointwise(self, value: torch.Tensor, compute: Callable[..., Any], args: Any, kwargs: Any) -> View:
        """A temp of a result that is computed element by element."""
        target = self.result(value)
        return self.pointwise_into(target, compute, args, **kwargs)

    def pointwise_into(self, target: View, compute: Callable[..., Any], args: Any, **kwargs: Any) -> View:
        """A nest that computes each element of `target` from those of the views among the arguments."""
        loops, names = self.axes(target)
        nest = Nest(self, loops)

        def loaded(arg: Any) -> Any:
            return nest.load(arg.expanded(target.shape), names) if isinstance(arg, View) else arg

        result = compute(nest, *map(loaded, args), **{key: loaded(arg) for key, arg in kwargs.items()})
        nest.store(target, names, result)
        nest.done()
        return target

    def reduce(
        self, value: torch.Tensor, x: View, dims: Sequence[int], name: str, finish: Callable[..., Any], keep: bool
    ) -> View:
        """A reduction over dimensions; `finish` makes the stored value of (nest, reduced, number of elements)."""
        target = self.result(value)
        rank = len(x.shape)
        over = sorted({dim % rank for dim in dims}) if dims and rank else list(range(rank))
        looped = [dim for dim in over if x.shape[dim] != ir.ONE]
        kept = [dim for dim in range(rank) if dim not in over]
        shape = tuple(x.shape[dim] for dim in kept)
        strides = target.strides if not keep else tuple(target.strides[dim] for dim in kept)
        loops, names = self.axes(View(target.buffer, shape, strides))
        at: list[str | None] = [None] * rank
        for dim, axis in zip(kept, names, strict=True):
            at[dim] = axis
        for dim in looped:
            at[dim] = self.axis(x.shape[dim], "r")
        inner = Nest(self, [])
        result = inner.load(x, at)
        axes = [(str(at[dim]), x.shape[dim]) for dim in looped]
        nest = Nest(self, loops)
        for loop in reversed(axes):  # each loop reduces what the loop in it has reduced
            result = inner.op(name, result)
            outer = Nest(self, [])
            outer.reduce([loop], inner)
            inner = outer
        nest.body.extend(inner.body)
        count = ir.ONE
        for dim in over:
            count = count * x.shape[dim]
        stored = finish(nest, result, count)
        nest.store(View(target.buffer, shape, strides), names, stored)
        nest.done()
        return target
