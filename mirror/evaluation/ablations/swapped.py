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
    changed: list[tuple[Any, str, Any]] = []
    forget()
    try:
        for swap in swaps:
            original = vars(swap.owner)[swap.name]
            substitute = swap.instead(original)
            for holder, name in list(_uses(swap, original)):
                changed.append((holder, name, original))
                setattr(holder, name, substitute)
        yield
    finally:
        for holder, name, original in reversed(changed):
            setattr(holder, name, original)
        forget()


def _uses(swap: Swap, original: object) -> Iterator[tuple[object, str]]:
    if isinstance(swap.owner, type):
        yield swap.owner, swap.name
        return
    for module in _modules("mirror."):
        yield from ((module, name) for name, value in vars(module).items() if value is original)


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
