"""The views `results`, `history` and `failures` against a plain reading of what they mean, on both databases."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from make_records import make_record

from bench_engine import registry
from db.columns import CHOICE_AXES
from db.record import Record
from db.schema import CURVE_AXES, select
from db.store import Store


@pytest.fixture(params=["duckdb", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path) -> Store:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_store")
    store = Store(str(tmp_path / "x.duckdb"))
    store.ensure()
    return store


def some_trials(seed: int) -> list[Record]:
    """Trials that meet in few configurations, machines, sweeps and moments, so that every rule is met."""
    draw = random.Random(seed)
    identities = [draw.choice([f"{number:04x}", "aa", "bb"]) for number in range(80)]  # two of them tried often
    return [
        make_record(
            number,
            identity=identities[number],
            attempt=identities[: number + 1].count(identities[number]),
            seed=draw.randrange(2),
            batch_size=draw.choice([1, 64]),
            method=(method := draw.choice(["dense", "hashed"])),
            is_baseline=draw.choice([method == "dense", method == "dense", None, False]),
            status=draw.choice(["ok", "ok", "ok", "failed"]),
            machine_id=draw.choice(["m1", "m2", None]),
            sweep=draw.choice(["s", "s", "other", None]),
            latency_us=draw.choice([None, 0.0, 5.0, 10.0, 20.0, 40.0]),
            baseline_latency_us=draw.choice([None, None, 30.0]),
            started_at=datetime(2026, 11, 1) + timedelta(minutes=draw.randrange(12)),
        )
        for number in range(80)
    ]


def attempt(t: dict[str, Any]) -> int:
    return int(t["trial_id"].rpartition("-")[2])


def newest(trials: list[dict[str, Any]]) -> set[str]:
    last: dict[tuple, dict[str, Any]] = {}
    for t in sorted(trials, key=attempt):
        last[t["configuration"], t["machine_id"], t["identity"]] = t
    found: dict[tuple, dict[str, Any]] = {}
    for t in sorted(last.values(), key=lambda t: (t["started_at"], t["trial_id"])):
        found[t["configuration"], t["machine_id"]] = t
    return {t["trial_id"] for t in found.values()}


def speedup(t: dict[str, Any], trials: list[dict[str, Any]]) -> float | None:
    """Over the baseline that took turns with the trial, else over the one nearest in time, the earlier of two."""
    if not t["latency_us"]:
        return None
    if t["is_baseline"]:
        return 1.0
    if t["baseline_latency_us"]:
        return t["baseline_latency_us"] / t["latency_us"]
    same = ("comparison", "machine_id", "sweep")
    baselines = [
        b
        for b in trials
        if b["is_baseline"] and b["latency_us"] and all(b[k] == t[k] and b[k] is not None for k in same)
    ]
    if not baselines:
        return None
    nearest = min(baselines, key=lambda b: (abs(b["started_at"] - t["started_at"]), b["started_at"], b["trial_id"]))
    return nearest["latency_us"] / t["latency_us"]


@pytest.mark.parametrize("seed", range(4))
def test_the_views_say_what_they_mean(store: Store, seed: int) -> None:
    records = some_trials(seed)
    store.add(records)
    trials = [dict(r.trial) for r in records]
    ok = [t for t in trials if t["status"] == "ok"]
    expected = {t["trial_id"]: pytest.approx(speedup(t, ok)) for t in ok}
    history = store.rows("SELECT trial_id, speedup FROM history")
    assert len(history) == len(ok), "each trial once"
    assert {r["trial_id"]: r["speedup"] for r in history} == expected
    results = store.rows("SELECT trial_id, speedup FROM results")
    assert len(results) == len(newest(ok)), "each configuration once"
    assert {r["trial_id"]: r["speedup"] for r in results} == {k: v for k, v in expected.items() if k in newest(ok)}
    ids = store.rows(select("results", ("trial_id",)))
    assert sorted(r["trial_id"] for r in ids) == sorted(newest(ok)), "the ids alone are found in a quicker way"
    failures = {r["trial_id"] for r in store.rows("SELECT trial_id FROM failures")}
    assert failures == {t["trial_id"] for t in trials if t["status"] == "failed"} & newest(trials)


def test_a_baseline_that_took_turns_goes_before_a_nearer_one(store: Store) -> None:
    hashed = {"seed": 9, "method": "hashed", "is_baseline": False, "latency_us": 5.0}
    store.add([make_record(1, seed=1, latency_us=10.0), make_record(2, **hashed, baseline_latency_us=20.0)])
    store.add([make_record(3, **{**hashed, "seed": 8})])
    found = {r["trial_id"]: r["speedup"] for r in store.rows("SELECT trial_id, speedup FROM results")}
    assert found == {"0001-1": 1.0, "0002-1": 4.0, "0003-1": 2.0}


def test_a_later_attempt_is_newer_whatever_the_clock_said(store: Store) -> None:
    """Clock ahead in the first attempt; the tenth comes after the ninth; another identity is newer by its time."""
    ahead = datetime(2099, 1, 1)
    same = {"identity": "aa", "seed": 0}
    store.add([make_record(1, **same, attempt=n, latency_us=1.0 * n, started_at=ahead) for n in (1, 9)])
    store.add([make_record(2, **same, attempt=10, latency_us=10.0)])
    assert store.rows("SELECT trial_id FROM results") == [{"trial_id": "aa-10"}]
    store.add([make_record(3, **same, attempt=11, status="failed", error="x", latency_us=None)])
    assert store.rows("SELECT trial_id FROM failures") == [{"trial_id": "aa-11"}]
    store.add([make_record(4, identity="bb", seed=0)])
    assert store.rows("SELECT trial_id FROM results") == [{"trial_id": "bb-1"}]
    assert store.rows("SELECT trial_id FROM failures") == []


def test_bytes_are_a_share_of_those_of_a_dense_table(store: Store) -> None:
    """Of tables whose rows are known, also of trials that were stored before anybody asked."""
    sizes = {"num_rows": 1000, "embedding_dim": 16, "memory_mb": 0.0128}
    others = ({"benchmark": "training"}, {"benchmark": "grouped_lookup"}, {"num_rows": None}, {"memory_mb": None})
    store.add([make_record(number, **{**sizes, **more}) for number, more in enumerate(({}, *others))])
    found = [r["budget_share"] for r in store.rows("SELECT budget_share FROM results ORDER BY seed")]
    assert found == [pytest.approx(0.2), pytest.approx(0.2), None, None, None]


def test_curves_are_told_apart_by_all_that_a_training_is_planned_with() -> None:
    planned = {axis.name for axis in registry.benchmark("training").axes} - {"seed", "threads"}
    assert {"method", *planned, *CHOICE_AXES} == set(CURVE_AXES)


def test_what_was_implied_before_there_was_an_axis_is_filled_in(store: Store) -> None:
    rows = ((0, "training", {}), (1, "training", {"split": "validation"}), (2, "lookup", {}))
    store.add([make_record(number, benchmark=benchmark, **more) for number, benchmark, more in rows])
    told = store.rows("SELECT seed, split FROM results ORDER BY seed")
    assert told == [{"seed": 0, "split": "test"}, {"seed": 1, "split": "validation"}, {"seed": 2, "split": None}]
