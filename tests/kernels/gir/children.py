"""Children that a test forks."""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

_LIMIT_S = 60.0


def holds_in_a_child(check: Callable[[], bool]) -> bool:
    """Whether a fork of this process finds so; False too where it hangs, as one may that waits for lost threads.

    What an error or a hang there looked like stands in the test's captured output.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            faulthandler.dump_traceback_later(0.9 * _LIMIT_S, file=sys.__stderr__)
            code = 0 if check() else 1
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    deadline = time.monotonic() + _LIMIT_S
    while (state := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if state == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return state == (child, 0)


def wait_for_the_end(threads: list[threading.Thread]) -> None:
    """Joined threads still give back what MKL holds for them; a fork at that moment leaves its lock taken for ever."""
    deadline = time.monotonic() + _LIMIT_S
    while any(Path(f"/proc/self/task/{thread.native_id}").exists() for thread in threads):
        assert time.monotonic() < deadline, "a joined thread has not ended"
        time.sleep(0.01)
