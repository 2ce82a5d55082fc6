"""Keeps torch's log of compiling to itself while a model is compiled that its script never asked to have compiled."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_thread = threading.local()
_lock = threading.Lock()


@contextmanager
def here() -> Iterator[None]:
    """On this thread nothing below an error is logged by the loggers of torch; other threads are not touched."""
    _put_on()
    before = getattr(_thread, "quiet", False)
    _thread.quiet = True
    try:
        yield
    finally:
        _thread.quiet = before


def _heard(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or not getattr(_thread, "quiet", False)


def _put_on() -> None:
    """On every logger of torch, for a filter of a logger does not see the records of those below it."""
    with _lock:
        loggers = [
            logging.getLogger(name) for name in [*logging.root.manager.loggerDict] if name.split(".")[0] == "torch"
        ]
        for logger in loggers:
            if _heard not in logger.filters:
                logger.addFilter(_heard)
