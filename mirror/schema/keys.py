"""Foreign keys that nobody declared: `customer_id` names a row of `customers` where names, types and values agree."""

from collections.abc import Callable
from dataclasses import replace

from mirror.schema.database import Column, ForeignKey, Relation
from mirror.schema.names import near, singular, table_words, words_of

# Share of the values that must be found in the other table; fewer are no key but a coincidence.
_FOUND = 0.9

# Last words of a column that tells rows apart.
_KEYS = (("id",), ("key",), ("code",), ("no",), ("nr",), ("cd",), ("uuid",), ("number",))

# (table, column, other table, its column) -> share of the values found there, or None where it is not known.
Overlap = Callable[[str, str, str, str], float | None]


def with_keys(relations: list[Relation]) -> list[Relation]:
    """Tables that declare no primary key get their `id`, where it is unique and never NULL."""
    return [r if r.key or r.view else replace(r, key=_key(r)) for r in relations]


def _key(relation: Relation) -> tuple[str, ...]:
    of_table = table_words(relation.name)
    for wanted in (("id",), (*of_table, "id"), ("code",), (*of_table, "code")):
        for column in relation.columns:
            if words_of(column.name) == wanted and column.unique and not column.nullable:
                return (column.name,)
    first = relation.columns[:1]
    if first and first[0].unique and first[0].type in ("integer", "text") and words_of(first[0].name)[-1:] in _KEYS:
        return (first[0].name,)
    return ()


def inferred(relations: list[Relation], declared: list[ForeignKey], overlap: Overlap) -> list[ForeignKey]:
    """Links that names suggest and values bear out, where a table declares none for the column."""
    known = {(link.table, column) for link in declared for column in link.columns}
    found = []
    for relation in relations:
        if relation.view:
            continue
        for column in relation.columns:
            if (relation.name, column.name) in known or relation.key == (column.name,):
                continue
            candidates = [link for other in relations if (link := _link(relation, column, other))]
            # `shop_customer_id` ends like `customer` too: the longest name is meant.
            longest = max((len(table_words(link.to)) for link in candidates), default=0)
            best = [link for link in candidates if len(table_words(link.to)) == longest]
            if len(best) != 1:
                continue
            (link,) = best
            share = overlap(link.table, link.columns[0], link.to, link.to_columns[0])
            if share is not None and share >= _FOUND:
                found.append(link)
    return found


def _link(relation: Relation, column: Column, other: Relation) -> ForeignKey | None:
    if other.view or len(other.key) != 1:
        return None
    key = other.column(other.key[0])
    if key.type != column.type or column.type not in ("integer", "text"):
        return None
    words = words_of(column.name)
    if column.name == key.name and words_of(key.name)[-1:] in _KEYS and words_of(key.name) != ("id",):
        return ForeignKey(relation.name, (column.name,), other.name, (key.name,), declared=False, unique=column.unique)
    if len(words) < 2 or words[-1] not in ("id", "key", "code", "no", "uuid"):
        return None
    role = (*words[:-2], singular(words[-2]))
    if not near(role, table_words(other.name)):
        return None
    return ForeignKey(relation.name, (column.name,), other.name, (key.name,), declared=False, unique=column.unique)


def note(foreign_keys: list[ForeignKey]) -> str:
    """One sentence that says which keys were inferred; empty where none was."""
    named = [f"{k.table}.{k.columns[0]} → {k.to}.{k.to_columns[0]}" for k in foreign_keys if not k.declared]
    if not named:
        return ""
    return f"Keys inferred from names and values, since none is declared: {', '.join(named)}."
