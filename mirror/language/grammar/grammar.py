"""The embedded grammar: words -> QuerySpec by cues and slots. No key, no network, the same answer every time.

Passes: `time_cues` takes out what is said of time, the lexicon cuts the rest into items, `binding` turns numbers into
filters, the reader here lets the cues fill slots, and `shapes` makes them a QuerySpec. What is not understood is
refused; what could mean two things is asked back.
"""

import re
from copy import deepcopy
from datetime import UTC, datetime
from typing import get_args

from mirror.language.grammar import asked_of_one, coverage, families
from mirror.language.grammar.binding import SUPERLATIVES, bind
from mirror.language.grammar.lexicon import Item, Lexicon, lexicon_of
from mirror.language.grammar.shapes import spec_of
from mirror.language.grammar.sides import Sides
from mirror.language.grammar.slots import COMPARATIVES, SlotFill, Slots
from mirror.language.phrases import definitions, quality_cues, time_cues
from mirror.language.phrases.rephrase import rephrase
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.spec import Aggregate, Filter, Operator, Order, QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.table.wording import join
from mirror.words.tokens import tokens

_OVER_ALL = ("over", "across", "for all", "at all", "on all", "over all", "across all")  # "average AUC over data sets"
_AGGREGATES: tuple[str, ...] = get_args(Aggregate)
# cue -> the slot that it sets and nothing else
_FLAGS = {
    "relative": "relative", "sum": "summed", "why": "explain", "vs": "tradeoff", "tradeoff": "tradeoff",
    "training": "over_training",
    **{name: name for name in (
        "compare", "log", "count", "changed", "significant", "front", "newest", "exist", "dominated", "final", "often",
        "recommend", "extent",
    )},
}  # fmt: skip
_COMPARED = {"beats": "better", "<": "smaller", ">": "larger", "improved": "better", "regressed": "worse"}
_EACH = ("for each", "for every", "for any")
_ENDS = ("highest", "lowest", "smallest", "largest")  # which an axis has as well as a metric
_CANNOT = {
    "curves": "Training is followed by its steps, as in “loss over training for hashed”; anything else can be asked "
    "with SQL, such as SELECT step, value FROM curves WHERE metric = 'loss'.",
    "commit": "Times are understood (since 2026-11-01, yesterday), commits are not: a commit is a value of the column "
    "code version, so ask “latency by code version”, or with SQL, such as SELECT code_version, started_at, method, "
    "embedding_dim, batch_size, direction, latency_us, latency_p99_us FROM history ORDER BY started_at.",
    "time": f"This is not understood as a time: {time_cues.HOW_TO_SAY}. Anything else can be asked with SQL, such as "
    "SELECT started_at, method, latency_us FROM history ORDER BY started_at.",
    "missing": "What is missing cannot be asked for in words, only with SQL, such as SELECT method, latency_us FROM "
    "results WHERE embedding_dim IS NULL.",
}
_MISSING = re.compile(
    r"\bnull\b|\b(is|are|was|were|with|has|have)\s+(not\s+)?(missing|empty|blank|unset)(?=\W*($|(and|or|by|for|in|on)\b))",
    re.IGNORECASE,
)
_BELOW_ZERO = re.compile(r"(?<![\w.,)%])(?<!\d )[-−]\.?\d[\w.]*")


def read(question: str, profile: Profile, now: datetime | None = None) -> QuerySpec:
    """The QuerySpec of a question, completed with what the results leave open; arguments and errors as for `parse`."""
    return complete(parse(question, profile, now), profile, question)


def parse(question: str, profile: Profile, now: datetime | None = None) -> QuerySpec:
    """The bare QuerySpec: what the question itself says.

    Args:
        question: in plain words.
        profile: what the results hold.
        now: the present that "yesterday" is told from, naive UTC; by default the clock's.

    Raises:
        Refusal: a word is not known, or the question asks for nothing the results hold.
        Ambiguity: several readings are equally likely.
    """
    slots = slots_of(question, profile, now)
    read_as = deepcopy(slots)  # shapes change the slots that they read
    spec = spec_of(slots)
    coverage.check(read_as, spec)
    return spec


def slots_of(question: str, profile: Profile, now: datetime | None = None) -> Slots:
    """What the words of a question, or of a part of one, say; arguments and errors as for `parse`."""
    words = tokens(question)
    if {"commit", "commits"} & set(words):  # before "since commit ..." is taken for a time
        raise Refusal(_CANNOT["commit"])
    if _MISSING.search(question):
        raise Refusal(_CANNOT["missing"])
    if signed := _BELOW_ZERO.search(question):  # of which the words keep no sign
        raise NotUnderstood(f"What “{signed[0]}” should do here is not clear: ask with SQL for numbers below zero.")
    if meant := definitions.find(question):
        raise Refusal(meant)
    times, within, rest = _cut(question, now)
    lexicon = lexicon_of(profile)
    items, notes = lexicon.items(rest)
    for item in items:
        if item.kind == "cue" and item.name.startswith("cannot:"):
            raise NotUnderstood(_CANNOT[item.name.removeprefix("cannot:")])
    if unknown := [i.text for i in items if i.kind == "unknown"]:
        raise NotUnderstood(_unknown_sentence(unknown, lexicon))
    if all(i.kind == "filler" for i in items) and within is None and times.start is None:
        raise Refusal(f"No word of this question names a result. {known_sentence()}")
    spread = families.spread(items, profile)
    bound, assumed = bind([i for i in spread if i.kind != "filler"], profile)
    slots = _Reader(bound, profile).slots()
    if method := asked_of_one.claimed(items):
        asked_of_one.among_all(slots, method)
    slots.times = times
    slots.within = within
    slots.verdicts_known = bool(profile.values("verdict"))
    slots.one_baseline = bool(profile.compared_with(catalog.words()["baseline"]))
    slots.notes[:0] = [*notes, *assumed]
    return slots


def items_of(question: str, profile: Profile, now: datetime | None = None) -> list[Item]:
    """The phrases of a question from left to right, but for its times, known and unknown. Raises Refusal."""
    return lexicon_of(profile).items(_cut(question, now)[2])[0]


def _cut(question: str, now: datetime | None) -> tuple[time_cues.Times, float | None, str]:
    """The times of a question, how far below the baseline it lets an AUC be, and the rest of its text."""
    times, rest = time_cues.find(rephrase(question), now or datetime.now(UTC).replace(tzinfo=None))
    within, rest = quality_cues.find(rest)
    return times, within, rest


def known_sentence() -> str:
    """What can be asked about, in one sentence."""
    among = (e for e in catalog.entries().values() if e.role == "metric")
    metrics = [e.label for e in among if not e.name.startswith("latency_") and "_ci_" not in e.name]
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
        self.filled = Slots()
        self.ends: list[tuple[str, str, int]] = []  # (superlative, axis, number of values) of "the two largest dims"
        self.sides = Sides()
        self.grouping = False  # after `by`: columns become dimensions
        self.collapsing = False  # after `averaged over`: columns are averaged over
        self.referring = False  # after `relative to` or `than`: the value is what others are compared with
        self.negated = ""  # after `not`: the column whose values are excluded, "?" until it is known
        self.negation = ""  # that `not` as written

    def peek(self, ahead: int = 0) -> Item:
        i = self.at + ahead
        return self.items[i] if 0 <= i < len(self.items) else Item("filler", "")

    def slots(self) -> Slots:
        held = coverage.atoms(self.filled)
        while self.at < len(self.items):
            first, was_negated = self.at, self.negated == "?"
            self._step()
            before, held = held, coverage.atoms(self.filled)
            words = [self.negation] if was_negated else []
            words += [read.text for read in self.items[first : self.at]]
            self.filled.fills += [
                SlotFill(slot, value, " ".join(words)) for slot, value in sorted(held - before, key=str)
            ]
        self._end_negation()
        for end in self.ends:  # a benchmark may be named behind them
            self._add_end(*end)
        return self.filled

    def _step(self) -> None:
        item = self.peek()
        self.at += 1
        if item.kind == "cue":
            self._cue(item)
        elif item.kind == "column":
            self._column(item)
        elif item.kind == "value":
            self._value(item)
        elif item.kind == "curve":
            self.filled.curves.append(item.name)
            if self.peek(-2).is_cue("count"):  # "how many dimensions are alive" asks for the curve
                self.filled.count = False
        elif item.kind == "fact":
            self.filled.facts.append(item.name)
        elif item.kind == "limit":
            self.filled.limit = int(item.value or 0)
        else:
            self._filters(item)

    def _end_negation(self) -> None:
        """Raise Refusal where nothing stands behind a `not` that it could leave out."""
        if self.negated == "?":
            raise Refusal(
                f"It is not clear what “{self.negation}” leaves out: name the value behind it, as in “without dense” "
                "or “not on frappe”, or ask for the opposite."
            )

    def _filters(self, item: Item) -> None:
        if not self.negated:
            self.sides.add(item.filters)
        if self.negated == "?" and any(f.operator not in ("=", "in") for f in item.filters):
            self._end_negation()
        excluded = self.negated == "?"
        for f in item.filters:
            if self.referring and f.operator == "=" and len(item.filters) == 1:
                self._refer(f)
            self._add_filter(f.column, "not in" if excluded else f.operator, f.values)
        self.negated, self.referring = "", False

    def _number_ahead(self) -> bool:
        """Whether a value of an axis stands next, and another one is held already."""
        filters = self.peek().filters
        return len(filters) == 1 and filters[0].operator == "=" and self._has_filter(filters[0].column)

    def _refer(self, f: Filter) -> None:
        """The value is the reference: what else the question names of the column is compared with it."""
        self.filled.against = f
        self.referring = False

    # -- cues ------------------------------------------------------------------------------------------------------

    def _cue(self, item: Item) -> None:
        slots, name = self.filled, item.name
        if name == "and" or (item.text == "count" and self._ends_with_a_metric()):
            return
        if self.negated == "?" and name == "compressed":
            self._without(item)
            return
        self._after_not(item)
        if name == "to":
            slots.to = True
        if name not in ("by", "to"):
            self.grouping = False
        self.collapsing = name == "collapse"
        # binding leaves < and > only before a value: "smaller than dense"
        self.referring = name in ("than", "relative", "beats", "<", ">") or (self.referring and name == "=")
        if name == "not":
            self.negation = item.text
        self.negated = "?" if name == "not" else ""
        if name == "by":
            self.collapsing = slots.aggregate == "avg" and item.text in _OVER_ALL
            self.grouping = not self.collapsing
        elif name in _FLAGS:
            setattr(slots, _FLAGS[name], True)
        elif name in SUPERLATIVES:
            self._superlative(name)
        elif name in ("longest", "shortest"):
            self._superlative({"longest": "highest", "shortest": "lowest"}[name])
            slots.leading = "duration_s"
        elif name in ("max", "min") and self._axis_ahead():
            self._superlative({"max": "highest", "min": "lowest"}[name])
        elif name in _AGGREGATES and name not in _FLAGS:
            self._aggregated(name)
        elif name.startswith("chart:"):
            slots.chart = name.removeprefix("chart:")  # type: ignore[assignment]
        elif name == "failed" or name.startswith("status:"):
            self._failed(name)
        else:
            self._choose(item)

    def _after_not(self, item: Item) -> None:
        """What a `not` before the cue denies."""
        slots, name = self.filled, item.name
        if self.negated == "?" and name in (*COMPARATIVES, "beats"):
            slots.denied = f"{self.negation} {item.text}"
        elif self.negated == "?" and name not in ("not", "failed") and not name.startswith("status:"):
            self._end_negation()
        if (name == "failed" or name.startswith("status:")) and self.peek(-2).is_cue("not"):
            raise Refusal("What has no failures cannot be listed: ask how many trials failed by method, or why.")

    def _choose(self, item: Item) -> None:
        """What is held against another, chosen or sorted."""
        slots, name = self.filled, item.name
        if name == "drop:auc":
            slots.relative = True
            self._add_metric("auc")
        elif name in ("drop", "ratio", "saves"):
            slots.contrasts.add(name)
            slots.words |= {word.removesuffix("s") for word in item.text.split()}
        elif name in COMPARATIVES:
            if slots.comparative and slots.comparative != name:
                slots.comparatives.append(slots.comparative)
            slots.comparative = name
        elif name in _COMPARED:
            slots.comparative = _COMPARED[name]
            slots.changed = slots.changed or name in ("improved", "regressed")
        elif name == "compressed":
            self._add_filter("compression", "<", (1.0,))
        elif name == "trials":
            slots.trials = True
            slots.whole_trials = slots.whole_trials or item.text.startswith(("trial", "run"))
        elif name == "sort":
            self._sort()
        elif name in ("ascending", "descending"):
            slots.sort_down = name == "descending"
            if slots.sort:
                slots.sort[-1] = Order(slots.sort[-1].column, slots.sort_down)

    def _aggregated(self, name: str) -> None:
        slots = self.filled
        both = {slots.aggregate, name} - {None}
        if len(both) > 1 and both != {"avg", "stddev"}:  # beside a mean its deviation stands anyway
            raise Refusal(f"Only one of {' and '.join(sorted(map(str, both)))} can be shown at once: name one.")
        slots.aggregate = "avg" if len(both) > 1 else name  # type: ignore[assignment]

    def _failed(self, name: str) -> None:
        slots, status = self.filled, self._has_filter("status")
        if name == "failed":
            slots.failures = True
            if status:
                slots.filters[:] = [f for f in slots.filters if f.column != "status"]
                slots.grouped.append("status")
        elif slots.failures and not status:
            slots.grouped.append("status")  # "how many failed, and how many were skipped"
        else:
            slots.failures = True
            self._add_filter("status", "=", (name.removeprefix("status:"),))

    def _ends_with_a_metric(self) -> bool:
        """Whether the cue at hand is the last word and a verb: "when memory and AUC count"."""
        before = self.peek(-2)
        return self.at == len(self.items) and before.kind == "column" and catalog.entry(before.name).role == "metric"

    def _superlative(self, name: str) -> None:
        slots, following = self.filled, self.peek()
        if name in _ENDS and (axis := self._axis_ahead()):
            self._extreme(name, axis)
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

    def _axis_ahead(self) -> str | None:
        """The axis of numbers that stands next, a number of its values set aside: "largest 2 batch sizes"."""
        item = self.peek(1) if self.peek().kind == "limit" else self.peek()
        entry = catalog.entry(item.name) if item.kind == "column" else None
        return item.name if entry and entry.role == "axis" and entry.numeric else None

    def _extreme(self, name: str, axis: str) -> None:
        """ "at the largest batch size", "the two smallest dims": the axis at the end of the values that there are."""
        number = 1
        if self.peek(-2).kind == "limit":
            number, self.filled.limit = int(self.peek(-2).value or 1), None
            self.filled.fills[:] = [fill for fill in self.filled.fills if fill.slot != "limit"]
        elif self.peek().kind == "limit":
            number = int(self.peek().value or 1)
            self.at += 1
        self.at += 1
        self.filled.extreme = axis
        self.ends.append((name, axis, number))

    def _add_end(self, name: str, axis: str, number: int) -> None:
        """A filter on the values at the end of an axis, of the benchmarks that the question names."""
        held = (f.values for f in self.filled.filters if f.column == "benchmark" and f.operator in ("=", "in"))
        asked = next(held, ())
        among = [v for b in asked for v in self.profile.values(axis, str(b))] if asked else self.profile.values(axis)
        values = {v for v in among if isinstance(v, (int, float))}
        entry = catalog.entry(axis)
        if not values:
            raise Refusal(f"The results hold no value of {entry.label}.")
        high = name in ("highest", "largest")
        if axis == "compression":  # a high compression keeps a small fraction
            high = not high
        found = sorted(values, reverse=high)[:number]
        self._add_filter(axis, "=" if len(found) == 1 else "in", tuple(found))
        listed = join([f"{value:g}" for value in found])
        self.filled.notes.append(
            f"{name} {entry.label} is {listed}" if number == 1 else f"{name} {entry.label}: {listed}"
        )

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
        if self.negated == "?":
            self._without(item)
            return
        self.negated = ""  # "all but dense: memory": what is left out ends before another column
        if self.collapsing and catalog.entry(item.name).role != "metric":
            slots.averaged.append(item.name)
            return
        slots.big = slots.big or item.text.startswith("how ")
        if item.text.startswith("how ") and self._names_its_own():
            return  # "how big is the AUC gap" asks for no memory
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
            each = bool(slots.superlative) or self.peek(-2).text in _EACH
            slots.each_method = slots.each_method or (item.name == "method" and each)
        elif slots.counted and self.peek(-2).is_cue("and") and self.peek(-3).name == slots.counted:
            label = catalog.entry(slots.counted).label
            raise Refusal(f"One thing is counted at a time: ask “how many different {label}”, then for {item.text}.")
        elif self.peek(-2).is_cue("count") and self.peek(-2).text != "how often" and not slots.counted:
            slots.counted = item.name
            self._add_named(item.name)
        else:
            self._add_named(item.name)

    def _names_its_own(self) -> bool:
        """Whether a metric, or a gap, stands next, which "how big" is then said of."""
        after = self.peek()
        return (after.kind == "column" and catalog.entry(after.name).role == "metric") or after.is_cue(
            "drop", "drop:auc", "saves", "ratio"
        )

    def _without(self, item: Item) -> None:
        self.negated = ""
        if item.name not in ("compression", "compressed"):
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
        if before.is_cue("by") and before.text == "over" and self._has_filter(item.name) and not excluded:
            self.referring = slots.relative = True  # "forward_backward over forward"
        if not excluded:
            self.sides.add((Filter(item.name, "=", (item.value,)),))
        if self.referring and not excluded:
            if self.filled.methods() == [item.value] and self._number_ahead():
                return  # "hashed 0.1 relative to hashed 0.05": the number is what is compared with
            self._refer(Filter(item.name, "=", (item.value,)))
        if item.name == "method" and not excluded and self._is_the_baseline(item, before):
            return  # a speedup is over the baseline already
        if item.name == "direction" and item.text == "backward":
            slots.notes.append("backward is timed together with forward")
        if item.name == "status":
            slots.failures = True
        self._add_filter(item.name, "<>" if excluded else "=", (item.value,))
        if before.kind == "column" and before.name == item.name:  # "method hashed": the word only names the value
            for names in (slots.named, slots.grouped):
                if item.name in names:
                    names.remove(item.name)

    def _is_the_baseline(self, item: Item, before: Item) -> bool:
        """Whether a method is only what a speedup is told over anyway."""
        slots = self.filled
        if before.is_cue("than", "relative"):
            slots.than = str(item.value)
        if before.is_cue("than", "relative") or ("speedup" in slots.metrics and before.is_cue("by", "vs")):
            slots.over_baseline = item.value == catalog.words()["baseline"]
            named = "speedup" in (*slots.metrics, *slots.filtered_metrics) or self._factor_said(before)
            if slots.over_baseline and named:
                return True
        if before.is_cue("by") and not slots.over_baseline:
            self.grouping = False
        return False

    def _has_filter(self, column: str) -> bool:
        return any(f.column == column and f.operator in ("=", "in") for f in self.filled.filters)

    def _factor_said(self, before: Item) -> bool:
        """Whether "than dense" only ends a factor that is a filter already: "2x smaller than dense"."""
        slots = self.filled
        sized = any(f.column == "compression" for f in slots.filters)
        return before.is_cue("than") and not slots.comparative and sized

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
