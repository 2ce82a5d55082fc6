"""The folder for what is compiled, and kept for the next process; for this user, or one that MIRROR_CACHE_DIR names.

In a clone it is build/ at its root. Where the code is installed it is mirror/ among the user's caches, as other
compilers of kernels have it; a folder for temporary files takes its place where there is no home or it cannot be
written.
"""

import os
import stat
import sys
import tempfile
from pathlib import Path

_PACKAGE = next(path for path in Path(__file__).resolve().parents if path.name == "bench_engine")
_VARIABLE = "MIRROR_CACHE_DIR"


class CacheError(RuntimeError):
    """There is no folder that can be written; the sentence says which to name."""


def sources() -> Path:
    """The folder csrc/: beside the package in a clone, inside it where it is installed."""
    inside = _PACKAGE / "csrc"
    return inside if inside.is_dir() else _PACKAGE.parent / "csrc"


def folders() -> list[Path]:
    """Where to look for what was kept, the folder that is preferred first. Makes none."""
    if given := os.environ.get(_VARIABLE):
        return [Path(os.path.expanduser(given))]  # where no home is known, the text as it is
    return [*_own(), _temporary()]


def folder() -> Path:
    """The folder that is preferred, whether or not it can be written."""
    return folders()[0]


def writable() -> Path:
    """The first of `folders` that can be written; makes it. Raises CacheError."""
    found = folders()
    for path in found:
        if _made(path):
            if path != found[0]:
                print(f"{found[0]} cannot be written: what is compiled is kept in {path}.", file=sys.stderr)
            return path
    raise CacheError(f"{found[0]} cannot be written: name another folder for compiled kernels with {_VARIABLE}.")


def trusted(path: Path) -> bool:
    """Whether nobody else can have put files into the folder for temporary files; the others are the user's choice."""
    if path != _temporary():
        return True
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"mirror-cache-{os.getuid()}"


def _own() -> list[Path]:
    if sources().parent != _PACKAGE:
        return [_PACKAGE.parent / "build"]
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container's user without a home folder
        return []
    return [Path(home) / "mirror"]


def _made(path: Path) -> bool:
    try:
        path.mkdir(mode=0o700 if path == _temporary() else 0o777, parents=True, exist_ok=True)
    except OSError:
        return False
    return trusted(path) and os.access(path, os.W_OK | os.X_OK)
