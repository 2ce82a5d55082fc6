"""Records: what a result becomes, and that whatever is journalled can be read back."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_engine import recording
from bench_engine.sweep import parse
from bench_engine.trial import Trial, TrialResult
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
        duration_s=1.23456,
        code_version="v",
        machine={"machine_id": "m", "name": "m"},
        sweep=SWEEP,
    )


def test_the_configuration_wins_over_what_a_benchmark_reports() -> None:
    entry = recorded(TrialResult("ok", {"batch_size": 9, "num_rows": 7}))
    assert (entry.trial["batch_size"], entry.trial["num_rows"]) == (4, 7)
    assert (entry.trial_id, entry.trial["duration_s"]) == ("abc-2", 1.235)


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
