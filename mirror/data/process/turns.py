"""Turns at a process that runs one query at a time: by person, however many queries each of them has waiting."""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

_MOST_REMEMBERED = 1_000  # people of whom it is known when they were served last
_whose: ContextVar[str] = ContextVar("whose", default="")


@contextlib.contextmanager
def asked_by(whose: str) -> Iterator[None]:
    """Count the queries of this thread as a person's, for the context; else each thread counts as somebody."""
    token = _whose.set(whose)
    try:
        yield
    finally:
        _whose.reset(token)


@dataclass(eq=False)
class Turn:
    """One call that needs the process. `thread` is the caller's, None for what nobody may cancel."""

    thread: int | None
    cancelled: bool = False
    whose: str = field(default_factory=lambda: _whose.get() or f"thread {threading.get_ident()}")


class RoundRobin:
    """Who is next: the one who was served longest ago, or never; of theirs what came first. Not safe by itself."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []  # that wait or run, as they came
        self.running: Turn | None = None
        self._served: dict[str, None] = {}  # who was served, the latest last

    def is_next(self, turn: Turn) -> bool:
        """Whether the process is free, and for this turn."""
        if self.running:
            return False
        order = {whose: i for i, whose in enumerate(self._served)}
        return min(self.turns, key=lambda t: order.get(t.whose, -1)) is turn

    def begin(self, turn: Turn) -> None:
        """A turn has the process."""
        self.running = turn
        self._served.pop(turn.whose, None)
        self._served[turn.whose] = None
        if len(self._served) > _MOST_REMEMBERED:
            del self._served[next(iter(self._served))]

    def end(self, turn: Turn) -> None:
        """A turn is over, or gives up waiting."""
        self.turns.remove(turn)
        if self.running is turn:
            self.running = None
