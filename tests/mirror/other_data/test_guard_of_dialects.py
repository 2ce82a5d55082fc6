"""What may run on other data and what may not, as tables of statements for each dialect."""

import pytest
import sqlglot

from mirror.data.guard import sqlglot_functions as functions
from mirror.data.guard import sqlglot_tree as guard
from mirror.data.guard.guard_errors import GuardError
from mirror.schema.database import Column, Database, Relation

COLUMNS = tuple(
    Column(name, kind)  # type: ignore[arg-type]
    for name, kind in (("id", "integer"), ("amount", "real"), ("status", "text"), ("order_date", "date"))
)
DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")


def database(dialect: str) -> Database:
    tables = Relation("orders", COLUMNS, ("id",)), Relation("customers", COLUMNS, ("id",))
    return Database(dialect, "shop", tables, any_case=dialect == "mysql")


EVERYWHERE = [
    "SELECT * FROM orders",
    "select ID from ORDERS;",
    "-- all\nSELECT id FROM orders /* every one */",
    "SELECT status, count(*), avg(amount) AS mean FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY mean",
    "SELECT o.id FROM orders AS o LEFT JOIN customers AS c ON o.id = c.id WHERE c.id IS NULL",
    "SELECT id FROM orders WHERE id IN (SELECT id FROM customers) AND EXISTS (SELECT 1 FROM customers)",
    "WITH a AS (SELECT id AS x FROM orders), b AS (SELECT x FROM a) SELECT * FROM b UNION SELECT x FROM a ORDER BY x",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT max(n) FROM t",
    "WITH pg_shadow AS (SELECT id FROM orders) SELECT id FROM pg_shadow",
    "SELECT rank() OVER (PARTITION BY status ORDER BY amount DESC) AS place FROM orders",
    "SELECT CASE WHEN amount > 1 THEN 'a''b' ELSE lower(status) END AS kind FROM orders LIMIT 10 OFFSET 5",
    "SELECT CAST(amount AS DECIMAL(10, 2)), coalesce(status, '-; DROP TABLE orders; --') FROM orders",
    "SELECT id FROM orders WHERE amount BETWEEN 1 AND 2 OR status LIKE 'a%' AND NOT id = 3",
]
OF_DIALECT = {
    "postgres": [
        "SELECT date_trunc('month', order_date)::date AS m FROM orders GROUP BY 1",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders",
        "SELECT count(*) FILTER (WHERE status ILIKE 'a%'), extract(year FROM order_date) FROM orders GROUP BY 2",
    ],
    "mysql": [
        "SELECT date_format(order_date, '%Y-%m') AS m, `amount` FROM `orders`",
        "SELECT 'a\\'b', \"text\" FROM orders WHERE order_date > now() - INTERVAL 1 MONTH",
    ],
    "sqlite": ["SELECT strftime('%Y', order_date) AS y, total(amount) FROM orders GROUP BY y"],
    "duckdb": [
        "FROM orders",
        "SELECT status, median(amount) FROM orders GROUP BY ALL",
        "SELECT * EXCLUDE (id) FROM orders",
        "PIVOT orders ON status IN ('open', 'paid') USING sum(amount), count(*) GROUP BY order_date",
        "SELECT open FROM orders PIVOT (sum(amount) FOR status IN ('open')) ORDER BY id",
        "WITH p AS (PIVOT orders ON status IN ('open') USING sum(amount)) SELECT * FROM p",
        "UNPIVOT orders ON amount, id INTO NAME n VALUE v",
        "SELECT n, avg(v) FROM orders UNPIVOT (v FOR n IN (amount, id)) GROUP BY n",
    ],
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", EVERYWHERE)
def test_everyday_sql_may_run(sql: str, dialect: str) -> None:
    assert guard.check(sql, database(dialect))


@pytest.mark.parametrize(("dialect", "sql"), [(d, s) for d, found in OF_DIALECT.items() for s in found])
def test_everyday_sql_of_a_dialect_may_run(dialect: str, sql: str) -> None:
    assert guard.check(sql, database(dialect))


# (statement, a word of the sentence), in every dialect unless it is named.
REFUSED = [
    ("", "no SQL to run"),
    ("SELECT 1; SELECT 2", "one statement"),
    ("SELECT 1; DROP TABLE orders", "one statement"),
    ("DROP TABLE orders", "not DROP"),
    ("DELETE FROM orders", "not DELETE"),
    ("UPDATE orders SET amount = 0", "not UPDATE"),
    ("INSERT INTO orders VALUES (1)", "not INSERT"),
    ("CREATE TABLE x AS SELECT * FROM orders", "not CREATE"),
    ("ALTER TABLE orders ADD COLUMN x INT", "not ALTER"),
    ("TRUNCATE TABLE orders", "not TRUNCATE"),
    ("SELECT * FROM secrets", "no table called secrets"),
    ("SELECT * FROM information_schema.tables", "schema or catalog"),
    ("SELECT other.orders.id FROM orders", "schema or catalog"),
    ("SELECT password FROM orders", "no column called password"),
    ("SELECT orders FROM orders", "no column called orders"),
    ("SELECT nonsense(id) FROM orders", "nonsense is not available"),
    ("SELECT * FROM (WITH secrets AS (SELECT 1 AS x) SELECT x FROM secrets) AS a, secrets", "no table called secrets"),
    ("WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets", "no table called secrets"),
    ("WITH RECURSIVE secrets AS (SELECT * FROM secrets) SELECT * FROM secrets", "no table called secrets"),
    ("SELECT id FROM orders FOR UPDATE", "lock rows"),
    ("SELECT " + "(" * 300 + "1" + ")" * 300, "nested too deeply"),
    ("SELECT 1 FROM orders WHERE id = " + "1 + " * 10_000 + "1", "too long"),
    ("SELECT 'a\0b' FROM orders", "invisible"),
]
REFUSED_BY_DIALECT = [
    ("postgres", "SELECT pg_sleep(10)", "pg_sleep is not available"),
    ("postgres", "SELECT pg_read_file('/etc/passwd')", "pg_read_file is not available"),
    ("postgres", "SELECT pg_catalog.pg_read_file('/etc/passwd')", "cannot be checked"),
    ("postgres", "SELECT * FROM dblink('host=evil', 'SELECT 1') AS t(x int)", "only tables"),
    ("postgres", "SELECT lo_import('/etc/passwd')", "lo_import is not available"),
    ("postgres", "SELECT lo_export(1, '/tmp/x')", "lo_export is not available"),
    ("postgres", "SELECT set_config('transaction_read_only', 'off', false)", "set_config is not available"),
    ("postgres", "SELECT current_setting('data_directory')", "current_setting is not available"),
    ("postgres", "SELECT nextval('s')", "nextval is not available"),
    ("postgres", "SELECT query_to_xml('DROP TABLE orders', true, true, '')", "query_to_xml is not available"),
    ("postgres", "SELECT id INTO stolen FROM orders", "INTO"),
    ("postgres", "COPY orders TO PROGRAM 'sh'", "not COPY"),
    ("postgres", "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x", "not DELETE"),
    ("postgres", "SELECT 'pg_authid'::regclass", "cannot be checked"),
    ("postgres", "SELECT current_user", "not available"),
    ("postgres", "SELECT version()", "not available"),
    ("postgres", "DO $$ BEGIN END $$", "Only SELECT"),
    ("postgres", "SET default_transaction_read_only = off", "not SET"),
    ("postgres", "SELECT * FROM generate_series(1, 1000000000)", "only tables"),
    ("postgres", "SELECT repeat('x', 1000000000)", "repeat is not available"),
    ("postgres", "SELECT $1", "placeholder"),
    ("postgres", "SELECT id OPERATOR(pg_catalog.+) 1 FROM orders", "cannot be checked"),
    ("postgres", "EXPLAIN ANALYZE SELECT 1", "Only SELECT"),
    ("postgres", "LISTEN x", "Only SELECT"),
    ("mysql", "SELECT LOAD_FILE('/etc/passwd')", "load_file is not available"),
    ("mysql", "SELECT id FROM orders INTO OUTFILE '/tmp/x'", "cannot be read"),
    ("mysql", "SELECT id INTO @x FROM orders", "INTO"),
    ("mysql", "SELECT SLEEP(10)", "sleep is not available"),
    ("mysql", "SELECT BENCHMARK(1000000000, MD5('x'))", "benchmark is not available"),
    ("mysql", "SELECT @@version", "variable"),
    ("mysql", "SELECT GET_LOCK('a', 10)", "get_lock is not available"),
    ("mysql", "SELECT SQL_CALC_FOUND_ROWS id FROM orders", "cannot be checked"),
    ("mysql", "SELECT id FROM orders LOCK IN SHARE MODE", "lock rows"),
    ("mysql", "HANDLER orders OPEN", "Only SELECT"),
    ("sqlite", "SELECT load_extension('x')", "load_extension is not available"),
    ("sqlite", "SELECT * FROM pragma_table_info('orders')", "only tables"),
    ("sqlite", "SELECT * FROM sqlite_master", "no table called sqlite_master"),
    ("sqlite", "ATTACH '/etc/x' AS y", "not ATTACH"),
    ("sqlite", "PRAGMA query_only = OFF", "not PRAGMA"),
    ("sqlite", "SELECT zeroblob(1000000000)", "zeroblob is not available"),
    ("sqlite", "SELECT writefile('x', 'y')", "writefile is not available"),
    ("duckdb", "SELECT * FROM read_csv('/etc/passwd')", "only tables"),
    ("duckdb", "SELECT * FROM '/etc/passwd'", "no table called /etc/passwd"),
    ("duckdb", "SELECT * FROM read_parquet('x')", "only tables"),
    ("duckdb", "SELECT * FROM glob('*')", "only tables"),
    ("duckdb", "SELECT * FROM query('DROP TABLE orders')", "only tables"),
    ("duckdb", "SELECT getenv('HOME')", "getenv is not available"),
    ("duckdb", "SELECT * FROM duckdb_settings()", "only tables"),
    ("duckdb", "INSTALL httpfs", "not INSTALL"),
    ("duckdb", "COPY orders TO 'x'", "not COPY"),
    ("duckdb", "PIVOT orders ON status USING sum(amount)", "PIVOT has to list its values"),
    ("duckdb", "SELECT * FROM (PIVOT orders ON status USING sum(amount))", "PIVOT has to list its values"),
    (
        "duckdb",
        "PIVOT orders ON status IN (SELECT status FROM orders) USING sum(amount)",
        "PIVOT has to list its values",
    ),
    ("duckdb", "SELECT * FROM orders PIVOT (sum(amount) FOR status IN mood)", "PIVOT has to list its values"),
    ("duckdb", "PIVOT '/etc/passwd' ON a IN ('x') USING count(*)", "no table called /etc/passwd"),
    ("duckdb", "UNPIVOT read_csv('x') ON a INTO NAME n VALUE v", "only tables"),
    ("duckdb", "SELECT COLUMNS('.*') FROM orders", "not available"),
    ("duckdb", "SUMMARIZE orders", "Only SELECT"),
    ("duckdb", "CALL pragma_version()", "Only SELECT"),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("sql", "said"), REFUSED, ids=[s[:50] for s, _ in REFUSED])
def test_what_is_not_known_is_refused(sql: str, said: str, dialect: str) -> None:
    with pytest.raises(GuardError, match=said):
        guard.check(sql, database(dialect))


@pytest.mark.parametrize(("dialect", "sql", "said"), REFUSED_BY_DIALECT)
def test_the_ways_out_of_each_database_are_refused(dialect: str, sql: str, said: str) -> None:
    with pytest.raises(GuardError, match=said):
        guard.check(sql, database(dialect))


def test_what_runs_is_written_anew_without_comments() -> None:
    """MySQL executes `/*! ... */`, and its quotes are not everybody's."""
    assert (
        guard.check("SELECT id /*!50000 , sleep(10) */ FROM orders", database("mysql")) == "SELECT `id` FROM `orders`"
    )
    assert (
        guard.check(r"SELECT 'a\' OR 1 -- ' AS x FROM orders", database("mysql"))
        == "SELECT 'a'' OR 1 -- ' AS x FROM `orders`"
    )


def test_a_limit_is_lowered_to_what_is_shown() -> None:
    shop = database("postgres")
    assert guard.check("SELECT id FROM orders LIMIT 5000000", shop, row_cap=1000).endswith("LIMIT 1001")
    assert guard.check("SELECT id FROM orders LIMIT 5", shop, row_cap=1000).endswith("LIMIT 5")


def test_every_name_that_is_allowed_is_one_that_the_parser_has() -> None:
    known = set(dir(sqlglot.exp))
    assert not [n for n in functions.NODES | functions.FUNCTIONS if n not in known]
    assert not [n for n in functions.TYPES if n not in sqlglot.exp.DataType.Type.__members__]
    assert not functions.NODES & {
        "Command",
        "Into",
        "Lock",
        "Insert",
        "Delete",
        "Update",
        "Create",
        "Drop",
        "Copy",
        "Set",
    }


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1 AS sqlite_master FROM orders WHERE 1 IN sqlite_master", "SELECT id FROM orders WHERE id IN customers"],
)
def test_in_takes_brackets(sql: str) -> None:
    with pytest.raises(GuardError):
        guard.check(sql, database("sqlite"))


def test_joins_of_every_kind_are_counted_before_a_text_is_parsed() -> None:
    text = "select a from t as b " + "straight_join t " * 40
    for dialect in DIALECTS:
        assert guard.is_readable(text, dialect)


@pytest.mark.parametrize(
    "sql",
    ["SELECT id FROM orders LIMIT 100000", "(SELECT id FROM orders LIMIT 100000)",
     "SELECT id FROM orders FETCH FIRST 100000 ROWS ONLY"],
)  # fmt: skip
def test_no_more_rows_are_asked_for_than_are_shown(sql: str) -> None:
    written = guard.check(sql, database("mysql"), row_cap=10)
    assert "11" in written
    assert "100000" not in written
