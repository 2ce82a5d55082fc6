"""Nothing that was read is lost: what the words of a question said is held against the QuerySpec that came of them.

The reader notes for each word which slots it filled. A word whose slot left no trace in the spec would make an answer
that looks right and is not, so the question is refused with that word and with what to ask instead. What a shape reads
in a way that its spec does not show stands in `shapes.READ_UNSEEN`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from mirror.language.grammar.comparisons import is_of_speed
from mirror.language.grammar.shapes import READ_UNSEEN, kind_of
from mirror.language.grammar.slots import OWN_CURVES, SlotFill, Slots
from mirror.query.errors import NotUnderstood
from mirror.query.spec import Filter, QuerySpec
from mirror.schema import catalog
from mirror.table.wording import join

# What the words can only fill once: a second value takes the place of the first, which must not be lost either.
_SINGLE = ("limit", "chart", "aggregate", "comparative")
# Filled beside another slot that is checked, or by words that ask for nothing by themselves ("results", "compare").
_UNCHECKED = (
    "tradeoff", "compare", "trials", "whole_trials", "to", "exist", "big", "recommend", "than", "over_baseline",
    "against", "extreme", "each_method", "words", "notes", "verdicts_known", "one_baseline", "comparatives", "fills",
    "times", "within",
)  # fmt: skip
_SAME_AS_ASKED = ("how much", "by how much")  # "how much memory does hashed need" asks for no ratio
# A result of training is what it ended with, and memory does not change.
_AT_THE_END = {"auc", "logloss", "memory_mb"}
_SAID_IN_PASSING = ("finally", "in the end")
_LOOSE_CHARTS = ("distribution", "distribution of", "spread of", "table")  # "distribution as a histogram"

_KINDS = {
    "points": "A list of single trials",
    "groups": "A table of groups",
    "ranking": "A ranking",
    "best": "A search for the best",
    "front": "A Pareto front",
    "relative": "A comparison with a reference",
    "count": "A number of trials",
    "change": "A change between two times",
    "course": "A course over time",
    "trials": "A list of the newest trials",
    "failures": "A list of failures",
    "verdicts": "A list of verdicts against the baseline",
    "explanation": "An explanation",
    "curves": "A training curve",
    "machines": "A list of machines",
}
_HINTS = {
    "filters": "leave it out, or ask for it by itself",
    "superlative": "ask for the best by itself, as in “which method has the best AUC”",
    "comparative": "ask which is better by itself, as in “is hashed faster than dense”",
    "denied": "ask for the opposite, as in “slower” for “not faster”",
    "limit": "a number of rows goes with a ranking, as in “top 5 methods by AUC”",
    "aggregate": "leave the aggregate out, or ask “median latency by method”",
    "chart": "name one chart",
    "count": "ask for the number by itself, as in “how many trials failed by method”",
    "counted": "ask for one number at a time, as in “how many methods are there”",
    "contrasts": "ask for a ratio by itself, as in “how many times smaller is hashed than dense”",
    "relative": "ask for one of them, as in “AUC relative to dense at compression 0.1”",
    "sort": "sort a table of groups, as in “AUC by method sorted by memory”",
    "sort_down": "sort a table of groups, as in “AUC by method sorted by memory”",
    "failures": "ask about failures by themselves, as in “how many trials failed by method”",
    "significant": "ask “which methods are significantly faster than dense”",
    "explain": "ask why by itself, as in “why is hashed slower than dense”",
    "averaged": "leave out what is averaged over",
    "newest": "ask for the newest trials by themselves, as in “latest 10 trials of hashed”",
    "metrics": "leave it out, or ask for it by itself",
}
_ANY_HINT = "leave it out, or ask for it by itself"


Atom = tuple[str, Any]


def atoms(slots: Slots) -> set[Atom]:
    """What the slots hold, one (slot, value) for each value: a filter of two values makes two."""
    found: set[Atom] = set()
    for field in fields(slots):
        value = getattr(slots, field.name)
        if field.name in _UNCHECKED or value in (None, False, "") or value == []:
            continue
        if field.name == "filters":
            found |= {("filters", (f.column, _single(f.operator), v)) for f in value for v in f.values}
        elif field.name == "sort":
            found |= {("sort", order.column) for order in value}
        elif isinstance(value, list | set):
            found |= {(field.name, v) for v in value}
        else:
            found.add((field.name, value))
    return found


def check(read: Slots, spec: QuerySpec) -> None:
    """Raise Refusal for words that were read and that the spec does not hold.

    Args:
        read: the slots as the words filled them, before a shape changed them.
        spec: the bare QuerySpec that came of them.
    """
    kind = kind_of(spec)
    final = atoms(read)
    lost: list[SlotFill] = []
    for fill in read.fills:
        if fill.slot in READ_UNSEEN.get(kind, ()) or fill.slot not in _HELD:
            continue
        if (fill.slot, fill.value) not in final and fill.slot not in _SINGLE:
            continue  # taken back by a word behind it: "how many parameters"
        if not _HELD[fill.slot](_Case(fill, read, spec, kind)):
            lost.append(fill)
    if read.times.asked and not _holds_times(spec):
        lost.append(SlotFill("times", None, read.times.phrase or "over time"))
    if read.within is not None and spec.within is None:
        lost.append(SlotFill("within", read.within, "without losing quality"))
    if lost:
        words = join([f"“{text}”" for text in dict.fromkeys(fill.text for fill in lost)])
        hint = _HINTS.get(lost[0].slot, _ANY_HINT)
        raise NotUnderstood(f"{_KINDS[kind]} cannot take in {words} as well: {hint}.")


@dataclass(frozen=True)
class _Case:
    """One thing that was said, and all that may hold it."""

    fill: SlotFill
    read: Slots
    spec: QuerySpec
    kind: str

    @property
    def value(self) -> Any:
        return self.fill.value

    @property
    def metrics(self) -> set[str]:
        return {name for m in self.spec.metrics for name in (m.column, m.name or "")}

    @property
    def filtered(self) -> set[str]:
        return {f.column for f in self.spec.filters}

    @property
    def ordered(self) -> set[str]:
        return {o.column for o in self.spec.order}

    @property
    def of_the_baseline(self) -> bool:
        """Whether the numbers are against the baseline already: speedups and their verdicts."""
        return self.spec.verdicts or bool({"speedup", "verdict"} & self._columns)

    @property
    def _columns(self) -> set[str]:
        return {*self.metrics, *self.filtered, *self.spec.dimensions}

    @property
    def is_compared(self) -> bool:
        """Whether the spec holds two methods or machines against one another, or each group against one."""
        several = any(f.column in ("method", "machine") and len(f.values) > 1 for f in self.spec.filters)
        return several or "machine" in self.spec.dimensions or "method" in self.spec.dimensions

    @property
    def is_relative(self) -> bool:
        return self.kind in ("relative", "change") or self.of_the_baseline or self._is_least_loss

    @property
    def _is_least_loss(self) -> bool:
        """ "the lowest AUC loss" ranks what is not the reference (comparisons.least_loss)."""
        return self.kind in ("best", "ranking") and bool(self.read.relative or self.read.contrasts & {"drop", "saves"})


def _single(operator: str) -> str:
    return {"in": "=", "not in": "<>"}.get(operator, operator)


def _holds_filter(case: _Case) -> bool:
    column, operator, value = case.value
    spec = case.spec
    held = (*spec.filters, *((spec.against,) if spec.against else ()))
    among = [f for f in held if f.column == column and value in f.values]
    if any(_single(f.operator) == operator or (operator in (">=", "<=") and f.operator == "in") for f in among):
        return True
    if case.is_relative and operator == "=" and any(f.operator == "<>" for f in among):
        return True  # the reference of a ranking by loss
    if case.kind == "curves" and column == "benchmark":
        return True  # no other benchmark has any
    baseline = Filter("method", "=", (catalog.words()["baseline"],))
    return Filter(column, operator, (value,)) == baseline and (case.of_the_baseline or spec.within is not None)


def _holds_metric(case: _Case) -> bool:
    name = case.value
    if name in case.metrics | case.filtered | case.ordered or (name == "auc" and case.spec.within is not None):
        return True
    if case.kind == "curves":
        names = {v for f in case.spec.filters if f.column == "metric" for v in f.values}
        return OWN_CURVES.get(name, name) in names
    return name in ("latency_us", "speedup") and case.of_the_baseline


def _holds_dimension(case: _Case) -> bool:
    spec, name = case.spec, case.value
    held = {*spec.dimensions, *spec.partitions, *case.filtered, *case.ordered, spec.distinct}
    if spec.against:
        held.add(spec.against.column)
    return name in held or (name == "verdict" and spec.verdicts)


def _holds_superlative(case: _Case) -> bool:
    ordered = bool(case.spec.order) and (case.spec.limit is not None or case.kind == "machines")
    return case.kind in ("best", "ranking") or ordered


def _holds_comparative(case: _Case) -> bool:
    if case.kind in ("change", "verdicts") or case.of_the_baseline:
        return True
    if case.kind == "machines":  # "which machine has more cores": they stand in this order
        return bool(case.spec.order)
    if case.kind == "relative":
        return case.value not in ("faster", "slower") or any(map(is_of_speed, case.metrics))
    if case.kind not in ("groups", "points", "explanation", "course") or not case.is_compared:
        return False
    if case.value not in ("faster", "slower"):
        # "larger" is said of AUC too; "better" alone is told by the overview that `complete` adds.
        return bool(case.metrics) or case.value in ("better", "worse")
    return any(map(is_of_speed, case.metrics))


def _holds_aggregate(case: _Case) -> bool:
    taken = {m.aggregate for m in case.spec.metrics}
    if case.value == "avg":
        return bool(taken) and taken <= {"avg", None}
    return case.value in taken


def _holds_contrast(case: _Case) -> bool:
    return case.fill.text in _SAME_AS_ASKED or case.is_relative


def _holds_summed(case: _Case) -> bool:
    """ "total duration" is a sum; the total memory of a model is what is measured."""
    summable = [m for m in case.spec.metrics if m.column in catalog.entries()]
    summable = [m for m in summable if catalog.entry(m.column).aggregate == "sum"]
    return all(m.aggregate == "sum" for m in summable)


def _is_curve(case: _Case) -> bool:
    return case.kind == "curves"


def _is_searched(case: _Case, column: str) -> bool:
    """ "how many threads give the best throughput" asks which, and not how many there are."""
    return _holds_superlative(case) and column in case.spec.dimensions and catalog.entry(column).numeric


def _holds_counted(case: _Case) -> bool:
    """Different values are counted, or verdicts, of which each trial has its own."""
    verdicts = case.value == "verdict" and case.spec.shape == "count"
    return verdicts or case.spec.distinct == case.value or _is_searched(case, case.value)


def _holds_times(spec: QuerySpec) -> bool:
    return (
        spec.split is not None
        or "started_at" in spec.dimensions
        or any(f.column == "started_at" for f in spec.filters)
        or any(o.column == "started_at" for o in spec.order)
    )


_HELD: dict[str, Callable[[_Case], bool]] = {
    "filters": _holds_filter,
    "metrics": _holds_metric,
    "filtered_metrics": _holds_metric,
    "leading": _holds_metric,
    "grouped": _holds_dimension,
    "named": _holds_dimension,
    "superlative": _holds_superlative,
    "comparative": _holds_comparative,
    "denied": lambda case: case.kind == "explanation" or len(case.read.methods()) >= 2,  # the numbers tell which it is
    "limit": lambda case: case.spec.limit == case.value,
    "aggregate": _holds_aggregate,
    "summed": _holds_summed,
    "sort": lambda case: case.value in case.ordered,
    "sort_down": lambda case: any(o.descending == case.value for o in case.spec.order),
    "chart": lambda case: case.spec.chart.type == case.value or case.fill.text in _LOOSE_CHARTS,
    "log": lambda case: case.spec.chart.log_x or case.spec.chart.log_y,
    "count": lambda case: case.spec.shape == "count" or _is_searched(case, case.read.counted),
    "counted": _holds_counted,
    "failures": lambda case: case.spec.source == "failures" or "status" in case.filtered,
    "changed": lambda case: case.kind in ("change", "course"),
    "significant": lambda case: case.of_the_baseline,
    "curves": _is_curve,
    "over_training": _is_curve,
    "final": lambda case: bool(case.metrics & _AT_THE_END) or case.fill.text in _SAID_IN_PASSING or _is_curve(case),
    "front": lambda case: case.kind == "front",
    "dominated": lambda case: case.kind == "front",
    "often": lambda case: case.kind == "failures" or case.spec.shape == "count",
    "extent": lambda case: {m.aggregate for m in case.spec.metrics} >= {"min", "max"},
    "facts": lambda case: case.kind == "machines",
    "relative": lambda case: case.is_relative,
    "contrasts": _holds_contrast,
    "newest": lambda case: "started_at" in case.ordered | case.filtered,
    "averaged": lambda case: case.value in case.spec.averaged,
    "explain": lambda case: case.spec.explain or "error" in case.spec.dimensions,
}
