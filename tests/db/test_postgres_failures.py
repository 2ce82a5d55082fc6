"""A PostgreSQL server that refuses, is not there, or goes away: one sentence, no password, and nothing lost."""

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from make_records import make_record

from db import journal, postgres
from db.installation import ROOT
from db.store import Store, StoreBusyError, StoreError

psycopg = pytest.importorskip("psycopg", reason="psycopg is not here: run `pip install 'psycopg[binary]'`")
SECRET = "geheim"


def tell(store: Store, error: type[StoreError] = StoreError) -> str:
    """What `ensure` and everything else say."""
    said = set()
    for attempt in (store.ensure, store.version, store.snapshot, lambda: store.add([make_record()])):
        with pytest.raises(error) as caught:
            attempt()
        said.add(str(caught.value))
    (sentence,) = said
    assert SECRET not in sentence
    assert "\n" not in sentence
    return sentence


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_that_is_not_there(host: str) -> None:
    sentence = tell(Store(f"postgresql+psycopg://mirror:{SECRET}@{host}:{free_port()}/team"))
    assert f"The results at postgresql+psycopg://mirror:***@{host}" in sentence
    assert sentence.endswith("Connection refused; start the server, or mend host and port in the URL.")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg://u:geheim@nowhere.invalid/team", "resolve host 'nowhere.invalid'.*mend host and port"),
        ("postgresql+psycopg:///team?host=/nowhere&password=geheim", r"No such file or directory; start the server"),
        ("postgresql+psycopg://u:geheim@localhost:port/team", "the URL given cannot be used: its port is no number"),
        (
            "postgresql+psycopg://u:my@geheim@localhost/team",
            "the URL given cannot be used: a password .* written as %40",
        ),
        ("postgresql+psycopg://u:geheim@localhost/team?colour=red", 'invalid connection option "colour"'),
        ("postgres://u:geheim@localhost/team", r"write postgresql\+psycopg://USER@HOST/DATABASE"),
    ],
)
def test_urls_that_lead_nowhere(url: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        Store(url).ensure()
    assert SECRET not in str(caught.value)


def test_a_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"psycopg.*; install it with `pip install 'psycopg\[binary\]'`\."):
        Store("postgresql+psycopg://u@localhost/team").ensure()


def test_a_wrong_password(postgres) -> None:
    sentence = tell(Store(postgres.url().replace(postgres.password, SECRET)))
    assert 'password authentication failed for user "mirror"; mend the user or the password' in sentence


def test_a_database_that_is_missing(postgres) -> None:
    sentence = tell(Store(postgres.url("nobody_made_it")))
    assert 'database "nobody_made_it" does not exist; make it with `createdb`, or name another.' in sentence
    assert postgres.password not in sentence


def test_a_database_without_results(postgres_url: str) -> None:
    with pytest.raises(StoreError, match=r"no results at postgresql.* yet: run `python -m bench_engine ingest` first"):
        Store(postgres_url).version()


def test_a_database_of_another_encoding(postgres) -> None:
    with postgres.database("template0 ENCODING 'LATIN1' LOCALE 'C'") as url:
        store = Store(url)
        store.ensure()
        assert store.add([make_record(1, status="failed", error="µ")]) == 1
        with pytest.raises(StoreError, match=r'encoding "LATIN1"; make the database with `createdb -E UTF8'):
            store.add([make_record(2, status="failed", error="🦆")])
    with postgres.database("template0 ENCODING 'SQL_ASCII' LOCALE 'C'") as url:  # Debian's where no locale is set
        store = Store(url)
        store.ensure()
        store.add([make_record(2, status="failed", error="🦆")])
        assert store.rows("SELECT error FROM failures") == [{"error": "🦆"}]
        assert store.snapshot()["failures"]["error"].to_pylist() == ["🦆"]


def test_a_view_of_somebody_else_on_ours(postgres_store: Store) -> None:
    with postgres_store._connect(write=True) as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT * FROM results")
        connection.exec_driver_sql("DELETE FROM schema_migrations WHERE name LIKE 'views:%%'")
    with pytest.raises(StoreError, match=r"cannot drop view results.*; drop what was built on the views of Mirror"):
        postgres_store.ensure()


@pytest.fixture
def guest(postgres, postgres_store: Store):
    """URL of somebody who may read."""
    database = postgres_store.url.rpartition("/")[2]
    postgres.execute(f"CREATE ROLE guest LOGIN PASSWORD '{SECRET}'", database)
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest", database)
    yield postgres_store.url.replace(f"mirror:{postgres.password}", f"guest:{SECRET}")
    postgres.execute("DROP OWNED BY guest", database)
    postgres.execute("DROP ROLE guest", database)


def test_somebody_who_may_only_read_can_ask(guest: str, postgres_store: Store) -> None:
    postgres_store.add([make_record(1)])
    store = journal.open_results(guest)
    assert store.snapshot()["results"].num_rows == 1
    with pytest.raises(StoreError, match="permission denied for table trials; use the role that owns the database"):
        store.add([make_record(2)])


def test_a_writer_waits_for_its_turn_and_then_says_so(postgres_store: Store) -> None:
    quick = Store(postgres_store.url, lock_wait_s=0.2)
    with postgres_store._connect(write=True):
        with pytest.raises(StoreBusyError, match=r"held by another program .* Nothing is lost"):
            quick.add([make_record(1)])
        assert quick.rows("SELECT * FROM results") == []  # readers go on
    assert quick.add([make_record(1)]) == 1


def test_a_reader_waits_while_the_views_change(postgres_store: Store) -> None:
    quick = Store(postgres_store.url, lock_wait_s=0.2)
    with postgres_store._connect(write=True) as connection:
        postgres.begin_change(connection)
        with pytest.raises(StoreBusyError):
            quick.snapshot()
    assert quick.snapshot()["results"].num_rows == 0


def test_views_change_when_nobody_reads(postgres_store: Store) -> None:
    with postgres_store._connect(write=True) as connection:
        connection.exec_driver_sql("DELETE FROM schema_migrations WHERE name LIKE 'views:%%'")
    quick = Store(postgres_store.url, lock_wait_s=0.2)
    with postgres_store._connect(write=False), pytest.raises(StoreBusyError):
        quick.ensure()
    assert quick.ensure() is False


def test_a_server_that_is_full_is_waited_for(postgres, postgres_store: Store) -> None:
    conninfo = postgres_store.url.replace("+psycopg", "")
    held = []
    with contextlib.suppress(psycopg.OperationalError):
        while True:
            held.append(psycopg.connect(conninfo))
    quick = Store(postgres_store.url, lock_wait_s=0.2)
    with pytest.raises(StoreBusyError, match="too many clients"):
        quick.rows("SELECT 1")
    threading.Timer(0.3, lambda: [connection.close() for connection in held]).start()
    assert postgres_store.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_connection_that_is_ended_in_the_middle(postgres_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = postgres.insert

    def end_after(connection: sa.Connection, table: sa.Table, rows: object) -> None:
        insert(connection, table, rows)  # type: ignore[arg-type]
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        Store(postgres_store.url).rows("SELECT pg_terminate_backend(:pid)", pid=pid)

    monkeypatch.setattr(postgres, "insert", end_after)
    with pytest.raises(StoreError, match=r"terminating connection.*; try again when it is back"):
        postgres_store.add([make_record(1)])
    monkeypatch.undo()
    assert postgres_store.rows("SELECT * FROM trials") == []
    assert postgres_store.add([make_record(1)]) == 1


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench_engine", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_server_that_dies_during_an_ingest(
    postgres, postgres_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_JOURNAL", str(folder))
    (folder / "packed.jsonl").write_text("".join(make_record(n).to_json() + "\n" for n in range(4500)))
    before = sorted(folder.iterdir())
    store = Store(postgres_url)
    store.ensure()
    process = command("ingest", "--db", postgres_url)
    try:
        while not store.rows("SELECT 1 FROM trials LIMIT 1"):  # the first of three transactions is done
            assert process.poll() is None
            time.sleep(0.01)
        postgres.stop(signal.SIGQUIT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        if postgres.process is None:
            postgres.start()
    assert process.returncode == 1
    assert out == ""
    assert err.startswith("The results at postgresql+psycopg://mirror:***@")
    assert len(err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
    again = command("ingest", "--db", postgres_url)
    assert again.communicate(timeout=60)[1] == ""
    assert store.rows("SELECT count(*) AS n, count(DISTINCT trial_id) AS d FROM trials") == [{"n": 4500, "d": 4500}]
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 9000}]
