"""What the cues of a question have filled becomes a bare QuerySpec; `complete` adds what the results leave open."""

from dataclasses import replace

from mirror.language.grammar import comparisons, over_time, over_training
from mirror.language.grammar.choices import best_by_what, nothing_asked
from mirror.language.grammar.slots import SPEED, Slots, bare
from mirror.query.errors import Refusal
from mirror.query.spec import Claim, Filter, Metric, Order, QuerySpec
from mirror.schema import catalog

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
# kind of spec -> slots that it reads although its spec does not show them
READ_UNSEEN: dict[str, tuple[str, ...]] = {
    "machines": ("filters", "metrics", "leading", "grouped", "named", "count"),
    "explanation": ("contrasts", "relative"),  # "why does hashed lose AUC": both values stand there
}
_FAILED = Filter("status", "<>", ("skipped",))  # "failed" means every status but skipped
_NUMBERS_OF_MACHINES = ("cores", "l2_kb", "l3_kb", "memory_gb")


def spec_of(slots: Slots) -> QuerySpec:
    """The bare QuerySpec of the slots; `complete` adds what the results leave open."""
    _check_contradictions(slots.filters)
    return _of_a_kind_of_its_own(slots) or _of_verdicts_and_ratios(slots) or _of_results(slots)


def _of_a_kind_of_its_own(slots: Slots) -> QuerySpec | None:
    """Training, machines, fronts, reasons and times, where one of them is asked for."""
    in_training = over_training.spec_of(slots)
    if in_training:
        return in_training
    if slots.facts or _ranks_machines(slots):
        return _machine_facts(slots)
    if slots.recommend and not slots.superlative and not slots.metrics:
        raise best_by_what("the best", slots)
    if slots.front or slots.dominated:
        return comparisons.front(slots)
    if slots.explain and not slots.failures:
        return comparisons.explanation(slots)
    if slots.within is not None:
        _as_good_as_the_baseline(slots)
    if _only_a_time(slots) and not slots.times.course:
        over_time.add_span(slots)
        return _newest(slots)
    in_time = over_time.spec_of(slots)
    if in_time:
        return in_time
    return _newest(slots) if slots.newest else None


def _of_verdicts_and_ratios(slots: Slots) -> QuerySpec | None:
    if slots.significant:
        _check_significant(slots)
    if _asks_for_verdicts(slots) and not comparisons.asks_how_much_slower(slots):
        return _verdicts(slots)
    if slots.count and _tells_of_verdicts(slots):
        return _count_of_verdicts(slots)
    if comparisons.is_relative(slots):
        return comparisons.relative(slots)
    if "ratio" in slots.contrasts and slots.words & {"ratio", "factor"} and not slots.superlative and not slots.count:
        raise Refusal(
            "A ratio is of one metric between two methods, machines or values of an axis, as in “latency of hashed "
            "relative to dense” or “ratio of dim 64 to dim 16 latency”; two metrics can be shown side by side."
        )
    return None


def _of_results(slots: Slots) -> QuerySpec:
    if slots.comparative:
        _comparative(slots)
    if slots.extreme and slots.filtered_metrics and not slots.metrics and not slots.superlative:
        metric, axis = catalog.entry(slots.filtered_metrics[0]).label, catalog.entry(slots.extreme).label
        raise Refusal(
            f"The {axis} that keeps a limit cannot be searched for: ask “{metric} by {axis}” with that limit."
        )
    if not slots.metrics and (slots.superlative not in _OWN or not slots.filtered_metrics):
        slots.metrics = list(dict.fromkeys(slots.filtered_metrics))
    elif slots.sort and set(slots.metrics) <= {order.column for order in slots.sort}:
        # "trials with an AUC above 0.9, sorted by size": what they are chosen by is shown too
        slots.metrics = list(dict.fromkeys([*slots.filtered_metrics, *slots.metrics]))
    if slots.failures or "error" in slots.named or "status" in (*slots.named, *slots.grouped):
        return _failures(slots)
    if slots.extent and not slots.superlative:
        return _extent(slots)
    if slots.superlative:
        return comparisons.least_loss(slots) or _superlative(slots)
    return _of_groups(slots)


def _of_groups(slots: Slots) -> QuerySpec:
    """Numbers of groups, or trials as points, or how many of them there are."""
    dimensions = slots.dimensions()
    listed = dimensions and not slots.metrics and not slots.filters and not slots.compare
    if slots.count or (slots.exist and dimensions and not slots.metrics) or listed:
        return _count(slots)
    if slots.compare and "machine" in dimensions and not slots.metrics:
        slots.metrics = ["latency_us"]  # what differs between machines
    asked = slots.metrics or len(slots.methods()) >= 2 or slots.trials or (slots.compare and slots.filters)
    if not asked and not any(f.column == "benchmark" for f in slots.filters):
        raise nothing_asked(slots)
    points = len(slots.metrics) >= 2 and (slots.tradeoff or slots.chart == "scatter") and slots.aggregate is None
    whole = slots.whole_trials and bool(slots.metrics) and not slots.grouped and slots.aggregate is None
    if points or whole or slots.chart in ("box", "histogram"):
        return bare(slots, "points", tuple(Metric(m) for m in slots.metrics), dimensions)
    if slots.sort_down is not None and not slots.sort and slots.metrics:  # "highest first"
        slots.sort.append(Order(slots.metrics[0], slots.sort_down))
    if "machine" in dimensions:  # what is compared stands first
        dimensions = slots.dimensions("machine")
    metrics = _aggregated(slots, slots.metrics)
    total = any(m.aggregate == "sum" for m in metrics)
    if "machine" not in dimensions and not slots.grouped and "method" not in dimensions and not total:
        dimensions = ("method", *dimensions)
    return bare(slots, "groups", metrics, dimensions)


def kind_of(spec: QuerySpec) -> str:
    """What the spec is for a person: its shape, or what it shows of another view than the results."""
    if spec.source in ("curves", "machines", "failures"):
        return spec.source
    if spec.verdicts:
        return "verdicts"
    if spec.explain:
        return "explanation"
    if spec.source == "history" and spec.shape in ("points", "rows"):
        return "course" if spec.shape == "points" else "trials"
    return spec.shape


def _count(slots: Slots) -> QuerySpec:
    """How many trials, per group; or how many different values: "how many methods are there"."""
    dimensions = slots.dimensions()
    first = slots.counted if slots.counted in dimensions else None
    if first and slots.trials:
        label = catalog.entry(first).label
        raise Refusal(f"Either trials can be counted or different values of {label}: ask “how many {label} are there”.")
    if not slots.count:  # what there is
        counted = replace(bare(slots, "count", (), dimensions), distinct=dimensions[0])
    elif first:
        counted = replace(bare(slots, "count", (), tuple(d for d in dimensions if d != first)), distinct=first)
    else:
        counted = bare(slots, "count", (), dimensions)
        if slots.sort_down is not None and not slots.sort:  # "how many trials per method, highest first"
            counted = replace(counted, order=(Order("trials", slots.sort_down),))
    return replace(counted, source="history") if slots.times.asked else counted


def _extent(slots: Slots) -> QuerySpec:
    """ "lowest and highest AUC per data set": both ends of a metric, over all that is not asked to be apart."""
    if len(slots.metrics) != 1:
        raise nothing_asked(slots)
    ends = (Metric(slots.metrics[0], "min"), Metric(slots.metrics[0], "max"))
    return bare(slots, "groups", ends, slots.dimensions())


def _ends_wanted(slots: Slots) -> tuple[bool, bool]:
    """(whether the most or more of something is asked for, whether the least or less)."""
    words = {slots.superlative, slots.comparative}
    return not words.isdisjoint({"highest", "largest", "top", "more", "larger"}), not words.isdisjoint(
        {"lowest", "smallest", "bottom", "less", "smaller"}
    )


def _ranks_machines(slots: Slots) -> bool:
    """ "which machine has the most cores, the most memory": what machines are, not what trials on them took."""
    dimensions = slots.dimensions()
    about = slots.metrics == ["memory_mb"] if dimensions == ("machine",) else set(dimensions) == {"machine", "threads"}
    alone = not slots.filters and not slots.count and not slots.failures and not slots.times.asked
    return any(_ends_wanted(slots)) and about and alone and not set(slots.metrics) - {"memory_mb"}


def _machine_facts(slots: Slots) -> QuerySpec:
    """What machines are, from the view `machines`. Raises Refusal where numbers of trials are asked for as well."""
    asked = list(slots.facts)
    if "memory_mb" in slots.metrics and not slots.big:  # "how big is the cache" is no question of memory
        asked.append("memory_gb")
    most, least = _ends_wanted(slots)
    if (most or least) and "threads" in slots.dimensions():
        asked.append("cores")
    numbers = [f for f in dict.fromkeys(asked) if f in _NUMBERS_OF_MACHINES]
    ranked = len(numbers) == 1 and most != least
    dimensions = set(slots.dimensions()) - {"machine"} - ({"threads"} if ranked else set())
    other = [f for f in slots.filters if f.column != "machine"]
    if other or set(slots.metrics) - {"memory_mb"} or dimensions or (slots.superlative and not ranked):
        raise Refusal(
            "What machines are is listed by itself, as in “which CPU and how many cores does each machine have”; "
            "results are grouped by machine, as in “latency by machine”."
        )
    names = [v for f in slots.filters if f.column == "machine" and f.operator in ("=", "in") for v in f.values]
    named = (Filter("name", "=" if len(names) == 1 else "in", tuple(names)),) if names else ()
    spec = bare(slots, "rows", (), ("name", *dict.fromkeys(asked)))
    order = (Order(numbers[0], most),) if ranked else ()
    return replace(spec, source="machines", filters=named, order=order)


def _only_a_time(slots: Slots) -> bool:
    """ "what did we measure last week": a time and nothing that a number could be of."""
    asked = (
        slots.metrics or slots.filtered_metrics or slots.count or slots.failures or slots.comparative or slots.changed
    )
    return slots.times.asked and not (asked or slots.superlative or slots.dimensions() or slots.methods())


def _newest(slots: Slots) -> QuerySpec:
    """The latest trials, superseded ones too, newest first."""
    if slots.superlative not in ("", "top") or slots.metrics or slots.count:
        raise Refusal(
            "The newest trials are listed whole: ask “latest 10 trials of hashed”, or for a metric “over time” or "
            "“since monday”."
        )
    source = "failures" if slots.failures else "history"
    if slots.failures and not any(f.column == "status" for f in slots.filters):
        slots.filters.append(_FAILED)
    spec = bare(slots, "rows", (), slots.dimensions())
    limit = slots.limit or (None if slots.times.asked else 10)
    return replace(spec, source=source, order=(Order("started_at", True),), limit=limit)


def _as_good_as_the_baseline(slots: Slots) -> None:
    """What is as good is told by its memory and its AUC, unless something else is asked."""
    if slots.count or slots.failures or slots.changed or slots.times.asked or slots.significant or slots.than:
        raise Refusal(
            "What is as good as the baseline can be ranked or shown: ask “smallest memory without losing quality”, or "
            "“AUC by method within 0.001 of dense”."
        )
    slots.metrics = list(dict.fromkeys([*slots.metrics, *([] if slots.metrics else ["memory_mb"]), "auc"]))


_OWN = tuple(name for name, (own, _) in _MEANING.items() if own)


def _aggregated(slots: Slots, metrics: list[str]) -> tuple[Metric, ...]:
    summed = slots.summed or ("sweep" in slots.dimensions() and slots.aggregate is None)
    return tuple(
        Metric(m, "sum" if summed and catalog.entry(m).aggregate == "sum" else slots.aggregate or "avg")
        for m in metrics
    )


def _check_contradictions(filters: list[Filter]) -> None:
    """Raise Refusal for two filters that no row can pass together, or of which one says nothing."""
    for f in filters:
        for g in filters:
            if f.column != g.column or f is g:
                continue
            if f.operator in ("=", "in") and g.operator in ("<>", "not in") and f.column != "status":
                label = catalog.entry(f.column).label
                raise Refusal(
                    f"“{f.values[0]} but not {g.values[0]}” cannot be asked of {label}: name what is to be shown, or "
                    "what is to be left out."
                )
            low, high = f.values[0], g.values[0]
            numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
            opposed = f.operator in (">", ">=") and g.operator in ("<", "<=")
            if numbers and opposed and (low > high or (low == high and "=" not in f.operator + g.operator)):  # type: ignore[operator]
                label = catalog.entry(f.column).label
                raise Refusal(f"No trial has {label} {f.operator} {low} and {g.operator} {high} at once: change one.")


def _asks_for_verdicts(slots: Slots) -> bool:
    """Whether verdicts against the baseline answer: they are asked for, or the question is who is faster than it."""
    if slots.count or slots.failures or slots.superlative or slots.comparatives:
        return False
    return _tells_of_verdicts(slots)


def _names_verdicts(slots: Slots) -> bool:
    return "verdict" in slots.dimensions() or any(f.column == "verdict" for f in slots.filters)


def _tells_of_verdicts(slots: Slots) -> bool:
    """Whether verdicts are named, or there are such as tell who is faster or slower than the baseline."""
    if _names_verdicts(slots):
        return True
    known = slots.significant or (slots.verdicts_known and slots.one_baseline)
    return known and set(slots.metrics) <= {"latency_us", "speedup"} and _claim(slots) is not None


def _claim(slots: Slots) -> Claim | None:
    """What is claimed of the others: "is dense faster than hashed" asks whether hashed is slower than the baseline."""
    baseline = catalog.words()["baseline"]
    if slots.comparative not in ("faster", "slower"):
        return None
    if slots.than == baseline:
        return "faster" if slots.comparative == "faster" else "slower"
    if slots.than and slots.methods() == [baseline, slots.than]:
        return "slower" if slots.comparative == "faster" else "faster"
    return None


def _check_significant(slots: Slots) -> None:
    """Raise Refusal where no verdict tells what is significant."""
    baseline = catalog.words()["baseline"]
    if not _tells_of_verdicts(slots):
        raise Refusal(
            f"What is significant is told by verdicts, which are against the baseline: ask “which methods are "
            f"significantly faster than {baseline}”, or leave the word out."
        )
    if slots.verdicts_known and not slots.one_baseline:
        raise Refusal(
            f"The verdicts are against several baselines and not {baseline} alone: ask “verdict by method”, or leave "
            "the word “significantly” out."
        )


def _leave_out_the_baseline(slots: Slots) -> None:
    """Verdicts are told of the others. Raises Refusal where there are none."""
    if not slots.verdicts_known:
        raise Refusal(
            "No trial has a verdict yet: run a sweep with a baseline, or ask for the speedup, such as “speedup by "
            "method”."
        )
    named = slots.methods()
    if (baseline := catalog.words()["baseline"]) in named:
        others = tuple(m for m in named if m != baseline)
        slots.filters[:] = [f for f in slots.filters if f.column != "method"]
        if others:
            slots.filters.append(Filter("method", "=" if len(others) == 1 else "in", others))


def _count_of_verdicts(slots: Slots) -> QuerySpec:
    """How many trials have a verdict, or this one."""
    claim = _claim(slots)
    _leave_out_the_baseline(slots)
    if claim:
        slots.filters.append(Filter("verdict", "=", (claim,)))
    dimensions = slots.dimensions()
    # "how many methods are slower"; of verdicts each trial has its own
    if slots.counted in dimensions and slots.counted != "verdict" and not slots.trials:
        counted = bare(slots, "count", (), tuple(d for d in dimensions if d != slots.counted))
        counted = replace(counted, distinct=slots.counted)
    else:
        counted = bare(slots, "count", (), dimensions)
    return replace(counted, source="history") if slots.times.asked else counted


def _verdicts(slots: Slots) -> QuerySpec:
    """The speedups of the methods that are compared with the baseline, with their verdicts."""
    claim = _claim(slots)
    _leave_out_the_baseline(slots)
    dimensions = tuple(d for d in slots.dimensions("method") if d != "verdict")
    # "which methods are slower", "for which batch sizes is hashed slower": those, and no others
    if claim and (not slots.methods() or set(slots.named) - {"method"}):
        slots.filters.append(Filter("verdict", "=", (claim,)))
    order = () if slots.sort else (Order("speedup", slots.comparative != "slower"),)
    spec = bare(slots, "groups", (Metric("speedup", "avg"),), dimensions)
    return replace(spec, verdicts=True, claim=claim, order=spec.order or order)


def _comparative(slots: Slots) -> None:
    """ "is hashed faster than dense" compares two methods; "faster than dense" keeps what has a speedup."""
    methods = slots.methods()
    if len(methods) >= 2:
        slots.compare = True
        slots.metrics = comparisons.compared_in(slots)
        return
    if slots.comparatives:
        words = f"{', '.join(slots.comparatives)} and {slots.comparative}"
        raise Refusal(
            f"“{words}” cannot be asked at once: ask for one of them, or compare both metrics of two methods."
        )
    if slots.over_baseline and slots.comparative in ("faster", "slower"):
        slots.filters[:] = [f for f in slots.filters if f.column != "method"]
        slots.filters.append(Filter("speedup", ">" if slots.comparative == "faster" else "<", (1,)))
        slots.metrics = [*dict.fromkeys([*slots.metrics, "speedup"])]
        return
    several = {f.column for f in slots.filters if f.operator == "in" and len(f.values) > 1}
    if "machine" in slots.dimensions() or several - {"method", "benchmark"}:
        slots.compare = True  # "is the laptop slower than the server", "is cold slower than warm"
        if "machine" in several and "machine" not in slots.dimensions():
            slots.named.append("machine")
        slots.metrics = comparisons.compared_in(slots)
        return
    raise Refusal(
        f"It is not clear what is compared with what by “{slots.comparative}”: name two methods, as in "
        "“is hashed faster than dense at batch size 512”, a limit, as in “memory under 5 MB”, or a time, as in “did "
        "latency get worse since monday”."
    )


def _failures(slots: Slots) -> QuerySpec:
    if slots.metrics:
        label = catalog.entry(slots.metrics[0]).label
        raise Refusal(f"A failed trial has no {label}: ask how many failed, or why.")
    dimensions = slots.dimensions()
    if (slots.often or dimensions) and slots.superlative in ("highest", "lowest", "best", "worst", "top"):
        return _most_often(slots)
    if not any(f.column == "status" for f in slots.filters) and "status" not in dimensions:
        slots.filters.append(_FAILED)
    listing = not slots.count and ("error" in dimensions or slots.explain or not dimensions)
    shown = ("status", "benchmark", "method", "dataset", "compression", "embedding_dim", "batch_size", "seed", "error")
    columns = (*(d for d in dimensions if d not in shown), *shown) if listing else dimensions
    spec = bare(slots, "rows" if listing else "count", (), columns)
    return replace(spec, source="failures")


def _most_often(slots: Slots) -> QuerySpec:
    """ "which method failed most often", "the most failures": the first by the number of trials, ties included."""
    if not any(f.column == "status" for f in slots.filters):
        slots.filters.append(_FAILED)
    dimensions = slots.dimensions() or ("method",)
    counted = bare(slots, "count", (), dimensions)
    order = (Order("trials", slots.superlative in ("highest", "worst", "top")),)
    return replace(counted, source="failures", order=order, limit=slots.limit or 1)


def _superlative(slots: Slots) -> QuerySpec:
    if slots.whole_trials and slots.leading == "duration_s" and not slots.dimensions():
        spec = bare(slots, "rows", (), ())  # "the longest trial" is one of them, not a mean
        first = Order("duration_s", slots.superlative in ("highest", "largest"))
        return replace(spec, source="history", order=(first,), limit=slots.limit or 1)
    own, end = _MEANING[slots.superlative]
    metrics = slots.metrics
    if own in SPEED and (quick := [m for m in metrics if m in SPEED]):
        own = quick[0]
    leading = slots.leading or own or (metrics[0] if metrics else "")
    if not leading and len(slots.filtered_metrics) == 1:
        leading = slots.filtered_metrics[0]
    if not leading:
        raise best_by_what(f"the {slots.superlative}{f' {slots.limit}' if slots.limit else ''}", slots)
    better = catalog.entry(leading).better or "higher"
    descending = {
        "descending": True, "ascending": False, "better": better == "higher", "worse": better == "lower",
    }[end]  # fmt: skip
    if slots.trials and slots.limit and not slots.dimensions() and slots.aggregate is None:  # "top 10 trials by AUC"
        listed = bare(slots, "points", (Metric(leading),), ())
        return replace(listed, order=(Order(leading, descending),), limit=slots.limit)
    # "per data set": one winner for each; "which method": the winner is a method, not a group.
    partitions = tuple(d for d in dict.fromkeys(slots.grouped) if d != "method" or slots.each_method)
    named = tuple(d for d in slots.named if d not in partitions)
    of_methods = "method" in (*slots.grouped, *slots.named) or slots.within is not None
    entities = ("method",) if (of_methods or partitions) and "method" not in partitions else ()
    spec = bare(
        slots,
        "ranking" if slots.limit else "best",
        _aggregated(slots, [leading, *(m for m in metrics if m != leading)]),
        tuple(dict.fromkeys([*partitions, *entities, *named])),
    )
    order = (Order(leading, descending),)
    return replace(spec, partitions=partitions, order=order, limit=slots.limit)
