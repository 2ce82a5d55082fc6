"""The other side of the module `sql_process`: a process that answers requests, an object of JSON per line, in turns."""

import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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


class _WithoutSlowModules:
    """DuckDB and pyarrow import these where they find them, which takes as long as to load small data. Rows are read
    and told without."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name in ("numpy", "pandas", "pyarrow.dataset"):
            raise ModuleNotFoundError(f"A process that runs SQL needs no {name}.", name=name)


def serve(start: Callable[[Request], tuple[Callable[[Request, Requests], Reply] | None, Reply]]) -> None:
    """Answer requests until the pipe closes.

    Args:
        start: makes of the first request what answers all others, or None where nothing can be asked, and its reply.
    """
    sys.meta_path.insert(0, _WithoutSlowModules)
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
