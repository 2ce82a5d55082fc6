"""Counts of the processor and the kernel over some calls, and the energy they took, where they can be read.

Counters are those of perf_event_open(2), of all threads of this process and those they start, outside the kernel.
Where the processor has fewer counters than are asked for, each counts a part of the time and is scaled up to all of it.
Energy is that of RAPL, of the whole package whoever uses it, from /sys/class/powercap.
"""

import contextlib
import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bench_engine.machine import hardware
from bench_engine.machine.system_files import number, text

_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3  # linux/perf_event.h: perf_type_id
_TLB_READ_MISS = 3 | 0 << 8 | 1 << 16
EVENTS: Mapping[str, tuple[int, int]] = {  # of a call -> type and number
    "instructions": (_HARDWARE, 1),
    "cycles": (_HARDWARE, 0),
    "cache_misses": (_HARDWARE, 3),
    "tlb_misses": (_CACHE, _TLB_READ_MISS),
    "branch_misses": (_HARDWARE, 5),
    "page_faults": (_SOFTWARE, 2),
}
_SYSCALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_TIMES = 1 | 2  # read_format: the time that it was asked to count, and that it counted
_INHERIT, _NOT_KERNEL, _NOT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_ATTRIBUTE_BYTES = 64  # of the first version, which every kernel takes
_CLOSE_ON_EXEC = 8
_READING = struct.Struct("QQQ")
_MOST_PARANOID = 2  # above it not even one's own process may be counted

_TASKS = Path("/proc/self/task")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_POWERCAP = Path("/sys/class/powercap")


def perf_event_open(kind: int, event: int, thread: int) -> int:
    """The system call: a descriptor that counts for one thread on any core, 0 for this one. Raises OSError."""
    call = _SYSCALLS.get(platform.machine())
    if not sys.platform.startswith("linux") or call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    flags = _INHERIT | _NOT_KERNEL | _NOT_HYPERVISOR
    attribute = struct.pack("IIQQQQQ16x", kind, _ATTRIBUTE_BYTES, event, 0, 0, _TIMES, flags)
    library = ctypes.CDLL(None, use_errno=True)
    found = int(library.syscall(call, attribute, thread, -1, -1, _CLOSE_ON_EXEC))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


class Counters:
    """Counters of this process from now on; `close` them."""

    def __init__(self) -> None:
        """Opens those of EVENTS that can be had for all threads."""
        self._open: list[tuple[str, int]] = []
        threads = sorted(int(path.name) for path in _TASKS.iterdir()) if _TASKS.is_dir() else [os.getpid()]
        for name in EVENTS:
            try:
                for thread in threads:
                    self._add(name, thread)
            except OSError:  # a part of the threads would look like all of them
                of_others = [pair for pair in self._open if pair[0] != name]
                self._open = [pair for pair in self._open if pair[0] == name]
                self.close()
                self._open = of_others

    def _add(self, name: str, thread: int) -> None:
        try:
            self._open.append((name, perf_event_open(*EVENTS[name], thread)))
        except ProcessLookupError:  # it has ended
            return

    def __bool__(self) -> bool:
        """Whether anything is counted."""
        return bool(self._open)

    def read(self) -> dict[str, float]:
        """Event -> how often so far, of those that the processor has had the room to count."""
        found: dict[str, float] = {}
        for name, descriptor in self._open:
            count, asked_ns, counted_ns = _READING.unpack(os.read(descriptor, _READING.size))
            if counted_ns:
                found[name] = found.get(name, 0.0) + count * asked_ns / counted_ns
        return found

    def close(self) -> None:
        """No more counting."""
        for _, descriptor in self._open:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._open = []


# -- energy --------------------------------------------------------------------------------------------------------


def energy_uj() -> dict[str, int]:
    """µJ of each processor package so far, by its zone; empty where there are none or they cannot be read."""
    found = {zone.name: number(zone / "energy_uj") for zone in _zones()}
    return {name: value for name, value in found.items() if value is not None}


def energy_between(before: Mapping[str, int], after: Mapping[str, int]) -> float | None:
    """J of all packages from one reading to another; None where nothing was read. A full counter begins anew."""
    total = 0.0
    for name in before.keys() & after.keys():
        used = after[name] - before[name]
        total += (used + (number(_POWERCAP / name / "max_energy_range_uj") or 0) if used < 0 else used) / 1e6
    return total if total > 0 else None


def _zones() -> list[Path]:
    """The zones of whole packages, those of other interfaces to the same counters left out."""
    zones = sorted(_POWERCAP.glob("intel-rapl:*")) if _POWERCAP.is_dir() else []
    return [zone for zone in zones if zone.name.count(":") == 1 and text(zone / "name").startswith("package")]


# -- what there is not ---------------------------------------------------------------------------------------------


@cache
def available() -> tuple[str, ...]:
    """The events that can be counted here."""
    found = []
    for name, event in EVENTS.items():
        with contextlib.suppress(OSError):
            os.close(perf_event_open(*event, 0))
            found.append(name)
    return tuple(found)


@cache
def lacking() -> str:
    """What trials cannot tell of the processor here, and what to change; empty where nothing lacks."""
    return " ".join(filter(None, (_no_counters(), _no_energy())))


def _no_counters() -> str:
    try:
        os.close(perf_event_open(*EVENTS["instructions"], 0))
    except OSError as error:
        what = "instructions and cache misses" if _zones() else "instructions, cache misses and energy"
        return f"Trials cannot tell {what}: {_why(error.errno or 0)}"
    return ""


def _no_energy() -> str:
    if not _zones() or energy_uj():
        return ""
    return (
        f"Trials cannot tell energy: `sudo chmod a+r {_POWERCAP}/intel-rapl:*/energy_uj`{_where()} lets them read it."
    )


def _why(number_of_error: int) -> str:
    if number_of_error in (errno.EACCES, errno.EPERM):
        level = number(_PARANOID)
        if level is not None and level > _MOST_PARANOID:
            return (
                f"kernel.perf_event_paranoid is {level}, `sudo sysctl kernel.perf_event_paranoid={_MOST_PARANOID}`"
                f"{_where()} lets them count."
            )
        kind = hardware.container()
        return (
            f"perf_event_open is forbidden here: start the {'container' if kind else 'process'} with the capability "
            "PERFMON (`--cap-add PERFMON`), or with a seccomp profile that allows it."
        )
    if number_of_error == errno.ENOSYS:
        return (
            "this system has no perf_event_open: measure on a Linux kernel with CONFIG_PERF_EVENTS, not in a sandbox."
        )
    if hardware.hypervisor():
        return (
            "this virtual machine has no counters of the processor: give it some (`-cpu host,pmu=on` in QEMU), or "
            "measure on hardware of your own."
        )
    return "the kernel knows no counters of this processor: a newer kernel may."


def _where() -> str:
    return " on the host" if hardware.container() else ""
