"""One run at a time on a machine: a lock file that the system frees when its holder ends, however it ends."""

import contextlib
import errno
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil

from db.settings import setting

# Not TMPDIR, which batch systems and desktops give each job and user anew: they would not see each other's lock.
_SHARED = Path("/tmp")


class MachineBusyError(RuntimeError):
    """Another run holds the machine; the message names it."""


def lock_path() -> Path:
    """MIRROR_LOCK, else a file in the folder for temporary files that all users share.

    Raises MachineBusyError when there is no such folder.
    """
    if given := setting("MIRROR_LOCK"):
        return Path(given)
    try:
        folder = _SHARED if os.access(_SHARED, os.W_OK) else Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise MachineBusyError(
            "There is no folder for temporary files that can be written: name a lock file with MIRROR_LOCK."
        ) from error
    return folder / "mirror-bench.lock"


@contextlib.contextmanager
def machine_lock(
    name: str,
    wait: bool = False,
    waiting: Callable[[str], None] = print,
    cancelled: Callable[[], bool] = bool,
    kind: str = "Sweep",
) -> Iterator[None]:
    """Hold the machine for something that has a name.

    Args:
        name: of the sweep, or whatever else needs the machine for itself, for the message of the next one.
        wait: wait for the run that holds it, and do not raise.
        waiting: told once, in a sentence, whom it waits for.
        cancelled: asked while waiting; when it says True the wait ends and the body runs without the lock.
        kind: what is named, the first words of the sentence "Sweep quick (process 7, since ...) is running".

    Raises MachineBusyError when another run holds it, or when the lock file cannot be opened.
    """
    handle = _open(lock_path())
    try:
        held = _take(handle, wait, waiting, cancelled)
        if held:
            holder = {"what": f"{kind} {name}", "pid": os.getpid(), "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M UTC}"}
            _write(handle, json.dumps(holder).encode())
        try:
            yield
        finally:
            if held:  # the next holder may be unable to sign, and must not be taken for this one
                _write(handle, b"")
    finally:
        os.close(handle)


def _take(handle: int, wait: bool, waiting: Callable[[str], None], cancelled: Callable[[], bool]) -> bool:
    """Whether the lock was taken, and not given up for `cancelled`."""
    told = False
    while not cancelled():
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
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
        except OSError as error:
            raise MachineBusyError(
                f"The lock file {lock_path()} cannot be locked: {error.strerror}. Name one on a local disk with "
                "MIRROR_LOCK."
            ) from error
    return False


def _open(path: Path) -> int:
    # No links: in a folder that all may write, one could lead the signature into a file of this user.
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            return os.open(path, os.O_RDWR | flags)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
            with contextlib.suppress(OSError):  # another user was quicker and owns it
                os.fchmod(handle, 0o666)  # whatever the umask says, other users must be able to open it
            return handle
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return os.open(path, os.O_RDONLY | flags)  # it can be locked all the same, but not signed
    except OSError as error:
        raise MachineBusyError(
            f"The lock file {path} cannot be opened: {error.strerror}. Name another with MIRROR_LOCK."
        ) from error


def _write(handle: int, signature: bytes) -> None:
    with contextlib.suppress(OSError):  # opened for reading only, or a full disk: the lock itself holds
        os.ftruncate(handle, 0)
        os.pwrite(handle, signature, 0)


def _holder(handle: int) -> str:
    """The start of a sentence about who holds the lock."""
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        if psutil.pid_exists(holder["pid"]):  # else it was killed, and who holds the lock now could not sign
            text = f"{holder['what']} (process {holder['pid']}, since {holder['since']}) is running"
            return "".join(filter(str.isprintable, text))
    except (ValueError, KeyError, TypeError, OverflowError):
        pass
    return "Another run is under way"
