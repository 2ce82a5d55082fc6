"""The candidates for a kernel: variants of its GIR and strategies, ranked by the cost model; the best are measured."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from bench_engine.kernels.gir.cost import Machine, predict
from bench_engine.kernels.gir.ir import Kernel, instructions
from bench_engine.kernels.gir.rewrites import online, optimize, recompute
from bench_engine.kernels.gir.strategy import Strategy, schedule, tiles

MEASURED = 8  # candidates
_BUDGET_S, _MOST_ROUNDS = 0.25, 60
_STREAMED = 4  # times the L2 cache that outputs must hold


@dataclass(frozen=True)
class Candidate:
    """A scheduled kernel, what it is called, and the microseconds that the model gives it."""

    name: str
    kernel: Kernel
    predicted_us: float


def candidates(kernel: Kernel, batch: int, threads: int, width: int, on: Machine) -> list[Candidate]:
    """The most promising candidates, best first."""
    found: dict[Kernel, Candidate] = {}
    for variant, body in _variants(kernel):
        for strategy in _strategies(body, batch, threads, width, on):
            scheduled = schedule(body, strategy)
            if any(i.op == "sumexp" and around[-1].vec == 1 for i, around in instructions(scheduled.body)):
                continue  # which lives on vectors
            said = f"{variant} unroll {strategy.unroll}" + (" stream" if strategy.stream else "")
            said += (f" tile {strategy.tile}" if strategy.tile > 1 else "") + f" grain {strategy.grain}"
            found.setdefault(scheduled, Candidate(said, scheduled, predict(scheduled, batch, threads, on)))
    ranked = sorted(found.values(), key=lambda candidate: candidate.predicted_us)
    # Of each variant, on threads and on one: what a fork costs depends on who else is on the machine.
    firsts = {(c.name.split()[0], c.name.endswith("grain 0")): c for c in reversed(ranked)}.values()
    best = sorted(ranked, key=lambda c: (not any(c is first for first in firsts), c.predicted_us))[:MEASURED]
    best.sort(key=lambda candidate: candidate.predicted_us)
    return [replace(c, kernel=replace(c.kernel, name=f"{kernel.name}_{n}")) for n, c in enumerate(best)]


def _variants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    stored = optimize(kernel)
    yield "stored", stored
    computed = optimize(stored, (recompute,))
    if computed != stored:
        yield "recomputed", optimize(computed)
        one_pass = optimize(optimize(computed, (online,)))
        if one_pass != optimize(computed):
            yield "online", one_pass


def _strategies(kernel: Kernel, batch: int, threads: int, width: int, on: Machine) -> Iterator[Strategy]:
    written = sum(4 * buffer.elements.at(batch) for buffer in kernel.named("output"))
    # A store past the caches is slow where its line is in one, as those of an output are that was just freed.
    streams = (False, True) if written > _STREAMED * on.caches.l2 else (False,)
    grains = (1 << 15, 1 << 17, 0) if threads > 1 else (0,)
    rows = (1, width) if tiles(kernel) else (1,)
    for unroll, stream, tile, grain in product((1, 2, 4), streams, rows, grains):
        yield Strategy(width, unroll, stream, tile, grain)


def measure(calls: Sequence[Callable[[], object]], budget_s: float = _BUDGET_S) -> list[float]:
    """Lower quartile of the microseconds of each call; they take turns, so that what disturbs one disturbs all."""
    for call in calls:
        call()
    samples: list[list[float]] = [[] for _ in calls]
    until = time.perf_counter() + budget_s
    while len(samples[0]) < 5 or (time.perf_counter() < until and len(samples[0]) < _MOST_ROUNDS):
        for own, call in zip(samples, calls, strict=True):
            begin = time.perf_counter_ns()
            call()
            own.append((time.perf_counter_ns() - begin) / 1e3)
    return [statistics.quantiles(own, n=4)[0] for own in samples]
