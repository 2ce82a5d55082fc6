"""Metrics of plug-ins: columns of results and history, whether the plug-in is known or not, in every database."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from make_records import make_record

from db import journal, record, schema
from db.columns import MOST_OWN
from db.export import export
from db.record import Record, RecordError
from db.store import Store

SAID = {"ndcg": {"text": "how well it's ranked: 100 %", "unit": "x", "better": "higher"}}


def with_metrics(number: int, said: object = SAID, **values: float) -> Record:
    points = tuple((name, 0, value) for name, value in values.items())
    made = make_record(number)
    return replace(made, curves=(*made.curves, *points), own_metrics=said)  # type: ignore[arg-type]


@pytest.fixture(params=["duckdb", "postgresql"])
def any_store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue("postgres_store" if request.param == "postgresql" else "store")
    found.ensure()
    return found


def names(store: Store, view: str = "results") -> list[str]:
    with store.reader(view) as batches:
        return batches.schema.names


def test_a_column_comes_with_the_first_trial_that_has_it(any_store: Store) -> None:
    any_store.add([make_record(1)])
    before = names(any_store)
    any_store.add([with_metrics(2, ndcg=0.5), with_metrics(3, ndcg=-1.0, depth=3.0)])
    any_store.add([with_metrics(4, {}, ndcg=0.7)])
    assert names(any_store) == [*before, "depth", "ndcg"], "those that were there keep their places"
    for view in ("results", "history"):
        rows = any_store.rows(f"SELECT ndcg, depth FROM {view} ORDER BY started_at")
        assert [tuple(row.values()) for row in rows] == [(None, None), (0.5, None), (-1.0, 3.0), (0.7, None)]
    assert [(c.name, c.text, c.unit, c.better) for c in any_store.own_metrics()] == [
        ("depth", "depth", "", ""),
        ("ndcg", "how well it's ranked: 100 %", "x", "higher"),
    ]
    points = any_store.rows("SELECT value FROM curves WHERE metric = 'depth'")
    assert points == [{"value": 3.0}], "curves hold them as before"


def test_a_trial_that_says_something_else_renews_what_is_known(any_store: Store) -> None:
    any_store.add([with_metrics(1, ndcg=0.5)])
    any_store.add([with_metrics(2, {"ndcg": {"text": "other", "unit": "", "better": "lower"}}, ndcg=0.5)])
    assert [(c.text, c.unit, c.better) for c in any_store.own_metrics()] == [("other", "", "lower")]


@pytest.mark.parametrize(
    "name", ["auc", "select", "order", "value", "trial_id", "n", "A b", 'x", (1', "x'y", "", "é", "x" * 80]
)
def test_what_cannot_be_a_column_stays_a_point(store: Store, name: str) -> None:
    store.ensure()
    before = names(store)
    store.add([with_metrics(1, {}, **{name: 0.5})])
    assert names(store) == before
    assert {"metric": name} in store.rows("SELECT metric FROM curves")


def test_a_journal_with_too_many_names_does_not_make_a_view_of_thousands(store: Store) -> None:
    store.ensure()
    before = len(names(store))
    store.add([with_metrics(1, {}, **{f"m{i}": float(i) for i in range(500)})])
    assert len(names(store)) == before + MOST_OWN
    assert len(store.rows("SELECT value FROM curves WHERE step = 0")) == 500


def test_a_file_from_before_is_brought_up_to_date(store: Store) -> None:
    store.ensure()
    store.add([with_metrics(1, {}, ndcg=0.5)])
    with store._connect(write=True) as connection:
        for name in reversed(schema.VIEWS):
            connection.exec_driver_sql(f"DROP VIEW {name}")
        connection.exec_driver_sql("DROP TABLE own_metrics")
        connection.exec_driver_sql("DELETE FROM schema_migrations WHERE name LIKE 'views:%' OR name LIKE '0011%'")
    store.ensure()
    assert store.rows("SELECT ndcg FROM results") == [{"ndcg": 0.5}]


def test_the_journal_brings_them_back(store: Store, folder: Path) -> None:
    journal.write(folder, with_metrics(1, ndcg=0.5))
    store.ensure()
    journal.ingest(store, [folder])
    assert store.rows("SELECT ndcg FROM results") == [{"ndcg": 0.5}]
    assert store.own_metrics()[0].text == SAID["ndcg"]["text"]


@pytest.mark.parametrize("said", [3, ["ndcg"], {"ndcg": 3}, {"ndcg": {"text": 3}}, {"ndcg": {"unit": "\ud800"}}])
def test_a_malformed_description_is_told(said: object) -> None:
    entry = json.loads(with_metrics(1, ndcg=0.5).to_json())
    with pytest.raises(RecordError):
        record.from_json(json.dumps({**entry, "own_metrics": said}))


def test_an_export_says_what_they_mean(any_store: Store, tmp_path: Path) -> None:
    any_store.add([with_metrics(1, ndcg=0.5)])
    export(any_store, tmp_path / "x.parquet")
    field = pq.read_schema(tmp_path / "x.parquet").field("ndcg")
    assert field.metadata[b"comment"].decode() == "how well it's ranked: 100 % [x]"
    assert pq.read_table(tmp_path / "x.parquet").column("ndcg").to_pylist() == [0.5]


def test_the_newest_trial_says_what_a_metric_means_whichever_comes_last(any_store: Store) -> None:
    newer = {"ndcg": {"text": "new", "unit": "", "better": "lower"}}
    any_store.add([with_metrics(2, newer, ndcg=0.5)])
    any_store.add([with_metrics(1, ndcg=0.5)])
    assert [(c.text, c.better) for c in any_store.own_metrics()] == [("new", "lower")]
    any_store.add([with_metrics(4, newer, depth=1.0), with_metrics(3, {"depth": SAID["ndcg"]}, depth=1.0)])
    assert [(c.name, c.text) for c in any_store.own_metrics()] == [("depth", SAID["ndcg"]["text"]), ("ndcg", "new")]
