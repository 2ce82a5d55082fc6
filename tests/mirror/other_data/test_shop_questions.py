"""Twenty questions about a shop, on every kind of database, each against SQL written by hand."""

import time
from datetime import date, datetime
from decimal import Decimal

import pytest
import sales_data
from sales_data import Shop

from mirror.answer import other_data
from mirror.answer.answering import ask, subject_of
from mirror.chart.draw.figure import draw
from mirror.language.ranking import candidates
from mirror.language.reading.reading import readings

ITEMS = "order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id"
SOLD = f"{ITEMS} JOIN products p ON i.product_id = p.id"
BOUGHT = "orders o JOIN customers c ON o.customer_id = c.id"

# (question, gold SQL, whether the order counts). {month} and its like are spans of o.order_date.
QUESTIONS = [
    ("how many customers", "SELECT count(*) FROM customers", False),
    (
        "total amount by country",
        f"SELECT c.country, sum(o.amount) FROM {BOUGHT} GROUP BY c.country ORDER BY sum(o.amount) DESC",
        True,
    ),
    (
        "number of orders by month in 2025",
        "SELECT {month}, count(*) FROM orders o WHERE order_date BETWEEN '2025-01-01' AND '2025-12-31' "
        "GROUP BY {month} ORDER BY {month}",
        True,
    ),
    (
        "average product unit price by category",
        "SELECT category, avg(unit_price) FROM products GROUP BY category",
        False,
    ),
    (
        "top 3 products by total quantity",
        "SELECT p.name, sum(i.quantity) FROM order_items i JOIN products p ON i.product_id = p.id "
        "GROUP BY p.id, p.name ORDER BY sum(i.quantity) DESC, p.name LIMIT 3",
        True,
    ),
    (
        "top 5 customers by total amount",
        f"SELECT c.id, c.name, sum(o.amount) FROM {BOUGHT} GROUP BY c.id, c.name ORDER BY sum(o.amount) DESC LIMIT 5",
        True,
    ),
    ("which country has the most customers?", "SELECT 'Germany', 4", False),
    (
        "total quantity of Lamps and Chairs by customer country",
        f"SELECT c.country, sum(i.quantity) FROM {SOLD} WHERE p.name IN ('Lamp', 'Chair') GROUP BY c.country",
        False,
    ),
    (
        "total quantity times order item unit price by product category in Germany",
        f"SELECT category, sum(i.quantity * i.unit_price) FROM {SOLD} WHERE country = 'Germany' GROUP BY category",
        False,
    ),
    (
        "orders over 1500 not in Germany",
        f"SELECT o.* FROM {BOUGHT} WHERE o.amount > 1500 AND c.country <> 'Germany'",
        False,
    ),
    (
        "customers without orders",
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
        False,
    ),
    (
        "customers with more than 8 orders",
        f"SELECT c.name FROM {BOUGHT} GROUP BY c.id, c.name HAVING count(*) > 8",
        False,
    ),
    (
        "how many customers have more than 8 orders?",
        "SELECT count(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 8) AS x",
        False,
    ),
    (
        "number of orders with product Lamp by status since 2025-03-01",
        f"SELECT o.status, count(DISTINCT o.id) FROM {SOLD} WHERE p.name = 'Lamp' AND o.order_date >= '2025-03-01' "
        "GROUP BY o.status",
        False,
    ),
    (
        "total amount of orders with product category Lighting last month",
        "SELECT sum(amount) FROM orders WHERE order_date BETWEEN '2025-10-01' AND '2025-10-31' AND id IN "
        "(SELECT order_id FROM order_items WHERE product_id IN (SELECT id FROM products WHERE category = 'Lighting'))",
        False,
    ),
    (
        "total amount and total quantity by country",
        f"SELECT a.country, a.amount, q.quantity FROM (SELECT c.country, sum(o.amount) AS amount FROM {BOUGHT} "
        f"GROUP BY c.country) a JOIN (SELECT c.country, sum(i.quantity) AS quantity FROM {ITEMS} GROUP BY c.country) q "
        "ON coalesce(a.country, '') = coalesce(q.country, '')",
        False,
    ),
    (
        "number of orders by product category",
        f"SELECT p.category, count(DISTINCT o.id) FROM {SOLD} GROUP BY p.category",
        False,
    ),
    (
        "lowest, average and highest amount by year",
        "SELECT {year}, min(amount), avg(amount), max(amount) FROM orders o GROUP BY {year}",
        False,
    ),
    (
        "how many different products were in orders in France, open or shipped",
        f"SELECT count(DISTINCT p.id) FROM {SOLD} WHERE c.country = 'France' AND o.status IN ('open', 'shipped')",
        False,
    ),
    (
        "countries with total amount between 5000 and 15000",
        f"SELECT c.country, sum(o.amount) FROM {BOUGHT} GROUP BY c.country HAVING sum(o.amount) BETWEEN 5000 AND 15000",
        False,
    ),
    (
        "number of active customers by signup date quarter",
        "SELECT {signup_quarter}, count(*) FROM customers c WHERE is_active = TRUE GROUP BY {signup_quarter}",
        False,
    ),
]

_TRUNCATED = {
    "month": "CAST(date_trunc('month', o.order_date) AS DATE)",
    "year": "CAST(extract(year FROM o.order_date) AS INT)",
    "signup_quarter": "CAST(date_trunc('quarter', c.signup_date) AS DATE)",
}
SPANS = {
    "postgres": _TRUNCATED,
    "duckdb": _TRUNCATED,
    "csv": _TRUNCATED,
    "sqlite": {
        "month": "strftime('%Y-%m-01', o.order_date)",
        "year": "CAST(substr(o.order_date, 1, 4) AS INT)",
        "signup_quarter": "substr(c.signup_date, 1, 5) || CASE (substr(c.signup_date, 6, 2) - 1) / 3 "
        "WHEN 0 THEN '01-01' WHEN 1 THEN '04-01' WHEN 2 THEN '07-01' ELSE '10-01' END",
    },
}


def plain(value: object) -> object:
    """A value as it is compared: sums to the cent, dates as text, truth as a number."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float | Decimal):
        return round(float(value), 2)
    if isinstance(value, datetime | date):
        return value.isoformat().removesuffix("T00:00:00")
    return value


def rounded(rows: object) -> list[tuple[object, ...]]:
    return [tuple(plain(v) for v in row) for row in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("question", "gold", "ordered"), QUESTIONS, ids=[q for q, *_ in QUESTIONS])
def test_a_question_has_the_answer_of_sql_written_by_hand(question: str, gold: str, ordered: bool, shop: Shop) -> None:
    wanted = rounded(shop.rows(gold.format(**SPANS[shop.kind])))
    assert wanted, "a gold answer without rows shows nothing"
    first = ask(question, db=shop.url, now=sales_data.NOW)
    answers = [first]
    if first.status == "ambiguous":  # shown first: one of the choices is what was asked
        answers = [ask(choice, db=shop.url, now=sales_data.NOW, after=first) for choice in first.suggestions]
    found = []
    for answer in answers:
        assert answer.status == "answered", answer.summary
        assert answer.read_as
        assert answer.chart is not None
        assert answer.table is not None
        draw(answer.table, answer.chart)
        found.append(rounded(answer.table.rows))
    if not ordered:
        found, wanted = [sorted(rows, key=repr) for rows in found], sorted(wanted, key=repr)
    assert wanted in found, [answer.sql for answer in answers]


def test_most_are_answered_at_once(shop: Shop) -> None:
    at_once = [ask(question, db=shop.url, now=sales_data.NOW).status == "answered" for question, *_ in QUESTIONS]
    assert sum(at_once) >= 0.55 * len(QUESTIONS)


def test_there_are_twenty_questions_with_joins() -> None:
    assert len(QUESTIONS) >= 20
    assert sum(" JOIN " in gold or " IN (" in gold for _, gold, _ in QUESTIONS) >= 10


def test_a_machine_that_is_slow_to_read_the_words_still_compares_the_readings(
    csv_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first question to click was asked back there."""
    question = subject_of(db=csv_shop.url).examples()[0]
    monkeypatch.setattr(other_data, "_COMPARED_S", 1.0)

    def slowly(*given: object) -> object:
        time.sleep(1.1)
        return readings(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(candidates, "readings", slowly)
    assert ask(question, db=csv_shop.url).status == "answered"
