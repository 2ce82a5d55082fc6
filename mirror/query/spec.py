"""QuerySpec: the one form between words and SQL. Both front ends emit it, compile_sql, chart and summary read it."""

from dataclasses import dataclass, field
from typing import Literal

from mirror.query.change import change_columns, relative_columns
from mirror.schema import catalog
from mirror.schema.own_metrics import role_of
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.table import Column
from mirror.table.values import Value

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "in", "not in"]
Aggregate = Literal["avg", "min", "max", "median", "stddev", "count", "sum"]
Shape = Literal["points", "groups", "ranking", "best", "front", "relative", "count", "rows", "change"]
Claim = Literal["faster", "slower", "better", "worse"]
ChartType = Literal["scatter", "line", "bar", "box", "histogram", "heatmap", "parallel", "tiles", "table"]


@dataclass(frozen=True)
class Metric:
    """A metric column, and how several trials of it become one number (None: as it stands, one row per trial).

    `name` names the result's column where it is not the metric's own: what the `value` of a curve is of.
    """

    column: str
    aggregate: Aggregate | None = None
    name: str | None = None

    @property
    def alias(self) -> str:
        """Name of the result's column: the metric's own for a mean or a raw value, `max_latency_us` otherwise."""
        name = self.name or self.column
        return name if self.aggregate in (None, "avg") else f"{self.aggregate}_{name}"


@dataclass(frozen=True)
class Filter:
    """`column operator values`; several values for `in` and `not in`, one for the rest."""

    column: str
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Order:
    """Sort by a column of the result."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class ChartWish:
    """What the question asked of the chart; None where it is silent. `linear`: no logarithmic axes at all."""

    type: ChartType | None = None
    log_x: bool = False
    log_y: bool = False
    linear: bool = False


@dataclass(frozen=True)
class QuerySpec:
    """One question.

    Attributes:
        shape: points (one row per trial), groups (metrics per group), ranking (groups in order, the first `limit`),
            best (the first of each partition, ties included), front (of each partition the groups that no other beats
            in both metrics; with the claim worse, those that another does beat), relative (metrics per group beside
            those of the reference `against`), count (a number of trials), rows (whole trials), change (the leading
            metric of each group before and since `split`).
        metrics: the metrics asked for, the leading one first.
        dimensions: columns to group by or to show beside the metrics, the asked ones first.
        partitions: for `ranking`, `best` and `front`: dimensions within which the ranking is made anew (never compare
            across); for `relative`: dimensions in which a group and its reference agree.
        filters: all must hold.
        keep_baseline: keep the rows of the baseline method, whatever a filter on size (compression) says, as reference.
        order: sort order, before the default one.
        limit: number of rows (per partition for `ranking` with partitions), or None.
        source: view that is read.
        split: for `change`: the time, ISO text in UTC, that parts before from since.
        verdicts: show the interval and the verdict of the speedup beside it.
        within: keep only what has a mean AUC at most so far below the baseline's at the same work; None for all.
        claim: what a yes/no question asks: of methods against the baseline (faster, slower), or of a change; for
            `relative` only the groups that are better, or worse, in all metrics are left.
        against: for `relative`: the dimension and its one value that the other groups are compared with.
        inverse: for `relative`: how many times less, the reference over the group, not the group over the reference.
        averaged: axes that are averaged over on purpose.
        distinct: for `count`: the column whose different values are counted, instead of trials; among the dimensions,
            they are listed.
        last: of training curves only the last step of each trial.
        explain: whether the question is why: all metrics that are known stand beside the leading one.
        chart: chart wish.
        notes: what the reading fixed or assumed, one phrase each; shown to the person.
    """

    shape: Shape
    metrics: tuple[Metric, ...] = ()
    dimensions: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    keep_baseline: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    source: str = "results"
    split: str | None = None
    verdicts: bool = False
    within: float | None = None
    claim: Claim | None = None
    against: Filter | None = None
    inverse: bool = False
    averaged: tuple[str, ...] = ()
    distinct: str | None = None
    explain: bool = False
    last: bool = False
    chart: ChartWish = field(default_factory=ChartWish)
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """What a column is that the question names; its result need not hold it."""
        return catalog.entry(name)

    @property
    def drawn(self) -> tuple[str, ...]:
        """Names of the result's columns that answer, the leading one first: metrics, or what became of one."""
        if self.shape == "change":
            return (change_columns(self.metrics[0].column).change,)
        if self.shape == "relative":
            return tuple(relative_columns(m.column, self.inverse).outcome for m in self.metrics)
        return tuple(m.alias for m in self.metrics)


@dataclass(frozen=True)
class Wanted:
    """What chart and sentence must know of a question of another form; the attributes mean what QuerySpec's do."""

    shape: Shape
    drawn: tuple[str, ...]
    dimensions: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    chart: ChartWish = field(default_factory=ChartWish)
    partitions: tuple[str, ...] = ()


Question = QuerySpec | Wanted


def is_of_groups(f: Filter, spec: QuerySpec) -> bool:
    """Whether a filter keeps groups by what they have of a metric, as they are shown, and not single trials.

    Groups that hold a single configuration are told by their mean or median; sums, ends and numbers of trials are of
    the trials that pass.
    """
    grouped = spec.shape in ("groups", "ranking", "best", "front", "relative") and bool(spec.dimensions)
    shown = all(m.aggregate in (None, "avg", "median") for m in spec.metrics)
    return grouped and shown and f.column in KNOWN_COLUMNS["results"] and role_of(f.column) == "metric"
