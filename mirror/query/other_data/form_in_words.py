"""The form in words: how a question about other data was read."""

from mirror.query.other_data.build import Built
from mirror.query.other_data.form import AGGREGATE_WORDS, Asked, ColumnRef, GroupBy, Measure, Predicate, Presence
from mirror.schema.database import Database
from mirror.schema.names import column_words, many, role_words
from mirror.table.values import Value

_OPERATORS = {
    "<>": "≠",
    "<=": "≤",
    ">=": "≥",
    "in": "in",
    "not in": "not in",
    "is null": "is empty",
    "is not null": "is filled",
}


def read_back(asked: Asked, built: Built, database: Database) -> str:
    """`total amount (orders.amount) · by country (customers.country) · where orders.order_date ≥ 2025-01-01`."""
    parts = []
    measures = [_measure(m) for m in asked.measures]
    groups = [_group(g, database) for g in asked.groups]
    if asked.count_groups:
        parts.append(f"number of {_plural(asked.groups[0])}")
        limited = [f"{measures[h.measure]} {_compared(h.operator, (h.value,))}" for h in asked.having]
        parts.append(f"with {' and '.join(limited)}")
    elif measures:
        parts.append(" and ".join(measures))
        parts += [f"by {' and '.join(groups)}"] if groups else []
        parts += [f"with {measures[h.measure]} {_compared(h.operator, (h.value,))}" for h in asked.having]
    elif groups:
        parts.append(f"different {' and '.join(groups)}")
    else:
        parts.append(f"rows of {asked.table}: {', '.join(_place(p, database) for p in asked.columns)}")
    where = [_condition(c, database) for c in asked.conditions]
    parts += [f"where {' and '.join(where)}"] if where else []
    parts += [_presence(p, database) for p in asked.presences]
    if asked.order:
        named = measures[asked.order[0]] if measures else _place(asked.columns[asked.order[0]], database)
        largest = "highest" if asked.order[1] else "lowest"
        parts.append(f"only the {largest} {named}" if asked.ties and not asked.limit else f"{largest} {named} first")
    if asked.limit:
        parts.append(f"the first {asked.limit:,}")
    others = [t for t in built.tables if t != built.tables[0]]
    if others:
        parts.append(f"tables {' → '.join(built.tables)}")
    return " · ".join([*parts, *asked.notes])


def _measure(measure: Measure) -> str:
    word = AGGREGATE_WORDS[measure.aggregate]
    if not measure.factors:
        return f"{word} {many(measure.table)}"
    what = " × ".join(f"{f.table}.{f.column}" for f in measure.factors)
    return f"{word} {what}"


def _group(group: GroupBy, database: Database) -> str:
    if group.place is None:
        role = role_words(database, group.role) if group.role else ""
        return role or f"{group.table}"
    place = _place(group.place, database)
    return f"{group.bucket} of {place}" if group.bucket else place


def _plural(group: GroupBy) -> str:
    return many(group.table) if group.place is None else f"different {column_words(group.place.column)}"


def _place(place: ColumnRef, database: Database) -> str:
    role = role_words(database, place.role) if place.role else ""
    return f"{role} {place.column}" if role else f"{place.table}.{place.column}"


def _condition(condition: Predicate, database: Database) -> str:
    return f"{_place(condition.place, database)} {_compared(condition.operator, condition.values)}"


def _compared(operator: str, values: tuple[Value, ...]) -> str:
    shown = ", ".join(str(v).lower() if isinstance(v, bool) else str(v) for v in values)
    return f"{_OPERATORS.get(operator, operator)} {shown}".strip()


def _presence(presence: Presence, database: Database) -> str:
    within = [_condition(c, database) for c in presence.conditions]
    where = f" where {' and '.join(within)}" if within else ""
    what = role_words(database, presence.role) if presence.role else many(presence.table)
    return f"{many(presence.owner)} {'without' if presence.absent else 'with'} {what}{where}"
