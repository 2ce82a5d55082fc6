"""The form in words: how a question about other data was read."""

from mirror.query.other_data.build import Built
from mirror.query.other_data.form import (
    AGGREGATE_WORDS,
    Asked,
    ColumnRef,
    GroupBy,
    Having,
    Mean,
    Measure,
    Predicate,
    Presence,
)
from mirror.schema.database import Database
from mirror.schema.names import column_words, many, role_words
from mirror.table.values import Value

_OPERATORS: dict[str, str] = {
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
    measures = [_measure(m, database) for m in asked.measures]
    groups = [_group(g, database) for g in asked.groups]
    if asked.count_groups:
        parts.append(f"number of {_plural(asked.groups[0])}")
        parts.append(f"with {' and '.join(_having(h, measures) for h in asked.having)}")
    elif measures:
        leading = f"{AGGREGATE_WORDS[asked.outer]} {measures[0]}" if asked.outer else " and ".join(measures)
        parts.append(f"share of all in {leading}" if asked.of_total else leading)
        parts += [f"by {' and '.join(groups)}"] if groups else []
        parts += [f"with {_having(h, measures)}" for h in asked.having]
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
        if asked.offset:
            parts.append(f"from place {asked.offset + 1} on")
        parts.append(f"only the {largest} {named}" if asked.ties and not asked.limit else f"{largest} {named} first")
    if asked.limit:
        of_each = f" of each {' and '.join(groups[: asked.per])}" if asked.per else ""
        parts.append(f"the first {asked.limit:,}{of_each}")
    others = [t for t in built.tables if t != built.tables[0]]
    if others:
        parts.append(f"tables {' → '.join(built.tables)}")
    return " · ".join([*parts, *asked.notes])


def _having(having: Having, measures: list[str]) -> str:
    operator = _OPERATORS.get(having.operator, having.operator)
    against = f"{operator} the mean of all" if having.value is None else _compared(having.operator, (having.value,))
    return f"{measures[having.measure]} {against}"


def _measure(measure: Measure, database: Database) -> str:
    word = AGGREGATE_WORDS[measure.aggregate]
    if measure.until:
        (start,) = measure.factors
        text = f"{word} {measure.unit} from {start.table}.{start.column} to {measure.until.column}"
    elif not measure.factors:
        text = f"{word} {many(measure.table)}"
    else:
        text = f"{word} {' × '.join(f'{f.table}.{f.column}' for f in measure.factors)}"
    if measure.conditions:
        text += f" where {' and '.join(_condition(c, database) for c in measure.conditions)}"
    if measure.over is not None:
        return f"{text}, divided by {_measure(measure.over, database)}"
    return f"{text}, less {_measure(measure.minus, database)}" if measure.minus is not None else text


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
    other = condition.values[0] if condition.values else None
    place, operator = _place(condition.place, database), _OPERATORS.get(condition.operator, condition.operator)
    if condition.bucket:
        place = f"{condition.bucket.replace('_', ' ')} of {place}"
    if isinstance(other, Mean):
        alike = f" at the same {_place(other.within, database)}" if other.within else ""
        return f"{place} {operator} its average{alike}"
    if isinstance(other, ColumnRef):
        return f"{place} {operator} {_place(other, database)}"
    return f"{place} {_compared(condition.operator, condition.values)}"  # type: ignore[arg-type]


def _compared(operator: str, values: tuple[Value, ...]) -> str:
    shown = ", ".join(str(v).lower() if isinstance(v, bool) else str(v) for v in values)
    return f"{_OPERATORS.get(operator, operator)} {shown}".strip()


def _presence(presence: Presence, database: Database) -> str:
    within = [_condition(c, database) for c in presence.conditions]
    where = f" where {' and '.join(within)}" if within else ""
    what = role_words(database, presence.role) if presence.role else many(presence.table)
    how = "without" if presence.absent else "all of whose" if presence.every else "with"
    if presence.count:
        how = f"with {_compared(presence.count[0], (presence.count[1],))}"
    return f"{many(presence.owner)} {how} {what}{where}"
