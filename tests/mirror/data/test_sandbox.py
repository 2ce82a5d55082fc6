"""The sandbox answers, refuses, stops what does not end, and is there for the next query."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from db.installation import ROOT
from db.record import Record
from db.schema import EXPOSED
from db.store import Store, StoreBusyError, StoreError
from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.data.plain_values import plain
from mirror.data.process import sandbox, sandbox_child, snapshot, sql_process
from mirror.data.process.sandbox import Limits, Sandbox
from mirror.schema import catalog
from mirror.schema.profile import Profile

ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"


def record(number, method="dense", **more):
    trial = {
        "trial_id": f"t{number}-1", "identity": f"t{number}", "status": "ok", "benchmark": "lookup", "method": method,
        "embedding_dim": 16, "batch_size": 64, "compression": 1.0, "seed": number, "latency_us": 1.5,
        "configuration": f"t{number}", "comparison": "t", "machine_id": "m1",
        "started_at": datetime(2026, 11, 1) + timedelta(minutes=number), **more,
    }  # fmt: skip
    return Record(trial, (1.0, 2.0), (), {"machine_id": "m1", "name": "box"}, {"sweep_id": "s1", "name": "quick"})


def store_at(path: Path, *records) -> Store:
    store = Store(str(path))
    store.ensure()
    store.add(records)
    return store


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A sandbox over three trials, with little memory; every test must leave it able to answer."""
    store = store_at(
        tmp_path_factory.mktemp("sandbox") / "results.duckdb",
        record(2, "hashed", compression=0.1),
        record(1, "dense"),
        record(3, "hashed", compression=0.5),
    )
    with Sandbox(store.url, Limits(memory_mb=200)) as box:
        yield box


def answers(box: Sandbox) -> bool:
    return box.run("SELECT count(*) FROM results").rows == ((3,),)


def pid_of(box: Sandbox) -> int:
    return box._child._process.pid


def when_busy(box: Sandbox, action) -> threading.Thread:
    """Do `action` once the process has used a little CPU on the query that the test is about to run."""

    def cpu() -> int:
        fields = Path(f"/proc/{pid_of(box)}/stat").read_text().rpartition(") ")[2].split()
        return int(fields[11]) + int(fields[12])

    before = cpu()

    def wait() -> None:
        while cpu() < before + 10:
            time.sleep(0.01)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


# -- answers -----------------------------------------------------------------------------------------------------------


def test_a_table_comes_back(small):
    table = small.run("SELECT method, avg(latency_us) AS t, count(*) AS n FROM results GROUP BY ALL ORDER BY method;")
    assert table.names == ("method", "t", "n")
    assert table.rows == (("dense", 1.5, 1), ("hashed", 1.5, 2))
    assert not table.truncated
    assert table.milliseconds > 0


def test_rows_stand_in_a_fixed_order(small):
    assert small.run("SELECT method, compression FROM results").rows == (
        ("dense", 1.0),
        ("hashed", 0.5),
        ("hashed", 0.1),
    )


def test_the_row_cap_cuts_and_says_so(small):
    assert len(small.run("SELECT * FROM range(5)", row_cap=4).rows) == 4
    assert small.run("SELECT * FROM range(5)", row_cap=4).truncated
    assert not small.run("SELECT * FROM range(5)", row_cap=5).truncated
    endless = small.run("SELECT * FROM range(100000000000)")
    assert (len(endless.rows), endless.truncated) == (1000, True)


def test_values_become_plain(small):
    table = small.run(
        "SELECT NULL, true, 7, 1.5::DECIMAL(9, 2), 'NaN'::DOUBLE, 'inf'::DOUBLE, TIMESTAMP '2026-11-01 12:00:00', "
        "DATE '2026-11-01', TIMESTAMPTZ '2026-11-01 12:00:00+02', [1.5, NULL], {'a': DATE '2026-11-01'}, "
        "sum(9000000000000000000::HUGEINT * 3)"
    )
    assert table.rows[0] == (
        None, True, 7, 1.5, None, None, "2026-11-01T12:00:00", "2026-11-01", "2026-11-01T10:00:00", "[1.5, NULL]",
        "{a: 2026-11-01}", 2.7e19,
    )  # fmt: skip
    assert [type(v) for v in table.rows[0][1:4]] == [bool, int, float]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0.25"), 0.25),
        (2**63 - 1, 2**63 - 1),
        (-(2**63) - 1, -(2.0**63)),
        (float("-inf"), None),
        (b"\x00\xff", "00ff"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00"),
        ("x" * 10_001, "x" * 9_999 + "…"),
        ((1, "a"), "[1, a]"),
    ],
    ids=str,
)
def test_plain(value, expected):
    assert plain(value) == expected


def test_columns_of_one_name_are_told_apart(small):
    assert small.run("SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a").names == ("a", "a_2", "a_2_2", "a_3")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),  # whoever shows it escapes it
        ("two\nlines\tand more", "two lines and more"),
        ("x" * 500, "x" * 199 + "…"),
        (" ", "unnamed"),
    ],
    ids=lambda s: s[:20],
)
def test_names_of_columns_are_one_short_line(small, alias, name):
    assert small.run(f'SELECT 1 AS "{alias}", 2 AS "{alias}"').names == (name, f"{name}_2")


@pytest.mark.parametrize("sql", ["SELECT INTERVAL 999999999 DAY * 2", "SELECT [to_days(2147483647)]"])
def test_a_value_that_python_does_not_have_is_a_mistake_and_no_crash(small, sql):
    small.run("SELECT 1")
    before = pid_of(small)
    with pytest.raises(QueryError, match="cast it to VARCHAR"):
        small.run(sql)
    assert small.run(f"SELECT ({sql})::VARCHAR").rows
    assert pid_of(small) == before


def test_an_answer_too_wide_for_a_page_is_cut(small):
    table = small.run("SELECT " + ", ".join(f"repeat('x', 9000) AS c{i}" for i in range(20)) + " FROM range(100)")
    assert table.truncated
    assert 0 < len(table.rows) < 100


def test_text_with_anything_in_it_survives_the_pipe(small):
    assert small.run("SELECT 'µ\n\"{}\\ 🦆'").rows == (('µ\n"{}\\ 🦆',),)


# -- mistakes and refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT latency FROM results", ('Referenced column "latency" not found', "Candidate bindings", "latency_us")),
        ("SELECT 'a'::INTEGER", ("Could not convert string 'a' to INT32",)),
        ("SELECT FROM WHERE", ("cannot be read",)),
        ("SELECT method FROM results GROUP BY seed", ("must appear in the GROUP BY clause",)),
        ("WITH t AS (SELECT 1 AS x) SELECT y FROM t", ("not found", "x")),
    ],
)
def test_a_mistake_is_told_in_duckdbs_words(small, sql, parts):
    with pytest.raises(QueryError) as mistake:
        small.run(sql)
    assert all(part in str(mistake.value) for part in parts)
    assert "LINE" not in str(mistake.value)
    assert "Error:" not in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_refusal_is_told_from_a_mistake(small):
    before = pid_of(small)
    with pytest.raises(GuardError, match="DROP changes data"):
        small.run("DROP TABLE results")
    with pytest.raises(GuardError, match="read_csv is not available"):
        small.run("SELECT * FROM read_csv('/etc/passwd')")
    with pytest.raises(GuardError, match="invisible"):
        small.run("SELECT '\ud800'")
    assert pid_of(small) == before
    assert answers(small)


# -- what does not end -------------------------------------------------------------------------------------------------


def test_a_query_without_end_is_stopped_in_time(small):
    started = time.monotonic()
    with pytest.raises(QueryStopped, match=r"stopped after 0\.5 s"):
        small.run(ENDLESS, time_limit_s=0.5)
    assert time.monotonic() - started < 10
    assert answers(small)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 2000000000))",
        "SELECT string_agg(repeat('x', 1000), '') FROM range(10000000)",
        "WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t",
        "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
        "SELECT "
        + ", ".join(f"a{i}.*" for i in range(40))
        + " FROM "
        + ", ".join(f"results AS a{i}" for i in range(40)),
    ],
    ids=lambda s: s[:50],
)
def test_a_bomb_is_stopped_and_the_next_query_works(small, sql):
    with pytest.raises(QueryStopped) as stopped:
        small.run(sql, time_limit_s=1.0)
    assert str(stopped.value).startswith("The query ")
    assert answers(small)


linux = pytest.mark.skipif(sys.platform != "linux", reason="the operating system tells and caps it on Linux")


@linux
def test_the_process_is_capped_by_the_operating_system(small):
    small.run("SELECT 1")
    limits = Path(f"/proc/{pid_of(small)}/limits").read_text()
    assert int(re.search(r"Max address space +(\d+)", limits)[1]) < 4e9
    assert re.search(r"Max open files +0 +0", limits)
    assert re.search(r"Max core file size +0", limits)


@linux
def test_memory_that_the_caps_on_addresses_allow_is_seen_to(small, monkeypatch):
    """What a load has freed counts as in use to the operating system's cap, and can be filled again."""
    small.run("SELECT 1")
    monkeypatch.setattr(small._child, "_most_mb", small._child._resident_mb() + 50)
    with pytest.raises(QueryStopped, match="more memory than it may use"):
        small.run("SELECT count(DISTINCT i || 'x') FROM range(100000000) AS t(i)", time_limit_s=60)
    assert answers(small)


def test_the_process_knows_no_key_of_its_parent(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "MIRROR_DB", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "PYTHON_TOKEN"):
        monkeypatch.setenv(name, "canary-in-the-environment")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    assert "canary-in-the-environment" not in sql_process._environment().values()
    assert sql_process._environment()["PGPASSFILE"] == str(tmp_path / "pgpass")
    assert sql_process._environment()["PATH"] == os.environ["PATH"]
    if sys.platform == "linux":
        with Sandbox(store_at(tmp_path / "results.duckdb", record(1)).url) as box:
            box.run("SELECT 1")
            assert b"canary" not in Path(f"/proc/{pid_of(box)}/environ").read_bytes()


@pytest.mark.parametrize(
    ("directions", "lost"),
    [
        (("forward", "forward"), {}),
        ((None, None), {}),
        (("forward", "forward_backward"), {"lookup": {"direction": {"batch_size": (512,)}}}),
        (("forward", None), {"lookup": {"direction": {"batch_size": (512,)}}}),
    ],
)
def test_a_usual_value_loses_what_stands_in_trials_of_another_alone(tmp_path, directions, lost):
    """Forward is usual: a second batch size that only the second trial has is lost where that is not forward."""
    sizes = ((1, directions[0], 64), (2, directions[1], 512))
    records = [record(n, direction=direction, batch_size=size, seed=0) for n, direction, size in sizes]
    store = store_at(tmp_path / "results.duckdb", *records)
    connection = snapshot.load(snapshot.read(store, EXPOSED), threads=1)
    assert sandbox_child.profile(connection, catalog.words()["defaults"], {}).lost == lost


@linux
def test_the_process_imports_no_pandas(small):
    """Which takes as long as all else that a start over small results does."""
    small.run("SELECT * FROM results")
    assert "/pandas/" not in Path(f"/proc/{pid_of(small)}/maps").read_text()


@linux
def test_nothing_can_be_opened_from_inside(tmp_path):
    """What holds when all else has failed: even Python code in the process reads, writes and connects to nothing."""
    (tmp_path / "secret.txt").write_text("canary")
    store = store_at(tmp_path / "results.duckdb", record(1))
    inside = (
        "import os, socket, sys\n"
        "from mirror.data.process import sandbox_child as child\n"
        "request = {'url': sys.argv[1], 'views': child.EXPOSED, 'usual': {}, 'threads': 1, 'memory_mb': 200}\n"
        "connection, reply = child._start(request)\n"
        "for attempt in (lambda: open(sys.argv[2]), lambda: open(sys.argv[2] + '.new', 'w'), os.pipe, socket.socket,\n"
        "                lambda: connection.execute(f\"SELECT * FROM read_text('{sys.argv[2]}')\").fetchall()):\n"
        "    try:\n"
        "        print('got in:', attempt())\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", inside, store.url, str(tmp_path / "secret.txt")],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["OSError", "OSError", "OSError", "OSError", "PermissionException"]
    assert not (tmp_path / "secret.txt.new").exists()


def test_a_crash_is_one_sentence_and_the_next_query_works(small):
    small.run("SELECT 1")
    pid = pid_of(small)
    killer = when_busy(small, lambda: os.kill(pid, signal.SIGKILL))
    with pytest.raises(QueryStopped, match="crashed the database engine"):
        small.run(ENDLESS, time_limit_s=60)
    killer.join()
    assert answers(small)
    assert pid_of(small) != pid


def test_a_process_that_died_between_queries_is_replaced(small):
    small.run("SELECT 1")
    os.kill(pid_of(small), signal.SIGKILL)
    small._child._process.wait()
    assert answers(small)


# -- cancelling --------------------------------------------------------------------------------------------------------


class Asking(threading.Thread):
    """Runs one query in a thread of its own and keeps what came of it."""

    def __init__(self, box: Sandbox, sql: str, time_limit_s: float = 60.0) -> None:
        super().__init__()
        self.box, self.sql, self.time_limit_s = box, sql, time_limit_s
        self.outcome: object = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self.box.run(self.sql, time_limit_s=self.time_limit_s).rows
        except Exception as error:
            self.outcome = error

    def ended(self) -> object:
        self.join(timeout=30)
        assert not self.is_alive()
        return self.outcome


def until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_query_that_runs_is_cancelled_and_the_process_stays(small):
    small.run("SELECT 1")
    before = pid_of(small)
    canceller = when_busy(small, small.cancel)
    with pytest.raises(QueryCancelled, match=r"^The query was cancelled\.$"):
        small.run(ENDLESS, time_limit_s=60)
    canceller.join()
    assert answers(small)
    assert pid_of(small) == before  # an interrupt was enough


def test_what_does_not_listen_is_ended_with_its_process(small):
    small.run("SELECT 1")
    before = pid_of(small)
    deaf = "SELECT levenshtein(repeat('a', 150000), repeat('b', 150000))"
    canceller = when_busy(small, small.cancel)
    with pytest.raises(QueryCancelled):
        small.run(deaf, time_limit_s=60)
    canceller.join()
    assert answers(small)
    assert pid_of(small) != before


def test_a_cancel_hits_no_later_query(small):
    small.cancel()
    small.cancel(threading.get_ident())
    assert answers(small)
    canceller = when_busy(small, lambda: [small.cancel(), small.cancel()])
    with pytest.raises(QueryCancelled):
        small.run(ENDLESS, time_limit_s=60)
    canceller.join()
    small.cancel()
    assert all(answers(small) for _ in range(20))


def test_cancels_at_any_moment_stop_only_what_runs(small):
    """Queries short and long under a hail of cancels: each answers rightly or says that it was cancelled."""
    small.run("SELECT 1")
    over = threading.Event()
    hail = threading.Thread(target=lambda: [small.cancel() for _ in iter(lambda: over.wait(0.03), True)])
    hail.start()
    outcomes = []
    for i in range(60):
        size = 10 ** (2 + i % 7)
        try:
            rows = small.run(f"SELECT {i}, count(*) FROM range({size}) AS t(n) WHERE sqrt(n) >= 0").rows
            outcomes.append(rows == ((i, size),))
        except QueryCancelled:
            outcomes.append(None)
    over.set()
    hail.join()
    assert set(outcomes) == {True, None}
    assert answers(small)


def test_one_thread_cancels_its_own_query_and_no_other(small):
    first = Asking(small, ENDLESS)
    until(lambda: len(small._order.turns) == 1)
    second, third = (Asking(small, f"SELECT {i}") for i in (2, 3))
    until(lambda: len(small._order.turns) == 3)
    small.cancel(second.ident)  # waits for its turn, and need not wait on
    assert isinstance(second.ended(), QueryCancelled)
    assert first.is_alive()
    assert third.is_alive()
    small.cancel(first.ident)
    assert isinstance(first.ended(), QueryCancelled)
    assert third.ended() == ((3,),)
    assert small._order.turns == []


def test_a_load_can_be_cancelled(tmp_path, monkeypatch):
    monkeypatch.setattr(sql_process, "INTERRUPT_S", 0.0)  # a load does not listen, and this one is short
    store = store_at(tmp_path / "results.duckdb", record(1))
    with Sandbox(store.url) as box:
        asking = Asking(box, "SELECT count(*) FROM results")
        until(lambda: box._order.turns)
        box.cancel()
        assert isinstance(asking.ended(), QueryCancelled)
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)


def test_closing_is_not_cancelled(tmp_path):
    with Sandbox(store_at(tmp_path / "results.duckdb", record(1)).url) as box:
        asking = Asking(box, ENDLESS)
        until(lambda: box._order.turns)
        closing = threading.Thread(target=box.close)
        closing.start()
        until(lambda: len(box._order.turns) == 2)
        box.cancel()
        assert isinstance(asking.ended(), QueryCancelled)
        box.cancel()
        closing.join(timeout=30)
        assert not closing.is_alive()
        assert box._child is None


def test_threads_take_turns(small):
    found = []
    threads = [
        threading.Thread(target=lambda i=i: found.append((i, small.run(f"SELECT {i}").rows[0][0]))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(i, i) for i in range(8)]


# -- the snapshot ------------------------------------------------------------------------------------------------------


def test_new_results_are_seen_by_the_next_query(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    with Sandbox(store.url) as box:
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)
        assert box.schema().rows("results") == 1
        first = pid_of(box)
        box.run("SELECT 1")
        assert pid_of(box) == first
        store.add([record(2), record(3, status="failed")])
        assert box.run("SELECT count(*) FROM results").rows == ((2,),)
        assert (box.schema().rows("results"), box.schema().rows("failures")) == (2, 1)


def test_the_snapshot_holds_what_the_views_of_the_store_hold(again):
    """Superseded trials are in `history` alone; samples are read when they are asked for."""
    store = Store(again._store.url)
    assert again.schema().row_counts.keys() == set(EXPOSED)
    for view in EXPOSED:
        columns = ", ".join(store.rows(f"SELECT * FROM {view} LIMIT 1")[0])
        expected = [tuple(map(plain, r.values())) for r in store.rows(f"SELECT {columns} FROM {view}")]
        table = again.run(f"SELECT * FROM {view}", row_cap=100_000)
        assert ", ".join(table.names) == columns
        assert sorted(table.rows, key=repr) == sorted(expected, key=repr)
        assert len(expected) == again.schema().rows(view) > 0
    assert again.schema().rows("history") > again.schema().rows("results")


def test_no_more_is_read_than_the_snapshot_keeps(tmp_path, monkeypatch):
    """Of `results` it keeps which trials of `history` they are; samples are the bulk of a store."""
    store = store_at(tmp_path / "results.duckdb", record(1))
    usual = [view for view in EXPOSED if view != "samples"]
    read = {view: rows.schema.names for view, rows in snapshot.read(store, usual)}
    assert read.keys() == set(usual)
    assert read["results"] == ["trial_id"]
    assert set(read["history"]) > {"trial_id", "method", "latency_us"}

    tables = store.snapshot()  # as from a server, which has no path
    asked = []
    monkeypatch.setattr(store, "path", None)
    monkeypatch.setattr(store, "snapshot", lambda views: asked.append(dict(views)) or {v: tables[v] for v in views})
    assert [view for view, _ in snapshot.read(store, usual)] == list(read)
    assert {view: tuple(columns) for view, columns in asked[0].items()} == {
        view: ("trial_id",) if view == "results" else ("*",) for view in usual
    }


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM samples", 'SELECT count(*) FROM results, "SAMPLES"'])
def test_samples_are_loaded_by_the_first_query_that_names_them(tmp_path, sql):
    store = store_at(tmp_path / "results.duckdb", record(1))
    with Sandbox(store.url) as box:
        assert box.run("SELECT samples_per_s, 'no sample' FROM results").rows == ((None, "no sample"),)
        before = pid_of(box)
        assert "samples" not in box._child.views
        assert box.schema().rows("samples") == 2
        assert box.run(sql).rows == ((2,),)
        assert pid_of(box) != before
        after = pid_of(box)
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)
        assert box.schema().rows("samples") == 2
        assert pid_of(box) == after
        store.add([record(2)])
        assert box.run("SELECT count(*) FROM results").rows == ((2,),)
        assert "samples" not in box._child.views  # a new state of the results is read without them again


def test_a_process_that_must_start_anyway_loads_the_samples_at_once(tmp_path, monkeypatch):
    started = []
    child = sandbox._Child
    monkeypatch.setattr(sandbox, "_Child", lambda url, views, *rest: started.append(views) or child(url, views, *rest))
    with Sandbox(store_at(tmp_path / "results.duckdb", record(1)).url) as box:
        assert box.run("SELECT count(*) FROM samples").rows == ((2,),)
    assert started == [tuple(view for view in EXPOSED if view != "curves")]


@pytest.mark.parametrize(
    "sql", ["SELECT 1; SELECT 2", "EXPLAIN SELECT 1", "SET threads = 1", "CREATE TABLE t AS SELECT 1", ""]
)
def test_what_is_no_single_select_does_not_run_whatever_the_guard_says(tmp_path, monkeypatch, sql):
    connection, _ = sandbox_child._loaded(store_at(tmp_path / "results.duckdb", record(1)), EXPOSED, threads=1)
    monkeypatch.setattr(sandbox_child, "check", lambda sql, _: sql)
    assert sandbox_child.answer(connection, sql, 10)["error"] == "guard"
    assert sandbox_child.answer(connection, "FROM results", 10)["rows"]


def test_what_may_not_run_makes_nobody_load_the_samples(small):
    small.run("SELECT 1")
    before = pid_of(small)
    with pytest.raises(GuardError):
        small.run("DROP TABLE samples")
    with pytest.raises(QueryError):
        small.run("SELECT FROM samples WHERE")
    assert pid_of(small) == before


def test_a_catalogue_that_is_wrong_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "words.yaml").write_text("columns: [")
    monkeypatch.setenv("MIRROR_CATALOG", str(tmp_path / "words.yaml"))
    catalog.words.cache_clear()
    box = Sandbox(store_at(tmp_path / "results.duckdb", record(1)).url)
    with box, pytest.raises(StoreError, match=r"words\.yaml"):
        box.run("SELECT 1")


def test_samples_stand_as_they_were_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("db.store.BATCH_ROWS", 2)
    monkeypatch.setattr(snapshot, "_BATCHES", 1)
    store = store_at(tmp_path / "results.duckdb", *(record(i) for i in (3, 1, 2)))
    connection = snapshot.load(snapshot.read(store, EXPOSED), threads=2)
    rows = connection.execute("SELECT trial_id, sample FROM samples").fetchall()
    assert rows == [(f"t{i}-1", n) for i in (3, 1, 2) for n in (0, 1)]


def test_a_small_file_is_copied_as_a_large_one_is_read(tmp_path, monkeypatch):
    store = store_at(tmp_path / "results.duckdb", *(record(i, seed=i % 2) for i in (3, 1, 2)))
    usual = [view for view in EXPOSED if view not in ("samples", "curves")]
    told = []
    for small in (True, False):
        monkeypatch.setattr(snapshot, "is_small", lambda *_, small=small: small)
        for views in (EXPOSED, usual):
            connection, left = sandbox_child._loaded(store, views, threads=1)
            held = {v: (connection.execute(f"DESCRIBE {v}").fetchall(), connection.execute(f"FROM {v}").fetchall())
                    for v in views}  # fmt: skip
            told.append((held, left))
    assert told[:2] == told[2:]
    assert sorted(told[0][0]) == sorted(EXPOSED)


@linux
def test_the_file_is_closed_once_it_is_copied(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    connection, _ = sandbox_child._loaded(store, EXPOSED, threads=1)
    assert connection.execute("SELECT count(*) FROM results").fetchall() == [(1,)]
    assert store.path not in [number.resolve() for number in Path("/proc/self/fd").iterdir()]
    assert connection.execute("SELECT path FROM duckdb_databases() WHERE path IS NOT NULL").fetchall() == []


def test_a_file_of_before_is_brought_up_to_date_first(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    with duckdb.connect(str(store.path)) as old:
        old.execute("DELETE FROM schema_migrations WHERE name LIKE 'views:%'")
    with Sandbox(store.url) as box:
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)
    assert not store._pending()


def test_the_file_is_free_while_the_sandbox_is_warm(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    with Sandbox(store.url) as box:
        box.run("SELECT 1")
        assert Store(store.url, lock_wait_s=0).add([record(2)]) == 1


def test_no_file_yet_is_a_sentence(tmp_path):
    with Sandbox(str(tmp_path / "none.duckdb")) as box:
        with pytest.raises(StoreError, match=r"There are no results at none\.duckdb yet"):
            box.run("SELECT 1")
        with pytest.raises(StoreError, match="no results"):
            box.schema()
        assert not list(tmp_path.iterdir())
        store_at(tmp_path / "none.duckdb", record(1))
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)


def test_a_file_that_is_not_a_database_is_a_sentence(tmp_path):
    (tmp_path / "broken.duckdb").write_text("x" * 10_000)
    with Sandbox(str(tmp_path / "broken.duckdb")) as box, pytest.raises(StoreError, match="not a whole DuckDB file"):
        box.run("SELECT 1")


def test_errors_of_the_store_keep_their_class():
    reply = {"error": "StoreBusyError", "message": "The file is held."}
    assert isinstance(sandbox._error_of(reply), StoreBusyError)
    assert isinstance(sandbox._error_of({**reply, "error": "NewerDatabaseError"}), StoreError)


def test_empty_results_can_be_asked(tmp_path):
    store = store_at(tmp_path / "results.duckdb")
    with Sandbox(store.url) as box:
        assert box.run("SELECT method, auc FROM results").rows == ()
        profile = box.schema()
    assert (profile.benchmarks, profile.updated, profile.rows("results")) == ((), None, 0)


def test_a_relative_path_and_a_foreign_working_directory(tmp_path, monkeypatch):
    """Modules of the working directory must not be taken for ours."""
    (tmp_path / "duckdb.py").write_text("raise RuntimeError('wrong module')")
    store_at(tmp_path / "results.duckdb", record(1))
    monkeypatch.chdir(tmp_path)
    with Sandbox("results.duckdb") as box:
        assert box.run("SELECT count(*) FROM results").rows == ((1,),)


def test_close_ends_the_process_and_a_later_query_starts_another(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    box = Sandbox(store.url)
    box.run("SELECT 1")
    process = box._child._process
    box.close()
    assert process.returncode is not None
    assert box.run("SELECT 1").rows == ((1,),)
    box.close()


def test_one_sandbox_per_url(tmp_path):
    assert sandbox.shared(str(tmp_path / "a.duckdb")) is sandbox.shared(f"duckdb:///{tmp_path}/a.duckdb")
    assert sandbox.shared(str(tmp_path / "a.duckdb")) is not sandbox.shared(str(tmp_path / "b.duckdb"))


def test_the_process_ends_with_its_parent(tmp_path):
    store = store_at(tmp_path / "results.duckdb", record(1))
    parent = (
        "import os, sys, threading\n"
        "from mirror.data.process.sandbox import Sandbox\n"
        "box = Sandbox(sys.argv[1])\n"
        "box.run('SELECT 1')\n"
        "print(box._child._process.pid, flush=True)\n"
        f"box.run({ENDLESS!r}, time_limit_s=60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, store.url], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        child = int(process.stdout.readline())
        process.kill()
    for _ in range(500):
        if not _runs(child):
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the process outlived its parent")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(") ")[2][0] != "Z"


# -- the profile -------------------------------------------------------------------------------------------------------


def test_profile(tmp_path):
    trials = [record(i, "dense" if i % 2 else "hashed", sweep="quick") for i in range(60)]
    training = record(
        100,
        "dense",
        benchmark="training",
        dataset="frappe",
        auc=0.9,
        latency_us=None,
        machine_id="m2",
        embedding_dim=32,
    )
    store = store_at(tmp_path / "results.duckdb", *trials, training, record(101, status="failed", error="no"))
    with Sandbox(store.url) as box:
        profile = box.schema()
        assert box.schema() is profile
    assert profile.benchmarks == ("lookup", "training")
    assert profile.values("method") == ("dense", "hashed")
    assert profile.values("embedding_dim") == (16, 32)
    assert profile.values("embedding_dim", "lookup") == (16,)
    assert profile.values("dataset") == profile.values("dataset", "training") == ("frappe",)
    assert profile.values("dataset", "lookup") == ()
    assert profile.values("machine") == ("box", "m2")
    assert profile.values("sweep") == ("quick",)
    assert profile.values("seed") == profile.values("seed", "lookup") == ()  # more than 50
    assert profile.values("seed", "training") == (100,)
    assert profile.values("nonsense") == profile.values("method", "nonsense") == ()
    assert profile.metrics("lookup") == {"latency_us"}
    assert profile.metrics("training") == {"auc"}
    assert profile.metrics("nonsense") == frozenset()
    assert (profile.rows("results"), profile.rows("failures"), profile.machines) == (61, 1, 2)
    assert profile.started == ("2026-11-01T00:00:00", "2026-11-01T01:40:00")
    assert profile.updated == "2026-11-01T01:40:00"
    assert Profile.from_dict(profile.to_dict()) == profile
