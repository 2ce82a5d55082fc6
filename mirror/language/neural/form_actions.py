"""A form as a line of actions, and back: fixed words, and pointers to items; and which action may come after which.

number plain sum column:sale.price by table:customer where value:Bern order 1 desc ties end
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from mirror.language.neural.action_language import Action, ActionLanguage, Inexpressible, State
from mirror.language.neural.items import Items, Literal
from mirror.language.reading.lexemes import stems
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Having, Mean, Measure, Operator, Predicate, Presence
from mirror.schema.database import Database

_COMPARED = ("=", "<>", "<", "<=", ">", ">=")
_AGGREGATES = ("count", "sum", "avg", "median", "min", "max", "stddev", "distinct")
_UNITS = ("days", "hours", "minutes")
_BUCKETS = ("year", "quarter", "month", "week", "day", "weekday", "hour", "month_of_year")
_NUMBERS = ("#0", "#1", "#2", "#3", "#5", "#6,7", "#10")
_MODES = ("plain", "share", "outer", "groups")
_SECTIONS = ("by", "where", "has", "having", "order", "end")
_PLACES = ("1st", "2nd", "3rd", "4th", "5th", "6th")
WORDS = (
    "list", "number", "values", *_MODES, *_AGGREGATES, *_UNITS, *_BUCKETS, *_SECTIONS, "times", "if", "/", "-", ",",
    "not", "or", "and", *_COMPARED, "in", "not in", "contains", "null", "filled", "true", "false", "above mean",
    "below mean", "alike", "same row", "during", "some", "none", "every", *_NUMBERS, *_PLACES, "asc", "desc",
    "ties", "top", "skip", "each",
)  # fmt: skip
# What may be pointed at.
TABLE, COLUMN, NUMBER, TIME, VALUE, TEXT, ROLE = POINTERS = (
    "<table>", "<column>", "<number>", "<time>", "<value>", "<text>", "<role>",
)  # fmt: skip
MOST_ACTIONS = 48
TODAY = "2026-11-18"  # of the examples


# place -> action -> next place; a `>` before the name of a place is for the one of a section.
_STEPS: dict[str, dict[str, str]] = {
    "start": {"list": "list", "number": "mode", "values": "by"},
    "mode": dict.fromkeys(_MODES, "measure"),
    "measure": {"count": "counted", **dict.fromkeys(_AGGREGATES[1:], "taken")},
    "counted": {TABLE: "measured"},
    "taken": {COLUMN: "column taken", **dict.fromkeys(_UNITS, "start date")},
    "start date": {COLUMN: "end date"},
    "end date": {COLUMN: "measured"},
    "column taken": {"times": "factor"},
    "factor": {COLUMN: "measured"},
    "list": {TABLE: "listed"},
    "listed": {COLUMN: "listed"},
    "by": {**dict.fromkeys(_BUCKETS, "bucket"), COLUMN: "grouped", TABLE: "grouped", ROLE: "grouped"},
    "bucket": {COLUMN: "grouped"},
    "condition": {**dict.fromkeys(_BUCKETS, "subject bucket"), COLUMN: "tested", VALUE: "value said", "not": "denied"},
    "subject bucket": {COLUMN: "tested"},
    "denied": {VALUE: "value said"},
    "value said": {"or": "or value"},
    "or value": {VALUE: "value said"},
    "tested": {
        **dict.fromkeys(_COMPARED, "operand"), "in": "operands", "not in": "operands", "contains": "text",
        "null": "condition said", "filled": "condition said", "true": "condition said", "false": "condition said",
        "above mean": "mean", "below mean": "mean", "during": "time",
    },
    "operand": {NUMBER: "condition said", TEXT: "condition said", "same row": "other column",
                **dict.fromkeys(_NUMBERS, "condition said")},
    "operands": {NUMBER: "more operands", TEXT: "more operands", **dict.fromkeys(_NUMBERS, "more operands")},
    "more operands": {NUMBER: "more operands", TEXT: "more operands"},
    "text": {TEXT: "condition said"},
    "other column": {COLUMN: "condition said"},
    "time": {TIME: "condition said"},
    "mean": {"alike": "alike"},
    "alike": {COLUMN: "condition said"},
    "has": {"some": "owned", "none": "owned", "every": "owned", **dict.fromkeys(_COMPARED, "how many")},
    "how many": {NUMBER: "owned", **dict.fromkeys(_NUMBERS, "owned")},
    "owned": {TABLE: "owner"},
    "owner": {TABLE: "belonging"},
    "having": dict.fromkeys(_PLACES[:2], "group tested"),
    "group tested": {**dict.fromkeys(_COMPARED, "group number"), "above mean": "group said",
                     "below mean": "group said"},
    "group number": {NUMBER: "group said", **dict.fromkeys(_NUMBERS, "group said")},
    "order": dict.fromkeys(_PLACES, "direction"),
    "direction": {"asc": "ordered", "desc": "ordered"},
    "ordered": {"ties": "ranked", "top": "how far", "skip": "skipped"},
    "how far": {NUMBER: "limited", **dict.fromkeys(_NUMBERS, "limited")},
    "skipped": {NUMBER: "limited", **dict.fromkeys(_NUMBERS, "limited")},
    "limited": {"each": "ranked"},
}  # fmt: skip
# Places at which something has been said whole, so that another section may follow.
_WHOLE = frozenset(
    ("measured", "column taken", "listed", "grouped", "value said", "condition said", "more operands", "mean",
     "belonging", "group said", "ordered", "ranked", "limited")
)  # fmt: skip
_SAID = frozenset(("value said", "condition said", "more operands", "mean"))


def allowed(state: State, _there: frozenset[str] = frozenset()) -> list[str]:
    """Words and kinds of pointers that may come next, whether or not there is anything to point at."""
    found = list(_STEPS.get(state.at, {}))
    if state.at in ("measured", "column taken"):
        found += ["if", ",", *(() if state.inside == "second" else ("/", "-"))]
    if state.at == "belonging":
        found.append("if")
    if state.at in _SAID:
        found.append("and")
        if state.inside in ("measure", "second"):
            found += [",", *(() if state.inside == "second" else ("/", "-"))]
    if state.at in _WHOLE:
        found += _later(state)
    return found


def _later(state: State) -> Iterable[str]:
    for i, section in enumerate(_SECTIONS):
        again = i == state.section and section in ("by", "has")
        if section == "having" and not state.measured:
            continue
        if i > state.section or again:
            yield section


def step(state: State, word: str) -> State:
    """The state after an action, which must be allowed."""
    length = state.length + 1
    if word in _SECTIONS and word not in _STEPS.get(state.at, {}):
        at = {"where": "condition", "end": "end"}.get(word, word)
        return replace(state, at=at, section=_SECTIONS.index(word), inside=word, length=length)
    if word == "number":
        return replace(state, at="mode", inside="measure", measured=True, length=length)
    if word == "if" or word == "and":
        return replace(state, at="condition", length=length)
    if word in ("/", "-") and state.at in ("measured", "column taken", *_SAID):
        return replace(state, at="measure", inside="second", length=length)
    if word == ",":
        return replace(state, at="measure", inside="measure", length=length)
    if word == "values":
        return replace(state, at="by", section=0, length=length)
    return replace(state, at=_STEPS[state.at][word], length=length)


_known = lru_cache(maxsize=10_000)  # lines of all questions stand in the same few states
ASKED = ActionLanguage(WORDS, POINTERS, MOST_ACTIONS, _known(allowed), _known(step))


# -- from a form to actions --------------------------------------------------------------------------------------------


class Writer:
    """Writes a form over items. Raises Inexpressible."""

    def __init__(self, asked: Asked, items: Items, database: Database) -> None:
        self._asked, self._items, self._database = asked, items, database
        self._line: list[Action] = []

    def line(self) -> list[Action]:
        """The actions, `end` the last."""
        asked = self._asked
        if asked.measures:
            self._measures(asked)
        elif asked.groups:
            self._say("values")
        else:
            self._say("list")
            self._table(asked.table)
            for place in asked.columns:
                self._column(place)
        for i, group in enumerate(asked.groups):
            if asked.measures or i:
                self._say("by")
            self._group(group)
        if asked.conditions:
            self._say("where")
            self._conditions(asked.conditions)
        for presence in asked.presences:
            self._say("has")
            self._presence(presence)
        self._having(asked.having)
        self._order(asked)
        self._say("end")
        if len(self._line) > MOST_ACTIONS:
            raise Inexpressible("too long")
        return self._line

    def _say(self, *words: str) -> None:
        self._line += [Action(word) for word in words]

    def _measures(self, asked: Asked) -> None:
        if asked.outer not in (None, "avg"):
            raise Inexpressible("outer")
        mode = "share" if asked.of_total else "outer" if asked.outer else "groups" if asked.count_groups else "plain"
        self._say("number", mode)
        for i, measure in enumerate(asked.measures):
            self._say(*([","] if i else []))
            self._measure(measure)
            for sign, other in (("/", measure.over), ("-", measure.minus)):
                if other is not None:
                    self._say(sign)
                    self._measure(other)

    def _measure(self, measure: Measure) -> None:
        self._say(measure.aggregate)
        if measure.until is not None:
            self._say(measure.unit)
            self._column(measure.factors[0])
            self._column(measure.until)
        elif not measure.factors:
            self._table(measure.table)
        else:
            self._column(measure.factors[0])
            for factor in measure.factors[1:]:
                self._say("times")
                self._column(factor)
        if measure.conditions:
            self._say("if")
            self._conditions(measure.conditions)

    def _table(self, name: str) -> None:
        if name not in self._items.tables:
            raise Inexpressible(f"table {name}")
        self._line.append(Action(TABLE, self._items.first_table + self._items.tables.index(name)))

    def _column(self, place: ColumnRef) -> None:
        at = (place.table, place.column)
        if at not in self._items.columns or place.role:
            raise Inexpressible(f"column {at}")
        self._line.append(Action(COLUMN, self._items.first_column + self._items.columns.index(at)))

    def _literal(self, kind: str, fits: Callable[[Literal], bool]) -> bool:
        """Points at the first literal that fits; whether there is one."""
        kinds = {
            NUMBER: ("number",),
            TIME: ("time",),
            VALUE: ("value", "flag"),
            TEXT: ("text", "value"),
            ROLE: ("role",),
        }
        for i, literal in enumerate(self._items.literals):
            if literal.kind in kinds[kind] and fits(literal):
                self._line.append(Action(kind, self._items.first_literal + i))
                return True
        return False

    def _number(self, value: object) -> None:
        if self._literal(NUMBER, lambda k: k.value == value):
            return
        if f"#{value}" not in _NUMBERS:
            raise Inexpressible(f"number {value}")
        self._say(f"#{value}")

    def _group(self, group: GroupBy) -> None:
        if group.place is None and group.role is not None:
            if not self._literal(ROLE, lambda k: k.link is not None and k.link.role == group.role):
                raise Inexpressible("role")
        elif group.place is None:
            self._table(group.table)
        else:
            if group.bucket:
                self._say(group.bucket)
            self._column(group.place)

    def _conditions(self, conditions: Sequence[Predicate]) -> None:
        left = list(conditions)
        first = True
        while left:
            if not first:
                self._say("and")
            first = False
            condition = left.pop(0)
            pair = next((c for c in left if (c.place, c.operator) == (condition.place, "<")), None)
            if condition.operator == ">=" and pair and self._during(condition.place, condition, pair):
                left.remove(pair)
            else:
                self._condition(condition)

    def _during(self, place: ColumnRef, start: Predicate | None, end: Predicate | None) -> bool:
        """A time between two limits, as one that was said."""
        limits = tuple(str(p.values[0])[:10] if p else None for p in (start, end))
        before = len(self._line)
        self._column(place)
        self._say("during")
        if self._literal(TIME, lambda k: _limits(k.value) == limits):
            return True
        # Nothing has happened yet beyond today: this year is since its start.
        if self._literal(TIME, lambda k: _until_now(k.value) == (limits[0], None) or _until_now(k.value) == limits):
            return True
        if limits[1] and limits[1] > TODAY and self._literal(TIME, lambda k: _limits(k.value) == (limits[0], None)):
            return True
        del self._line[before:]
        return False

    def _condition(self, condition: Predicate) -> None:
        operator, place = condition.operator, condition.place
        column = self._database.relation(place.table).column(place.column)
        value = condition.values[0] if condition.values else None
        if column.temporal and not condition.bucket and isinstance(value, str):
            self._dated(condition)
        elif condition.bucket == "year" and operator == "=" and isinstance(value, int):
            start = Predicate(place, ">=", (f"{value}-01-01",))
            if not self._during(place, start, Predicate(place, "<", (f"{value + 1}-01-01",))):
                raise Inexpressible("year")
        elif not condition.bucket and operator in ("=", "<>", "in", "not in") and self._said_values(condition):
            return
        else:
            self._compared(condition)

    def _dated(self, condition: Predicate) -> None:
        """A limit on a date: from or until a time that was said, its start or its end."""
        value, operator = datetime.fromisoformat(str(condition.values[0])), condition.operator
        later = condition
        if operator in (">", "<=", "="):
            later = replace(condition, values=((value + timedelta(days=1)).isoformat(" "),))
        start = {">=": condition, ">": later, "=": condition}.get(operator)
        end = {"<": condition, "<=": later, "=": later}.get(operator)
        if not (start or end) or not self._during(condition.place, start, end):
            raise Inexpressible("time")

    def _said_values(self, condition: Predicate) -> bool:
        """`= 'Bern'` and the like, as values that were said."""
        before = len(self._line)
        if condition.operator in ("<>", "not in"):
            self._say("not")
        for i, value in enumerate(condition.values):
            self._say(*(["or"] if i else []))

            def fits(literal: Literal, value: object = value) -> bool:
                link = literal.link
                assert link
                same = (link.table, link.column) == (condition.place.table, condition.place.column)
                return same and (link.value == value or stems(str(link.value)) == stems(str(value)))

            if not self._literal(VALUE, fits):
                del self._line[before:]
                return False
        return True

    def _compared(self, condition: Predicate) -> None:
        value = condition.values[0] if condition.values else None
        if condition.bucket:
            self._say(condition.bucket)
        self._column(condition.place)
        operator = condition.operator
        if operator in ("is null", "is not null"):
            self._say("null" if operator == "is null" else "filled")
        elif isinstance(value, Mean):
            self._say("above mean" if operator in (">", ">=") else "below mean")
            if value.within:
                self._say("alike")
                self._column(value.within)
        elif isinstance(value, ColumnRef):
            self._say(operator, "same row")
            self._column(value)
        elif (isinstance(value, bool) and operator == "=") or (
            isinstance(value, int) and value in (0, 1) and self._is_flag(condition.place) and operator == "="
        ):
            self._say("true" if value else "false")
        elif operator in ("in", "not in") and condition.values == (6, 7):
            self._say(operator, "#6,7")
        else:
            self._say(operator)
            for v in condition.values:
                assert not isinstance(v, Mean | ColumnRef)
                self._operand(v)

    def _is_flag(self, place: ColumnRef) -> bool:
        column = self._database.relation(place.table).column(place.column)
        return (column.low, column.high) == (0, 1) or column.type == "boolean"

    def _operand(self, value: object) -> None:
        if isinstance(value, str):
            wanted = stems(value)
            if not self._literal(TEXT, lambda k: stems(str(k.value)) == wanted):
                raise Inexpressible(f"text {value}")
        else:
            self._number(value)

    def _presence(self, presence: Presence) -> None:
        if presence.role is not None:
            raise Inexpressible("role")
        if presence.count:
            operator, number = presence.count
            self._say(operator)
            self._number(number)
        else:
            self._say("none" if presence.absent else "every" if presence.every else "some")
        self._table(presence.table)
        self._table(presence.owner)
        if presence.conditions:
            self._say("if")
            self._conditions(presence.conditions)

    def _having(self, havings: Sequence[Having]) -> None:
        if len(havings) > 1:
            raise Inexpressible("having")
        for having in havings:
            self._say("having", _PLACES[having.measure])
            if having.value is None:
                self._say("above mean" if having.operator in (">", ">=") else "below mean")
            else:
                self._say(having.operator)
                self._number(having.value)

    def _order(self, asked: Asked) -> None:
        if asked.order is None:
            if asked.limit is not None:
                raise Inexpressible("limit")
            return
        at, descending = asked.order
        if at >= len(_PLACES):
            raise Inexpressible("order")
        self._say("order", _PLACES[at], "desc" if descending else "asc")
        if asked.offset:
            if asked.limit != 1:
                raise Inexpressible("offset")
            self._say("skip")
            self._number(asked.offset)
        elif asked.ties and not asked.limit:
            self._say("ties")
        elif asked.limit is not None:
            self._say("top")
            self._number(asked.limit)
            if asked.per:
                self._say("each")


def _any_of(conditions: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    """No row has two values at once: two that are said of one column are either."""
    found: dict[tuple[object, ...], Predicate] = {}
    for i, condition in enumerate(conditions):
        equal = condition.operator in ("=", "in") and not isinstance(condition.values[0], Mean | ColumnRef)
        at = (condition.place, condition.bucket) if equal else (i,)
        if at in found:
            values = tuple(dict.fromkeys((*found[at].values, *condition.values)))
            found[at] = replace(condition, operator="in" if len(values) > 1 else "=", values=values)
        else:
            found[at] = condition
    return tuple(found.values())


def _limits(time: object) -> tuple[str | None, str | None]:
    """From which day on and before which day a time is."""
    start, end = time.start, time.end  # type: ignore[attr-defined]
    return (start.date().isoformat() if start else None, end.date().isoformat() if end else None)


def _until_now(time: object) -> tuple[str | None, str | None]:
    """The limits of a time without an end that lies ahead."""
    start, end = _limits(time)
    return start, None if end and end > TODAY else end


# -- from actions to a form --------------------------------------------------------------------------------------------


class Reader:
    """Reads a line of actions over items: they must have been allowed one after the other."""

    def __init__(self, line: Sequence[Action], items: Items, database: Database) -> None:
        self._line, self._at = line, 0
        self._items, self._database = items, database

    def asked(self) -> Asked:
        """The form. Raises Inexpressible, KeyError or IndexError where the actions fit together in no form."""
        head = self._take().word
        measures: list[Measure] = []
        columns: list[ColumnRef] = []
        mode = "plain"
        table = ""
        if head == "number":
            mode = self._take().word
            measures.append(self._measure())
            while self._next() == ",":
                self._take()
                measures.append(self._measure())
            table = measures[0].table
        elif head == "list":
            table = self._pointed_table()
            while self._next() == COLUMN:
                columns.append(self._pointed_column())
        groups: list[GroupBy] = []
        if head == "values":
            groups.append(self._group())
            table = groups[0].table
        while self._next() == "by":
            self._take()
            groups.append(self._group())
        conditions: tuple[Predicate, ...] = ()
        if self._next() == "where":
            self._take()
            conditions = self._conditions()
        presences: list[Presence] = []
        while self._next() == "has":
            self._take()
            presences.append(self._presence())
        having: tuple[Having, ...] = ()
        if self._next() == "having":
            self._take()
            having = (self._having(),)
        asked = Asked(
            table, tuple(measures), tuple(groups), tuple(dict.fromkeys(columns)), conditions, tuple(presences), having,
            count_groups=mode == "groups", of_total=mode == "share", outer="avg" if mode == "outer" else None,
        )  # fmt: skip
        return self._ordered(asked)

    def _next(self) -> str:
        return self._line[self._at].word

    def _take(self) -> Action:
        self._at += 1
        return self._line[self._at - 1]

    def _pointed_table(self) -> str:
        return self._items.tables[self._take().item - self._items.first_table]

    def _pointed_column(self) -> ColumnRef:
        return ColumnRef(*self._items.columns[self._take().item - self._items.first_column])

    def _pointed(self) -> Literal:
        return self._items.literals[self._take().item - self._items.first_literal]

    def _number(self) -> int | float:
        if self._next() == NUMBER:
            value = self._pointed().value
            assert isinstance(value, int | float)
            return value
        return int(self._take().word[1:])

    def _measure(self) -> Measure:
        first = self._one_measure()
        sign = self._next()
        if sign in ("/", "-"):
            self._take()
            second = self._one_measure()
            return replace(first, over=second) if sign == "/" else replace(first, minus=second)
        return first

    def _one_measure(self) -> Measure:
        aggregate = self._take().word
        if aggregate == "count":
            made = Measure("count", self._pointed_table())
        elif self._next() in _UNITS:
            unit = self._take().word
            start = self._pointed_column()
            made = Measure(aggregate, start.table, (start,), self._pointed_column(), unit)  # type: ignore[arg-type]
        else:
            factors = [self._pointed_column()]
            while self._next() == "times":
                self._take()
                factors.append(self._pointed_column())
            made = Measure(aggregate, factors[0].table, tuple(factors))  # type: ignore[arg-type]
        if self._next() == "if":
            self._take()
            made = replace(made, conditions=self._conditions())
        return made

    def _group(self) -> GroupBy:
        if self._next() == TABLE:
            return GroupBy(self._pointed_table())
        if self._next() == ROLE:
            link = self._pointed().link
            assert link
            return GroupBy(link.table, role=link.role)
        bucket = self._take().word if self._next() in _BUCKETS else None
        place = self._pointed_column()
        return GroupBy(place.table, place, bucket)  # type: ignore[arg-type]

    def _conditions(self) -> tuple[Predicate, ...]:
        found = list(self._condition())
        while self._next() == "and":
            self._take()
            found += self._condition()
        return _any_of(tuple(dict.fromkeys(found)))

    def _condition(self) -> list[Predicate]:
        if self._next() in (VALUE, "not"):
            return [self._value_said()]
        bucket = self._take().word if self._next() in _BUCKETS else None
        place = self._pointed_column()
        word = self._take().word
        made = self._tested(place, word)
        return [replace(m, bucket=bucket) for m in made]  # type: ignore[arg-type]

    def _value_said(self) -> Predicate:
        denied = self._next() == "not"
        if denied:
            self._take()
        said = [self._pointed()]
        while self._next() == "or":
            self._take()
            said.append(self._pointed())
        links = [s.link for s in said]
        places = {(k.table, k.column) for k in links if k}
        if len(places) != 1:
            raise Inexpressible("values of several columns")
        ((table, column),) = places
        values = tuple(dict.fromkeys(k.value for k in links if k))
        operator: Operator = "=" if len(values) == 1 else "in"
        if denied:
            operator = "<>" if len(values) == 1 else "not in"
        return Predicate(ColumnRef(table, column or ""), operator, values)  # type: ignore[arg-type]

    def _tested(self, place: ColumnRef, word: str) -> list[Predicate]:
        if word in ("null", "filled"):
            return [Predicate(place, "is null" if word == "null" else "is not null")]
        if word in ("true", "false"):
            column = self._database.relation(place.table).column(place.column)
            value = (word == "true") if column.type == "boolean" else int(word == "true")
            return [Predicate(place, "=", (value,))]
        if word in ("above mean", "below mean"):
            within = None
            if self._next() == "alike":
                self._take()
                within = self._pointed_column()
            return [Predicate(place, ">" if word == "above mean" else "<", (Mean(place, within),))]
        if word == "during":
            return self._during(place)
        if word in ("in", "not in"):
            if self._next() == "#6,7":
                self._take()
                return [Predicate(place, word, (6, 7))]  # type: ignore[arg-type]
            values = [self._operand()]
            while self._next() in (NUMBER, TEXT):
                values.append(self._operand())
            return [Predicate(place, word, tuple(values))]  # type: ignore[arg-type]
        if self._next() == "same row":
            self._take()
            return [Predicate(place, word, (self._pointed_column(),))]  # type: ignore[arg-type]
        return [Predicate(place, word, (self._operand(),))]  # type: ignore[arg-type]

    def _operand(self) -> int | float | str:
        return str(self._pointed().value) if self._next() == TEXT else self._number()

    def _during(self, place: ColumnRef) -> list[Predicate]:
        start, end = _limits(self._pointed().value)
        column = self._database.relation(place.table).column(place.column)
        if column.numeric:
            found = [(">=", int(start[:4]) if start else None), ("<", int(end[:4]) if end else None)]
            return [Predicate(place, o, (v,)) for o, v in found if v is not None]  # type: ignore[arg-type]
        pairs = ((">=", start), ("<", end))
        return [Predicate(place, operator, (text,)) for operator, text in pairs if text]  # type: ignore[arg-type]

    def _presence(self) -> Presence:
        kind = self._take().word
        count: tuple[Operator, int] | None = None
        if kind in _COMPARED:
            count = (kind, int(self._number()))  # type: ignore[assignment]
        table, owner = self._pointed_table(), self._pointed_table()
        conditions: tuple[Predicate, ...] = ()
        if self._next() == "if":
            self._take()
            conditions = self._conditions()
        return Presence(table, owner, kind == "none", conditions, None, count, kind == "every")

    def _having(self) -> Having:
        at = _PLACES.index(self._take().word)
        word = self._take().word
        if word in ("above mean", "below mean"):
            return Having(at, ">" if word == "above mean" else "<", None)
        return Having(at, word, self._number())  # type: ignore[arg-type]

    def _ordered(self, asked: Asked) -> Asked:
        if self._next() != "order":
            return asked
        self._take()
        at = _PLACES.index(self._take().word)
        if at >= max(len(asked.measures), len(asked.columns)):
            raise Inexpressible("order")
        asked = replace(asked, order=(at, self._take().word == "desc"))
        word = self._take().word
        if word == "ties":
            return replace(asked, ties=True)
        if word == "skip":
            return replace(asked, offset=int(self._number()), limit=1)
        if word == "top":
            asked = replace(asked, limit=int(self._number()))
            each = self._next() == "each" and len(asked.groups) == 2
            return replace(asked, per=1) if each else asked
        return asked
