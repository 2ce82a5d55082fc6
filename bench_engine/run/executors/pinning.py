"""Keeps the workers of a group on the same cores while they take turns.

A worker that is left to the scheduler stays where it was put, often for as long as it lives, and one that shares its
core with other work is slower than its twin on a free one: that would be called a difference of the methods.
"""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from bench_engine.machine.system_files import text

_LOOK_S = 0.1
_STAT = Path("/proc/stat")
_CPU = Path("/sys/devices/system/cpu")


def quietest_cores(count: int) -> set[int] | None:
    """The `count` cores with the least to do now, of different physical cores as long as there are some; None where
    there are no more than that, or none can be chosen (Linux only)."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    if count >= len(allowed):
        return None
    before = _busy_ticks()
    time.sleep(_LOOK_S)
    busy = {core: ticks - before.get(core, 0) for core, ticks in _busy_ticks().items()}
    chosen: list[int] = []
    taken: set[int] = set()  # and their siblings
    siblings = {core: _siblings(core) for core in allowed}
    while len(chosen) < count:
        left = allowed.difference(chosen)
        core = min(left, key=lambda c: (c in taken, sum(busy.get(s, 0) for s in siblings[c]), busy.get(c, 0), c))
        chosen.append(core)
        taken |= siblings[core]
    return set(chosen)


def pin(processes: Iterable[int], cores: set[int]) -> None:
    """Keep processes with all their threads on these cores; one that has ended is left alone."""
    for pid in processes:
        for thread in _threads(pid):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, cores)


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _busy_ticks() -> dict[int, int]:
    """Ticks since boot in which each core had something to do."""
    found = {}
    for line in text(_STAT).splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            user, nice, system, _idle, _wait, *rest = map(int, ticks)
            found[int(name[3:])] = user + nice + system + sum(rest[:3])  # interrupts, and what the host took
    return found


def _siblings(core: int) -> set[int]:
    """Cores that share a physical one, this one among them."""
    found = {core}
    for part in text(_CPU / f"cpu{core}" / "topology" / "thread_siblings_list").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found |= set(range(int(first), int(last or first) + 1))
    return found
