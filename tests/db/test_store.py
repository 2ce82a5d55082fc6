"""The store: added once, busy or broken said in a sentence, and two writers that lose nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from make_records import make_record

from db import migrations
from db.columns import COLUMNS
from db.settings import ROOT
from db.store import Store, StoreBusyError, StoreError

HERE = Path(__file__).parent


def hold(store: Store) -> subprocess.Popen[str]:
    """Another process that holds the file for writing."""
    code = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_added_once(store: Store) -> None:
    store.ensure()
    assert store.add([make_record(1), make_record(2), make_record(1)]) == 2
    assert store.add([make_record(1), make_record(3)]) == 1
    assert store.add([]) == 0
    assert store.rows("SELECT count(*) AS n FROM trials") == [{"n": 3}]
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 6}]
    assert store.rows("SELECT count(*) AS n FROM machines") == [{"n": 1}]
    assert store.rows("SELECT count(*) AS n FROM sweeps") == [{"n": 1}]


def test_more_than_a_thousand_at_once(store: Store) -> None:
    store.ensure()
    assert store.add(make_record(n) for n in range(1500)) == 1500
    assert store.add(make_record(n) for n in range(1, 1501)) == 1


def test_parameters_are_bound(store: Store) -> None:
    store.ensure()
    store.add([make_record(1, method="it's")])
    assert store.rows("SELECT method FROM trials WHERE method = :m", m="it's") == [{"method": "it's"}]


def test_results_have_the_columns_of_the_contract_with_their_comments(store: Store) -> None:
    store.ensure()
    store.add([make_record(1)])
    (row,) = store.rows("SELECT * FROM results")
    assert list(row) == [c.name for c in COLUMNS]
    assert row["machine"] == "machine one"
    sql = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'results'"
    assert all(r["comment"] for r in store.rows(sql))


def test_the_newest_ok_trial_of_a_configuration_is_the_result(store: Store) -> None:
    store.ensure()
    common = {"identity": "aa", "seed": 0}
    store.add(
        [
            make_record(1, **common, attempt=1, latency_us=1.0),
            make_record(2, **common, attempt=2, latency_us=2.0),
            make_record(3, **common, attempt=3, status="failed", error="x", latency_us=None),
        ]
    )
    assert [r["latency_us"] for r in store.rows("SELECT latency_us FROM results")] == [2.0]
    assert store.rows("SELECT count(*) AS n FROM history") == [{"n": 2}]
    assert [r["error"] for r in store.rows("SELECT error FROM failures")] == ["x"]
    store.add([make_record(4, **common, attempt=4, latency_us=4.0)])
    assert store.rows("SELECT error FROM failures") == []


def test_speedup_is_against_the_baseline_of_the_same_work(store: Store) -> None:
    store.ensure()
    store.add(
        [
            make_record(1, seed=0, latency_us=10.0),
            make_record(2, seed=0, method="hashed", is_baseline=False, compression=0.1, latency_us=5.0),
            make_record(3, seed=0, method="hashed", is_baseline=False, batch_size=128, latency_us=5.0),
        ]
    )
    found = {(r["method"], r["batch_size"]): r["speedup"] for r in store.rows("SELECT * FROM results")}
    assert found == {("dense", 64): 1.0, ("hashed", 64): 2.0, ("hashed", 128): None}


def test_no_results_yet(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no results at x\.duckdb yet: run `python -m bench_engine ingest`"):
        store.rows("SELECT 1")
    assert store.path
    assert not store.path.exists()


def test_a_file_held_by_another_process(store: Store) -> None:
    store.ensure()
    holder = hold(store)
    try:
        for attempt in (lambda: store.rows("SELECT 1"), lambda: store.add([make_record()])):
            with pytest.raises(StoreBusyError, match=f"x.duckdb is held by .*process {holder.pid}"):
                attempt()
    finally:
        holder.kill()
        holder.communicate()
    assert store.add([make_record()]) == 1


def test_a_file_that_comes_free_in_time(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "x.duckdb"), lock_wait_s=30)
    store.ensure()
    code = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(0.5)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    holder.stdout.readline()
    assert store.add([make_record()]) == 1
    holder.communicate()


@pytest.mark.parametrize("content", [b"not a database" * 1000, b"\0" * 8192, b"x"])
def test_a_file_that_is_no_database(store: Store, content: bytes) -> None:
    assert store.path
    store.path.write_bytes(content)
    for attempt in (store.ensure, lambda: store.rows("SELECT 1"), lambda: store.add([make_record()])):
        with pytest.raises(StoreError, match=r"x\.duckdb") as caught:
            attempt()
        assert str(store.path.parent) not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_process_killed_while_creating_leaves_nothing_under_the_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_connection: sa.Connection) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(migrations, "migrate", die)
    with pytest.raises(KeyboardInterrupt):
        store.ensure()
    assert store.path
    assert list(store.path.parent.iterdir()) == []
    monkeypatch.undo()
    assert store.ensure() is True
    assert [path.name for path in store.path.parent.iterdir()] == ["x.duckdb"]


def test_one_of_two_creators_comes_second(store: Store) -> None:
    assert store.path
    create = store._create
    Store(store.url).ensure()
    Store(store.url).add([make_record()])
    assert create(store.path) is False
    assert store.rows("SELECT count(*) AS n FROM trials") == [{"n": 1}]


def test_a_log_that_will_not_replay_is_set_aside(store: Store) -> None:
    store.ensure()
    assert store.path
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('PRAGMA disable_checkpoint_on_shutdown')\n"
        "c.execute(\"INSERT INTO samples SELECT 'x', range, 1.0 FROM range(100)\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(store.path)], check=True)
    wal = store.path.with_name("x.duckdb.wal")
    content = bytearray(wal.read_bytes())
    content[len(content) // 2] ^= 0xFF
    wal.write_bytes(content)
    assert store.add([make_record(2)]) == 1
    assert list(store.path.parent.glob("x.duckdb.wal.corrupt-*"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("foo://u:secret@h/d", "Can't load plugin"),
        ("://u:secret@h", "The results at the URL given cannot be used: Could not parse"),
        ("sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("/proc/nowhere/x.duckdb", "cannot be made"),
    ],
)
def test_urls_that_lead_nowhere(url: str, words: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store(url).ensure()
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_database_of_a_newer_version_is_refused(store: Store) -> None:
    store.ensure()
    with store._connect(write=True) as connection:
        connection.execute(sa.insert(migrations._APPLIED).values(name="9999_from_the_future"))
    with pytest.raises(StoreError, match="newer version of Mirror"):
        store.ensure()


def test_two_processes_add_at_once(store: Store) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from make_records import make_record; from db.store import Store\n"
        "store = Store(sys.argv[1], lock_wait_s=60); store.ensure()\n"
        "for n in range(5): store.add([make_record(n), make_record(1000 * int(sys.argv[3]) + n)])\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(store.path), str(HERE), part], cwd=ROOT)
        for part in ("1", "2")
    ]
    assert [p.wait(timeout=60) for p in processes] == [0, 0]
    assert store.rows("SELECT count(*) AS n, count(DISTINCT trial_id) AS d FROM trials") == [{"n": 15, "d": 15}]
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 30}]


def test_a_transaction_is_whole_or_absent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.ensure()

    def fail(*_: object) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(store, "_merge", fail)
    with pytest.raises(RuntimeError):
        store.add([make_record()])
    assert store.rows("SELECT count(*) AS n FROM trials") == [{"n": 0}]


def test_version_changes_with_the_results(store: Store) -> None:
    store.ensure()
    before = store.version()
    assert store.version() == before
    store.add([make_record()])
    assert store.version() != before


def test_snapshot_holds_every_exposed_view(store: Store) -> None:
    store.ensure()
    store.add([make_record(1)])
    tables = store.snapshot()
    assert tables["results"].num_rows == 1
    assert tables["failures"].num_rows == 0


def test_another_database_through_sqlalchemy(tmp_path: Path) -> None:
    """SQLite stands in for a server: the way without Arrow."""
    store = Store(f"sqlite:///{tmp_path}/x.sqlite")
    with store._connect(write=True) as connection:
        migrations.create_tables(connection)
    assert store.add([make_record(1), make_record(2)]) == 2
    assert store.add([make_record(2)]) == 0
    assert store.rows("SELECT seed FROM trials ORDER BY seed") == [{"seed": 1}, {"seed": 2}]
