"""The store: added once, busy or broken said in a sentence, and two writers that lose nothing."""

import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa
from broken_log import break_log
from make_records import make_record

from db import migrations, tables
from db.columns import COLUMNS
from db.installation import ROOT
from db.record import Record
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


def test_a_file_cut_off_anywhere_is_said_to_be_no_whole_file(store: Store) -> None:
    store.ensure()
    store.add(make_record(n) for n in range(300))
    store.checkpoint()
    assert store.path
    whole = store.path.read_bytes()
    lengths = [1, 100, 4095, 4096, 8192, 12_287, 12_288, 20_000, *range(30_000, len(whole) - 1, len(whole) // 12)]
    for length in lengths:
        store.path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"^x\.duckdb is not a whole DuckDB file: move it away and run"):
            use(store)


def use(store: Store) -> None:
    store.snapshot()
    store.add([make_record(999)])


LIMITED = """
import resource, signal, sys
from db.store import Store, StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    Store(sys.argv[1]).ensure()
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [100, 20_000, 300_000])
def test_results_that_cannot_be_made_leave_nothing_behind(store: Store, tmp_path: Path, limit: int) -> None:
    """A limit on the size of files stops the write itself half way, as a full disk does."""
    command = [sys.executable, "-c", LIMITED, str(store.path), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("The results at x.duckdb cannot be used: "), done
    assert "File too large" in done.stdout
    assert "part" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_with_what_to_do(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(connection: sa.Connection) -> bool:
        assert store.path
        (part,) = tmp_path.glob("*.part.duckdb")
        part.with_name(part.name + ".wal").write_text("half")
        raise duckdb.IOException(f'IO Error: Could not write file "{part}": No space left on device')

    monkeypatch.setattr(migrations, "migrate", full)
    with pytest.raises(StoreError) as caught:
        store.ensure()
    assert str(caught.value) == (
        "The results x.duckdb cannot be written, the disk is full: free space, or name another place with MIRROR_DB."
    )
    assert list(tmp_path.iterdir()) == []


def test_the_last_folder_is_made_and_no_tree(tmp_path: Path) -> None:
    assert Store(str(tmp_path / "new" / "x.duckdb")).ensure()
    with pytest.raises(StoreError, match=r"There is no folder .*/a/b: make it, or name another place with --db"):
        Store(str(tmp_path / "a" / "b" / "x.duckdb")).ensure()
    assert not (tmp_path / "a").exists()


def test_more_than_a_thousand_at_once(store: Store) -> None:
    store.ensure()
    assert store.add(make_record(n) for n in range(1500)) == 1500
    assert store.add(make_record(n) for n in range(1, 1501)) == 1


def test_parameters_are_bound(store: Store) -> None:
    store.ensure()
    store.add([make_record(1, method="it's")])
    assert store.rows("SELECT method FROM trials WHERE method = :m", m="it's") == [{"method": "it's"}]
    values = {"a": "50 %s \\' :b \n\"é", "b": 3, "c": datetime(2026, 1, 2, 3, 4, 5, 678), "d": True}
    assert store.rows("SELECT :a AS a, :b AS b, CAST(:c AS TIMESTAMP) AS c, :d AS d", **values) == [values]


def test_results_have_the_columns_of_the_contract_with_their_comments(store: Store) -> None:
    store.ensure()
    store.add([make_record(1)])
    (row,) = store.rows("SELECT * FROM results")
    assert list(row) == [*(c.name for c in COLUMNS), "budget_share"]
    assert row["machine"] == "machine one"
    sql = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'results'"
    assert all(r["comment"] for r in store.rows(sql))


def test_machines_of_one_name_are_told_apart_by_their_ids(store: Store) -> None:
    store.ensure()
    store.add(
        [
            about(make_record(n, machine_id=id), machine={"machine_id": id, "name": name})
            for n, (id, name) in enumerate((("abcdefgh1", "laptop"), ("12345678x", "laptop"), ("m3", "server")))
        ]
    )
    found = store.rows("SELECT machine_id, machine FROM results ORDER BY machine")
    assert [tuple(row.values()) for row in found] == [
        ("12345678x", "laptop (12345678)"),
        ("abcdefgh1", "laptop (abcdefgh)"),
        ("m3", "server"),
    ]
    assert [row["machine"] for row in store.rows("SELECT machine FROM history ORDER BY machine")] == [
        row["machine"] for row in found
    ]


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


def test_a_success_takes_the_failure_away_whatever_only_it_reports(store: Store) -> None:
    """The device and the rows of a data set are known once a trial has run, and NULL in one that failed before."""
    store.ensure()
    planned = {"identity": "aa", "configuration": "c", "comparison": "w", "num_rows": None, "device": None}
    store.add([make_record(1, **planned, status="failed", error="x", latency_us=None)])
    store.add([make_record(2, **{**planned, "num_rows": 10, "device": "cpu"}, attempt=2)])
    assert store.rows("SELECT * FROM failures") == []
    store.add([make_record(3, **planned, attempt=3, status="oom", error="y", latency_us=None, machine_id="m2")])
    assert [r["error"] for r in store.rows("SELECT error FROM failures")] == ["y"]


def speedups(store: Store, view: str = "results") -> dict[str, float]:
    rows = store.rows(f"SELECT trial_id, speedup FROM {view}")
    found = {r["trial_id"]: r["speedup"] for r in rows}
    assert len(found) == len(rows), "a trial is there twice"
    return found


def test_speedup_is_against_the_baseline_of_the_same_work(store: Store) -> None:
    store.ensure()
    store.add(
        [
            make_record(1, seed=0, latency_us=10.0),
            make_record(2, seed=0, method="hashed", is_baseline=False, compression=0.1, latency_us=5.0),
            make_record(3, seed=0, method="hashed", is_baseline=False, batch_size=128, latency_us=5.0),
            make_record(4, seed=1, method="hashed", is_baseline=False, latency_us=5.0, machine_id="m2"),
            make_record(5, seed=2, method="hashed", is_baseline=False, latency_us=5.0, sweep="other"),
            make_record(6, seed=3, method="hashed", is_baseline=False, latency_us=0.0),
            make_record(7, seed=4, method="hashed", is_baseline=False, latency_us=None),
        ]
    )
    expected = {"0001-1": 1.0, "0002-1": 2.0} | dict.fromkeys([f"000{n}-1" for n in range(3, 8)])
    assert speedups(store) == speedups(store, "history") == expected


def test_speedup_is_against_the_baseline_nearest_in_time(store: Store) -> None:
    """January is compared with January, in `history` and in `results` alike; a baseline is 1 itself."""
    store.ensure()
    hashed = {"method": "hashed", "is_baseline": False, "latency_us": 5.0}
    store.add(
        [
            make_record(0, seed=1, latency_us=10.0),
            make_record(49, seed=8, **hashed),
            make_record(50, seed=9, **hashed),  # as far from the one as from the other: the earlier
            make_record(51, seed=10, **hashed),
            make_record(100, seed=1, attempt=2, identity="0000", latency_us=40.0),
            make_record(101, seed=8, **hashed, attempt=2, identity="0031"),
            make_record(200, seed=2, latency_us=None),  # no time: nothing to compare with
            make_record(201, seed=11, **hashed),
        ]
    )
    history = {
        "0000-1": 1.0, "0031-1": 2.0, "0032-1": 2.0, "0033-1": 8.0, "0000-2": 1.0, "0031-2": 8.0, "00c8-1": None,
        "00c9-1": 8.0,
    }  # fmt: skip
    assert speedups(store, "history") == history
    assert speedups(store) == {k: v for k, v in history.items() if k not in ("0000-1", "0031-1")}


def test_baselines_of_one_moment_count_once(store: Store) -> None:
    store.ensure()
    moment = datetime(2026, 11, 1)
    store.add(
        [
            make_record(2, latency_us=20.0, started_at=moment),
            make_record(1, latency_us=10.0, started_at=moment),
            make_record(3, method="hashed", is_baseline=False, latency_us=5.0, started_at=moment),
        ]
    )
    assert speedups(store) == {"0001-1": 1.0, "0002-1": 1.0, "0003-1": 2.0}


def test_a_newer_baseline_in_another_sweep_takes_none_away(store: Store) -> None:
    store.ensure()
    dense = {"identity": "aa", "seed": 0}
    store.add(
        [
            make_record(1, **dense, latency_us=10.0),
            make_record(2, seed=0, method="hashed", is_baseline=False, latency_us=5.0),
            make_record(3, **dense, attempt=2, latency_us=30.0, sweep="other"),
        ]
    )
    assert speedups(store) == {"0002-1": 2.0, "aa-2": 1.0}


def test_curves_are_those_of_the_results(store: Store) -> None:
    store.ensure()
    store.add([make_record(1, identity="aa", seed=0), make_record(2, identity="aa", seed=0, attempt=2)])
    store.add([make_record(3, status="failed", error="x")])
    assert [r["trial_id"] for r in store.rows("SELECT * FROM curves")] == ["aa-2"]


def about(record: Record, *, machine: dict | None = None, sweep: dict | None = None) -> Record:
    """The record with other facts about its machine or sweep."""
    return replace(record, machine={**record.machine, **(machine or {})}, sweep={**record.sweep, **(sweep or {})})


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_a_machine_is_as_its_newest_trial_tells_and_a_sweep_began_when_it_first_did(
    store: Store, order: tuple[int, ...]
) -> None:
    """In whatever order the journal is read, one by one or at once."""
    store.ensure()
    facts = {
        1: {"name": "old", "gpu": "one"},
        2: {"name": "older", "gpu": "one"},
        3: {"name": "new", "gpu": None},
    }
    began = {1: datetime(2026, 11, 2), 2: datetime(2026, 11, 1), 3: datetime(2026, 11, 3)}
    given = [about(make_record(n), machine=facts[n], sweep={"started_at": began[n]}) for n in order]
    for record in given:
        store.add([record])
    machines = store.rows("SELECT name, gpu, cores FROM machines")
    sweeps = store.rows("SELECT started_at FROM sweeps")
    assert machines == [{"name": "new", "gpu": None, "cores": 2}]
    assert sweeps == [{"started_at": datetime(2026, 11, 1)}]
    at_once = Store(str(store.path) + "2")
    at_once.ensure()
    at_once.add(given)
    assert at_once.rows("SELECT name, gpu, cores FROM machines") == machines
    assert at_once.rows("SELECT started_at FROM sweeps") == sweeps


def test_what_the_database_itself_refuses_is_a_sentence(store: Store) -> None:
    """The way of bulk inserts, past SQLAlchemy."""
    store.ensure()
    with store._connect(write=True) as connection:
        connection.exec_driver_sql("DROP TABLE samples")
    with pytest.raises(StoreError, match=r"The results at x\.duckdb cannot be used: .*samples"):
        store.add([make_record()])
    assert store.rows("SELECT * FROM trials") == []


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
    break_log(store.path)
    assert not store.recovered
    assert store.add([make_record(2)]) == 1
    assert store.recovered
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
        connection.execute(sa.insert(tables.migrations).values(name="9999_from_the_future"))
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

    monkeypatch.setattr(tables, "_merge", fail)
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


def test_views_can_be_read_in_part(store: Store) -> None:
    store.ensure()
    store.add([make_record(1), make_record(2)])
    tables = store.snapshot({"results": ("seed", "trial_id")})
    assert {view: table.schema.names for view, table in tables.items()} == {"results": ["seed", "trial_id"]}
    with store.reader("results", ("seed",)) as batches:
        assert sorted(row["seed"] for row in batches.read_all().to_pylist()) == [1, 2]


def test_another_database_through_sqlalchemy(tmp_path: Path) -> None:
    """SQLite stands in for a server: the way without Arrow."""
    store = Store(f"sqlite:///{tmp_path}/x.sqlite")
    with store._connect(write=True) as connection:
        migrations.create_tables(connection)
    assert store.add([make_record(1), make_record(2)]) == 2
    assert store.add([make_record(2)]) == 0
    assert store.rows("SELECT seed FROM trials ORDER BY seed") == [{"seed": 1}, {"seed": 2}]
    assert store.snapshot({"trials": ("seed",)})["trials"].sort_by("seed").to_pydict() == {"seed": [1, 2]}
    with store.reader("trials", ("seed", "method")) as batches:
        assert batches.schema.names == ["seed", "method"]
        assert batches.read_all().num_rows == 2


def test_a_path_is_one_file_whatever_it_is_called(tmp_path: Path) -> None:
    for name in ("a%41.duckdb", "aA.duckdb", "a b#c.duckdb"):
        store = Store(str(tmp_path / name))
        store.ensure()
        assert store.add([make_record(1)]) == 1
        assert store.trial_ids() == ["0001-1"]
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(StoreError, match=r"what follows a \? in what\?.duckdb for something else: name another file"):
        Store(str(tmp_path / "what?.duckdb")).ensure()


def test_other_data_are_never_made_results(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE orders (a INT); CREATE VIEW history AS SELECT * FROM orders")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="holds other data"):
        Store(str(path)).ensure()
    assert path.read_bytes() == before


def test_ids_are_looked_up_and_not_all_read(store: Store) -> None:
    store.ensure()
    store.add([make_record(n) for n in range(1, 1502)])
    with store._connect(write=False) as connection:
        wanted = dict.fromkeys([*(f"{n:04d}-1" for n in range(1, 3)), *(f"x{n}-1" for n in range(1200))])
        assert tables._known(connection, tables.trials.c.trial_id, wanted) == {"0001-1", "0002-1"}
