"""The form as a mapping of short texts, and back: what YAML files, language models and trained readers write.

    {measure: [sum(sale.price * sale.quantity)], by: [customer], where: ["customer.city = 'Bern'"], top: 3}

Keys, all optional but that one of `of`, `measure` and `by` must be there:

    of       the table whose rows are listed, or counted in groups without a measure
    show     columns of a list: [film.title, film.year]; none shows all
    measure  count(sale), sum(sale.price), avg, median, min, max, stddev, distinct(sale.city); sum(a.x * a.y);
             avg(days from loan.lent to loan.returned); count(sale where sale.price > 10); A / B; A - B
    by       a table (its rows), a column, or a span of time: [customer, film.genre, month of sale.day]
    where    conditions, all of which hold: "film.year >= 1990", "film.genre in ('a', 'b')", "film.price > mean",
             "film.price > mean within film.genre", "loan.returned is null", "loan.returned > loan.due",
             "film.title contains 'war'", "weekday of loan.lent in (6, 7)" (Monday is 1), "hour of sale.at >= 18"
    has      rows that belong to it: "loan of member", "no loan of member where loan.day >= '2025-01-01'",
             "every loan of member where ...", "loan of member >= 3"
    having   conditions on measures by number: "1 > 3", "1 >= mean"
    order    measure or column by number, and asc or desc
    top, ties, skip, per    first so many, all that share the first place, places left out, so many groups at the front
    each of which has a ranking
    count    true: how many groups there are
    share    true: each group's part of all
    outer    what becomes one number of the groups' numbers: avg
    via      tables that the joins pass

A place that several foreign keys lead to is told by one: `city.name via flight.origin_id`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from mirror.query.other_data.form import (
    Aggregate,
    Asked,
    Bucket,
    ColumnRef,
    GroupBy,
    Having,
    Mean,
    Measure,
    Operator,
    Predicate,
    Presence,
)
from mirror.schema.database import Database, ForeignKey
from mirror.table.values import Value

KEYS = (
    *("of", "show", "measure", "by", "where", "has", "having", "order"),
    *("top", "ties", "skip", "per", "count", "share", "outer", "via"),
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|"(?P<quoted>[^"]+)"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?!\w)"""
    r"|(?P<name>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|[<>=(),.*/-]))"
)
_PLAIN = re.compile(r"[^\W\d]\w*")
_WORDS = frozenset(
    ("of", "from", "to", "where", "and", "in", "is", "not", "null", "mean", "within", "via", "no", "every", "contains")
)


class FormError(ValueError):
    """A mapping that is no form over the database; the message says what is wrong with it."""


def asked_of(held: Mapping[str, Any], database: Database) -> Asked:
    """The form of a mapping. Raises FormError."""
    if unknown := sorted(set(held) - set(KEYS)):
        raise FormError(f"unknown keys {', '.join(unknown)}; known are {', '.join(KEYS)}")
    measures = tuple(_Parser(t, database).measure() for t in _listed(held, "measure"))
    groups = tuple(_Parser(t, database).group() for t in _listed(held, "by"))
    table = held.get("of") or (measures[0].table if measures else groups[0].table if groups else None)
    if table is None:
        raise FormError("one of `of`, `measure` and `by` must be there")
    parsed = _Parser(_quoted(str(table).strip('"')), database)
    outer = held.get("outer")
    if outer is not None and outer not in get_args(Aggregate):
        raise FormError(f"outer is {outer!r}, and must be one of {', '.join(get_args(Aggregate))}")
    base = parsed.relation()
    shown = tuple(_Parser(t, database).whole_place() for t in _listed(held, "show"))
    if not (shown or measures or groups):
        shown = tuple(ColumnRef(base, c.name) for c in database.relation(base).columns if c.type != "other")
    return Asked(
        base,
        measures,
        groups,
        columns=shown,
        conditions=tuple(_Parser(t, database).whole_condition() for t in _listed(held, "where")),
        presences=tuple(_Parser(t, database).presence() for t in _listed(held, "has")),
        having=tuple(_Parser(t, database).having(len(measures)) for t in _listed(held, "having")),
        order=_order(held.get("order")),
        limit=held.get("top"),
        ties=bool(held.get("ties")),
        offset=held.get("skip", 0),
        per=held.get("per", 0),
        count_groups=bool(held.get("count")),
        of_total=bool(held.get("share")),
        outer=outer,
        via=tuple(_listed(held, "via")),
    )


def _listed(held: Mapping[str, Any], key: str) -> list[str]:
    found = held.get(key) or []
    return [str(f) for f in found] if isinstance(found, list | tuple) else [str(found)]


def _order(text: object) -> tuple[int, bool] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+) (asc|desc)", str(text))
    if not match or match[1] == "0":
        raise FormError(f"order is {text!r}, and must be such as `1 desc`")
    return int(match[1]) - 1, match[2] == "desc"


class _Parser:
    """One text of a mapping, from left to right."""

    def __init__(self, text: str, database: Database) -> None:
        self._text, self._database = text, database
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if not match:
                raise FormError(f"“{text}” is not read from “{text[at:].strip()[:20]}” on")
            assert match.lastgroup
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self._at = 0

    def _wrong(self, wanted: str) -> FormError:
        found = self._tokens[self._at][1] if self._at < len(self._tokens) else "its end"
        return FormError(f"“{self._text}”: {wanted} is wanted in place of {found}")

    def _next_is(self, *texts: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][0] in ("name", "sign") and (
            self._tokens[self._at][1] in texts
        )  # fmt: skip

    def _take(self, *texts: str) -> str | None:
        """The next word or sign, where it is one of these."""
        if not self._next_is(*texts):
            return None
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _need(self, *texts: str) -> str:
        found = self._take(*texts)
        if found is None:
            raise self._wrong(" or ".join(f"“{t}”" for t in texts))
        return found

    def _end(self) -> None:
        if self._at < len(self._tokens):
            raise self._wrong("the end")

    def _name(self, what: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][0] in ("name", "quoted"):
            self._at += 1
            return self._tokens[self._at - 1][1]
        raise self._wrong(what)

    def _relation(self) -> str:
        name = self._name("a table")
        if all(r.name != name for r in self._database.relations):
            tables = ", ".join(r.name for r in self._database.relations)
            raise FormError(f"“{self._text}”: there is no table {name}; there are {tables}")
        return name

    def relation(self) -> str:
        """A table and nothing else."""
        name = self._relation()
        self._end()
        return name

    def _place(self) -> ColumnRef:
        table = self._relation()
        self._need(".")
        name = self._name("a column")
        columns = [c.name for c in self._database.relation(table).columns]
        if name not in columns:
            raise FormError(f"“{self._text}”: {table} has no column {name}; it has {', '.join(columns)}")
        return ColumnRef(table, name, self._role(table))

    def _role(self, to: str) -> ForeignKey | None:
        if not self._take("via"):
            return None
        table = self._relation()
        self._need(".")
        column = self._name("a column")
        for key in self._database.foreign_keys:
            if (key.table, key.to) == (table, to) and column in key.columns:
                return key
        raise FormError(f"“{self._text}”: no foreign key leads by {table}.{column} to {to}")

    def whole_place(self) -> ColumnRef:
        """A column and nothing else."""
        place = self._place()
        self._end()
        return place

    def group(self) -> GroupBy:
        """A table, a column or a span of time."""
        bucket = self._bucket()
        start = self._at
        table = self._relation()
        if self._next_is("."):
            self._at = start
            place = self._place()
            found = GroupBy(table, place, bucket)
        else:
            found = GroupBy(table, role=self._role(table))
        self._end()
        return found

    def measure(self) -> Measure:
        """A number, or the quotient or difference of two."""
        first = self._measure()
        sign = self._take("/", "-")
        if sign:
            second = self._measure()
            first = replace(first, over=second) if sign == "/" else replace(first, minus=second)
        self._end()
        return first

    def _measure(self) -> Measure:
        aggregate = self._need(*get_args(Aggregate))
        self._need("(")
        unit = self._take("days", "hours", "minutes")
        until = None
        if unit and self._take("from"):
            factors = [self._place()]
            self._need("to")
            until = self._place()
            table = factors[0].table
        elif aggregate == "count":
            table, factors = self._relation(), []
        else:
            factors = [self._place()]
            while self._take("*"):
                factors.append(self._place())
            table = factors[0].table
        conditions = self._conditions() if self._take("where") else ()
        self._need(")")
        return Measure(aggregate, table, tuple(factors), until, unit or "days", conditions)  # type: ignore[arg-type]

    def _conditions(self) -> tuple[Predicate, ...]:
        found = [self._condition()]
        while self._take("and"):
            found.append(self._condition())
        return tuple(found)

    def whole_condition(self) -> Predicate:
        """A condition and nothing else."""
        found = self._condition()
        self._end()
        return found

    def _condition(self) -> Predicate:
        bucket = self._bucket()
        return replace(self._plain_condition(), bucket=bucket)

    def _bucket(self) -> Bucket | None:
        """`month of`, where it stands there."""
        if self._tokens[self._at + 1 : self._at + 2] != [("name", "of")]:
            return None
        bucket = self._need(*get_args(Bucket))
        self._need("of")
        return bucket  # type: ignore[return-value]

    def _plain_condition(self) -> Predicate:
        place = self._place()
        if self._take("is"):
            absent = not self._take("not")
            self._need("null")
            return Predicate(place, "is null" if absent else "is not null")
        negated = bool(self._take("not"))
        if negated or self._next_is("in"):
            self._need("in")
            self._need("(")
            values = [self._value()]
            while self._take(","):
                values.append(self._value())
            self._need(")")
            return Predicate(place, "not in" if negated else "in", tuple(values))
        if self._take("contains"):
            return Predicate(place, "contains", (self._value(),))
        operator = self._operator()
        if self._take("mean"):
            return Predicate(place, operator, (Mean(place, self._place() if self._take("within") else None),))
        if self._at + 1 < len(self._tokens) and self._tokens[self._at + 1] == ("sign", "."):
            return Predicate(place, operator, (self._place(),))
        return Predicate(place, operator, (self._value(),))

    def _operator(self) -> Operator:
        sign = self._need("=", "<>", "!=", "<", "<=", ">", ">=")
        return "<>" if sign == "!=" else sign  # type: ignore[return-value]

    def _value(self) -> Value:
        if self._at == len(self._tokens):
            raise self._wrong("a value")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if text in ("true", "false"):
            return text == "true"
        self._at -= 1
        raise self._wrong("a value ('text', a number, true or false)")

    def presence(self) -> Presence:
        """Rows of another table that belong to it."""
        absent, every = bool(self._take("no")), bool(self._take("every"))
        table = self._relation()
        role_at = self._take("via")
        column = self._name("a column") if role_at else None
        self._need("of")
        owner = self._relation()
        role = next(
            (k for k in self._database.foreign_keys if (k.table, k.to) == (table, owner) and column in k.columns), None
        )
        if column and role is None:
            raise FormError(f"“{self._text}”: no foreign key leads by {table}.{column} to {owner}")
        count = None
        if self._next_is("=", "<", "<=", ">", ">=", "<>", "!="):
            operator, number = self._operator(), self._value()
            if not isinstance(number, int):
                raise FormError(f"“{self._text}”: rows are counted in whole numbers")
            count = (operator, number)
        conditions = self._conditions() if self._take("where") else ()
        self._end()
        return Presence(table, owner, absent, conditions, role, count, every)

    def having(self, measures: int) -> Having:
        """A condition on a measure, by its number."""
        number = self._value()
        if not isinstance(number, int) or not 1 <= number <= measures:
            raise FormError(f"“{self._text}”: there is no measure {number}; there are {measures}")
        operator = self._operator()
        value = None if self._take("mean") else self._value()
        self._end()
        return Having(number - 1, operator, value)


# -- the way back ------------------------------------------------------------------------------------------------------


def text_of(asked: Asked) -> dict[str, Any]:
    """The mapping of a form; `asked_of` gives the form back, but for its chart and its notes."""
    found = {
        "of": asked.table,
        "show": [_place_text(c) for c in asked.columns],
        "measure": [_measure_text(m) for m in asked.measures],
        "by": [_group_text(g) for g in asked.groups],
        "where": [_condition_text(c) for c in asked.conditions],
        "has": [_presence_text(p) for p in asked.presences],
        "having": [
            f"{h.measure + 1} {h.operator} {'mean' if h.value is None else _value_text(h.value)}" for h in asked.having
        ],
        "order": f"{asked.order[0] + 1} {'desc' if asked.order[1] else 'asc'}" if asked.order else None,
        "top": asked.limit,
        "ties": asked.ties,
        "skip": asked.offset,
        "per": asked.per,
        "count": asked.count_groups,
        "share": asked.of_total,
        "outer": asked.outer,
        "via": list(asked.via),
    }
    if found["of"] == (asked.measures[0].table if asked.measures else asked.groups[0].table if asked.groups else None):
        del found["of"]
    return {key: value for key, value in found.items() if value}


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name not in _WORDS else f'"{name}"'


def _place_text(place: ColumnRef) -> str:
    return f"{_quoted(place.table)}.{_quoted(place.column)}{_role_text(place.role)}"


def _role_text(role: ForeignKey | None) -> str:
    return f" via {_quoted(role.table)}.{_quoted(role.columns[0])}" if role else ""


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def _condition_text(condition: Predicate) -> str:
    place, operator = _place_text(condition.place), condition.operator
    place = f"{condition.bucket} of {place}" if condition.bucket else place
    if operator in ("is null", "is not null"):
        return f"{place} {operator}"
    if operator in ("in", "not in"):
        return f"{place} {operator} ({', '.join(map(_value_text, condition.values))})"
    (value,) = condition.values
    if isinstance(value, Mean):
        return f"{place} {operator} mean" + (f" within {_place_text(value.within)}" if value.within else "")
    return f"{place} {operator} {_place_text(value) if isinstance(value, ColumnRef) else _value_text(value)}"


def _where_text(conditions: tuple[Predicate, ...]) -> str:
    return f" where {' and '.join(map(_condition_text, conditions))}" if conditions else ""


def _measure_text(measure: Measure) -> str:
    if measure.until is not None:
        what = f"{measure.unit} from {_place_text(measure.factors[0])} to {_place_text(measure.until)}"
    else:
        what = " * ".join(map(_place_text, measure.factors)) or _quoted(measure.table)
    text = f"{measure.aggregate}({what}{_where_text(measure.conditions)})"
    if measure.over is not None:
        return f"{text} / {_measure_text(measure.over)}"
    return f"{text} - {_measure_text(measure.minus)}" if measure.minus is not None else text


def _group_text(group: GroupBy) -> str:
    if group.place is None:
        return _quoted(group.table) + _role_text(group.role)
    return f"{group.bucket} of {_place_text(group.place)}" if group.bucket else _place_text(group.place)


def _presence_text(presence: Presence) -> str:
    before = "no " if presence.absent else "every " if presence.every else ""
    role = f" via {_quoted(presence.role.columns[0])}" if presence.role else ""
    count = f" {presence.count[0]} {presence.count[1]}" if presence.count else ""
    where = _where_text(presence.conditions)
    return f"{before}{_quoted(presence.table)}{role} of {_quoted(presence.owner)}{count}{where}"
