"""What a function reads beside its arguments: whether a captured graph of it is still what the function would do.

The attributes, parameters, buffers and modules of the modules that it leads to, and what is in its closure and among
its globals. What it finds elsewhere, as in a list or in an attribute of some object, is not looked at.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module as module_hooks

_NOT_THERE = object()
_DICTIONARIES = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = (
    module_hooks._global_forward_hooks, module_hooks._global_forward_pre_hooks,
    module_hooks._global_backward_hooks, module_hooks._global_backward_pre_hooks,
)  # fmt: skip


def disturbed() -> bool:
    """Whether the ops of this thread are seen by somebody else (modes, functorch, tracing), or changed by autocast."""
    return (
        torch.is_autocast_enabled("cpu")
        or torch.is_autocast_enabled("cuda")
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._len_torch_function_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
    )


class Watched:
    """What `fn` reads, as it was when this was made."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        seen: set[Any] = set()
        pins = list(_read_by(fn, seen))  # (dictionary, cell or class, name, value)
        roots: list[Any] = [fn, *(value for _, _, value in pins)]
        found: dict[nn.Module, None] = {}
        while roots:
            root = roots.pop()
            root = root.__self__ if isinstance(root, MethodType) else root
            for module in root.modules() if isinstance(root, nn.Module) and root not in found else ():
                found[module] = None
                names = ("forward", getattr(fn, "__name__", "forward"))
                read = [pin for name in names for pin in _read_of_class(type(module), name, seen)]
                pins += read
                roots += [value for _, _, value in read]
        self.pins, self.modules = tuple(pins), list(found)
        own = [module.__dict__ for module in self.modules]
        hooks = [*_GLOBAL_HOOKS, *(attributes[name] for attributes in own for name in _HOOKS if name in attributes)]
        self.hooks = tuple((dict_, set[int]()) for dict_ in hooks)  # and what may be in them
        within = [attributes[name] for attributes in own for name in _DICTIONARIES if name in attributes]
        self.dictionaries = (*own, *within)
        self.parameters = tuple(dict.fromkeys(p for module in self.modules for p in module.parameters(recurse=False)))
        self._contents = [dict(dict_) for dict_ in self.dictionaries]

    def holds(self) -> bool:
        """Whether all of it is there, nothing has come, and no hook would see a call."""
        for dict_, before in zip(self.dictionaries, self._contents, strict=True):
            if len(dict_) != len(before) or any(dict_.get(n, _NOT_THERE) is not v for n, v in before.items()):
                return False
        return not any(dict_ for dict_, _ in self.hooks) and all(
            _now(owner, name) is value for owner, name, value in self.pins
        )

    def asks_for_gradient(self, args: Sequence[Tensor]) -> bool:
        """Whether a parameter does, or an argument."""
        return any(tensor.requires_grad for tensor in (*args, *self.parameters))


def _now(owner: Any, name: str) -> Any:
    """What stands in a cell, a class or a dictionary."""
    if isinstance(owner, CellType):
        return _content(owner)
    return _of_class(owner, name) if isinstance(owner, type) else owner.get(name, _NOT_THERE)


def _of_class(kind: type, name: str) -> Any:
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), _NOT_THERE)


def _read_of_class(kind: type, name: str, seen: set[Any]) -> Iterator[tuple[Any, str, Any]]:
    """An attribute of a class of modules, and what it reads where it is a method; torch's own are taken as they are."""
    bases = [base for base in kind.__mro__ if name in base.__dict__]  # super() leads to those behind the first
    if not bases or (kind, name) in seen:
        return
    seen.add((kind, name))
    for owner, base in zip([kind, *bases[1:]], bases, strict=True):
        value = base.__dict__[name]
        yield owner, name, value
        function = getattr(value, "__func__", getattr(value, "fget", value))  # of static, class methods and properties
        if isinstance(function, FunctionType) and not _is_torchs(function):
            yield from _read_by(function, seen)
            code = getattr(inspect.unwrap(function), "__code__", function.__code__)
            for other in sorted(set(_names(code))):
                yield from _read_of_class(kind, other, seen)


def _read_by(fn: Any, seen: set[Any]) -> Iterator[tuple[Any, str, Any]]:
    """Cells and globals that a function of Python reads, and those of the functions beside it that it calls."""
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    cells: list[tuple[Any, str, Any]] = [(cell, "cell_contents", _content(cell)) for cell in function.__closure__ or ()]
    found = [pin for pin in cells if pin[2] is not _NOT_THERE]
    own = function.__globals__
    found += [(own, name, own[name]) for name in sorted(set(_names(function.__code__))) if name in own]
    yield from found
    for owner, _, value in found:  # what a decorator of another file wraps stands in its closure
        inner = value.__func__ if isinstance(value, MethodType) else value
        beside = isinstance(owner, CellType) or getattr(inner, "__globals__", None) is own
        if isinstance(inner, FunctionType) and beside and not _is_torchs(inner):
            yield from _read_by(inner, seen)


def _is_torchs(function: FunctionType) -> bool:
    return (function.__module__ or "").startswith("torch.")  # one that was generated has no module


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return _NOT_THERE


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def is_plain(tensor: Any) -> bool:
    """Whether this is a dense tensor of the CPU or a GPU whose memory is all that it is, and no subclass."""
    kind = type(tensor) in (Tensor, nn.Parameter) and (tensor.is_cpu or tensor.is_cuda)
    return kind and tensor.layout is torch.strided and not (tensor.is_neg() or tensor.is_conj())
