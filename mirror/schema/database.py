"""What a database holds: tables, columns, keys, counts and values. Plain data that travels between processes."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mirror.schema.own_words import OwnWord
from mirror.table.values import Value

Type = Literal["text", "integer", "real", "boolean", "date", "timestamp", "other"]

MAX_VALUES, MAX_INDEXED = 50, 2_000


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: as the database has it.
        type: what its values are; `other` is what no question can use (JSON, bytes, arrays).
        nullable: whether it may hold NULL.
        comment: what the database says of it.
        values: its distinct texts where they are at most 50, else empty.
        index: its distinct texts where they are more, and at most 2,000: names that a question may name.
        low, high: smallest and largest number, date or time seen; None where nobody knows.
        unique: whether no two rows share a value, as declared or as counted.
        nan: whether a NaN was seen.
    """

    name: str
    type: Type
    nullable: bool = True
    comment: str = ""
    values: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    low: Value | None = None
    high: Value | None = None
    unique: bool = False
    nan: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.type in ("integer", "real")

    @property
    def temporal(self) -> bool:
        """Whether it holds dates or times."""
        return self.type in ("date", "timestamp")


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key: `table.columns` names a row of `to` by its `to_columns`.

    Attributes:
        declared: whether the database says so; otherwise names and values do.
        unique: whether a row of `to` has at most one row of `table`.
        optional: whether the columns may be NULL, or name a row that is not there.
    """

    table: str
    columns: tuple[str, ...]
    to: str
    to_columns: tuple[str, ...]
    declared: bool = True
    unique: bool = False
    optional: bool = True


@dataclass(frozen=True)
class Relation:
    """A table or view.

    Attributes:
        name: as the database has it.
        columns: in order.
        key: columns of the primary key, declared or inferred; empty where there is none.
        comment: what the database says of it.
        rows: number of rows, None where it is not known.
        exact: whether that was counted.
        sampled: whether values and ranges come from some of the rows alone.
        view: whether it is a view.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    comment: str = ""
    rows: int | None = None
    exact: bool = False
    sampled: bool = False
    view: bool = False

    def column(self, name: str) -> Column:
        """Raises KeyError."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name}.{name}")


@dataclass(frozen=True)
class Database:
    """Everything that can be asked about.

    Attributes:
        dialect: the SQL it takes, as sqlglot names it.
        name: what to call it, without a password.
        relations: tables and views.
        foreign_keys: declared and inferred.
        notes: what the person should know: keys that were inferred, tables that were sampled; one sentence each.
        schema: what stands before the name of a table to say which it is, such as `("public",)`.
        any_case: of MySQL: whether its tables are not told apart by case.
        words: what people call parts of it, beyond their names.
    """

    dialect: str
    name: str
    relations: tuple[Relation, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    notes: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    any_case: bool = False
    words: tuple[OwnWord, ...] = ()

    def relation(self, name: str) -> Relation:
        """Raises KeyError."""
        for relation in self.relations:
            if relation.name == name:
                return relation
        raise KeyError(name)

    def has_tables_of(self, other: "Database") -> bool:
        """Whether its tables are those of another, with columns of the same types."""
        own, others = (
            [(r.name, [(c.name, c.type) for c in r.columns]) for r in database.relations] for database in (self, other)
        )
        return own == others

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @staticmethod
    def from_dict(held: dict[str, Any]) -> "Database":
        """What `to_dict` has made."""
        relations = [
            Relation(**{**r, "columns": tuple(_column(c) for c in r["columns"]), "key": tuple(r["key"])})
            for r in held["relations"]
        ]
        foreign_keys = [
            ForeignKey(**{**k, "columns": tuple(k["columns"]), "to_columns": tuple(k["to_columns"])})
            for k in held["foreign_keys"]
        ]
        lists = {key: tuple(held[key]) for key in ("notes", "schema")}
        words = tuple(OwnWord(**w) for w in held.get("words", ()))
        parts = {"relations": tuple(relations), "foreign_keys": tuple(foreign_keys), "words": words}
        return Database(**{**held, **lists, **parts})


def _column(held: dict[str, Any]) -> Column:
    return Column(**{**held, "values": tuple(held["values"]), "index": tuple(held.get("index", ()))})


def shown(names: Iterable[str], most: int = 8) -> str:
    """The first names of a list, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def known_sentence(database: Database) -> str:
    """What can be asked about, in one sentence."""
    parts = []
    for relation in [r for r in database.relations if not r.view][:8]:
        columns = [c.name for c in relation.columns if c.type != "other"]
        parts.append(f"{relation.name} ({shown(columns, 6)})")
    more = len(database.relations) - len(parts)
    known_are = "Known is the table" if len(parts) + more == 1 else "Known are the tables"
    return f"{known_are} {', '.join(parts)}{f' and {more} more' if more > 0 else ''}."
