"""What both back ends do to find a region's kernel: variants by rewriting, the best predicted, measured in turns."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bench_engine.kernels.gir.program.ir import Kernel
from bench_engine.kernels.gir.program.rewrites import (
    drop_dead,
    drop_round_trip,
    online,
    optimize,
    path,
    recompute,
)

MEASURED = 8  # candidates
BUDGET_S, MOST_ROUNDS = 0.25, 60
_STAGES = 4  # of what a kernel was while it was rewritten


@dataclass(frozen=True)
class Candidate:
    """A scheduled kernel, what it is called, and the microseconds that the model gives it."""

    name: str
    kernel: Kernel
    predicted_us: float


def best(found: Sequence[Candidate]) -> list[Candidate]:
    """Those to measure, the best of each kind among them: variant, loops apart, rows fetched ahead, one thread.

    What a fork or a row costs depends on who else is on the machine.
    """
    kinds = [(c.name.split()[0], *(word in c.name for word in ("apart", "ahead", "grain 0"))) for c in found]
    firsts = dict(zip(reversed(kinds), reversed(found), strict=True)).values()
    chosen = sorted(found, key=lambda c: (not any(c is first for first in firsts), c.predicted_us))[:MEASURED]
    return sorted(chosen, key=lambda candidate: candidate.predicted_us)


def ranked(kernel: Kernel, found: Iterable[Candidate]) -> list[Candidate]:
    """By the model; each kernel has a name of its own."""
    in_order = sorted(found, key=lambda candidate: candidate.predicted_us)
    return [replace(c, kernel=replace(c.kernel, name=f"{kernel.name}_{c.name}".replace(" ", "_"))) for c in in_order]


@lru_cache(16)
def variants(kernel: Kernel) -> dict[str, Kernel]:
    """The kernel after all rewrites that pay wherever they apply, and after those that may not."""
    stored = optimize(kernel)
    computed = optimize(optimize(stored, (recompute,)))
    one_pass = optimize(optimize(computed, (online,)))
    return {name: k for k, name in {one_pass: "online", computed: "recomputed", stored: "stored"}.items()}


@lru_cache(16)
def stages(kernel: Kernel) -> dict[str, Kernel]:
    """The kernel as it came, and after a few of the rewrites that make the stored variant of it."""
    found = path(kernel)
    places = {round(step * (len(found) - 1) / _STAGES) for step in range(_STAGES)}
    named = {f"after_{place}_of_{len(found) - 1}": found[place] for place in sorted(places)}
    return {name: optimize(stage, (drop_dead, drop_round_trip)) for name, stage in named.items()}


def measure(
    calls: Sequence[Callable[[], object]], budget_s: float | None = None, before: Callable[[], object] | None = None
) -> list[float]:
    """Lower quartile of the microseconds of each call, `before` each of which something may run.

    They take turns, so that what disturbs one disturbs all.
    """
    for call in calls:
        call()
    samples: list[list[float]] = [[] for _ in calls]
    until = time.perf_counter() + (budget_s or BUDGET_S)
    while len(samples[0]) < 5 or (time.perf_counter() < until and len(samples[0]) < MOST_ROUNDS):
        for own, call in zip(samples, calls, strict=True):
            if before is not None:
                before()
            begin = time.perf_counter_ns()
            call()
            own.append((time.perf_counter_ns() - begin) / 1e3)
    return [statistics.quantiles(own, n=4)[0] for own in samples]
