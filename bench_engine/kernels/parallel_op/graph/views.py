"""Which slice of which tensor a node is: split, chunk, unbind, select, slices and the like of one tensor."""

import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from torch import Tensor
from torch.fx import Node

from bench_engine.kernels.parallel_op.graph.nodes import (
    called,
    calls_torch,
    constant_int,
    same_size,
    tensor_of,
    value_of,
)
from bench_engine.kernels.parallel_op.plan import View

_SPLITTING = {"split", "split_with_sizes", "chunk", "tensor_split", "unbind"}
_SLICING = {"select", "narrow", "slice", "squeeze"}
_FLATTENING = {"reshape", "view", "flatten"}
_COPYING = {"clone", "contiguous"}


@dataclass(frozen=True)
class Resolved:
    """`view` of the result of `base`; all of it where there is no view."""

    base: Node
    view: View | None = None


def resolve(node: Node) -> Resolved:
    """The node as a slice, along one dimension, of the earliest tensor of which it is one; else the node itself."""
    while calls_torch(node, {"slice"}) and _takes_all(
        *_arguments(node, ("self",), ("dim",), ("start",), ("end",), ("step",))[2:]
    ):
        node = node.all_input_nodes[0]
    found = _slice(node)
    if found is None:
        return _unsqueezed(node) or Resolved(node)
    inner = resolve(found.base)
    whole = _composed(inner.view, found.view)
    return found if whole is None else Resolved(inner.base, whole)


def rows_of(ids: Node, offsets: Node) -> Node | None:
    """The (B, L) ids that were flattened to `ids` with offsets 0, L, 2L ...: how aten graphs call bags of one size.

    Follows copies, so it holds only where nothing in the graph is written in place.
    """
    flat, starts = tensor_of(ids), tensor_of(offsets)
    if flat is None or starts is None or flat.dim() != 1 or starts.dim() != 1 or not calls_torch(ids, _FLATTENING):
        return None
    rows = _first(ids)
    while rows is not None and calls_torch(rows, _COPYING):
        rows = _first(rows)
    shape = tensor_of(rows)
    if rows is None or shape is None or shape.dim() != 2 or not calls_torch(offsets, {"arange"}):
        return None
    if len(offsets.args) != 3 or constant_int(offsets.args[0]) != 0:
        return None
    step = constant_int(offsets.args[2])
    same = step == constant_int(shape.shape[1]) and same_size(starts.shape[0], shape.shape[0])
    return rows if same and step else None


def _takes_all(start: Any, end: Any, step: Any) -> bool:
    """x[:] of torch.export, where the size may not be known."""
    return start in (None, 0) and end in (None, sys.maxsize) and step in (None, 1)


def _composed(outer: View | None, inner: View | None) -> View | None:
    """`inner` of `outer` as one view, where one is enough."""
    if outer is None or inner is None:
        return inner
    if outer.length is None or outer.dim != inner.dim:
        return None
    return View(outer.dim, outer.start + inner.start, inner.length)


def _unsqueezed(node: Node) -> Resolved | None:
    """x[:, i].unsqueeze(1) is x[:, i : i + 1]."""
    result = tensor_of(node)
    if result is None or not calls_torch(node, {"unsqueeze"}):
        return None
    source, dim = _arguments(node, ("self", "input"), ("dim",))
    dim = constant_int(dim)
    if not isinstance(source, Node) or dim is None:
        return None
    found = resolve(source)
    if found.view is None or found.view.length is not None or dim % result.dim() != found.view.dim:
        return None
    return Resolved(found.base, View(found.view.dim, found.view.start, 1))


def _slice(node: Node) -> Resolved | None:
    """The node as a view of its own argument."""
    if node.op == "call_function" and node.target is operator.getitem:
        source, index = node.args
        found = _piece(source, index) if isinstance(value_of(source), tuple | list) else _indexed(source, index)  # type: ignore[arg-type]
    else:
        found = _sliced(node) if calls_torch(node, _SLICING) else None
    if found is None or found.view is None:
        return None
    result, base, view = tensor_of(node), tensor_of(found.base), found.view
    if result is None or base is None or view.start < 0:
        return None
    fits = result.dim() == base.dim() - (view.length is None)
    return found if fits and (view.length is None or same_size(result.shape[view.dim], view.length)) else None


def _piece(source: Node, index: Any) -> Resolved | None:
    """One of the tensors that split, chunk, unbind ... return."""
    index = constant_int(index)
    if index is None or not calls_torch(source, _SPLITTING):
        return None
    name = called(source)
    if name == "unbind":
        base, dim = _arguments(source, ("self", "input"), ("dim",))
        sizes: Any = None
    else:
        amount = ("split_size_or_sections", "split_size", "split_sizes", "chunks", "indices_or_sections", "sections",
                  "indices")  # fmt: skip
        base, sizes, dim = _arguments(source, ("self", "input", "tensor"), amount, ("dim",))
    tensor = tensor_of(base)
    dim = _dimension(tensor, 0 if dim is None else dim)
    if tensor is None or dim is None:
        return None
    pieces = _pieces(name, sizes, constant_int(tensor.shape[dim]))
    if pieces is None or not -len(pieces) <= index < len(pieces):
        return None
    start, length = pieces[index]
    return Resolved(base, View(dim, start, length))


def _pieces(name: str, sizes: Any, whole: int | None) -> Sequence[tuple[int, int | None]] | None:
    """Start and length of each piece; no length where the dimension goes."""
    if isinstance(sizes, list | tuple):
        if not all(type(size) is int and size >= 0 for size in sizes):
            return None
        if name != "tensor_split":
            return list(zip(accumulate(sizes, initial=0), sizes, strict=False))
        if whole is None:
            return None
        ends = [min(size, whole) for size in sizes]
        return [(start, max(end - start, 0)) for start, end in zip([0, *ends], [*ends, whole], strict=True)]
    if not whole:
        return None
    if name == "unbind":
        return [(index, None) for index in range(whole)]
    amount = constant_int(sizes)
    if amount is None or amount < 1:
        return None
    if name == "tensor_split":
        lengths = [whole // amount + (index < whole % amount) for index in range(amount)]
        return list(zip(accumulate(lengths, initial=0), lengths, strict=False))
    step = -(-whole // amount) if name == "chunk" else amount
    return [(start, min(step, whole - start)) for start in range(0, whole, step)]


def _sliced(node: Node) -> Resolved | None:
    """select, narrow, slice and squeeze of one dimension."""
    name = called(node)
    base, dim, *rest = _arguments(
        node, ("self", "input"), ("dim",), ("index", "start"), ("length", "end"), ("step",)
    )  # fmt: skip
    if isinstance(dim, list | tuple) and len(dim) == 1:  # aten.squeeze.dims
        dim = dim[0]
    tensor = tensor_of(base)
    dim = _dimension(tensor, 0 if dim is None and name == "slice" else dim)
    if tensor is None or dim is None:
        return None
    size = constant_int(tensor.shape[dim])
    if name == "squeeze":
        return Resolved(base, View(dim, 0)) if size == 1 else None
    start, end, step = rest
    if name == "slice":
        return _along(base, dim, size, slice(start, end, step))
    if name == "select":
        return _along(base, dim, size, start)
    start, length = _counted(start, size), constant_int(end)
    return None if start is None or length is None else Resolved(base, View(dim, start, length))


def _indexed(base: Any, index: Any) -> Resolved | None:
    """x[i], x[:, a:b], x[..., i]: constants along one dimension, all of the others."""
    tensor = tensor_of(base)
    if tensor is None:
        return None
    index = index if isinstance(index, tuple) else (index,)
    if any(part is None or isinstance(part, Tensor | Node | list) for part in index):
        return None
    dots = [place for place, part in enumerate(index) if part is Ellipsis]
    if dots:
        missing = tensor.dim() - (len(index) - 1)
        index = (*index[: dots[0]], *[slice(None)] * missing, *index[dots[0] + 1 :])
    parts = [(dim, part) for dim, part in enumerate(index) if part != slice(None)]
    if len(dots) > 1 or len(parts) != 1 or len(index) > tensor.dim():
        return None
    dim, part = parts[0]
    return _along(base, dim, constant_int(tensor.shape[dim]), part)


def _along(base: Node, dim: int, size: int | None, part: Any) -> Resolved | None:
    """base[..., part, ...] as Python means it: negative numbers count from the end, slices stop at the end."""
    if not isinstance(part, slice):
        start = _counted(part, size)
        return None if start is None else Resolved(base, View(dim, start))
    bounds = (part.start, part.stop, part.step)
    if size is None or any(bound is not None and type(bound) is not int for bound in bounds):
        return None
    if part.step not in (None, 1):
        return None
    start, stop, _ = part.indices(size)
    return Resolved(base, View(dim, start, max(stop - start, 0)))


def _counted(index: Any, size: int | None) -> int | None:
    """A position counted from the start."""
    index = constant_int(index)
    if index is None or (index < 0 and size is None):
        return None
    return index + (size or 0) if index < 0 else index


def _dimension(tensor: Tensor | None, dim: Any) -> int | None:
    dim = constant_int(dim)
    if tensor is None or dim is None or not -tensor.dim() <= dim < tensor.dim():
        return None
    return dim % tensor.dim()


def _first(node: Node) -> Node | None:
    first = node.args[0] if node.args else None
    return first if isinstance(first, Node) else None


def _arguments(node: Node, *names: tuple[str, ...]) -> list[Any]:
    """The arguments of a call, by position or one of their names; None where one is not given."""
    found = []
    for place, known in enumerate(names):
        given = [node.kwargs[name] for name in known if name in node.kwargs]
        found.append(node.args[place] if place < len(node.args) else given[0] if given else None)
    return found
