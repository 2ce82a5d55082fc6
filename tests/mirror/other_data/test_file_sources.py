"""CSV, Parquet, DuckDB and SQLite files: what is wrong with them is one sentence, and nothing is ever written."""

import gzip
import random
import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sales_data
from choosing import answer_with

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.answer.other_data import OtherData
from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.process import other_data_process as process
from mirror.data.process.other_data_process import OtherDataSource, shared
from mirror.data.sources import files
from mirror.data.sources.kind import find_other_data
from mirror.data.sources.location import SourceError, find
from mirror.data.sources.open_reader import open_reader

MANY = "id,city,amount,day\n" + "".join(f"{i},c{i % 9},{i * 1.5},2025-01-{i % 28 + 1:02d}\n" for i in range(1, 3001))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def written(folder: Path, text: str | bytes, name: str = "sales.csv") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def rows(answer: Answer) -> tuple[tuple[object, ...], ...]:
    assert answer.table is not None, answer.summary
    return answer.table.rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sales.csv is empty"),
        ("\n\n", "sales.csv is empty"),
        ("1,2\n3,4\n", "should name the columns"),
        ("id,id\n1,2\n", "names a column twice"),
        (MANY + "3001,c1\n", "Line 3,002 of sales.csv (“3001,c1”) has fewer columns than the 4"),
        (MANY + "3001,c1,1.0,2025-01-01,x\n3002,c1,2.0,2025-01-01\n", "Line 3,002 of sales.csv"),
        (MANY + '3001,"c1,1.0,2025-01-01\n', "Line 3,002 of sales.csv"),
        ("id,city\n1,a\n2\n", "Line 3 of sales.csv (“2”) has fewer columns than the 2"),
        ("id,city\n1,\xe9\0\n".encode("latin-1"), "Line 2 of sales.csv is not UTF-8 text"),
        (
            f"id,city\n1,{'a' * 2_100_000}\n",
            "is longer than the 2,000,000 bytes that a line may have: shorten its texts",
        ),
        (",".join(f"c{i}" for i in range(2_001)) + "\n", "sales.csv has 2,001 columns, where 2,000 can be read"),
    ],
    ids=[
        "empty",
        "blank",
        "no header",
        "twice",
        "short row",
        "long row",
        "open quote",
        "small",
        "no text",
        "long text",
        "wide",
    ],
)
def test_a_broken_csv_names_the_line(text: str | bytes, said: str, folder: Path) -> None:
    told = ask("how many sales", db=written(folder, text))
    assert told.status == "error"
    assert said in told.summary
    assert str(folder) not in told.summary


def test_a_word_among_numbers_is_said_where_it_matters(folder: Path) -> None:
    url = written(folder, MANY + "3001,c1,unknown,2025-01-01\n")
    told = ask("total amount by city", db=url)
    assert told.status != "answered"
    assert "row 3,001 below the header holds “unknown”" in told.summary
    assert rows(ask("how many sales", db=url)) == ((3001,),)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id;city;amount\n1;a;2,5\n2;b;3,5\n", "sales.csv"),
        ("id\tcity\tamount\n1\ta\t2.5\n2\tb\t3.5\n", "sales.tsv"),
        ("\ufeffid,city,amount\r\n1,a,2.5\r\n\r\n2,b,3.5\r\n", "sales.csv"),
        (gzip.compress(b"id,city,amount\n1,a,2.5\n2,b,3.5\n"), "sales.csv.gz"),
        ('id,city,amount,\n1,"a",2.5,\n2,"b",3.5,\n', "sales.csv"),
    ],
    ids=["semicolons", "tabs", "bom", "gzip", "trailing comma"],
)
def test_every_kind_of_csv_is_read(text: str | bytes, name: str, folder: Path) -> None:
    answer_with(((6.0,),), "total amount", db=written(folder, text, name))


def test_nan_in_parquet_is_left_out_of_sums(folder: Path) -> None:
    table = pa.table({"kind": ["a", "a", "b"], "amount": [1.5, float("nan"), 2.0]})
    pq.write_table(table, folder / "sales.parquet")
    answer_with((("b", 2.0), ("a", 1.5)), "total amount by kind", db=str(folder / "sales.parquet"))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("sales with amount over 2", ((3, "b", 3.0),)),
        ("number of sales with amount at least 1.5", ((2,),)),
        ("sale with the highest amount", ((3, 3.0),)),
        ("top 2 sales by amount", ((3, 3.0), (1, 1.5))),
        ("sales with amount above the average", ((3, "b", 3.0),)),
        ("number of sales where amount is empty", ((1,),)),
    ],
)
def test_nan_is_more_than_no_number(question: str, found: tuple[tuple[object, ...], ...], folder: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "kind": ["a", "a", "b"], "amount": [1.5, float("nan"), 3.0]})
    pq.write_table(table, folder / "sales.parquet")
    answer_with(found, question, db=str(folder / "sales.parquet"))


def test_a_file_that_changes_is_read_anew_and_one_that_vanishes_is_missed(folder: Path) -> None:
    url = written(folder, "id,amount\n1,2\n")
    answer_with(((2,),), "total amount", db=url)
    written(folder, "id,amount\n1,2\n2,40\n")
    answer_with(((42,),), "total amount", db=url)
    Path(url).unlink()
    assert ask("total amount", db=url).summary == "There is no file sales.csv: mend the path."


def test_a_group_without_a_value_is_a_row(folder: Path) -> None:
    url = written(folder, "city,amount\na,1.5\na,2.5\nb,3.5\nc,\n")
    answer = answer_with((("b", 3.5), ("a", 2.0), ("c", None)), "average amount by city", db=url)
    assert answer.summary.endswith(" 3 rows; 1 row has no average amount.")


def test_files_named_together_are_joined_by_inferred_keys(csv_shop: sales_data.Shop) -> None:
    named = ",".join(str(Path(csv_shop.url) / f"{t}.csv") for t in ("customers", "orders"))
    found = ask("number of orders by country", db=named)
    assert rows(found)[0] == ("France", 23)
    assert "Keys inferred" in found.note
    shared(find(named)).close()


def test_two_files_that_would_be_one_table_are_refused(folder: Path) -> None:
    first, second = written(folder, "id\n1\n"), written(folder, "id\n1\n", "sales.tsv")
    assert "would both be the table sales" in ask("how many sales", db=f"{first},{second}").summary


def test_a_file_in_memory_is_locked(csv_shop: sales_data.Shop) -> None:
    reader = open_reader(find(csv_shop.url))
    with reader.session() as session:
        for sql in (
            f"SELECT * FROM read_csv('{csv_shop.url}/orders.csv')",
            "SET enable_external_access = true",
            "COPY orders TO '/tmp/stolen.csv'",
            "INSTALL httpfs",
        ):
            with pytest.raises(QueryError):
                session.fetch(sql)


def test_a_parquet_file_is_the_only_one_that_can_be_read(folder: Path) -> None:
    pq.write_table(pa.table({"amount": [1]}), folder / "sales.parquet")
    other = written(folder, "secret\n1\n", "other.csv")
    with open_reader(find(str(folder / "sales.parquet"))).session() as session:
        assert session.fetch("SELECT count(*) FROM sales").rows == [(1,)]
        with pytest.raises(QueryError):
            session.fetch(f"SELECT * FROM read_csv('{other}')")


def test_a_duckdb_file_is_opened_for_reading_and_left_free_in_between(
    duckdb_shop: sales_data.Shop, folder: Path
) -> None:
    path = folder / "shop.duckdb"
    shutil.copy(duckdb_shop.url, path)
    assert rows(ask("how many customers", db=str(path))) == ((12,),)
    with duckdb.connect(str(path)) as owner:  # would fail where a process still held the file
        owner.execute("DELETE FROM order_items")
        busy = ask("how many order items", db=str(path))
        assert "being written by another program" in busy.summary
    answer_with(((0,),), "how many order items", db=str(path))
    with open_reader(find(str(path))).session() as session:
        for sql in ("DELETE FROM orders", "SELECT * FROM read_csv('/etc/passwd')", "SET memory_limit = '90GB'"):
            with pytest.raises(QueryError):
                session.fetch(sql)


def test_a_sqlite_file_cannot_be_written(folder: Path) -> None:
    url = sales_data.make_sqlite(folder / "shop.sqlite")
    before = Path(url).read_bytes()
    with open_reader(find(url)).session() as session:
        for sql in ("DELETE FROM orders", "ATTACH '/etc/x' AS y", "PRAGMA query_only = OFF", "CREATE TABLE x (y)"):
            with pytest.raises(QueryError):
                session.fetch(sql)
    assert Path(url).read_bytes() == before


def test_views_that_are_stale_or_endless_do_not_block_a_sqlite_file(folder: Path) -> None:
    path = folder / "views.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, kind TEXT, amount REAL); INSERT INTO t VALUES (1, 'a', 2.5);"
        "CREATE VIEW stale AS SELECT * FROM gone; CREATE VIEW renamed AS SELECT missing FROM t;"
        "CREATE VIEW endless AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
        "SELECT count(*) AS c, 'x' AS k, 1 AS z FROM r;"
    )
    connection.close()
    started = time.monotonic()
    found = shared(find(str(path))).schema()
    assert time.monotonic() - started < 30
    assert [r.name for r in found.relations] == ["t", "endless"]
    assert any("The view stale cannot be read and is left out: no such table: main.gone." in n for n in found.notes)
    assert any("counting them took too long" in n for n in found.notes)
    assert found.relation("t").column("kind").values == ("a",)
    answer_with((("a", 2.5),), "total amount by kind", db=str(path))


def test_a_csv_that_memory_does_not_hold_is_read_through_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "big.csv"
    with path.open("w") as file:
        file.write("id,name,amount\n")
        file.writelines(f"{i},{'x' * 40}{i * 7919 % 1_000_003},{i * 0.5}\n" for i in range(1_500_000))
    monkeypatch.setattr(files, "LOAD_MB", 120)
    scratch = folder / "scratch"
    scratch.mkdir()
    with open_reader(find(str(path)), scratch).session() as session:
        assert (scratch / "files.duckdb").exists()
        assert session.fetch("SELECT count(*), count(DISTINCT name) FROM big").rows == [(1_500_000, 1_000_003)]
        for sql in (
            "CREATE TABLE x (a INT)",
            "DELETE FROM big",
            f"SET temp_directory = '{scratch}'",
            f"SELECT * FROM read_csv('{path}')",
            f"COPY big TO '{scratch}/stolen.csv'",
        ):
            with pytest.raises(QueryError):
                session.fetch(sql)


# -- a name is only the file that it says ------------------------------------------------------------------------------


def test_a_link_is_read_as_what_its_own_name_says(duckdb_shop: sales_data.Shop, folder: Path) -> None:
    """The same bytes under another suffix are another source, and never the one that is open already."""
    shop = folder / "shop.duckdb"
    shutil.copy(duckdb_shop.url, shop)
    link = folder / "list.csv"
    link.symlink_to(shop)
    assert rows(ask("how many customers", db=str(shop))) == ((12,),)
    told = ask("how many customers", db=str(link))
    assert told.status == "error"
    assert "list.csv" in told.summary
    assert "shop" not in told.summary
    assert find(str(link)) != find(str(shop))
    assert shared(find(str(link))) is not shared(find(str(shop)))


def test_a_link_to_a_csv_is_called_as_it_was_given_and_follows_where_it_leads(folder: Path) -> None:
    first = written(folder, "id,amount\n1,2\n", "first.csv")
    second = written(folder, "id,amount\n1,40\n", "second.csv")
    link = folder / "sales.csv"
    link.symlink_to(first)
    answer_with(((2,),), "total amount of sales", db=str(link))
    link.unlink()
    link.symlink_to(second)
    answer_with(((40,),), "total amount of sales", db=str(link))
    parquet = folder / "prices.parquet"
    pq.write_table(pa.table({"amount": [7]}), folder / "hidden.parquet")
    parquet.symlink_to(folder / "hidden.parquet")
    answer_with(((7,),), "total amount of prices", db=str(parquet))


def test_a_folder_behind_a_link_is_named_by_the_link(csv_shop: sales_data.Shop, folder: Path) -> None:
    link = folder / "shop"
    link.symlink_to(csv_shop.url, target_is_directory=True)
    source = find(str(link))
    assert all(path.parent == link for path in source.paths)
    assert source.name == f"{len(source.paths)} files of shop/"
    assert rows(ask("how many customers", db=str(link))) == ((12,),)


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(written(folder, "id,amount\n1,2\n"))
    real, replaced = process._Child.__init__, []

    def starting(self: process._Child, *given: Any) -> None:
        real(self, *given)
        if len(replaced) < how_often:
            replaced.append(path)
            written(folder, f"id,amount\n1,{40 + len(replaced)}\n", "new.csv")
            (folder / "new.csv").replace(path)

    monkeypatch.setattr(process._Child, "__init__", starting)
    how_often = 1
    answer_with(((41,),), "total amount", db=str(path))
    how_often = 100
    shared(find(str(path))).close()
    assert "changes while it is read" in ask("total amount", db=str(path)).summary


@pytest.mark.parametrize(
    "text", ["which customers have the most orders " * 200, "a\0b.csv", "~nobody-of-that-name/x.csv", "\ud800.csv"]
)
def test_a_text_that_no_file_can_be_called_is_a_sentence(text: str) -> None:
    for named in (text, f"sqlite:///{text}", f"{text},{text}"):
        told = ask("how many rows", db=named)
        assert told.status == "error"
        assert len(told.summary) < 300
        with pytest.raises(SourceError):
            find_other_data(named)


def test_a_list_of_files_may_be_longer_than_a_path(folder: Path) -> None:
    names = [written(folder, "id\n1\n", f"{'n' * 60}{i}.csv") for i in range(60)]
    assert len(",".join(names)) > 4096
    assert len(find(",".join(names)).paths) == 60


ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "csv"])
def test_an_endless_query_is_stopped(kind: str, request: pytest.FixtureRequest) -> None:
    shop: sales_data.Shop = request.getfixturevalue(f"{kind}_shop")
    with open_reader(find(shop.url)).session() as session, pytest.raises(QueryStopped, match=r"after 0\.3 s"):
        session.fetch(ENDLESS, time_limit_s=0.3)


def test_a_process_that_does_not_answer_is_ended_and_replaced(
    sqlite_shop: sales_data.Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror.data.process import other_data_process as process

    source = shared(find(sqlite_shop.url))
    source.schema()
    monkeypatch.setattr(process, "GRACE_S", -0.2)
    with pytest.raises(QueryStopped, match="did not answer"):
        source.run(ENDLESS, time_limit_s=0.3)
    monkeypatch.undo()
    assert rows(ask("how many customers", db=sqlite_shop.url)) == ((12,),)


def test_a_query_is_cancelled_from_another_thread_and_the_next_one_answers(sqlite_shop: sales_data.Shop) -> None:
    source = shared(find(sqlite_shop.url))
    source.schema()
    asking = threading.get_ident()

    def cancel() -> None:
        deadline = time.monotonic() + 10
        while not source._order.turns and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        source.cancel(asking)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(QueryCancelled):
        source.run(ENDLESS.replace("FROM t)", "FROM t WHERE n > 0)"), time_limit_s=60)
    canceller.join()
    assert source._order.turns == []
    assert rows(ask("how many customers", db=sqlite_shop.url)) == ((12,),)


def test_sqlite_takes_columns_by_their_values(folder: Path) -> None:
    path = folder / "odd.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, day TEXT, mixed NUMERIC, stamp DATETIME, n)")
        connection.execute("INSERT INTO t VALUES (1, '2025-03-01', 5, 1740787200, 2), (2, '2025-04-01', 'x', 0, 3)")
    connection.close()
    found = {c.name: c.type for c in shared(find(str(path))).schema().relations[0].columns}
    assert found == {"id": "integer", "day": "date", "mixed": "text", "stamp": "integer", "n": "integer"}
    answer_with(((2,),), "total n in march 2025", db=str(path))


def test_a_sum_beyond_the_whole_numbers_of_sqlite_is_a_sentence(folder: Path) -> None:
    path = folder / "huge.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (9223372036854775807), (1);")
    connection.close()
    told = ask("SELECT sum(n) FROM t", db=str(path))
    assert told.summary == "The sum is beyond the whole numbers of SQLite: ask for the average."


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", random.Random(1).randbytes(3000), "x.csv is no text file, so no CSV"),
        ("x.sqlite", b"SQLite format 3\0" + b"\1" * 5000, "is not a whole SQLite file"),
        ("x.parquet", b"PAR1nonsense", "x.parquet is no whole Parquet file"),
        ("x.csv.gz", gzip.compress(random.Random(1).randbytes(3000))[:2000], "x.csv.gz is no whole gzip file"),
        ("x.csv.gz", b"a,b\n1,2\n", "x.csv.gz is no whole gzip file"),
        ("x.jsonl", b'{"a": 1}\n{"a": ', "Line 2 or 3 of x.jsonl is no whole JSON object"),
        ("x.duckdb", b"nonsense" * 1000, "x.duckdb is not a whole DuckDB file"),  # the store's, which is to make it
    ],
)
def test_a_file_that_is_something_else_is_a_sentence(name: str, content: bytes, said: str, folder: Path) -> None:
    told = ask("how many rows", db=written(folder, content, name))
    assert told.status == "error"
    assert said in told.summary
    assert str(folder) not in told.summary


def test_a_duckdb_file_that_is_something_else_is_a_sentence(folder: Path) -> None:
    path = written(folder, b"nonsense" * 1000, "x.duckdb")
    with pytest.raises(SourceError, match=r"^x\.duckdb is neither a DuckDB nor a SQLite file"):
        OtherData(find(path))


def test_a_database_without_tables_says_so(folder: Path) -> None:
    duckdb.connect(str(folder / "x.duckdb")).close()
    with pytest.raises(SourceError, match="has no tables"):
        OtherData(find(str(folder / "x.duckdb")))


def test_sql_can_be_asked_and_edited(csv_shop: sales_data.Shop) -> None:
    assert rows(ask("SELECT count(*) AS n FROM orders WHERE amount > 0", db=csv_shop.url)) == ((80,),)
    sql = "SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC"
    edited = run_sql(sql, db=csv_shop.url, question="orders by status")
    assert (edited.status, edited.engine, len(rows(edited))) == ("answered", "sql", 4)
    slip = run_sql("SELECT statsu FROM orders", db=csv_shop.url)
    assert slip.status == "refused"
    assert "did you mean status?" in slip.summary


# -- what a URL or path names ------------------------------------------------------------------------------------------


def test_what_is_other_data(
    csv_shop: sales_data.Shop, sqlite_shop: sales_data.Shop, duckdb_shop: sales_data.Shop
) -> None:
    assert find_other_data(csv_shop.url)
    assert find_other_data(f"{csv_shop.url}/orders.csv")
    assert find_other_data(f"{csv_shop.url}/*.csv")
    assert find_other_data(sqlite_shop.url)
    assert find_other_data(f"sqlite:///{sqlite_shop.url}")
    assert find_other_data(duckdb_shop.url)
    assert find_other_data(f"duckdb:///{duckdb_shop.url}")
    assert find_other_data("mysql://u@h/db")
    assert find_other_data("mariadb+pymysql://u@h/db")


def test_what_is_left_to_the_store(results_file: Path, folder: Path) -> None:
    assert not find_other_data(str(results_file))
    assert not find_other_data(str(folder / "not_there_yet.duckdb"))
    assert not find_other_data(str(folder / "not_there_yet.db"))
    assert not find_other_data(written(folder, b"not a database" * 100, "broken.duckdb"))
    duckdb.connect(str(folder / "empty.duckdb")).close()
    assert not find_other_data(str(folder / "empty.duckdb"))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nowhere.csv", "There is no file nowhere.csv"),
        ("nowhere.sqlite", "There is no file nowhere.sqlite"),
        ("nowhere*.csv", "No file is called like"),
        ("oracle://scott:tiger@host/x", "oracle cannot be read"),
        ("postgresql://u:p@ss@h/x", "%40"),
        ("postgresql://u:pw@h:port/x", "taken apart"),
        ("sqlite://", "in memory"),
        ("a.csv,b.txt", "neither CSV nor Parquet"),
        (".", "holds no CSV"),
    ],
)
def test_what_cannot_be_named_is_a_sentence(url: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SourceError, match=said):
        find_other_data(url)
    assert said.replace("\\", "") in ask("how many rows", db=url).summary


@pytest.mark.skipif(sys.platform != "linux", reason="what a process was given is read from /proc")
def test_the_process_knows_no_key_of_its_parent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY", "MIRROR_DB", "AWS_SECRET_ACCESS_KEY", "A_TOKEN_OF_SOMETHING", "PGPASSWORD", "MYSQL_PWD",
        "PYTHON_KEYRING_PASSWORD", "DATABASE_URL",
    ):  # fmt: skip
        monkeypatch.setenv(name, "canary-in-the-environment")
    data = OtherDataSource(find(written(folder, MANY)))
    try:
        assert data.schema().relations
        assert data._child
        for file in ("environ", "cmdline"):
            assert b"canary" not in Path(f"/proc/{data._child._process.pid}/{file}").read_bytes()
    finally:
        data.close()


def test_truth_that_is_stored_as_text_is_compared_as_text(folder: Path) -> None:
    path = folder / "flags.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, is_active BOOLEAN)")
        told = [(1, "Ada", "true"), (2, "Bo", "false"), (3, "Cy", "true")]
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", told)
    columns = OtherData(find(str(path))).source.schema().relation("customers").columns
    assert {c.name: c.type for c in columns}["is_active"] == "text"
    answer = ask("how many active customers", db=str(path), use_model=False, learnt=False)
    assert answer.table
    assert answer.table.rows == ((2,),)
