"""One function, method or table in the place of another, wherever it is used, and everything as before afterwards."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# Rooms whose functions keep what they found: what they keep was found with the original.
_KEEPING = ("mirror.language.", "mirror.answer.")
# Files that are read once; no ingredient changes what stands in them.
_FILES = frozenset(("trained", "_table", "_load"))


@dataclass(frozen=True)
class Swap:
    """What stands in another's place while an ingredient is off.

    Attributes:
        owner: the module or class that defines it.
        name: its name there.
        instead: makes the substitute of the original.
    """

    owner: ModuleType | type
    name: str
    instead: Callable[[Any], Any]


@contextlib.contextmanager
def swapped(swaps: Iterable[Swap]) -> Iterator[None]:
    """Put the substitutes where the originals are used, by whatever name a module imported them.

    What was kept of earlier questions is forgotten on the way in and out. Raises KeyError where an original is gone:
    who renames a function renames it here.
    """
    forget()
    try:
        with standing(swaps):
            yield
    finally:
        forget()


@contextlib.contextmanager
def standing(swaps: Iterable[Swap]) -> Iterator[None]:
    """The same for what keeps nothing: nothing is forgotten."""
    done: list[tuple[Swap, Any, Any]] = []
    try:
        for swap in swaps:
            original = vars(swap.owner)[swap.name]
            done.append((swap, original, swap.instead(original)))
            _put(*done[-1])
        yield
    finally:
        for swap, original, substitute in reversed(done):
            _put(swap, substitute, original)


def _put(swap: Swap, old: object, new: object) -> None:
    """Replace one by the other wherever it is used; modules that were first loaded meanwhile are found too."""
    if isinstance(swap.owner, type):
        setattr(swap.owner, swap.name, new)
        return
    for module in _modules("mirror."):
        for name in [name for name, value in vars(module).items() if value is old]:
            setattr(module, name, new)


def watched(name: str, swap: Swap, seen: set[str]) -> Swap:
    """The original, and a name in `seen` as soon as the substitute would have given anything else.

    Where it never would, all that follows is what it is with the substitute, and need not be asked again.
    """

    def instead(original: Callable[..., Any]) -> Callable[..., Any]:
        substitute = swap.instead(original)

        def both(*told: Any, **named: Any) -> Any:
            if name not in seen and _came(original, told, named) != _came(substitute, told, named):
                seen.add(name)
            return original(*told, **named)

        return both

    return Swap(swap.owner, swap.name, instead)


def _came(function: Callable[..., Any], told: tuple[Any, ...], named: dict[str, Any]) -> object:
    """What comes of a call, an error too."""
    try:
        return function(*told, **named)
    except Exception as error:
        return type(error), str(error)


def forget() -> None:
    """Empty what the readers keep of words, names and questions."""
    for module in _modules(*_KEEPING):
        for name, value in list(vars(module).items()):
            inside = vars(value).values() if isinstance(value, type) else ()
            for kept in (value, *inside):
                if name not in _FILES and callable(clear := getattr(kept, "cache_clear", None)):
                    clear()


def _modules(*prefixes: str) -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if f"{name}.".startswith(prefixes) and module]
