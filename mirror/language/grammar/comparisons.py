"""Questions that hold groups against one another: relative to a reference, the Pareto front, why two of them differ."""

from dataclasses import replace

from mirror.language.grammar.choices import nothing_asked
from mirror.language.grammar.slots import COMPARATIVES, SPEED, Slots, bare
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Claim, Filter, Metric, Order, QuerySpec
from mirror.schema import catalog
from mirror.table.values import Value

_TRADE_OFF = ("memory_mb", "auc")
# Comparatives that name an end of the metric, and whether it is the lower one.
_LOWER = {"less": True, "more": False, "smaller": True, "larger": False, "faster": True, "slower": False}


# -- the Pareto front --------------------------------------------------------------------------------------------------


def front(slots: Slots) -> QuerySpec:
    """What no other beats in two metrics, per data set and other work. Raises Refusal or Ambiguity."""
    metrics = list(slots.metrics)
    if not metrics:
        metrics = list(_TRADE_OFF)
        slots.notes.append("memory and AUC, the usual trade-off")
    if len(metrics) == 1:
        other = "latency" if metrics[0] == "memory_mb" else "memory"
        label = catalog.entry(metrics[0]).label
        raise Ambiguity(
            f"A Pareto front needs two metrics: {label} and what else?",
            (f"pareto front of {other} and {label}", f"which method has the best {label}?"),
        )
    if len(metrics) > 2 or slots.superlative or slots.failures:
        raise Refusal("A Pareto front is of two metrics: ask “which methods are not dominated on memory and AUC”.")
    for metric in metrics:
        if not catalog.entry(metric).better:
            raise Refusal(f"It is not known which direction of {catalog.entry(metric).label} is better.")
    partitions = tuple(d for d in dict.fromkeys(slots.grouped) if d != "method")
    dimensions = tuple(dict.fromkeys([*partitions, "method", *slots.named]))
    spec = bare(slots, "front", tuple(Metric(m, "avg") for m in metrics), dimensions)
    return replace(spec, partitions=partitions, order=(), claim="worse" if slots.dominated else None)


# -- relative to a reference -------------------------------------------------------------------------------------------


def is_relative(slots: Slots) -> bool:
    """Whether the question asks for more than both values: how many times, how far below, which are better."""
    if slots.superlative or slots.count or slots.failures or slots.times.course or slots.changed:
        return False
    if slots.relative or slots.contrasts & {"drop", "saves"} or parts_by_machine(slots):
        return True
    if slots.comparative and _is_of_two_numbers(slots):
        return True
    if "ratio" in slots.contrasts and (
        slots.against or _second_of_two(slots) or (slots.methods() and slots.comparative)
    ):
        return True
    # "which methods need less memory than hashed": those that do, unless two are named to be compared
    against = slots.against
    return bool(
        slots.comparative and against and len(_named(slots, against.column)) == 1 and not slots.over_baseline
    ) or (
        bool(slots.comparative and against and slots.over_baseline)
        and slots.comparative not in ("faster", "slower")
        and len(slots.methods()) == 1
    )


def parts_by_machine(slots: Slots) -> bool:
    """ "does hashed beat dense on both machines": two methods at each machine, and not two machines."""
    against, dimensions = slots.against, slots.dimensions()
    compared = slots.comparative and against is not None and against.column == "method"
    return bool(compared and len(slots.methods()) == 2 and "machine" in dimensions)


def _is_of_two_numbers(slots: Slots) -> bool:
    """ "is dim 64 slower than dim 16": one value of an axis against another, of one method or of all."""
    against = slots.against
    if against is None or catalog.entry(against.column).role != "axis" or not catalog.entry(against.column).numeric:
        return False
    return len(_named(slots, against.column)) == 2 and len(slots.methods()) < 2


def asks_how_much_slower(slots: Slots) -> bool:
    """Whether a ratio of the times is asked for, and not whether one is faster: the speedup tells it the other way."""
    return "ratio" in slots.contrasts and slots.comparative == "slower"


def relative(slots: Slots) -> QuerySpec:
    """Metrics per group beside those of the reference. Raises Refusal or Ambiguity."""
    metrics = list(slots.metrics)
    own = COMPARATIVES.get(slots.comparative)
    if not metrics and parts_by_machine(slots):
        metrics = [own or "latency_us"]  # what differs between machines
    if not metrics:
        metrics = [own] if own else ["memory_mb"] if "saves" in slots.contrasts else []
    if not metrics:
        raise nothing_asked(slots)
    against = slots.against or _second_of_two(slots) or Filter("method", "=", (catalog.words()["baseline"],))
    column, reference = against.column, against.values[0]
    others = [v for v in _named(slots, column) if v != reference]
    if column != "method" and not catalog.entry(column).role == "axis" and column != "machine":
        raise Refusal(
            f"A comparison cannot be relative to a {catalog.entry(column).label}: name a method or a machine."
        )
    filters = [f for f in slots.filters if f.column != column or f.operator in ("<>", "not in")]
    if others:
        filters.append(Filter(column, "in", (*others, reference)))
    slots.filters[:] = filters
    inverse = "saves" in slots.contrasts or ("ratio" in slots.contrasts and _tells_less(slots, metrics[0]))
    claim: Claim | None = None
    label = catalog.entry(column).label
    named = reference if isinstance(reference, str) else f"{label} {reference:g}"
    slots.notes.append(f"relative to {named}" + (", reference / value" if inverse else ""))
    if metrics and slots.comparative in ("faster", "slower"):  # "how much faster, and how much memory"
        metrics = list(dict.fromkeys([*(m for m in compared_in(slots) if is_of_speed(m)), *metrics]))
    if slots.comparatives:
        metrics, claim = _all_compared(slots, metrics)
    elif slots.comparative and "ratio" not in slots.contrasts and not others:
        better = catalog.entry(metrics[0]).better or "lower"
        if slots.comparative in ("better", "worse"):
            claim = "better" if slots.comparative == "better" else "worse"
        else:
            claim = "better" if _LOWER[slots.comparative] == (better == "lower") else "worse"
    dimensions = tuple(dict.fromkeys([column, *slots.dimensions()]))
    spec = bare(slots, "relative", tuple(Metric(m, slots.aggregate or "avg") for m in metrics), dimensions)
    return replace(spec, against=against, inverse=inverse, claim=claim, limit=slots.limit)


def _all_compared(slots: Slots, metrics: list[str]) -> tuple[list[str], Claim]:
    """ "smaller and more accurate than dense": a metric for each, and all of them better. Raises Refusal."""
    words = [*slots.comparatives, slots.comparative]
    own = [m for m in map(COMPARATIVES.get, words) if m]
    found = list(dict.fromkeys([*own, *metrics]))
    free = [m for m in found if m not in own]
    wants_better = []
    for word in words:
        metric = COMPARATIVES.get(word) or (free[0] if free else found[0])
        lower_is_better = catalog.entry(metric).better != "higher"
        wants_better.append(word == "better" if word in ("better", "worse") else _LOWER[word] == lower_is_better)
    if len(found) < len(words) or len(set(wants_better)) > 1:
        raise Refusal(
            f"“{' and '.join(words)}” cannot be asked at once: ask “which methods are not dominated on memory and AUC” "
            "or for one of them with a limit."
        )
    return found, "better" if wants_better[0] else "worse"


def least_loss(slots: Slots) -> QuerySpec | None:
    """ "the lowest AUC loss": whoever has the best AUC beside the reference; None where no loss is asked for."""
    if not (slots.relative or slots.contrasts & {"drop", "saves"}) or not slots.metrics:
        return None
    metric = slots.metrics[0]
    against = slots.against or Filter("method", "=", (catalog.words()["baseline"],))
    least = slots.superlative in ("lowest", "smallest", "best", "bottom") and "saves" not in slots.contrasts
    better = catalog.entry(metric).better or "higher"
    descending = (better == "higher") == (least or "saves" in slots.contrasts)
    slots.filters[:] = [f for f in slots.filters if f.column != against.column]
    slots.filters.append(Filter(against.column, "<>", against.values))
    end = "highest" if descending else "lowest"
    slots.notes.append(f"against {against.values[0]}, which is the same for all: {end} {catalog.entry(metric).label}")
    partitions = tuple(d for d in dict.fromkeys(slots.grouped) if d != "method")
    dimensions = tuple(dict.fromkeys([*partitions, "method", *slots.named]))
    spec = bare(slots, "ranking" if slots.limit else "best", (Metric(metric, "avg"),), dimensions)
    return replace(spec, partitions=partitions, order=(Order(metric, descending),), limit=slots.limit)


def is_of_speed(metric: str) -> bool:
    """Whether "faster" can be said of it: a time, or what is done in a time."""
    units = {catalog.entry(m).unit for m in (*SPEED, "duration_s") if m != "speedup"}
    return metric == "speedup" or (metric in catalog.entries() and catalog.entry(metric).unit in units)


def compared_in(slots: Slots) -> list[str]:
    """The metrics in which methods or machines are compared: those named, and what the comparatives are said of."""
    metrics = list(slots.metrics)
    several = [*slots.comparatives, slots.comparative]
    for word in several:
        own = COMPARATIVES[word]
        of_speed = word in ("faster", "slower") and any(map(is_of_speed, metrics))
        if own and not of_speed and (not metrics or len(several) > 1 or word in ("faster", "slower")):
            metrics.append(own)  # "larger" may be said of the AUC that is named
    return list(dict.fromkeys(metrics))


def _tells_less(slots: Slots, metric: str) -> bool:
    """Whether the ratio is asked for from the reference to the value: "how many times smaller, faster"."""
    if slots.comparative in ("", "better", "worse"):
        return False
    return _LOWER[slots.comparative] and catalog.entry(metric).better == "lower"


def _named(slots: Slots, column: str) -> list[Value]:
    return [v for f in slots.filters if f.column == column and f.operator in ("=", "in") for v in f.values]


def _second_of_two(slots: Slots) -> Filter | None:
    """The reference of "AUC gap between hashed and dense" or "between dim 16 and dim 64": of two methods the second, or
    the baseline wherever it stands; of two numbers the first that is named; None where no two are named."""
    methods = slots.methods()
    baseline = str(catalog.words()["baseline"])
    if len(methods) == 2:
        return Filter("method", "=", (baseline if baseline in methods else methods[-1],))
    if "ratio" in slots.contrasts and (ends := _both_ends(slots)):  # "the factor when dim goes from 16 to 64"
        slots.filters[:] = [f for f in slots.filters if f.column != ends.column]
        slots.filters.append(ends)
        return Filter(ends.column, "=", ends.values[:1])
    for f in slots.filters:
        if f.column != "method" and f.operator == "in" and len(f.values) == 2:
            second = isinstance(f.values[0], str) or slots.to
            return Filter(f.column, "=", (f.values[1 if second else 0],))
    return None


def _both_ends(slots: Slots) -> Filter | None:
    low = {
        f.column: f.values[0] for f in slots.filters if f.operator == ">=" and catalog.entry(f.column).role == "axis"
    }
    high = {f.column: f.values[0] for f in slots.filters if f.operator == "<="}
    column = next((c for c in low if c in high), None)
    return Filter(column, "in", (low[column], high[column])) if column else None


# -- why ---------------------------------------------------------------------------------------------------------------


def explanation(slots: Slots) -> QuerySpec:
    """All that is known of two methods or machines at the same work: what differs may be why."""
    methods = slots.methods()
    machines = _named(slots, "machine")
    if len(methods) < 2 and len(machines) < 2 and slots.comparative and methods:
        baseline = str(catalog.words()["baseline"])
        if methods != [baseline]:
            slots.filters[:] = [f for f in slots.filters if f.column != "method"]
            slots.filters.append(Filter("method", "in", (*methods, baseline)))
            methods = [*methods, baseline]
            slots.notes.append(f"compared with {baseline}")
    if len(methods) < 2 and len(machines) < 2:
        raise Refusal(
            "Why needs two to compare, as in “why is hashed slower than dense at batch size 512”, or failures, as in "
            "“why did trials fail”."
        )
    leading = slots.metrics or [COMPARATIVES.get(slots.comparative) or "latency_us"]
    first = "machine" if len(machines) >= 2 else "method"
    spec = bare(slots, "groups", tuple(Metric(m, "avg") for m in leading), slots.dimensions(first))
    return replace(spec, explain=True)
