"""Completes a bare QuerySpec with what the question leaves open, so that nothing is averaged that must not be."""

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from db.columns import AXES, BY_NAME, CHOICE_AXES
from mirror.query import curves
from mirror.query.contrast import contrasted
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Aggregate, Filter, Metric, QuerySpec
from mirror.schema import catalog
from mirror.schema.own_metrics import role_of
from mirror.schema.profile import Profile
from mirror.schema.ready_sweeps import measuring
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.numbers import describe
from mirror.table.values import Value, sort_key
from mirror.table.wording import join

# Axes that another one decides: a data set has its own tables and rows.
_IMPLIED = {"dataset": ("num_rows", "num_tables"), "benchmark": ("op",)}
_SIZE_AXES = ("compression", "block_size")
# What may tell why one is slower, larger or worse than another.
_EXPLAINING = (
    "latency_us", "latency_p99_us", "bandwidth_gb_s", "memory_mb", "metadata_mb", "optimizer_mb", "peak_rss_mb", "auc",
    "logloss", "max_abs_error", "noise",
)  # fmt: skip
# What was done for a trial, not what it came to: as such metrics are of all trials.
_OF_TRIALS = ("sample_count",)
_WITHIN = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MOST_VALUES = 8  # that a refusal names
_OWN_OVERVIEW = 2  # metrics, of benchmarks that have none of the catalogue's
# What the same work can be done with: never averaged over either.
_CHOICES = ("method", *CHOICE_AXES)


class SeveralBenchmarks(Ambiguity):
    """Several benchmarks could answer: `benchmarks`, each of which has measured `metrics`."""

    def __init__(self, question: str, benchmarks: tuple[str, ...], metrics: tuple[str, ...]) -> None:
        choices = tuple(f"{question.rstrip(' ?.!')} in {b}" for b in benchmarks[:3])
        super().__init__(f"{join(benchmarks, word='or')}: which benchmark is meant?", choices)
        self.benchmarks = benchmarks
        self.metrics = metrics


def complete(spec: QuerySpec, profile: Profile, question: str) -> QuerySpec:
    """Fill in the benchmark, the open axes and the baseline.

    An axis is open when the question neither filters nor groups by it and the results hold several values. Open axes
    become part of the grouping (for best and ranking: of the partition, since the best of different workloads is not
    comparable), or take the default of the catalogue, with a note.

    Raises:
        Refusal: the results hold nothing of the kind.
        SeveralBenchmarks: several could answer.
    """
    if spec.source == "curves" and spec.shape == "groups":
        return _curves(spec, profile)
    if spec.source not in ("results", "history"):
        return _with_machine(spec, profile)
    if spec.source == "history" and spec.shape == "rows":
        return spec
    _check_held(spec, profile)
    names = [m.column for m in spec.metrics]
    told = all(role_of(m) == "info" for m in names) and not _of_one_benchmark(spec)
    if names and (told or all(m in _OF_TRIALS for m in names)):
        return spec  # what trials took is of all trials, whatever they measured
    spec = _with_benchmark(_without_unmeasured(spec, profile), profile, question)
    if spec.shape == "count":
        return spec
    spec = replace(spec, dimensions=tuple(d for d in spec.dimensions if _has_values(spec, profile, d)))
    if spec.explain:
        spec = _with_explanations(spec, profile)
    if not spec.metrics:
        spec = _with_overview(spec, profile)
    return _arranged(_with_verdicts(_with_defaults(_with_implied(spec), profile), profile), profile)


def _check_held(spec: QuerySpec, profile: Profile) -> None:
    if spec.distinct and spec.distinct not in KNOWN_COLUMNS[spec.source]:
        raise Refusal(
            f"The {spec.source} do not hold {catalog.entry(spec.distinct).label}: ask how many trials there are."
        )
    if profile.rows("results") == 0:
        raise Refusal("There are no results yet: start a run on the page New run, or load the example results.")


def _arranged(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """With the open axes where the shape has a place for them."""
    lead = contrasted(spec)  # what is held against one another stands first
    first = (lead,) if lead else ()
    if spec.metrics and all(m.aggregate in ("min", "max") for m in spec.metrics) and spec.shape == "groups":
        notes = (*spec.notes, "over all that is not named")
        return replace(spec, dimensions=_unique(*first, *spec.dimensions), notes=notes)
    workload, choices = _open_axes(spec, profile)
    if spec.shape == "points" and spec.source == "history":
        return replace(spec, dimensions=_unique(*spec.dimensions, "method", *workload, *choices, "seed"))
    if spec.shape == "points":
        return _points(spec, workload, choices, profile)
    if spec.shape == "front":
        partitions = _unique(*spec.partitions, *workload)
        return replace(spec, dimensions=_unique(*partitions, *spec.dimensions, *choices), partitions=partitions)
    if spec.shape == "relative":
        return _relative(spec, workload, choices)
    if spec.shape in ("best", "ranking"):
        if "machine" in spec.dimensions and len(_values(spec, profile, "machine")) == 1:
            # Of one machine there is no ranking: what it has measured is shown.
            dimensions = _unique("machine", *spec.dimensions, *workload, *choices)
            return replace(spec, shape="groups", dimensions=dimensions, partitions=(), limit=None)
        return _ranked(spec, workload, choices, profile)
    dimensions = _unique(*first, *spec.dimensions, *(c for c in choices if c == "method"), *workload, *choices)
    spec = replace(spec, dimensions=dimensions)
    compared = spec.shape == "groups" and any(f.column == "method" and f.operator == "in" for f in spec.filters)
    return _with_baseline(spec, profile) if compared else spec


def _has_values(spec: QuerySpec, profile: Profile, column: str) -> bool:
    """Whether a column is of any use in the benchmarks that answer: "the smallest model" means no column there."""
    asked = _benchmarks(spec, profile)
    workload = column in BY_NAME and role_of(column) == "axis" and column not in spec.partitions
    return not workload or any(profile.values(column, b) or _is_many(profile, column, b) for b in asked)


def _relative(spec: QuerySpec, workload: list[str], choices: list[str]) -> QuerySpec:
    """Groups and their reference agree in the work, and in all but what the reference is named by."""
    assert spec.against
    baseline = Filter("method", "=", (catalog.words()["baseline"],))
    dimensions = _unique(spec.against.column, *spec.dimensions, *workload, *choices)
    # The baseline has one size; another method is the reference at the size of the group, and has choices of its own.
    free = _CHOICES if spec.against.column == "method" else ()
    free = free if spec.against == baseline else tuple(c for c in free if c != "compression")
    same = tuple(d for d in dimensions if d != spec.against.column and d not in free)
    sized = spec.against == baseline and any(f.column in _SIZE_AXES for f in spec.filters)
    return replace(spec, dimensions=dimensions, partitions=same, keep_baseline=sized)


def _with_explanations(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Beside the leading metric every other that both of the methods may differ in."""
    known = [m for m in _EXPLAINING if any(m in profile.metrics(b) for b in _benchmarks(spec, profile))]
    names = _unique(*(m.column for m in spec.metrics), *known)
    return replace(spec, metrics=tuple(Metric(m, "avg") for m in names))


def _curves(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Training curves, the mean over seeds, apart by all else that the results hold several values of."""
    curves.check(spec, profile)
    training = Filter("benchmark", "=", (curves.BENCHMARK,))
    spec = _with_defaults(replace(spec, filters=(training, *spec.filters)), profile)
    workload, choices = _open_axes(spec, profile)
    known = [a for a in (*workload, *choices) if a in KNOWN_COLUMNS["curves"]]
    spec = replace(spec, filters=tuple(f for f in spec.filters if f != training))
    baseline = Filter("method", "=", (catalog.words()["baseline"],))
    asked = {v for f in spec.filters if f.column == "method" for v in f.values}
    if baseline.values[0] in asked and any(f.column == "compression" for f in spec.filters):
        spec = replace(spec, keep_baseline=True, against=baseline)  # it has one size
    return replace(spec, dimensions=_unique(*spec.dimensions, *(a for a in known if a == "method"), *known))


def _benchmarks(spec: QuerySpec, profile: Profile) -> list[str]:
    """The benchmarks that a filter names, else all that have results."""
    named = (f.values for f in spec.filters if f.column == "benchmark" and f.operator in ("=", "in"))
    return list(map(str, next(named, profile.benchmarks)))


def _of_one_benchmark(spec: QuerySpec) -> bool:
    """Whether means are asked for within one benchmark, where unlike work is never averaged: "how long do trainings
    take" is told per data set."""
    means = spec.shape == "groups" and all(m.aggregate != "sum" for m in spec.metrics)
    return means and any(f.column == "benchmark" and f.operator == "=" for f in spec.filters)


def _with_benchmark(spec: QuerySpec, profile: Profile, question: str) -> QuerySpec:
    named = any(f.column == "benchmark" and f.operator in ("=", "in") for f in spec.filters)
    if named or "benchmark" in spec.dimensions or spec.shape == "count":
        return spec
    wanted = [m.column for m in spec.metrics]
    wanted += [f.column for f in spec.filters if role_of(f.column) == "metric"]
    wanted = [m for m in wanted if role_of(m) == "metric"]  # the rest is there for every trial
    able = [b for b in profile.benchmarks if all(m in profile.metrics(b) for m in wanted)]
    if spec.verdicts:
        told = [b for b in able if profile.values("verdict", b) and all(_held(f, profile, b) for f in spec.filters)]
        able = told or able
    if not able:
        raise Refusal(f"No benchmark has measured {join(catalog.entry(m).label for m in wanted)} together yet.")
    holding = [b for b in able if all(_held(f, profile, b) for f in spec.filters)]
    holding = [b for b in holding if all(_held(f, profile, b, all) for f in spec.filters)] or holding
    if not holding and len(able) > 1:
        _refuse_what_is_nowhere(spec, profile, able)
    holding = holding or able
    varying = [b for b in holding if all(len(profile.values(d, b)) > 1 for d in spec.dimensions)]
    left = varying or [b for b in holding if all(profile.values(d, b) for d in spec.dimensions)] or holding
    notes = spec.notes
    if not wanted and len(left) > 1:
        overview = catalog.words()["overview"]
        left = [max(left, key=lambda b: sum(m in profile.metrics(b) for m in overview))]
        notes = (*notes, f"benchmark {left[0]}, which has the most to compare")
    # What is claimed of the baseline can be told of several benchmarks only where it is the same in all of them.
    against = profile.compared_with(catalog.words()["baseline"]) if spec.verdicts and spec.claim else left
    all_told = not spec.verdicts or all(profile.values("verdict", b) for b in left)
    if len(left) > 1 and _is_within_each(spec) and all_told and set(left) <= set(against):
        only = (Filter("benchmark", "in", tuple(left)),) if len(left) < len(profile.benchmarks) else ()
        return replace(spec, filters=(*only, *spec.filters), dimensions=_with_place(spec.dimensions, "benchmark"))
    if len(left) > 1:
        raise SeveralBenchmarks(question, tuple(left), tuple(wanted))
    return replace(spec, filters=(Filter("benchmark", "=", (left[0],)), *spec.filters), notes=notes)


def _without_unmeasured(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """The spec with a note for each value that was never measured and that a ready sweep measures.

    Raises Refusal, with the sweep, where a filter names no other value, or leaves a method without another to be
    compared with. A count says by its number what there is.
    """
    if spec.shape == "count":
        return spec
    for f in spec.filters:
        if f.operator not in ("=", "in") or any(_is_many(profile, f.column, b) for b in profile.benchmarks):
            continue
        known = sorted({v for b in profile.benchmarks for v in profile.values(f.column, b)}, key=sort_key)
        missing = tuple(v for v in f.values if v not in known)
        sweeps = _sweeps(f.column, missing, spec, profile)
        if not sweeps:
            continue
        absent = filter_in_words(Filter(f.column, "=" if len(missing) == 1 else "in", missing))
        left = len(f.values) - len(missing)
        if left == 0 or (left == 1 and f.column == "method"):
            there = f"; there is {_some(f.column, known)}" if known else ""
            raise Refusal(f"No trial has {absent} yet{there}. {sweeps}")
        spec = replace(spec, notes=(*spec.notes, f"no trial has {absent} yet"))
    return spec


def _sweeps(column: str, values: tuple[Value, ...], spec: QuerySpec, profile: Profile) -> str:
    """Which sweeps measure any of the values, in a benchmark that is not known to lack the metrics; empty for none."""
    wanted = {m.column for m in spec.metrics}
    unable = [b for b in profile.benchmarks if not wanted <= profile.metrics(b)]
    found: dict[str, list[str]] = {}
    for value in values:
        for sweep, benchmarks in measuring(column, value).items():
            if able := [b for b in benchmarks if b not in unable]:
                found[sweep] = able
    if not found:
        return ""
    named = join((f"{sweep} (in {join(able)})" for sweep, able in found.items()), word="or")
    command = f"python -m bench_engine run {next(iter(found))}"
    return f"It is measured by the sweep {named}: start it on the page New run, or with {command}."


def _some(column: str, values: Sequence[Value]) -> str:
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return f"{join(describe(catalog.entry(column), v) for v in values[:_MOST_VALUES])}{more}"


def _refuse_what_is_nowhere(spec: QuerySpec, profile: Profile, benchmarks: list[str]) -> None:
    """Raise Refusal for a value that no benchmark has been measured at, instead of asking which benchmark is meant."""
    for f in spec.filters:
        known = sorted({v for b in benchmarks for v in profile.values(f.column, b)}, key=sort_key)
        if known and not any(_held(f, profile, b) for b in benchmarks):
            raise Refusal(f"No trial has {filter_in_words(f)} yet; there is {_some(f.column, known)}.")


def _is_within_each(spec: QuerySpec) -> bool:
    """Whether every benchmark answers for itself: what is told are verdicts, ratios, or courses in panels."""
    machines = spec.shape == "groups" and spec.dimensions[:1] == ("machine",)
    return spec.verdicts or spec.source == "history" or machines


def _with_place(dimensions: tuple[str, ...], column: str) -> tuple[str, ...]:
    """The dimensions with one more, after the first."""
    return _unique(*dimensions[:1], column, *dimensions[1:])


def _with_machine(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Apart by machine, where trials of several would become one number."""
    together = (
        spec.shape in ("groups", "best", "ranking", "front", "relative") and "machine" in KNOWN_COLUMNS[spec.source]
    )
    fixed = any(f.column in ("machine", "machine_id") and f.operator == "=" for f in spec.filters)
    if not together or fixed or profile.machines < 2 or "machine" in spec.dimensions:
        return spec
    partitions = _unique(*spec.partitions, "machine") if spec.shape != "groups" else ()
    return replace(spec, dimensions=_unique(*spec.dimensions, "machine"), partitions=partitions)


def _with_verdicts(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Interval and verdict beside a speedup that leads, where any trial has them."""
    if spec.shape in ("change", "front", "relative") or spec.metrics[0].column != "speedup":
        return replace(spec, verdicts=False)
    asked = _benchmarks(spec, profile)
    known = any("speedup_ci_low" in profile.metrics(b) or profile.values("verdict", b) for b in asked)
    return replace(spec, verdicts=known and spec.metrics[0].aggregate in (None, "avg"))


def _held(f: Filter, profile: Profile, benchmark: str, how: Callable[[Iterable[bool]], bool] = any) -> bool:
    """Whether the benchmark has trials of any value, or of all, that an equality filter lets through."""
    if role_of(f.column) == "metric" or f.operator in ("<>", "not in"):
        return True
    if f.operator in _WITHIN:
        known = [v for v in profile.values(f.column, benchmark) if isinstance(v, (int, float))]
        return not known or any(_WITHIN[f.operator](v, f.values[0]) for v in known)
    return how(v in profile.values(f.column, benchmark) for v in f.values)


def _with_overview(spec: QuerySpec, profile: Profile) -> QuerySpec:
    asked = _benchmarks(spec, profile)
    overview = [m for m in catalog.words()["overview"] if any(m in profile.metrics(b) for b in asked)]
    overview = overview or list(dict.fromkeys(m for b in asked for m in profile.metrics(b)))[:_OWN_OVERVIEW]
    if not overview:
        raise Refusal("Nothing was measured of what is asked.")
    aggregate: Aggregate | None = None if spec.shape in ("points", "change") else "avg"
    return replace(spec, metrics=tuple(Metric(m, aggregate) for m in overview))


def _values(
    spec: QuerySpec, profile: Profile, column: str, benchmarks: Iterable[str] | None = None
) -> tuple[object, ...]:
    """The values of a column that the spec's equality filters leave, in these benchmarks or in all that are asked."""
    asked = benchmarks or _benchmarks(spec, profile)
    values = dict.fromkeys(v for b in asked for v in profile.values(column, b))
    for f in spec.filters:
        if f.column == column and f.operator in ("=", "in"):
            values = dict.fromkeys(v for v in values if v in f.values)
        elif f.column == column and f.operator in ("<>", "not in"):
            values = dict.fromkeys(v for v in values if v not in f.values)
    return tuple(values)


def _with_implied(spec: QuerySpec) -> QuerySpec:
    """With what the metrics asked for say of their trials."""
    for metric in spec.metrics:
        for column, value in catalog.words()["implied"].get(metric.column, {}).items():
            if column not in spec.dimensions and all(f.column != column for f in spec.filters):
                spec = replace(spec, filters=(*spec.filters, Filter(column, "=", (value,))))
    return spec


def _with_defaults(spec: QuerySpec, profile: Profile) -> QuerySpec:
    assumed = []
    for column, value in catalog.words()["defaults"].items():
        named = column in (*spec.dimensions, *spec.averaged) or any(f.column == column for f in spec.filters)
        values = _values(spec, profile, column)
        everywhere = all(profile.values(column, b) for b in _benchmarks(spec, profile))
        # "lookups that take longer than 5 ms": of every direction, or some would be hidden.
        searched = (
            column in ("direction", "cache", "output", "optimizer")
            and spec.shape == "groups"
            and any(f.column in (spec.metrics[0].column, "verdict") for f in spec.filters)
        )
        usual = everywhere and len(values) > 1 and value in values
        if usual and not (named or searched or _hides(spec, profile, column)):
            assumed.append(catalog.entry(column).label)
            spec = replace(spec, filters=(*spec.filters, Filter(column, "=", (value,))))
    return replace(spec, notes=(*spec.notes, f"{' and '.join(assumed)} as usual")) if assumed else spec


def _hides(spec: QuerySpec, profile: Profile, column: str) -> bool:
    """Whether the usual value of a column would leave out a value that is named, or some of an axis that is asked."""
    asked = _benchmarks(spec, profile)
    for lost in (profile.lost.get(b, {}).get(column, {}) for b in asked):
        if any(
            f.column in lost and f.operator in ("=", "in") and set(f.values) & set(lost[f.column]) for f in spec.filters
        ):
            return True
        if any(d in lost for d in spec.dimensions if d not in ("method", "dataset")):
            return True
    return False


def _open_axes(spec: QuerySpec, profile: Profile) -> tuple[list[str], list[str]]:
    """(workload axes, method and size) with several values that the spec does not name."""
    asked = _benchmarks(spec, profile)
    # Grouped by benchmark, only what differs within one of them is open.
    within = [[b] for b in asked] if "benchmark" in spec.dimensions else [asked]
    filtered = {f.column for f in spec.filters}
    fixed = {f.column for f in spec.filters if f.operator == "="}

    def is_open(axis: str) -> bool:
        if axis in spec.dimensions or axis in fixed or axis in spec.averaged:
            return False
        return any(is_open_in(axis, benchmarks) for benchmarks in within)

    def is_open_in(axis: str, benchmarks: list[str]) -> bool:
        if any(axis in axes and all(profile.values(by, b) for b in benchmarks) for by, axes in _IMPLIED.items()):
            return False
        # Trials from before an axis was there have no value of it: they are work of their own.
        partly = axis not in filtered and axis not in _CHOICES
        untold = partly and any(axis in profile.partly_filled.get(b, ()) for b in benchmarks)
        many = any(_is_many(profile, axis, b) for b in benchmarks)
        return untold or many or len(_values(spec, profile, axis, benchmarks)) > 1

    workload = ["benchmark", *(c.name for c in BY_NAME.values() if c.workload and c.name != "benchmark"), "machine"]
    return [a for a in workload if is_open(a)], [a for a in _CHOICES if is_open(a)]


def _is_many(profile: Profile, axis: str, benchmark: str) -> bool:
    """Whether a benchmark has more values of an axis than the profile lists."""
    return axis not in profile.distinct_by_benchmark.get(benchmark, {})


def _points(spec: QuerySpec, workload: list[str], choices: list[str], profile: Profile) -> QuerySpec:
    lead = contrasted(spec)
    dimensions = _unique("method", *([lead] if lead else []), *spec.dimensions, *workload, *choices, "seed")
    return _with_baseline(replace(spec, dimensions=dimensions), profile)


def _with_baseline(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Keep the baseline as reference where a filter on size alone would drop it: dense exists at compression 1 only."""
    baseline = catalog.words()["baseline"]
    # "the compressed ones" leaves the baseline out on purpose.
    sized = any(
        f.column in _SIZE_AXES and f.operator not in ("<>", "not in") and f != Filter("compression", "<", (1.0,))
        for f in spec.filters
    )
    methods = [f for f in spec.filters if f.column == "method"]
    wanted = all(f.operator == "in" and baseline in f.values for f in methods)
    if not sized or not wanted or baseline not in _values(spec, profile, "method"):
        return spec
    return replace(
        spec,
        dimensions=_unique(*spec.dimensions, "compression"),
        keep_baseline=True,
        notes=(*spec.notes, "the baseline is kept as reference"),
    )


def _ranked(spec: QuerySpec, workload: list[str], choices: list[str], profile: Profile) -> QuerySpec:
    entities = [d for d in spec.dimensions if d != "method"]
    if "method" in spec.dimensions and "method" not in spec.partitions:
        # "which method is best": one ranking per workload that must not be compared across.
        partitions = _unique(*spec.partitions, *workload)
        dimensions = _unique(*partitions, "method", *entities, *choices)
    elif "machine" in entities and "machine" not in spec.partitions:
        # "which machine is fastest": machines are compared at the same work, done in the same way.
        # The device is the machine's: a GPU may well be why it wins.
        partitions = _unique(*spec.partitions, *(w for w in workload if w != "device"), *choices)
        dimensions = _unique(*partitions, *entities, *(w for w in workload if w == "device"))
    elif entities and all(e in AXES and len(_values(spec, profile, e)) > 1 for e in entities):
        # "which dim is best": its values are compared at the same work, done by the same method.
        partitions = _unique(*spec.partitions, *workload, *choices)
        spec = replace(spec, notes=(*spec.notes, "where several were measured at the same work"))
        dimensions = _unique(*partitions, *entities)
    else:
        partitions = spec.partitions
        dimensions = _unique(*partitions, *entities, "method", *workload, *choices)
    return replace(spec, dimensions=dimensions, partitions=partitions)


def _unique(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
