"""Words -> what each of them asks for, left to right; what they mean in the database is settled in `resolve`."""

import re
from dataclasses import dataclass, field
from typing import get_args

from mirror.outside.asked import Aggregate, Bucket, Operator, Place
from mirror.outside.lexicon import QUOTED, Item, Words
from mirror.outside.names import is_year, label_columns
from mirror.outside.spans import Span
from mirror.outside.tables import shown
from mirror.query_spec import ChartWish, Value
from mirror.understand.errors import Refusal

_AGGREGATES: tuple[str, ...] = get_args(Aggregate)
_COMPARISONS: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}
_NEGATED: dict[str, Operator] = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}
DOWNWARD = ("best", "highest", "largest", "top")
UPWARD = ("worst", "lowest", "smallest", "bottom")
_QUOTES = re.compile(r"\"([^\"]{1,200})\"|“([^”]{1,200})”|(?<!\w)'([^']{1,200})'(?!\w)")
_ARITHMETIC = re.compile(r"\s[/+%]\s|(?<=\w)\s-\s(?=\w)")


@dataclass
class Wanted:
    """A number that is asked for: of a column, of two that are multiplied, or of the rows of a table."""

    aggregate: Aggregate | None
    item: Item
    times: Item | None = None


@dataclass
class By:
    """Something to group by: a column, a table, or a span of time, perhaps of a date that is named."""

    item: Item | None = None
    bucket: Bucket | None = None


@dataclass
class Test:
    """A condition: of a column, of values that name their column, or of a number that names none.

    Attributes:
        item: the column, or the values; None for a number without a column.
        of: the table whose usual number is compared, where no column is named.
        inside: the table that the condition is about, where it follows `without`.
        at: where a comparison without a column stands in the words.
    """

    operator: Operator
    values: tuple[Value, ...] = ()
    item: Item | None = None
    of: Item | None = None
    span: Span | None = None
    inside: "Belonging | None" = None
    at: int = 0


@dataclass
class Belonging:
    """Rows of another table that must (not) be there for those of `owner`, or of what is asked about."""

    item: Item
    absent: bool
    owner: Item | None = None


@dataclass
class Limit:
    """A condition on a number of each group: on a measure, or on how many rows of a table there are."""

    operator: Operator
    value: Value
    measure: int


@dataclass
class Slots:
    """What the words say."""

    measures: list[Wanted] = field(default_factory=list)
    groups: list[By] = field(default_factory=list)
    named: list[Item] = field(default_factory=list)
    context: list[Item] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    belongings: list[Belonging] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    superlative: str = ""
    sorted: bool = False
    leading: int | None = None
    limit: int | None = None
    ascending: bool | None = None
    distinct: bool = False
    course: bool = False
    via: list[Item] = field(default_factory=list)
    chart: str = ""
    log: bool = False
    notes: list[str] = field(default_factory=list)


def prepared(question: str) -> tuple[str, list[str]]:
    """The question with marks in place of quoted texts, which are returned, and with minus signs as a word.

    Raises Refusal for arithmetic that would get lost.
    """
    quotes: list[str] = []

    def take(match: re.Match[str]) -> str:
        quotes.append(next(g for g in match.groups() if g is not None))
        return f" {QUOTED}{len(quotes) - 1} "

    text = _QUOTES.sub(take, question.replace("’", "'"))
    text = re.sub(r"\s[*×]\s", " times ", text)
    text = re.sub(r"(\w)n't\b", r"\1 not", text)
    if sign := _ARITHMETIC.search(text):
        raise Refusal(
            f"“{sign[0].strip()}” is not read: only “times” joins two columns, as in “total quantity times unit price”; "
            "anything else can be asked with SQL."
        )
    return re.sub(r"(?<![\w.])[-−](?=\.?\d)", "minus ", text), quotes


class Walk:
    """Walks the items once and fills the slots. Raises Refusal."""

    def __init__(self, items: list[Item], words: list[str], spans: list[Span], quotes: list[str], known: Words) -> None:
        self._all = items
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
        self._or = False
        self._inside: Belonging | None = None
        # What the item before was: the number of a measure, or a table; a bare comparison is about that.
        self._before: int | Item | None = None
        self._now: int | Item | None = None

    def slots(self) -> Slots:
        """What the words say."""
        self._join_tables()
        while self._at < len(self._items):
            item = self._items[self._at]
            self._at += 1
            if self._or and item.kind not in ("value", "quoted", "number"):
                raise Refusal(
                    f"“or” is read between values of one column, as in “in Germany or France”, and not before “{item.text}”."
                )
            self._before, self._now = self._now, None
            getattr(self, f"_read_{item.kind}")(item)
            self._or = item.is_cue("or")
        if self._aggregate:
            word = self._aggregate
            raise Refusal(f"It is not said what the {_word(word)} should be of: name a column behind it.")
        if self._without or self._negated:
            raise Refusal(
                "It is not said what is left out: name a value, a column or a table behind “without” or “not”."
            )
        return self._slots

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> Item:
        i = self._at + ahead
        return self._items[i] if 0 <= i < len(self._items) else Item("filler", "")

    def _between(self, first: Item, second: Item) -> list[str]:
        return self._words[first.end : second.start]

    def _join_tables(self) -> None:
        """`name of the customer` and `customer's name`: the table says which column is meant."""
        i = 0
        while i + 1 < len(self._items):
            first, second = self._items[i], self._items[i + 1]
            between = self._between(first, second)
            if first.kind == "column" and second.tables and between[:1] == ["of"]:
                column, table = first, second
            elif first.kind == "table" and second.kind == "column" and between in ([], ["s"]):
                column, table = second, first
            else:
                i += 1
                continue
            places = tuple(p for p in column.places if p.table in table.tables)
            if places and len(places) < len(column.places):
                meant = Item("column", column.text, column.start, column.end, column.cue, (), places, column.values)
                self._items[i : i + 2] = [meant]
                self._slots.context.append(table)
            i += 1

    # -- kinds of items --------------------------------------------------------------------------------------------

    def _read_unknown(self, item: Item) -> None:
        raise AssertionError(item.text)  # refused before

    def _read_filler(self, item: Item) -> None:
        pass

    def _read_cue(self, item: Item) -> None:
        slots, name = self._slots, item.cue
        if name in ("and", "vs", "to", "of"):
            return
        if name == "or":
            self._or = True
            return
        if name == "by":
            if item.text == "over" and self._peek().kind == "number":
                self._compare(">")
                return
            self._grouping = True
            return
        if name == "between" and self._peek().kind == "number":
            self._range(None)
            return
        if name in _COMPARISONS and name != "=":
            self._compare(_COMPARISONS[name])
            return
        if self._grouping and name in _AGGREGATES and slots.named and not slots.measures:
            slots.sorted = True  # "customers by total amount"
        if name != "times" and not name.startswith("bucket:"):
            self._grouping = False
        if (name in DOWNWARD or name in UPWARD) and self._is_pair():
            self._aggregated("max" if name in DOWNWARD else "min")
        elif name in DOWNWARD or name in UPWARD:
            self._superlative(item)
        elif name == "sum" and self._aggregate:
            pass  # "the average total": the first word counts
        elif name in _AGGREGATES:
            self._aggregated(name)
        elif name.startswith("bucket:"):
            self._bucket(item)
        elif name == "not":
            self._negated = True
        elif name in ("without", "do not"):
            self._without = True
            before = self._before
            self._owner = slots.measures[before].item if isinstance(before, int) else before
        elif name == "via":
            if not self._peek().tables:
                raise Refusal(f"“{item.text}” needs a table behind it.")
            slots.via.append(self._peek())
            self._at += 1
        elif name == "sort":
            self._sorting = slots.sorted = True
        elif name in ("ascending", "descending"):
            slots.ascending = name == "ascending"
        elif name.startswith("chart:"):
            slots.chart = name.removeprefix("chart:")
        elif name == "log":
            slots.log = True
        elif name == "called":
            self._called(item)
        elif name == "empty":
            raise Refusal(f"It is not said which column is “{item.text}”: name it before.")
        elif name == "times":
            raise Refusal("“times” stands between two columns, as in “total quantity times unit price”.")

    def _aggregated(self, name: str) -> None:
        if name == "distinct" and self._aggregate != "count":
            if self._peek().kind not in ("column", "table"):
                return
            self._slots.distinct = True
            return
        if self._aggregate and self._peek(-2).is_cue("and"):
            self._more.append(self._aggregate)
        elif self._aggregate and name != "distinct":
            raise Refusal(
                f"“{_word(self._aggregate)}” of a “{_word(name)}” is not read: ask for one of them, or write SQL."
            )
        self._aggregate = name  # type: ignore[assignment]

    def _called(self, item: Item) -> None:
        """`customers named "Anna Berg"`: the column that the table's rows are known by."""
        table = self._before if isinstance(self._before, Item) else None
        if isinstance(self._before, int):
            table = self._slots.measures[self._before].item
        places = tuple(
            Place(t, name)
            for t in (table.tables if table else ())
            for name in label_columns(self._known.database.relation(t))
        )
        column = Item("column", item.text, item.start, item.end, places=places)
        if not places or not self._condition(column):
            raise Refusal(
                f"“{item.text}” stands between a table and a name in quotation marks, as in customers named “Lee”."
            )

    def _is_pair(self) -> bool:
        """ "lowest and highest price", "smallest, average and largest": numbers of one column, and no ranking."""
        followed = self._peek().is_cue("and") and self._peek(1).is_cue(*DOWNWARD, *UPWARD, *_AGGREGATES)
        return followed or (self._aggregate is not None and self._peek(-2).is_cue("and"))

    def _superlative(self, item: Item) -> None:
        slots = self._slots
        if slots.superlative and slots.superlative != "top" and item.cue != "top":
            raise Refusal("Two rankings at once have no single winner: ask for one of them.")
        slots.superlative = item.cue if slots.superlative in ("", "top") else slots.superlative
        if self._peek().kind == "number":
            self._limit(self._peek())
            self._at += 1

    def _limit(self, item: Item) -> None:
        if not isinstance(item.value, int) or not 1 <= item.value <= 1000:
            raise Refusal(f"“{item.text}” is no number of rows: ask for the top 1 to 1,000.")
        self._slots.limit = item.value

    def _bucket(self, item: Item) -> None:
        bucket: Bucket = item.cue.removeprefix("bucket:")  # type: ignore[assignment]
        following = self._peek()
        named, groups = self._slots.named, self._slots.groups
        date = None
        if following.kind == "column" and self._temporal(following) and "of" in self._between(item, following):
            date = following
            self._at += 1
        elif named and named[-1] is self._peek(-2) and self._temporal(named[-1]):
            date = named.pop()  # "order date by month"
        elif groups and (last := groups[-1].item) is self._peek(-2) and last and self._temporal(last):
            date = groups.pop().item  # "by order date month"
        elif self._peek(-2).is_cue("by") and named and named[-1] is self._peek(-3) and self._temporal(named[-1]):
            date = named.pop()
        self._slots.groups.append(By(date, bucket))

    def _read_number(self, item: Item) -> None:
        if self._peek().is_cue(*DOWNWARD, *UPWARD) and not self._peek().is_cue("top") and self._slots.limit is None:
            self._limit(item)
            return
        raise Refusal(f"It is not clear what “{item.text}” is: name its column, as in “quantity over {item.text}”.")

    def _read_span(self, item: Item) -> None:
        span = self._spans[int(item.value or 0)]
        if self._negated:
            raise Refusal(f"“not {span.phrase}” is not read: say before or after it.")
        self._slots.tests.append(Test("=", span=span, inside=self._inside))
        self._grouping = False

    def _read_quoted(self, item: Item) -> None:
        raise Refusal(f"It is not said which column holds “{self._quote(item)}”: name it before, as in name “Lamp”.")

    def _quote(self, item: Item) -> str:
        return self._quotes[int(item.value or 0)]

    def _read_table(self, item: Item) -> None:
        slots = self._slots
        following = self._peek()
        if item.cue and self._means_cue(item):
            self._read_cue(Item("cue", item.text, item.start, item.end, item.cue))
            return
        if item.places and self._aggregate in ("sum", "avg", "min", "max", "median", "stddev") and self._numeric(item):
            self._read_column(item)
            return
        if (self._without or self._negated) and following.kind in ("value", "quoted") and self._holds(item, following):
            slots.context.append(item)  # "not product Lamp"
            return
        if self._without:
            if self._owner is None and slots.named and not slots.named[-1].tables:
                named = slots.named[-1].text
                raise Refusal(f"“{named} without {item.text}” is not read: say which table's rows have none of them.")
            self._without = False
            self._inside = Belonging(item, absent=True, owner=self._owner)
            slots.belongings.append(self._inside)
            return
        if self._negated:
            raise Refusal(
                f"It is not clear what “not {item.text}” leaves out: say “without {item.text}”, or name a value."
            )
        if self._aggregate in ("count", "distinct"):
            self._measure(Wanted("count", item))
        elif self._aggregate == "sum" and following.kind not in ("column", "table"):
            slots.notes.append(f"“total {item.text}” is their number")
            self._measure(Wanted("count", item))
        elif self._aggregate:
            if following.kind != "column":
                raise Refusal(f"It is not said what the {_word(self._aggregate)} of {item.text} is of: name a column.")
            slots.named.append(item)
        elif self._grouping and not (slots.superlative and not slots.measures and slots.named):
            slots.groups.append(By(item))
        elif slots.superlative and not slots.measures and (slots.named or slots.groups):
            self._measure(Wanted("count", item))  # "which country has the most customers"
        else:
            slots.named.append(item)
            self._now = item

    @staticmethod
    def _holds(table: Item, value: Item) -> bool:
        """Whether a value is one of a table's."""
        return any(place.table in table.tables for place, _ in value.values)

    def _means_cue(self, item: Item) -> bool:
        """Whether a word that is both a name and a cue is the cue: "total" before a number to add up."""
        following = self._peek()
        if item.cue in _AGGREGATES:
            return following.kind in ("column", "table") and not self._grouping
        if item.cue.startswith("bucket:"):
            return False
        return not item.places or item.cue in ("by", "of")

    def _read_column(self, item: Item) -> None:
        slots = self._slots
        if item.cue and item.kind == "column" and self._means_cue(item):
            self._read_cue(Item("cue", item.text, item.start, item.end, item.cue))
            return
        if self._without:
            self._without = False
            slots.tests.append(Test("is null", item=item, inside=self._inside))
            return
        if self._condition(item):
            self._negated = False
            return
        if self._sorting:
            self._sorting = False
            self._lead(item)
            return
        if self._boolean(item) and self._aggregate == "count":  # "how many active customers"
            self._slots.tests.append(Test("=", (not self._negated,), item, inside=self._inside))
            self._negated = False
            return
        if self._aggregate:
            self._measure(Wanted("distinct" if self._aggregate == "count" else self._aggregate, item))
            self._after_measure()
            return
        if self._negated:
            if not self._boolean(item):
                raise Refusal(f"It is not clear what “not {item.text}” leaves out: name a value of it.")
            self._negated = False
            slots.tests.append(Test("=", (False,), item, inside=self._inside))
            return
        if self._boolean(item) and not self._grouping:
            slots.tests.append(Test("=", (True,), item, inside=self._inside))
            return
        if self._peek().is_cue("times"):
            self._measure(Wanted(None, item))
            self._after_measure()
            return
        if slots.distinct:
            slots.groups.append(By(item))
        elif self._grouping:
            if slots.superlative and not slots.measures and self._numeric(item):
                self._lead(item)
            else:
                slots.groups.append(By(item))
        elif slots.superlative and slots.leading is None and not slots.measures and self._ordered(item):
            self._lead(item)
        elif self._numeric(item):
            self._measure(Wanted(self._carried(), item))
            self._after_measure()
        else:
            slots.named.append(item)

    def _carried(self) -> Aggregate | None:
        """ "average price and quantity": the second number is averaged like the first."""
        measures = self._slots.measures
        if measures and self._peek(-2).is_cue("and") and self._peek(-3) is (measures[-1].times or measures[-1].item):
            return measures[-1].aggregate
        return None

    def _lead(self, item: Item) -> None:
        """The number that rows are sorted by."""
        slots = self._slots
        for i, wanted in enumerate(slots.measures):
            if set(wanted.item.places) & set(item.places):
                slots.leading = i
                return
        slots.leading = len(slots.measures)
        self._measure(Wanted(self._aggregate, item))
        self._after_measure()

    def _measure(self, wanted: Wanted) -> None:
        self._slots.measures += [Wanted(aggregate, wanted.item) for aggregate in self._more]
        self._more = []
        self._slots.measures.append(wanted)
        self._aggregate = None
        self._grouping = False
        self._sorting = False
        self._now = len(self._slots.measures) - 1

    def _after_measure(self) -> None:
        """A second factor, or a condition on the number itself."""
        wanted = self._slots.measures[-1]
        if self._peek().is_cue("times"):
            if self._peek(1).kind != "column":
                raise Refusal("“times” stands between two columns, as in “total quantity times unit price”.")
            wanted.times = self._peek(1)
            self._at += 2

    # -- conditions ------------------------------------------------------------------------------------------------

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
        said = equals or bool({"is", "are", "was", "were"} & set(self._between(before, following)))
        if not self._aggregate and self._value_condition(item, following, negated, said):
            return True
        if following.kind == "number" and (equals or (self._numeric(item) and not self._aggregate)):
            values = self._numbers()
            operator: Operator = "=" if len(values) == 1 else "in"
            self._test(_NEGATED[operator] if negated else operator, values, item)
            return True
        if not self._aggregate and following.is_cue(*_COMPARISONS) and self._number_at(1):
            self._at += 1
            operator = _COMPARISONS[following.cue]
            self._test(_NEGATED[operator] if negated else operator, (self._number(),), item)
            return True
        if not self._aggregate and following.is_cue("by") and following.text == "over" and self._number_at(1):
            self._at += 1
            self._test("<=" if negated else ">", (self._number(),), item)
            return True
        if not self._aggregate and following.is_cue("between") and self._number_at(1):
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

    def _value_condition(self, item: Item, following: Item, negated: bool, said: bool) -> bool:
        if following.kind == "quoted":
            values: list[Value] = [self._quote(following)]
            self._at += 1
            while self._peek().is_cue("and", "or") and self._peek(1).kind == "quoted":
                values.append(self._quote(self._peek(1)))
                self._at += 2
            operator: Operator = "=" if len(values) == 1 else "in"
            self._test(_NEGATED[operator] if negated else operator, tuple(values), item)
            return True
        if not following.text or (following.kind not in ("value", "unknown", "number") and not said):
            return False
        found = self._known.value_at(self._words, following.start, item.places)
        if not found:
            return False
        pairs = self._values_from(following.start, item)
        values_item = Item("value", following.text, item.start, self._items[self._at - 1].end, values=pairs)
        self._slots.tests.append(Test("<>" if negated else "=", item=values_item, inside=self._inside))
        return True

    def _values_from(self, start: int, item: Item) -> tuple:
        """All values of the column's that `and`, `or` and commas join, from a place in the words on."""
        pairs: list = []
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
        meant = Item("value", item.text, item.start, self._items[self._at - 1].end, values=kept)
        inside = self._inside
        self._slots.tests.append(Test("<>" if self._negated or self._without else "=", item=meant, inside=inside))
        self._negated = self._without = False
        self._grouping = False

    def _condition_follows(self, ahead: int) -> bool:
        return self._peek(ahead).is_cue(*_COMPARISONS, "between")

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
            self._slots.measures.append(Wanted("count", following))
            self._slots.limits.append(Limit(operator, value, len(self._slots.measures) - 1))
        elif close and following.kind == "column" and self._numeric(following) and self._before is None:
            self._at += 1
            self._test(operator, (value,), following)
        else:
            self._compared(operator, value, at)

    def _compared(self, operator: Operator, value: Value, at: int) -> None:
        """A comparison that names no column."""
        if isinstance(self._before, int):
            wanted = self._slots.measures[self._before]
            if wanted.aggregate is not None:
                self._slots.limits.append(Limit(operator, value, self._before))
            else:
                self._test(operator, (value,), wanted.item)
            return
        of = self._before or (self._inside.item if self._inside else None)
        self._slots.tests.append(Test(operator, (value,), None, of, inside=self._inside, at=at))

    # -- kinds of columns ------------------------------------------------------------------------------------------

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


def wish(slots: Slots) -> ChartWish:
    """What was asked of the chart."""
    return ChartWish(slots.chart or None, slots.log, slots.log)  # type: ignore[arg-type]


def _word(aggregate: str) -> str:
    return {"sum": "total", "avg": "average", "count": "number", "distinct": "number", "stddev": "deviation"}.get(
        aggregate, {"min": "minimum", "max": "maximum"}.get(aggregate, aggregate)
    )


def known_sentence(known: Words) -> str:
    """What can be asked about, in one sentence."""
    parts = []
    for relation in [r for r in known.database.relations if not r.view][:8]:
        columns = [c.name for c in relation.columns if c.type != "other"]
        parts.append(f"{relation.name} ({shown(columns, 6)})")
    more = len(known.database.relations) - len(parts)
    return f"Known are the tables {', '.join(parts)}{f' and {more} more' if more > 0 else ''}."
