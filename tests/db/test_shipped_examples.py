"""A new results file holds all example results; their raw timings come when they are needed."""

from pathlib import Path

import pytest

from db import journal
from db.settings import examples_dir
from db.store import Store


@pytest.fixture(autouse=True)
def _no_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRROR_JOURNAL", raising=False)


def count(store: Store, table: str) -> int:
    return int(store.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def test_a_new_file_holds_all_sets_and_own_results_beside_them(tmp_path: Path) -> None:
    store = journal.open_results(str(tmp_path / "new.duckdb"))
    told = {row["benchmark"] for row in store.rows("SELECT DISTINCT benchmark FROM results")}
    assert told == {"collisions", "embedding_step", "grouped_lookup", "lookup", "memory_ops", "training"}
    shipped = journal.attempts(journal.example_folders())
    assert count(store, "trials") == sum(map(len, shipped.values()))
    assert count(store, "curve_points") > 0
    again = journal.ingest(store, journal.example_folders())
    assert (again.added, again.set_aside) == (0, [])


def test_timings_that_come_later_are_those_of_an_ingest_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = examples_dir() / "hashed"
    monkeypatch.setattr(journal, "example_folders", lambda: [hashed])
    later, whole = journal.open_results(str(tmp_path / "later.duckdb")), Store(str(tmp_path / "whole.duckdb"))
    journal.ingest(whole, [hashed])
    assert count(later, "samples") == 0
    journal.bring_timings(later)
    journal.bring_timings(later)  # there is nothing left to bring
    for table in ("samples", "trials", "curve_points", "machines", "sweeps"):
        rows = f"SELECT count(*) AS n, sum(hash(t)::HUGEINT)::VARCHAR AS hashed FROM {table} AS t"
        assert later.rows(rows) == whole.rows(rows), table
