"""A graph of ATen ops becomes GIR, one loop nest for each op and a temp in memory for each result: correct, and slow.

Views cost nothing: a result is a view of a buffer, as a tensor is of its storage.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import fx

from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import (
    Address,
    Argument,
    Buffer,
    Instr,
    Kernel,
    Loop,
    Size,
    Statement,
    UnsupportedError,
)

aten = torch.ops.aten
# A comparison's result is 1 or 0 until it is used.
_DTYPES: dict[torch.dtype, ir.DType] = {
    torch.float32: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "f32",
}
_OF_INTEGERS = {"add": "iadd", "sub": "isub", "mul": "imul", **{name: name for name in ir.INTEGERS}}
_LARGEST_BMM = 64**3  # multiply-adds of one matrix of a batch; larger ones are not bound by memory


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
class _Padded:
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
_SYMBOLIC = object()  # a number that depends on the batch size: shapes have it, and no instruction


def lower(graph: fx.Graph, name: str) -> Kernel:
    """The kernel of a graph whose nodes have fake tensors in `meta["val"]`; outputs are its outputs in order.

    Raises UnsupportedError with the op, or the size, that GIR cannot say.
    """
    lowering = _Lowering()
    for node in graph.nodes:
        lowering.node(node)
    return ir.check(Kernel(name, tuple(lowering.buffers), tuple(lowering.nests)))


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


class _Nest:
    """The loops of one op, outermost first, and what stands in the innermost."""

    def __init__(self, lowering: "_Lowering", axes: list[tuple[str, Size]]) -> None:
        self.lowering = lowering
        self.axes = axes
        self.body: list[Statement] = []

    def op(self, name: str, *args: Argument) -> str:
        name = self._typed(name, args)
        result = self.lowering.fresh()
        if name in ir.INTEGERS:
            self.lowering.integers.add(result)
        self.body.append(Instr(name, args, result))
        return result

    def _typed(self, name: str, args: tuple[Argument, ...]) -> str:
        """The instruction for integers where the arguments are integers."""
        integers = self.lowering.integers
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
        result = self.lowering.fresh()
        if name == "count" or self.lowering.known(buffer).dtype != "f32":
            self.lowering.integers.add(result)
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
        if (value in self.lowering.integers) != (view.dtype == "i64"):
            raise UnsupportedError("an op that mixes integers and floats")
        self.body.append(Instr("store", (value,), None, view.buffer, view.at(axes)))

    def reduce(self, axes: list[tuple[str, Size]], inner: "_Nest", kind: ir.Kind = "reduce", bounds: Any = ()) -> None:
        """What stands in `inner`, in loops over these axes, outermost first."""
        body = tuple(inner.body)
        for axis, extent in reversed(axes):
            body = (Loop(axis, kind, extent, body, bounds),)
        self.body.extend(body)

    def done(self) -> None:
        body = tuple(self.body)
        axes = self.axes or [(self.lowering.axis(ir.ONE), ir.ONE)]
        for axis, extent in reversed(axes):
            body = (Loop(axis, "par", extent, body),)
        self.lowering.nests.append(cast(Loop, body[0]))


class _Lowering:
    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.nests: list[Loop] = []
        self.env: dict[fx.Node, Any] = {}
        self.values = 0
        self.integers: set[Argument] = set()
        self.names: dict[str, int] = {}
        self.symbols: set[Any] = set()
        self.devices: set[torch.device] = set()

    def fresh(self) -> str:
        self.values += 1
        return f"%{self.values - 1}"

    def axis(self, extent: Size, letter: str = "") -> str:
        letter = letter or ("b" if extent.batch else "n")
        number = self.names[letter] = self.names.get(letter, -1) + 1
        return f"{letter}{number or ''}"

    def node(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        self.symbols |= symbols_of(value)
        if len(self.symbols) > 1:
            raise UnsupportedError("two sizes that vary by themselves")
        if node.op == "placeholder":
            self.env[node] = self.input(node, value)
        elif node.op == "output":
            self.outputs(node)
        elif node.op == "call_function":
            self.env[node] = self.call(node)
        else:
            raise UnsupportedError(f"a node of kind {node.op}")

    def input(self, node: fx.Node, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return _SYMBOLIC
        if value.dtype == torch.bool:
            raise UnsupportedError("an input of type bool")
        return self.buffer(f"x{len(self.buffers)}", value, "input")

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

    def outputs(self, node: fx.Node) -> None:
        """Temps that are returned become outputs; what else is returned is copied."""
        renamed: dict[str, str] = {}
        copies: list[tuple[View, View]] = []
        returned = node.args[0] if isinstance(node.args[0], tuple | list) else [node.args[0]]
        for number, given in enumerate(cast(list[fx.Node], returned)):
            value, view = given.meta["val"], self.whole(self.env[given])
            if value.dtype != torch.float32:
                raise UnsupportedError(f"an output of type {value.dtype}".replace("torch.", ""))
            whole = self.known(view.buffer) if isinstance(view, View) and view.step is None else None
            same = whole and (whole.shape, whole.strides) == (view.shape, view.strides) and not view.offset
            if whole and same and whole.role == "temp" and whole.name not in renamed:
                renamed[whole.name] = f"y{number}"
            else:
                copies.append((self.buffer(f"y{number}", value, "output"), view))
        for target, view in copies:
            self.pointwise_into(target, lambda nest, x: x, [view])
        self.rename(renamed)

    def rename(self, renamed: dict[str, str]) -> None:
        """Turns temps into outputs, which stand in the order of their numbers."""

        def statement(item: Statement) -> Statement:
            if isinstance(item, Loop):
                return replace(item, body=tuple(map(statement, item.body)))
            return replace(item, buffer=renamed.get(item.buffer, item.buffer)) if item.buffer else item

        self.nests = [cast(Loop, statement(nest)) for nest in self.nests]
        named = [
            replace(b, name=renamed[b.name], role="output") if b.name in renamed else b for b in self.buffers
        ]  # fmt: skip
        outputs = sorted((b for b in named if b.role == "output"), key=lambda b: int(b.name[1:]))
        others = [b for b in named if b.role == "input"], [b for b in named if b.role == "temp"]
        self.buffers = [*others[0], *outputs, *others[1]]

    def known(self, name: str) -> Buffer:
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def call(self, node: fx.Node) -> Any:
        target = node.target
        if target is operator.getitem:
            return self.env[cast(fx.Node, node.args[0])][cast(int, node.args[1])]
        value: Any = node.meta["val"]
        if target is aten.add.Tensor and not node.kwargs and (found := self.padded_sum(value, *node.args)):
            return found
        args: Any = fx.map_arg(node.args, lambda n: self.whole(self.env[n]))
        kwargs: Any = fx.map_arg(node.kwargs, lambda n: self.whole(self.env[n]))
        if isinstance(value, int | float | torch.SymInt | torch.SymFloat):
            return _SYMBOLIC
        if target in (aten.add.Tensor, aten.add.Scalar) and value.dtype == torch.bool:
            raise UnsupportedError("a sum of truth values")
        if target in VIEWS:
            return self.viewed(args[0], value, node)
        if target in POINTWISE:
            return self.pointwise(value, POINTWISE[target], args, kwargs)
        if target in OTHERS:
            return OTHERS[target](self, value, *args, **kwargs)
        raise UnsupportedError(f"the op {target}")

    def whole(self, value: Any) -> Any:
        """Zeros where a part has them around it; else the value itself."""
        if not isinstance(value, _Padded):
            return value
        target, dim, size = self.result(value.value), value.dim, value.part.shape[value.dim].const
        slot = value.slot(target)
        self.pointwise_into(slot, lambda nest, x: x, [value.part])
        for start, end in ((0, value.start), (value.start + size, target.shape[dim].const)):
            if start < end:
                around = replace(value, part=_sized(slot, dim, end - start), start=start).slot(target)
                self.pointwise_into(around, lambda nest, x: x, [0.0])
        return target

    def padded_sum(self, value: torch.Tensor, *given: Any) -> View | None:
        """Something and a gradient of a part of it, which is added to the part alone; None for other sums."""
        one, other = (self.env[each] if isinstance(each, fx.Node) else each for each in given)
        padded, base = (one, other) if isinstance(one, _Padded) else (other, self.whole(one))
        if not isinstance(padded, _Padded) or padded.value.shape != value.shape or value.device.type != "cpu":
            return None
        target = self.pointwise(value, lambda nest, x: x, [self.whole(base)], {})
        slot = padded.slot(target)
        loops, names = self.axes(slot)
        nest = _Nest(self, loops)
        nest.body.append(Instr("add_to", (nest.load(padded.part, names),), None, slot.buffer, slot.at(names)))
        nest.done()
        return target

    def axes(self, view: View) -> tuple[list[tuple[str, Size]], list[str | None]]:
        """Loops over a result, the largest stride outermost; and for each dimension its axis, or None."""
        names = [None if size == ir.ONE else self.axis(size) for size in view.shape]
        order = sorted(range(len(names)), key=lambda d: (-view.strides[d].batch, -view.strides[d].const, d))
        return [(str(names[d]), view.shape[d]) for d in order if names[d]], names

    def pointwise(self, value: torch.Tensor, compute: Callable[..., Any], args: Any, kwargs: Any) -> View:
        target = self.result(value)
        return self.pointwise_into(target, compute, args, **kwargs)

    def pointwise_into(self, target: View, compute: Callable[..., Any], args: Any, **kwargs: Any) -> View:
        """A nest that computes each element of `target` from those of the views among the arguments."""
        loops, names = self.axes(target)
        nest = _Nest(self, loops)

        def loaded(arg: Any) -> Any:
            return nest.load(arg.expanded(target.shape), names) if isinstance(arg, View) else arg

        result = compute(nest, *map(loaded, args), **{key: loaded(arg) for key, arg in kwargs.items()})
        nest.store(target, names, result)
        nest.done()
        return target

    def viewed(self, view: View, value: torch.Tensor, node: fx.Node) -> View:
        """What a view op gives: the sizes and strides that torch computed, taken relative to the view's buffer."""
        source = cast(fx.Node, node.args[0]).meta["val"]
        shape, steps = tuple(map(size_of, value.shape)), tuple(map(size_of, value.stride()))
        own = zip(view.shape, view.strides, map(size_of, source.stride()), strict=True)
        if view.step is not None or all(size == ir.ONE or step == other for size, step, other in own):
            offset = size_of(value.storage_offset()) + size_of(source.storage_offset()) * -1
            if view.step is not None and shape != view.shape:
                raise UnsupportedError("a view of arange")
            return replace(view, shape=shape, strides=steps, offset=view.offset + offset)
        raise UnsupportedError(f"the op {node.target} of a tensor that GIR lays out in another way")

    def reduce(
        self, value: torch.Tensor, x: View, dims: Sequence[int], name: str, finish: Callable[..., Any], keep: bool
    ) -> View:
        """A reduction over dimensions; `finish` makes the stored value of (nest, reduced, number of elements)."""
        target = self.result(value)
        rank = len(x.shape)
        over = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
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
        inner = _Nest(self, [])
        result = inner.load(x, at)
        axes = [(str(at[dim]), x.shape[dim]) for dim in looped]
        nest = _Nest(self, loops)
        for loop in reversed(axes):  # each loop reduces what the loop in it has reduced
            result = inner.op(name, result)
            outer = _Nest(self, [])
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


def _unchanged(nest: _Nest, value: Argument, count: Size) -> Argument:
    return value


def _number(nest: _Nest, count: Size) -> Argument:
    if not count.batch:
        return float(count.const)
    return nest.op("float", nest.op("size", float(count.batch), float(count.const)))


def _mean_of(nest: _Nest, value: Argument, count: Size) -> Argument:
    return nest.op("div", value, _number(nest, count))


def _map(name: str) -> Callable[..., Argument]:
    return lambda nest, *args, **_: nest.op(name, *map(_scalar, args))


def _scalar(value: Any) -> Argument:
    if value is _SYMBOLIC:
        raise UnsupportedError("a number computed from the batch size")
    return value if isinstance(value, str) else float(value)


def _add(nest: _Nest, x: Argument, y: Argument, alpha: float = 1, op: str = "add") -> Argument:
    return nest.op(op, _scalar(x), _scalar(y) if alpha == 1 else nest.op("mul", _scalar(y), float(alpha)))


def _subtract(nest: _Nest, x: Argument, y: Argument, alpha: float = 1) -> Argument:
    return _add(nest, x, y, alpha, "sub")


def _sigmoid(nest: _Nest, x: Argument) -> Argument:
    return nest.op("div", 1.0, nest.op("add", nest.op("exp", nest.op("neg", x)), 1.0))


def _power(nest: _Nest, x: Argument, exponent: float) -> Argument:
    roots = {0.5: "sqrt", -0.5: "sqrt", 1.0: "", -1.0: "", 2.0: "", 3.0: "", -2.0: ""}
    if exponent not in roots:
        raise UnsupportedError(f"pow with the exponent {exponent}")
    power = nest.op("sqrt", x) if roots[exponent] else x
    for _ in range(int(abs(exponent)) - 1):
        power = nest.op("mul", power, x)
    return nest.op("div", 1.0, power) if exponent < 0 else power


def _converted(nest: _Nest, x: Argument, dtype: Any = None, **_: Any) -> Argument:
    if x in nest.lowering.integers:
        return nest.op("float", x) if dtype == torch.float32 else x
    return nest.op("ne", x, 0.0) if dtype == torch.bool else x


def _clamp(nest: _Nest, x: Argument, low: float | None = None, high: float | None = None) -> Argument:
    for name, limit in (("max", low), ("min", high)):
        if limit is not None:
            x = nest.op(name, x, _scalar(limit))
    return x


@torch.library.custom_op("gir::ndtr", mutates_args=())
def _ndtr(x: torch.Tensor) -> torch.Tensor:
    """The normal distribution's, of which torch has no op of its own in a graph."""
    return torch.special.ndtr(x)


_ndtr.register_fake(torch.empty_like)
ndtr = torch.ops.gir.ndtr.default

VIEWS = {
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.permute.default, aten.transpose.int,
    aten.t.default, aten.expand.default, aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim,
    aten.squeeze.dims, aten.slice.Tensor, aten.select.int, aten.alias.default, aten.detach.default,
    aten.as_strided.default, aten.lift_fresh_copy.default,
}  # fmt: skip

POINTWISE: dict[Any, Callable[..., Any]] = {
    aten.add.Tensor: _add, aten.add.Scalar: _add, aten.sub.Tensor: _subtract, aten.sub.Scalar: _subtract,
    aten.rsub.Scalar: lambda nest, x, y, alpha=1: _subtract(nest, y, x, alpha),
    aten.mul.Tensor: _map("mul"), aten.mul.Scalar: _map("mul"),
    aten.div.Tensor: _map("div"), aten.div.Scalar: _map("div"),
    aten.maximum.default: _map("max"), aten.minimum.default: _map("min"), aten.where.self: _map("where"),
    aten.clamp.default: _clamp, aten.clamp_min.default: _clamp, aten.relu.default: _map("relu"),
    aten.clamp_max.default: lambda nest, x, high: _clamp(nest, x, None, high),
    aten.sigmoid.default: _sigmoid, aten.pow.Tensor_Scalar: _power,
    aten.rsqrt.default: lambda nest, x: _power(nest, x, -0.5),
    aten.reciprocal.default: lambda nest, x: nest.op("div", 1.0, x),
    aten.clone.default: lambda nest, x, **_: x, aten._to_copy.default: _converted,
    aten.remainder.Scalar: _map("irem"), ndtr: _map("ndtr"),
    **{getattr(aten, name).default: _map(name)
       for name in ("neg", "abs", "exp", "log", "log1p", "tanh", "erf", "sqrt")},
    **{op: _map(name) for name in ("gt", "ge", "lt", "le", "eq", "ne")
       for op in (getattr(aten, name).Scalar, getattr(aten, name).Tensor)},
}  # fmt: skip


def _sum_of(low: _Lowering, value: torch.Tensor, x: View, dims: Any = None, keep: bool = False, **_: Any) -> View:
    return low.reduce(value, x, dims or [], "reduce_sum", _unchanged, keep)


def _mean(low: _Lowering, value: torch.Tensor, x: View, dims: Any = None, keep: bool = False, **_: Any) -> View:
    return low.reduce(value, x, dims or [], "reduce_sum", _mean_of, keep)


def _var_mean(
    low: _Lowering, value: Any, x: View, dims: Any = None, correction: float | None = None, keepdim: bool = False
) -> tuple[View, View]:
    """Both from two passes over x; the second sums squares of differences from the mean."""
    if dims is None:
        raise UnsupportedError("the variance over all dimensions")
    mean = low.reduce(value[1], x, dims, "reduce_sum", _mean_of, keepdim)
    wide = mean if keepdim else _kept(mean, x, dims)
    squares = low.like(x)
    loops, names = low.axes(squares)
    nest = _Nest(low, loops)
    difference = nest.op("sub", nest.load(x, names), nest.load(wide.expanded(x.shape), names))
    nest.store(squares, names, nest.op("mul", difference, difference))
    nest.done()

    def divided(nest: _Nest, total: Argument, size: Size) -> Argument:
        return nest.op("div", total, _number(nest, size + -int(1 if correction is None else correction)))

    return low.reduce(value[0], squares, dims, "reduce_sum", divided, keepdim), mean


def _kept(reduced: View, x: View, dims: Sequence[int]) -> View:
    """A reduction's result with dimensions of size 1 where it was reduced."""
    over = {dim % len(x.shape) for dim in dims}
    own = iter(zip(reduced.shape, reduced.strides, strict=True))
    pairs = [(ir.ONE, ir.ZERO) if dim in over else next(own) for dim in range(len(x.shape))]
    return replace(reduced, shape=tuple(p[0] for p in pairs), strides=tuple(p[1] for p in pairs))


def _cat(low: _Lowering, value: torch.Tensor, parts: Sequence[View], dim: int = 0) -> View:
    target = low.result(value)
    dim %= len(target.shape)
    begin = ir.ZERO
    for part in parts:
        if len(part.shape) != len(target.shape):
            raise UnsupportedError("cat with an empty tensor of another rank")
        slot = replace(target, shape=part.shape, offset=target.offset + begin * target.strides[dim])
        low.pointwise_into(slot, lambda nest, x: x, [part])
        begin = begin + part.shape[dim]
    return target


def _rows(size: Size) -> float:
    if size.batch:
        raise UnsupportedError("a lookup in a tensor that grows with the batch")
    return float(size.const)


def _embedding(low: _Lowering, value: torch.Tensor, weight: View, ids: View, *_: Any, **__: Any) -> View:
    target = low.result(value)
    loops, names = low.axes(target)
    nest = _Nest(low, loops)
    row = nest.op("row", nest.load(ids, names[:-1]), _rows(weight.shape[0]))
    address = weight.at([row, names[-1]])
    nest.store(target, names, nest.move("gather", weight.buffer, address))
    nest.done()
    return target


def _embedding_bag(
    low: _Lowering,
    value: Any,
    weight: View,
    ids: View,
    offsets: View,
    scale: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: View | None = None,
    last: bool = False,
    padding: int = -1,
) -> tuple[View, None, None, None]:
    """Sum or mean of each bag's rows; bags of one size, which arange gives, need no offsets."""
    if mode not in (0, 1) or padding >= 0:
        raise UnsupportedError("embedding_bag with " + ("padding_idx" if padding >= 0 else "mode max"))
    target = low.result(value[0])
    loops, (bag, dim) = low.axes(target)
    nest, inner = _Nest(low, loops), _Nest(low, [])
    place = low.axis(ir.ONE, "l")
    at = ids.strides[0]
    if offsets.step is not None:
        count: Argument = _rows(offsets.step)
        address = Address.of({place: at, **({bag: at * offsets.step} if bag else {})}, ids.offset + offsets.offset * at)
    else:
        total = nest.move("count", ids.buffer, Address())
        begin = nest.op("upto", nest.move("load", offsets.buffer, offsets.at([bag])), total)
        after = offsets.at([bag])
        end = nest.move("load_or", offsets.buffer, replace(after, offset=after.offset + offsets.strides[0]), total)
        end = nest.op("upto", end, total)
        count = nest.op("float", nest.op("isub", end, begin))
        address = Address.of({place: at}, ids.offset)
    row = inner.op("row", inner.move("load", ids.buffer, address), _rows(weight.shape[0]))
    element: Argument = inner.move("gather", weight.buffer, weight.at([row, dim]))
    if weights is not None:
        if weights.strides != ids.strides or weights.offset != ids.offset:
            raise UnsupportedError("per_sample_weights that lie otherwise than the ids")
        element = inner.op("mul", element, inner.move("load", weights.buffer, address))
    pooled: Argument = inner.op("reduce_sum", element)
    if offsets.step is not None:
        nest.reduce([(place, offsets.step)], inner)
    else:
        nest.reduce([(place, ir.ZERO)], inner, "ragged", (begin, end))
    if mode == 1:
        pooled = nest.op("div", pooled, nest.op("max", count, 1.0) if isinstance(count, str) else max(count, 1.0))
    nest.store(target, (bag, dim), pooled)
    nest.done()
    return target, None, None, None


def _bmm(low: _Lowering, value: torch.Tensor, a: View, b: View) -> View:
    rows, inner_size, columns = a.shape[1], a.shape[2], b.shape[2]
    if (rows * inner_size * columns).batch or (rows * inner_size * columns).const > _LARGEST_BMM:
        raise UnsupportedError("bmm of large matrices")
    target = low.result(value)
    loops, (batch, row, column) = low.axes(target)
    nest, inner = _Nest(low, loops), _Nest(low, [])
    k = low.axis(inner_size, "k")
    product = inner.op("mul", inner.load(a, [batch, row, k]), inner.load(b, [batch, k, column]))
    total = inner.op("reduce_sum", product)
    nest.reduce([(k, inner_size)], inner)
    nest.store(target, (batch, row, column), total)
    nest.done()
    return target


def _index(low: _Lowering, value: torch.Tensor, x: View, given: Sequence[View | None]) -> View:
    """x[:, i, j, ...]: one run of index tensors, whose dimensions take the place of those that they index."""
    at = [dim for dim, ids in enumerate(given) if ids is not None]
    if at != list(range(at[0], at[-1] + 1)):
        raise UnsupportedError("index with a gap between its tensors")
    target = low.result(value)
    loops, names = low.axes(target)
    rank = len(target.shape) - (len(x.shape) - len(at))
    nest, run = _Nest(low, loops), names[at[0] : at[0] + rank]
    shape = target.shape[at[0] : at[0] + rank]
    places: list[str | None] = [*names[: at[0]]]
    for dim in at:
        ids, size = cast(View, given[dim]), _rows(x.shape[dim])
        places.append(nest.op("row", nest.op("wrap", nest.load(ids.expanded(shape), run), size), size))
    places += names[at[0] + rank :]
    nest.store(target, names, nest.move("gather", x.buffer, x.at(places)))
    nest.done()
    return target


def _sized(view: View, dim: int, size: int) -> View:
    """With another size of one dimension."""
    return replace(view, shape=(*view.shape[:dim], Size(0, size), *view.shape[dim + 1 :]))


def _slice_backward(
    low: _Lowering, value: torch.Tensor, grad: View, sizes: Any, dim: int, start: int, end: int, step: int = 1
) -> _Padded | View:
    dim %= len(value.shape)
    size = size_of(value.shape[dim])
    if grad.shape[dim] == size:
        return grad
    if step != 1 or size.batch or grad.shape[dim].batch or not isinstance(start, int):
        raise UnsupportedError("the gradient of a slice with steps, or along the batch")
    return _Padded(value, grad, dim, min(start + size.const if start < 0 else start, size.const))


def _select_backward(low: _Lowering, value: torch.Tensor, grad: View, sizes: Any, dim: int, index: int) -> Any:
    dim %= len(value.shape)
    shape, strides = ((*own[:dim], one, *own[dim:]) for own, one in ((grad.shape, ir.ONE), (grad.strides, ir.ZERO)))
    return _slice_backward(low, value, replace(grad, shape=shape, strides=strides), sizes, dim, index, index)


def _index_put(
    low: _Lowering, value: torch.Tensor, x: View, given: Sequence[View | None], added: View, accumulate: bool = False
) -> View:
    """x with values added at x[:, ..., i, j], one after another, for an element may be named more than once."""
    first = next(dim for dim, ids in enumerate(given) if ids is not None)
    if not accumulate or len(given) < len(x.shape) or None in given[first:]:
        raise UnsupportedError("index_put that does not add up single elements of the last dimensions")
    target = low.pointwise(value, lambda nest, x: x, [x], {})
    places = [cast(View, ids) for ids in given[first:]]
    run = max((ids.shape for ids in places), key=len)
    added = added.expanded((*x.shape[:first], *run))
    names = [low.axis(size) for size in added.shape]
    nest, inner = _Nest(low, list(zip(names[:first], added.shape, strict=False))), _Nest(low, [])
    at: list[str | None] = [*names[:first]]
    for dim, ids in enumerate(places, first):
        size = _rows(x.shape[dim])
        at.append(inner.op("row", inner.op("wrap", inner.load(ids.expanded(run), names[first:]), size), size))
    inner.body.append(Instr("add_to", (inner.load(added, names),), None, target.buffer, target.at(at)))
    nest.reduce(list(zip(names[first:], run, strict=True)), inner)
    nest.done()
    return target


def _arange(low: _Lowering, value: torch.Tensor, start: int, end: Any, step: int = 1, **_: Any) -> View:
    return View("", tuple(map(size_of, value.shape)), (ir.ONE,), Size(0, start), "i64", Size(0, step))


def _filled(low: _Lowering, value: torch.Tensor, shape: Any, number: float = 0.0, **_: Any) -> View:
    return low.pointwise(value, lambda nest, x: x, [float(number)], {})


OTHERS: dict[Any, Callable[..., Any]] = {
    aten.sum.dim_IntList: _sum_of, aten.sum.default: _sum_of, aten.mean.dim: _mean, aten.mean.default: _mean,
    aten.amax.default: lambda low, value, x, d=(), keep=False: low.reduce(value, x, d, "reduce_max", _unchanged, keep),
    aten.amin.default: lambda low, value, x, d=(), keep=False: low.reduce(value, x, d, "reduce_min", _unchanged, keep),
    aten.var_mean.correction: _var_mean,
    aten.var.correction: lambda low, value, x, *args, **given: _var_mean(low, (value, value), x, *args, **given)[0],
    aten.cat.default: _cat, aten.embedding.default: _embedding,
    aten._embedding_bag.default: _embedding_bag, aten._embedding_bag_forward_only.default: _embedding_bag,
    aten.bmm.default: _bmm, aten.index.Tensor: _index, aten.index_put.default: _index_put,
    aten.slice_backward.default: _slice_backward, aten.select_backward.default: _select_backward,
    aten.index_select.default: lambda low, value, x, d, ids: _index(low, value, x, [None] * (d % len(x.shape)) + [ids]),
    aten.arange.start_step: _arange, aten.full.default: _filled,
    aten.full_like.default: _filled, aten.fill.Scalar: _filled,
    aten.new_full.default: lambda low, value, x, shape, number, **_: _filled(low, value, x, number),
    aten.empty_like.default: lambda low, value, x, **_: _filled(low, value, x, 0.0),
    aten.zeros_like.default: lambda low, value, x, **_: _filled(low, value, x, 0.0),
    aten.ones_like.default: lambda low, value, x, **_: _filled(low, value, x, 1.0),
    aten.scalar_tensor.default: lambda low, value, number, **_: _filled(low, value, None, number),
}  # fmt: skip
