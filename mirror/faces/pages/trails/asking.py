"""Asking: an answer that is made in a thread of its own, so that the page can wait for it, say so, and stop it."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from mirror.answer.answer import Answer
from mirror.data.data_source import Source
from mirror.faces.pages.entrance import entry

_PATIENCE_S = 2.0  # the source stops a query in less; a language model may stay silent for a minute
_TICK_S = 0.05


def taken_from(before: Answer | None) -> Answer | None:
    """An answer that offered what is asked now: who may change nothing here teaches nothing by a choice either."""
    return replace(before, teaches=False) if before and not entry.person().may_run else before


class Asking:
    """Runs `work` at once.

    Args:
        work: makes the answer; it must not touch the page.
        box: the source that it queries.
        given_up: the answer when the work is cancelled and does not end.
    """

    def __init__(self, work: Callable[[], Answer], box: Source, given_up: Answer) -> None:
        self._box = box
        self._given_up = given_up
        self._made: Future[Answer] = Future()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """Time since it was asked."""
        return time.monotonic() - self._began

    def done(self, within_s: float = 0.0) -> bool:
        """Whether the answer is there, after a wait of at most so long."""
        self._thread.join(max(0.0, within_s))
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Stop the queries of this answer; returns when they have stopped, or after a while all the same."""
        patience = time.monotonic() + _PATIENCE_S
        # Again and again: between two queries there is nothing to stop.
        while not self.done(_TICK_S) and time.monotonic() < patience:
            self._box.cancel(self._thread.ident)

    def answer(self) -> Answer:
        """The answer, or that of what was given up. Raises what the work raised."""
        return self._made.result() if self._made.done() else self._given_up

    def _run(self, work: Callable[[], Answer]) -> None:
        try:
            self._made.set_result(work())
        except BaseException as error:
            self._made.set_exception(error)
