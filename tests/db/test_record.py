"""Records: the way into JSON and back, and what is refused on the way."""

import json
from datetime import datetime

import pytest
from make_records import make_record

from db.record import NewerFormatError, RecordError, from_json


def changed(**changes: object) -> str:
    entry = json.loads(make_record().to_json())
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = entry
        for parent in parents:
            target = target[parent]
        if value is KeyError:
            del target[last]
        else:
            target[last] = value
    return json.dumps(entry)


def test_round_trip() -> None:
    record = make_record(3, error=None)
    again = from_json(record.to_json())
    assert again.trial == {k: v for k, v in record.trial.items() if v is not None}
    assert (again.samples_us, again.curves) == (record.samples_us, record.curves)
    assert (again.machine, again.sweep) == (record.machine, record.sweep)


def test_unknown_columns_of_a_same_format_are_kept() -> None:
    assert from_json(changed(trial__moon="full")).trial["moon"] == "full"


def test_times_with_a_zone_become_naive_utc() -> None:
    record = from_json(changed(trial__started_at="2026-11-01T02:00:00+02:00"))
    assert record.trial["started_at"] == datetime(2026, 11, 1)


def test_whole_numbers_of_real_columns_become_floats_which_every_table_takes() -> None:
    record = from_json(changed(trial__memory_mb=2**53 + 1, machine__memory_gb=2**60))
    assert type(record.trial["memory_mb"]) is type(record.machine["memory_gb"]) is float


def test_a_newer_format_is_told_apart() -> None:
    with pytest.raises(NewerFormatError, match="newer than this version reads"):
        from_json(changed(format=99))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not whole JSON"),
        (make_record().to_json()[:-40], "not whole JSON"),
        ("[" * 100_000, "not whole JSON"),
        ("[]", "not a journal entry"),
        ('{"format": "1"}', "not a journal entry"),
        ('{"format": 1}', "missing or malformed"),
        (changed(trial__trial_id=KeyError), "missing or malformed"),
        (changed(trial__trial_id=7), "trial_id is not text"),
        (changed(trial__trial_id="0000"), "trial_id '0000' is no identity and attempt"),
        (changed(trial__trial_id="0001-1"), "trial_id '0001-1' is no identity and attempt"),
        (changed(trial__identity="other"), "is no identity and attempt"),
        (changed(trial__configuration=KeyError), "missing or malformed"),
        (changed(trial__comparison=None), "comparison is not text"),
        (changed(trial__status="fine"), "status 'fine' is none of"),
        (changed(trial__latency_us="fast"), "latency_us is not real"),
        (changed(trial__latency_us=float("nan")), "latency_us is not real"),
        (changed(trial__latency_us=True), "latency_us is not real"),
        (changed(trial__latency_us=-1.0), "latency_us is -1, which is negative"),
        (changed(trial__memory_mb=-0.5), "memory_mb is -0.5, which is negative"),
        (changed(trial__sample_count=-3), "sample_count is -3, which is negative"),
        (changed(trial__baseline_latency_us=-1), "baseline_latency_us is -1, which is negative"),
        (changed(trial__latency_us=4.9), "latency_us 4.9 lies outside its samples, 5 to 15"),
        (changed(trial__latency_us=15.1), "latency_us 15.1 lies outside its samples, 5 to 15"),
        (changed(trial__batch_size=1.5), "batch_size is not integer"),
        (changed(sweep__started_at=""), "missing or malformed"),
        (changed(trial__batch_size=2**63), "batch_size is not integer"),
        (changed(trial__method="\ud800"), "method is not text"),
        (changed(trial__environment={"a": 1}), "environment is not text"),
        (changed(trial__error=3), "error is not text"),
        (changed(trial__started_at="yesterday"), "missing or malformed"),
        (changed(samples_us=[1.0, -1.0]), "negative or non-finite timing"),
        (changed(samples_us=[float("inf")]), "negative or non-finite timing"),
        (changed(samples_us=["a"]), "missing or malformed"),
        (changed(curves=[["loss", 1, float("nan")]]), "not finite"),
        (changed(curves=[["loss", 2**70, 1.0]]), "not finite"),
        (changed(curves=[["loss", 1]]), "missing or malformed"),
        (changed(machine__cores="two"), "machine's cores is not integer"),
        (changed(machine__name=["x"]), "machine's name is not text"),
        (changed(machine__name=KeyError), "its machine has no name"),
        (changed(machine=None), "missing or malformed"),
        (changed(sweep__started_at="soon"), "missing or malformed"),
        (changed(sweep__spec={}), "sweep's spec is not text"),
        (changed(sweep__name=None), "its sweep has no name"),
    ],
)
def test_what_cannot_be_used(text: str, words: str) -> None:
    with pytest.raises(RecordError) as caught:
        from_json(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_hold_is_not_written(value: float) -> None:
    with pytest.raises(RecordError, match="0000-1 holds NaN or infinity"):
        make_record(latency_us=value).to_json()


def test_a_record_that_can_be_read_back_passes_the_check() -> None:
    make_record(error=None).check()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"latency_us": float("nan")}, "latency_us is not real"),
        ({"batch_size": 2**63}, "batch_size is not integer"),
        ({"stop_reason": ["a"]}, "stop_reason is not text"),
        ({"comparison": None}, "missing or malformed"),
        ({"auc": -0.1}, "auc is -0.1, which is negative"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_found_without_writing_it(changes: dict, words: str) -> None:
    with pytest.raises(RecordError) as caught:
        make_record(**changes).check()
    assert words in str(caught.value)


def test_what_may_be_negative_is_taken() -> None:
    for name in ("regret", "model_rank_correlation"):
        assert from_json(changed(**{f"trial__{name}": -0.5})).trial[name] == -0.5


def test_a_median_without_samples_or_at_their_edge_is_taken() -> None:
    assert from_json(changed(samples_us=[])).trial["latency_us"] == 10.0
    assert from_json(changed(samples_us=[10.0])).trial["latency_us"] == 10.0
    assert from_json(changed(samples_us=[9.9996, 9.9998])).trial["latency_us"] == 10.0, "one of them was rounded"


def test_names_hold_no_character_that_a_terminal_obeys() -> None:
    record = from_json(
        changed(
            trial__method="den\nse",
            trial__error="first\nsecond\x1b[2J",
            machine__name="\x1b[31mred\u202eder",
            sweep__name="s\x07\u200b",
            sweep__spec="benchmark: lookup\n",
            curves=[["lo\x9bss", 1, 0.5]],
        )
    )
    assert record.trial["method"] == "den se"
    assert record.trial["error"] == "first\nsecond [2J"
    assert record.machine["name"] == " [31mred der"
    assert record.sweep["name"] == "s  "
    assert record.sweep["spec"] == "benchmark: lookup\n"
    assert record.curves == (("lo ss", 1, 0.5),)


@pytest.mark.parametrize("what", ["machine", "sweep"])
def test_a_key_of_any_length_is_refused(what: str) -> None:
    entry = json.loads(make_record(1).to_json())
    entry[what] = {**entry[what], f"{what}_id": "x" * 8000, "name": "n"}
    with pytest.raises(RecordError, match=f"its {what}_id is longer than 200"):
        from_json(json.dumps(entry))
