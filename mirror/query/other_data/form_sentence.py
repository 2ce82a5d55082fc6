"""A form as one sentence in plain words, such as a person might have asked: what is offered to be clicked."""

from datetime import date

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
from mirror.schema.names import column_words, many, one, qualified, role_words
from mirror.table import wording
from mirror.table.calendar_names import MONTHS
from mirror.table.values import Value

_NUMBERS = {
    "=": "is", "<>": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least",
    "is null": "is empty", "is not null": "is filled", "contains": "contains",
}  # fmt: skip
_DATES = {**_NUMBERS, "<": "is before", "<=": "is not after", ">": "is after", ">=": "is not before"}
_COUNTS = {"=": "exactly", "<": "fewer than", "<=": "at most", ">": "more than", ">=": "at least", "<>": "not exactly"}
_ENDS = {"<": "below", "<=": "of at most", ">": "above", ">=": "of at least", "=": "of", "<>": "other than"}
_BUCKETS = {"month_of_year": "month of the year", "hour": "hour of the day"}
_PLACES = {2: "second", 3: "third"}


def _join(parts: list[str]) -> str:
    """`a, b and c`; empty for nothing."""
    return wording.join(parts) if parts else ""


def sentence(asked: Asked, database: Database) -> str:
    """`Show the total order amount by customer country where the order status is paid, the 3 highest`."""
    words = _Words(database)
    return " ".join(f"Show {words.what(asked)}{words.which(asked)}{words.places(asked)}".split())


class _Words:
    """Forms over one database in words."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what is shown ---------------------------------------------------------------------------------------------

    def what(self, asked: Asked) -> str:
        """The numbers by their groups, or the rows."""
        groups = _join([self._group(g) for g in asked.groups])
        if asked.count_groups:
            limits = _join([self._having(h, asked.measures) for h in asked.having])
            return f"how many {self._several(asked.groups[0])} have a {limits}"
        if not asked.measures:
            if groups:
                return f"the different {_join([self._several(g) for g in asked.groups])}"
            return self._listed(asked)
        numbers = _join([f"the {self._measure(m)}" for m in asked.measures])
        if asked.of_total:
            return f"the share of each {groups} in {numbers}"
        if asked.outer:
            return f"the {AGGREGATE_WORDS[asked.outer]} of {numbers} per {groups}"
        by = f" by {groups}" if groups else ""
        limits = _join([self._having(h, asked.measures) for h in asked.having])
        return f"{numbers}{by}{' with a ' + limits if limits else ''}"

    def _listed(self, asked: Asked) -> str:
        rows = many(asked.table)
        relation = self._database.relation(asked.table)
        if [c.column for c in asked.columns] == [c.name for c in relation.columns if c.type != "other"]:
            return rows
        own = [column_words(c.column) if c.table == asked.table else self._place(c) for c in asked.columns]
        return f"{rows} with {_join(own)}"

    def _measure(self, measure: Measure) -> str:
        text = self._number(measure)
        if measure.over is None:
            return f"{text} less the {self._number(measure.minus)}" if measure.minus else text
        part, whole = measure.conditions, measure.over
        if part and not whole.conditions and (whole.table, whole.factors) == (measure.table, measure.factors):
            of = many(measure.table) if not measure.factors else f"the {self._number(whole)}"
            return f"share of {of}{self._where(part)}"
        return f"{text} divided by the {self._number(whole)}"

    def _number(self, measure: Measure) -> str:
        word, where = AGGREGATE_WORDS[measure.aggregate], self._where(measure.conditions)
        if measure.until is not None:
            span = f"from the {self._place(measure.factors[0])} to the {self._place(measure.until)}"
            return f"{word} {measure.unit} {span}{where}"
        if not measure.factors:
            return f"{word} {many(measure.table)}{where}"
        return f"{word} {' times '.join(self._place(f) for f in measure.factors)}{where}"

    def _group(self, group: GroupBy) -> str:
        if group.place is None:
            role = role_words(self._database, group.role) if group.role else ""
            return role or one(group.table)
        if group.bucket:
            return f"{_BUCKETS.get(group.bucket, group.bucket)} of the {self._place(group.place)}"
        return self._place(group.place)

    def _several(self, group: GroupBy) -> str:
        if group.place is None:
            return many(group.table)
        return many(self._group(group)) if not group.bucket else self._group(group)

    def _place(self, place: ColumnRef) -> str:
        role = role_words(self._database, place.role) if place.role else ""
        if role:
            return f"{role} {column_words(place.column)}"
        if len(self._database.relations) == 1:
            return column_words(place.column)
        return qualified(place.table, place.column)

    def _having(self, having: Having, measures: tuple[Measure, ...]) -> str:
        against = "the mean of all" if having.value is None else self._value(having.value)
        return f"{self._measure(measures[having.measure])} {_ENDS.get(having.operator, having.operator)} {against}"

    # -- which rows ------------------------------------------------------------------------------------------------

    def which(self, asked: Asked) -> str:
        """The conditions, and what belongs to the rows."""
        owners = dict.fromkeys(p.owner for p in asked.presences)
        presences = "".join(
            f", only {many(o)} {_join([self._presence(p) for p in asked.presences if p.owner == o])}" for o in owners
        )
        via = f" by way of {_join([many(t) for t in asked.via])}" if asked.via else ""
        return f"{via}{self._where(asked.conditions)}{presences}"

    def _where(self, conditions: tuple[Predicate, ...]) -> str:
        return f" where {_join(self._conditions(conditions))}" if conditions else ""

    def _conditions(self, conditions: tuple[Predicate, ...]) -> list[str]:
        """Each in words; the two ends of one span of time as one."""
        said: list[str] = []
        ends = {c.place: c for c in conditions if c.operator == "<" and not c.bucket}
        for condition in conditions:
            end = ends.get(condition.place) if condition.operator == ">=" and not condition.bucket else None
            if end is not None and (span := _span(condition.values, end.values)):
                said.append(f"the {self._place(condition.place)} is {span}")
            elif condition.operator == "<" and any(
                c.place == condition.place and c.operator == ">=" and _span(c.values, condition.values)
                for c in conditions
            ):
                continue
            else:
                said.append(self._condition(condition))
        return said

    def _condition(self, condition: Predicate) -> str:
        column = self._database.relation(condition.place.table).column(condition.place.column)
        words = _DATES if column.temporal and not condition.bucket else _NUMBERS
        place = f"the {self._place(condition.place)}"
        if condition.bucket:
            place = f"the {_BUCKETS.get(condition.bucket, condition.bucket)} of {place}"
        other = condition.values[0] if condition.values else None
        operator = words.get(condition.operator, condition.operator)
        if isinstance(other, Mean):
            among = f" at the same {self._place(other.within)}" if other.within else ""
            return f"{place} {operator} its average{among}"
        if isinstance(other, ColumnRef):
            return f"{place} {operator} the {self._place(other)}"
        values = [self._value(v) for v in condition.plain]
        if column.type == "integer" and (column.low, column.high) == (0, 1) and condition.plain in ([0], [1]):
            values = ["yes" if condition.plain == [1] else "no"]
        if condition.operator in ("in", "not in"):
            listed = f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else values[0]
            return f"{place} is {'not ' if condition.operator == 'not in' else ''}{listed}"
        return f"{place} {operator} {values[0]}" if values else f"{place} {operator}"

    def _value(self, value: Value) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)

    def _presence(self, presence: Presence) -> str:
        rows = many(presence.table)
        if presence.role and (role := role_words(self._database, presence.role)):
            rows = f"{rows} as {role}"
        where = self._where(presence.conditions)
        if presence.every:
            return f"that have {rows}, all of them{where}"
        if presence.count:
            operator, number = presence.count
            return f"that have {_COUNTS.get(operator, operator)} {number} {rows}{where}"
        return f"that have {'no ' if presence.absent else ''}{rows}{where}"

    # -- first places ----------------------------------------------------------------------------------------------

    def places(self, asked: Asked) -> str:
        """Which rows come first, and how many."""
        if asked.order is None:
            return f", the first {asked.limit}" if asked.limit else ""
        at, largest = asked.order
        end = "highest" if largest else "lowest"
        what = self._measure(asked.measures[at]) if asked.measures else self._place(asked.columns[at])
        if asked.ties and not asked.limit:
            return f", only the {end} {what}"
        if not asked.limit:
            return f", the {end} {what} first"
        each = f" of each {_join([self._group(g) for g in asked.groups[: asked.per]])}" if asked.per else ""
        if asked.offset and asked.limit == 1:
            return f", only the {_PLACES.get(asked.offset + 1, f'{asked.offset + 1}th')} {end} {what}{each}"
        first = "one" if asked.limit == 1 else f"{asked.limit:,}"
        return f", the {first} with the {end} {what}{each}"


def _span(first: tuple[object, ...], end: tuple[object, ...]) -> str:
    """`in 2025`, `in March 2025`, `from 2025-03-01 to before 2025-03-08`; empty of what is no span of dates."""
    try:
        start, stop = (date.fromisoformat(str(values[0])) for values in (first, end))
    except (ValueError, IndexError):
        return ""
    months = (stop.year - start.year) * 12 + stop.month - start.month
    if start.day == stop.day == 1 and months == 12 and start.month == 1:
        return f"in {start.year}"
    if start.day == stop.day == 1 and months == 1:
        return f"in {MONTHS[start.month - 1].capitalize()} {start.year}"
    return f"from {start} to before {stop}"
