"""The seeded fixtures: always the same, whole as the journal's records are, and different where it matters."""

import pytest

from mirror.evaluation.fixture_measurements import key
from mirror.evaluation.fixture_trials import records
from mirror.evaluation.fixtures import Fixture, fits, fixtures
from mirror.evaluation.golds import Golds

WINNER = (
    "SELECT method FROM cfg WHERE dataset = 'frappe' AND compression = 0.1 AND embedding_dim = 16 "
    "QUALIFY rank() OVER (ORDER BY auc DESC) = 1"
)


def one(gold: Golds, sql: str) -> object:
    return gold.table(sql).rows[0][0]


@pytest.mark.parametrize("fixture", [*fixtures("categories"), *fixtures("paraphrases")], ids=lambda f: f.name)
def test_records_are_whole_and_always_the_same(fixture: Fixture) -> None:
    first, again = records(fixture), records(fixture)
    assert [r.to_json() for r in first] == [r.to_json() for r in again]
    assert len({r.trial_id for r in first}) == len(first)
    for record in first:
        record.check()


def test_winners_differ_and_tie(golds: dict[str, Golds]) -> None:
    winners = {name: {row[0] for row in gold.table(WINNER).rows} for name, gold in golds.items()}
    assert len({frozenset(w) for w in winners.values()}) == 3
    assert len(winners["delta"]) == 3  # an exact tie


def test_what_each_fixture_holds(golds: dict[str, Golds]) -> None:
    for gold in golds.values():
        assert one(gold, "SELECT count(*) FROM results") < one(gold, "SELECT count(*) FROM history")
        assert one(gold, "SELECT count(DISTINCT status) FROM failures") >= 3
        assert one(gold, "SELECT count(*) FROM results WHERE latency_p95_us IS NULL") > 0
        assert one(gold, "SELECT count(DISTINCT metric) FROM curves") == 4
        assert one(gold, "SELECT max(started_at) < '2026-11-18 12:00' FROM history") is True
    benchmarks = {name: one(g, "SELECT count(DISTINCT benchmark) FROM results") for name, g in golds.items()}
    assert benchmarks == {"alpha": 4, "beta": 4, "gamma": 4, "delta": 2}
    assert one(golds["delta"], "SELECT count(*) FROM results WHERE memory_mb IS NULL") > 0
    assert one(golds["alpha"], "SELECT count(*) FROM results WHERE split = 'validation'") > 0


def test_speedups_and_verdicts_agree(golds: dict[str, Golds]) -> None:
    for gold in golds.values():
        wrong = "verdict = 'faster' AND speedup <= 1.05 OR verdict = 'slower' AND speedup >= 0.95"
        assert one(gold, f"SELECT count(*) FROM results WHERE {wrong}") == 0
        assert one(gold, "SELECT count(*) FROM results WHERE benchmark = 'training' AND speedup IS NULL") == 0
    assert one(golds["alpha"], "SELECT count(DISTINCT verdict) FROM results") == 4


def test_a_later_success_takes_a_failure_away(golds: dict[str, Golds]) -> None:
    """The quotient_remainder lookups of October failed at batch 64; those of November did not."""
    assert one(golds["alpha"], "SELECT count(*) FROM failures WHERE method = 'quotient_remainder'") == 0
    of = [r for r in records(fixtures("categories")[0]) if r.trial["method"] == "quotient_remainder"]
    assert "failed" in {r.status for r in of}


def test_an_axis_at_one_value(golds: dict[str, Golds]) -> None:
    gold = golds["alpha"]
    both = gold.table("SELECT DISTINCT direction FROM runs WHERE benchmark = 'lookup'")
    one_way = gold.table("SELECT DISTINCT direction FROM runs WHERE benchmark = 'lookup'", {"direction": "forward"})
    assert len(both.rows) == 2
    assert one_way.rows == (("forward",),)


def test_what_values_fit() -> None:
    values = {"method": "hashed", "num_chunks": None}
    assert fits({"method": ["dense", "hashed"], "num_chunks": [None, 4]}, values)
    assert fits({}, values)
    assert not fits({"method": "dense"}, values)
    assert not fits({"seed": 0}, values)


def test_what_chance_hangs_on() -> None:
    assert key(("seed", "=cache", "turns"), {"seed": 1, "cache": "warm"}) == (1, ("cache", "warm"), "turns")
