"""Timing against a clock that the test moves."""

import math

import numpy as np
import pytest

from bench_engine.measure import measure
from bench_engine.measure.measure import Sampler, Timing, noise, outliers, summarize
from bench_engine.trial import Stop

MS = 1_000_000


def time_calls(call, stop, **more) -> Timing:
    """Turns until the stop rule is met, with nobody else."""
    sampler = Sampler(call, stop, **more)
    while sampler.state == "more":
        sampler.turn()
    return sampler.timing


class Clock:
    """A clock in ns that only a call moves, by `cost(i)`."""

    def __init__(self, cost):
        self.now = 0
        self.cost = cost
        self.calls = []

    def call(self, index):
        self.calls.append(index)
        self.now += self.cost(index)

    def __call__(self):
        return self.now

    def time(self, stop):
        return time_calls(self.call, stop, clock=self)


def test_constant_calls_stop_at_the_noise_target():
    clock = Clock(lambda i: 10 * MS)
    timing = clock.time(Stop(min_samples=10, max_seconds=60, noise_target=0.02))
    assert timing.stop_reason == "noise_target"
    assert set(timing.samples_us) == {10_000.0}
    assert 20 <= len(timing.samples_us) <= 30  # LEAST_NS has passed, and not much more


def test_noise_that_stays_stops_as_stable():
    timing = Clock(lambda i: (1 + i % 2) * 10 * MS).time(Stop(10, 60, 0.02))
    assert timing.stop_reason == "noise_stable"
    assert noise(timing.samples_us) > 0.5


def test_time_cap_holds_when_noise_does_not_settle():
    clock = Clock(lambda i: (1 + i % 2) * 10 * MS)
    timing = clock.time(Stop(min_samples=5, max_seconds=0.1, noise_target=0.02))
    assert timing.stop_reason == "time_cap"
    assert 100 <= sum(timing.samples_us) / 1e3 < 130


def test_min_samples_come_before_the_time_cap():
    timing = Clock(lambda i: 50 * MS).time(Stop(min_samples=12, max_seconds=0.001, noise_target=0.0))
    assert len(timing.samples_us) == 12


def test_quiet_calls_are_still_watched_for_a_while():
    timing = Clock(lambda i: MS).time(Stop(min_samples=3, max_seconds=60, noise_target=0.5))
    assert sum(timing.samples_us) * 1e3 >= measure.LEAST_NS


def test_short_calls_share_a_sample_and_stay_per_call():
    clock = Clock(lambda i: 1000)
    timing = clock.time(Stop(10, 60, 0.02))
    assert timing.calls_per_sample == measure.SAMPLE_NS // 1000
    assert set(timing.samples_us) == {1.0}


def test_every_call_gets_the_next_index():
    clock = Clock(lambda i: 7000)
    clock.time(Stop(10, 0.01, 0.02))
    assert clock.calls == list(range(len(clock.calls)))


@pytest.mark.parametrize("cost", [0, -1000])
def test_a_broken_clock_cannot_hang_the_loop(cost):
    clock = Clock(lambda i: cost)
    timing = clock.time(Stop())
    assert timing.stop_reason == "fixed_count"
    assert len(timing.turn_sizes) == measure.MAX_TURNS
    assert len(clock.calls) <= 2 * len(timing.samples_us)
    with pytest.raises(ValueError, match="clock"):
        summarize(timing.samples_us)


def test_the_real_clock_measures_something():
    timing = time_calls(lambda i: sum(range(1000)), Stop(min_samples=3, max_seconds=0.01))
    assert all(s > 0 for s in timing.samples_us)


def test_an_error_of_the_call_comes_through():
    with pytest.raises(ZeroDivisionError):
        time_calls(lambda i: 1 // (5 - i), Stop())


def test_summary_of_known_samples():
    found = summarize([float(x) for x in range(1, 102)])
    assert found["latency_us"] == 51
    assert [found[f"latency_p{p}_us"] for p in (10, 90, 95, 99)] == [11, 91, 96, 100]
    assert found["sample_count"] == 101
    assert found["noise"] == pytest.approx(50 / 51)
    assert 35 < found["latency_ci_low_us"] < 51 < found["latency_ci_high_us"] < 75


def test_summary_repeats_for_a_seed_and_not_for_another():
    samples = [1.0, 5.0, 2.0, 9.0, 4.0, 4.5, 7.0, 3.3]
    assert summarize(samples, seed=1) == summarize(samples, seed=1)
    assert any(summarize(samples, seed=1) != summarize(samples, seed=s) for s in range(2, 30))


def test_one_sample_has_no_interval():
    found = summarize([3.0])
    assert (found["latency_us"], found["noise"]) == (3, 0)
    assert "latency_ci_low_us" not in found


def test_the_interval_of_the_median_draws_turns_and_not_samples():
    rng = np.random.default_rng(0)
    turns = rng.lognormal(3, 0.1, 20)
    samples = np.repeat(turns, 32) * rng.lognormal(0, 0.001, 640)
    by_turn, by_sample = summarize(samples, [32] * 20), summarize(samples, [1] * 640)
    widths = [f["latency_ci_high_us"] - f["latency_ci_low_us"] for f in (by_turn, by_sample)]
    assert widths[0] > 1.5 * widths[1]


def test_every_turn_has_as_many_samples_as_the_first():
    clock = Clock(lambda i: MS if i < 2000 else 3 * MS)
    sampler = Sampler(clock.call, Stop(10, 60, 0.0), clock=clock)
    for _ in range(12):
        sampler.turn()
    assert set(sampler.timing.turn_sizes) == {5}


def test_a_turn_starts_with_a_whole_rotation_that_is_not_timed():
    """The first calls after others have used the caches are slow; none of them is a sample."""
    since = [0]

    def cost(_index):
        since[0] += 1
        return 500_000 if since[0] <= 8 else 100_000

    clock = Clock(cost)
    sampler = Sampler(clock.call, Stop(10, 60, 0.0), period=8, clock=clock)
    for _ in range(5):
        since[0] = 0
        sampler.turn()
    assert set(sampler.timing.samples_us) == {100.0}


def test_what_is_not_timed_in_a_turn_has_an_end():
    clock = Clock(lambda _index: 20 * MS)
    sampler = Sampler(clock.call, Stop(10, 60, 0.0), period=8, clock=clock)
    before = len(clock.calls)
    sampler.turn()
    assert len(clock.calls) - before == 1 + 2


def test_turns_go_on_after_the_rule_is_met():
    clock = Clock(lambda _index: MS)
    sampler = Sampler(clock.call, Stop(3, 60, 0.5), clock=clock)
    while sampler.state == "more":
        sampler.turn()
    reason, count = sampler.timing.stop_reason, len(sampler.timing.samples_us)
    sampler.turn()
    assert sampler.state == "enough"
    assert (sampler.timing.stop_reason, len(sampler.timing.samples_us)) == (reason, count + 5)


@pytest.mark.parametrize("bad", [[], [1.0, -0.1], [1.0, math.nan], [math.inf], [0.0, 0.0, 5.0]])
def test_samples_that_cannot_be_are_refused_with_a_sentence(bad):
    with pytest.raises(ValueError, match=r"\.$"):
        summarize(bad)


def test_outliers_are_counted_on_both_sides():
    assert outliers([10.0, 11.0, 12.0, 13.0] * 10 + [100.0, 0.0]) == 2
    assert outliers([5.0, 5.0]) == 0
