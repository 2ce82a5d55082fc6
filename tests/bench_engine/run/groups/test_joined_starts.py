"""Starts joined: one result, its numbers over all of them, and how many there are to be."""

from dataclasses import replace

import pytest

from bench_engine.run.groups import joined_starts
from bench_engine.run.groups.joined_starts import Spent, another, joined, share
from bench_engine.trial import Paired, Stop, Trial, TrialResult


def start(us: float, turns: int = 4, **more: object) -> TrialResult:
    rates = {"samples_per_s": 1e6 / us, "bandwidth_share": 9 / us}
    metrics = {"latency_us": us, **rates, "memory_mb": 3.0, "max_abs_error": us / 1e9}
    samples = tuple(us * (1 + 0.001 * i) for i in range(-turns, turns))
    environment = {"checks_in_turns": 2, "checks_s": 0.25}
    return TrialResult(
        "ok", metrics, samples, (), "noise_target", environment=environment, turn_sizes=(2,) * turns, **more
    )


def test_one_start_stays_what_it_is() -> None:
    assert joined([start(100)]) == start(100)


def test_numbers_are_of_all_starts() -> None:
    whole = joined([start(100), start(121)])
    assert whole.metrics["latency_us"] == pytest.approx(110, rel=1e-2)
    assert whole.metrics["samples_per_s"] == pytest.approx(1e6 / whole.metrics["latency_us"])
    assert whole.metrics["bandwidth_share"] == pytest.approx(9 / whole.metrics["latency_us"])
    assert whole.metrics["max_abs_error"] == 121 / 1e9
    assert whole.metrics["memory_mb"] == 3.0
    assert whole.metrics["latency_ci_low_us"] < 100 < 121 < whole.metrics["latency_ci_high_us"]
    assert whole.samples_us == start(100).samples_us + start(121).samples_us
    assert (whole.start_turns, whole.turn_sizes) == ((4, 4), (2,) * 8)
    assert whole.environment["start_turns"] == [4, 4]
    assert (whole.environment["checks_in_turns"], whole.environment["checks_s"]) == (4, 0.5)


def test_a_start_that_failed_is_the_trial_and_says_which_it_was() -> None:
    failed = TrialResult("failed", error="it is wrong.")
    assert joined([failed, start(100)]) == failed
    assert joined([start(100), failed]).error == "In start 2 of its process: it is wrong."


def test_the_reason_that_promises_least_counts() -> None:
    first, second = start(100), start(100)
    capped = TrialResult(**{**second.__dict__, "stop_reason": "time_cap"})
    assert joined([first, capped]).stop_reason == "time_cap"


def test_a_share_of_the_samples_for_each_start() -> None:
    trial = Trial("lookup", "dense", {"seed": 0}, stop=Stop(42, 3.0, 0.02))
    assert share(trial).stop == Stop(9, 0.6, 0.02)


def unclear(low: float, high: float, verdict: str = "same") -> TrialResult:
    return start(100, paired=Paired(100.0, low, high, verdict))


@pytest.mark.parametrize(
    ("spent", "result", "more"),
    [
        ([Spent(2, 0.5)] * 2, start(100), True),  # at least three, however long they take
        ([Spent(2, 0.5)] * 3, start(100), False),  # more than half of the time would be set-up
        ([Spent(2, 0.5), Spent(0.2, 0.5), Spent(0.2, 0.5)], start(100), True),
        ([Spent(2, 0.5), *[Spent(0.1, 0.5)] * 4], unclear(0.99, 1.01), False),
        ([Spent(2, 0.5), *[Spent(0.1, 0.5)] * 4], unclear(0.9, 1.1, "unclear"), True),
        ([Spent(2, 0.5), *[Spent(0.1, 0.5)] * 4], unclear(1.3, 1.5, "faster"), True),
        ([Spent(60, 0.5), *[Spent(0.1, 0.5)] * 9], unclear(0.9, 1.1, "unclear"), False),  # MOST
    ],
)
def test_how_many_starts(spent: list[Spent], result: TrialResult, more: bool) -> None:
    assert joined_starts.USUAL == 5
    assert another(3, spent, [result]) is more


def test_metrics_of_plug_ins_are_of_all_starts() -> None:
    starts = [replace(start(100), curves=(("norm_ms", 0, value), ("loss", 4, value))) for value in (1.0, 3.0)]
    assert set(joined(starts).curves) == {("norm_ms", 0, 2.0), ("loss", 4, 3.0)}


def test_the_load_is_that_before_the_first_start() -> None:
    starts = [replace(start(100), environment={"load_before": load}) for load in (0.1, 2.4)]
    assert joined(starts).environment["load_before"] == 0.1
