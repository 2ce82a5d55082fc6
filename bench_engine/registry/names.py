"""Looking entries up by name, with a hint where a name is nearly one that there is."""

import difflib
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class UnknownNameError(ValueError):
    """A name that is not registered; the message lists the known ones."""


def nearest(name: object, known: Iterable[str]) -> str:
    """`; did you mean X?` where a known name is close, else nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def hint(name: object, known: Iterable[str]) -> str:
    """`; did you mean X?` or a full stop, whichever ends the sentence."""
    return nearest(name, known) or "."


def find(name: str, known: dict[str, T], kind: str) -> T:
    """The entry of that name. Raises UnknownNameError."""
    if name not in known:
        raise UnknownNameError(f"unknown {kind} {name!r}{hint(name, known)} Known: {', '.join(known)}.")
    return known[name]
