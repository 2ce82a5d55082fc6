"""Results from the future: told until a later attempt has taken their place."""

from datetime import UTC, datetime, timedelta

from make_records import make_record

from db import future
from db.store import Store


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def test_results_from_the_future_are_told_with_the_remedy(store: Store) -> None:
    store.ensure()
    store.add([make_record(1), make_record(2, started_at=now() + timedelta(seconds=20))])
    assert future.warning(store) == ""
    store.add([make_record(3, started_at=now() + timedelta(days=1)), make_record(4, started_at=datetime(2099, 1, 1))])
    found = future.warning(store)
    assert found.startswith("2 results say that they started in the future (0004-1 at 2099-01-01 00:00 UTC)")
    assert "--force" in found
    assert "move x.duckdb away" in found


def test_a_later_attempt_ends_the_warning(store: Store) -> None:
    store.ensure()
    store.add([make_record(1, identity="aa", seed=0, started_at=datetime(2099, 1, 1))])
    assert future.warning(store).startswith("1 result says that it started in the future (aa-1 at")
    store.add([make_record(2, identity="aa", seed=0, attempt=2, started_at=now())])
    assert future.warning(store) == ""


def test_failures_from_the_future_hide_nothing_that_counts(store: Store) -> None:
    store.ensure()
    store.add([make_record(1, status="failed", error="x", latency_us=None, started_at=datetime(2099, 1, 1))])
    assert future.warning(store) == ""
