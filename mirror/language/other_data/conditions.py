"""Conditions of a question: what is compared with what, and whose rows must be there."""

from dataclasses import replace

from mirror.language.other_data.mentions import Belonging, Test
from mirror.language.other_data.picking import Picker
from mirror.language.other_data.spans import Span
from mirror.language.other_data.vocabulary import Item
from mirror.language.phrases.time_cues import in_sql
from mirror.query.errors import Ambiguity, Impossible, Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import ColumnRef, Operator, Predicate, Presence
from mirror.schema.database import Column, Relation
from mirror.schema.names import is_measure, is_year, many, one, qualified, usual_aggregate
from mirror.table.values import Value


def settled(
    tests: list[Test], belongings: list[Belonging], base: str, pick: Picker
) -> tuple[list[Predicate], list[Presence]]:
    """The conditions on the base's rows and those on the rows that belong to them. Raises Refusal or Ambiguity."""
    conditions: list[Predicate] = []
    inside: dict[int, list[Predicate]] = {id(b): [] for b in belongings}
    for test in tests:
        about = pick.table(test.inside.item) if test.inside else base
        found = [_reached(c, base, test.item, pick) for c in _conditions(test, about, base, pick)]
        kept = inside[id(test.inside)] if test.inside and _is_inside(found, about, base, pick) else conditions
        for condition in found:
            _not_twice(condition, kept)
        kept.extend(found)
    presences = []
    for belonging in belongings:
        table = pick.table(belonging.item)
        owner = pick.table(belonging.owner) if belonging.owner and belonging.owner.tables else base
        way, _ = pick.way_to(base, owner, None, belonging.owner)
        if paths.multiplies(way):
            raise Refusal(
                f"{rows_of(base).capitalize()} has several {many(owner)}: ask about {many(owner)} themselves."
            )
        to_table, role = pick.way_to(owner, table, belonging.item.role, belonging.item)
        if not to_table:
            raise Refusal(
                f"“without {belonging.item.text}” says nothing of {many(owner)} themselves: name another table."
            )
        presences.append(Presence(table, owner, belonging.absent, tuple(inside[id(belonging)]), role))
    return conditions, presences


def _not_twice(condition: Predicate, others: list[Predicate]) -> None:
    """Raises Refusal where a column would have to hold two values at once."""
    for other in others:
        if other.place == condition.place and {other.operator, condition.operator} <= {"=", "in"}:
            first, second = (", ".join(map(str, c.values)) for c in (other, condition))
            raise Impossible(
                f"{dotted(condition.place)} cannot be {first} and {second} at once: join them with “or”, or ask twice."
            )


def _reached(condition: Predicate, base: str, item: Item | None, pick: Picker) -> Predicate:
    """The condition with the foreign key that leads to its column, where several do. Raises Refusal or Ambiguity."""
    _, role = pick.way(base, condition.place, item)
    return replace(condition, place=replace(condition.place, role=role))


def _is_inside(found: list[Predicate], about: str, base: str, pick: Picker) -> bool:
    """Whether a condition behind `without orders` is one of the orders, and not of the rows that are without."""
    tables = {c.place.table for c in found}
    if base in tables:
        return False
    return all(_nearer(about, base, table, pick) for table in tables)


def _nearer(about: str, base: str, table: str, pick: Picker) -> bool:
    ways = paths.shortest(pick.database, about, table)
    from_base = paths.shortest(pick.database, base, table)
    return bool(ways) and (not from_base or len(ways[0]) < len(from_base[0]))


def _conditions(test: Test, about: str, base: str, pick: Picker) -> list[Predicate]:
    if test.span is not None:
        return _timed(test.span, test.item, about, pick)
    if test.item is None:
        of = pick.table(test.of) if test.of else about
        return [Predicate(_usual(of, test, pick), test.operator, test.values)]
    if test.item.values:
        return [_valued(test.item, test.operator, pick)]
    return [_compared(test.item, test.operator, test.values, pick)]


# -- kinds of conditions -----------------------------------------------------------------------------------------------


def _valued(item: Item, operator: Operator, pick: Picker) -> Predicate:
    """A value, or several of one column."""
    by_place: dict[ColumnRef, list[str]] = {}
    for place, value in item.values:
        by_place.setdefault(place, []).append(value)

    def wording(place: ColumnRef) -> str:
        return f"{qualified(place.table, place.column)} {by_place[place][0]}"

    place = pick.one_of(list(by_place), item, wording)
    values: tuple[Value, ...] = tuple(dict.fromkeys(by_place[place]))
    if len(values) > 1:
        return Predicate(place, "not in" if operator == "<>" else "in", values)
    return Predicate(place, operator, values)


def _compared(item: Item, operator: Operator, values: tuple[Value, ...], pick: Picker) -> Predicate:
    """A column with a number, a text or nothing."""
    if operator in ("is null", "is not null"):
        place = pick.place(item, lambda *_: True, "")
        return Predicate(place, operator)
    kind = type(values[0])
    wanted = {bool: {"boolean"}, str: {"text"}}.get(kind, {"integer", "real"})
    what = {bool: "true or false", str: "text"}.get(kind, "a number")

    def fits(_: Relation, column: Column) -> bool:
        return column.type in wanted

    place = pick.place(item, fits, f"“{item.text}” does not hold {what}: name another column.")
    return Predicate(place, operator, values)


def _usual(table: str, test: Test, pick: Picker) -> ColumnRef:
    """The number of a table that a comparison without a column speaks of. Raises Refusal or Ambiguity."""
    relation = pick.relation(table)
    numbers = [c for c in relation.columns if is_measure(pick.database, relation, c)]
    added = [c for c in numbers if usual_aggregate(c) == "sum"]
    shown_value = f"{test.operator} {test.values[0]}"
    for few in (numbers, added):
        if len(few) == 1:
            return ColumnRef(table, few[0].name)
    if not numbers:
        raise Refusal(f"{table} has no number that “{shown_value}” could be about: name a column.")
    choices = [
        pick.sentence([*pick.words[: test.at], "with", *qualified(table, c.name).split(), *pick.words[test.at :]])
        for c in numbers[:6]
    ]
    raise Ambiguity(f"Which number is “{shown_value}” about?", tuple(choices))


def _timed(span: Span, item: Item | None, base: str, pick: Picker) -> list[Predicate]:
    """A time: of the column before it, of the base's date, or of a column that holds years."""
    if item is not None and span.years and not _is_date(item, pick):
        place = pick.place(item, lambda _, c: c.numeric, "")
        return _years(place, span)
    if item is None and span.years and (years := _year_column(base, pick)):
        return _years(years, span)
    place = pick.date(base, item)
    if span.operator == "<>":
        raise Refusal(f"“{span.phrase}” leaves a time out, which is not read: say before or after it.")
    found = []
    if span.start is not None:
        found.append(Predicate(place, ">=", (in_sql(span.start),)))
    if span.end is not None:
        found.append(Predicate(place, "<", (in_sql(span.end),)))
    return found


def _is_date(item: Item, pick: Picker) -> bool:
    return any(pick.column(p).temporal for p in item.places)


def _year_column(base: str, pick: Picker) -> ColumnRef | None:
    """A column of years, where the table has no date."""
    relation = pick.relation(base)
    years = [c for c in relation.columns if is_year(c)]
    if len(years) == 1 and not any(c.temporal for c in relation.columns):
        return ColumnRef(base, years[0].name)
    return None


def _years(place: ColumnRef, span: Span) -> list[Predicate]:
    if span.operator == "between":
        low, high = span.years
        return [Predicate(place, ">=", (low,)), Predicate(place, "<=", (high,))]
    return [Predicate(place, span.operator, span.years)]


def dotted(place: ColumnRef) -> str:
    """`orders.amount`, as a sentence names it."""
    return f"{place.table}.{place.column}"


def rows_of(table: str) -> str:
    """`an order`, for sentences about one row."""
    word = one(table)
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"
