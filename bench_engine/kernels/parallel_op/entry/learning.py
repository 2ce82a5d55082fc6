"""Learns from the lookups of one call which argument of the model each of them reads: the plan to serve them by.

Ids that are no slice of an argument may hold the same numbers as one: `x[:, 3:4].long()` of a model that takes all its
features as one tensor of floats. They are told by these numbers, here and in every call that is served.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op.plan import Mode, Output, Plan, Source, Table, View

# How deep collections and objects within the arguments are looked into, how many of them and of tensors, and how many
# slices of the tensors are compared with ids by their numbers.
_DEPTH, _MOST_OBJECTS, _MOST_TENSORS, _MOST_SLICES = 4, 10_000, 10_000, 10_000
_MOST_NUMBERS = 1 << 26  # that are compared with ids, in all slices
_NUMBERS = {torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16}

# The first step is a position or a keyword; then positions, keys of dictionaries, and (name,) for attributes.
Path = tuple[Any, ...]
# Input, dimension, start and length, as csrc/python/learnt.h has them; -1 where there is none.
CompiledView = tuple[int, int, int, int]
CompiledLookup = tuple[int, bool, int, CompiledView, CompiledView | None, CompiledView | None]
Lesson = tuple[str, tuple[tuple[Path, bool], ...], tuple[tuple[int, ...], ...], tuple[CompiledLookup, ...], bool]
# A lookup as it was seen: place of its table, input, offsets, per_sample_weights.
Seen = tuple[int, Tensor, Tensor | None, Tensor | None]


@dataclass(frozen=True)
class _Read:
    """An argument of the model, by its path, and the slice of it that a lookup reads, or copied numbers of."""

    path: Path
    view: View | None
    copied: bool = False


def lesson(
    seen: Sequence[Seen],
    writes: bool,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    tables: Mapping[int, tuple[str, nn.Module]],
    fewest: int,
) -> Lesson | None:
    """What the compiled code has to know to serve calls like this one; None where too few lookups read arguments.

    `tables` gives the name and the module of each place; `writes`: the call wrote to memory between its lookups.
    """
    found = _Arguments(args, kwargs)
    reads = [(at, module_reads) for at, *tensors in seen if at in tables and (module_reads := found.reads(tensors))]
    if len(reads) < fewest:
        return None
    inputs: dict[tuple[Path, bool], int] = {}
    roles: tuple[dict[int, int], ...] = ({}, {}, {})

    def compiled(role: int, read: _Read | None) -> tuple[Source | None, CompiledView | None]:
        if read is None:
            return None, None
        number = inputs.setdefault((read.path, read.copied), len(inputs))
        source = Source(roles[role].setdefault(number, len(roles[role])), read.view)
        view = read.view
        if view is None:
            return source, (number, -1, 0, -1)
        return source, (number, view.dim, view.start, -1 if view.length is None else view.length)

    planned, lookups = [], []
    for at, (ids, offsets, weights) in reads:
        name, module = tables[at]
        taken = [compiled(role, read) for role, read in enumerate((ids, offsets, weights))]
        table = _table(name, module, *(source for source, _ in taken))
        planned.append(table)
        views = [view for _, view in taken]
        padding = -1 if table.padding is None else table.padding
        lookups.append((at, table.mode != "row", padding, views[0] or (-1, -1, 0, -1), views[1], views[2]))
    outputs = tuple(Output("out", (t,)) for t in range(len(planned)))
    text = Plan(tuple(planned), outputs).text()
    return text, tuple(inputs), tuple(tuple(role) for role in roles), tuple(lookups), writes


def _table(name: str, module: Any, ids: Source | None, offsets: Source | None, weights: Source | None) -> Table:
    bag = isinstance(module, nn.EmbeddingBag)
    mode: Mode = module.mode if bag else "row"
    last = bool(bag and module.include_last_offset and offsets is not None)
    assert ids is not None
    return Table(f"{name}.weight", ids, offsets, weights, mode, module.padding_idx, last, bool(module.sparse))


class _Arguments:
    """The tensors among the arguments of a call, by object and by memory."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._paths: dict[int, Path] = {}
        self._in_memory: dict[int, list[tuple[Tensor, Path]]] = {}
        self._copies = _Copies()
        tensors = _Tensors()
        for tensor, path in islice(chain(tensors.within(tuple(args)), tensors.within(dict(kwargs))), _MOST_TENSORS):
            if id(tensor) not in self._paths:
                self._paths[id(tensor)] = path
                self._in_memory.setdefault(tensor.untyped_storage()._cdata, []).append((tensor, path))
                self._copies.add(tensor, path)

    def reads(self, tensors: Sequence[Tensor | None]) -> tuple[_Read | None, ...] | None:
        """Where each tensor of a lookup is found; None where one is no argument, no slice of one, nor ids like one."""
        reads = [None if tensor is None else self._read(tensor) for tensor in tensors]
        if reads[0] is None:
            reads[0] = self._copies.read(tensors[0])
        if any(tensor is not None and read is None for tensor, read in zip(tensors, reads, strict=True)):
            return None
        return tuple(reads)

    def _read(self, tensor: Any) -> _Read | None:
        if type(tensor) is not Tensor:
            return None
        if id(tensor) in self._paths:
            return _Read(self._paths[id(tensor)], None)
        for base, path in self._in_memory.get(tensor.untyped_storage()._cdata, ()):
            if base.dtype != tensor.dtype:
                continue
            if _places(base) == _places(tensor):
                return _Read(path, None)
            view = next(
                (view for view in _slices(base, tensor) if _places(_taken(base, view)) == _places(tensor)), None
            )
            if view is not None:
                return _Read(path, view)
        return None


class _Copies:
    """Slices of the arguments by the numbers in them."""

    def __init__(self) -> None:
        self._bases: list[tuple[Tensor, Path]] = []
        self._slices: dict[torch.Size, dict[bytes, list[tuple[int, _Read]]]] = {}
        self._left, self._numbers = _MOST_SLICES, _MOST_NUMBERS
        self._last = -1

    def add(self, tensor: Tensor, path: Path) -> None:
        if tensor.dtype in _NUMBERS and tensor.device.type == "cpu" and tensor.dim() > 0 and tensor.numel() > 0:
            self._bases.append((tensor, path))

    def read(self, ids: Any) -> _Read | None:
        """The slice that holds the same numbers; of several the next after the last one, as models go through them."""
        if type(ids) is not Tensor or ids.dtype not in (torch.int64, torch.int32) or ids.device.type != "cpu":
            return None
        if not 1 <= ids.dim() <= 2:  # as the compiled code compares them
            return None
        if ids.shape not in self._slices:
            self._slices[ids.shape] = self._all_of(ids.shape)
        found = self._slices[ids.shape].get(_digest(ids), ())
        for place, read in (*(one for one in found if one[0] > self._last), *found):
            self._last = place
            return read
        return None

    def _all_of(self, shape: torch.Size) -> dict[bytes, list[tuple[int, _Read]]]:
        known: dict[bytes, list[tuple[int, _Read]]] = {}
        first = 0  # place of a slice: where it starts, over all arguments
        for base, path in self._bases:
            whole: Tensor | None = None
            for view in _views(base.shape, shape):
                if self._left == 0 or self._numbers < shape.numel():
                    return known
                self._left, self._numbers = self._left - 1, self._numbers - shape.numel()
                whole = base.detach().to(torch.int64) if whole is None else whole
                taken = whole if view is None else _taken(whole, view)
                place = first + (0 if view is None else view.start)
                known.setdefault(_digest(taken), []).append((place, _Read(path, view, copied=True)))
            first += max(base.shape)
        return known


def _views(whole: torch.Size, part: torch.Size) -> Iterator[View | None]:
    """How a slice along one dimension of a tensor of one shape can be of another shape."""
    if whole == part:
        yield None
        return
    for dim, size in enumerate(whole):
        others = whole[:dim] + whole[dim + 1 :]
        if others == part:
            yield from (View(dim, start) for start in range(size))
        elif len(whole) == len(part) and others == part[:dim] + part[dim + 1 :] and part[dim] < size:
            yield from (View(dim, start, part[dim]) for start in range(size - part[dim] + 1))


def _digest(ids: Tensor) -> bytes:
    """The same for the same numbers in the same order, as int64."""
    return hashlib.blake2b(ids.detach().to(torch.int64).contiguous().numpy().tobytes(), digest_size=16).digest()


class _Tensors:
    """Tensors in lists, tuples and dictionaries that are these and no more, and in attributes of objects.

    Objects such as a KeyedJaggedTensor keep what they are asked for, so that a forward's first lookup finds it there.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def within(self, value: Any, path: Path = ()) -> Iterator[tuple[Tensor, Path]]:
        """Each with its path."""
        if isinstance(value, Tensor):
            if type(value) is Tensor and value.layout is torch.strided:
                yield value, path
            return
        steps = _steps(value)
        if not steps or len(path) > _DEPTH or id(value) in self._seen or len(self._seen) >= _MOST_OBJECTS:
            return
        self._seen.add(id(value))
        for step, item in steps:
            yield from self.within(item, (*path, step))


def _steps(value: Any) -> list[tuple[Any, Any]]:
    """What a collection or object holds, by the step that leads to it."""
    if type(value) in (list, tuple):
        return list(enumerate(value))
    if type(value) is dict:
        return [(key, item) for key, item in value.items() if type(key) in (str, int)]
    if isinstance(value, type | ModuleType | nn.Module) or callable(value):
        return []
    attributes = getattr(value, "__dict__", None)
    return [((name,), item) for name, item in attributes.items()] if type(attributes) is dict else []


def _places(tensor: Tensor) -> tuple[Any, ...]:
    """Which elements of its memory a tensor has; what a dimension of one element has for a stride tells nothing."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
    return tensor.storage_offset(), tensor.shape, strides


def _slices(base: Tensor, tensor: Tensor) -> Iterator[View]:
    """Slices of `base` along one dimension that start where `tensor` does."""
    ahead = tensor.storage_offset() - base.storage_offset()
    for dim, (size, stride) in enumerate(zip(base.shape, base.stride(), strict=True)):
        start = ahead // stride if stride > 0 else 0
        if not (0 <= start < size and start * stride == ahead):
            continue
        if tensor.dim() == base.dim() - 1:
            yield View(dim, start)
        elif tensor.dim() == base.dim() and tensor.shape[dim] <= size - start:
            yield View(dim, start, tensor.shape[dim])


def _taken(base: Tensor, view: View) -> Tensor:
    if view.length is None:
        return base.select(view.dim, view.start)
    return base.narrow(view.dim, view.start, view.length)
