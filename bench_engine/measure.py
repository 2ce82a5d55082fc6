"""Times a call: warm-up, turns, a stop rule, and the statistics of what was measured.

The clock is `perf_counter_ns`. Samples are taken in turns of some milliseconds, between which other processes have
theirs; a turn starts with calls that are not timed, so that what the others left in the caches is not measured.

Warm: caches are as the calls before left them, and a sample is one call, or the mean of several where one is shorter
than SAMPLE_NS, so that reading the clock (some 50 ns) stays near a thousandth of a sample; percentiles of such samples
are percentiles of means. Cold: `flush` empties the caches before each call, and a sample is one call.

A call may rotate several request batches by the index that it is given; then what stays in a cache is what fits of all
of them together, not of one. Every sample is kept; outliers are counted, never dropped.
"""

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench_engine.trial import Stop, TrialResult

StopReason = Literal["noise_target", "noise_stable", "time_cap", "fixed_count"]
State = Literal["more", "enough", "ended"]
# What a benchmark's `run(trial)` is: it sets up, yields its state, and does a turn each time it is sent True; sent
# False, or when nothing is left to do, it returns the result. One that cannot begin returns without a yield.
Run = Generator[State, bool, TrialResult]

SAMPLE_NS = 50_000
MAX_CALLS_PER_SAMPLE = 1000
MAX_SAMPLES = 4096
WARM_UP_NS = 50_000_000
WARM_UP_CALLS = (3, 1000)  # at least, at most
TURN_NS = 5_000_000
TURN_SAMPLES = (2, 32)  # at least, at most; many short turns tell more about a difference than few long ones
TURN_WARM_UP_NS = 1_000_000  # reads some 10 MB, of what was in the caches before the others had their turns
LEAST_NS = 200_000_000  # a shorter glimpse cannot tell noise from drift
CHECK_GROWTH = 1.2  # the noise is looked at again when there are so many times more samples
STABLE_CHECKS, STABLE_CHANGE = 4, 0.05
BOOTSTRAP_ROUNDS = 1000


@dataclass(frozen=True)
class Timing:
    """What was measured.

    Attributes:
        samples_us: µs per call, in the order they were taken.
        turn_sizes: number of samples of each turn, in order.
        stop_reason: noise_target, noise_stable, time_cap, or fixed_count (the number of samples was given or reached
            MAX_SAMPLES).
        calls_per_sample: calls whose mean is one sample.
    """

    samples_us: tuple[float, ...]
    turn_sizes: tuple[int, ...]
    stop_reason: StopReason
    calls_per_sample: int = 1


class Sampler:
    """Takes samples of `call(i)`, i = 0, 1, 2, ..., turn by turn, and knows when there are enough.

    At least `stop.min_samples` samples are taken. Then there are enough, whichever comes first, when
    - noise_target: IQR / median is at or below `stop.noise_target`, and timing has taken LEAST_NS;
    - noise_stable: over STABLE_CHECKS looks, with CHECK_GROWTH times more samples each, it changed by less than
      STABLE_CHANGE of itself, so that more samples would not lower it, and timing has taken LEAST_NS;
    - time_cap: timing has taken `stop.max_seconds`;
    - fixed_count: there are MAX_SAMPLES samples. This one needs no clock, so a broken clock cannot hang the loop.
    After noise_target and noise_stable further turns may be taken, so that another method has a partner in its turns;
    after the other two it has ended.
    """

    def __init__(
        self,
        call: Callable[[int], object],
        stop: Stop,
        flush: Callable[[], object] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """Warms up.

        Args:
            call: what is timed; its argument counts the calls, warm-up included, and picks the request batch.
            stop: the stop rule.
            flush: empties the caches, for cold timings; None for warm ones.
            clock: time in ns.
        """
        self._call = call
        self._stop = stop
        self._flush = flush
        self._clock = clock
        self._done = 0
        self._samples: list[float] = []
        self._turn_sizes: list[int] = []
        self._noises: list[float] = []
        self._next_check = stop.min_samples
        self._timed_ns = 0
        self._reason: StopReason | None = None
        self._calls_per_sample = self._warm_up()

    @property
    def state(self) -> State:
        """more: turns are needed; enough: more may be taken; ended: no more are to be taken."""
        if self._reason is None:
            return "more"
        return "enough" if self._reason in ("noise_target", "noise_stable") and not self._capped() else "ended"

    @property
    def timing(self) -> Timing:
        """What was measured so far; `time_cap` where it was ended before its stop rule was met."""
        return Timing(tuple(self._samples), tuple(self._turn_sizes), self._reason or "time_cap", self._calls_per_sample)

    def turn(self) -> None:
        """Take some samples, and look at the stop rule."""
        call, clock, flush, calls = self._call, self._clock, self._flush, self._calls_per_sample
        least, most = TURN_SAMPLES
        if flush is None:
            self._untimed_calls(until=clock() + TURN_WARM_UP_NS, least=1)
        done = self._done
        times_ns: list[int] = []
        begin = clock()
        while True:  # what stands here takes time between samples, so it is as little as can be
            if flush is not None:
                flush()
            start = clock()
            for index in range(done, done + calls):
                call(index)
            end = clock()
            done += calls
            times_ns.append(end - start)
            if len(times_ns) >= least and (end - begin >= TURN_NS or len(times_ns) >= most):
                break
        self._done = done
        self._samples += [round(ns / 1e3 / calls, 4) for ns in times_ns]
        self._turn_sizes.append(len(times_ns))
        self._timed_ns += max(0, end - begin)
        if self._reason is None:
            self._reason = self._look()

    def _untimed_calls(self, until: int, least: int) -> float:
        """Calls whose times are not kept. Returns that of the fastest in ns."""
        fastest = math.inf
        for number in range(1, WARM_UP_CALLS[1] + 1):
            start = self._clock()
            self._call(self._done)
            end = self._clock()
            self._done += 1
            fastest = min(fastest, end - start)
            if number >= least and (end >= until or fastest <= 0):  # or a clock that stands still
                break
        return fastest

    def _warm_up(self) -> int:
        """Returns the number of calls per sample."""
        fastest = self._untimed_calls(until=self._clock() + WARM_UP_NS, least=WARM_UP_CALLS[0])
        if fastest <= 0 or self._flush is not None:  # the clock stands still or runs backwards; or calls are cold
            return 1
        return min(MAX_CALLS_PER_SAMPLE, math.ceil(SAMPLE_NS / fastest))

    def _look(self) -> StopReason | None:
        count = len(self._samples)
        if count < self._stop.min_samples:
            return None
        if count >= self._next_check:
            self._noises.append(noise(self._samples))
            self._next_check = math.ceil(count * CHECK_GROWTH)
            if self._timed_ns >= LEAST_NS and (reason := _quiet(self._noises, self._stop.noise_target)):
                return reason
        if self._capped():
            return "time_cap" if self._timed_ns >= self._stop.max_seconds * 1e9 else "fixed_count"
        return None

    def _capped(self) -> bool:
        most = max(MAX_SAMPLES, self._stop.min_samples)
        return self._timed_ns >= self._stop.max_seconds * 1e9 or len(self._samples) >= most


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


def bootstrap_medians(samples_us: np.ndarray, turn_sizes: Sequence[int], seed: int) -> np.ndarray:
    """Medians of BOOTSTRAP_ROUNDS resamplings: of turns where there are several, else of samples."""
    sizes = [size for size in turn_sizes if size]
    if len(sizes) < 2:
        sizes = [1] * samples_us.size
    order = np.argsort(samples_us)
    sorted_samples, turn = samples_us[order], np.repeat(np.arange(len(sizes)), sizes)[order]
    rng = np.random.default_rng(seed)
    medians = np.empty(BOOTSTRAP_ROUNDS)
    for part in np.array_split(np.arange(BOOTSTRAP_ROUNDS), 10):  # in parts, so that memory stays small
        drawn = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=part.size)
        count = np.cumsum(drawn[:, turn], axis=1)
        total = count[:, -1:]
        lower, upper = (2 * count >= total).argmax(axis=1), (2 * count > total).argmax(axis=1)
        medians[part] = (sorted_samples[lower] + sorted_samples[upper]) / 2
    return medians


def summarize(samples_us: Sequence[float], turn_sizes: Sequence[int] = (), seed: int = 0) -> dict[str, float | int]:
    """Statistics of timings in µs, under the names of the result columns.

    latency_us is the median; the interval from latency_ci_low_us to latency_ci_high_us is its 95 % percentile
    bootstrap (Efron 1979), seeded. Where there are several turns, turns are drawn and not samples: what disturbs one
    sample disturbs its neighbours, and single samples would make the interval too narrow.

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
    ci_low, ci_high = (float(p) for p in np.percentile(bootstrap_medians(samples, turn_sizes, seed), (2.5, 97.5)))
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
