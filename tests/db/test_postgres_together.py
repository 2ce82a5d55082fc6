"""Several people and one PostgreSQL database: at once, from several machines, and after kill -9."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from make_records import make_record
from test_store import about

from bench_engine.machine import machine
from bench_engine.plan import planning
from db import journal
from db.installation import ROOT
from db.settings import journal_dir
from db.store import Store

pytest.importorskip("psycopg", reason="psycopg is not here: run `pip install 'psycopg[binary]'`")
HERE = Path(__file__).parent


def at_once(code: str, *arguments: str, processes: int = 2) -> list[str]:
    """Run Python code in several processes that begin in the same moment. Returns what they print, in order."""
    start = f"import sys, time; sys.path[:0] = [{str(ROOT)!r}, {str(HERE)!r}]\nfrom db import journal\n"
    start += "from db.store import Store\nfrom pathlib import Path\nfrom make_records import make_record\n"
    start += "import psycopg, sqlalchemy.dialects.postgresql\ntime.sleep(max(0, float(sys.argv[1]) - time.time()))\n"
    # Arrow's threads now and then abort a process that is ending, when its work is done (apache/arrow issue 34314).
    end = "\nimport os; sys.stdout.flush(); os._exit(0)"
    moment = str(time.time() + 2)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", start + code + end, moment, *arguments], stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    printed = [process.communicate(timeout=60)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return sorted(printed)


def test_several_make_the_tables_at_once(postgres_url: str) -> None:
    said = at_once("print(Store(sys.argv[2], lock_wait_s=60).ensure())", postgres_url, processes=3)
    assert said == ["False", "False", "True"]
    assert Store(postgres_url).rows("SELECT * FROM results") == []


def test_two_ingest_one_journal_at_once(postgres_url: str, folder: Path) -> None:
    (folder / "packed.jsonl").write_text("".join(make_record(n).to_json() + "\n" for n in range(2500)))
    for n in range(2500, 2550):
        journal.write(folder, make_record(n))
    code = "print(journal.ingest(Store(sys.argv[2], lock_wait_s=60), [Path(sys.argv[3])]).added)"
    added = at_once(code, postgres_url, str(folder))
    assert sum(map(int, added)) == 2550
    store = Store(postgres_url)
    assert store.rows("SELECT count(*) AS n, count(DISTINCT trial_id) AS d FROM trials") == [{"n": 2550, "d": 2550}]
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 5100}]
    assert store.rows("SELECT count(*) AS n FROM machines") == [{"n": 1}]


def test_the_views_may_change_while_others_read(postgres_store: Store) -> None:
    """Without an order of locks, one of them would be ended as a deadlock."""
    postgres_store.add([make_record(1)])
    code = (
        "store = Store(sys.argv[2], lock_wait_s=60)\n"
        "for n in range(4):\n"
        "    with store._connect(write=True) as c:\n"
        "        c.exec_driver_sql(\"DELETE FROM schema_migrations WHERE name LIKE 'views:%%'\")\n"
        "    store.ensure(); print(store.snapshot()['results'].num_rows, end=' ')\n"
    )
    assert at_once(code, postgres_store.url, processes=3) == ["1 1 1 1"] * 3


def test_two_machines_have_each_its_journal_and_the_database_has_both(
    engine, postgres_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one has measured is not done on the other, and neither repeats its own."""
    url = postgres_store.url
    sweep = engine.sweep("ok", seeds=2)
    for number in (1, 2):
        facts = {**machine.machine(), "machine_id": f"m{number}", "name": f"machine {number}"}
        monkeypatch.setattr(planning.this_machine, "machine", lambda facts=facts: facts)
        monkeypatch.setenv("MIRROR_JOURNAL", str(tmp_path / f"{number}.journal"))
        made = planning.plan(sweep, url=url)
        assert [p.fate for p in made.trials] == ["todo", "todo"]
        for planned in made.trials:
            record = make_record(
                identity=planned.identity, attempt=planned.attempt, machine_id=facts["machine_id"],
                configuration=planned.trial.configuration(), comparison=planned.trial.comparison(),
            )  # fmt: skip
            whose = {"machine_id": facts["machine_id"], "name": facts["name"]}
            journal.write(journal_dir(url), about(record, machine=whose))
        journal.ingest(postgres_store, [journal_dir(url)])
        assert [p.fate for p in planning.plan(sweep, url=url).trials] == ["done", "done"]
    sql = "SELECT machine, count(*) AS n FROM results GROUP BY machine ORDER BY machine"
    both = [{"machine": "machine 1", "n": 2}, {"machine": "machine 2", "n": 2}]
    assert postgres_store.rows(sql) == both
    with postgres_store._connect(write=True) as connection:  # the database is lost, the journals are not
        connection.exec_driver_sql("TRUNCATE trials, samples, curve_points, machines, sweeps")
    for number in (2, 1):
        journal.ingest(postgres_store, [tmp_path / f"{number}.journal"])
    assert postgres_store.rows(sql) == both


def test_attempts_go_on_where_the_database_left_off(
    engine, postgres_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that was lost does not make a second trial of the same name."""
    sweep = engine.sweep("ok")
    (planned,) = planning.plan(sweep, url=postgres_store.url).trials
    machine_id = machine.machine()["machine_id"]
    postgres_store.add([make_record(identity=planned.identity, attempt=3, machine_id=machine_id)])
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.folder / "new.journal"))
    (planned,) = planning.plan(sweep, url=postgres_store.url).trials
    assert (planned.fate, planned.attempt) == ("todo", 4)


def test_a_run_that_is_killed_goes_on_and_journal_and_database_agree(
    engine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.journal))
    path = engine.file("ok", seeds=4)
    killed = engine.start("--db", postgres_url, "run", path)
    while len(engine.entries()) < 2:
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=30)
    assert len(engine.entries()) < 4
    done = engine.command("--db", postgres_url, "run", path)
    assert done.returncode == 0, done.stderr
    assert "4 trials have results" in done.stdout
    stored = Store(postgres_url).rows("SELECT trial_id, status, seed FROM trials ORDER BY trial_id")
    assert [f"{row['trial_id']}.{row['status']}.json" for row in stored] == engine.entries()
    assert sorted(row["seed"] for row in stored) == list(range(4))


def test_a_run_goes_on_without_the_server_and_an_ingest_brings_its_trials_in(
    engine, postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.journal))
    running = engine.start("--db", postgres_url, "run", engine.file("ok", seeds=4))
    try:
        while not engine.entries():
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        postgres.stop(signal.SIGQUIT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
        if postgres.process is None:
            postgres.start()
    assert "The trials are safe in the journal. Run `python -m bench_engine ingest` later" in said
    assert "Traceback" not in said
    assert len(engine.entries()) == 4
    done = engine.command("ingest", "--db", postgres_url)
    assert done.returncode == 0
    assert Store(postgres_url).rows("SELECT count(*) AS n FROM trials") == [{"n": 4}]


@pytest.mark.parametrize("words", [("run", "{sweep}"), ("ingest",)])
def test_a_command_without_a_server_is_a_sentence_and_status_1(engine, words: tuple[str, ...]) -> None:
    url = "postgresql+psycopg://mirror:geheim@127.0.0.1:1/team"
    sweep = str(engine.file("ok"))
    done = engine.command(*(word.format(sweep=sweep) for word in words), "--db", url)
    assert done.returncode == 1
    assert "Connection refused; start the server" in done.stderr.splitlines()[-1]
    assert "geheim" not in done.stdout + done.stderr
