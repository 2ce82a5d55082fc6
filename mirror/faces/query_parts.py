"""The parts of a query over the results that a person changes in place; each change gives a query of its own.

What is changed is the query as it was asked, before it was completed: then its open axes are settled anew. It stays in
the benchmark of the answer, since what can be chosen is what was measured there.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from mirror.query.check import SpecError
from mirror.query.spec import Aggregate, Filter, Metric, Operator, Order, QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.values import Value

Way = Literal["trials", "groups"]
OPERATORS: tuple[Operator, ...] = ("=", "<>", "<", "<=", ">", ">=")
AGGREGATES: tuple[Aggregate, ...] = ("avg", "median", "min", "max")
MEASURED = ("points", "groups", "ranking", "best", "front")  # shapes whose metrics can be exchanged
_GROUPED = ("groups", "ranking", "best", "front")
_MANY = {"=": "in", "<>": "not in"}
_ONE = {"in": "=", "not in": "<>"}
_FILTERED = ("method", "sweep", "machine", "verdict")  # beside the axes
_NOT_ASKED = ("seed", "op")


@dataclass(frozen=True)
class Parts:
    """A query as it was asked, as it was completed, and what the results hold."""

    asked: QuerySpec
    spec: QuerySpec
    profile: Profile

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The benchmarks that answer."""
        named = (f.values for f in self.spec.filters if f.column == "benchmark" and f.operator in ("=", "in"))
        return tuple(map(str, next(named, self.profile.benchmarks)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that can be asked for, in the order of the catalogue."""
        able = [b for b in self.benchmarks if {m.column for m in self.spec.metrics} <= self.profile.metrics(b)]
        known = set[str]().union(*(self.profile.metrics(b) for b in able or self.benchmarks))
        known |= {m.column for m in self.spec.metrics}
        return tuple(name for name in KNOWN_COLUMNS["results"] if name in known)

    @property
    def axes(self) -> tuple[str, ...]:
        """What can be grouped by: axes with several values, and what is grouped by already."""
        several = [n for n, e in catalog.entries().items() if e.role == "axis" and n not in _NOT_ASKED]
        held = set(self.asked.dimensions) | set(self.asked.averaged)
        own = [n for n in (*several, "machine") if len(self.values(n)) > 1 or self._is_many(n)]
        return tuple(dict.fromkeys((*own, *(n for n in several if n in held), *sorted(held - set(several)))))

    @property
    def apart(self) -> tuple[str, ...]:
        """What the results are told apart by without being asked for: it may be averaged over instead."""
        own = (*self.asked.dimensions, *self.spec.partitions) if self.spec.shape == "groups" else self.asked.dimensions
        return tuple(d for d in self.spec.dimensions if d not in own and d != "benchmark")

    @property
    def filtered(self) -> tuple[str, ...]:
        """Columns that a filter can be put on."""
        known = KNOWN_COLUMNS[self.spec.source]
        axes = [n for n in (*_FILTERED, *self.axes) if n in known and (self.values(n) or self._is_many(n))]
        return tuple(dict.fromkeys((*axes, *(m for m in self.metrics if m in known))))

    def values(self, column: str) -> tuple[Value, ...]:
        """The values of a column where they are few."""
        return tuple(dict.fromkeys(v for b in self.benchmarks for v in self.profile.values(column, b)))

    def _is_many(self, column: str) -> bool:
        """Whether it has too many values to be listed."""
        return all(column not in self.profile.distinct_by_benchmark.get(b, {}) for b in self.benchmarks)

    # -- changes -------------------------------------------------------------------------------------------------------

    def with_metrics(self, names: Sequence[str], aggregate: Aggregate = "avg") -> QuerySpec:
        """Other metrics, of groups as one aggregate of them. Raises SpecError where none is named."""
        if not names:
            raise SpecError("Name at least one metric.")
        several = self.spec.shape in _GROUPED
        metrics = tuple(Metric(n, aggregate if several else None) for n in names)
        if self.asked.shape in ("ranking", "best"):
            better = catalog.entry(names[0]).better
            return self._with(metrics=metrics, order=(Order(metrics[0].alias, better == "higher"),))
        kept = {*names, *(m.alias for m in metrics), *self.asked.dimensions}
        return self._with(metrics=metrics, order=tuple(o for o in self.asked.order if o.column in kept))

    def with_filter(self, at: Filter | None, changed: Filter | None) -> QuerySpec:
        """One filter in the place of another; None for none."""
        filters = [changed if f == at else f for f in self.asked.filters]
        if changed and at not in self.asked.filters:
            filters.append(changed)
        return self._with(filters=tuple(f for f in filters if f))

    def with_groups(self, dimensions: Sequence[str], averaged: Sequence[str] = ()) -> QuerySpec:
        """Groups by other columns, averaged over some on purpose."""
        groups = tuple(dimensions)
        left = tuple(a for a in averaged if a not in groups)
        partitions = tuple(p for p in self.asked.partitions if p in groups)
        named = {*groups, *(m.column for m in self.asked.metrics), *(m.alias for m in self.asked.metrics)}
        order = tuple(o for o in self.asked.order if o.column in named)
        return self._with(dimensions=groups, averaged=left, partitions=partitions, order=order)

    def as_way(self, way: Way) -> QuerySpec:
        """Single trials instead of groups, or means by method instead of trials."""
        columns = [m.column for m in self.asked.metrics]
        if way == "trials":
            metrics = tuple(Metric(c) for c in columns)
            return self._with(shape="points", metrics=metrics, dimensions=(), partitions=(), averaged=(), order=())
        metrics = tuple(Metric(c, "avg") for c in columns)
        return self._with(shape="groups", metrics=metrics, dimensions=("method",), order=())

    def with_order(self, column: str | None, descending: bool, limit: int | None) -> QuerySpec:
        """Another order, and the first rows alone."""
        order = (Order(column, descending),) if column else ()
        return self._with(order=order, limit=limit)

    def of_source(self, source: str) -> QuerySpec:
        """The same of another view of the results."""
        return self._with(source=source)

    def _with(self, **changes: object) -> QuerySpec:
        """The query as asked with changes, in the same benchmark, without notes about what was changed before."""
        changed: QuerySpec = replace(self.asked, notes=(), **changes)  # type: ignore[arg-type]
        own = [f for f in self.spec.filters if f.column == "benchmark"]
        if own and all(f.column != "benchmark" for f in changed.filters) and own[0] not in self.asked.filters:
            changed = replace(changed, filters=(own[0], *changed.filters))
        return changed


def is_way(spec: QuerySpec) -> Way | None:
    """What the rows are, where it can be changed."""
    plain = not (spec.claim or spec.verdicts or spec.explain or spec.against or spec.within is not None)
    if spec.source != "results" or not plain or not spec.metrics:
        return None
    if spec.shape == "points" and spec.dimensions[:1] != ("started_at",):
        return "trials"
    return "groups" if spec.shape == "groups" and all(m.aggregate == "avg" for m in spec.metrics) else None


def filter_of(column: str, operator: str, given: Sequence[object]) -> Filter:
    """A filter of what a person chose or typed. Raises SpecError, a sentence."""
    entry = catalog.entry(column)
    if operator not in get_args(Operator):
        raise SpecError(f"{operator} is no comparison.")
    values = tuple(_value(entry, v) for v in given)
    if not values:
        raise SpecError(f"Choose or type a value of {entry.label}.")
    if operator not in _MANY and len(values) > 1:
        raise SpecError(f"{operator} takes one value, not {len(values)}.")
    if operator not in _MANY and isinstance(values[0], (str, bool)) and entry.type != "timestamp":
        raise SpecError(f"{entry.label} holds no numbers: it can be = or <> only.")
    return Filter(column, _MANY[operator] if len(values) > 1 else operator, values)  # type: ignore[arg-type]


def operator_of(f: Filter) -> Operator:
    """The comparison of a filter as a person chooses it, whether of one value or several."""
    return _ONE.get(f.operator, f.operator)  # type: ignore[return-value]


def _value(entry: catalog.Entry, given: object) -> Value:
    """A value as the column holds it: of a list as it is, typed as text."""
    if not isinstance(given, str):
        return given  # type: ignore[return-value]
    text = given.strip()
    if entry.type == "boolean":
        if text.casefold() in ("true", "false"):
            return text.casefold() == "true"
        raise SpecError(f"{entry.label} is true or false, not {text}.")
    if entry.type not in ("integer", "real"):
        return text
    thousands = re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", text)  # a comma before decimals is none of these
    try:
        number = float(text.replace(",", "") if thousands else text)
        if not math.isfinite(number):
            raise ValueError
    except ValueError:
        raise SpecError(f"{entry.label} takes a number, not {text}.") from None
    return int(number) if number.is_integer() else number
