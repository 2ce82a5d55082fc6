"""A small library that tests of reading ask about: as a catalogue, and as rows in DuckDB and SQLite."""

import sqlite3
from pathlib import Path
from typing import Any

import duckdb

from mirror.schema.database import Column, Database, ForeignKey, Relation

DATABASE = Database(
    "duckdb",
    "library",
    (
        Relation(
            "members",
            (
                Column("id", "integer", False, unique=True, low=1, high=4),
                Column("name", "text", index=("Ada Berg", "Bo Carlsen", "Cy Dahl", "Di Ek")),
                Column("city", "text", values=("Bern", "Oslo", "Rome")),
                Column("birth_date", "date", low="1950-01-01", high="2010-01-01"),
                Column("student", "boolean"),
            ),
            ("id",),
            rows=4,
        ),
        Relation(
            "books",
            (
                Column("id", "integer", False, unique=True, low=1, high=5),
                Column("title", "text", index=("Red Sand", "Blue Rain", "War of Salt", "Quiet", "Tall Pines")),
                Column("genre", "text", values=("crime", "poetry", "travel")),
                Column("pages", "integer", low=80, high=500),
                Column("price", "real", low=5.0, high=40.0),
            ),
            ("id",),
            rows=5,
        ),
        Relation(
            "loans",
            (
                Column("id", "integer", False, unique=True, low=1, high=8),
                Column("member_id", "integer", low=1, high=4),
                Column("book_id", "integer", low=1, high=5),
                Column("lent", "timestamp", low="2024-01-01 09:00:00", high="2025-06-01 18:00:00"),
                Column("returned", "timestamp", nullable=True, low="2024-01-11 09:00:00", high="2025-06-11 09:00:00"),
                Column("fee", "real", low=0.0, high=3.0),
            ),
            ("id",),
            rows=8,
        ),
    ),
    (
        ForeignKey("loans", ("member_id",), "members", ("id",), optional=False),
        ForeignKey("loans", ("book_id",), "books", ("id",), optional=False),
    ),
)
_SCRIPT = """
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, city TEXT, birth_date DATE, student BOOLEAN);
INSERT INTO members VALUES (1, 'Ada Berg', 'Bern', '1990-05-01', TRUE), (2, 'Bo Carlsen', 'Oslo', '1950-01-01', FALSE),
    (3, 'Cy Dahl', 'Bern', '2010-01-01', FALSE), (4, 'Di Ek', NULL, '1980-01-01', TRUE);
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, genre TEXT, pages INTEGER, price DOUBLE);
INSERT INTO books VALUES (1, 'Red Sand', 'crime', 200, 10), (2, 'Blue Rain', 'crime', 400, 20),
    (3, 'War of Salt', 'travel', 500, 40), (4, 'Quiet', 'poetry', 80, 5), (5, 'Tall Pines', 'travel', 100, NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY, member_id INTEGER, book_id INTEGER, lent TIMESTAMP, returned TIMESTAMP,
    fee DOUBLE);
INSERT INTO loans VALUES
    (1, 1, 1, '2024-01-01 09:00:00', '2024-01-11 09:00:00', 1), (2, 1, 2, '2024-03-02 10:00:00', NULL, 2),
    (3, 1, 3, '2025-01-05 18:00:00', '2025-01-25 18:00:00', 3), (4, 2, 1, '2025-02-01 09:00:00', NULL, 0),
    (5, 2, 1, '2025-03-01 20:00:00', '2025-03-02 20:00:00', 1), (6, 3, 4, '2025-06-01 18:00:00', NULL, 2),
    (7, 3, 1, '2024-06-08 11:00:00', '2024-06-11 11:00:00', NULL), (8, 3, 2, '2024-07-06 12:00:00', NULL, 1);
"""


def rows(sql: str, dialect: str) -> list[tuple[Any, ...]]:
    """What a statement brings, with dates as text and numbers rounded."""
    if dialect == "sqlite":
        connection: Any = sqlite3.connect(":memory:")
        connection.executescript(_SCRIPT)
    else:
        connection = duckdb.connect()
        connection.execute(_SCRIPT)
    try:
        return [tuple(map(_plain, row)) for row in connection.execute(sql).fetchall()]
    finally:
        connection.close()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    return value if value is None or isinstance(value, int | str) else str(value)


def write(path: Path) -> str:
    """The library as a DuckDB file; its path."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(_SCRIPT)
    return str(path)
