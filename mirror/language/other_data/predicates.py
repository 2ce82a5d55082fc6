"""Conditions in the words of a question: a column with what follows it, values, and numbers that name no column."""

from mirror.language.other_data.mentions import Belonging, Limit, MeasureMention, Slots, Test
from mirror.language.other_data.spans import Span
from mirror.language.other_data.vocabulary import Item, Words
from mirror.query.errors import Refusal
from mirror.query.other_data.form import Aggregate, ColumnRef, Operator
from mirror.schema.names import is_year
from mirror.table.values import Value

COMPARISONS: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}
_NEGATED: dict[Operator, Operator] = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}


class Comparisons:
    """The items of a question, a place among them, and the conditions that are read from there on."""

    def __init__(self, items: list[Item], words: list[str], spans: list[Span], quotes: list[str], known: Words) -> None:
        self._items = [i for i in items if i.kind != "filler" and not i.is_cue("of")]
        self._words = words
        self._spans = spans
        self._quotes = quotes
        self._known = known
        self._at = 0
        self._slots = Slots()
        self._aggregate: Aggregate | None = None
        self._more: list[Aggregate] = []  # "lowest and highest price": the first of them, and those before it
        self._grouping = False
        self._negated = False
        self._without = False
        self._owner: Item | None = None
        self._sorting = False
        self._listed: Item | None = None  # the table that `and` joins with what follows
        self._or = False
        self._inside: Belonging | None = None
        # What the item before was: the number of a measure, or a table; a bare comparison is about that.
        self._before: int | Item | None = None
        self._now: int | Item | None = None

    # -- places ------------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> Item:
        i = self._at + ahead
        return self._items[i] if 0 <= i < len(self._items) else Item("filler", "")

    def _between(self, first: Item, second: Item) -> list[str]:
        return self._words[first.end : second.start]

    def _quote(self, item: Item) -> str:
        return self._quotes[int(item.value or 0)]

    # -- kinds of columns --------------------------------------------------------------------------------------------

    def _types(self, item: Item) -> set[str]:
        database = self._known.database
        return {database.relation(p.table).column(p.column).type for p in item.places}

    def _numeric(self, item: Item) -> bool:
        return bool(self._types(item) & {"integer", "real"})

    def _temporal(self, item: Item) -> bool:
        return bool(self._types(item) & {"date", "timestamp"})

    def _ordered(self, item: Item) -> bool:
        return self._numeric(item) or self._temporal(item)

    def _boolean(self, item: Item) -> bool:
        return self._types(item) == {"boolean"}

    def _years(self, item: Item) -> bool:
        database = self._known.database
        return any(is_year(database.relation(p.table).column(p.column)) for p in item.places)

    # -- conditions --------------------------------------------------------------------------------------------------

    def _condition(self, item: Item) -> bool:
        """Reads what follows a column when it is a condition on it."""
        start = self._at
        equals = self._peek().is_cue("=")
        if equals:
            self._at += 1
        negated = self._negated
        if self._peek().is_cue("not"):
            negated = True
            self._at += 1
        following = self._peek()
        before = self._items[self._at - 1]
        stated = equals or bool({"is", "are", "was", "were"} & set(self._between(before, following)))
        if not self._aggregate and self._value_condition(item, following, negated, stated):
            return True
        if following.kind == "number" and (equals or (self._numeric(item) and not self._aggregate)):
            values = self._numbers()
            operator: Operator = "=" if len(values) == 1 else "in"
            self._test(_NEGATED[operator] if negated else operator, values, item)
            return True
        compares = self._numeric(item) and not self._aggregate
        if compares and following.is_cue(*COMPARISONS) and self._number_at(1):
            self._at += 1
            operator = COMPARISONS[following.cue]
            self._test(_NEGATED[operator] if negated else operator, (self._number(),), item)
            return True
        if compares and following.is_cue("by") and following.text == "over" and self._number_at(1):
            self._at += 1
            self._test("<=" if negated else ">", (self._number(),), item)
            return True
        if compares and following.is_cue("between") and self._number_at(1):
            self._at += 1
            self._range(item)
            return True
        if following.is_cue("empty"):
            self._at += 1
            self._test("is not null" if negated else "is null", (), item)
            return True
        if following.kind == "span" and not self._aggregate and not self._grouping:
            span = self._spans[int(following.value or 0)]
            signed = span.operator == "between" or not span.phrase[:1].isalpha()
            if self._temporal(item) or (span.years and self._numeric(item) and (signed or self._years(item))):
                self._at += 1
                self._slots.tests.append(Test("=", item=item, span=span, inside=self._inside))
                return True
        self._at = start
        return False

    def _value_condition(self, item: Item, following: Item, negated: bool, stated: bool) -> bool:
        if following.kind == "quoted":
            values: list[Value] = [self._quote(following)]
            self._at += 1
            while self._peek().is_cue("and", "or") and self._peek(1).kind == "quoted":
                values.append(self._quote(self._peek(1)))
                self._at += 2
            operator: Operator = "=" if len(values) == 1 else "in"
            self._test(_NEGATED[operator] if negated else operator, tuple(values), item)
            return True
        if not following.text or (following.kind not in ("value", "unknown", "number") and not stated):
            return False
        found = self._known.value_at(self._words, following.start, item.places)
        if not found:
            return False
        pairs = self._values_from(following.start, item)
        end = self._items[self._at - 1].end
        values_item = Item("value", " ".join(self._words[following.start : end]), item.start, end, values=pairs)
        self._slots.tests.append(Test("<>" if negated else "=", item=values_item, inside=self._inside))
        return True

    def _values_from(self, start: int, item: Item) -> tuple[tuple[ColumnRef, str], ...]:
        """All values of the column's that `and`, `or` and commas join, from a place in the words on."""
        pairs: list[tuple[ColumnRef, str]] = []
        while found := self._known.value_at(self._words, start, item.places):
            pairs += found
            end = start + max(self._known.length_of(value) for _, value in found)
            while self._at < len(self._items) and self._items[self._at].start < end:
                self._at += 1
            if not self._peek().is_cue("and", "or"):
                break
            start = self._peek(1).start
            if not self._peek(1).text or not self._known.value_at(self._words, start, item.places):
                break
            self._at += 1
        return tuple(dict.fromkeys(pairs))

    def _read_value(self, item: Item) -> None:
        """A value names its column; those that `and`, `or` and commas join with it are of the same."""
        pairs = list(item.values)
        columns = {p for p, _ in pairs}
        while self._peek().is_cue("and", "or") and self._peek(1).kind == "value":
            shared = columns & {p for p, _ in self._peek(1).values}
            if not shared:
                break
            columns = shared
            pairs += self._peek(1).values
            self._at += 2
        if self._peek().kind == "column" and (own := columns & set(self._peek().places)) and not self._grouping:
            columns = own  # "open status"
            if self._peek().places and not self._condition_follows(1):
                self._at += 1
        kept = tuple((p, v) for p, v in dict.fromkeys(pairs) if p in columns)
        end = self._items[self._at - 1].end
        meant = Item("value", " ".join(self._words[item.start : end]), item.start, end, values=kept)
        inside = self._inside
        self._slots.tests.append(Test("<>" if self._negated or self._without else "=", item=meant, inside=inside))
        self._negated = self._without = False
        self._grouping = False

    def _condition_follows(self, ahead: int) -> bool:
        return self._peek(ahead).is_cue(*COMPARISONS, "between")

    def _test(self, operator: Operator, values: tuple[Value, ...], item: Item) -> None:
        self._slots.tests.append(Test(operator, values, item, inside=self._inside))
        self._negated = False

    def _number_at(self, ahead: int) -> bool:
        return self._peek(ahead).kind == "number"

    def _number(self) -> Value:
        item = self._peek()
        self._at += 1
        assert item.value is not None
        return item.value

    def _numbers(self) -> tuple[Value, ...]:
        values = [self._number()]
        while self._peek().is_cue("and", "or") and self._number_at(1):
            self._at += 1
            values.append(self._number())
        return tuple(values)

    def _range(self, item: Item | None) -> None:
        at = self._peek(-1).start
        if self._negated:
            raise Refusal("“not between” is not read: say under the one number or over the other.")
        low = self._number()
        if not (self._peek().is_cue("and", "to") and self._number_at(1)):
            raise Refusal("“between” needs two numbers, as in “between 10 and 20”.")
        self._at += 1
        high = self._number()
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            low, high = high, low
        bounds: tuple[tuple[Operator, Value], ...] = ((">=", low), ("<=", high))
        for operator, value in bounds:
            if item is None:
                self._compared(operator, value, at)
            else:
                self._test(operator, (value,), item)

    def _compare(self, operator: Operator) -> None:
        """`over 100`: of the column behind it, of the number before it, of the table before it, or of what is usual."""
        negated, self._negated = self._negated, False
        operator = _NEGATED[operator] if negated else operator
        if not self._number_at(0):
            raise Refusal(f"“{self._peek(-1).text}” needs a number behind it, as in “over 100”.")
        at, number_item = self._peek(-1).start, self._peek()
        value = self._number()
        following = self._peek()
        close = following.text and not set(self._between(number_item, following)) - {"of", "different"}
        if close and following.kind == "table" and not following.places:
            self._at += 1
            self._slots.measures.append(MeasureMention("count", following))
            self._slots.limits.append(Limit(operator, value, len(self._slots.measures) - 1))
        elif close and following.kind == "column" and self._numeric(following) and self._before is None:
            self._at += 1
            self._test(operator, (value,), following)
        else:
            self._compared(operator, value, at)

    def _compared(self, operator: Operator, value: Value, at: int) -> None:
        """A comparison that names no column."""
        if isinstance(self._before, int):
            mention = self._slots.measures[self._before]
            if mention.aggregate is not None:
                self._slots.limits.append(Limit(operator, value, self._before))
            else:
                self._test(operator, (value,), mention.item)
            return
        of = self._before or (self._inside.item if self._inside else None)
        self._slots.tests.append(Test(operator, (value,), None, of, inside=self._inside, at=at))
