"""From rows of a result to the rows that they were made from: the statement runs, and lists what a GROUP BY counted."""

from typing import Any

import duckdb
import pytest

from mirror.data.rows_behind import UntracedError, rows_behind
from mirror.table.values import Value

TABLES = """
CREATE TABLE trials AS SELECT * FROM (VALUES
  ('a', 'x', 0.1::DOUBLE, 10.0::DOUBLE, TIMESTAMP '2026-01-03'), ('b', 'x', 0.1, 12.5, TIMESTAMP '2026-01-20'),
  ('c', 'y', NULL, 7.25, TIMESTAMP '2026-02-01'), ('d', 'y', 0.1, 7.25, TIMESTAMP '2026-02-02'),
  ('e', 'it''s', 0.30000000000000004, 1.0, TIMESTAMP '2026-02-02')) AS t(trial_id, method, size, us, began);
CREATE TABLE "our towns" AS SELECT * FROM (VALUES ('x', 'Bern'), ('y', 'Oslo')) AS t(method, "in");
"""


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute(TABLES)
    return made


def dicts(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Value | None]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]

    def plain(value: Any) -> Value | None:
        return value.isoformat() if hasattr(value, "isoformat") else value

    return [dict(zip(names, map(plain, row), strict=True)) for row in cursor.fetchall()]


def behind(connection: duckdb.DuckDBPyConnection, sql: str, *places: int) -> str:
    rows = dicts(connection, sql)
    found = connection.execute(rows_behind(sql, "duckdb", [rows[i] for i in places], "trial_id")).fetchall()
    return "".join(sorted(row[0] for row in found))


@pytest.mark.parametrize(
    ("sql", "places", "expected"),
    [
        ("SELECT method, us FROM trials WHERE us > 5 ORDER BY us", (0,), "cd"),
        ("SELECT method, avg(us) AS us, count(*) AS n FROM trials GROUP BY method ORDER BY n DESC, method", (0,), "ab"),
        ("SELECT method, avg(us) AS us FROM trials WHERE us < 12 OR us = 12.5 GROUP BY 1 ORDER BY 1", (1, 2), "abcd"),
        ("SELECT method, size, max(us) AS us FROM trials GROUP BY ALL ORDER BY method, size NULLS FIRST", (2,), "c"),
        ("SELECT size, count(*) AS n FROM trials GROUP BY size ORDER BY size DESC NULLS LAST", (0,), "e"),
        ("SELECT date_trunc('month', began) AS month, sum(us) AS us FROM trials GROUP BY 1 ORDER BY 1", (0,), "ab"),
        ("SELECT began, us FROM trials ORDER BY began", (1,), "b"),
        ("SELECT count(*) AS n FROM trials WHERE method = 'y'", (0,), "cd"),
        ("SELECT min(us) AS low, max(us) AS high, low / high AS share FROM trials WHERE us > 8", (0,), "ab"),
        ("SELECT us, method FROM trials QUALIFY min(us) OVER (PARTITION BY method) = us ORDER BY 1 DESC", (0,), "a"),
        ("SELECT method, rank() OVER (ORDER BY us) AS place FROM trials ORDER BY us", (0,), "e"),
        ("SELECT * FROM (SELECT method, avg(us) AS us FROM trials GROUP BY method) AS t ORDER BY method", (1,), "ab"),
        ("SELECT t.method AS m FROM (SELECT method FROM trials WHERE us > 1) AS t GROUP BY 1 ORDER BY 1", (0,), "ab"),
        (
            "WITH groups AS (SELECT method, avg(us) AS us FROM trials GROUP BY method)\n"
            "SELECT groups.method, reference.method AS other, groups.us / reference.us AS ratio FROM groups\n"
            "JOIN groups AS reference ON reference.method = 'x' WHERE groups.method = 'y'",
            (0,),
            "cd",
        ),
        (
            'SELECT towns."in" AS "in which", avg(us) AS us FROM trials JOIN "our towns" AS towns\n'
            "ON towns.method = trials.method GROUP BY 1 ORDER BY 1",
            (1,),
            "cd",
        ),
    ],
)  # fmt: skip
def test_what_a_row_was_made_from_is_found(
    connection: duckdb.DuckDBPyConnection, sql: str, places: tuple[int, ...], expected: str
) -> None:
    assert behind(connection, sql, *places) == expected


def test_all_columns_of_the_first_table_are_listed(connection: duckdb.DuckDBPyConnection) -> None:
    sql = 'SELECT "in", count(*) AS n FROM "our towns" JOIN trials USING (method) GROUP BY "in"'
    found = dicts(connection, rows_behind(sql, "duckdb", [{"in": "Oslo", "n": 2}]))
    assert found == [{"method": "y", "in": "Oslo"}] * 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS one",
        "SELECT method FROM trials UNION ALL SELECT method FROM trials",
        "SELECT avg(us) AS us FROM (SELECT us FROM trials LIMIT 2) AS t",
        "SELECT avg(us) AS us FROM (SELECT us FROM trials) AS t WHERE us > 3",
        "SELECT * FROM range(3)",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t",
        "SELEC",
    ],
)
def test_what_cannot_be_followed_is_a_sentence(sql: str) -> None:
    with pytest.raises(UntracedError, match=r"\.$"):
        rows_behind(sql, "duckdb", [{"method": "x"}])


def test_other_dialects_get_statements_of_their_own() -> None:
    found = rows_behind("SELECT `in`, count(*) AS n FROM `t` GROUP BY `in`", "mysql", [{"in": "a\\b'c", "n": 1}])
    assert found == r"SELECT `t`.* FROM `t` WHERE `in` = 'a\\b''c'"
