"""The other side of the module `sql_process`: a process that answers requests, an object of JSON per line, in turns."""

import contextlib
import json
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

# About what a browser can be sent; beyond it the answer is cut as if by the row cap.
ANSWER_CAP = 16_000_000
_BATCH = 100

Request = dict[str, Any]
Reply = dict[str, Any]


class Requests:
    """Requests as they arrive. An interrupt is passed on at once, and only to the query that it is meant for."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self._waiting: queue.Queue[Request] = queue.Queue()
        self._lock = threading.Lock()
        self._running: tuple[int, Callable[[], None]] | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            request = json.loads(line)
            if "interrupt" not in request:
                self._waiting.put(request)
                continue
            with self._lock:
                if self._running and self._running[0] == request["interrupt"]:
                    self._running[1]()
        # The parent is gone. PR_SET_PDEATHSIG would say so too, but also when only the thread that started this process
        # ends, as a page's thread does after every click.
        os._exit(0)

    def next(self) -> Request:
        """Wait for a request."""
        return self._waiting.get()

    @contextlib.contextmanager
    def interrupting(self, request: Request, interrupt: Callable[[], None]) -> Iterator[None]:
        """What an interrupt that is meant for this request calls, for the context."""
        with self._lock:
            self._running = (request["id"], interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._running = None


def serve(start: Callable[[Request], tuple[Callable[[Request, Requests], Reply] | None, Reply]]) -> None:
    """Answer requests until the pipe closes.

    Args:
        start: makes of the first request what answers all others, or None where nothing can be asked, and its reply.
    """
    # Nothing but replies may reach the pipe, whatever a library prints.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Not sys.stdin, which the interpreter's end would wait for while a thread reads from it.
    requests = Requests(os.fdopen(os.dup(0), "rb"))
    answer, reply = start(requests.next())
    while True:
        replies.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
        replies.flush()
        if answer is None:
            return
        reply = answer(requests.next(), requests)


def take(
    fetch_many: Callable[[int], Sequence[Sequence[Any]]], row_cap: int, kept: Callable[[Any], Any] = lambda value: value
) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows up to the cap, and whether there were more; a result that is too large to show is cut as well.

    Args:
        fetch_many: gives at most so many more rows, none at the end.
        row_cap: the most rows.
        kept: what is kept of a value.
    """
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) <= row_cap and (batch := fetch_many(min(_BATCH, row_cap + 1 - len(rows)))):
        for row in batch:
            rows.append(tuple(map(kept, row)))
            size += sum(len(v) if isinstance(v, str | bytes) else 8 for v in rows[-1])
            if size > ANSWER_CAP:
                return rows[:row_cap], True
    return rows[:row_cap], len(rows) > row_cap
