"""A store in PostgreSQL: what holds for a DuckDB file holds here, and what is PostgreSQL's own."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from make_records import make_record
from test_journal import (  # noqa: F401 (the same tests on another store)
    test_an_entry_of_a_newer_version_is_left_alone,
    test_ingest_brings_all_in_once,
)
from test_migrations import (  # noqa: F401
    applied,
    test_a_file_from_before_turns_is_brought_up_to_date,
    test_a_later_step_is_applied_to_an_old_file,
    test_a_second_time_nothing_happens,
    test_changed_views_are_made_anew,
)
from test_store import (  # noqa: F401
    about,
    test_a_database_of_a_newer_version_is_refused,
    test_a_newer_baseline_in_another_sweep_takes_none_away,
    test_a_success_takes_the_failure_away_whatever_only_it_reports,
    test_a_transaction_is_whole_or_absent,
    test_added_once,
    test_baselines_of_one_moment_count_once,
    test_curves_are_those_of_the_results,
    test_machines_of_one_name_are_told_apart_by_their_ids,
    test_more_than_a_thousand_at_once,
    test_parameters_are_bound,
    test_snapshot_holds_every_exposed_view,
    test_speedup_is_against_the_baseline_nearest_in_time,
    test_speedup_is_against_the_baseline_of_the_same_work,
    test_the_newest_ok_trial_of_a_configuration_is_the_result,
    test_version_changes_with_the_results,
)

from db import export, journal, migrations, postgres, schema
from db.columns import COLUMNS
from db.settings import journal_dir
from db.store import Store, StoreError


@pytest.fixture
def store(postgres_store: Store) -> Store:
    return postgres_store


def test_a_new_database_has_everything_and_says_once_that_it_is_new(postgres_url: str) -> None:
    store = Store(postgres_url)
    assert store.ensure() is True
    assert store.ensure() is False
    assert applied(store)[0] == "0001_create_tables"
    assert all(store.rows(f"SELECT count(*) AS n FROM {name}") == [{"n": 0}] for name in schema.EXPOSED)


def test_a_new_database_is_opened_with_the_own_journal_and_without_examples(
    postgres_url: str, folder: Path, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a team shares holds what the team has measured."""
    monkeypatch.setenv("MIRROR_JOURNAL", str(folder))
    journal.write(folder, make_record(1))
    journal.write(examples, make_record(2))
    store = journal.open_results(postgres_url)
    assert store.rows("SELECT seed FROM trials") == [{"seed": 1}]
    assert journal.ingest(store, [journal_dir(store.url), examples]).added == 1


def test_columns_have_their_comments(store: Store) -> None:
    sql = (
        "SELECT a.attname AS name, col_description(a.attrelid, a.attnum) AS text FROM pg_attribute AS a "
        "WHERE a.attrelid = CAST(CAST(:view AS text) AS regclass) AND a.attnum > 0 ORDER BY a.attnum"
    )
    rows = store.rows(sql, view="results")
    names = [*(c.name for c in COLUMNS), "budget_share"]  # the last for SQL alone
    assert [r["name"] for r in rows] == names
    assert [r["text"] for r in rows] == [schema.comment_of(name) for name in names]


def test_a_step_that_fails_leaves_no_trace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE machines ADD COLUMN moon TEXT")
        raise RuntimeError("half way")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("9999_moon", fail)))
    with pytest.raises(RuntimeError):
        store.ensure()
    monkeypatch.undo()
    assert "9999_moon" not in applied(store)
    with pytest.raises(StoreError, match="moon"):
        store.rows("SELECT moon FROM machines")


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)])
def test_a_machine_is_as_its_newest_trial_tells_and_a_sweep_began_when_it_first_did(
    store: Store, order: tuple[int, ...]
) -> None:
    began = {n: datetime(2026, 11, n) for n in order}
    for n in order:
        store.add([about(make_record(n), machine={"name": f"name {n}"}, sweep={"started_at": began[n]})])
    assert store.rows("SELECT name, cores FROM machines") == [{"name": "name 3", "cores": 2}]
    assert store.rows("SELECT started_at FROM sweeps") == [{"started_at": began[1]}]


TEXTS = (
    """it's "quoted" \\ 'twice', with $1 %s :x and a ; too""",
    "first\r\nsecond\n\\.\nthird\tand a tab",
    "🦆 µs ± 三",
    "",
    "\\N",
    "NULL",
    None,
    "x" * 3_000_000,
)


def test_any_text_comes_back_as_it_was(store: Store) -> None:
    store.add(make_record(n, status="failed", error=text) for n, text in enumerate(TEXTS))
    assert [r["error"] for r in store.rows("SELECT error FROM failures ORDER BY seed")] == list(TEXTS)
    assert store.snapshot()["failures"].sort_by("seed")["error"].to_pylist() == list(TEXTS)


def test_nul_characters_are_replaced(store: Store) -> None:
    """PostgreSQL cannot hold them, and one such trial must not keep the others out."""
    record = about(make_record(1, error="a\0b", method="m\0", identity="id\0"), sweep={"spec": "\0"})
    assert store.add([record, make_record(2)]) == 2
    assert store.add([record]) == 0
    assert store.rows("SELECT method, error FROM trials WHERE seed = 1") == [{"method": "m�", "error": "a�b"}]


def test_a_snapshot_has_the_types_and_values_of_the_views(store: Store) -> None:
    moment = datetime(2026, 11, 1, 12, 30, 0, 123456)
    record = make_record(1, started_at=moment, latency_us=0.1 + 0.2, batch_size=2**53 + 1, is_baseline=False)
    store.add([record])
    results = store.snapshot()["results"]
    (row,) = results.to_pylist()
    assert row["started_at"] == moment
    assert row["latency_us"] == 0.1 + 0.2
    assert row["batch_size"] == 2**53 + 1
    assert row["is_baseline"] is False
    assert row["auc"] is None
    types = {"text": pa.string(), "integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}
    types["timestamp"] = pa.timestamp("us")
    found = {f.name: f.type for f in results.schema}
    assert found.pop("budget_share") == pa.float64()  # for SQL alone
    assert found == {c.name: types[c.type] for c in COLUMNS}
    assert store.snapshot()["samples"].to_pylist() == [
        {"trial_id": "0001-1", "sample": i, "time_us": x, "turn": None} for i, x in enumerate(record.samples_us)
    ]


def test_an_empty_snapshot_has_the_types_too(store: Store) -> None:
    results = store.snapshot()["results"]
    assert results.num_rows == 0
    assert results.schema.field("auc").type == pa.float64()


def test_reading_changes_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match="read-only transaction"):
        store.rows("DELETE FROM trials RETURNING *")


def test_many_trials_at_once_are_counted(store: Store) -> None:
    """Until PostgreSQL has counted them, it plans for next to none."""
    sql = "SELECT last_analyze IS NOT NULL AS counted FROM pg_stat_user_tables WHERE relname = 'trials'"
    store.add([make_record(1)])
    assert store.rows(sql) == [{"counted": False}]
    store.add(make_record(n) for n in range(200))
    assert store.rows("SELECT reltuples AS n FROM pg_class WHERE oid = CAST('trials' AS regclass)") == [{"n": 200}]


def test_every_view_is_exported(store: Store, tmp_path: Path) -> None:
    store.add([make_record(1), make_record(2, status="failed", error="x")])
    tables = store.snapshot()
    for view in schema.EXPOSED:
        target = tmp_path / f"{view}.parquet"
        assert export.export(store, target, view) > 0
        assert pq.read_table(target).to_pylist() == tables[view].to_pylist()


def test_views_can_be_read_in_part(store: Store) -> None:
    store.add([make_record(1)])
    tables = store.snapshot({"results": ("seed", "started_at")})
    assert tables.keys() == {"results"}
    with store.reader("results", ("seed", "started_at")) as batches:
        assert batches.schema == tables["results"].schema
        assert batches.schema.names == ["seed", "started_at"]
        assert batches.read_all().to_pylist() == tables["results"].to_pylist() != []


def test_a_snapshot_is_of_one_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = postgres.fetch

    def fetch_then_add(connection: sa.Connection, select: str) -> pa.Table:
        table = fetch(connection, select)
        Store(store.url).add([make_record(len(select))])
        return table

    monkeypatch.setattr(postgres, "fetch", fetch_then_add)
    assert {view: table.num_rows for view, table in store.snapshot().items()} == dict.fromkeys(schema.EXPOSED, 0)


def test_queries_are_planned_without_loops_over_windows(store: Store) -> None:
    """With them, a thousand trials took seconds."""
    assert store.rows("SHOW enable_nestloop") == [{"enable_nestloop": "off"}]
