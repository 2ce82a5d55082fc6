"""A small, seeded shop: customers, products, orders and items, with namesakes, NULLs and people who never order."""

import csv
import random
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb


@dataclass(frozen=True)
class Shop:
    """Where the shop is, and how to ask it in SQL without Mirror."""

    kind: str
    url: str
    rows: Callable[[str], list[tuple[Any, ...]]]


NOW = datetime(2025, 11, 10, 12, 0)

# In SQL that PostgreSQL, SQLite and DuckDB all take.
SCHEMA = (
    """CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, country VARCHAR(40),
        signup_date DATE NOT NULL, is_active BOOLEAN NOT NULL)""",
    """CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL UNIQUE, category VARCHAR(40) NOT NULL,
        unit_price DECIMAL(10, 2) NOT NULL, stock INTEGER)""",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
        order_date DATE NOT NULL, status VARCHAR(20) NOT NULL, amount DECIMAL(10, 2) NOT NULL)""",
    """CREATE TABLE order_items (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
        product_id INTEGER NOT NULL REFERENCES products (id), quantity INTEGER NOT NULL,
        unit_price DECIMAL(10, 2) NOT NULL)""",
)
COLUMNS = {
    "customers": ("id", "name", "country", "signup_date", "is_active"),
    "products": ("id", "name", "category", "unit_price", "stock"),
    "orders": ("id", "customer_id", "order_date", "status", "amount"),
    "order_items": ("id", "order_id", "product_id", "quantity", "unit_price"),
}

_PEOPLE = (
    ("Anna Berg", "Germany"), ("Anna Berg", "Austria"), ("Bruno Costa", "Portugal"), ("Chloé Dubois", "France"),
    ("Dmitri O'Neill", "Ireland"), ("Emma Fischer", "Germany"), ("Farid Haddad", "France"), ("Greta Holm", None),
    ("Hugo Silva", "Portugal"), ("Ines Keller", "Austria"), ("Jonas Weber", "Germany"), ("Kira Novak", "Germany"),
)  # fmt: skip
_GOODS = (
    ("Lamp", "Lighting", 24.5, 40), ("Ceiling light", "Lighting", 89.0, 12), ("Desk", "Furniture", 240.0, 5),
    ("Chair", "Furniture", 75.25, 30), ("Shelf", "Furniture", 120.0, None), ("Rug", "Textiles", 60.0, 18),
    ("Curtain", "Textiles", 35.5, 0), ("Lantern", "Lighting", 15.75, 100),
)  # fmt: skip
_STATUSES = ("paid", "shipped", "returned", "open")


def rows() -> dict[str, list[tuple[object, ...]]]:
    """The rows of every table, parents first; the same every time."""
    rng = random.Random(20251110)
    people = [
        (i, name, country, date(2024, 1, 15) + timedelta(days=40 * i), i % 4 != 0)
        for i, (name, country) in enumerate(_PEOPLE, 1)
    ]
    goods = [(i, *good) for i, good in enumerate(_GOODS, 1)]
    orders: list[tuple[object, ...]] = []
    items: list[tuple[object, ...]] = []
    for i in range(1, 81):
        buyer = rng.choice([1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 10])  # 9, 11 and 12 never order
        day = date(2024, 10, 1) + timedelta(days=rng.randrange(400))
        amount = 0.0
        for product in rng.sample(range(1, 8), rng.randint(1, 4)):  # nobody buys the lantern
            quantity = rng.randint(1, 6)
            price = round(goods[product - 1][3] * rng.choice([1.0, 1.0, 0.9]), 2)
            items.append((len(items) + 1, i, product, quantity, price))
            amount += quantity * price
        orders.append((i, buyer, day, rng.choice(_STATUSES), round(amount, 2)))
    return {"customers": people, "products": goods, "orders": orders, "order_items": items}


def statements() -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """(INSERT with question marks, rows) of every table."""
    for table, found in rows().items():
        marks = ", ".join("?" for _ in COLUMNS[table])
        yield f"INSERT INTO {table} VALUES ({marks})", found


def make_sqlite(path: Path) -> str:
    """A SQLite file with the shop; returns what names it."""
    with sqlite3.connect(path) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        for insert, found in statements():
            connection.executemany(insert, [tuple(_iso(v) for v in row) for row in found])
    connection.close()
    return str(path)


def make_duckdb(path: Path) -> str:
    """A DuckDB file with the shop; returns what names it."""
    with duckdb.connect(str(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        for insert, found in statements():
            connection.executemany(insert, found)
    return str(path)


def make_csv(folder: Path) -> str:
    """A folder of CSV files with the shop, without any declared key; returns what names it."""
    for table, found in rows().items():
        with (folder / f"{table}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS[table])
            writer.writerows(found)
    return str(folder)


def make_postgres(url: str) -> str:
    """The shop in an empty database; returns its URL."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        with connection.cursor() as cursor:
            for insert, found in statements():
                cursor.executemany(insert.replace("?", "%s"), found)
    return url


def _iso(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value
