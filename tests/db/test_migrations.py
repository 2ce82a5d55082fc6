"""Migrations: applied once, views renewed when they change, a newer file refused."""

import pytest
import sqlalchemy as sa

from db import migrations, schema, tables
from db.store import Store


def applied(store: Store) -> list[str]:
    return [r["name"] for r in store.rows("SELECT name FROM schema_migrations ORDER BY name")]


def test_a_new_file_has_everything(store: Store) -> None:
    assert store.ensure() is True
    assert applied(store)[0] == "0001_create_tables"
    assert all(store.rows(f"SELECT count(*) AS n FROM {name}") == [{"n": 0}] for name in schema.EXPOSED)


def test_a_second_time_nothing_happens(store: Store) -> None:
    store.ensure()
    before = store.version()
    assert store.ensure() is False
    assert store.version() == before


def test_changed_views_are_made_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.ensure()
    monkeypatch.setitem(schema.VIEWS, "failures", "SELECT 'changed' AS status")
    with store._connect(write=False) as connection:
        assert migrations.pending(connection)
    store.ensure()
    assert store.rows("SELECT * FROM failures") == [{"status": "changed"}]
    assert sum(name.startswith("views:") for name in applied(store)) == 1


def test_a_later_step_is_applied_to_an_old_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.ensure()

    def add_moon(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE machines ADD COLUMN IF NOT EXISTS moon TEXT")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("0002_moon", add_moon)))
    store.ensure()
    assert store.rows("SELECT moon FROM machines") == []
    assert "0002_moon" in applied(store)


def test_a_step_that_fails_leaves_no_trace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.ensure()

    def fail(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE machines ADD COLUMN moon TEXT")
        raise RuntimeError("half way")

    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("0002_moon", fail)))
    with pytest.raises(RuntimeError):
        store.ensure()
    monkeypatch.undo()
    assert "0002_moon" not in applied(store)
    assert "moon" not in {r["column_name"] for r in store.rows("SELECT column_name FROM duckdb_columns()")}


def test_every_column_has_a_comment() -> None:
    missing = [c.name for t in (tables.trials, tables.machines, tables.sweeps) for c in t.c if not c.comment]
    assert missing == []


def test_a_file_from_before_turns_is_brought_up_to_date(store: Store) -> None:
    store.ensure()
    with store._connect(write=True) as connection:
        for name in reversed(schema.VIEWS):
            connection.exec_driver_sql(f"DROP VIEW {name}")
        connection.exec_driver_sql("ALTER TABLE samples DROP COLUMN turn")
        for name in ("cache", "output", "verdict", "group_id", "speedup_ci_low", "baseline_latency_us"):
            connection.exec_driver_sql(f"ALTER TABLE trials DROP COLUMN {name}")
        connection.exec_driver_sql("DELETE FROM schema_migrations WHERE name <> '0001_create_tables'")
    store.ensure()
    assert store.rows("SELECT verdict, cache, speedup_ci_low, group_id FROM results") == []
    assert store.rows("SELECT turn FROM samples") == []


@pytest.mark.parametrize(
    ("step", "added"),
    [
        (
            "0004_add_pruned_embeddings",
            "split num_chunks prune_interval decay prune_scope utility_score layout regret kept_share "
            "restoration_lag_steps metadata_mb",
        ),
        ("0005_add_embedding_steps", "optimizer latency_p95_us prune_share"),
        (
            "0006_add_answering",
            "category question_set right_share right_ci_low right_ci_high wrong_share chart_share question_count",
        ),
        ("0007_add_collisions", "duplicate_rows shared_slots"),
        ("0008_add_padding", "padding_idx"),
        (
            "0009_add_memory_operators",
            "operator working_set bandwidth_share bytes_moved bytes_predicted model_regret model_rank_correlation",
        ),
        ("0010_add_callables", "shape"),
    ],
)
def test_a_file_from_before_a_step_is_brought_up_to_date(store: Store, step: str, added: str) -> None:
    names = added.split()
    store.ensure()
    with store._connect(write=True) as connection:
        kinds = column_types(connection)
        for name in reversed(schema.VIEWS):
            connection.exec_driver_sql(f"DROP VIEW {name}")
        for name in names:
            connection.exec_driver_sql(f"ALTER TABLE trials DROP COLUMN {name}")
        connection.exec_driver_sql(f"DELETE FROM schema_migrations WHERE name = '{step}' OR name LIKE 'views:%'")
    store.ensure()
    assert store.rows(f"SELECT {', '.join(names)} FROM results") == []
    with store._connect(write=False) as connection:
        assert column_types(connection) == kinds


def column_types(connection: sa.Connection) -> dict[str, str]:
    return {c["name"]: str(c["type"]) for c in sa.inspect(connection).get_columns("trials")}
