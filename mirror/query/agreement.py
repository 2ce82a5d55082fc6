"""Agreement: whether the language model and the built-in reader make the same query of a question, and what differs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from db.plain_text import plain_text
from mirror.query.change import change_columns
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Aggregate, Filter, Metric, Order, QuerySpec
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.numbers import describe
from mirror.table.values import Value
from mirror.table.wording import join, shortened

_MOST_TOLD = 3
_SHAPES = {
    "points": "show single trials",
    "groups": "show one row per group",
    "ranking": "rank the groups",
    "best": "show only the best",
    "front": "show only what nothing else beats in both metrics",
    "relative": "compare with a reference",
    "count": "count",
    "rows": "list whole trials",
    "change": "compare before and since a moment",
}
_SOURCES = {
    "results": "the newest trials",
    "history": "all trials, superseded ones too",
    "failures": "the trials that are not ok",
    "curves": "the training curves",
    "samples": "the raw timings",
}


@dataclass(frozen=True)
class Agreement:
    """How two readings of a question compare.

    Attributes:
        same: whether they are the same query; None where the built-in reader has no reading to compare with.
        sentence: what differs, or why there is no comparison; empty where they are the same.
    """

    same: bool | None
    sentence: str = ""


def agreement(model: QuerySpec, built_in: QuerySpec | Refusal | Ambiguity) -> Agreement:
    """Compare the model's completed spec with the built-in reader's, or with its reason to have none.

    What decides the rows is compared. Two spellings of one query are the same: filters in another order, `in` with one
    value, a date and its midnight, a dimension that a filter holds to one value, a limit where a shape has none. Notes
    and the chart do not count.
    """
    if isinstance(built_in, Ambiguity):
        return Agreement(None, f"The built-in reader would have asked back: {plain_text(built_in, 200)}")
    if isinstance(built_in, Refusal):
        return Agreement(
            None, "The built-in reader does not understand this question, so nothing confirms the model's reading."
        )
    if told := [words for compare in _COMPARISONS for words in compare(model, built_in)]:
        return Agreement(False, f"The built-in reader would {shortened(told, _MOST_TOLD)}.")
    return Agreement(True)


# -- what is compared: each tells what the built-in reader would do that the model does not ----------------------------


def _kind(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    told = []
    if model.source != built_in.source:
        told.append(
            f"read {_SOURCES.get(built_in.source, built_in.source)}, not {_SOURCES.get(model.source, model.source)}"
        )
    if model.shape != built_in.shape:
        told.append(f"{_SHAPES[built_in.shape]}, not {_SHAPES[model.shape]}")
    elif built_in.shape == "count" and model.distinct != built_in.distinct:
        what, instead = (f"different {_label(s.distinct)}" if s.distinct else "trials" for s in (built_in, model))
        told.append(f"count {what}, not {instead}")
    return told


def _metrics(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    ours, theirs = _measured(model), _measured(built_in)
    if built_in.shape in ("count", "rows"):
        return []
    told = []
    for metric in theirs:
        other = next((m for m in ours if (m.column, m.name) == (metric.column, metric.name)), None)
        if other is None:
            told.append(f"also show {_metric(metric)}")
        elif other != metric:
            told.append(f"show {_metric(metric)}, not {_metric(other)}")
    named = [(m.column, m.name) for m in theirs]
    told += [f"not show {_metric(m)}" for m in ours if (m.column, m.name) not in named]
    if not told and ours[:1] != theirs[:1] and model.shape == built_in.shape != "points":  # points have two axes
        told.append(f"take {_metric(theirs[0])} for the leading metric")
    return told


def _filters(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    ours, theirs = ({_plain_filter(f): f for f in spec.filters} for spec in (model, built_in))
    missing = [f for key, f in theirs.items() if key not in ours]
    extra = [f for key, f in ours.items() if key not in theirs]
    told = []
    for f in missing:
        others = [e for e in extra if e.column == f.column]
        if others and sum(m.column == f.column for m in missing) == 1:
            told.append(f"keep {filter_in_words(f)}, not {join(filter_in_words(o) for o in others)}")
            extra = [e for e in extra if e not in others]
        else:
            told.append(f"keep only {filter_in_words(f)}")
    return told + [f"not ask for {filter_in_words(f)}" for f in extra]


def _baseline(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    if _keeps_baseline(model) == _keeps_baseline(built_in):
        return []
    baseline = catalog.words()["baseline"]
    return [f"also keep {baseline}" if _keeps_baseline(built_in) else f"not keep {baseline} as reference"]


def _dimensions(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    if "rows" in (model.shape, built_in.shape):
        return []
    verb = "show" if built_in.shape == "points" else "group by"
    missing, extra = _beyond(built_in, model), _beyond(model, built_in)
    told = [f"also {verb} {join(_label(d) for d in missing)}"] if missing else []
    told += [f"not {verb} {join(_label(d) for d in extra)}"] if extra else []
    if not told and model.shape == built_in.shape in ("ranking", "best", "front", "relative"):
        fixed = _fixed(model) | _fixed(built_in)
        within, alone = ([d for d in s.partitions if d not in fixed] for s in (built_in, model))
        if set(within) != set(alone):
            each = f"anew for each {join(_label(d) for d in within)}" if within else "over all of them together"
            told.append(f"compare {each}")
    return told


def _comparison(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    told = []
    if built_in.split and _moment(built_in.split) != _moment(model.split):
        told.append(f"compare before and since {built_in.split} UTC")
    if built_in.shape == model.shape == "relative":
        if built_in.against and model.against and _plain_filter(built_in.against) != _plain_filter(model.against):
            told.append(f"compare with {describe(catalog.entry(built_in.against.column), built_in.against.values[0])}")
        elif built_in.inverse != model.inverse:
            told.append("tell how many times less" if built_in.inverse else "tell the value over the reference")
    if built_in.verdicts != model.verdicts:
        told.append("show verdicts" if built_in.verdicts else "not show verdicts")
    if built_in.within != model.within:
        told.append(
            "keep every AUC"
            if built_in.within is None
            else f"keep only an AUC at most {built_in.within:g} below {catalog.words()['baseline']}"
        )
    if built_in.claim != model.claim:
        told.append(f"answer what is {built_in.claim}" if built_in.claim else f"not answer what is {model.claim}")
    return told


def _order(model: QuerySpec, built_in: QuerySpec) -> list[str]:
    """Sort order and number of rows, where the rows are the same otherwise."""
    if model.shape != built_in.shape:
        return []
    told = []
    ours, theirs = _sorted_by(model), _sorted_by(built_in)
    if ours != theirs and theirs:
        first = next((t for i, t in enumerate(theirs) if ours[i : i + 1] != (t,)), theirs[0])
        told.append(f"sort by {_label(first[0])}, {'highest' if first[1] else 'lowest'} first")
    elif ours != theirs:
        told.append("not sort the rows")
    if _most(model) != _most(built_in):
        told.append(f"show the first {_most(built_in)}" if _most(built_in) else "show all rows")
    return told


_COMPARISONS: tuple[Callable[[QuerySpec, QuerySpec], list[str]], ...] = (
    _kind, _filters, _baseline, _metrics, _comparison, _dimensions, _order,
)  # fmt: skip


# -- one spelling ------------------------------------------------------------------------------------------------------


def _measured(spec: QuerySpec) -> tuple[Metric, ...]:
    """The metrics with the aggregate that is meant where none is named."""
    usual: Aggregate | None = (
        None if spec.shape in ("points", "rows") else "median" if spec.shape == "change" else "avg"
    )
    return tuple(Metric(m.column, m.aggregate or usual, m.name) for m in spec.metrics)


def _plain_filter(f: Filter) -> tuple[str, str, frozenset[Value | datetime]]:
    operator = {"in": "=", "not in": "<>"}.get(f.operator, f.operator)
    return f.column, operator, frozenset(_plain_value(f.column, v) for v in f.values)


def _plain_value(column: str, value: Value) -> Value | datetime:
    known = next((types[column] for types in KNOWN_COLUMNS.values() if column in types), "")
    return _moment(str(value)) or value if known == "timestamp" else value


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text or "")
    except ValueError:
        return None


def _keeps_baseline(spec: QuerySpec) -> bool:
    """Whether the baseline is kept where a filter would drop it."""
    return spec.keep_baseline and any(f.column in ("compression", "block_size") for f in spec.filters)


def _beyond(spec: QuerySpec, other: QuerySpec) -> list[str]:
    """The dimensions of a spec that the other has not; one that a filter holds to one value says nothing."""
    return [d for d in spec.dimensions if d not in {*other.dimensions, *_fixed(spec), *_fixed(other)}]


def _fixed(spec: QuerySpec) -> set[str]:
    """The columns that the filters leave one value of."""
    fixed = {f.column for f in spec.filters if f.operator in ("=", "in") and len(f.values) == 1}
    return fixed - {"compression", "block_size"} if _keeps_baseline(spec) else fixed


def _sorted_by(spec: QuerySpec) -> tuple[tuple[str, bool], ...]:
    """The sort keys that a question names; for ranking and best the one that counts."""
    keys = tuple(_sort_key(o, spec) for o in spec.order)
    if spec.shape in ("ranking", "best"):
        return keys[:1]
    if spec.shape in ("groups", "count") and tuple(c for c, down in keys if not down) == spec.dimensions[: len(keys)]:
        return ()  # as without any
    if spec.shape == "change" and keys == ((change_columns(spec.metrics[0].column).change, True),):
        return ()
    return keys


def _sort_key(order: Order, spec: QuerySpec) -> tuple[str, bool]:
    """A metric's column stands for what became of it: `latency_us` for `median_latency_us`."""
    by_column = {m.column: m.alias for m in reversed(spec.metrics)}
    aliases = [m.alias for m in spec.metrics]
    return order.column if order.column in aliases else by_column.get(order.column, order.column), order.descending


def _most(spec: QuerySpec) -> int | None:
    """The number of rows that a limit leaves; `best` and `front` have none."""
    return None if spec.shape in ("best", "front") else spec.limit


def _metric(metric: Metric) -> str:
    name = _label(metric.name or metric.column)
    return f"{catalog.AGGREGATE_WORDS[metric.aggregate]} {name}" if metric.aggregate else name


def _label(column: str) -> str:
    return catalog.entry(column).label
