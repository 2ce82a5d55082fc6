"""The embedded grammar: words -> QuerySpec by cues and slots. No key, no network, the same answer every time."""

from dataclasses import dataclass, field
from typing import get_args

from mirror import catalog
from mirror.profile import Profile
from mirror.query_spec import Aggregate, ChartType, ChartWish, Filter, Metric, Operator, Order, QuerySpec, Shape, Value
from mirror.understand.complete import complete
from mirror.understand.errors import Ambiguity, Refusal
from mirror.understand.lexicon import ACTIONS, SCALES, UNITS, Item, Lexicon, tokens

_COMPARISONS: tuple[str, ...] = ("<", "<=", ">", ">=", "=")
_NEGATED: dict[Operator, Operator] = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}
_AGGREGATES: tuple[str, ...] = get_args(Aggregate)

# superlative cue -> (metric it names by itself, whether it wants the better end or a fixed direction)
_SUPERLATIVES: dict[str, tuple[str | None, str]] = {
    "best": (None, "better"),
    "worst": (None, "worse"),
    "highest": (None, "descending"),
    "lowest": (None, "ascending"),
    "fastest": ("latency_us", "better"),
    "slowest": ("latency_us", "worse"),
    "smallest": ("memory_mb", "ascending"),
    "largest": ("memory_mb", "descending"),
    "top": (None, "better"),
    "bottom": (None, "worse"),
}
_SPEED = ("latency_us", "samples_per_s", "bandwidth_gb_s", "speedup")


@dataclass
class _Slots:
    """What the cues have filled so far."""

    metrics: list[Metric] = field(default_factory=list)
    grouped: list[str] = field(default_factory=list)  # dimensions named after `by`
    named: list[str] = field(default_factory=list)  # dimensions only mentioned
    filters: list[Filter] = field(default_factory=list)
    superlative: str = ""
    limit: int | None = None
    aggregate: Aggregate | None = None
    sort: list[Order] = field(default_factory=list)
    tradeoff: bool = False
    compare: bool = False
    count: bool = False
    failures: bool = False
    trials: bool = False
    chart: ChartType | None = None
    log: bool = False
    notes: list[str] = field(default_factory=list)


def read(question: str, profile: Profile) -> QuerySpec:
    """The QuerySpec of a question, completed with what the results leave open.

    Raises:
        Refusal: a word is not known, or the question asks for nothing the results hold.
        Ambiguity: several readings are equally likely.
    """
    if tokens(question)[:1] and tokens(question)[0] in ACTIONS:
        raise Refusal(
            "Asking never starts a run: open the page New run, choose a sweep or fill the form, and press Start."
        )
    lexicon = Lexicon(profile)
    items, notes = lexicon.items(question)
    unknown = [i.text for i in items if i.kind == "unknown"]
    if unknown:
        raise Refusal(_unknown_sentence(unknown, lexicon))
    if not any(i.kind in ("column", "value", "cue", "number") for i in items):
        raise Refusal(f"No word of this question names a result. {known_sentence()}")
    slots = _Reader([i for i in items if i.kind != "filler"], profile).slots()
    slots.notes[:0] = notes
    return complete(_spec(slots), profile, question)


def known_sentence() -> str:
    """What can be asked about, in one sentence."""
    metrics = [e.label for e in catalog.entries().values() if e.role == "metric" and not e.name.startswith("latency_")]
    axes = ("method", "data set", "compression", "dim", "batch size", "machine")
    groups = f"and {', '.join(axes)} to group or filter by"
    return f"Known are the metrics {', '.join(metrics)}, latency with its percentiles, {groups}."


def _unknown_sentence(unknown: list[str], lexicon: Lexicon) -> str:
    words = ", ".join(f"“{w[:40]}”" for w in dict.fromkeys(unknown[:6]))
    more = f" and {len(unknown) - 6} more words" if len(unknown) > 6 else ""
    near = list(dict.fromkeys(label for w in unknown[:6] for label in lexicon.nearest(w)))
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"The results say nothing about {words}{more}.{hint} {known_sentence()}"


class _Reader:
    """Walks the items once, left to right, and fills the slots."""

    def __init__(self, items: list[Item], profile: Profile) -> None:
        self.items = items
        self.profile = profile
        self.at = 0
        self.filled = _Slots()
        self.grouping = False  # after `by`: columns become dimensions
        self.negated = False  # after `not`: values are excluded

    def peek(self, ahead: int = 0) -> Item:
        i = self.at + ahead
        return self.items[i] if 0 <= i < len(self.items) else Item("filler", "")

    def slots(self) -> _Slots:
        while self.at < len(self.items):
            item = self.peek()
            self.at += 1
            if item.kind == "cue":
                self._cue(item)
            elif item.kind == "column":
                self._column(item)
            elif item.kind == "value":
                self._value(item)
            else:
                self._bare_number(item)
        return self.filled

    # -- cues ------------------------------------------------------------------------------------------------------

    def _cue(self, item: Item) -> None:
        slots, name = self.filled, item.name
        if name == "and":
            return
        if name != "by":
            self.grouping = False
        if name != "not":
            negated, self.negated = self.negated, False
        if name in _COMPARISONS:
            self._comparison(name, negated)
        elif name == "by":
            self._by()
        elif name == "between":
            self._between()
        elif name in _SUPERLATIVES:
            self._superlative(name)
        elif name == "sort":
            self._sort()
        elif name in ("ascending", "descending") and slots.sort:
            slots.sort[-1] = Order(slots.sort[-1].column, name == "descending")
        elif name in _AGGREGATES and name != "count":
            slots.aggregate = name  # type: ignore[assignment]
        elif name.startswith("chart:"):
            slots.chart = name.removeprefix("chart:")  # type: ignore[assignment]
        elif name.startswith("status:"):
            slots.failures = True
            self._add_filter("status", "=", (name.removeprefix("status:"),))
        elif name == "vs":
            slots.tradeoff = True
        elif name == "not":
            self.negated = True
        elif name == "failed":
            slots.failures = True
        elif name == "why":
            slots.named.append("error")
        elif name == "count":
            slots.count = True
        elif name in ("compare", "trials", "log"):
            setattr(slots, name, True)

    def _by(self) -> None:
        if self.peek().kind == "number":  # "speedup over 2"
            self._comparison(">", False)
        else:
            self.grouping = True

    def _superlative(self, name: str) -> None:
        slots = self.filled
        if slots.superlative in ("", "top", "bottom"):  # "top 5 fastest": the second word says what of
            slots.superlative = name
        if self.peek().kind == "number" and not self.peek().unit:
            slots.limit = self._limit(self.peek())
            self.at += 1
        elif self.peek(-2).kind == "number" and self.filled.limit is None and self.at >= 2:  # "the 3 fastest"
            pending = [n for n in slots.notes if n.startswith("\0")]
            if pending:
                slots.notes.remove(pending[0])
                slots.limit = self._limit(self.peek(-2))

    @staticmethod
    def _limit(item: Item) -> int:
        if not isinstance(item.value, int) or not 1 <= item.value <= 1000:
            raise Refusal(f"“{item.text}” is no number of rows: ask for the top 1 to 1,000.")
        return item.value

    def _sort(self) -> None:
        item = self.peek()
        if item.kind != "column":
            raise Refusal("Sorting needs a column after it, such as “sorted by memory”.")
        self.at += 1
        entry = catalog.entry(item.name)
        self.filled.sort.append(Order(item.name, entry.better == "higher"))
        if entry.role == "metric":
            self._add_metric(item.name)
        else:
            self._add_named(item.name)

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _comparison(self, operator: str, negated: bool) -> None:
        before = self.peek(-2)
        item = self.peek()
        if item.kind == "column" and self.peek(1).kind == "number":  # "at least batch size 512"
            self.at += 1
            before, item = item, self.peek()
        if item.kind == "value" and operator == "=":
            return  # "method = hashed": the value says it all
        if item.kind != "number":
            raise Refusal(f"“{operator}” needs a number after it, such as “memory under 5 MB”.")
        self.at += 1
        column = self._column_of(item, before)
        chosen: Operator = operator  # type: ignore[assignment]
        self._add_filter(column, _NEGATED[chosen] if negated else chosen, (self._scaled(item, column),))
        self._forget_metric(column, before)

    def _between(self) -> None:
        low = self.peek()
        if low.kind != "number":
            return  # "from", or "difference between dense and hashed"
        high = self.peek(2)
        if high.kind != "number":
            raise Refusal("“between” needs two numbers, such as “compression between 0.05 and 0.5”.")
        before = self.peek(-2)
        column = self._column_of(high if high.unit else low, before)
        self.at += 3
        bounds = sorted(float(self._scaled(n, column)) for n in (low, high))
        self._add_filter(column, ">=", (bounds[0],))
        self._add_filter(column, "<=", (bounds[1],))
        self._forget_metric(column, before)

    def _bare_number(self, item: Item) -> None:
        """A number that no comparison announced: after its column, before it, or found by its value."""
        before, after = self.peek(-2), self.peek()
        if before.kind == "cue" and before.name in ("and", "vs") and self.filled.filters:
            last = self.filled.filters[-1]  # "compression 0.1 and 0.05"
            if last.operator in ("=", "in") and all(isinstance(v, (int, float)) for v in last.values):
                self.filled.tradeoff &= before.name != "vs"
                self._add_filter(last.column, "=", (self._scaled(item, last.column),))
                return
        if after.kind == "cue" and after.name == "times smaller" and item.unit in ("x", ""):
            self.at += 1
            self._add_filter("compression", "=", (self._fraction(item),))
            return
        if after.kind == "cue" and after.name in _SUPERLATIVES:  # "the 3 fastest"
            self.filled.notes.append("\0limit")
            return
        if before.kind == "column" and not item.unit.isalpha() | (item.unit in SCALES):
            column = before.name
        elif after.kind == "column" and catalog.entry(after.name).role == "axis" and before.kind != "column":
            self.at += 1
            column = after.name
        else:
            column = self._column_of(item, before)
        if catalog.entry(column).role == "metric":
            raise Refusal(
                f"“{item.text}” alone says too little about {catalog.entry(column).label}: "
                f"say under or above {item.text}."
            )
        self._forget_dimension(column)
        self._add_filter(column, "=", (self._scaled(item, column),))

    def _column_of(self, item: Item, before: Item) -> str:
        """The column a number belongs to: by its unit, by the column before it, or by the values that exist."""
        if item.unit in UNITS:
            column = UNITS[item.unit][0]
            if before.kind == "column" and catalog.entry(before.name).unit == catalog.entry(column).unit:
                return before.name
            return column
        if item.unit not in SCALES:
            raise Refusal(f"The unit of “{item.text}” is not known; known are {', '.join(UNITS)}, %, k, m and x.")
        if before.kind == "column" and catalog.entry(before.name).numeric:
            return before.name
        if self.peek().kind == "column" and catalog.entry(self.peek().name).numeric:  # "under 0.1 compression"
            column = self.peek().name
            self.at += 1
            return column
        axes = [e.name for e in catalog.entries().values() if e.role == "axis" and e.numeric and e.name != "seed"]
        if isinstance(item.value, (int, float)) and item.value > 1 and item.unit != "x":
            axes.remove("compression")
        holding = [a for a in axes if self._scaled(item, a) in self.profile.values(a)]
        if len(holding) == 1:
            self.filled.notes.append(f"took {item.text} as {catalog.entry(holding[0]).label}")
            return holding[0]
        if holding:
            labels = [catalog.entry(a).label for a in holding]
            raise Ambiguity(
                f"“{item.text}” could be {', '.join(labels[:-1])} or {labels[-1]}: which one?",
                tuple(f"{label} {item.text}" for label in labels[:3]),
            )
        raise Refusal(
            f"It is not clear what “{item.text}” counts: say it with its column, such as “batch size {item.text}”."
        )

    def _scaled(self, item: Item, column: str) -> Value:
        assert isinstance(item.value, (int, float))
        if column == "compression" and (item.unit == "x" or (item.unit == "" and item.value > 1)):
            return self._fraction(item)
        scale = UNITS[item.unit][1] if item.unit in UNITS else SCALES.get(item.unit, 1.0)
        value = float(f"{item.value * scale:.12g}")  # 10 * 0.01 is 0.1, not 0.1 and a bit
        return int(value) if value.is_integer() and column not in ("compression", "zipf_s") else value

    def _fraction(self, item: Item) -> float:
        """`10x smaller` as the fraction kept."""
        assert isinstance(item.value, (int, float))
        if item.value < 1:
            raise Refusal(f"“{item.text} smaller” is no compression: say 10x smaller, or compression 0.1.")
        return float(f"{1 / item.value:.6g}")

    # -- columns and values ----------------------------------------------------------------------------------------

    def _column(self, item: Item) -> None:
        entry = catalog.entry(item.name)
        if entry.role == "metric":
            self.negated = False
            if self.grouping and self.filled.superlative:  # "top 5 methods by AUC"
                self.filled.metrics.insert(0, Metric(item.name))
                self.grouping = False
            else:
                self._add_metric(item.name)
        elif self.grouping or (self.filled.tradeoff and self.peek(-2).name == "vs"):
            self.filled.grouped.append(item.name)
        else:
            self._add_named(item.name)

    def _value(self, item: Item) -> None:
        assert item.value is not None
        if item.name == "status":
            self.filled.failures = True
        self._add_filter(item.name, "<>" if self.negated else "=", (item.value,))
        if self.grouping and item.name not in self.filled.grouped and self.peek(-2).name == "by":
            self.grouping = False
        self._forget_dimension(item.name, only_adjacent=True)

    def _add_metric(self, column: str) -> None:
        if all(m.column != column for m in self.filled.metrics):
            self.filled.metrics.append(Metric(column))

    def _add_named(self, column: str) -> None:
        if column not in self.filled.named:
            self.filled.named.append(column)

    def _forget_metric(self, column: str, before: Item) -> None:
        """A metric named only to filter by it ("auc above 0.78") is not asked for as well."""
        if before.kind == "column" and before.name == column:
            if len(self.filled.metrics) > 1 or self.filled.superlative:
                self.filled.metrics = [m for m in self.filled.metrics if m.column != column]
            self._forget_dimension(column)

    def _forget_dimension(self, column: str, only_adjacent: bool = False) -> None:
        if only_adjacent and self.peek(-2).name != column:
            return
        for names in (self.filled.named, self.filled.grouped):
            if column in names:
                names.remove(column)

    def _add_filter(self, column: str, operator: Operator, values: tuple[Value, ...]) -> None:
        """Add a filter; a second value for the same column makes a list."""
        filters = self.filled.filters
        for i, f in enumerate(filters):
            if f.column != column:
                continue
            if operator == "=" and f.operator in ("=", "in"):
                filters[i] = Filter(column, "in", (*f.values, *(v for v in values if v not in f.values)))
                if len(filters[i].values) == 1:
                    filters[i] = Filter(column, "=", filters[i].values)
                return
            if operator == "<>" and f.operator in ("<>", "not in"):
                filters[i] = Filter(column, "not in", (*f.values, *(v for v in values if v not in f.values)))
                if len(filters[i].values) == 1:
                    filters[i] = Filter(column, "<>", filters[i].values)
                return
        filters.append(Filter(column, operator, values))


# -- slots -> QuerySpec --------------------------------------------------------------------------------------------


def _spec(slots: _Slots) -> QuerySpec:
    """The bare QuerySpec of the slots; `complete` adds what the results leave open."""
    chart = ChartWish(slots.chart, log_x=slots.log, log_y=slots.log and slots.chart != "scatter")
    common = {"filters": tuple(slots.filters), "chart": chart, "notes": tuple(slots.notes)}
    dimensions = tuple(dict.fromkeys([*slots.grouped, *slots.named]))
    if slots.failures or "error" in dimensions or "status" in dimensions:
        return _failures(slots, dimensions, common)
    if slots.superlative:
        return _superlative(slots, dimensions, common)
    metrics = tuple(slots.metrics)
    if slots.count or (slots.trials and not metrics and not slots.compare):
        return QuerySpec("count", (), dimensions, order=tuple(slots.sort), **common)  # type: ignore[arg-type]
    points = len(metrics) >= 2 and (slots.tradeoff or slots.chart == "scatter") and slots.aggregate is None
    if points or slots.chart in ("box", "histogram"):
        shape: Shape = "points"
    else:
        shape = "groups"
        metrics = tuple(Metric(m.column, slots.aggregate or "avg") for m in metrics)
    methods = [v for f in slots.filters if f.column == "method" and f.operator in ("=", "in") for v in f.values]
    if not metrics and len(methods) < 2 and not (slots.compare and slots.filters):
        raise _nothing_asked(slots)
    if shape == "groups" and not slots.grouped and "method" not in dimensions:
        dimensions = ("method", *dimensions)
    return QuerySpec(shape, metrics, dimensions, order=tuple(slots.sort), **common)  # type: ignore[arg-type]


def _failures(slots: _Slots, dimensions: tuple[str, ...], common: dict[str, object]) -> QuerySpec:
    filters = slots.filters
    if not any(f.column == "status" for f in filters):
        # "failed" means every status but skipped.
        filters = [*filters, Filter("status", "<>", ("skipped",))]
    unknown = [m.column for m in slots.metrics]
    if unknown:
        raise Refusal(f"A failed trial has no {catalog.entry(unknown[0]).label}: ask how many failed, or why.")
    common = {**common, "filters": tuple(filters)}
    listing = not slots.count and "error" in dimensions
    if listing or (not slots.count and not dimensions):
        shown = (
            "status",
            "benchmark",
            "method",
            "dataset",
            "compression",
            "embedding_dim",
            "batch_size",
            "seed",
            "error",
        )
        return QuerySpec("rows", (), shown, source="failures", **common)  # type: ignore[arg-type]
    return QuerySpec("count", (), dimensions, source="failures", **common)  # type: ignore[arg-type]


def _superlative(slots: _Slots, dimensions: tuple[str, ...], common: dict[str, object]) -> QuerySpec:
    own, direction = _SUPERLATIVES[slots.superlative]
    metrics = [m.column for m in slots.metrics]
    if own == "latency_us" and any(m in _SPEED for m in metrics):
        own = next(m for m in metrics if m in _SPEED)
    elif own == "memory_mb" and metrics:
        own = metrics[0]
    leading = own or (metrics[0] if metrics else None)
    if leading is None:
        what = f"the {slots.superlative}{f' {slots.limit}' if slots.limit else ''}"
        raise Ambiguity(
            f"By what should {what} be chosen?",
            (
                "which method has the best AUC?",
                "which method has the smallest memory?",
                "which method has the fastest lookups?",
            ),
        )
    better = catalog.entry(leading).better or "higher"
    descending = {"descending": True, "ascending": False, "better": better == "higher", "worse": better == "lower"}[
        direction
    ]
    rest = [m for m in metrics if m != leading]
    return QuerySpec(
        "ranking" if slots.limit else "best",
        tuple(Metric(m, slots.aggregate or "avg") for m in (leading, *rest)),
        dimensions,
        order=(Order(leading, descending),),
        limit=slots.limit,
        **common,  # type: ignore[arg-type]
    )


def _nothing_asked(slots: _Slots) -> Ambiguity:
    methods = [str(v) for f in slots.filters if f.column == "method" for v in f.values]
    about = f" for {methods[0]}" if methods else ""
    return Ambiguity(
        "What should be shown: quality, memory or speed?",
        (f"AUC by compression{about}", f"memory vs AUC{about}", f"latency by batch size{about}"),
    )
