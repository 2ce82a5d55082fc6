"""Tables, columns and declared keys as SQLAlchemy's inspector tells them, for PostgreSQL, MySQL and SQLite."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.reflection import Inspector, ObjectKind

from mirror.data.sources.reader import Structure
from mirror.schema.database import Column, ForeignKey, Relation, Type

MOST_TABLES = 300


def read(
    inspector: Inspector,
    schema: str | None,
    skipped: Iterable[str] = (),
    only: Sequence[str] | None = None,
    any_case: bool = False,
) -> Structure:
    """Everything of one schema, in a fixed number of queries.

    Args:
        inspector: of an open connection.
        schema: name of the schema, None for the one that the connection reads.
        skipped: tables that are parts of others.
        only: where given, nothing else is looked at.
        any_case: whether names of tables are not told apart by case.
    """
    views = set(inspector.get_view_names(schema=schema))
    if hasattr(inspector, "get_materialized_view_names"):
        with_stored = _tolerant(lambda: inspector.get_materialized_view_names(schema=schema))
        views |= set(with_stored)
    kinds: dict[str, Any] = {"schema": schema, "kind": ObjectKind.ANY, "filter_names": only}
    columns = inspector.get_multi_columns(**kinds)
    keys = inspector.get_multi_pk_constraint(**kinds)
    foreign = inspector.get_multi_foreign_keys(**kinds)
    unique = inspector.get_multi_unique_constraints(**kinds)
    indexes = inspector.get_multi_indexes(**kinds)
    comments: dict[Any, Any] = dict(_tolerant(lambda: inspector.get_multi_table_comment(**kinds)))
    names = sorted({name for _, name in columns} - set(skipped), key=lambda name: (name in views, name))
    names = [name for name in names if not name.startswith(("pg_", "sqlite_"))]
    notes: tuple[str, ...] = ()
    if len(names) > MOST_TABLES:
        notes = (f"Only the first {MOST_TABLES} of {len(names):,} tables are known here.",)
        names = names[:MOST_TABLES]
    relations, foreign_keys = [], []
    for name in names:
        at = (schema, name)
        key = _key_of(keys, schema, name)
        alone = {key} | {tuple(u["column_names"]) for u in unique.get(at, ())}
        alone |= {_columns_of(i) for i in indexes.get(at, ()) if i.get("unique") and not _is_partial(i)}
        found = tuple(_column(c, key, alone) for c in columns[at])
        comment = (comments.get(at) or {}).get("text") or ""
        relations.append(Relation(name, found, key, comment, view=name in views))
        for one in foreign.get(at, ()):
            if one.get("referred_schema") not in (None, schema) or one["referred_table"] not in names:
                continue
            own = tuple(one["constrained_columns"])
            to = tuple(one["referred_columns"]) or _key_of(keys, schema, one["referred_table"])
            if len(own) == len(to):
                optional = any(c.nullable for c in found if c.name in own)
                foreign_keys.append(ForeignKey(name, own, one["referred_table"], to, True, own in alone, optional))
    where = schema or inspector.default_schema_name
    return Structure(relations, foreign_keys, notes, (where,) if where else (), any_case)


def _key_of(keys: Mapping[Any, Any], schema: str | None, table: str) -> tuple[str, ...]:
    """The primary key; a foreign key of SQLite may leave out that it means this one."""
    return tuple((keys.get((schema, table)) or {}).get("constrained_columns") or ())


def _is_partial(index: Mapping[str, Any]) -> bool:
    where = any("where" in str(option) and value is not None for option, value in _options(index).items())
    return where or any(name is None for name in index["column_names"])


def _columns_of(index: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in index["column_names"])


def _options(index: Mapping[str, Any]) -> Mapping[str, Any]:
    return index.get("dialect_options") or {}


def _column(found: Mapping[str, Any], key: tuple[str, ...], alone: set[tuple[str, ...]]) -> Column:
    name = found["name"]
    nullable = bool(found.get("nullable", True)) and name not in key
    return Column(name, type_of(found["type"]), nullable, found.get("comment") or "", unique=(name,) in alone)


def type_of(declared: sa.types.TypeEngine[Any]) -> Type:
    """What the values of a declared type are."""
    if isinstance(declared, sa.Boolean) or _is_tiny_truth(declared):
        return "boolean"
    if isinstance(declared, sa.Integer):
        return "integer"
    if isinstance(declared, sa.Numeric | sa.Float):
        return "real"
    if isinstance(declared, sa.DateTime):
        return "timestamp"
    if isinstance(declared, sa.Date):
        return "date"
    if isinstance(declared, sa.String | sa.Enum) or str(declared).upper() == "CITEXT":
        return "text"
    return "other"


def _is_tiny_truth(declared: sa.types.TypeEngine[Any]) -> bool:
    """MySQL writes BOOLEAN as TINYINT(1)."""
    return type(declared).__name__.upper() == "TINYINT" and getattr(declared, "display_width", None) == 1


def _tolerant(read_it: Any) -> Any:
    """What a dialect may not know."""
    try:
        return read_it()
    except NotImplementedError:
        return ()
