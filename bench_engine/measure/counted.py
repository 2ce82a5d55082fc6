"""What the processor counts in some calls that are not timed: per call, for a trial's environment."""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from bench_engine.machine import counters
from bench_engine.machine.counters import Counters

ALL_CALLS = 1000
COUNTED_NS, ENERGY_NS = 50_000_000, 200_000_000  # RAPL tells what it has used once in a millisecond
LONGEST_NS = 500_000_000  # where a call takes longer none is counted


def calls_for(call_ns: float, period: int) -> int:
    """How many calls of that length are counted: whole rotations of `period` where there is the time for one."""
    wanted_ns = ENERGY_NS if counters.energy_uj() else COUNTED_NS
    if call_ns <= 0 or call_ns > LONGEST_NS:
        return 0
    calls = max(1, min(ALL_CALLS, int(wanted_ns / call_ns)))
    whole = -(-calls // period) * period
    return whole if whole * call_ns <= LONGEST_NS else calls


def counted(
    call: Callable[[int], object], first: int, calls: int, flush: Callable[[], object] | None
) -> dict[str, Any]:
    """`counts` (event -> number per call), `counted_calls` and `energy_j` of so many calls from `first` on; what this
    machine does not tell is left out. With a flush before each call there is no energy, which would be that of both.
    """
    counting = Counters()
    try:
        if not (counting or counters.energy_uj()) or not calls:
            return {}
        if flush is not None:
            return _alone(counting, call, first, calls, flush) if counting else {}
        before, energy_before = counting.read(), counters.energy_uj()
        for index in range(first, first + calls):
            call(index)
        energy, after = counters.energy_between(energy_before, counters.energy_uj()), counting.read()
    finally:
        counting.close()
    counts = {name: _rounded((value - before.get(name, 0.0)) / calls) for name, value in after.items()}
    found: dict[str, Any] = {"counts": counts, "counted_calls": calls}
    return {**found, "energy_j": float(f"{energy / calls:.4g}")} if energy else found


def _alone(
    counting: Counters, call: Callable[[int], object], first: int, calls: int, flush: Callable[[], object]
) -> dict[str, Any]:
    """The same of calls with a flush before each, without what the flush and reading the counters take."""
    total: defaultdict[str, float] = defaultdict(float)
    until, done = time.monotonic_ns() + LONGEST_NS, 0
    while done < calls and (not done or time.monotonic_ns() < until):
        flush()
        readings = [counting.read()]
        call(first + done)
        readings += [counting.read(), counting.read()]
        for name in readings[0]:
            total[name] += 2 * readings[1][name] - readings[0][name] - readings[2][name]
        done += 1
    counts = {name: _rounded(max(0.0, value) / done) for name, value in total.items()}
    return {"counts": counts, "counted_calls": done}


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
