"""Names are compared as each database compares them: what a hostile statement reads is in the catalogue, or refused.

Every statement runs on a real database in which tables off the list hold a canary; MySQL, whose server is not here, is
held by what the guard writes. As PostgreSQL's user is a superuser, the hashes of passwords are in reach of what passes.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from mirror.data.data_source import QueryError
from mirror.data.guard import sqlglot_tree as guard
from mirror.data.guard.check_sql import check
from mirror.data.guard.duckdb import check_reads
from mirror.data.guard.guard_errors import GuardError
from mirror.data.sources import facts
from mirror.data.sources.location import find
from mirror.data.sources.open_reader import open_reader
from mirror.data.sources.reader import Reader
from mirror.schema.database import Column, Database, Relation

CANARY = "xk7-canary"
KELVIN, LONG_S, DOTLESS = "\u212a", "\u017f", "\u0131"  # whose lower or upper case is an ASCII letter
SECRETS = (CANARY, "SCRAM-SHA", "CREATE TABLE")

# `#` stands for a table of the database itself that nobody may read.
OF_ALL = [
    "SELECT * FROM #",
    "SELECT * FROM (WITH # AS (SELECT 1 AS x) SELECT x FROM #) AS a, #",
    "WITH a AS (WITH # AS (SELECT 1 AS x) SELECT x FROM #) SELECT * FROM #",
    "WITH a AS (SELECT * FROM #), # AS (SELECT 1 AS x) SELECT * FROM a",
    "WITH # AS (SELECT * FROM #) SELECT * FROM #",
    "WITH RECURSIVE # AS (SELECT * FROM # UNION ALL SELECT * FROM #) SELECT * FROM #",
    "WITH RECURSIVE # AS (SELECT * FROM #) SELECT * FROM #",
    "WITH RECURSIVE a AS (SELECT * FROM #), # AS (SELECT 1 AS x) SELECT * FROM a",
    "SELECT 1 UNION SELECT x FROM (WITH # AS (SELECT 1 AS x) SELECT x FROM #) AS a UNION SELECT 1 FROM #",
    "(WITH # AS (SELECT 1 AS x) SELECT x FROM #) UNION SELECT 2 FROM #",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM #)",
    "SELECT id FROM t WHERE id IN (SELECT 1 FROM #)",
    "SELECT (SELECT count(*) FROM #) AS n FROM t",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM #) THEN 1 ELSE 0 END AS n FROM t",
    "SELECT id FROM t ORDER BY (SELECT count(*) FROM #)",
    "SELECT id FROM t GROUP BY id HAVING id > (SELECT count(*) FROM #)",
    "SELECT sum(id) OVER (ORDER BY (SELECT count(*) FROM #)) AS n FROM t",
    "SELECT * FROM t JOIN # ON 1 = 1",
    "SELECT * FROM t LEFT JOIN (SELECT * FROM #) AS a ON 1 = 1",
    "SELECT * FROM t NATURAL JOIN #",
    "SELECT * FROM t CROSS JOIN #",
    "SELECT * FROM hidden",
    "SELECT * FROM other.hidden",
    'SELECT * FROM "other.hidden"',
    "SELECT * FROM t AS hidden JOIN other.hidden AS b ON 1 = 1",
    "SELECT other.hidden.secret FROM t",
    f"SELECT * FROM {KELVIN}ey",
    f"SELECT * FROM cla{LONG_S}{LONG_S}",
    f'SELECT * FROM "{KELVIN}ey"',
    f"SELECT l{DOTLESS}mit FROM t",
    "SELECT nothing FROM t",
    "SELECT t.nothing FROM t",
    "SELECT 1 AS secret, a.secret FROM t AS a",
]
POSTGRES = [
    *(sql.replace("#", "pg_shadow") for sql in OF_ALL),
    'WITH "PG_SHADOW" AS (SELECT 1) SELECT * FROM pg_shadow',
    'WITH "Pg_Shadow" AS (SELECT 1) SELECT * FROM PG_SHADOW',
    f'WITH "pg_{LONG_S}hadow" AS (SELECT 1) SELECT * FROM pg_shadow',
    'WITH PG_SHADOW AS (SELECT 1 AS x) SELECT * FROM "PG_SHADOW"',
    'WITH "Mixed" AS (SELECT 1 AS x) SELECT * FROM mixed',
    "SELECT * FROM mixed",
    "SELECT * FROM MIXED",
    'SELECT * FROM "mixed"',
    'SELECT * FROM "KEY"',
    "SELECT * FROM pg_catalog.pg_authid",
    'SELECT * FROM "pg_catalog"."pg_authid"',
    "SELECT * FROM information_schema.tables",
    'SELECT * FROM U&"pg\\005fshadow"',
    "TABLE pg_shadow",
    "SELECT o.row_to_json FROM t AS o",
    "SELECT o.row_to_json, 1 AS row_to_json FROM t AS o",
    "SELECT t.ctid FROM t",
    "SELECT session_user",
    "SELECT user",
    "SELECT current_catalog",
    "SELECT 'pg_shadow'::regclass::oid",
    "SELECT * FROM t, LATERAL (SELECT * FROM pg_shadow) AS s",
    "SELECT * FROM ONLY hidden",
    "SELECT * FROM ROWS FROM (pg_ls_dir('/')) AS x",
    "VALUES ((SELECT 1 FROM pg_shadow))",
    "SELECT DISTINCT ON ((SELECT 1 FROM pg_shadow LIMIT 1)) id FROM t",
]
DUCKDB = [
    *(sql.replace("#", "sqlite_master") for sql in OF_ALL),
    *(sql.replace("#", "duckdb_tables") for sql in OF_ALL[:10]),
    f"SELECT * FROM '{KELVIN}.csv'",
    f'SELECT * FROM "{KELVIN}.csv"',
    f'WITH "k.csv" AS (SELECT 1 AS a) SELECT * FROM "{KELVIN}.csv"',
    f'SELECT * FROM "{LONG_S}.parquet"',
    "FROM 'x.csv'",
    'FROM "X.CSV"',
    f'WITH "x.c{LONG_S}v" AS (SELECT 1) SELECT * FROM "x.csv"',
    "SELECT * FROM shop.other.hidden",
    "SELECT * FROM main.sqlite_master",
    "SELECT current_user",
    'SELECT "current_user"',
    "SELECT t.rowid FROM t",
    "PIVOT hidden ON secret IN ('a') USING count(*)",
    "PIVOT other.hidden ON secret IN ('a') USING count(*)",
    "PIVOT 'x.csv' ON secret IN ('a') USING count(*)",
    "UNPIVOT 'x.csv' ON secret INTO NAME n VALUE v",
    "SELECT * FROM t PIVOT (sum((SELECT count(*) FROM other.hidden)) FOR name IN ('x'))",
    "SELECT * FROM t POSITIONAL JOIN sqlite_master",
]
SQLITE = [
    *(sql.replace("#", "sqlite_master") for sql in OF_ALL),
    *(sql.replace("#", "SQLite_Schema") for sql in OF_ALL[:4]),
    f'WITH "{LONG_S}qlite_master" AS (SELECT 1) SELECT * FROM sqlite_master',
    "SELECT * FROM [sqlite_master]",
    "SELECT * FROM `sqlite_master`",
    "SELECT * FROM 'sqlite_master'",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM temp.sqlite_master",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM dbstat",
    "SELECT rowid FROM t",
    'SELECT "nonsense" FROM t',
]
MYSQL = [
    *(sql.replace("#", "mysql.user") for sql in OF_ALL if "WITH" not in sql),
    *(sql.replace("#", "`user`") for sql in OF_ALL),
    "WITH USER AS (SELECT 1) SELECT * FROM `user`",
    "SELECT * FROM T",
    "SELECT * FROM `T`",
    "WITH a AS (SELECT 1 AS id) SELECT * FROM A",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM `information_schema`.`user_privileges`",
    "SELECT * FROM mysql . `user`",
    "SELECT * /*!50000 FROM t */ FROM mysql.user",
]


Opened = tuple[Reader, Database]


def opened(url: str) -> Opened:
    reader = open_reader(find(url))
    return reader, facts.database(reader)


@pytest.fixture(scope="module")
def postgres(postgres_server: Any) -> Iterator[Opened]:
    import psycopg

    with postgres_server.database() as url:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            for statement in (
                "CREATE TABLE t (id INT PRIMARY KEY, name TEXT)",
                "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
                'CREATE TABLE "Mixed" (a INT)',
                'CREATE TABLE "key" (a INT)',
                "CREATE TABLE class (a INT)",
                "CREATE SCHEMA other",
                *(f"CREATE TABLE other.{name} AS SELECT '{CANARY}' AS secret" for name in ("hidden", "mixed")),
                "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, other', current_database());"
                " END $$",
            ):
                connection.execute(statement)
        yield opened(url)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("names")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        for statement in (
            "CREATE TABLE t AS SELECT 1 AS id, 'x' AS name",
            *(f'CREATE TABLE "{name}" (a INT)' for name in ("k.csv", "s.parquet", "key", "class")),
            "CREATE SCHEMA other",
            f"CREATE TABLE other.hidden AS SELECT '{CANARY}' AS secret",
        ):
            connection.execute(statement)
    for name in (f"{KELVIN}.csv", "x.csv", "X.CSV"):
        (folder / name).write_text(f"secret\n{CANARY}\n")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        yield opened("shop.duckdb")


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    path = tmp_path_factory.mktemp("names") / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');"
        'CREATE TABLE "key" (a); CREATE TABLE class (a);'
    )
    connection.close()
    return opened(str(path))


def refused(opened: Opened, sql: str) -> None:
    with pytest.raises((GuardError, QueryError)) as error:
        fetched(opened, sql)
    assert not any(secret in str(error.value) for secret in SECRETS)


@pytest.mark.parametrize("sql", POSTGRES)
def test_postgresql_reads_nothing_off_the_list(sql: str, postgres: Opened) -> None:
    refused(postgres, sql)


@pytest.mark.parametrize("sql", DUCKDB)
def test_duckdb_reads_nothing_off_the_list(sql: str, duck: Opened) -> None:
    refused(duck, sql)


@pytest.mark.parametrize("sql", SQLITE)
def test_sqlite_reads_nothing_off_the_list(sql: str, lite: Opened) -> None:
    refused(lite, sql)


@pytest.mark.parametrize("sql", MYSQL)
def test_mysql_reads_nothing_off_the_list(sql: str) -> None:
    with pytest.raises(GuardError):
        guard.check(sql, in_mysql())


def fetched(opened: Opened, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement that the guard lets through."""
    reader, database = opened
    with reader.session() as session:
        written = check(sql, session.parser, database, 1000)
        return session.fetch(written, 1000, 2.0).rows


def in_mysql(any_case: bool = False) -> Database:
    columns = (Column("id", "integer"), Column("name", "text"))
    return Database("mysql", "shop", (Relation("t", columns, ("id",)),), schema=("shop",), any_case=any_case)


# -- what may be read is read, and written so that it can be nothing else ----------------------------------------------

READ = [
    ("SELECT ID, t.Name FROM T ORDER BY id", [(1, "x"), (2, "y")]),
    ('WITH "T" AS (SELECT 5 AS id) SELECT * FROM t ORDER BY 1', [(1, "x"), (2, "y")]),
    ('WITH "T" AS (SELECT 5 AS id) SELECT "T".ID FROM "T"', [(5,)]),
    ("WITH t AS (SELECT id FROM t WHERE id = 2) SELECT t.id FROM T", [(2,)]),
    ("WITH pg_shadow(passwd) AS (SELECT id FROM t) SELECT max(passwd) FROM PG_SHADOW", [(2,)]),
    ("SELECT count(*) FROM t AS pg_shadow WHERE pg_shadow.id > 0", [(2,)]),
    ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(N.i) FROM N", [(10,)]),
    ("SELECT a.x FROM (WITH b AS (SELECT 7 AS x) SELECT x FROM b) AS a", [(7,)]),
    ('SELECT "t"."id" FROM "t" WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.id + 1)', [(1,)]),
    ('SELECT count(*) FROM "Mixed"', [(0,)]),
]


@pytest.mark.parametrize(("sql", "rows"), READ)
def test_what_postgresql_may_read_is_the_same_as_without_the_guard(
    sql: str, rows: list[tuple[Any, ...]], postgres: Opened
) -> None:
    assert fetched(postgres, sql) == rows
    with postgres[0].session() as session:
        assert session.fetch(sql).rows == rows


def test_tables_are_written_with_their_schema_and_steps_with_a_name_of_the_guards() -> None:
    columns = (Column("id", "integer"), Column("Name", "text"))
    database = Database("postgres", "shop", (Relation("t", columns),), schema=("public",))
    written = guard.check('WITH a AS (SELECT ID, "Name" FROM T) SELECT a.id FROM A', database)
    assert written == (
        'WITH "mirror_step_1" AS (SELECT "id", "Name" FROM "public"."t") SELECT a."id" FROM "mirror_step_1" AS "a"'
    )


def test_whether_mysql_tells_tables_apart_by_case_is_the_servers_to_say() -> None:
    assert guard.check("SELECT ID FROM T", in_mysql(any_case=True)) == "SELECT `ID` FROM `shop`.`t`"
    with pytest.raises(GuardError, match="did you mean t"):
        guard.check("SELECT id FROM T", in_mysql(any_case=False))


def test_a_name_that_with_gives_only_later_is_not_taken_for_a_table() -> None:
    """PostgreSQL and SQLite would read the step, which is not what stands there to be read."""
    columns = (Column("id", "integer"),)
    for dialect in ("postgres", "sqlite"):
        database = Database(dialect, "shop", (Relation("t", columns),))
        with pytest.raises(GuardError, match="gives that name only later"):
            guard.check("WITH RECURSIVE a AS (SELECT id FROM t), t AS (SELECT 5 AS id) SELECT id FROM a", database)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "SELECT * FROM other.hidden",
        'SELECT * FROM "shop"."other"."hidden"',
        'SELECT * FROM "x.csv"',
        "SELECT * FROM read_csv('x.csv')",
        "SELECT * FROM (SHOW TABLES)",
        "SELECT (SELECT count(*) FROM sqlite_master)",
        'WITH a AS (SELECT * FROM "shop"."main"."t") SELECT * FROM a',
        'SELECT 1 FROM "shop"."main"."t"; SELECT 2',
        "DROP TABLE t",
        'SELECT * FROM "shop"."main"."t" PIVOT (count(*) FOR name IN mood)',
    ],
)
def test_duckdb_parses_what_it_runs_itself(sql: str, duck: Opened) -> None:
    """A second opinion: were the first parser mistaken, these would still not run."""
    reader, database = duck
    tables = {r.name for r in database.relations}
    with reader.session() as session, pytest.raises(GuardError):
        check_reads(session.parser, sql, database.schema, tables, guard.STEP)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT id FROM t), b AS (SELECT id FROM a) SELECT b.id FROM b UNION SELECT id FROM T ORDER BY 1",
        "PIVOT t ON name IN ('x') USING sum(id)",
        "UNPIVOT t ON id INTO NAME n VALUE v",
        "SELECT strftime(now(), '%Y'), count(*) FILTER (WHERE id > 0) FROM t WHERE EXISTS (SELECT 1 FROM key)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) FROM n",
        "SELECT a.x FROM (VALUES (1), (2)) AS a(x) JOIN t ON t.id = a.x",
    ],
)
def test_both_parsers_let_everyday_sql_through(sql: str, duck: Opened) -> None:
    assert fetched(duck, sql)
