"""Children that a test forks."""

import os
import signal
import time
from collections.abc import Callable

_LIMIT_S = 20.0


def holds_in_a_child(check: Callable[[], bool]) -> bool:
    """Whether a fork of this process finds so; False too where it hangs, as one may that waits for lost threads."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + _LIMIT_S
    while (state := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if state == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return state == (child, 0)
