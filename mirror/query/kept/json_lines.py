"""A file with a JSON object a line that people add to by hand: lines that nobody can read are passed over, and kept."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Held = TypeVar("Held")


def read_lines(data: bytes, read: Callable[[Any], Held]) -> tuple[list[Held], tuple[bytes, ...]]:
    """What the lines hold, and those that cannot be read: cut off, edited by mistake.

    `read` takes what `json.loads` gives, and may raise ValueError, TypeError or LookupError.
    """
    held, unread = [], []
    for line in data.split(b"\n"):
        try:
            held.append(read(json.loads(line)))
        except (ValueError, TypeError, LookupError, RecursionError):
            if line.strip():
                unread.append(line)
    return held, tuple(unread)


def written_lines(unread: Iterable[bytes], objects: Iterable[Any]) -> bytes:
    """The file: the lines that could not be read, and the objects."""
    return b"".join(line + b"\n" for line in (*unread, *(json.dumps(o).encode() for o in objects)))
