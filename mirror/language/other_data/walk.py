"""Words -> slots: what each of them asks for, left to right; what they mean in the database is settled in `resolve`."""

from dataclasses import replace
from typing import get_args

from mirror.language.other_data.mentions import DOWNWARD, UPWARD, Belonging, By, MeasureMention, Slots, Test
from mirror.language.other_data.predicates import COMPARISONS, Comparisons
from mirror.language.other_data.vocabulary import Item
from mirror.query.errors import Impossible, Refusal
from mirror.query.other_data.form import Aggregate, Bucket, ColumnRef
from mirror.schema.names import label_columns

_NEW_CLAUSE = frozenset({"with", "where", "whose", "when"})
_AGGREGATES: tuple[str, ...] = get_args(Aggregate)
# What is asked for where a cue stands alone.
_ALONE = {
    "=": "“{}” needs a column before it and a known value or a number behind it.",
    "empty": "It is not said which column is “{}”: name it before.",
    "times": "“times” stands between two columns, as in “total quantity times unit price”.",
}


class Walk(Comparisons):
    """Walks the items once and fills the slots. Raises Refusal."""

    def slots(self) -> Slots:
        """What the words say."""
        self._join_tables()
        while self._at < len(self._items):
            item = self._items[self._at]
            self._at += 1
            if self._or:  # what `or` may join is read together with what stands before it
                raise Refusal(
                    f"“or” stands between values of one column, as in “Germany or France”, not before “{item.text}”."
                )
            self._before, self._now = self._now, None
            if self._at > 1 and _NEW_CLAUSE & set(self._between(self._items[self._at - 2], item)):
                self._grouping = False  # "per month with order date in 2025"
            getattr(self, f"_read_{item.kind}")(item)
            self._or = item.is_cue("or")
        if self._aggregate:
            if self._aggregate == "count":
                raise Refusal("It is not said what is counted: name a table or a column behind “how many”.")
            raise Refusal(f"It is not said what the {_word(self._aggregate)} should be of: name a column behind it.")
        if self._without or self._negated:
            raise Refusal(
                "It is not said what is left out: name a value, a column or a table behind “without” or “not”."
            )
        return self._slots

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
                meant = replace(column, kind="column", tables=(), places=places)
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
            self._listed = self._before if name == "and" and isinstance(self._before, Item) else self._listed
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
        number = self._peek().kind == "number"
        if name == "between" and number:
            self._range(None)
            return
        if name in COMPARISONS and (name != "=" or number):
            self._compare(COMPARISONS[name])
            return
        if self._grouping and name in _AGGREGATES and slots.named and not slots.measures:
            slots.sorted = True  # "customers by total amount"
        if name != "times" and not name.startswith("bucket:"):
            self._grouping = False
        if (name in DOWNWARD or name in UPWARD) and self._is_pair():
            self._aggregated("max" if name in DOWNWARD else "min")
        elif name in DOWNWARD or name in UPWARD:
            self._superlative(item)
        elif name in _AGGREGATES:
            if name != "sum" or not self._aggregate:  # "the average total": the first word counts
                self._aggregated(name)
        elif name.startswith("bucket:"):
            self._bucket(item)
        elif name in _ALONE:
            raise Refusal(_ALONE[name].format(item.text))
        else:
            self._mark(item)

    def _mark(self, item: Item) -> None:
        """What a cue says of the words behind it, or of the answer as a whole."""
        slots, name = self._slots, item.cue
        if name == "not":
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
        elif name in ("early", "late") and self._peek().kind == "column" and self._temporal(self._peek()):
            self._aggregated("min" if name == "early" else "max")
        elif name in ("early", "late"):
            slots.dated = True
            self._superlative(replace(item, cue="lowest" if name == "early" else "highest"))
        elif name == "sort":
            self._sorting = slots.sorted = True
        elif name in ("ascending", "descending"):
            slots.ascending, slots.sorted = name == "ascending", True
        elif name.startswith("chart:"):
            slots.chart = name.removeprefix("chart:")
        elif name == "log":
            slots.log = True
        elif name == "called":
            self._called(item)

    def _aggregated(self, name: str) -> None:
        if name == "distinct" and self._aggregate != "count":
            self._slots.distinct |= self._peek().kind == "column"  # rows of a table differ anyway
            return
        counts = {"count", "distinct"} & {self._aggregate, name}
        if self._aggregate and self._peek(-2).is_cue("and") and not counts:
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
            ColumnRef(t, name)
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
            raise Impossible(f"“{item.text}” is no number of rows: ask for the top 1 to 1,000.")
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
            self._measure(MeasureMention("count", item))
        elif self._aggregate == "sum" and following.kind not in ("column", "table"):
            slots.notes.append(f"“total {item.text}” is their number")
            self._measure(MeasureMention("count", item))
        elif self._aggregate:
            if following.kind != "column":
                raise Refusal(f"It is not said what the {_word(self._aggregate)} of {item.text} is of: name a column.")
            slots.named.append(item)
        elif self._grouping and not (slots.superlative and not slots.measures and slots.named):
            slots.groups.append(By(item))
        elif slots.superlative and not slots.measures and (slots.named or slots.groups):
            self._measure(MeasureMention("count", item))  # "which country has the most customers"
        elif self._joined(slots.measures[-1].item if slots.measures else None):
            self._measure(MeasureMention("count", item))  # "number of orders and customers"
        elif self._joined(slots.named[-1] if slots.named else None):
            raise Refusal(f"Rows of two tables side by side are not read: ask for {item.text} alone, or for a number.")
        else:
            slots.named.append(item)
            self._now = item

    def _joined(self, item: Item | None) -> bool:
        """Whether `and` joins the item at hand with a table right before it."""
        return item is not None and bool(item.tables) and self._peek(-2).is_cue("and") and self._peek(-3) is item

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
            self._measure(MeasureMention(self._of_column(item), item))
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
        if self._peek().is_cue("times") or item.factors:
            self._measure(MeasureMention(None, item))
            self._after_measure()
            return
        self._mention(item)

    def _mention(self, item: Item) -> None:
        """A column that is said and not tested: a group, what rows are sorted by, a number, or a column to show."""
        slots = self._slots
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
            self._measure(MeasureMention(self._carried(), item))
            self._after_measure()
        else:
            slots.named.append(item)

    def _carried(self) -> Aggregate | None:
        """ "average price and quantity": the second number is averaged like the first."""
        measures = self._slots.measures
        if measures and self._peek(-2).is_cue("and") and self._peek(-3) is (measures[-1].times or measures[-1].item):
            carried = measures[-1].aggregate
            return None if carried in ("count", "distinct") else carried
        return None

    def _lead(self, item: Item) -> None:
        """The number that rows are sorted by."""
        slots = self._slots
        for i, mention in enumerate(slots.measures):
            if set(mention.item.places) & set(item.places):
                slots.leading = i
                return
        slots.leading = len(slots.measures)
        self._measure(MeasureMention(self._of_column(item), item))
        self._after_measure()

    def _of_column(self, item: Item) -> Aggregate | None:
        """The aggregate that was said; the number of a column is that of its different values."""
        return "distinct" if self._aggregate == "count" and not item.factors else self._aggregate

    def _measure(self, mention: MeasureMention) -> None:
        named = self._slots.named
        if named and not self._slots.groups and self._listed is named[-1]:  # "customers and their total amount"
            self._slots.groups.append(By(named.pop()))
        self._slots.measures += [MeasureMention(aggregate, mention.item) for aggregate in self._more]
        self._more = []
        self._slots.measures.append(mention)
        self._aggregate = None
        self._grouping = False
        self._sorting = False
        self._now = len(self._slots.measures) - 1

    def _after_measure(self) -> None:
        """A second factor, or a condition on the number itself."""
        mention = self._slots.measures[-1]
        if mention.item.factors:
            mention.times = replace(mention.item, places=mention.item.factors)
        elif self._peek().is_cue("times"):
            if self._peek(1).kind != "column":
                raise Refusal("“times” stands between two columns, as in “total quantity times unit price”.")
            mention.times = self._peek(1)
            self._at += 2


def _word(aggregate: str) -> str:
    return {"sum": "total", "avg": "average", "count": "number", "distinct": "number", "stddev": "deviation"}.get(
        aggregate, {"min": "minimum", "max": "maximum"}.get(aggregate, aggregate)
    )
