"""The embedded grammar: words -> QuerySpec by cues and slots. No key, no network, the same answer every time.

Three passes: the lexicon cuts the text into items, `binding` turns numbers into filters, and the reader here lets the
cues fill slots. What is not understood is refused; what could mean two things is asked back.
"""

from dataclasses import dataclass, field
from typing import get_args

from mirror import catalog
from mirror.profile import Profile
from mirror.query_spec import Aggregate, ChartType, ChartWish, Filter, Metric, Operator, Order, QuerySpec, Shape, Value
from mirror.understand.binding import SUPERLATIVES, bind
from mirror.understand.complete import complete
from mirror.understand.errors import Ambiguity, Refusal
from mirror.understand.lexicon import ACTIONS, Item, Lexicon, tokens

_AGGREGATES: tuple[str, ...] = get_args(Aggregate)

# superlative -> (metric it names by itself, the end it wants: one of the metric's direction, or a fixed one)
_MEANING: dict[str, tuple[str | None, str]] = {
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
# comparative -> metric it compares, where it names one
_COMPARATIVES = {
    "faster": "latency_us", "slower": "latency_us", "smaller": "memory_mb", "larger": "memory_mb", "better": None,
    "worse": None,
}  # fmt: skip
_CANNOT = {
    "difference": "A difference to the baseline is not a column: ask “memory vs AUC”, which shows the baseline beside "
    "the others, or “best AUC” under a limit.",
    "curves": "Curves over training cannot be asked for in words: open a trial on the page Runs, or ask with SQL, such "
    "as SELECT step, value FROM curves WHERE metric = 'loss'.",
    "time": "Questions about time cannot be asked in words: ask with SQL, such as SELECT started_at, method, "
    "latency_us FROM history ORDER BY started_at.",
}


@dataclass
class _Slots:
    """What the cues have filled so far."""

    metrics: list[str] = field(default_factory=list)
    filtered_metrics: list[str] = field(default_factory=list)  # named only to filter by them
    grouped: list[str] = field(default_factory=list)  # dimensions named after `by`
    named: list[str] = field(default_factory=list)  # dimensions only mentioned
    filters: list[Filter] = field(default_factory=list)
    superlative: str = ""
    leading: str = ""  # the metric that the superlative stands before
    extreme: str = ""  # the axis of "at the largest batch size"
    comparative: str = ""
    over_baseline: bool = False  # "speedup over dense"
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

    def methods(self) -> list[str]:
        """The methods that the question names to be shown."""
        return [str(v) for f in self.filters if f.column == "method" and f.operator in ("=", "in") for v in f.values]


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
    for item in items:
        if item.kind == "cue" and item.name.startswith("cannot:"):
            raise Refusal(_CANNOT[item.name.removeprefix("cannot:")])
    if unknown := [i.text for i in items if i.kind == "unknown"]:
        raise Refusal(_unknown_sentence(unknown, lexicon))
    if all(i.kind == "filler" for i in items):
        raise Refusal(f"No word of this question names a result. {known_sentence()}")
    bound, assumed = bind([i for i in items if i.kind != "filler"], profile)
    slots = _Reader(bound, profile).slots()
    slots.notes[:0] = [*notes, *assumed]
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
    """Walks the bound items once, left to right, and fills the slots."""

    def __init__(self, items: list[Item], profile: Profile) -> None:
        self.items = items
        self.profile = profile
        self.at = 0
        self.filled = _Slots()
        self.grouping = False  # after `by`: columns become dimensions
        self.negated = ""  # after `not`: the column whose values are excluded, "?" until it is known

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
            elif item.kind == "limit":
                self.filled.limit = int(item.value or 0)
            else:
                for f in item.filters:
                    self._add_filter(f.column, f.operator, f.values)
                self.negated = ""
        return self.filled

    # -- cues ------------------------------------------------------------------------------------------------------

    def _cue(self, item: Item) -> None:
        slots, name = self.filled, item.name
        if name == "and":
            return
        if name not in ("by", "to"):
            self.grouping = False
        self.negated = "?" if name == "not" else ""
        if name == "by":
            self.grouping = True
        elif name in SUPERLATIVES:
            self._superlative(name)
        elif name in _COMPARATIVES:
            slots.comparative = name
        elif name in ("<", ">"):  # binding leaves these only before a value: "smaller than dense"
            slots.comparative = {"<": "smaller", ">": "larger"}[name]
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
        elif name == "compressed":
            self._add_filter("compression", "<", (1.0,))
        elif name == "failed":
            slots.failures = True
        elif name == "why":
            slots.named.append("error")
        elif name == "vs":
            slots.tradeoff = True
        elif name in ("compare", "trials", "log", "count"):
            setattr(slots, name, True)

    def _superlative(self, name: str) -> None:
        slots, following = self.filled, self.peek()
        if following.kind == "column" and catalog.entry(following.name).role == "axis":
            entry = catalog.entry(following.name)
            if entry.numeric and name not in ("top", "bottom", "best", "worst", "fastest", "slowest"):
                self.at += 1
                self._extreme(name, following.name)
                return
        if slots.superlative not in ("", "top", "bottom") and name not in ("top", "bottom"):
            raise Ambiguity(
                "Two rankings at once have no single winner: which one?",
                ("memory vs AUC", "which method has the best AUC?", "which method has the smallest memory?"),
            )
        if slots.superlative in ("", "top", "bottom"):  # "top 5 fastest": the second word says what of
            slots.superlative = name
        if following.kind == "column" and catalog.entry(following.name).role == "metric":
            slots.leading = following.name

    def _extreme(self, name: str, axis: str) -> None:
        """ "at the largest batch size": the axis at the end of the values that there are."""
        values = [v for v in self.profile.values(axis) if isinstance(v, (int, float))]
        if not values:
            raise Refusal(f"The results hold no value of {catalog.entry(axis).label}.")
        high = name in ("highest", "largest")
        if axis == "compression":  # a high compression keeps a small fraction
            high = not high
        value = max(values) if high else min(values)
        self._add_filter(axis, "=", (value,))
        self.filled.extreme = axis
        self.filled.notes.append(f"{name} {catalog.entry(axis).label} is {value:g}")

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

    # -- columns and values ----------------------------------------------------------------------------------------

    def _column(self, item: Item) -> None:
        slots = self.filled
        if self.negated:
            self._without(item)
            return
        if catalog.entry(item.name).role == "metric":
            if item.value == "filtered":
                slots.filtered_metrics.append(item.name)
            elif self.grouping and slots.superlative:  # "top 5 methods by AUC"
                slots.leading = slots.leading or item.name
                self._add_metric(item.name)
                self.grouping = False
            else:
                self._add_metric(item.name)
                if self.peek(-2).is_cue("count"):  # "how many parameters" asks for memory, not for trials
                    slots.count = False
        elif self.grouping or self.peek(-2).is_cue("vs"):
            slots.grouped.append(item.name)
        else:
            self._add_named(item.name)

    def _without(self, item: Item) -> None:
        self.negated = ""
        if item.name != "compression":
            label = catalog.entry(item.name).label
            raise Refusal(f"It is not clear what “without {item.text}” leaves out: name a value of {label}.")
        self._add_filter("compression", "=", (1.0,))
        self.filled.notes.append("without compression is compression 1")

    def _value(self, item: Item) -> None:
        assert item.value is not None
        slots, before = self.filled, self.peek(-2)
        if self.negated == "?":
            self.negated = item.name
        excluded = self.negated == item.name
        if not excluded:
            self.negated = ""
        if item.name == "method" and not excluded and before.is_cue("than", "by", "vs"):
            if before.is_cue("than") or "speedup" in slots.metrics:
                slots.over_baseline = item.value == catalog.words()["baseline"]
                if slots.over_baseline and "speedup" in slots.metrics:
                    return  # a speedup is over the baseline already
            if before.is_cue("by") and not slots.over_baseline:
                self.grouping = False
        if item.name == "direction" and item.text == "backward":
            slots.notes.append("backward is timed together with forward")
        if item.name == "status":
            slots.failures = True
        self._add_filter(item.name, "<>" if excluded else "=", (item.value,))
        if before.kind == "column" and before.name == item.name:  # "method hashed": the word only names the value
            for names in (slots.named, slots.grouped):
                if item.name in names:
                    names.remove(item.name)

    def _add_metric(self, column: str) -> None:
        if column not in self.filled.metrics:
            self.filled.metrics.append(column)

    def _add_named(self, column: str) -> None:
        if column not in self.filled.named:
            self.filled.named.append(column)

    def _add_filter(self, column: str, operator: Operator, values: tuple[Value, ...]) -> None:
        """Add a filter; a second value for the same column makes a list."""
        single: Operator
        several: Operator
        filters = self.filled.filters
        for single, several in (("=", "in"), ("<>", "not in")):
            if operator not in (single, several):
                continue
            for i, f in enumerate(filters):
                if f.column == column and f.operator in (single, several):
                    merged = tuple(dict.fromkeys((*f.values, *values)))
                    filters[i] = Filter(column, single if len(merged) == 1 else several, merged)
                    return
        filters.append(Filter(column, operator, values))


# -- slots -> QuerySpec --------------------------------------------------------------------------------------------


def _spec(slots: _Slots) -> QuerySpec:
    """The bare QuerySpec of the slots; `complete` adds what the results leave open."""
    _check_contradictions(slots.filters)
    if slots.comparative:
        _comparative(slots)
    if slots.extreme and slots.filtered_metrics and not slots.metrics and not slots.superlative:
        metric, axis = catalog.entry(slots.filtered_metrics[0]).label, catalog.entry(slots.extreme).label
        raise Refusal(
            f"The {axis} that keeps a limit cannot be searched for: ask “{metric} by {axis}” with that limit."
        )
    if not slots.metrics and (slots.superlative not in _OWN or not slots.filtered_metrics):
        slots.metrics = list(dict.fromkeys(slots.filtered_metrics))
    if slots.failures or "error" in slots.named or "status" in (*slots.named, *slots.grouped):
        return _failures(slots)
    if slots.superlative:
        return _superlative(slots)
    dimensions = tuple(dict.fromkeys([*slots.grouped, *slots.named]))
    if slots.count:
        return _with(slots, "count", (), dimensions)
    asked = slots.metrics or len(slots.methods()) >= 2 or slots.trials or (slots.compare and slots.filters)
    if not asked and not any(f.column == "benchmark" for f in slots.filters):
        raise _nothing_asked(slots)
    points = len(slots.metrics) >= 2 and (slots.tradeoff or slots.chart == "scatter") and slots.aggregate is None
    if points or slots.chart in ("box", "histogram"):
        return _with(slots, "points", tuple(Metric(m) for m in slots.metrics), dimensions)
    if not slots.grouped and "method" not in dimensions:
        dimensions = ("method", *dimensions)
    return _with(slots, "groups", _aggregated(slots, slots.metrics), dimensions)


_OWN = tuple(name for name, (own, _) in _MEANING.items() if own)


def _aggregated(slots: _Slots, metrics: list[str]) -> tuple[Metric, ...]:
    return tuple(Metric(m, slots.aggregate or "avg") for m in metrics)


def _with(slots: _Slots, shape: Shape, metrics: tuple[Metric, ...], dimensions: tuple[str, ...]) -> QuerySpec:
    """A spec with what every shape takes from the slots."""
    return QuerySpec(
        shape,
        metrics,
        dimensions,
        filters=tuple(slots.filters),
        order=tuple(slots.sort),
        chart=ChartWish(slots.chart, log_x=slots.log, log_y=slots.log and slots.chart != "scatter"),
        notes=tuple(slots.notes),
    )


def _check_contradictions(filters: list[Filter]) -> None:
    """Raise Refusal for two filters that no row can pass together."""
    for f in filters:
        for g in filters:
            if f.column != g.column or f is g:
                continue
            low, high = f.values[0], g.values[0]
            numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
            opposed = f.operator in (">", ">=") and g.operator in ("<", "<=")
            if numbers and opposed and (low > high or (low == high and "=" not in f.operator + g.operator)):  # type: ignore[operator]
                label = catalog.entry(f.column).label
                raise Refusal(f"No trial has {label} {f.operator} {low} and {g.operator} {high} at once: change one.")


def _comparative(slots: _Slots) -> None:
    """ "is hashed faster than dense" compares two methods; "faster than dense" keeps what has a speedup."""
    metric = _COMPARATIVES[slots.comparative]
    methods = slots.methods()
    if len(methods) >= 2:
        slots.compare = True
        if metric and not slots.metrics:
            slots.metrics = [metric]
        return
    if slots.over_baseline and slots.comparative in ("faster", "slower"):
        slots.filters[:] = [f for f in slots.filters if f.column != "method"]
        slots.filters.append(Filter("speedup", ">" if slots.comparative == "faster" else "<", (1,)))
        slots.metrics = [*dict.fromkeys([*slots.metrics, "speedup"])]
        return
    raise Refusal(
        f"It is not clear what is compared with what by “{slots.comparative}”: name two methods, as in "
        "“is hashed faster than dense at batch size 512”, or a limit, as in “memory under 5 MB”."
    )


def _failures(slots: _Slots) -> QuerySpec:
    if slots.metrics:
        label = catalog.entry(slots.metrics[0]).label
        raise Refusal(f"A failed trial has no {label}: ask how many failed, or why.")
    dimensions = tuple(dict.fromkeys([*slots.grouped, *slots.named]))
    if not any(f.column == "status" for f in slots.filters):
        slots.filters.append(Filter("status", "<>", ("skipped",)))  # "failed" means every status but skipped
    listing = not slots.count and ("error" in dimensions or not dimensions)
    shown = ("status", "benchmark", "method", "dataset", "compression", "embedding_dim", "batch_size", "seed", "error")
    spec = _with(slots, "rows" if listing else "count", (), shown if listing else dimensions)
    return QuerySpec(**{**vars(spec), "source": "failures"})


def _superlative(slots: _Slots) -> QuerySpec:
    own, end = _MEANING[slots.superlative]
    metrics = slots.metrics
    if own in _SPEED and (quick := [m for m in metrics if m in _SPEED]):
        own = quick[0]
    leading = slots.leading or own or (metrics[0] if metrics else "")
    if not leading and len(slots.filtered_metrics) == 1:
        leading = slots.filtered_metrics[0]
    if not leading:
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
    descending = {
        "descending": True, "ascending": False, "better": better == "higher", "worse": better == "lower",
    }[end]  # fmt: skip
    # "per data set": one winner for each; "which method": the winner is a method, not a group.
    partitions = tuple(d for d in dict.fromkeys(slots.grouped) if d != "method")
    named = tuple(d for d in slots.named if d not in partitions)
    entities = ("method",) if "method" in (*slots.grouped, *slots.named) or partitions else ()
    spec = _with(
        slots,
        "ranking" if slots.limit else "best",
        _aggregated(slots, [leading, *(m for m in metrics if m != leading)]),
        tuple(dict.fromkeys([*partitions, *entities, *named])),
    )
    order = (Order(leading, descending),)
    return QuerySpec(**{**vars(spec), "partitions": partitions, "order": order, "limit": slots.limit})


def _nothing_asked(slots: _Slots) -> Ambiguity:
    methods = slots.methods()
    about = f" for {methods[0]}" if methods else ""
    return Ambiguity(
        "What should be shown: quality, memory or speed?",
        (f"AUC by compression{about}", f"memory vs AUC{about}", f"latency by batch size{about}"),
    )
