"""Memory of a process: a limit that makes it fail by itself, its peak, and what it may still take."""

import contextlib
import ctypes
import resource
import sys
from pathlib import Path

import psutil

from bench_engine.machine import cgroup
from bench_engine.machine.system_files import fields

_PROC = Path("/proc/self")
# torch, CUDA and JAX, C++, numpy, the C library; a stack that found no room is reported as a thread that did not start.
_RAN_OUT = (
    "out of memory", "can't allocate memory", "not enough memory", "bad_alloc", "unable to allocate",
    "cannot allocate memory", "can't start new thread", "thread creation failed",
)  # fmt: skip


def limit(size: int) -> None:
    """Let this process have at most `size` bytes of private writable memory in all (Linux; elsewhere nothing happens).

    What it has is counted as it was asked for, whether it was written to or not, with 8 MB of stack for every thread.
    Address space that is only reserved is not counted (CUDA and JAX reserve far more than they use), nor are shared
    memory and memory of a GPU. Processes that it starts have the same limit, each for itself.

    What is asked for beyond it is refused. Python, numpy, torch and C++ under torch then raise an exception, and a
    C++ exception that nobody catches, or OpenMP without room for its threads, ends the process with a word on stderr:
    `ran_out` knows both. C code that does not look whether it got its memory dies of SIGSEGV without a word.

    Raises MemoryError when the process has more already.
    """
    if not sys.platform.startswith("linux"):
        return
    taken = _status_bytes("VmData") or 0
    if taken > size:
        raise MemoryError(
            f"This process has {taken / 1e9:.2f} GB already, and may have {size / 1e9:.2f} GB: raise the memory limit."
        )
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def ran_out(text: str) -> bool:
    """Whether the text of an exception, or the last words of a process, tell of memory that was not to be had."""
    return any(words in text.lower() for words in _RAN_OUT)


def give_back() -> None:
    """Give freed memory back to the system, also where the C library was told to keep it (glibc; elsewhere nothing)."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> bool:
    """Count the peak anew from what is resident now. False where that cannot be: the peak stays that of all before."""
    try:
        (_PROC / "clear_refs").write_text("5")  # man 5 proc: resets the peak resident set size
    except OSError:
        return False
    return True


def peak_rss_mb() -> float:
    """Peak resident memory of this process since `reset_peak`, or else since its start / 1e6 bytes."""
    # ru_maxrss cannot be reset, and a process begins with that of the one that started it.
    if peak := _status_bytes("VmHWM"):
        return peak / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def available_bytes() -> int:
    """What a process here may still take without swapping: free or freed at once, and within the limits of cgroups."""
    free: int = psutil.virtual_memory().available
    room = cgroup.memory_room()
    return free if room is None else min(free, room)


def _status_bytes(name: str) -> int | None:
    """A memory figure of /proc/self/status, which gives KiB."""
    value, _, unit = fields(_PROC / "status").get(name, "").partition(" ")
    return int(value) * 1024 if value.isdecimal() and unit == "kB" else None
