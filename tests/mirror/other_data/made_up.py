"""Databases that are only catalogues: what a question becomes can be told without running it."""

from datetime import datetime

from mirror.language.reading.reading import readings
from mirror.query.other_data.form import Asked
from mirror.schema.database import Column, Database, ForeignKey, Relation, Type


def read(question: str, database: Database, now: datetime) -> Asked:
    """The first reading by the words alone, which leaves none of them unread."""
    first = readings(question, database, now)[0]
    assert not first.unread, first.unread
    return first.asked


def relation(
    name: str,
    columns: dict[str, Type],
    key: tuple[str, ...] = ("id",),
    held: dict[str, tuple[str, ...]] | None = None,
) -> Relation:
    """A table; `held` are the values of its columns."""
    found = (Column(c, k, c not in key, values=(held or {}).get(c, ()), unique=key == (c,)) for c, k in columns.items())
    return Relation(name, tuple(found), key)


def link(table: str, column: str, to: str, to_column: str = "id", optional: bool = False) -> ForeignKey:
    return ForeignKey(table, (column,), to, (to_column,), optional=optional)


def shop(dialect: str = "postgres") -> Database:
    """Customers, products, orders and their items."""
    return Database(
        dialect,
        "shop",
        (
            relation(
                "customers",
                {"id": "integer", "name": "text", "country": "text", "signup_date": "date", "is_active": "boolean"},
                held={"country": ("France", "Germany")},
            ),
            relation(
                "products",
                {"id": "integer", "name": "text", "category": "text", "unit_price": "real", "stock": "integer"},
                held={"name": ("Desk", "Lamp"), "category": ("Furniture", "Lighting")},
            ),
            relation(
                "orders",
                {"id": "integer", "customer_id": "integer", "order_date": "date", "status": "text", "amount": "real"},
                held={"status": ("open", "paid")},
            ),
            relation(
                "order_items",
                {
                    "id": "integer",
                    "order_id": "integer",
                    "product_id": "integer",
                    "quantity": "integer",
                    "unit_price": "real",
                },
            ),
        ),
        (
            link("orders", "customer_id", "customers"),
            link("order_items", "order_id", "orders"),
            link("order_items", "product_id", "products"),
        ),
    )


def airline() -> Database:
    """Two foreign keys to one table, one to its own, CamelCase, a bridge without a key of one column, years."""
    return Database(
        "postgres",
        "airline",
        (
            relation("airports", {"id": "integer", "code": "text", "city": "text"}, held={"city": ("Berlin", "Paris")}),
            relation(
                "flights",
                {
                    "id": "integer", "origin_airport_id": "integer", "destination_airport_id": "integer",
                    "carrier_id": "integer", "departed_at": "timestamp", "arrived_at": "timestamp",
                    "delay_minutes": "integer", "passengers": "integer", "model_year": "integer",
                },
            ),
            relation("carriers", {"id": "integer", "name": "text"}, held={"name": ("Air One", "Blue Sky")}),
            relation(
                "staff",
                {
                    "id": "integer", "fullName": "text", "managerId": "integer", "salary": "real",
                    "hireYear": "integer", "carrier_id": "integer",
                },
            ),
            relation(
                "crew", {"flight_id": "integer", "staff_id": "integer", "duty": "text"}, ("flight_id", "staff_id"),
                held={"duty": ("pilot", "steward")},
            ),
        ),
        (
            link("flights", "origin_airport_id", "airports"),
            link("flights", "destination_airport_id", "airports"),
            link("flights", "carrier_id", "carriers", optional=True),
            link("staff", "managerId", "staff", optional=True),
            link("staff", "carrier_id", "carriers"),
            link("crew", "flight_id", "flights"),
            link("crew", "staff_id", "staff"),
        ),
    )  # fmt: skip
