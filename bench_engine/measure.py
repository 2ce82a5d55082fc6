"""Times a call: warm-up, a stop rule, and the statistics of what was measured.

The clock is `perf_counter_ns`. A sample is one call, or the mean of several where one call is shorter than
SAMPLE_NS, so that reading the clock (some 50 ns) stays near a thousandth of a sample; percentiles of such samples
are percentiles of means. Caches are warm: as the calls before left them. A call may rotate several request batches by
the index that it is given; then what stays in a cache is what fits of all of them together, not of one. Every sample is
kept; outliers are counted, never dropped.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench_engine.trial import Stop

StopReason = Literal["noise_target", "noise_stable", "time_cap", "fixed_count"]

SAMPLE_NS = 50_000
MAX_CALLS_PER_SAMPLE = 1000
MAX_SAMPLES = 4096
WARM_UP_NS = 50_000_000
WARM_UP_CALLS = (3, 1000)  # at least, at most
LEAST_NS = 200_000_000  # a shorter glimpse cannot tell noise from drift
CHECK_GROWTH = 1.2  # the noise is looked at again when there are so many times more samples
STABLE_CHECKS, STABLE_CHANGE = 4, 0.05
BOOTSTRAP_ROUNDS = 1000


@dataclass(frozen=True)
class Timing:
    """What was measured.

    Attributes:
        samples_us: µs per call, in the order they were taken.
        stop_reason: noise_target, noise_stable, time_cap, or fixed_count (the number of samples was given or reached
            MAX_SAMPLES).
        calls_per_sample: calls whose mean is one sample.
    """

    samples_us: tuple[float, ...]
    stop_reason: StopReason
    calls_per_sample: int = 1


def time_calls(call: Callable[[int], object], stop: Stop, clock: Callable[[], int] = time.perf_counter_ns) -> Timing:
    """Time `call(i)` for i = 0, 1, 2, ... until the stop rule is met.

    At least `stop.min_samples` samples are taken. Then sampling ends, whichever comes first, when
    - noise_target: IQR / median is at or below `stop.noise_target`, and timing has taken LEAST_NS;
    - noise_stable: over STABLE_CHECKS looks, with CHECK_GROWTH times more samples each, it changed by less than
      STABLE_CHANGE of itself, so that more samples would not lower it, and timing has taken LEAST_NS;
    - time_cap: timing has taken `stop.max_seconds`;
    - fixed_count: there are MAX_SAMPLES samples. This one needs no clock, so a broken clock cannot hang the loop.

    Args:
        call: what is timed; its argument counts the calls, warm-up included, and picks the request batch.
        stop: the stop rule.
        clock: time in ns.
    """
    done, calls_per_sample = _warm_up(call, clock)
    samples: list[float] = []
    noises: list[float] = []
    next_check = stop.min_samples
    most = max(MAX_SAMPLES, stop.min_samples)
    begin = clock()
    while True:
        start = clock()
        for index in range(done, done + calls_per_sample):
            call(index)
        end = clock()
        done += calls_per_sample
        samples.append((end - start) / 1e3 / calls_per_sample)
        reason: StopReason | None = None
        if len(samples) >= stop.min_samples:
            if len(samples) >= next_check:
                noises.append(noise(samples))
                next_check = math.ceil(len(samples) * CHECK_GROWTH)
                if end - begin >= LEAST_NS:
                    reason = _quiet(noises, stop.noise_target)
            if reason is None and end - begin >= stop.max_seconds * 1e9:
                reason = "time_cap"
            if reason is None and len(samples) >= most:
                reason = "fixed_count"
        if reason is not None:
            return Timing(tuple(samples), reason, calls_per_sample)


def _warm_up(call: Callable[[int], object], clock: Callable[[], int]) -> tuple[int, int]:
    """(calls made, calls per sample)."""
    least, most = WARM_UP_CALLS
    begin = clock()
    fastest = math.inf
    for done in range(1, most + 1):
        start = clock()
        call(done - 1)
        end = clock()
        fastest = min(fastest, end - start)
        if done >= least and end - begin >= WARM_UP_NS:
            break
    if fastest <= 0:  # the clock stands still or runs backwards
        return done, 1
    return done, min(MAX_CALLS_PER_SAMPLE, math.ceil(SAMPLE_NS / fastest))


def _quiet(noises: Sequence[float], target: float) -> StopReason | None:
    if noises[-1] <= target:
        return "noise_target"
    last = noises[-STABLE_CHECKS:]
    if len(last) == STABLE_CHECKS and max(last) - min(last) <= STABLE_CHANGE * max(last):
        return "noise_stable"
    return None


def noise(samples_us: Sequence[float] | np.ndarray) -> float:
    """IQR / median, a fraction; infinite where the median is 0."""
    low, median, high = np.percentile(samples_us, (25, 50, 75))
    return float((high - low) / median) if median > 0 else math.inf


def outliers(samples_us: Sequence[float]) -> int:
    """Number of samples beyond Tukey's far fences: more than 3 IQR outside the quartiles."""
    samples = np.asarray(samples_us, dtype=float)
    low, high = np.percentile(samples, (25, 75))
    fence = 3 * (high - low)
    return int(((samples < low - fence) | (samples > high + fence)).sum())


def summarize(samples_us: Sequence[float], seed: int = 0) -> dict[str, float | int]:
    """Statistics of timings in µs, under the names of the result columns.

    latency_us is the median; the interval from latency_ci_low_us to latency_ci_high_us is its 95 % percentile
    bootstrap (Efron 1979), seeded.

    Raises ValueError when there is no sample, one is negative or not finite, or the median is 0.
    """
    samples = np.asarray(samples_us, dtype=float)
    if samples.size == 0:
        raise ValueError("There are no timings to summarize: take at least one sample.")
    if not np.isfinite(samples).all() or (samples < 0).any():
        raise ValueError("A timing is negative or not finite: the clock of this machine cannot be trusted.")
    p10, median, p90, p99 = (float(p) for p in np.percentile(samples, (10, 50, 90, 99)))
    if median == 0:
        raise ValueError("The median time is 0: the clock of this machine is too coarse for this call.")
    rng = np.random.default_rng(seed)
    medians = [np.median(rng.choice(samples, samples.size)) for _ in range(BOOTSTRAP_ROUNDS)]
    ci_low, ci_high = (float(p) for p in np.percentile(medians, (2.5, 97.5)))
    return {
        "latency_us": median,
        "latency_p10_us": p10,
        "latency_p90_us": p90,
        "latency_p99_us": p99,
        "latency_ci_low_us": ci_low,
        "latency_ci_high_us": ci_high,
        "sample_count": int(samples.size),
        "noise": noise(samples),
    }
