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
import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bench_engine.measure import counted, ratios, starts
from bench_engine.trial import State, Stop, TrialResult

StopReason = Literal["noise_target", "noise_stable", "time_cap", "fixed_count"]

SAMPLE_NS = 50_000
MAX_CALLS_PER_SAMPLE = 1000
WARM_UP_NS = 50_000_000
WARM_UP_CALLS = (3, 1000)  # at least, at most
TURN_NS = 5_000_000
TURN_SAMPLES = (2, 32)  # at least, at most; many short turns tell more about a difference than few long ones
# Calls before a turn that are not timed: a whole rotation of the request batches and the least time, but no more than
# the longest, in which memory fills a cache of 64 MB. Without them the first calls of a turn are slower by half.
TURN_WARM_UP_NS = (1_000_000, 8_000_000)
MAX_TURNS = 200
# A shorter glimpse cannot tell noise from drift; where little time is given, so much of it but for a least.
LEAST_NS, LEAST_SHARE, SHORTEST_NS = 200_000_000, 1 / 15, 20_000_000
CHECK_GROWTH = 1.2  # the noise is looked at again when there are so many times more samples
STABLE_CHECKS, STABLE_CHANGE = 4, 0.05
PROBE_CHANCE = 0.25  # of a turn; half of it where turns hold few samples, for a probe is some calls


@dataclass(frozen=True)
class Timing:
    """What was measured.

    Attributes:
        samples_us: µs per call, in the order they were taken.
        turn_sizes: number of samples of each turn, in order.
        stop_reason: noise_target, noise_stable, time_cap, or fixed_count (the number of samples was given, or that of
            the turns reached MAX_TURNS).
        calls_per_sample: calls whose mean is one sample.
        counts: what the processor counted in further calls, which were not timed (see `counted`).
    """

    samples_us: tuple[float, ...]
    turn_sizes: tuple[int, ...]
    stop_reason: StopReason
    calls_per_sample: int = 1
    counts: Mapping[str, Any] = field(default_factory=dict)

    def result(self, metrics: Mapping[str, Any], environment: Mapping[str, Any]) -> TrialResult:
        """The result of a trial with these timings."""
        return TrialResult(
            "ok",
            metrics=metrics,
            samples_us=self.samples_us,
            turn_sizes=self.turn_sizes,
            stop_reason=self.stop_reason,
            environment={
                **environment,
                **self.counts,
                "calls_per_sample": self.calls_per_sample,
                "outliers": outliers(self.samples_us),
            },
        )


class Sampler:
    """Takes samples of `call(i)`, i = 0, 1, 2, ..., turn by turn, and knows when there are enough.

    At least `stop.min_samples` samples are taken. Then there are enough, whichever comes first, when
    - noise_target: IQR / median is at or below `stop.noise_target`, and timing has taken LEAST_NS;
    - noise_stable: over STABLE_CHECKS looks, with CHECK_GROWTH times more samples each, it changed by less than
      STABLE_CHANGE of itself, so that more samples would not lower it, and timing has taken LEAST_NS;
    - time_cap: timing has taken `stop.max_seconds`;
    - fixed_count: there were MAX_TURNS turns. This one needs no clock, so a broken clock cannot hang the loop.
    Further turns may be taken all the same, so that other methods have a partner in theirs: each turn has the same
    number of samples, so that no turn weighs more in the median on one side than on the other.
    """

    def __init__(
        self,
        call: Callable[[int], object],
        stop: Stop,
        flush: Callable[[], object] | None = None,
        period: int = 1,
        clock: Callable[[], int] = time.perf_counter_ns,
        probe: Callable[[int, int], object] | None = None,
        counting: bool = True,
    ) -> None:
        """Warms up.

        Args:
            call: what is timed; its argument counts the calls, warm-up included, and picks the request batch.
            stop: the stop rule.
            flush: empties the caches, for cold timings; None for warm ones.
            period: number of request batches in rotation.
            clock: time in ns.
            probe: looks at the call outside the clock, between two samples of turns drawn by chance; its arguments are
                the turn, from 1 on, and how many calls there were. What it raises ends the turn.
            counting: whether further calls may follow the last turn, of which the processor counts what it does.
        """
        self._call = call
        self._stop = stop
        self._flush = flush
        self._period = period
        self._clock = clock
        self._probe = probe
        self._counting = counting
        self._chance = random.SystemRandom()  # no seed that the call could know
        self._done = 0
        self._samples: list[float] = []
        self._turn_sizes: list[int] = []
        self._noises: list[float] = []
        self._next_check = stop.min_samples
        self._timed_ns = 0
        self._least_ns = min(LEAST_NS, max(SHORTEST_NS, stop.max_seconds * 1e9 * LEAST_SHARE))
        self._reason: StopReason | None = None
        self._counts: Mapping[str, Any] = {}
        self._calls_per_sample, self._turn_samples = self._warm_up()

    @property
    def state(self) -> State:
        """more: turns are needed; enough: more may be taken."""
        return "more" if self._reason is None else "enough"

    @property
    def timing(self) -> Timing:
        """What was measured so far; `time_cap` where it was ended before its stop rule was met."""
        reason = self._reason or "time_cap"
        return Timing(tuple(self._samples), tuple(self._turn_sizes), reason, self._calls_per_sample, self._counts)

    def turns(self) -> Generator[State, bool, Timing]:
        """A turn each time it is sent True; returns what was measured."""
        while (yield self.state):
            self.turn()
        self.count()
        return self.timing

    def count(self) -> None:
        """After the last turn: some calls that are not timed, of which the processor counts what it does."""
        if self._samples and self._counting:
            calls = counted.calls_for(1e3 * float(np.median(self._samples)), self._period)
            self._counts = counted.counted(self._call, self._done, calls, self._flush)
            self._done += calls

    def turn(self) -> None:
        """Take some samples, and look at the stop rule."""
        call, clock, flush, calls = self._call, self._clock, self._flush, self._calls_per_sample
        if flush is None:
            least_ns, most_ns = TURN_WARM_UP_NS
            self._untimed_calls(self._period, least_ns, most_ns)
        done = self._done
        times_ns: list[int] = []
        probed, probing_ns = self._moment(), 0
        begin = end = clock()
        for number in range(self._turn_samples):  # what stands here takes time between samples: as little as can be
            if number == probed:
                self._probe(len(self._turn_sizes) + 1, done)  # type: ignore[misc]
                probing_ns = clock() - end
            if flush is not None:
                flush()
            start = clock()
            for index in range(done, done + calls):
                call(index)
            end = clock()
            done += calls
            times_ns.append(end - start)
        self._done = done
        self._samples += [round(ns / 1e3 / calls, 4) for ns in times_ns]
        self._turn_sizes.append(len(times_ns))
        self._timed_ns += max(0, end - begin - probing_ns)
        if self._reason is None:
            self._reason = self._look()

    def _moment(self) -> int:
        """The sample before which there is a probe in this turn; -1 for none."""
        count = self._turn_samples
        chance = PROBE_CHANCE if count > 2 * TURN_SAMPLES[0] else PROBE_CHANCE / 2
        return self._chance.randrange(count) if self._probe and self._chance.random() < chance else -1

    def _untimed_calls(self, least: int, least_ns: int, most_ns: int) -> float:
        """Calls whose times are not kept: `least` of them in at least `least_ns`, but none after `most_ns`. Returns the
        time of the fastest in ns."""
        fastest = math.inf
        begin = self._clock()
        for number in range(1, WARM_UP_CALLS[1] + 1):
            start = self._clock()
            self._call(self._done)
            end = self._clock()
            self._done += 1
            fastest = min(fastest, end - start)
            if number >= least and (end - begin >= least_ns or fastest <= 0):  # or a clock that stands still
                break
            if end - begin >= most_ns:
                break
        return fastest

    def _warm_up(self) -> tuple[int, int]:
        """Returns the number of calls per sample and of samples per turn."""
        least, _ = WARM_UP_CALLS
        fastest = self._untimed_calls(least, WARM_UP_NS, max(WARM_UP_NS, int(self._stop.max_seconds * 1e9)))
        low, high = TURN_SAMPLES
        if fastest <= 0:  # the clock stands still or runs backwards
            return 1, high
        calls = 1 if self._flush is not None else min(MAX_CALLS_PER_SAMPLE, math.ceil(SAMPLE_NS / fastest))
        return calls, max(low, min(high, round(TURN_NS / (calls * fastest))))

    def _look(self) -> StopReason | None:
        count = len(self._samples)
        if count < self._stop.min_samples:
            return None
        if count >= self._next_check:
            self._noises.append(noise(self._samples))
            self._next_check = math.ceil(count * CHECK_GROWTH)
            if self._timed_ns >= self._least_ns and (reason := _quiet(self._noises, self._stop.noise_target)):
                return reason
        if self._timed_ns >= self._stop.max_seconds * 1e9:
            return "time_cap"
        return "fixed_count" if len(self._turn_sizes) >= MAX_TURNS else None


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


def summarize(
    samples_us: Sequence[float], turn_sizes: Sequence[int] = (), seed: int = 0, start_turns: Sequence[int] = ()
) -> dict[str, float | int]:
    """Statistics of timings in µs, under the names of the result columns.

    latency_us is the median, of several starts the geometric mean of theirs; latency_ci_low_us to latency_ci_high_us is
    its 95 % interval (see `starts`), None where there are too few samples for one.

    Raises ValueError when there is no sample, one is negative or not finite, or the median is 0.
    """
    samples = np.asarray(samples_us, dtype=float)
    if samples.size == 0:
        raise ValueError("There are no timings to summarize: take at least one sample.")
    if not np.isfinite(samples).all() or (samples < 0).any():
        raise ValueError("A timing is negative or not finite: the clock of this machine cannot be trusted.")
    p10, median, p90, p95, p99 = (float(p) for p in np.percentile(samples, (10, 50, 90, 95, 99)))
    if median == 0:
        raise ValueError("The median time is 0: the clock of this machine is too coarse for this call.")
    interval = starts.median(starts.by_start(ratios.turns(samples, turn_sizes), start_turns), seed)
    return {
        "latency_us": interval.value,
        "latency_p10_us": p10,
        "latency_p90_us": p90,
        "latency_p95_us": p95,
        "latency_p99_us": p99,
        **({"latency_ci_low_us": interval.low, "latency_ci_high_us": interval.high} if interval.known else {}),
        "sample_count": int(samples.size),
        "noise": noise(samples),
    }
