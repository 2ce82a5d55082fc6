"""What words become: SQL that counts every row once, a refusal that says why, or a question back with its choices."""

import random
import sqlite3
from dataclasses import replace
from datetime import datetime

import made_up
import pytest

from mirror.answer.other_data import form_of
from mirror.data.guard import sqlglot_tree as guard
from mirror.language.other_data.examples import examples
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form_in_words import read_back
from mirror.schema.database import Column, Database, ForeignKey

NOW = datetime(2025, 11, 10, 12, 0)


def sql(question: str, database: Database) -> str:
    """The statement of a question on one line; the guard lets it run."""
    asked = form_of(question, database, NOW)
    built = build(asked, database)
    assert guard.check(built.sql, database)
    assert read_back(asked, built, database)
    return " ".join(built.sql.split())


def refusal(question: str, database: Database) -> str:
    with pytest.raises(Refusal) as raised:
        build(form_of(question, database, NOW), database)
    return str(raised.value)


def choices(question: str, database: Database) -> tuple[str, ...]:
    """The questions back; each of them has an answer or asks about something else."""
    with pytest.raises(Ambiguity) as raised:
        form_of(question, database, NOW)
    for choice in raised.value.choices:
        assert answers(choice, database) != str(raised.value)
    return raised.value.choices


def answers(question: str, database: Database) -> str:
    """The statement, or what is asked back."""
    try:
        return sql(question, database)
    except Ambiguity as error:
        return str(error)


# -- one row once ------------------------------------------------------------------------------------------------------


def test_a_sum_over_a_join_to_the_many_is_refused() -> None:
    told = refusal("total amount by product category", made_up.shop())
    assert "An order has several order items, so its amount would be counted once for each" in told


def test_a_count_over_a_join_to_the_many_counts_each_row_once() -> None:
    found = sql("number of orders by product category", made_up.shop())
    assert "COUNT(DISTINCT orders.id)" in found


def test_rows_without_a_key_cannot_be_counted_once() -> None:
    database = made_up.shop()
    without = tuple(replace(r, key=()) if r.name == "orders" else r for r in database.relations)
    told = refusal("number of orders by product category", replace(database, relations=without))
    assert "has no primary key" in told


def test_a_condition_on_the_many_joins_nothing() -> None:
    found = sql("total amount of orders with product Lamp and quantity over 2", made_up.shop())
    assert found.count("SUM(orders.amount)") == 1
    assert "FROM orders WHERE EXISTS( SELECT 1 FROM order_items" in found
    assert found.count("EXISTS") == 1  # one item must be both: a lamp, and more than two of it


def test_what_is_not_there_is_not_joined_either() -> None:
    assert "WHERE NOT EXISTS( SELECT 1 FROM orders" in sql("customers without orders", made_up.shop())
    found = sql("orders not product Lamp", made_up.shop())
    assert "NOT EXISTS(" in found
    assert "products.name = 'Lamp'" in found


def test_two_tables_are_added_up_apart() -> None:
    found = sql("total amount and total quantity by country", made_up.shop())
    assert found.count("UNION ALL") == 1
    assert "SUM(orders.amount) AS total_amount, NULL AS total_quantity FROM orders" in found


def test_tables_that_only_share_a_parent_are_not_split_by_each_other() -> None:
    database = made_up.shop()
    payments = made_up.relation(
        "payments", {"id": "integer", "customer_id": "integer", "kind": "text"}, held={"kind": ("card",)}
    )
    database = replace(
        database,
        relations=(*database.relations, payments),
        foreign_keys=(*database.foreign_keys, made_up.link("payments", "customer_id", "customers")),
    )
    assert "only share customers" in refusal("number of orders by payment kind", database)


def test_what_may_be_missing_is_joined_from_the_left() -> None:
    assert "FROM flights LEFT JOIN carriers" in sql("average delay minutes by carrier name", made_up.airline())
    assert "FROM orders JOIN customers" in sql("total amount by country", made_up.shop())


def test_namesakes_are_told_apart_by_their_key() -> None:
    assert "GROUP BY customers.id, customers.name" in sql("total amount by customer", made_up.shop())


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("total customer id", "only tells rows apart"),
        ("average product id by category", "only tells rows apart"),
        ("total status", "holds text and no numbers"),
        ("average number of orders per customer", "is not read"),
        ("total amount - total quantity", "“-” is not read"),
        ("amount / quantity by country", "“/” is not read"),
        ("amount/quantity by country", "“amount/quantity” is not read"),
    ],
)
def test_what_cannot_be_computed_is_refused(question: str, said: str) -> None:
    assert said in refusal(question, made_up.shop())


def test_years_are_never_added_up() -> None:
    assert "holds years" in refusal("total model year", made_up.airline())
    assert "MAX(flights.model_year)" in sql("highest model year", made_up.airline())
    assert choices("model year by carrier", made_up.airline()) == (
        "lowest model year by carrier",
        "highest model year by carrier",
    )


def test_a_number_is_added_up_or_averaged_by_its_name_or_asked_back() -> None:
    assert "SUM(orders.amount)" in sql("amount by country", made_up.shop())
    assert "AVG(products.unit_price)" in sql("product unit price by category", made_up.shop())
    assert choices("salary by carrier", made_up.airline()) == ("total salary by carrier", "average salary by carrier")


def test_products_are_multiplied_row_by_row_and_only_where_told() -> None:
    found = sql("total quantity times unit price by product category", made_up.shop())
    assert "SUM(order_items.quantity * order_items.unit_price)" in found
    assert choices("total revenue by country", made_up.shop()) == (
        "total order amount by country",
        "total quantity times unit price by country",
    )


def test_a_comment_may_say_what_revenue_is() -> None:
    database = made_up.shop()
    told = tuple(
        replace(r, comment="revenue = quantity * unit_price") if r.name == "order_items" else r
        for r in database.relations
    )
    found = sql("total revenue by country", replace(database, relations=told))
    assert "SUM(order_items.quantity * order_items.unit_price)" in found


# -- several readings --------------------------------------------------------------------------------------------------


def test_a_vague_column_is_asked_back() -> None:
    assert choices("total quantity by name", made_up.shop()) == (
        "total quantity by customer name",
        "total quantity by product name",
    )


def test_a_vague_column_of_a_table_that_is_named_is_clear() -> None:
    assert "customers.name" in sql("names of customers in Germany", made_up.shop())


def test_two_foreign_keys_to_one_table_are_asked_back() -> None:
    assert choices("number of flights by city", made_up.airline()) == (
        "number of flights by origin airport city",
        "number of flights by destination airport city",
    )
    assert choices("flights from Berlin or Paris", made_up.airline())[1] == (
        "flights from destination airport city berlin or paris"
    )
    assert choices("airports by number of flights", made_up.airline())[0] == "origin airport by number of flights"


def test_two_ways_through_other_tables_are_asked_back() -> None:
    found = choices("number of crew by carrier", made_up.airline())
    assert found == ("number of crew by carrier via flights", "number of crew by carrier via staff")
    assert "COUNT(DISTINCT flights.id)" in sql("number of flights by staff", made_up.airline())


def test_two_dates_are_asked_back() -> None:
    found = choices("number of flights per month in 2025", made_up.airline())
    assert found[0] == "number of flights per month with flight departed at in 2025"


def test_a_ranking_without_a_number_is_asked_back() -> None:
    assert choices("best customers", made_up.shop()) == (
        "best customers by number of orders",
        "best customers by total order amount",
    )


def test_a_value_of_two_columns_is_asked_back() -> None:
    database = made_up.shop()
    suppliers = made_up.relation("suppliers", {"id": "integer", "country": "text"}, held={"country": ("Germany",)})
    supplier_id = Column("supplier_id", "integer")
    supplied = [
        replace(r, columns=(*r.columns, supplier_id)) if r.name == "products" else r for r in database.relations
    ]
    link = ForeignKey("products", ("supplier_id",), "suppliers", ("id",))
    database = replace(database, relations=(*supplied, suppliers), foreign_keys=(*database.foreign_keys, link))
    assert choices("total quantity in Germany", database) == (
        "total quantity in customer country Germany",
        "total quantity in supplier country Germany",
    )
    assert "customers.country = 'Germany'" in sql("total amount in Germany", database)


# -- words -------------------------------------------------------------------------------------------------------------


def test_unknown_words_are_refused_with_what_is_known() -> None:
    told = refusal("weather in Germany by planet", made_up.shop())
    assert "“weather”, “planet”" in told
    assert "customers (id, name, country" in told


@pytest.mark.parametrize("word", ["budget", "people", "performance", "usage", "points", "type"])
def test_what_may_be_somebodys_column_is_never_passed_over(word: str) -> None:
    assert f"“{word}”" in refusal(f"{word} by country", made_up.shop())


def test_a_value_that_is_not_there_is_never_taken_for_a_near_one() -> None:
    assert "Did you mean Germany?" in refusal("orders in Germani", made_up.shop())


def test_a_typo_in_a_name_is_mended_and_said() -> None:
    database = made_up.shop()
    asked = form_of("total amuont by contry", database, NOW)
    assert "read “amuont” as “amount”" in read_back(asked, build(asked, database), database)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "in Germany",
        "total",
        "customers in Germany or product Lamp",
        "orders in 2025 or 2024",
        "orders in march",
        "not",
        "countries without orders",
        "5 customers",
        "top 5000 customers by total amount",
        "amount =",
        "orders not in 2025",
        "median",
        "top 5 amount",
        "highest total amount",
        "customers and orders",
        "customers without orders or in Germany",
        "orders from Germany to France",
        "orders with status open and status paid",
        "customers with fewer than 3 orders",
        "customer with the fewest orders",
        "average amount of the last 5 orders",
    ],
)
def test_what_is_not_understood_is_refused(question: str) -> None:
    assert refusal(question, made_up.shop()).endswith((".", "?"))


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("orders over -5.5 in Germany", "orders.amount > -5.5"),
        ("orders between 10 and 1,000", "orders.amount >= 10 AND orders.amount <= 1000"),
        ("orders with amount at least 2 million", "orders.amount >= 2000000"),
        ("orders not over 100", "orders.amount <= 100"),
        ("orders with status open or paid", "orders.status IN ('open', 'paid')"),
        ("orders with status is not open", "orders.status <> 'open'"),
        ("orders except open", "orders.status <> 'open'"),
        ("products with stock is empty", "products.stock IS NULL"),
        ("customers without country", "customers.country IS NULL"),
        ('customers named "O\'Neill; DROP"', "customers.name = 'O''Neill; DROP'"),
        ("how many active customers", "customers.is_active = TRUE"),
        ("how many customers not active", "customers.is_active = FALSE"),
        ("orders since 2025-03-01", "orders.order_date >= '2025-03-01'"),
        ("orders before march 2025", "orders.order_date < '2025-03-01'"),
        ("orders after 2024", "orders.order_date >= '2025-01-01'"),
        ("orders in q2 2025", "orders.order_date >= '2025-04-01' AND orders.order_date < '2025-07-01'"),
        ("orders from 2024-01-05 to 2024-02-10", "orders.order_date < '2024-02-11'"),
        ("orders last month", "orders.order_date >= '2025-10-01' AND orders.order_date < '2025-11-01'"),
        ("orders in the last 7 days", "orders.order_date >= '2025-11-03 12:00'"),
        ("customers without orders in 2025", "orders.customer_id = customers.id AND orders.order_date >= '2025-01-01'"),
        ("customers without orders in Germany", "WHERE customers.country = 'Germany' AND NOT EXISTS"),
        ("total amount for customers without order items", "orders.customer_id = customers.id"),
        ("the 3 largest orders", "ORDER BY orders.amount DESC NULLS LAST, orders.id ASC LIMIT 3"),
        ("customer with the highest total amount", "MAX(total_amount) OVER ()"),
        ("amount by customer as a bar chart", "SUM(orders.amount)"),
        ("different countries", "SELECT DISTINCT customers.country"),
        ("orders by week", "DATE_TRUNC('WEEK', orders.order_date)"),
        ("orders over time", "DATE_TRUNC('MONTH', orders.order_date)"),
        ("total amount per order by month", "GROUP BY orders.id, CAST(DATE_TRUNC('MONTH'"),
        ("last 5 orders", "ORDER BY orders.order_date DESC NULLS LAST, orders.id ASC LIMIT 5"),
        ("first order date by country", "MIN(orders.order_date)"),
        ("number of orders and customers by country", "COUNT(*) AS number_of_orders, NULL AS number_of_customers"),
        ("customers and their total amount", "GROUP BY customers.id, customers.name"),
        ("countries with more than 3 customers", "GROUP BY customers.country HAVING COUNT(*) > 3"),
        ("how many customers have exactly 3 orders", "HAVING COUNT(*) = 3"),
        ("total amount by country ascending", "ORDER BY total_amount ASC"),
        ("median amount by country", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY orders.amount)"),
    ],
)
def test_conditions_times_and_rankings(question: str, part: str) -> None:
    assert part in sql(question, made_up.shop())


def test_a_table_with_its_own_key_is_joined_under_the_name_of_the_key() -> None:
    found = sql("number of staff by manager full name", made_up.airline())
    assert 'LEFT JOIN staff AS manager ON staff."managerId" = manager.id' in found
    assert 'WHERE NOT EXISTS( SELECT 1 FROM staff AS staff_2 WHERE staff."managerId" = staff_2.id )' in sql(
        "staff without manager", made_up.airline()
    )


def test_years_compare_as_numbers_where_a_column_holds_years() -> None:
    assert 'staff."hireYear" = 2020' in sql("staff with hire year 2020", made_up.airline())
    assert 'staff."hireYear" >= 2018' in sql("average salary of staff since 2018", made_up.airline())


@pytest.mark.parametrize("database", [made_up.shop(), made_up.airline()], ids=["shop", "airline"])
def test_every_example_has_an_answer(database: Database) -> None:
    found = examples(database)
    assert len(found) >= 4
    for question in found:
        assert answers(question, database)


def test_the_only_table_is_not_named_with_each_of_its_columns() -> None:
    shop = made_up.shop()
    alone = replace(shop, relations=tuple(r for r in shop.relations if r.name == "customers"), foreign_keys=())
    assert not [q for q in examples(alone) if "customer " in q]
    assert [q for q in examples(alone) if " by " in q]
    with pytest.raises(Refusal, match=r"Known is the table customers \("):
        sql("customers of the moon", alone)


PIECES = (
    "in 2025", "since 2025-03-01", "last month", "over time", "> 2024", "5", "2.5", "-3", "1,000", "10%", "over 100",
    "between 1 and 5", "the", "of", "and", "or", ",", '"Lamp"', "with", "without", "by", "not", "how many", "number of",
    "total", "average", "different", "lowest and highest", "highest", "least", "top 3", "best", "per month", "by year",
    "sorted by", "times", "more than 3", "via", "named", "is empty", "descending", "each", "unheard of",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("database", [made_up.shop("sqlite"), replace(made_up.airline(), dialect="sqlite")])
def test_no_words_are_a_crash_and_all_sql_can_be_prepared(seed: int, database: Database) -> None:
    rng = random.Random(seed)
    names = [r.name.replace("_", " ") for r in database.relations] * 3
    names += [c.name.replace("_", " ") for r in database.relations for c in r.columns]
    names += [v for r in database.relations for c in r.columns for v in c.values]
    connection = sqlite3.connect(":memory:")
    for relation in database.relations:
        columns = ", ".join(f'"{c.name}"' for c in relation.columns)
        connection.execute(f"CREATE TABLE {relation.name} ({columns})")
    answered = 0
    sentences: set[str] = set()
    for _ in range(600):
        question = " ".join(rng.choice(names if rng.random() < 0.6 else PIECES) for _ in range(rng.randint(1, 7)))
        try:
            connection.execute("EXPLAIN " + sql(question, database))
            answered += 1
        except (Refusal, Ambiguity) as error:
            sentences.add(str(error))
    connection.close()
    assert answered > 30
    assert not [s for s in sentences if not s.endswith((".", "?"))]
