"""One run at a time on a machine: a lock file that the system frees when its holder ends, however it ends."""

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from db.settings import setting


class MachineBusyError(RuntimeError):
    """Another run holds the machine; the message names it."""


def lock_path() -> Path:
    """MIRROR_LOCK, else a file in the folder for temporary files."""
    return Path(setting("MIRROR_LOCK") or Path(tempfile.gettempdir()) / "mirror-bench.lock")


@contextlib.contextmanager
def machine_lock(
    sweep: str, wait: bool = False, waiting: Callable[[str], None] = print, cancelled: Callable[[], bool] = bool
) -> Iterator[None]:
    """Hold the machine for a sweep.

    Args:
        sweep: name of the sweep, for the message of the next one.
        wait: wait for the run that holds it, and do not raise.
        waiting: told once, in a sentence, whom it waits for.
        cancelled: asked while waiting; when it says True the wait ends and the body runs without the lock.

    Raises MachineBusyError when another run holds it, or when the lock file cannot be opened.
    """
    handle = _open(lock_path())
    try:
        told = False
        while not cancelled():
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sign(handle, sweep)
                break
            except BlockingIOError:
                holder = _holder(handle)
                if not wait:
                    raise MachineBusyError(
                        f"{holder} on this machine: wait for it to end, or add --wait to start after it."
                    ) from None
                if not told:
                    waiting(f"{holder} on this machine; waiting for it to end.")
                    told = True
                time.sleep(0.2)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except PermissionError:  # another user's file in a sticky folder: it can be locked, but not signed
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise MachineBusyError(
            f"The lock file {path} cannot be opened: {error.strerror}. Name another with MIRROR_LOCK."
        ) from error


def _sign(handle: int, sweep: str) -> None:
    holder = {"sweep": sweep, "pid": os.getpid(), "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    with contextlib.suppress(OSError):  # opened for reading only, or a full disk: the lock itself holds
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder).encode(), 0)


def _holder(handle: int) -> str:
    """The start of a sentence about who holds the lock."""
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        return f"Sweep {holder['sweep']} (process {holder['pid']}, since {holder['since']}) is running"
    except (ValueError, KeyError, TypeError):
        return "Another run is going on"
