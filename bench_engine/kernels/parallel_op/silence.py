"""What Dynamo logs and warns of while it compiles a model that nobody asked it to compile is not said."""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_compiling = threading.RLock()
_thread = threading.local()


class _OfOthers(logging.Filter):
    """Lets nothing pass that this thread logs while it compiles in silence."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_thread, "silent", False)


_of_others = _OfOthers()


@contextmanager
def in_silence() -> Iterator[None]:
    """Nothing is said by torch's logs, nor by warnings of this thread, unless the script asked for Dynamo's logs.

    Other threads are heard all the while. The filters of warnings are left alone: a change of them would have every
    warning said once more.
    """
    if logging.getLogger("torch._dynamo").getEffectiveLevel() < logging.WARNING:
        yield
        return
    from torch._logging import _internal

    with _compiling:
        before, me, silent = warnings.showwarning, threading.get_ident(), getattr(_thread, "silent", False)

        def of_others(*what: Any, **more: Any) -> None:
            if threading.get_ident() != me:
                before(*what, **more)

        for handler in list(_internal.handlers):
            handler.addFilter(_of_others)  # once, however often
        _thread.silent, warnings.showwarning = True, of_others
        try:
            yield
        finally:
            _thread.silent = silent
            if warnings.showwarning is of_others:
                warnings.showwarning = before
