"""A small file of a person's own that several processes read and write: whole or not at all, one writer at a time."""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_S = 5.0  # another process needs milliseconds to write the file


@dataclass(frozen=True)
class WholeFile:
    """One file. A writer waits for its turn, a reader sees the file as it was before or after.

    Attributes:
        path: where it is, or will be.
        noun: what it holds, in the plural, as in "saved questions".
        error: what is raised, with one sentence, where it cannot be read or written.
        setting: the setting that says where it is.
    """

    path: Path
    noun: str
    error: type[ValueError]
    setting: str

    def read(self, most_bytes: int) -> bytes | None:
        """What it holds; None where it is not there. Raises `error`, also where it is larger."""
        try:
            found = self.path.stat()
            # A device could be read for ever, and would be replaced by a file when written.
            if not stat.S_ISREG(found.st_mode):
                raise self.error(f"{self.path.name} is no file: name one for the {self.noun} with {self.setting}.")
            data = self.path.read_bytes() if found.st_size <= most_bytes else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.error(f"The {self.noun} ({self.path.name}) cannot be read: {error.strerror}.") from error
        if data is None:
            raise self.error(
                f"{self.path.name} is larger than {most_bytes / 1e6:g} MB, so it is no list of {self.noun}: move it "
                f"away, or name another file with {self.setting}."
            )
        return data

    def write(self, data: bytes) -> None:
        """Put these bytes in the place of the file, whole or not at all. Raises `error`."""
        path = self.path.resolve()  # a link stays a link
        temporary = path.with_name(f"{path.name}.part")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                temporary.chmod(path.stat().st_mode & 0o777)
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise self._unwritable(error) from error

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Be the only one that writes. The lock is a file of its own, since the file itself is replaced. Raises
        `error`."""
        path = self.path.resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._wait_for(handle)
            yield
        finally:
            os.close(handle)  # which frees the lock

    def _wait_for(self, handle: int) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    waited = f"Another process has been writing {self.path.name} for {_PATIENCE_S:g} s: try again."
                    raise self.error(waited) from None
                time.sleep(0.01)
            except OSError as error:
                raise self._unwritable(error) from error
            else:
                return

    def _unwritable(self, error: OSError) -> ValueError:
        return self.error(
            f"The {self.noun} ({self.path.name}) cannot be written: {error.strerror}. What was saved before is kept; "
            f"mend that, or name another file with {self.setting}."
        )
