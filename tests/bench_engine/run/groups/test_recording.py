"""Records: what a result becomes, and that whatever is journalled can be read back."""

import dataclasses
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_engine.run.groups import recording
from bench_engine.sweep.sweep import parse
from bench_engine.trial import Stop, Trial, TrialResult
from db.record import from_json

TRIAL = Trial("lookup", "dense", {"batch_size": 4, "compression": 1.0, "seed": 0})
SWEEP = {"sweep_id": "s", "name": "s", "spec": "x", "started_at": datetime(2026, 1, 2)}


def recorded(result: TrialResult):
    return recording.record(
        TRIAL,
        result,
        identity="abc",
        attempt=2,
        started_at=datetime(2026, 1, 2, 3, 4, 5),
        code_version="v",
        machine={"machine_id": "m", "name": "m"},
        sweep=SWEEP,
    )


def test_the_configuration_wins_over_what_a_benchmark_reports() -> None:
    entry = recorded(TrialResult("ok", {"batch_size": 9, "num_rows": 7}, seconds=1.23456, group_id="g"))
    assert (entry.trial["batch_size"], entry.trial["num_rows"]) == (4, 7)
    assert (entry.trial_id, entry.trial["duration_s"], entry.trial["group_id"]) == ("abc-2", 1.235, "g")


def test_the_record_holds_what_was_planned_as_hashes_that_a_report_cannot_change() -> None:
    ok = recorded(TrialResult("ok", {"batch_size": 9, "num_rows": 7, "device": "cpu"}))
    failed = recorded(TrialResult("failed", error="x"))
    for name, expected in (("configuration", TRIAL.configuration()), ("comparison", TRIAL.comparison())):
        assert re.fullmatch("[0-9a-f]{12}", expected)
        assert ok.trial[name] == failed.trial[name] == expected


@pytest.mark.parametrize(
    ("changes", "same_configuration", "same_comparison"),
    [
        ({"stop": Stop(1), "time_limit_s": 1.0, "is_baseline": True}, True, True),
        ({"method": "hashed"}, False, True),
        ({"config": {**TRIAL.config, "compression": 0.5}}, False, True),
        ({"config": {**TRIAL.config, "seed": 1}}, False, True),
        ({"config": {**TRIAL.config, "block_size": 8}}, False, True),
        ({"config": {**TRIAL.config, "batch_size": 8}}, False, False),
        ({"config": {**TRIAL.config, "dataset": "synthetic"}}, False, False),
        ({"benchmark": "training"}, False, False),
    ],
)
def test_what_makes_the_same_configuration_and_the_same_work(
    changes: dict, same_configuration: bool, same_comparison: bool
) -> None:
    other = dataclasses.replace(TRIAL, **changes)
    assert (other.configuration() == TRIAL.configuration()) == same_configuration
    assert (other.comparison() == TRIAL.comparison()) == same_comparison


def test_sweep_row_tells_overrides_apart() -> None:
    sweep = parse("benchmark: lookup\nmethods: [dense]\n", "s")
    plain = recording.sweep_row(sweep, (), datetime(2026, 1, 1))
    changed = recording.sweep_row(sweep, ("seeds=2",), datetime(2026, 1, 1))
    assert plain["spec"] == sweep.text
    assert changed["spec"].endswith("\n# -p seeds=2\n")
    assert plain["sweep_id"] != changed["sweep_id"]


def test_now_is_naive_utc() -> None:
    assert abs((datetime.now(UTC).replace(tzinfo=None) - recording.now()).total_seconds()) < 5


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["latency_us", "sample_count", "auc", "dtype", "odd"]), ANY),
    st.lists(st.floats(), max_size=3),
    st.none() | st.text(),
    ANY,
)
def test_whatever_a_benchmark_reports_can_be_read_back(metrics, samples, error, stop_reason) -> None:
    entry = recorded(TrialResult("ok", metrics, tuple(samples), (), stop_reason, error))
    again = from_json(entry.to_json())
    assert again.trial["status"] in ("ok", "failed")
    again.to_json().encode("utf-8")


@pytest.mark.parametrize("environment", [{"x": {1, 2}}, {"x": datetime(2026, 1, 1)}, {"x": object()}])
def test_an_environment_of_any_values_is_text(environment: dict) -> None:
    assert isinstance(recorded(TrialResult("ok", environment=environment)).trial["environment"], str)


def test_only_a_metric_that_may_be_negative_is_recorded_so() -> None:
    assert recording.fault(TrialResult("ok", {"regret": -0.001})) == ""
    assert "memory_mb as -1, which is negative" in recording.fault(TrialResult("ok", {"memory_mb": -1.0}))


def test_more_samples_than_an_entry_holds_are_left_out_and_the_trial_stays() -> None:
    samples = tuple(1.0 + n / 1e6 for n in range(1_000_000))
    entry = recorded(TrialResult("ok", {"latency_us": 1.5}, samples_us=samples, turn_sizes=(500_000, 500_000)))
    assert (entry.status, entry.trial["latency_us"]) == ("ok", 1.5)
    assert entry.samples_us == entry.turn_sizes == ()
    assert "1,000,000 samples are more than an entry" in entry.trial["environment"]
    assert from_json(entry.to_json()).trial_id == entry.trial_id


def test_an_entry_that_is_too_long_without_samples_is_a_failed_trial() -> None:
    entry = recorded(TrialResult("ok", environment={"told": "x" * 9_000_000}))
    assert entry.status == "failed"
    assert "an entry of more than 8 MiB" in entry.trial["error"]
