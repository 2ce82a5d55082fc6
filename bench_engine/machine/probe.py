"""What only a short look at the running machine tells: cost of the clock, stolen time, and who else is busy."""

import os
import time
from dataclasses import dataclass
from itertools import pairwise

import psutil

_CLOCK_CALLS = 20_000


@dataclass(frozen=True)
class Clock:
    """Of time.perf_counter_ns, in ns: the smallest step from one call to the next, and the median step."""

    step_ns: int
    cost_ns: int


@dataclass(frozen=True)
class Busy:
    """A process and the cores' worth of time that it takes (1.0: one core)."""

    name: str
    pid: int
    cores: float


def clock() -> Clock:
    """Resolution and cost of the clock that times samples: a sample must be long beside both."""
    now = time.perf_counter_ns
    ticks = [now() for _ in range(_CLOCK_CALLS)]
    steps = sorted(later - earlier for earlier, later in pairwise(ticks))
    return Clock(next((step for step in steps if step), 0), steps[len(steps) // 2])


def steal_since_boot() -> float | None:
    """Share of the time wanted by this virtual machine that others took, since it started; None where not counted."""
    return _stolen((0.0, 0.0), _wanted())


def steal_now(seconds: float = 0.5) -> float | None:
    """The same over the next `seconds`, in which this process wants one core: an idle machine has nothing to steal."""
    before = _wanted()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return _stolen(before, _wanted())


def _wanted() -> tuple[float, float] | None:
    """Seconds stolen, and seconds in which something ran or could have, over all cores."""
    times = psutil.cpu_times()
    if not hasattr(times, "steal"):
        return None
    # psutil's user time holds that of guests; waiting for a disk is idle time.
    return times.steal, times.user + times.nice + times.system + times.irq + times.softirq + times.steal


def _stolen(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    if before is None or after is None or after[1] <= before[1]:
        return None
    return max(0.0, (after[0] - before[0]) / (after[1] - before[1]))


def busiest(seconds: float = 0.2) -> Busy | None:
    """The other process that takes most of the processors over the next `seconds`; None where there is none."""
    seen = [process for process in psutil.process_iter() if _other(process)]
    for process in seen:
        _cores(process)  # the first call starts the count
    time.sleep(seconds)
    top = max(((_cores(process), process) for process in seen), key=lambda pair: pair[0], default=None)
    if top is None:
        return None
    try:
        name = "".join(c for c in top[1].name() if c.isprintable())
    except psutil.Error:
        return None  # it has ended
    return Busy(name, top[1].pid, top[0])


def _other(process: psutil.Process) -> bool:
    """Whether it is neither this process nor a thread of the kernel, which has no command and nobody can close."""
    try:
        return process.pid != os.getpid() and bool(process.cmdline())
    except psutil.Error:
        return False


def _cores(process: psutil.Process) -> float:
    """Cores' worth of time since the last call; 0 for one that has ended or that may not be looked at."""
    try:
        return float(process.cpu_percent()) / 100
    except psutil.Error:
        return 0.0
