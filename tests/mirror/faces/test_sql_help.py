"""Names that the SQL's field completes, and where a mistake is marked."""

import duckdb
import pytest

from db.schema import EXPOSED
from mirror.data.plain_values import sentence
from mirror.faces import sql_help
from mirror.schema.database import Column, Database, Relation


def test_all_columns_and_views_of_the_results_are_completed():
    names = dict(sql_help.names_of_results())
    assert {"auc", "latency_us", "compression", "method", *EXPOSED} <= names.keys()
    assert names["results"] == "view"
    assert names["auc"] == "AUC"


def test_of_other_data_a_column_tells_its_type_and_tables():
    relations = tuple(
        Relation(name, (Column("id", "integer"), Column(f"{name}_name", "text")))
        for name in ("shop", "city", "country")
    )
    names = dict(sql_help.names_of_database(Database("duckdb", "shop", relations)))
    assert names["shop"] == "table"
    assert names["shop_name"] == "text, shop"
    assert names["id"] == "integer, shop, city …"


@pytest.mark.parametrize(
    ("name", "text"),
    [("net_sales", "net_sales"), ("net sales", '"net sales"'), ("order", '"order"'), ("Id", '"Id"'), ('a"b', '"a""b"')],
)
def test_names_are_written_as_sql_takes_them(name, text):
    assert sql_help.written(name) == text
    duckdb.execute(f"SELECT {text} FROM (SELECT 1 AS {text})")


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        ("SELECT avg(auk) FROM t", "auk"),
        ("SELECT auc FROM t WHERE methodd = 'methodd'", "methodd"),
        ("SELECT auc FORM t", None),  # read as a name of auc: then `t` is wrong, which stands once
        ("SELECT auc FROM t GROP BY method", "BY"),
        ("SELECT auc FROM tt -- tt", "tt"),
        ("SELECT mediann(auc) FROM t", "mediann"),
        ("SELECT auk, auk FROM t", None),
        ('SELECT "auk" FROM t', "auk"),
    ],
)
def test_the_word_that_is_wrong_is_found_where_it_stands_once(sql, marked):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (auc DOUBLE, method VARCHAR)")
    with pytest.raises(duckdb.Error) as error:
        connection.execute(sql)
    place = sql_help.place_of_mistake(sentence(str(error.value)), sql)
    if marked:
        assert place is not None
        assert sql[slice(*place)] == marked
    else:
        assert place is None or sql[slice(*place)] == "t"


@pytest.mark.parametrize(
    "message", ["no such column: auk.", 'column "auk" does not exist.', "", "All is well.", "Cancelled."]
)
def test_words_of_other_databases(message):
    place = sql_help.place_of_mistake(message, "SELECT auk FROM t")
    assert place == ((7, 10) if "auk" in message else None)


def test_changed_lines_are_told_apart_from_those_that_stay():
    lines = sql_help.changed_lines("SELECT a\nFROM t\nWHERE b = 1", "SELECT a\nFROM t\nWHERE b = 2")
    assert lines == ["  SELECT a", "  FROM t", "- WHERE b = 1", "+ WHERE b = 2"]
    assert sql_help.changed_lines("SELECT 1", "SELECT 1") == []
