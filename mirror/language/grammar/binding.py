"""Binds every number of a question to its column, before any cue is read: items with numbers -> items with filters.

`compression 0.1`, `16 dims`, `under 5 MB`, `between 0.05 and 0.5`, `batch sizes 64, 512`, `except 512`, `10x smaller`,
`top 5`, `the 3 fastest`.
"""

from mirror.language.grammar.lexicon import KNOWN_UNITS, SCALES, UNITS, Item
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, Operator
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value

SUPERLATIVES = ("best", "worst", "highest", "lowest", "fastest", "slowest", "smallest", "largest", "top", "bottom")
_LIMITED = (*SUPERLATIVES, "newest")  # what may have a number of rows beside it
_COMPARISONS: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}
NEGATED: dict[Operator, Operator] = {"=": "<>", "in": "not in", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOTHING = Item("filler", "")


def bind(items: list[Item], profile: Profile) -> tuple[list[Item], list[str]]:
    """Items without fillers -> items without numbers, and notes on what was assumed. Raises Refusal or Ambiguity."""
    binder = _Binder(items, profile)
    while binder.at < len(items):
        binder.step()
    return binder.out, binder.notes


class _Binder:
    """Walks the items once; `out` holds what is bound so far."""

    def __init__(self, items: list[Item], profile: Profile) -> None:
        self.items = items
        self.profile = profile
        self.at = 0
        self.out: list[Item] = []
        self.notes: list[str] = []

    def peek(self, ahead: int = 0) -> Item:
        i = self.at + ahead
        return self.items[i] if 0 <= i < len(self.items) else _NOTHING

    def step(self) -> None:
        item = self.peek()
        if item.kind == "number":
            self._number()
        elif item.is_cue(*_COMPARISONS) and self._number_follows(1):
            self._comparison()
        elif item.is_cue(*_COMPARISONS) and self.peek(1).kind != "value":
            raise Refusal(f"“{item.text}” needs a number after it, such as “memory under 5 MB”.")
        elif item.is_cue("by") and item.text == "over" and self.peek(1).kind == "number" and not self._before_is_axis():
            self._comparison()  # "speedup over 2"
        elif item.is_cue("between") and self.peek(1).kind == "number":
            self.at += 1
            if not (self.peek(1).is_cue("and", "to") and self.peek(2).kind == "number"):
                raise Refusal(f"“{item.text}” needs two numbers, such as “compression between 0.05 and 0.5”.")
            self._range()
        else:
            self.out.append(item)
            self.at += 1

    def _before_is_axis(self) -> bool:
        return bool(self.out) and self._is_axis(self.out[-1])

    def _number_follows(self, ahead: int) -> bool:
        """Whether a number stands there, or behind a column ("at least batch size 512")."""
        return self.peek(ahead).kind == "number" or (
            self.peek(ahead).kind == "column" and self.peek(ahead + 1).kind == "number"
        )

    # -- what a number may be part of ------------------------------------------------------------------------------

    def _number(self) -> None:
        item, after = self.peek(), self.peek(1)
        if self._takes_limit(item, after):
            return
        if after.is_cue("to") and self.peek(2).kind == "number":
            self._range()
            return
        if self._smaller_follows(item):
            self._emit("compression", "=", (self._fraction(item),), used=2)
            return
        if after.is_cue("faster", "slower") and item.unit == "x":
            self._times_faster(">=")
            return
        numbers = self._list()
        column, used = self._column(numbers, None)
        if catalog.entry(column).role == "metric":
            label = catalog.entry(column).label
            raise Refusal(f"“{item.text}” alone says too little about {label}: say under or above {item.text}.")
        values = self._values(numbers, column)
        self._emit(column, "=" if len(values) == 1 else "in", values, used)

    def _smaller_follows(self, item: Item) -> bool:
        """Whether "10x" is what something is smaller by; "smaller than" leaves the "than" behind."""
        after = self.peek(1)
        if after.is_cue("<") and after.text == "smaller than" and self.peek(2).kind == "value" and item.unit == "x":
            self.items[self.at + 1 : self.at + 2] = [Item("cue", "smaller", "smaller"), Item("cue", "than", "than")]
            after = self.peek(1)
        return after.is_cue("smaller") and item.unit in ("x", "")

    def _times_faster(self, operator: Operator) -> None:
        """ "2x faster" is a speedup of 2 or more, "2x slower" one of a half or less."""
        item, slower = self.peek(), self.peek(1).is_cue("slower")
        assert isinstance(item.value, (int, float))
        if item.value <= 0:
            raise Refusal(f"“{item.text} faster” is no speedup: say 2x faster, or speedup above 2.")
        value = float(f"{1 / item.value:.6g}") if slower else item.value
        self._emit("speedup", _MIRRORED[operator] if slower else operator, (value,), used=2)

    def _takes_limit(self, item: Item, after: Item) -> bool:
        """`top 5`, `best 3`, `largest 2 batch sizes`, and `3 fastest` where the number belongs to no axis before it."""
        if item.unit:
            return False
        of_values = self._is_axis(after) and item.value not in self.profile.values(after.name)
        if self.out and self.out[-1].is_cue(*_LIMITED) and (of_values or not self._is_axis(after)):
            self._limit(item)
            return True
        if after.is_cue(*_LIMITED) and not self._before_is_axis():
            self._limit(item)
            return True
        return False

    def _limit(self, item: Item) -> None:
        if not isinstance(item.value, int) or not 1 <= item.value <= 1000:
            raise Refusal(f"“{item.text}” is no number of rows: ask for the top 1 to 1,000.")
        self.out.append(Item("limit", item.text, value=item.value))
        self.at += 1

    def _list(self) -> list[Item]:
        """The numbers from here on that `and`, `or` or a comma join; a number with a column of its own ends them."""
        numbers = [self.peek()]
        own_column = self._before_is_axis()
        ahead = 1
        while self.peek(ahead).is_cue("and") and self.peek(ahead + 1).kind == "number":
            if own_column and self._is_axis(self.peek(ahead + 2)):
                break  # "batch size 64 and 2 threads"
            if self.peek(ahead + 1).unit != numbers[0].unit or self.peek(ahead + 2).is_cue(*SUPERLATIVES):
                break
            if not self._goes_with(numbers[0], self.peek(ahead + 1)):
                break  # "dim 16 and 0.1"
            numbers.append(self.peek(ahead + 1))
            ahead += 2
        self.at += len(numbers) * 2 - 2  # now at the last number
        return numbers

    def _goes_with(self, first: Item, other: Item) -> bool:
        """Whether two numbers may be of one column: a whole one and a fraction only where it holds real numbers."""
        whole = [float(n.value or 0).is_integer() for n in (first, other)]
        before = self._before()
        real = before.kind == "column" and catalog.entry(before.name).type == "real"
        return whole[0] == whole[1] or real

    def _comparison(self) -> None:
        cue = self.peek()
        operator: Operator = _COMPARISONS.get(cue.name, ">")
        self.at += 1
        ahead_column = self.peek() if self.peek().kind == "column" else None
        if ahead_column:
            self.at += 1
        numbers = [self.peek()]
        if numbers[0].unit == "x" and self.peek(1).is_cue("faster", "slower"):
            self._times_faster(operator if operator in _MIRRORED else ">=")
            return
        if self._smaller_follows(numbers[0]):
            self._emit("compression", _MIRRORED.get(operator, operator), (self._fraction(numbers[0]),), used=2)
            return
        column, used = self._column(numbers, ahead_column, compared=True)
        value = self._values(numbers, column)[0]
        if column == "compression" and self._is_factor(numbers[0]):
            operator = _MIRRORED.get(operator, operator)  # more than 10x smaller keeps less than a tenth
        self._emit(column, operator, (value,), used)

    def _range(self) -> None:
        low, high = self.peek(), self.peek(2)
        self.at += 2
        column, used = self._column([high if high.unit else low], None, compared=True)
        unit = low.unit or high.unit
        ends = [self._values([Item("number", n.text, "", n.value, n.unit or unit)], column)[0] for n in (low, high)]
        bounds = sorted(float(e) for e in ends)
        whole = catalog.entry(column).type == "integer"
        first, last = ((int(b) if whole and b.is_integer() else b) for b in bounds)
        filters = (Filter(column, ">=", (first,)), Filter(column, "<=", (last,)))
        if self._take_negation():
            raise Refusal("A range cannot be excluded: say what to keep, such as “compression under 0.05”.")
        self._replace_column(column)
        self.out.append(Item("filter", low.text, column, filters=filters))
        self.at += used

    # -- the column of a number ------------------------------------------------------------------------------------

    @staticmethod
    def _is_axis(item: Item) -> bool:
        entry = catalog.entry(item.name) if item.kind == "column" else None
        return entry is not None and entry.role == "axis" and entry.numeric

    def _before(self) -> Item:
        """The item before the number, a negation set aside."""
        i = len(self.out) - 1
        while i >= 0 and self.out[i].is_cue("not"):
            i -= 1
        return self.out[i] if i >= 0 else _NOTHING

    def _column(self, numbers: list[Item], given: Item | None, compared: bool = False) -> tuple[str, int]:
        """(column, items used from here on) of the numbers whose last one is at hand."""
        number, before, after = numbers[0], given or self._before(), self.peek(1)
        if number.unit in UNITS:
            column = UNITS[number.unit][0]
            if before.name == "duration_s" and column == "latency_us":
                return "duration_s", 1
            for near in (before, after):
                if near.kind == "column" and catalog.entry(near.name).unit == catalog.entry(column).unit:
                    return near.name, 2 if near is after else 1
            return column, 1
        if number.unit not in SCALES:
            raise Refusal(f"The unit of “{number.text}” is not known; known are {KNOWN_UNITS}, %, k, m and x.")
        if (
            compared
            and before.is_cue("and")
            and len(self.out) > 1
            and self.out[-2].kind == "filter"
            and not number.unit
        ):
            return self.out[-2].name, 1  # "AUC above 0.7 and below 0.8"
        own_after = self._is_axis(after) and not self._has_own_number(2) and self._fits(number, after.name)
        if self._is_axis(before) and self._fits(number, before.name) and not (own_after and self._grouped_by()):
            return before.name, 1
        if own_after:
            return after.name, 2
        if compared:
            for near in (before, after):
                if near.kind == "column" and catalog.entry(near.name).numeric and self._fits(number, near.name):
                    if number.unit == "x" and catalog.entry(near.name).unit not in ("x", ""):
                        raise Refusal(
                            f"“{number.text}” is a factor, and no limit of {catalog.entry(near.name).label}: name a "
                            "value with its unit, or ask what is relative to what."
                        )
                    return near.name, 2 if near is after else 1
        return self._by_value(numbers, before), 1

    @staticmethod
    def _fits(number: Item, axis: str) -> bool:
        """Whether an axis of whole numbers is not given a fraction: "smallest dim that still has 0.93 AUC"."""
        fraction = number.unit == "" and not float(number.value or 0).is_integer()
        return not (fraction and catalog.entry(axis).type == "integer")

    def _grouped_by(self) -> bool:
        """Whether the columns before the number are what is grouped by: "by batch size at 26 tables"."""
        i = len(self.out) - 1
        while i >= 0 and (self.out[i].kind == "column" or self.out[i].is_cue("and")):
            i -= 1
        return i >= 0 and self.out[i].is_cue("by")

    def _has_own_number(self, ahead: int) -> bool:
        """Whether the column before this place is followed by a number of its own ("0.1 batch size 64")."""
        item = self.peek(ahead)
        return item.kind == "number" and not self._is_axis(self.peek(ahead + 1))

    def _by_value(self, numbers: list[Item], before: Item) -> str:
        number = numbers[0]
        if number.unit == "x":
            return "compression"
        axes = [e.name for e in catalog.entries().values() if e.role == "axis" and e.numeric and e.name != "seed"]
        if self._is_factor(number) and number.unit != "x":
            axes.remove("compression")
        holding = [a for a in axes if all(v in self.profile.values(a) for v in self._values(numbers, a))]
        if len(holding) == 1:
            self.notes.append(f"took {number.text} as {catalog.entry(holding[0]).label}")
            return holding[0]
        if holding:
            labels = [catalog.entry(a).label for a in holding]
            raise Ambiguity(
                f"“{number.text}” could be {', '.join(labels[:-1])} or {labels[-1]}: which one?",
                tuple(f"{label} {number.text}" for label in labels[:3]),
            )
        if before.kind == "column" and catalog.entry(before.name).role == "metric":
            return before.name  # the caller says that a metric needs `under` or `above`
        example = f"say it with its column, such as “batch size {number.text}”"
        raise Refusal(f"It is not clear what “{number.text}” counts: {example}.")

    # -- the value of a number -------------------------------------------------------------------------------------

    def _values(self, numbers: list[Item], column: str) -> tuple[Value, ...]:
        values: list[Value] = []
        for number in numbers:
            listed = number.parts and all(p in self.profile.values(column) for p in number.parts)
            values += number.parts if listed else [self._scaled(number, column)]
        return tuple(dict.fromkeys(values))

    @staticmethod
    def _is_factor(number: Item) -> bool:
        """Whether a compression is said as `10x` rather than as the fraction kept."""
        return number.unit == "x" or (number.unit == "" and isinstance(number.value, (int, float)) and number.value > 1)

    def _scaled(self, number: Item, column: str) -> Value:
        assert isinstance(number.value, (int, float))
        if column == "compression" and self._is_factor(number):
            return self._fraction(number)
        scale = UNITS[number.unit][1] if number.unit in UNITS else SCALES[number.unit]
        if column == "duration_s" and number.unit in UNITS:
            scale /= 1e6  # units of time are in µs
        value = float(f"{number.value * scale:.12g}")  # 10 * 0.01 is 0.1, not 0.1 and a bit
        return int(value) if value.is_integer() and column not in ("compression", "zipf_s") else value

    @staticmethod
    def _fraction(number: Item) -> float:
        """`10x smaller` as the fraction kept."""
        assert isinstance(number.value, (int, float))
        if number.value < 1:
            raise Refusal(f"“{number.text} smaller” is no compression: say 10x smaller, or compression 0.1.")
        return float(f"{1 / number.value:.6g}")

    # -- what comes out --------------------------------------------------------------------------------------------

    def _emit(self, column: str, operator: Operator, values: tuple[Value, ...], used: int) -> None:
        if self._take_negation():
            operator = NEGATED[operator]
        self._replace_column(column)
        self.out.append(Item("filter", self.peek().text, column, filters=(Filter(column, operator, values),)))
        self.at += used

    def _take_negation(self) -> bool:
        """Whether a `not` stands before the number or before its column; it is used up."""
        for back in (1, 2):
            if len(self.out) >= back and self.out[-back].is_cue("not"):
                if back == 2 and self.out[-1].kind != "column":
                    return False
                del self.out[-back]
                return True
        return False

    def _replace_column(self, column: str) -> None:
        """The column that only names the number is no dimension or metric of the question as well."""
        if self.out and self.out[-1].kind == "column" and self.out[-1].name == column:
            self.out.pop()
        if catalog.entry(column).role == "metric":
            # "auc above 0.78", "under 5 MB": asked for too, when nothing else is (see grammar).
            self.out.append(Item("column", column, column, value="filtered"))
