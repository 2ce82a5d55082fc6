"""A graph of ATen ops becomes GIR, one loop nest for each op and a temp in memory for each result: correct, and slow.

Views cost nothing: a result is a view of a buffer, as a tensor is of its storage.
"""

import operator
from dataclasses import replace
from typing import Any, cast

import torch
from torch import fx

from bench_engine.kernels.gir.lowering.aten_ops import OTHERS, POINTWISE, VIEWS, sized
from bench_engine.kernels.gir.lowering.buffer_views import SYMBOLIC, Padded, View, size_of, symbols_of
from bench_engine.kernels.gir.lowering.builder import Builder, Nest
from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import Instr, Kernel, Loop, Statement, UnsupportedError

aten = torch.ops.aten


def lower(graph: fx.Graph, name: str) -> Kernel:
    """The kernel of a graph whose nodes have fake tensors in `meta["val"]`; outputs are its outputs in order.

    Raises UnsupportedError with the op, or the size, that GIR cannot say.
    """
    lowering = _Lowering()
    for node in graph.nodes:
        lowering.node(node)
    return ir.check(Kernel(name, tuple(lowering.buffers), tuple(lowering.nests)))


class _Lowering(Builder):
    """Goes through a graph, node by node."""

    def __init__(self) -> None:
        super().__init__()
        self.env: dict[fx.Node, Any] = {}
        self.symbols: set[Any] = set()

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
            return SYMBOLIC
        if value.dtype == torch.bool:
            raise UnsupportedError("an input of type bool")
        return self.buffer(f"x{len(self.buffers)}", value, "input")

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
            return SYMBOLIC
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
        if not isinstance(value, Padded):
            return value
        target, dim, size = self.result(value.value), value.dim, value.part.shape[value.dim].const
        slot = value.slot(target)
        self.pointwise_into(slot, lambda nest, x: x, [value.part])
        for start, end in ((0, value.start), (value.start + size, target.shape[dim].const)):
            if start < end:
                around = replace(value, part=sized(slot, dim, end - start), start=start).slot(target)
                self.pointwise_into(around, lambda nest, x: x, [0.0])
        return target

    def padded_sum(self, value: torch.Tensor, *given: Any) -> View | None:
        """Something and a gradient of a part of it, which is added to the part alone; None for other sums."""
        one, other = (self.env[each] if isinstance(each, fx.Node) else each for each in given)
        padded, base = (one, other) if isinstance(one, Padded) else (other, self.whole(one))
        if not isinstance(padded, Padded) or padded.value.shape != value.shape or value.device.type != "cpu":
            return None
        target = self.pointwise(value, lambda nest, x: x, [self.whole(base)], {})
        slot = padded.slot(target)
        loops, names = self.axes(slot)
        nest = Nest(self, loops)
        nest.body.append(Instr("add_to", (nest.load(padded.part, names),), None, slot.buffer, slot.at(names)))
        nest.done()
        return target

    def viewed(self, view: View, value: torch.Tensor, node: fx.Node) -> View:
        """What a view op gives: the sizes and strides that torch computed, taken relative to the view's buffer."""
        source = cast(fx.Node, node.args[0]).meta["val"]
        if node.target is aten.as_strided.default and view.step is None and self.known(view.buffer).role == "input":
            raise UnsupportedError("as_strided of an input, which counts from where its storage begins")
        shape, steps = tuple(map(size_of, value.shape)), tuple(map(size_of, value.stride()))
        own = zip(view.shape, view.strides, map(size_of, source.stride()), strict=True)
        if view.step is not None or all(size == ir.ONE or step == other for size, step, other in own):
            offset = size_of(value.storage_offset()) + size_of(source.storage_offset()) * -1
            if view.step is not None and shape != view.shape:
                raise UnsupportedError("a view of arange")
            return replace(view, shape=shape, strides=steps, offset=view.offset + offset)
        raise UnsupportedError(f"the op {node.target} of a tensor that GIR lays out in another way")
