"""Completes a bare QuerySpec with what the question leaves open, so that nothing is averaged that must not be."""

from collections.abc import Iterable
from dataclasses import replace

from db.columns import BY_NAME
from mirror import catalog
from mirror.profile import Profile
from mirror.query_spec import Aggregate, Filter, Metric, QuerySpec
from mirror.understand.errors import Ambiguity, Refusal

# Axes that another one decides: a data set has its own tables and rows.
_IMPLIED = {"dataset": ("num_rows", "num_tables"), "benchmark": ("op",)}
_SIZE_AXES = ("compression", "block_size")
# What the same work can be done with: never averaged over either.
_CHOICES = ("method", *_SIZE_AXES)


def complete(spec: QuerySpec, profile: Profile, question: str) -> QuerySpec:
    """Fill in the benchmark, the open axes and the baseline.

    An axis is open when the question neither filters nor groups by it and the results hold several values. Open axes
    become part of the grouping (for best and ranking: of the partition, since the best of different workloads is not
    comparable), or take the default of the catalogue, with a note.

    Raises:
        Refusal: the results hold nothing of the kind.
        Ambiguity: several benchmarks could answer.
    """
    if spec.source != "results":
        return spec
    if profile.rows("results") == 0:
        raise Refusal("There are no results yet: start a run on the page New run, or load the example results.")
    spec = _with_benchmark(spec, profile, question)
    if spec.shape == "count":
        return spec
    if not spec.metrics:
        spec = _with_overview(spec, profile)
    spec = _with_defaults(spec, profile)
    workload, choices = _open_axes(spec, profile)
    if spec.shape == "points":
        return _points(spec, workload, choices, profile)
    if spec.shape in ("best", "ranking"):
        return _ranked(spec, workload, choices)
    dimensions = _unique(*spec.dimensions, *(c for c in choices if c == "method"), *workload, *choices)
    spec = replace(spec, dimensions=dimensions)
    compared = any(f.column == "method" and f.operator == "in" for f in spec.filters)
    return _with_baseline(spec, profile) if compared else spec


def _benchmarks_asked(spec: QuerySpec) -> set[object] | None:
    for f in spec.filters:
        if f.column == "benchmark" and f.operator in ("=", "in"):
            return set(f.values)
    return None


def _with_benchmark(spec: QuerySpec, profile: Profile, question: str) -> QuerySpec:
    if _benchmarks_asked(spec) or "benchmark" in spec.dimensions or spec.shape == "count":
        return spec
    wanted = [m.column for m in spec.metrics]
    wanted += [f.column for f in spec.filters if BY_NAME[f.column].role == "metric"]
    able = [b for b in profile.benchmarks if all(m in profile.metrics(b) for m in wanted)]
    if not able:
        raise Refusal(f"No benchmark has measured {_and(catalog.entry(m).label for m in wanted)} together yet.")
    holding = [b for b in able if all(_held(f, profile, b) for f in spec.filters)] or able
    varying = [b for b in holding if all(len(profile.values(d, b)) > 1 for d in spec.dimensions)]
    left = varying or [b for b in holding if all(profile.values(d, b) for d in spec.dimensions)] or holding
    notes = spec.notes
    if not wanted and len(left) > 1:
        overview = catalog.words()["overview"]
        left = [max(left, key=lambda b: sum(m in profile.metrics(b) for m in overview))]
        notes = (*notes, f"benchmark {left[0]}, which has the most to compare")
    if len(left) > 1:
        raise Ambiguity(
            f"{_and(left, 'or')}: which benchmark is meant?",
            tuple(f"{question.rstrip(' ?.!')} in {b}" for b in left[:3]),
        )
    return replace(spec, filters=(Filter("benchmark", "=", (left[0],)), *spec.filters), notes=notes)


def _held(f: Filter, profile: Profile, benchmark: str) -> bool:
    """Whether the benchmark has trials that an equality filter lets through."""
    if f.operator not in ("=", "in") or BY_NAME[f.column].role == "metric":
        return True
    return any(v in profile.values(f.column, benchmark) for v in f.values)


def _with_overview(spec: QuerySpec, profile: Profile) -> QuerySpec:
    asked = _benchmarks_asked(spec) or set(profile.benchmarks)
    overview = [m for m in catalog.words()["overview"] if any(m in profile.metrics(str(b)) for b in asked)]
    aggregate: Aggregate | None = None if spec.shape == "points" else "avg"
    return replace(spec, metrics=tuple(Metric(m, aggregate) for m in overview))


def _values(spec: QuerySpec, profile: Profile, column: str) -> tuple[object, ...]:
    """The values of a column that the spec's equality filters leave."""
    asked = _benchmarks_asked(spec) or set(profile.benchmarks)
    values = dict.fromkeys(v for b in asked for v in profile.values(column, str(b)))
    for f in spec.filters:
        if f.column == column and f.operator in ("=", "in"):
            values = dict.fromkeys(v for v in values if v in f.values)
        elif f.column == column and f.operator in ("<>", "not in"):
            values = dict.fromkeys(v for v in values if v not in f.values)
    return tuple(values)


def _with_defaults(spec: QuerySpec, profile: Profile) -> QuerySpec:
    for column, value in catalog.words()["defaults"].items():
        named = column in spec.dimensions or any(f.column == column for f in spec.filters)
        values = _values(spec, profile, column)
        everywhere = all(profile.values(column, str(b)) for b in _benchmarks_asked(spec) or profile.benchmarks)
        if not named and len(values) > 1 and value in values and everywhere:
            note = f"{catalog.entry(column).label} {value}"
            spec = replace(spec, filters=(*spec.filters, Filter(column, "=", (value,))), notes=(*spec.notes, note))
    return spec


def _open_axes(spec: QuerySpec, profile: Profile) -> tuple[list[str], list[str]]:
    """(workload axes, method and size) with several values that the spec does not name."""
    asked = [str(b) for b in _benchmarks_asked(spec) or profile.benchmarks]
    implied = {i for axis, axes in _IMPLIED.items() for i in axes if all(profile.values(axis, b) for b in asked)}
    workload = ["benchmark", *(c.name for c in BY_NAME.values() if c.workload and c.name != "benchmark"), "machine"]
    named = set(spec.dimensions)

    fixed = {f.column for f in spec.filters if f.operator == "="}

    def is_open(axis: str) -> bool:
        if axis in named or axis in fixed:
            return False
        return len(_values(spec, profile, axis)) > 1 or any(_is_many(profile, axis, b) for b in asked)

    return (
        [a for a in workload if a not in implied and is_open(a)],
        [a for a in _CHOICES if is_open(a)],
    )


def _is_many(profile: Profile, axis: str, benchmark: str) -> bool:
    """Whether a benchmark has more values of an axis than the profile lists."""
    return axis not in profile.distinct_by_benchmark.get(benchmark, {})


def _points(spec: QuerySpec, workload: list[str], choices: list[str], profile: Profile) -> QuerySpec:
    dimensions = _unique("method", *spec.dimensions, *workload, *choices, "seed")
    return _with_baseline(replace(spec, dimensions=dimensions), profile)


def _with_baseline(spec: QuerySpec, profile: Profile) -> QuerySpec:
    """Keep the baseline as reference where a filter on size alone would drop it: dense exists at compression 1 only."""
    baseline = catalog.words()["baseline"]
    sized = any(f.column in _SIZE_AXES for f in spec.filters)
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


def _ranked(spec: QuerySpec, workload: list[str], choices: list[str]) -> QuerySpec:
    entities = [d for d in spec.dimensions if d != "method"]
    if "method" in spec.dimensions:
        # "which method is best": one ranking per workload that must not be compared across.
        partitions = _unique(*spec.partitions, *workload)
        dimensions = _unique(*partitions, "method", *entities, *choices)
    else:
        partitions = spec.partitions
        dimensions = _unique(*entities, "method", *workload, *choices)
    return replace(spec, dimensions=dimensions, partitions=partitions)


def _unique(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _and(parts: Iterable[str], word: str = "and") -> str:
    parts = list(parts)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
