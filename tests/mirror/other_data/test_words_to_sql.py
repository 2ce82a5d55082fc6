"""What words become: SQL that counts every row once, a refusal that says why, or a question back with its choices."""

import random
import re
import sqlite3
from dataclasses import replace
from datetime import datetime

import made_up
import pytest

from mirror.data.guard import sqlglot_tree as guard
from mirror.language.reading.covers import linker_of, taken_for
from mirror.language.reading.linking import says_nothing
from mirror.language.reading.reading import check_said, readings, why_unread
from mirror.query.errors import Refusal
from mirror.query.other_data.first_questions import first_questions
from mirror.query.other_data.form_in_words import read_back
from mirror.schema.database import Database

NOW = datetime(2025, 11, 10, 12, 0)


def sql(question: str, database: Database) -> str:
    """The statement of the first reading on one line; it leaves no word unread, and the guard lets it run."""
    first = readings(question, database, NOW)[0]
    assert not first.unread
    assert guard.check(first.built.sql, database)
    assert read_back(first.asked, first.built, database)
    return " ".join(first.built.sql.split())


def refusal(question: str, database: Database) -> str:
    """Why the cheapest form of a question is not read."""
    return why_unread(question, database, NOW) or ""


def choices(question: str, database: Database) -> list[str]:
    """The readings that cost the same as the first, in words."""
    found = readings(question, database, NOW)
    return [read_back(r.asked, r.built, database) for r in found if r.cost - found[0].cost < 0.01]


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
    assert "has no key of one column" in told


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


@pytest.mark.parametrize("sign", [" - ", " / ", "/", " + "])
def test_arithmetic_in_signs_is_refused(sign: str) -> None:
    with pytest.raises(Refusal, match=f"“{re.escape(sign.strip())}” is not read"):
        check_said(f"amount{sign}quantity by country", made_up.shop(), NOW)
    check_said("customers and/or people by country", made_up.shop(), NOW)


@pytest.mark.parametrize("question", ["total customer id", "average product id by category", "total status"])
def test_what_only_tells_rows_apart_is_never_added_up(question: str) -> None:
    for reading in readings(question, made_up.shop(), NOW):
        assert not re.search(r"(SUM|AVG)\((?!orders.amount)", reading.built.sql)


def test_years_are_never_added_up() -> None:
    assert not [r for r in readings("total model year", made_up.airline(), NOW) if "SUM" in r.built.sql]
    assert "MAX(model_year)" in sql("highest model year", made_up.airline())


def test_a_number_is_added_up_or_averaged_by_its_name_or_asked_back() -> None:
    assert "SUM(orders.amount)" in sql("amount by country", made_up.shop())
    assert "AVG(products.unit_price)" in sql("product unit price by category", made_up.shop())
    assert "SUM(staff.salary)" in sql("salary by carrier", made_up.airline())


def test_products_are_multiplied_row_by_row_and_only_where_told() -> None:
    found = sql("total quantity times unit price by product category", made_up.shop())
    assert "SUM(order_items.quantity * order_items.unit_price)" in found
    assert "SUM(orders.amount)" in sql("total revenue by country", made_up.shop())


def test_the_sum_of_prices_is_hardly_the_revenue() -> None:
    shop = made_up.shop()
    products = tuple(r for r in shop.relations if r.name == "products")
    found = readings("total revenue by category", replace(shop, relations=products, foreign_keys=()), NOW)
    assert all(r.cost > 1 for r in found)


# -- several readings --------------------------------------------------------------------------------------------------


def test_a_vague_column_of_a_table_that_is_named_is_clear() -> None:
    assert "customers.name" in sql("names of customers in Germany", made_up.shop())


def test_two_foreign_keys_to_one_table_are_two_readings() -> None:
    assert choices("number of flights by city", made_up.airline()) == [
        "number of flights · by origin airport city · tables flights → airports",
        "number of flights · by destination airport city · tables flights → airports",
    ]
    assert "destination airport city in Berlin, Paris" in choices("flights from Berlin or Paris", made_up.airline())[1]
    assert len(choices("number of flights by destination airport city", made_up.airline())) == 1


def test_a_table_between_two_others_is_joined_once() -> None:
    assert "COUNT(DISTINCT flights.id)" in sql("number of flights by staff", made_up.airline())


def test_the_best_of_what_has_no_number_are_those_with_the_most_rows() -> None:
    assert "COUNT(*) AS number_of_orders" in sql("best customers", made_up.shop())


# -- words -------------------------------------------------------------------------------------------------------------


def test_unknown_words_are_said_with_what_is_known() -> None:
    told = says_nothing(["weather", "germani"], linker_of(made_up.shop()))
    assert "“weather”, “germani”. Did you mean Germany?" in told
    assert "customers (id, name, country" in told


@pytest.mark.parametrize("word", ["weather", "budget", "performance", "usage", "points"])
def test_what_may_be_somebodys_column_is_never_passed_over(word: str) -> None:
    assert all(word in r.unread for r in readings(f"{word} by country", made_up.shop(), NOW))


def test_a_typo_is_mended_and_said() -> None:
    first = readings("total amuont by contry", made_up.shop(), NOW)[0]
    assert "“amuont” taken for orders.amount" in taken_for(first.cover)


@pytest.mark.parametrize(
    "question",
    ["", "not", "median", "total amount by product category", "orders not in 2025"],
)
def test_what_is_not_understood_is_not_read(question: str) -> None:
    assert not [r for r in readings(question, made_up.shop(), NOW) if not r.unread]


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
        ("orders in the last 7 days", "orders.order_date >= '2025-11-03' AND orders.order_date < '2025-11-11'"),
        ("customers without orders in 2025", "orders.customer_id = customers.id AND orders.order_date >= '2025-01-01'"),
        ("customers without orders in Germany", "WHERE customers.country = 'Germany' AND NOT EXISTS"),
        ("customers with fewer than 3 orders", "( SELECT COUNT(*) FROM orders WHERE"),
        ("top 5 amount", "ORDER BY orders.amount DESC NULLS LAST, orders.id ASC LIMIT 5"),
        ("orders in march", "orders.order_date >= '2025-03-01' AND orders.order_date < '2025-04-01'"),
        ("average number of orders per customer", "AVG(number_of_orders)"),
        ("total amount for customers without order items", "orders.customer_id = customers.id"),
        ("the 3 largest orders", "ORDER BY orders.amount DESC NULLS LAST, orders.id ASC LIMIT 3"),
        ("customer with the highest total amount", "MAX(total_amount) OVER ()"),
        ("amount by customer as a bar chart", "SUM(orders.amount)"),
        ("different countries", "SELECT DISTINCT customers.country"),
        ("orders by week", "DATE_TRUNC('WEEK', orders.order_date)"),
        ("orders over time", "DATE_TRUNC('MONTH', orders.order_date)"),
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
    assert 'WHERE staff."managerId" IS NULL' in sql("staff without manager", made_up.airline())


def test_years_compare_as_numbers_where_a_column_holds_years() -> None:
    assert 'staff."hireYear" = 2020' in sql("staff with hire year 2020", made_up.airline())
    assert 'staff."hireYear" >= 2018' in sql("average salary of staff since 2018", made_up.airline())


@pytest.mark.parametrize("database", [made_up.shop(), made_up.airline()], ids=["shop", "airline"])
def test_every_example_has_an_answer(database: Database) -> None:
    found = first_questions(database)
    assert len(found) >= 4
    for question in found:
        assert sql(question, database)


def test_the_only_table_is_not_named_with_each_of_its_columns() -> None:
    shop = made_up.shop()
    alone = replace(shop, relations=tuple(r for r in shop.relations if r.name == "customers"), foreign_keys=())
    assert not [q for q in first_questions(alone) if "customer " in q]
    assert [q for q in first_questions(alone) if " by " in q]
    assert "Known is the table customers (" in says_nothing(["moon"], linker_of(alone))


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
    for _ in range(120):
        question = " ".join(rng.choice(names if rng.random() < 0.6 else PIECES) for _ in range(rng.randint(1, 7)))
        for reading in readings(question, database, NOW, 1):
            connection.execute("EXPLAIN " + reading.built.sql)
            answered += 1
    connection.close()
    assert answered > 30


def test_a_share_in_a_year_is_of_the_rows_of_that_year() -> None:
    found = sql("share of paid orders in 2024", made_up.shop())
    assert "WHERE orders.order_date >= '2024-01-01'" in found
    assert "CASE WHEN orders.status = 'paid' THEN 1 END" in found


def test_first_places_by_revenue_are_not_by_price() -> None:
    shop = made_up.shop()
    orders = made_up.relation("orders", {"id": "integer", "customer_id": "integer", "order_date": "date"})
    tables = tuple(orders if r.name == "orders" else r for r in shop.relations)
    found = sql("top 3 products by revenue", replace(shop, relations=tables))
    assert "SUM(order_items.quantity * order_items.unit_price)" in found
