"""Parts of made-up questions: conditions on rows, in words and as they are asked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from mirror.language.reading.covers import tokens_of
from mirror.language.reading.lexemes import stem
from mirror.language.reading.linking import is_flag
from mirror.language.reading.times import Time
from mirror.language.train.data.example import NOW
from mirror.language.train.data.phrase_names import Names, Unsayable, phrases
from mirror.query.other_data.form import ColumnRef, Mean, Operator, Predicate
from mirror.schema.database import Column, Relation
from mirror.schema.names import label_columns, words_of

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "aug", "sept", "oct", "nov", "dec",
)  # fmt: skip
_SIDES: tuple[Operator, ...] = (">", ">", "<")
_LIMITS: tuple[Operator, ...] = (">=", ">=", ">", ">", "<", "<", "<=", "<=", "=")
_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_LIFE = frozenset(("birth", "born", "birthday", "dob", "bday"))


@dataclass(frozen=True)
class Condition:
    """A condition: what is asked, and the words for it behind a noun and before it.

    Attributes:
        predicates: one, or two of a range.
        after: "with a price of at least 5".
        before: "gold", of "gold members"; empty where nothing can stand there.
    """

    predicates: tuple[Predicate, ...]
    after: str
    before: str = ""


@lru_cache(maxsize=20_000)
def _time(phrase: str) -> Time | None:
    """The time that a whole phrase says; None where none does."""
    tokens, times = tokens_of(phrase, NOW)
    whole = [t for t in times if (t.start, t.end) == (0, len(tokens))]
    return min(whole, key=lambda t: t.cost).time if whole else None


class Parts(Names):
    """The names and the conditions of one database."""

    # -- rows and their conditions ---------------------------------------------------------------------------------

    def rows(self, table: str, conditions: Sequence[Condition] = (), single: bool = False) -> str:
        """A table's rows with their conditions: "gold members with a fee over 5"."""
        noun = self.one(table) if single else self.many(table)
        before, after = "", []
        for condition in conditions:
            if condition.before and not before and self.chance(0.6):
                before = condition.before + " "
            else:
                after.append(condition.after)
        return f"{before}{noun}{' ' if after else ''}{self.joined(after)}"

    def joined(self, texts: Sequence[str], conjunction: str = " and ") -> str:
        """`a, b and c`."""
        if len(texts) < 2:
            return "".join(texts)
        return (
            ", ".join(texts[:-1]) + self.pick((conjunction, conjunction, ", " + conjunction.strip() + " ")) + texts[-1]
        )

    def conditions(self, relation: Relation, count: int, above: bool = True) -> list[Condition]:
        """Some conditions, each on another column; those of the rows themselves before those of what they lead to."""
        own: list[Condition] = []
        far: list[Condition] = []
        used: set[tuple[str, str]] = set()
        for _ in range(count * 3):
            if len(own) + len(far) == count:
                break
            higher = self.above(relation.name) if above and not far and self.chance(0.3) else []
            at = self.pick(higher) if higher else relation
            try:
                found = self.condition(at)
            except Unsayable:
                continue
            places = {(p.place.table, p.place.column) for p in found.predicates}
            if places & used:
                continue
            used |= places
            if higher:
                text = f"{self.pick(('of', 'of', 'for', 'belonging to'))} {self.rows(at.name, [found])}"
                far.append(Condition(found.predicates, self._labelled(at, found) or text))
            else:
                own.append(found)
        if not own and not far:
            raise Unsayable
        return [*own, *far]

    def _labelled(self, relation: Relation, condition: Condition) -> str:
        """Rows of a thing that is named: "of the film Atlas"."""
        (first, *_) = condition.predicates
        if first.operator != "=" or first.place.column not in label_columns(relation) or self.chance(0.3):
            return ""
        value = self.value_text(str(first.values[0]), relation.column(first.place.column))
        one = self.one(relation.name)
        bare = self._values[str(first.values[0]).lower()] == 1
        told = (f"of {one} {value}", f"for {one} {value}", f"for {value}", f"of {value}")
        return self.pick(told if bare else told[:2])

    def condition(self, relation: Relation) -> Condition:
        """One condition on the rows of a table. Raises Unsayable."""
        makers = {
            self._number: 24, self._range: 5, self._value: 24, self._either: 5, self._but: 8, self.time: 20,
            self._flag: 12, self._missing: 12, self._contains: 2, self._beside: 3, self._clock: 4, self._year: 4,
        }  # fmt: skip
        order = self.rng.choices(list(makers), list(makers.values()), k=4)
        for make in order:
            try:
                return make(relation)
            except Unsayable:
                continue
        raise Unsayable

    def number_text(self, value: int | float) -> str:
        """A number as people write it."""
        if isinstance(value, int) and 0 < value <= 12 and self.chance(0.35):
            return _NUMBER_WORDS[value]
        if isinstance(value, int) and value >= 1000 and self.chance(0.4):
            return f"{value // 1000}k" if value % 1000 == 0 and self.chance(0.4) else f"{value:,}"
        return str(value)

    def number_in(self, column: Column) -> int | float:
        """A round number well within what a column holds."""
        low, high = column.low, column.high
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        raw = low + (high - low) * self.rng.uniform(0.1, 0.9)
        span = high - low
        if column.type == "real" and span < 10:
            return round(raw, 1) if self.chance(0.7) else int(raw)
        step = 10 ** max(0, len(str(int(span))) - 2)
        return int(round(raw / step) * step)

    def limit(self, operator: Operator, value: int | float, column: Column | None = None) -> str:
        """A limit in words."""
        text = self.number_text(value)
        if column and {"price", "fee", "cost", "amount", "fare"} & set(words_of(column.name)) and self.chance(0.2):
            text = f"{self.pick(('£', '$', '€'))}{value}"
        return self.say(operator, v=text)

    def _number(self, relation: Relation) -> Condition:
        column = self.pick(self.columns(relation, "number"))
        operator = self.pick(_LIMITS)
        value = self.number_in(column)
        place = self.ref(relation, column)
        predicates = (Predicate(place, operator, (value,)),)
        own = [w for w in phrases()["compared"] if set(w["of"]) & set(self._own_words(place)[-1:])]
        alone = [c for c in self.columns(relation, "number") if own and set(own[0]["of"]) & set(words_of(c.name))]
        if own and len(alone) == 1 and operator != "=" and self.chance(0.4):
            return Condition(predicates, str(self.pick(own[0][operator])).format(v=self.number_text(value)))
        limit = self.limit(operator, value, column)
        return Condition(predicates, self.say("number after", col=self.column(place, relation.name), lim=limit))

    def _range(self, relation: Relation) -> Condition:
        column = self.pick(self.columns(relation, "number"))
        low, high = sorted((self.number_in(column), self.number_in(column)))
        if low == high:
            raise Unsayable
        place = self.ref(relation, column)
        limits = self.say("between", a=self.number_text(low), b=self.number_text(high))
        text = self.say("number after", col=self.column(place, relation.name), lim=limits)
        return Condition((Predicate(place, ">=", (low,)), Predicate(place, "<=", (high,))), text)

    def _year(self, relation: Relation) -> Condition:
        column = self.pick(self.columns(relation, "year"))
        value, operator, place = (
            int(self.number_in(replace(column, type="real"))),
            self.pick(_LIMITS),
            self.ref(relation, column),
        )
        text = self.pick(phrases()["year limits"][operator]).format(v=value)
        text = f"{self.pick(('with', 'with a'))} {self.column(place, relation.name)} {text}"
        return Condition((Predicate(place, operator, (value,)),), text)

    def value_text(self, value: str, column: Column) -> str:
        """A value as people mention it: in lower case, or by a part that tells it."""
        words = value.split()
        if len(words) > 1 and self.chance(0.25):
            part = self.pick(words)
            all_values = [*column.values, *column.index]
            if (
                len(part) > 3
                and part.isalpha()
                and stem(part.lower()) not in self._known
                and sum(part in v.split() for v in all_values) == 1
            ):
                value = part if self._values[part.lower()] == 0 else value
        return value.lower() if self.chance(0.6) else value

    def _texts(
        self, relation: Relation, count: int, kinds: Sequence[str] = ("value", "value", "text")
    ) -> tuple[Column, list[str]]:
        column = self.pick(self.columns(relation, self.pick(kinds)))
        known = [v for v in (*column.values, *column.index) if len(v) <= 30 and re.search(r"\w", v)]
        if len(known) <= count or self._prose(column):
            raise Unsayable
        return column, self.rng.sample(known, count)

    def _value(self, relation: Relation) -> Condition:
        column, (value,) = self._texts(relation, 1)
        place, text = self.ref(relation, column), self.value_text(value, column)
        predicates = (Predicate(place, "=", (value,)),)
        name = self.column(place, relation.name)
        bare = self._values[value.lower()] == 1 and not value.isdigit() and len(value) > 2
        if not bare or self.chance(0.35):
            return Condition(predicates, self.say("value after", col=name, v=text))
        if set(phrases()["place words"]) & set(words_of(column.name)):
            return Condition(predicates, self.say("place after", v=text))
        before = text if len(text.split()) < 3 and column.name not in label_columns(relation) else ""
        return Condition(predicates, self.say("bare value after", v=text), before)

    def _either(self, relation: Relation) -> Condition:
        count = 2 if self.chance(0.75) else 3
        column, values = self._texts(relation, count)
        place = self.ref(relation, column)
        texts = dict(zip("abc", (self.value_text(v, column) for v in values), strict=False))
        said = self.say("either" if count == 2 else "three", **texts)
        bare = all(self._values[v.lower()] == 1 for v in values) and self.chance(0.35)
        text = (
            self.say("bare value after", v=said)
            if bare
            else self.say("value after", col=self.column(place, relation.name), v=said)
        )
        return Condition((Predicate(place, "in", tuple(values)),), text)

    def _but(self, relation: Relation) -> Condition:
        count = 1 if self.chance(0.7) else 2
        column, values = self._texts(relation, count)
        place = self.ref(relation, column)
        texts = [self.value_text(v, column) for v in values]
        said = texts[0] if count == 1 else self.say("neither", a=texts[0], b=texts[1])
        bare = all(self._values[v.lower()] == 1 for v in values) and self.chance(0.4)
        text = (
            self.say("bare not after", v=said)
            if bare
            else self.say("not after", col=self.column(place, relation.name), v=said)
        )
        return Condition((Predicate(place, "<>" if count == 1 else "not in", tuple(values)),), text)

    def _contains(self, relation: Relation) -> Condition:
        column, (value,) = self._texts(relation, 1, ("label", "text"))
        part = self.pick(value.split())
        if len(part) < 3 or not part.isalpha():
            raise Unsayable
        place = self.ref(relation, column)
        part = part.lower() if self.chance(0.3) else part
        return Condition(
            (Predicate(place, "contains", (part,)),),
            self.say("contains after", v=part, col=self.column(place, relation.name)),
        )

    def _flag(self, relation: Relation) -> Condition:
        column = self.pick([c for c in self.columns(relation, "flag") if c.type in ("boolean", "integer")])
        holds = self.chance(0.6)
        words = self._written_out(words_of(column.name))
        place, value = self.ref(relation, column), holds if column.type == "boolean" else int(holds)
        predicates = (Predicate(place, "=", (value,)),)
        if len(words) > 1 and words[0] in ("has", "have", "with", "had"):
            return Condition(predicates, self.say("flag thing", holds, f=" ".join(words[1:])))
        if words[-1] in ("flag", "yn") or words[0] in ("is", "was"):
            words = [w for w in words if w not in ("flag", "yn", "is", "was")] or words
        name = " ".join(words)
        adjective = words[0].endswith("ed") or words[0].endswith("ble") or words_of(column.name)[0] in ("is", "was")
        if not adjective:
            return Condition(predicates, self.say("flag thing", holds, f=name))
        return Condition(predicates, self.say("flag", holds, f=name), self.say("flag before", holds, f=name))

    def years(self, column: Column) -> tuple[int, int]:
        """The first and the last year of a date, up to now. Raises Unsayable."""
        first, last = max(1990, int(str(column.low)[:4])), min(NOW.year, int(str(column.high)[:4]))
        if first > last:
            raise Unsayable
        return first, last

    def time_phrase(self, column: Column) -> tuple[str, Time]:
        """A time in words that a column has rows in, and its limits."""
        first, last = self.years(column)
        for _ in range(6):
            year = self.rng.randint(max(first, last - 6), last)
            slots = {
                "y": year, "y0": year - 1, "m": self.pick(_MONTHS), "m2": self.pick(_MONTHS),
                "q": self.rng.randint(1, 4), "n": self.rng.randint(2, 12), "d": self.rng.randint(1, 28),
            }  # fmt: skip
            text = self.say("times", **slots)
            time = _time(text)
            if time and (not time.start or time.start.isoformat() < str(column.high)) and (
                not time.end or time.end.isoformat() > str(column.low)
            ):  # fmt: skip
                return text, time
        raise Unsayable

    def date_phrase(self, relation: Relation, column: Column, said: str) -> str:
        """A time behind a noun, with its date where there are several."""
        verb = self.verb(column)
        if self.alone(relation, column):
            return said
        if verb and self.chance(0.7):
            return self.say("own verb time" if verb in phrases()["own verbs"] else "verb time", verb=verb, time=said)
        return self.say("time after", col=self.column(self.ref(relation, column), relation.name), time=said)

    def alone(self, relation: Relation, column: Column) -> bool:
        """Whether a date goes unnamed: where it is the only one, above all of rows that tell what happened."""
        if len(self.columns(relation, "date")) > 1 or _LIFE & set(words_of(column.name)):
            return False
        return self.chance(0.65 if any(k.table == relation.name for k in self.database.foreign_keys) else 0.3)

    def time(self, relation: Relation) -> Condition:
        """A time that rows fall into."""
        column = self.pick(self.columns(relation, "date"))
        said, time = self.time_phrase(column)
        predicates = during(self.ref(relation, column), time)
        return Condition(predicates, self.date_phrase(relation, column, said))

    def _clock(self, relation: Relation) -> Condition:
        column = self.pick(self.columns(relation, "date"))
        place = self.ref(relation, column)
        if column.type == "timestamp" and self.chance(0.4):
            operator: Operator = self.pick((">=", "<"))
            hour = self.rng.randint(6, 22)
            text = self.say("hours", operator, v=hour)
            return Condition((Predicate(place, operator, (hour,), "hour"),), self.date_phrase(relation, column, text))
        which = self.rng.random()
        if which < 0.5:
            made, text = Predicate(place, "in", (6, 7), "weekday"), self.say("weekend")
        elif which < 0.65:
            made, text = Predicate(place, "not in", (6, 7), "weekday"), self.say("working days")
        else:
            day = self.pick((1, 2, 3, 5))
            made, text = Predicate(place, "=", (day,), "weekday"), phrases()["weekdays"][day - 1]
        return Condition((made,), self.date_phrase(relation, column, text))

    def _missing(self, relation: Relation) -> Condition:
        among = [
            c
            for c in relation.columns
            if c.nullable and c.name not in relation.key and not is_flag(c) and c.type != "other"
        ]
        ends = [c for c in among if self.verb(c)]
        column = self.pick(ends if ends and self.chance(0.5) else among)
        absent, verb, place = self.chance(0.6), self.verb(column), self.ref(relation, column)
        predicates = (Predicate(place, "is null" if absent else "is not null"),)
        if verb and column.temporal and self.chance(0.6):
            own = "own " * (verb in phrases()["own verbs"])
            return Condition(predicates, self.say(f"{own}{'not done' if absent else 'done'}", verb=verb))
        return Condition(predicates, self.say("missing" if absent else "filled", col=self.column(place, relation.name)))

    def _beside(self, relation: Relation) -> Condition:
        kind = self.pick(("date", "number"))
        first, second = self.rng.sample(among, 2) if len(among := self.columns(relation, kind)) > 1 else self.pick(())
        if first.type != second.type or (
            kind == "number" and not set(words_of(first.name)) & set(words_of(second.name))
        ):
            raise Unsayable
        a, b, operator = self.ref(relation, first), self.ref(relation, second), self.pick(_SIDES)
        text = self.say(f"row {kind}s", operator, a=self.column(a, relation.name), b=self.column(b, relation.name))
        return Condition((Predicate(a, operator, (b,)),), text)

    def mean(self, relation: Relation) -> Condition:
        """A number above or below its mean, of all rows or of those alike."""
        place, operator = self.ref(relation, self.pick(self.columns(relation, "number"))), self.pick(_SIDES)
        name = self.column(place, relation.name)
        alike = [self.ref(relation, c) for c in self.columns(relation, "value")]
        if alike and self.chance(0.5):
            within = self.pick(alike)
            text = self.say("mean within", operator, col=name, g=self.column(within, relation.name))
            return Condition((Predicate(place, operator, (Mean(place, within),)),), text)
        return Condition((Predicate(place, operator, (Mean(place),)),), self.say("mean", operator, col=name))


def during(place: ColumnRef, time: Time) -> tuple[Predicate, ...]:
    """The limits of a time on a date; nothing has happened yet beyond today."""
    found = []
    if time.start:
        found.append(Predicate(place, ">=", (time.start.date().isoformat(),)))
    if time.end:
        found.append(Predicate(place, "<", (time.end.date().isoformat(),)))
    return tuple(found)


def predicates_of(conditions: Iterable[Condition]) -> tuple[Predicate, ...]:
    """All that conditions ask."""
    return tuple(p for c in conditions for p in c.predicates)
