"""What the guards of a captured graph look at: whether version stamps and pins can stand in for Dynamo's own check.

They can where every guard leads over the arguments, the dictionaries of modules, and globals that are modules,
functions, classes and constants. Stamps (csrc/python/module_stamps.h) cover the first two; each name that was looked up
in a module of Python, a class or a cell is pinned to what was found there (csrc/python/pins.h).
"""

import ast
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks

Pin = tuple[Any, str, Any]  # owner, name, value: csrc/python/pins.h

# Steps into collections, and sizes of the tensors there.
_STEP = r"\[(?:'[^']*'|-?\d+)\]"
_OF_ARGUMENTS = re.compile(
    rf"L\['(?:args|kwargs)'\](?:{_STEP})*(?:\.(?:size|stride|storage_offset)\(\)(?:{_STEP})?)?"
    rf"|list\(dict\.keys\(L\['(?:args|kwargs)'\](?:{_STEP})*\)\)\[\d+\]"
)
# csrc/python/module_stamps.cpp
_STAMPED = (
    "_parameters", "_buffers", "_modules", "_forward_hooks", "_backward_hooks", "_forward_pre_hooks",
    "_backward_pre_hooks",
)  # fmt: skip
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__", "__closure__")
_CONSTANTS = (
    type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.memory_format,
    types.CodeType, types.BuiltinFunctionType, types.FunctionType, types.ModuleType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.CellType, type, nn.Module, torch.Tensor,
)  # fmt: skip
_CALLABLE: dict[str, Any] = {"type": type, "dict": dict, "list": list}


class CannotBeStampedError(Exception):
    """A guard looks at something that neither a stamp nor a pin stands for; the text is where."""


def pins(manager: Any, scope: Mapping[str, Any], global_scope: Mapping[str, Any], root: nn.Module) -> tuple[Pin, ...]:
    """What is to stay for the guards of `manager` to hold as long as `root` and the arguments are as they are.

    manager: GuardManagerWrapper of a cache entry. scope: the arguments by their names. Raises CannotBeStampedError.
    """
    found = _Sources(scope, global_scope, root)
    for source in dict.fromkeys(_sources(manager.root)):
        if source not in ("L", "G") and not _OF_ARGUMENTS.fullmatch(source):
            found.follow(source)
    return tuple(found.pins.values())


def _sources(manager: Any) -> Iterator[str]:
    yield manager.get_source()
    if hasattr(manager, "get_key_value_managers"):
        for pair in manager.get_key_value_managers().values():
            for one in pair:
                if one is not None:
                    yield from _sources(one)
    for child in manager.get_child_managers():
        yield from _sources(child)


class _Sources:
    """Follows sources, which are expressions of Python over L (locals) and G (globals), and notes what to pin."""

    def __init__(self, scope: Mapping[str, Any], global_scope: Mapping[str, Any], root: nn.Module) -> None:
        self.pins: dict[tuple[int, str], Pin] = {}
        self._scope, self._globals = scope, global_scope
        self._modules = {id(module) for module in root.modules()}
        self._hooks = [getattr(module_hooks, name) for name in dir(module_hooks) if _is_hooks_of_all(name)]
        self._classes = {kind for module in root.modules() for kind in type(module).__mro__}
        self._stamped = {id(module.__dict__) for module in root.modules()}
        for module in root.modules():
            self._stamped.update(id(module.__dict__[name]) for name in _STAMPED)
            # Names of hooks that are among those above.
            self._stamped.update(id(value) for name, value in module.__dict__.items() if name.endswith("_with_kwargs"))

    def follow(self, source: str) -> None:
        try:
            node = ast.parse(source, mode="eval").body
            if isinstance(node, ast.Call) and self._class_of(node) in self._classes:
                return  # what a class has is stamped with the modules that are of it
            value = self._value(node)
        except (AttributeError, KeyError, IndexError, SyntaxError, TypeError) as error:
            raise CannotBeStampedError(f"{source}: {error}") from None
        if not self._stays(value):
            raise CannotBeStampedError(f"{source}: {type(value).__name__}")

    def _stays(self, value: Any) -> bool:
        """Whether what is at the end of a source changes only where a stamp or pin tells."""
        if isinstance(value, nn.Module):
            return id(value) in self._modules
        if isinstance(value, dict):
            return id(value) in self._stamped or any(value is hooks for hooks in self._hooks) or value is _BUILTINS
        if isinstance(value, tuple):
            return all(map(self._stays, value))
        return isinstance(value, (*_CONSTANTS, types.MappingProxyType))

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name("L"):
                return self._scope
            case ast.Name("G"):
                return self._globals
            case ast.Constant(value):
                return value
            case ast.Attribute(value, name):
                return self._attribute(self._value(value), name)
            case ast.Subscript(value, key):
                return self._item(value, self._value(key))
            case ast.Call(ast.Name(name), [argument], []) if name in _CALLABLE:
                return _CALLABLE[name](self._value(argument))
            case ast.Call(ast.Attribute(ast.Name("dict"), "keys"), [argument], []):
                return self._value(argument).keys()
        raise CannotBeStampedError(ast.unparse(node))

    def _class_of(self, node: ast.expr) -> type | None:
        """The class whose dictionary is copied there."""
        match node:
            case ast.Call(ast.Name("dict"), [ast.Attribute(of, "__dict__")], []):
                kind = self._value(of)
                return kind if isinstance(kind, type) else None
        return None

    def _attribute(self, owner: Any, name: str) -> Any:
        value = getattr(owner, name)
        if isinstance(owner, types.ModuleType):
            self._pin(owner.__dict__, name, value)
        elif isinstance(owner, types.FunctionType) and name in _OF_FUNCTIONS:
            pass  # pinned with the function
        elif isinstance(owner, types.CellType) and name == "cell_contents":
            self._pin(owner, name, value)
        elif isinstance(owner, type) and name != "__dict__" and name != "__mro__":
            self._pin_in_class(owner, name, value)
        elif isinstance(owner, nn.Module) and id(owner) in self._modules:
            if not any(name in owner.__dict__.get(where, ()) for where in ("_parameters", "_buffers", "_modules")):
                own = owner.__dict__.get(name, self)
                if name != "__dict__" and own is self:
                    self._pin_in_class(type(owner), name, _looked_up(type(owner), name))
        elif not isinstance(owner, type):
            raise CannotBeStampedError(f"{name} of a {type(owner).__name__}")
        return value

    def _item(self, node: ast.expr, key: Any) -> Any:
        owner = self._value(node)
        value = owner[key]
        if owner is self._scope:
            return value
        kind = self._class_of(node)
        if kind is not None:
            self._pin_in_class(kind, key, value)
            return value
        if owner is self._globals or owner is _BUILTINS:
            self._pin(owner, key, value)
        elif isinstance(owner, dict) and id(owner) not in self._stamped:
            raise CannotBeStampedError(f"{key!r} of {ast.unparse(node)}")
        elif not isinstance(owner, dict | tuple) and not isinstance(node, ast.Call):
            raise CannotBeStampedError(f"{key!r} of {ast.unparse(node)}, a {type(owner).__name__}")
        return value

    def _pin_in_class(self, kind: type, name: str, value: Any) -> None:
        if not isinstance(value, (*_CONSTANTS, staticmethod, classmethod)):
            raise CannotBeStampedError(f"{name} of the class {kind.__name__}, a {type(value).__name__}")
        if _looked_up(kind, name) is not value:
            raise CannotBeStampedError(f"{name} of the class {kind.__name__}")
        self._pin(kind, name, value)

    def _pin(self, owner: Any, name: str, value: Any) -> None:
        if not self._stays(value) and value is not _BUILTINS and not isinstance(value, staticmethod | classmethod):
            raise CannotBeStampedError(f"{name}: {type(value).__name__}")
        self.pins[id(owner), name] = (owner, name, value)


_BUILTINS: dict[str, Any] = torch.__dict__["__builtins__"]
if isinstance(_BUILTINS, types.ModuleType):
    _BUILTINS = _BUILTINS.__dict__


def _looked_up(kind: type, name: str) -> Any:
    """What a class has under a name, as it stands in the class that has it."""
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)


def _is_hooks_of_all(name: str) -> bool:
    return name.startswith("_global_") and name.endswith("hooks")
