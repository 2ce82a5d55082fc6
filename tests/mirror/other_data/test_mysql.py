"""MySQL and MariaDB without a server: the SQL in their dialect, and what a session says before the first question."""

import sys

import made_up
import pytest
import sqlglot
from test_words_to_sql import refusal, sql

from mirror.answer.answering import ask
from mirror.data.sources import servers
from mirror.data.sources.location import SourceError, find

WANTED = [
    ("number of orders by year", "YEAR(orders.order_date)"),
    ("number of orders by month", "CAST(DATE_FORMAT(orders.order_date, '%Y-%m-01') AS DATE)"),
    (
        "number of orders by quarter",
        "DATE_ADD( MAKEDATE(YEAR(orders.order_date), 1), INTERVAL ( QUARTER(orders.order_date) - 1 ) QUARTER )",
    ),
    (
        "number of orders by week",
        "DATE_SUB(CAST(orders.order_date AS DATE), INTERVAL ( WEEKDAY(orders.order_date) ) DAY)",
    ),
    ("total amount by country", "SUM(orders.amount) AS total_amount FROM orders JOIN customers"),
    ("top 3 customers by total amount", "ORDER BY total_amount DESC, customer_id ASC, customer_name ASC LIMIT 3"),
    (
        "bottom 3 customers by total amount",
        "CASE WHEN SUM(orders.amount) IS NULL THEN 1 ELSE 0 END, SUM(orders.amount) ASC",
    ),
    ("which country has the most customers", "MAX(number_of_customers) OVER ()"),
    ("how many active customers", "is_active = TRUE"),
    ('customers named "a\\b\'c"', "customers.name = 'a\\\\b''c'"),
    ("customers without orders", "NOT EXISTS( SELECT 1 FROM orders"),
]


@pytest.mark.parametrize(("question", "part"), WANTED, ids=[q for q, _ in WANTED])
def test_questions_become_sql_of_mysql(question: str, part: str) -> None:
    found = sql(question, made_up.shop("mysql"))
    assert part in found
    assert sqlglot.parse_one(found, read="mysql")


def test_a_median_is_refused_with_what_there_is() -> None:
    assert refusal("median amount", made_up.shop("mysql")).startswith("MySQL has no median")


def test_a_session_can_only_read_and_is_limited_by_the_server() -> None:
    said = servers.opening("mysql")
    assert said[-1] == "START TRANSACTION READ ONLY"
    assert "SET SESSION TRANSACTION READ ONLY" in said
    assert any(s.startswith("SET SESSION lock_wait_timeout") for s in said)
    assert any("sql_mode" in s and "ANSI" not in s for s in said)
    assert servers.limits("mysql", False, 10.0, 1000) == [
        "SET SESSION max_execution_time = 10000",
        "SET SESSION sql_select_limit = 1001",
    ]
    assert servers.limits("mysql", True, 2.5, 5)[0] == "SET SESSION max_statement_time = 2.5"


@pytest.mark.parametrize("url", ["mysql://u:p@h/shop", "mariadb://u:p@h:3307/shop", "mysql+mysqldb://u:p@h/shop"])
def test_every_mysql_url_is_read_with_pymysql(url: str) -> None:
    source = find(url)
    assert source.url.startswith("mysql+pymysql://")
    assert "u:***@h" in source.name
    options = servers.options(source)
    assert options["connect_args"]["local_infile"] is False
    assert options["connect_args"]["charset"] == "utf8mb4"


@pytest.mark.parametrize(
    ("url", "module", "said"),
    [
        ("mysql://u:hidden-1@h/shop", "pymysql", "pip install pymysql"),
        ("postgresql://u:hidden-1@h/shop", "psycopg", "pip install 'psycopg[binary]'"),
    ],
)
def test_a_missing_driver_is_said_with_the_line_that_installs_it(
    url: str, module: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError) as raised:
        servers.ServerReader(find(url))
    assert said in str(raised.value)
    assert "hidden-1" not in str(raised.value)


def test_a_question_to_mysql_that_is_not_there_is_a_sentence() -> None:
    """Without the driver it says how to get it, with it that nobody answers."""
    told = ask("how many customers", db="mysql://u:hidden-1@127.0.0.1:1/shop")
    assert told.status == "error"
    assert "pip install pymysql" in told.summary or "host and port" in told.summary
    assert "hidden-1" not in told.summary
