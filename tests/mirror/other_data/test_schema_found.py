"""What is told from a schema: words of names, keys that nobody declared, values and ranges, with bounded work."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import duckdb
import made_up
import pytest

from mirror.data.process.other_data_process import shared
from mirror.data.sources.facts import database as counted
from mirror.data.sources.location import find
from mirror.data.sources.open_reader import open_reader
from mirror.schema import keys, names
from mirror.schema.database import Database, Relation


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unit_price", ("unit", "price")),
        ("unitPrice", ("unit", "price")),
        ("Unit Price", ("unit", "price")),
        ("UNIT_PRICE", ("unit", "price")),
        ("HTTPStatus", ("http", "status")),
        ("address2", ("address2",)),
        ("Größe", ("größe",)),
        ("顧客", ("顧客",)),
    ],
)
def test_names_are_cut_into_words(name: str, words: tuple[str, ...]) -> None:
    assert names.words_of(name) == words


@pytest.mark.parametrize(
    ("one", "many"),
    [("category", "categories"), ("order", "orders"), ("box", "boxes"), ("status", "statuses"), ("person", "people"),
     ("class", "classes"), ("day", "days"), ("staff", "staff"), ("address", "addresses")],
)  # fmt: skip
def test_singular_and_plural(one: str, many: str) -> None:
    assert names.singular(many) == one
    if one != "person":
        assert names.plural(one) == many


def test_tables_are_called_by_their_rows() -> None:
    assert (names.one("tbl_order_items"), names.many("OrderItem")) == ("order item", "order items")
    assert names.qualified("customers", "customer_name") == "customer name"
    assert names.qualified("customers", "name") == "customer name"


def overlap_of(share: float | None) -> keys.Overlap:
    return lambda *_: share


def undeclared() -> list[Relation]:
    return list(made_up.shop().relations)


def test_keys_are_inferred_from_names_types_and_values() -> None:
    found = {(k.table, k.columns[0], k.to) for k in keys.inferred(undeclared(), [], overlap_of(1.0))}
    assert found == {
        ("orders", "customer_id", "customers"),
        ("order_items", "order_id", "orders"),
        ("order_items", "product_id", "products"),
    }


@pytest.mark.parametrize("share", [0.5, None], ids=["values differ", "not known"])
def test_a_name_alone_is_no_key(share: float | None) -> None:
    assert keys.inferred(undeclared(), [], overlap_of(share)) == []


def test_declared_keys_are_not_inferred_again() -> None:
    database = made_up.shop()
    assert keys.inferred(list(database.relations), list(database.foreign_keys), overlap_of(1.0)) == []


def test_types_must_agree_and_the_longest_name_counts() -> None:
    text_id = made_up.relation("visits", {"id": "integer", "customer_id": "text"})
    shops = made_up.relation("shop_customers", {"id": "integer"})
    by_shop = made_up.relation("stays", {"id": "integer", "shop_customer_id": "integer", "home_customer_id": "integer"})
    found = keys.inferred([*undeclared(), text_id, shops, by_shop], [], overlap_of(1.0))
    mine = {(k.columns[0], k.to) for k in found if k.table in ("visits", "stays")}
    assert mine == {("shop_customer_id", "shop_customers"), ("home_customer_id", "customers")}


def test_the_catalogue_of_files_has_keys_values_and_ranges(csv_shop) -> None:
    database = shared(find(csv_shop.url)).schema()
    orders, customers = database.relation("orders"), database.relation("customers")
    assert (orders.key, orders.rows, orders.exact) == (("id",), 80, True)
    assert orders.column("status").values == ("open", "paid", "returned", "shipped")
    assert str(orders.column("order_date").low).startswith("2024-10")
    assert orders.column("amount").high == 2431.5
    assert customers.column("name").unique is False  # there are two of one name
    assert len(database.foreign_keys) == 3
    assert not any(k.declared for k in database.foreign_keys)
    assert any(note.startswith("Keys inferred") for note in database.notes)
    assert Database.from_dict(database.to_dict()) == database


def test_declared_keys_need_no_note(sqlite_shop) -> None:
    database = shared(find(sqlite_shop.url)).schema()
    assert all(k.declared for k in database.foreign_keys)
    assert database.notes == ()
    assert database.relation("orders").column("order_date").type == "date"


def test_the_catalogue_is_kept_until_the_data_change(sqlite_shop) -> None:
    source = shared(find(sqlite_shop.url))
    assert source.schema() is source.schema()


def test_only_part_of_a_large_table_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirror.data.sources import sqlite

    path = tmp_path / "big.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, kind TEXT)")
        connection.executemany("INSERT INTO t (kind) VALUES (?)", [(f"k{i // 100}",) for i in range(2000)])
    connection.close()
    monkeypatch.setattr(sqlite, "SAMPLE_ROWS", 500)
    reader = open_reader(find(str(path)))
    seen: list[str] = []
    found = counted(watched(reader, seen, monkeypatch))
    relation = found.relation("t")
    assert (relation.rows, relation.sampled) == (None, True)
    assert relation.column("kind").values == ("k0", "k1", "k2", "k3", "k4")
    assert "sample" in found.notes[0]
    assert all("LIMIT 50" in sql for sql in seen)  # 500 rows, or one more to see that there are more


def watched(reader, seen: list[str], monkeypatch: pytest.MonkeyPatch):
    from mirror.data.sources.sqlite import SqliteSession

    real = SqliteSession.fetch

    def fetch(self, sql: str, *rest):
        seen.append(sql)
        return real(self, sql, *rest)

    monkeypatch.setattr(SqliteSession, "fetch", fetch)
    return reader


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_names_that_would_do_something_to_a_terminal_are_left_out_and_that_is_said(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"odd.{kind}"
    connection = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    connection.execute('CREATE TABLE t (id INTEGER, amount DOUBLE, "new\nline" DOUBLE, "\u202ebidi" DOUBLE)')
    connection.execute('CREATE TABLE "bell\a" (id INTEGER)')
    connection.close()
    found = counted(open_reader(find(str(path))))
    assert [r.name for r in found.relations] == ["t"]
    assert [c.name for c in found.relation("t").columns] == ["id", "amount"]
    assert found.notes == (
        "Left out of t: 2 columns with characters in the name that cannot be shown ('new\\nline', '\\u202ebidi').",
        "Left out: 1 table with characters in the name that cannot be shown ('bell\\x07').",
    )


def test_when_the_time_is_up_the_rest_is_simply_not_known(sqlite_shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirror.data.sources import facts

    monkeypatch.setattr(facts, "BUDGET_S", 0.0)
    found = counted(open_reader(find(sqlite_shop.url)))
    assert found.relation("orders").rows is None
    assert "took too long" in found.notes[0]
    assert len(found.foreign_keys) == 3


def test_labels_are_what_people_know_rows_by() -> None:
    person = made_up.relation("people", {"id": "integer", "first_name": "text", "last_name": "text"})
    assert names.label_columns(person) == ("first_name", "last_name")
    assert names.label_columns(made_up.shop().relation("customers")) == ("name",)
    assert names.label_columns(replace(person, columns=person.columns[:1])) == ()
