"""SQL over rows that belong to others: conditions, counts and rankings are of the rows that the question means."""

import sqlite3
from dataclasses import replace
from datetime import datetime

import pytest

from mirror.answer.answering import ask
from mirror.language.reading.lexemes import cut
from mirror.language.reading.times import times_in
from mirror.query.errors import Impossible
from mirror.query.other_data.build import build
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Measure, Predicate
from mirror.schema.database import Column, Database, ForeignKey, Relation

NOW = datetime(2026, 3, 15, 10)


def relation(name: str, *columns: tuple[str, str]) -> Relation:
    return Relation(name, tuple(Column(c, kind) for c, kind in columns), (columns[0][0],))  # type: ignore[arg-type]


DATABASE = Database(
    "sqlite",
    "shop",
    (
        relation("customers", ("customer_id", "integer"), ("name", "text"), ("country", "text")),
        relation("orders", ("order_id", "integer"), ("customer_id", "integer"), ("order_date", "date"),
                 ("amount", "real"), ("status", "text")),
        relation("items", ("item_id", "integer"), ("order_id", "integer"), ("product_id", "integer")),
        relation("products", ("product_id", "integer"), ("product", "text"), ("category", "text")),
        relation("tickets", ("ticket_id", "integer"), ("customer_id", "integer"), ("opened_at", "date")),
    ),
    (
        ForeignKey("orders", ("customer_id",), "customers", ("customer_id",), True),
        ForeignKey("items", ("order_id",), "orders", ("order_id",), True),
        ForeignKey("items", ("product_id",), "products", ("product_id",), True),
        ForeignKey("tickets", ("customer_id",), "customers", ("customer_id",), True),
    ),
)  # fmt: skip


@pytest.fixture
def shop() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for table in DATABASE.relations:
        connection.execute(f"CREATE TABLE {table.name} ({', '.join(c.name for c in table.columns)})")
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", [(1, "Ada", "A"), (2, "Bo", "B"), (3, "Cy", "C")])
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
        [(1, 1, "2024-05-01", 10.0, "paid"), (2, 1, "2025-05-01", 20.0, "open"), (3, 2, "2025-06-01", 30.0, "open")],
    )
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?)", [(1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 3, 2), (5, 3, 2), (6, 3, 2)]
    )
    connection.executemany("INSERT INTO products VALUES (?, ?, ?)", [(1, "Lamp", "Light"), (2, "Desk", "Wood")])
    connection.executemany("INSERT INTO tickets VALUES (?, ?, ?)", [(1, 1, "2024-01-01"), (2, 3, "2025-01-01")])
    return connection


def rows(shop: sqlite3.Connection, asked: Asked) -> list[tuple]:
    return shop.execute(build(asked, DATABASE).sql).fetchall()


PRODUCT, DATE = ColumnRef("products", "product"), ColumnRef("orders", "order_date")
IN_2025 = (Predicate(DATE, ">=", ("2025-01-01",)), Predicate(DATE, "<", ("2026-01-01",)))


def test_a_condition_beside_groups_is_on_the_rows_of_the_groups(shop: sqlite3.Connection) -> None:
    """Who bought anything in 2025 did not buy in it whatever they ever bought."""
    by_product = (GroupBy("products", PRODUCT),)
    customers = Asked("customers", (Measure("count", "customers"),), by_product, conditions=IN_2025)
    assert rows(shop, customers) == [("Desk", 2)]
    orders = Asked("orders", (Measure("count", "orders"),), by_product)
    assert sorted(rows(shop, orders)) == [("Desk", 2), ("Lamp", 1)]
    for condition, left in (
        (Predicate(ColumnRef("products", "category"), "=", ("Light",)), [("Lamp", 1)]),
        (Predicate(PRODUCT, "<>", ("Lamp",)), [("Desk", 2)]),
    ):
        assert rows(shop, Asked("orders", (Measure("count", "orders"),), by_product, conditions=(condition,))) == left


def test_numbers_of_two_tables_are_0_for_none_and_refused_where_a_condition_is_of_one(shop: sqlite3.Connection) -> None:
    two = (Measure("count", "orders"), Measure("count", "tickets"))
    by_country = (GroupBy("customers", ColumnRef("customers", "country")),)
    found = rows(shop, Asked("orders", two, by_country))
    assert sorted(found) == [("A", 2, 1), ("B", 1, 0), ("C", 0, 1)]
    with pytest.raises(Impossible, match="order_date says nothing of tickets: ask for one of the two numbers"):
        build(Asked("orders", two, by_country, conditions=IN_2025), DATABASE)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("right") / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, order_date DATE, amount REAL, status TEXT)"
        )
        days = [f"2025-{n // 28 + 1:02d}-{n % 28 + 1:02d}" for n in range(112)]
        values = [(n, day, 3.0 * n, ("paid", "open")[n % 2]) for n, day in enumerate(days)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", values)
    return str(path)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("number of orders on or before 2025-03-10", 66),
        ("number of orders by 2025-03-10", 66),
        ("number of orders as of 2025-03-10", 66),
        ("number of orders on or after 2025-03-10", 47),
        ("number of orders later than 2025-03-10", 46),
        ("number of orders in january and february 2025", 56),
    ],
)
def test_dates_are_compared_as_they_are_said(file: str, question: str, count: int) -> None:
    answer = ask(question, db=file, use_model=False, now=NOW, learnt=False)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.table.rows == ((count,),), answer.sql


@pytest.mark.parametrize(
    "question", ["number of orders with status paid or amount over 100", "orders with amount not between 10 and 20"]
)
def test_what_the_query_cannot_say_is_asked_back(file: str, question: str) -> None:
    assert ask(question, db=file, use_model=False, now=NOW, learnt=False).status != "answered"


@pytest.mark.parametrize(
    ("words", "has_range"),
    [("in january and february", True), ("in january and march", False), ("in 2022 and 2023", True),
     ("in 2022 and 2024", False), ("between january and march", True)],
)  # fmt: skip
def test_times_that_are_listed_are_a_range_where_they_adjoin(words: str, has_range: bool) -> None:
    found = times_in(cut(f"total amount {words}"), NOW)
    assert any(said.time.operator == "between" for said in found) == has_range


def test_times_of_sqlite_are_compared_however_they_are_written() -> None:
    events = Relation("events", (Column("id", "integer"), Column("at", "timestamp")), ("id",))
    condition = Predicate(ColumnRef("events", "at"), ">=", ("2026-03-14 10:00:00",))
    asked = Asked("events", (Measure("count", "events"),), conditions=(condition,))
    built = build(asked, Database("sqlite", "x", (events,)))
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE events (id, at)")
    connection.executemany("INSERT INTO events VALUES (?, ?)", [(1, "2026-03-14T08:30:00"), (2, "2026-03-14T11:00:00")])
    assert connection.execute(built.sql).fetchall() == [(1,)]


def test_numbers_of_three_tables_stand_side_by_side(shop: sqlite3.Connection) -> None:
    three = tuple(Measure("count", table) for table in ("customers", "orders", "tickets"))
    assert rows(shop, Asked("customers", three)) == [(3, 3, 2)]


def test_what_has_none_has_the_fewest(shop: sqlite3.Connection) -> None:
    fewest = Asked("orders", (Measure("count", "orders"),), (GroupBy("customers"),), order=(0, False), ties=True)
    assert [row[-2:] for row in rows(shop, fewest)] == [("Cy", 0)]
    paid = replace(fewest, conditions=(Predicate(ColumnRef("orders", "status"), "=", ("paid",)),), ties=False, limit=2)
    assert [row[-2:] for row in rows(shop, paid)] == [("Bo", 0), ("Cy", 0)]
