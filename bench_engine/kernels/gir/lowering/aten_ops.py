"""What each ATen op is in GIR: views, what is computed element by element, and all others."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import torch

from bench_engine.kernels.gir.lowering.buffer_views import SYMBOLIC, Padded, View, size_of
from bench_engine.kernels.gir.lowering.builder import Builder, Nest
from bench_engine.kernels.gir.program import ir
from bench_engine.kernels.gir.program.ir import Address, Argument, Instr, Size, UnsupportedError

aten = torch.ops.aten
_LARGEST_BMM = 64**3  # multiply-adds of one matrix of a batch; larger ones are not bound by memory


def _unchanged(nest: Nest, value: Argument, count: Size) -> Argument:
    return value


def _number(nest: Nest, count: Size) -> Argument:
    if not count.batch:
        return float(count.const)
    return nest.op("float", nest.op("size", float(count.batch), float(count.const)))


def _mean_of(nest: Nest, value: Argument, count: Size) -> Argument:
    return nest.op("div", value, _number(nest, count))


def _map(name: str) -> Callable[..., Argument]:
    return lambda nest, *args, **_: nest.op(name, *map(_scalar, args))


def _scalar(value: Any) -> Argument:
    if value is SYMBOLIC:
        raise UnsupportedError("a number computed from the batch size")
    if isinstance(value, int) and int(float(value)) != value:
        raise UnsupportedError(f"the number {value}, which is beyond 2^53")
    return value if isinstance(value, str) else float(value)


def _add(nest: Nest, x: Argument, y: Argument, alpha: float = 1, op: str = "add") -> Argument:
    return nest.op(op, _scalar(x), _scalar(y) if alpha == 1 else nest.op("mul", _scalar(y), _scalar(alpha)))


def _subtract(nest: Nest, x: Argument, y: Argument, alpha: float = 1) -> Argument:
    return _add(nest, x, y, alpha, "sub")


def _sigmoid(nest: Nest, x: Argument) -> Argument:
    return nest.op("div", 1.0, nest.op("add", nest.op("exp", nest.op("neg", x)), 1.0))


def _power(nest: Nest, x: Argument, exponent: float) -> Argument:
    roots = {0.5: "sqrt", -0.5: "sqrt", 1.0: "", -1.0: "", 2.0: "", 3.0: "", -2.0: ""}
    if exponent not in roots:
        raise UnsupportedError(f"pow with the exponent {exponent}")
    power = nest.op("sqrt", x) if roots[exponent] else x
    for _ in range(int(abs(exponent)) - 1):
        power = nest.op("mul", power, x)
    return nest.op("div", 1.0, power) if exponent < 0 else power


def _converted(nest: Nest, x: Argument, dtype: Any = None, **_: Any) -> Argument:
    if x in nest.builder.integers:
        return nest.op("float", x) if dtype == torch.float32 else x
    return nest.op("ne", x, 0.0) if dtype == torch.bool else x


def _clamp(nest: Nest, x: Argument, low: float | None = None, high: float | None = None) -> Argument:
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


def _sum_of(
    low: Builder, value: torch.Tensor, x: View, dims: Any = None, keep: bool = False, dtype: Any = None
) -> View:
    if dtype not in (None, torch.float32):  # torch converts each element, and then sums
        raise UnsupportedError(f"a sum of type {dtype}".replace("torch.", ""))
    return low.reduce(value, x, dims or [], "reduce_sum", _unchanged, keep)


def _mean(low: Builder, value: torch.Tensor, x: View, dims: Any = None, keep: bool = False, **_: Any) -> View:
    return low.reduce(value, x, dims or [], "reduce_sum", _mean_of, keep)


def _var_mean(
    low: Builder, value: Any, x: View, dims: Any = None, correction: float | None = None, keepdim: bool = False
) -> tuple[View, View]:
    """Both from two passes over x; the second sums squares of differences from the mean."""
    if not dims:
        raise UnsupportedError("the variance over all dimensions")
    taken = _scalar(1 if correction is None else correction)
    if taken not in (0.0, 1.0):
        raise UnsupportedError(f"a variance with the correction {taken}")
    mean = low.reduce(value[1], x, dims, "reduce_sum", _mean_of, keepdim)
    wide = mean if keepdim else _kept(mean, x, dims)
    squares = low.like(x)
    loops, names = low.axes(squares)
    nest = Nest(low, loops)
    difference = nest.op("sub", nest.load(x, names), nest.load(wide.expanded(x.shape), names))
    nest.store(squares, names, nest.op("mul", difference, difference))
    nest.done()

    def divided(nest: Nest, total: Argument, size: Size) -> Argument:
        return nest.op("div", total, _number(nest, size + -int(taken)))

    return low.reduce(value[0], squares, dims, "reduce_sum", divided, keepdim), mean


def _kept(reduced: View, x: View, dims: Sequence[int]) -> View:
    """A reduction's result with dimensions of size 1 where it was reduced."""
    over = {dim % len(x.shape) for dim in dims}
    own = iter(zip(reduced.shape, reduced.strides, strict=True))
    pairs = [(ir.ONE, ir.ZERO) if dim in over else next(own) for dim in range(len(x.shape))]
    return replace(reduced, shape=tuple(p[0] for p in pairs), strides=tuple(p[1] for p in pairs))


def _cat(low: Builder, value: torch.Tensor, parts: Sequence[View], dim: int = 0) -> View:
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


def _embedding(low: Builder, value: torch.Tensor, weight: View, ids: View, *_: Any, **__: Any) -> View:
    target = low.result(value)
    loops, names = low.axes(target)
    nest = Nest(low, loops)
    row = nest.op("row", nest.load(ids, names[:-1]), _rows(weight.shape[0]))
    address = weight.at([row, names[-1]])
    nest.store(target, names, nest.move("gather", weight.buffer, address))
    nest.done()
    return target


def _embedding_bag(
    low: Builder,
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
    _check_bags(low, ids, offsets, value[0])
    target = low.result(value[0])
    loops, (bag, dim) = low.axes(target)
    nest, inner = Nest(low, loops), Nest(low, [])
    place = low.axis(ir.ONE, "l")
    at = ids.strides[0]
    if offsets.step is not None:
        count: Argument = _rows(offsets.step)
        address = Address.of({place: at, **({bag: at * offsets.step} if bag else {})}, ids.offset + offsets.offset * at)
    else:
        total = nest.move("count", ids.buffer, Address())
        nest.op("upto", nest.move("load", offsets.buffer, offsets.at([None])), 0.0)  # bags begin with the first id
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


def _check_bags(low: Builder, ids: View, offsets: View, value: torch.Tensor) -> None:
    """Raises UnsupportedError for bags that do not take in all ids, and for ids or offsets that are part of a tensor:
    the last bag of the others ends where the buffer of the ids does."""
    if offsets.step is not None:
        if offsets.offset or ids.shape[0] != offsets.step * size_of(value.shape[0]):
            raise UnsupportedError("bags of one size that are not all ids")
        return
    for view in (ids, offsets):
        whole = low.known(view.buffer)
        part = (whole.shape, whole.strides, ir.ZERO) != (view.shape, view.strides, view.offset)
        if part or view.strides != (ir.ONE,):
            raise UnsupportedError("bags of ids or offsets that are part of a tensor")


def _bmm(low: Builder, value: torch.Tensor, a: View, b: View) -> View:
    rows, inner_size, columns = a.shape[1], a.shape[2], b.shape[2]
    if (rows * inner_size * columns).batch or (rows * inner_size * columns).const > _LARGEST_BMM:
        raise UnsupportedError("bmm of large matrices")
    target = low.result(value)
    loops, (batch, row, column) = low.axes(target)
    nest, inner = Nest(low, loops), Nest(low, [])
    k = low.axis(inner_size, "k")
    product = inner.op("mul", inner.load(a, [batch, row, k]), inner.load(b, [batch, k, column]))
    total = inner.op("reduce_sum", product)
    nest.reduce([(k, inner_size)], inner)
    nest.store(target, (batch, row, column), total)
    nest.done()
    return target


def _index(low: Builder, value: torch.Tensor, x: View, given: Sequence[View | None], negative: bool = True) -> View:
    """x[:, i, j, ...]: one run of index tensors, whose dimensions take the place of those that they index.

    `negative`: whether they may count from the end.
    """
    at = [dim for dim, ids in enumerate(given) if ids is not None]
    if at != list(range(at[0], at[-1] + 1)):
        raise UnsupportedError("index with a gap between its tensors")
    target = low.result(value)
    loops, names = low.axes(target)
    rank = len(target.shape) - (len(x.shape) - len(at))
    nest, run = Nest(low, loops), names[at[0] : at[0] + rank]
    shape = target.shape[at[0] : at[0] + rank]
    places: list[str | None] = [*names[: at[0]]]
    for dim in at:
        ids, size = cast(View, given[dim]), _rows(x.shape[dim])
        number: Argument = nest.load(ids.expanded(shape), run)
        places.append(nest.op("row", nest.op("wrap", number, size) if negative else number, size))
    places += names[at[0] + rank :]
    nest.store(target, names, nest.move("gather", x.buffer, x.at(places)))
    nest.done()
    return target


def sized(view: View, dim: int, size: int) -> View:
    """With another size of one dimension."""
    return replace(view, shape=(*view.shape[:dim], Size(0, size), *view.shape[dim + 1 :]))


def _slice_backward(
    low: Builder, value: torch.Tensor, grad: View, sizes: Any, dim: int, start: int, end: int, step: int = 1
) -> Padded | View:
    dim %= len(value.shape)
    size = size_of(value.shape[dim])
    if grad.shape[dim] == size:
        return grad
    if step != 1 or size.batch or grad.shape[dim].batch or not isinstance(start, int):
        raise UnsupportedError("the gradient of a slice with steps, or along the batch")
    return Padded(value, grad, dim, max(0, min(start + size.const if start < 0 else start, size.const)))


def _select_backward(low: Builder, value: torch.Tensor, grad: View, sizes: Any, dim: int, index: int) -> Any:
    dim %= len(value.shape)
    shape, strides = ((*own[:dim], one, *own[dim:]) for own, one in ((grad.shape, ir.ONE), (grad.strides, ir.ZERO)))
    return _slice_backward(low, value, replace(grad, shape=shape, strides=strides), sizes, dim, index, index)


def _index_put(
    low: Builder, value: torch.Tensor, x: View, given: Sequence[View | None], added: View, accumulate: bool = False
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
    nest, inner = Nest(low, list(zip(names[:first], added.shape, strict=False))), Nest(low, [])
    at: list[str | None] = [*names[:first]]
    for dim, ids in enumerate(places, first):
        size = _rows(x.shape[dim])
        at.append(inner.op("row", inner.op("wrap", inner.load(ids.expanded(run), names[first:]), size), size))
    inner.body.append(Instr("add_to", (inner.load(added, names),), None, target.buffer, target.at(at)))
    nest.reduce(list(zip(names[first:], run, strict=True)), inner)
    nest.done()
    return target


def _arange(low: Builder, value: torch.Tensor, start: int, end: Any, step: int = 1, **_: Any) -> View:
    return View("", tuple(map(size_of, value.shape)), (ir.ONE,), Size(0, start), "i64", Size(0, step))


def _filled(low: Builder, value: torch.Tensor, shape: Any, number: float = 0.0, **_: Any) -> View:
    filler = _scalar(number)
    return low.pointwise(value, lambda nest, x: x, [float(bool(filler)) if value.dtype == torch.bool else filler], {})


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
    aten.index_select.default: lambda low, value, x, d, ids: _index(
        low, value, x, [None] * (d % len(x.shape)) + [ids], negative=False
    ),
    aten.arange.start_step: _arange, aten.full.default: _filled,
    aten.full_like.default: _filled, aten.fill.Scalar: _filled,
    aten.new_full.default: lambda low, value, x, shape, number, **_: _filled(low, value, x, number),
    aten.empty_like.default: lambda low, value, x, **_: _filled(low, value, x, 0.0),
    aten.zeros_like.default: lambda low, value, x, **_: _filled(low, value, x, 0.0),
    aten.ones_like.default: lambda low, value, x, **_: _filled(low, value, x, 1.0),
    aten.scalar_tensor.default: lambda low, value, number, **_: _filled(low, value, None, number),
}  # fmt: skip
