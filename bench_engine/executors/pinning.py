"""Keeps the workers of a group on the same cores while they take turns.

A worker that is left to the scheduler stays where it was put, often for as long as it lives, and one that shares its
core with other work is slower than its twin on a free one: that would be called a difference of the methods.
"""

import contextlib
import os
from collections.abc import Iterable

import psutil

_LOOK_S = 0.1


def quietest_cores(count: int) -> set[int] | None:
    """The `count` cores with the least to do now; None where there are no more than that, or none can be chosen."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    if count >= len(allowed):
        return None
    busy = dict(enumerate(psutil.cpu_percent(_LOOK_S, percpu=True)))
    return set(sorted(allowed, key=lambda core: (busy.get(core, 100.0), core))[:count])


def pin(processes: Iterable[int], cores: set[int]) -> None:
    """Keep processes with all their threads on these cores; one that has ended is left alone."""
    for pid in processes:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), cores)
