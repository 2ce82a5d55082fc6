"""An asked QuerySpec as a line of actions, and back.

best metric:auc by column:method where value:frappe and metric:memory_mb < number:1 order 1st desc end

What follows from the rest is left out: the step of curves, the columns of failures, the start of a course over time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mirror.language.neural.action_language import Action, Inexpressible
from mirror.language.neural.items import Items, Literal
from mirror.language.neural.results_grammar import (
    AGGREGATES,
    CLAIMS,
    COLUMN,
    METRIC,
    MOST_ACTIONS,
    NUMBER,
    NUMBERS,
    PLACES,
    SOURCES,
    TABLE,
    TIME,
    TO_FINISH,
    VALUE,
)
from mirror.language.neural.results_items import pointer_of
from mirror.language.neural.results_numbers import UNIT_OF, NumberSaid
from mirror.language.neural.results_phrases import CURVES, MACHINES, RESULTS
from mirror.language.phrases.time_cues import in_sql
from mirror.language.phrases.written_numbers import UNITS, one_spelling
from mirror.query.spec import ChartType, ChartWish, Filter, Metric, Order, QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.schema.views import is_curve_name
from mirror.table.values import Value

_FLAGS = ("verdicts", *CLAIMS, "inverse", "keep", "why", "last")
AS_GOOD = 0.001  # of AUC: what counts as no loss
_CURVE_COLUMN, _CURVE_VALUE, _CURVE_STEP = "metric", "value", "step"
_STARTED, _STATUS, _NAME = "started_at", "status", "name"
_FAILED = Filter(_STATUS, "<>", ("skipped",))  # "failed" means every status but skipped
_FAILURE_COLUMNS = (
    "status", "benchmark", "method", "dataset", "compression", "embedding_dim", "batch_size", "seed", "error",
)  # fmt: skip
_LATEST_FIRST = (Order(_STARTED, True),)


def bare_of(spec: QuerySpec) -> QuerySpec:
    """A form as lines of actions tell it: without notes, and its conditions in an order of their own."""
    ordered = sorted(spec.filters, key=lambda f: (f.column, f.operator, str(len(f.values))))
    return replace(spec, filters=tuple(ordered), notes=())


def _default_source(shape: str) -> str:
    return "history" if shape in ("change", "rows") else "results"


# -- from a form to actions --------------------------------------------------------------------------------------------


class ResultsWriter:
    """Writes an asked QuerySpec over items. Raises Inexpressible."""

    def __init__(self, spec: QuerySpec, items: Items, profile: Profile) -> None:
        self._spec, self._items, self._profile = spec, items, profile
        self._line: list[Action] = []
        self._used: set[int] = set()

    def line(self) -> list[Action]:
        """The actions, `end` the last; what they are read as is the form."""
        spec = self._spec
        self._say(spec.shape)
        if spec.source != _default_source(spec.shape):
            if spec.source not in SOURCES:
                raise Inexpressible(f"source {spec.source}")
            self._say(f"of {spec.source}")
        self._metrics(spec)
        self._columns("by", [d for d in _asked_dimensions(spec) if d not in spec.partitions])
        self._columns("each", spec.partitions)
        self._filters(spec)
        self._order(spec)
        self._rest(spec)
        self._flags(spec)
        self._say("end")
        if len(self._line) > MOST_ACTIONS - TO_FINISH:
            raise Inexpressible("too long")
        if bare_of(ResultsReader(self._line, self._items, self._profile).asked()) != bare_of(spec):
            raise Inexpressible("it is read as another form")
        return self._line

    def _say(self, *words: str) -> None:
        self._line += [Action(word) for word in words]

    def _metrics(self, spec: QuerySpec) -> None:
        usual = None if spec.shape in ("points", "change") else "avg"
        if spec.source == "curves":
            names = next((f.values for f in spec.filters if f.column == _CURVE_COLUMN), ())
            for i, name in enumerate(names):
                if not i and spec.metrics and spec.metrics[0].aggregate != usual:
                    self._say(spec.metrics[0].aggregate or "raw")
                self._point((CURVES, str(name)))
            return
        for metric in spec.metrics:
            if metric.aggregate != usual:
                self._say(metric.aggregate or "raw")
            self._point((RESULTS, metric.column))

    def _point(self, at: tuple[str, str]) -> None:
        if at not in self._items.columns:
            raise Inexpressible(f"column {at[1]}")
        self._line.append(Action(pointer_of(at), self._items.first_column + self._items.columns.index(at)))

    def _column(self, name: str) -> None:
        self._point((MACHINES if self._spec.source == "machines" else RESULTS, name))

    def _columns(self, section: str, names: Sequence[str]) -> None:
        if names:
            self._say(section)
            for name in names:
                self._column(name)

    def _literal(self, kind: str, fits: Callable[[Literal], bool]) -> bool:
        """Points at a literal that fits, rather at one that was not pointed at yet; whether there is one."""
        held = enumerate(self._items.literals)
        places = [i for i, k in held if f"<{k.kind}>" == kind and fits(k)]
        if not places:
            return False
        place = next((i for i in places if i not in self._used), places[0])
        self._used.add(place)
        self._line.append(Action(kind, self._items.first_literal + place))
        return True

    def _number(self, value: Value, column: str = "") -> None:
        if self._literal(NUMBER, lambda k: k.value == value):
            return
        if isinstance(value, int | float) and f"#{value:g}" in NUMBERS:
            self._say(f"#{value:g}")
            return
        for end in ("max", "min"):
            metrics = [] if self._spec.source == "curves" else [m.column for m in self._spec.metrics]
            if column and _end_of(column, end, self._spec.filters, self._profile, metrics) == value:
                self._say(end)
                return
        raise Inexpressible(f"number {value}")

    def _filters(self, spec: QuerySpec) -> None:
        left = [f for f in spec.filters if not (spec.source == "curves" and f.column == _CURVE_COLUMN)]
        if _implies_failed(spec.source, left, _asked_dimensions(spec), _FAILED):
            left.remove(_FAILED)
        said: list[tuple[int, int, list[Action]]] = []
        before, self._line = self._line, []
        while left:
            condition = left.pop(0)
            pair = next((g for g in left if g.column == condition.column and _are_ends(condition, g)), None)
            if pair and self._between(condition, pair):
                left.remove(pair)
            elif condition.column == _STARTED:
                self._dated(condition)
            elif condition.column == "benchmark" and condition.operator in ("=", "<>", "in", "not in"):
                self._benchmark(condition)
            else:
                self._condition(condition)
            said.append((self._place(self._line), len(said), self._line))
            self._line = []
        self._line = before
        for i, (_, _, actions) in enumerate(sorted(said)):  # in the order of the question
            self._say("and" if i else "where")
            self._line += actions

    def _place(self, actions: list[Action]) -> int:
        """Where in the question a condition is said; behind it where it is not."""
        literals, first = self._items.literals, self._items.first_literal
        places = [literals[a.item - first].start for a in actions if a.item >= first]
        return min(places, default=len(self._items.tokens))

    def _between(self, low: Filter, high: Filter) -> bool:
        if low.column == _STARTED:
            wanted = (low.values[0], high.values[0])
            return high.operator == "<" and self._literal(TIME, lambda k: _limits(k) == wanted)
        if high.operator != "<=":
            return False
        self._column(low.column)
        self._say("between")
        self._number(low.values[0], low.column)
        self._number(high.values[0], low.column)
        return True

    def _dated(self, condition: Filter) -> None:
        value, operator = condition.values[0], condition.operator
        if operator == ">=" and self._literal(TIME, lambda k: _limits(k) == (value, None)):
            return
        if operator == "<" and self._literal(TIME, lambda k: _limits(k) == (None, value)):
            return
        for word, wanted, place in (("since", ">=", 0), ("before", "<", 0), ("until", "<", 1)):
            if operator == wanted:
                self._say(word)
                if self._literal(TIME, lambda k, place=place: _limits(k)[place] == value):  # type: ignore[misc]
                    return
                self._line.pop()
        raise Inexpressible("time")

    def _benchmark(self, condition: Filter) -> None:
        if condition.operator in ("<>", "not in"):
            self._say("not")
        for i, value in enumerate(condition.values):
            self._say(*(["or"] if i else []))
            if value not in self._items.tables:
                raise Inexpressible(f"benchmark {value}")
            self._line.append(Action(TABLE, self._items.first_table + self._items.tables.index(str(value))))

    def _condition(self, condition: Filter) -> None:
        column, operator = condition.column, condition.operator
        if operator in ("=", "<>", "in", "not in") and self._said_values(condition):
            return
        self._column(column)
        self._say(operator)
        for value in condition.values:
            self._number(value, column)

    def _said_values(self, condition: Filter) -> bool:
        """`method = 'hashed'` and the like, as values that were said."""
        column = "machine" if self._spec.source == "machines" and condition.column == _NAME else condition.column
        before = len(self._line)
        if condition.operator in ("<>", "not in"):
            self._say("not")

        def points(value: object) -> bool:
            return self._literal(VALUE, lambda k: k.link is not None and k.link.column == column and k.value == value)

        left = list(condition.values)
        while left:
            if len(left) < len(condition.values):
                self._say("or")
            if points(left[0]):
                del left[0]
            elif family := self._family(column, left):
                points(family)
                left = [v for v in left if v not in family]
            else:
                del self._line[before:]
                return False
        return True

    def _family(self, column: str, values: Sequence[Value]) -> tuple[Value, ...]:
        """The largest family of values that was said and holds no others; it begins with the first of them."""
        held = (k.value for k in self._items.literals if k.link and k.link.column == column)
        fitting = [v for v in held if isinstance(v, tuple) and v == tuple(w for w in values if w in v)]
        return max((v for v in fitting if v[0] == values[0]), key=len, default=())

    def _order(self, spec: QuerySpec) -> None:
        if spec.order == _default_order(spec):
            return
        columns = [m.alias for m in spec.metrics[: len(PLACES)]]
        for i, order in enumerate(spec.order):
            self._say("," if i else "order")
            if order.column in columns:
                self._say(PLACES[columns.index(order.column)])
            elif order.column == "trials":
                self._say("trials")
            else:
                self._column(order.column)
            self._say("desc" if order.descending else "asc")

    def _rest(self, spec: QuerySpec) -> None:
        if spec.limit is not None:
            self._say("top")
            self._number(spec.limit)
        if spec.split is not None:
            self._say("split")
            if not self._literal(TIME, lambda k: _moment(k) == spec.split):
                raise Inexpressible("split")
        if spec.against:
            self._against(spec.against)
        if spec.within is not None:
            self._say("within")
            if not self._literal(NUMBER, lambda k: k.value == spec.within):
                if spec.within != AS_GOOD:
                    raise Inexpressible("within")
                self._say("as good")
        self._columns("over", spec.averaged)
        self._columns("distinct", [spec.distinct] if spec.distinct else [])

    def _against(self, reference: Filter) -> None:
        self._say("against")
        if reference == _baseline() and not any(k.value == reference.values[0] for k in self._items.literals):
            self._say("baseline")
        elif reference.column == "benchmark":
            self._benchmark(reference)
        elif not self._said_values(reference):
            self._column(reference.column)
            self._number(reference.values[0], reference.column)

    def _flags(self, spec: QuerySpec) -> None:
        told = {"verdicts": spec.verdicts, "inverse": spec.inverse, "keep": spec.keep_baseline, "why": spec.explain,
                "last": spec.last, spec.claim: True}  # fmt: skip
        self._say(*(flag for flag in _FLAGS if told.get(flag)))
        if spec.chart.type != _default_chart(spec):
            self._say("as", spec.chart.type or "no chart")
        scales = (("log x", spec.chart.log_x), ("log y", spec.chart.log_y), ("linear", spec.chart.linear))
        self._say(*(word for word, wished in scales if wished))


# -- what follows from the rest ----------------------------------------------------------------------------------------


def _baseline() -> Filter:
    return Filter("method", "=", (catalog.words()["baseline"],))


def _is_course(spec: QuerySpec) -> bool:
    return spec.shape == "points" and spec.source == "history"


def _default_chart(spec: QuerySpec) -> ChartType | None:
    return "line" if _is_course(spec) or (spec.source == "curves" and not spec.last) else None


def _default_order(spec: QuerySpec) -> tuple[Order, ...]:
    return _LATEST_FIRST if spec.shape == "rows" and spec.source == "history" else ()


def _default_dimensions(spec: QuerySpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(dimensions in front of those that are said, behind them)."""
    if spec.source == "curves":
        names = next((f.values for f in spec.filters if f.column == _CURVE_COLUMN), ())
        return (*(() if spec.last else (_CURVE_STEP,)), *((_CURVE_COLUMN,) if len(names) > 1 else ())), ()
    if spec.source == "machines":
        return (_NAME,), ()
    if spec.source == "failures" and spec.shape == "rows" and not spec.order:
        return (), _FAILURE_COLUMNS
    return ((_STARTED,) if _is_course(spec) else ()), ()


def _asked_dimensions(spec: QuerySpec) -> list[str]:
    """The dimensions without those that follow from the rest."""
    front, back = _default_dimensions(spec)
    return [d for d in spec.dimensions if d not in (*front, *back)]


def _implies_failed(source: str, filters: Sequence[Filter], dimensions: Sequence[str], own: Filter | None) -> bool:
    """Whether failures mean those that were not skipped: where no status is said."""
    told = any(f.column == _STATUS and f != own for f in filters) or _STATUS in dimensions
    return source == "failures" and not told and (own is None or own in filters)


def _are_ends(low: Filter, high: Filter) -> bool:
    return low.operator == ">=" and high.operator in ("<", "<=")


def _limits(time: Literal) -> tuple[str | None, str | None]:
    """From which moment on and before which moment a time is."""
    start, end = time.value.start, time.value.end  # type: ignore[attr-defined]
    return (in_sql(start) if start else None, in_sql(end) if end else None)


def _moment(time: Literal) -> str | None:
    start, end = _limits(time)
    return start or end


def _in_unit_of(column: str, number: Literal) -> Value:
    """The number in the unit of a column. Raises Inexpressible where that measures something else."""
    value, said = number.value, UNIT_OF.get(number.how) if isinstance(number, NumberSaid) else None
    assert isinstance(value, int | float)
    unit = catalog.entry(column).unit if column else said
    if said is None or unit == said:
        return value
    (kind, size), (of, one) = (UNITS.get(one_spelling(u or ""), ("", 1.0)) for u in (said, unit))
    if kind != of:
        raise Inexpressible(f"{column} in {said}")
    found = float(f"{value * size / one:.10g}")
    return int(found) if found.is_integer() else found


def _end_of(
    column: str, end: str, filters: Sequence[Filter], profile: Profile, measured: Sequence[str]
) -> Value | None:
    """The largest or smallest value of an axis, in the benchmarks that are named, else in those that measure these."""
    named = [str(v) for f in filters if f.column == "benchmark" and f.operator in ("=", "in") for v in f.values]
    wanted = {name for name in measured if catalog.entry(name).role == "metric"}
    of = named or [b for b in profile.benchmarks if wanted <= profile.metrics(b)]
    among = [v for b in of for v in profile.values(column, b)] or ([] if named else profile.values(column))
    numbers = [v for v in among if isinstance(v, int | float)]
    return (max if end == "max" else min)(numbers, default=None)


# -- from actions to a form --------------------------------------------------------------------------------------------


class ResultsReader:
    """Reads a line of actions over items: they must have been allowed one after the other."""

    def __init__(self, line: Sequence[Action], items: Items, profile: Profile) -> None:
        self._line, self._at = line, 0
        self._items, self._profile = items, profile
        self._measured: list[str] = []  # the metrics of the results, when they are read

    def asked(self) -> QuerySpec:
        """The form. Raises Inexpressible where the actions fit together in none."""
        shape: Any = self._take()
        source = self._take().removeprefix("of ") if self._next().startswith("of ") else _default_source(shape)
        spec = QuerySpec(shape, source=source)
        metrics = self._metrics(spec)
        self._measured = [metric.column for table, metric in metrics if table == RESULTS]
        dimensions, partitions = self._section("by"), self._section("each")
        filters = self._filters()
        spec = replace(spec, partitions=partitions, filters=filters, order=self._order(metrics))
        spec = self._rest(spec)
        spec = self._flags(spec)
        return self._with_defaults(spec, metrics, dimensions)

    def _with_defaults(
        self, spec: QuerySpec, metrics: list[tuple[str, Metric]], dimensions: tuple[str, ...]
    ) -> QuerySpec:
        """With what follows from the rest."""
        if (spec.source == "curves") != bool(metrics and all(table == CURVES for table, _ in metrics)):
            raise Inexpressible("curves and metrics together")
        if spec.source == "curves":
            names = tuple(dict.fromkeys(m.column for _, m in metrics))
            filters = (Filter(_CURVE_COLUMN, "=" if len(names) == 1 else "in", names), *spec.filters)
            name = names[0] if len(names) == 1 and is_curve_name(names[0]) else None
            metric = Metric(_CURVE_VALUE, metrics[0][1].aggregate, name)
            spec = replace(spec, filters=filters, metrics=(metric,))
        else:
            spec = replace(spec, metrics=tuple(m for _, m in metrics))
        if _implies_failed(spec.source, spec.filters, dimensions, None):
            spec = replace(spec, filters=(*spec.filters, _FAILED))
        if spec.source == "machines":
            named = (replace(f, column=_NAME) if f.column == "machine" else f for f in spec.filters)
            spec = replace(spec, filters=tuple(named))
        spec = replace(spec, order=spec.order or _default_order(spec))
        front, back = _default_dimensions(spec)
        front = (*front, *spec.partitions)
        return replace(spec, dimensions=tuple(dict.fromkeys((*front, *dimensions, *back))))

    def _next(self) -> str:
        return self._line[self._at].word

    def _take(self) -> str:
        self._at += 1
        return self._line[self._at - 1].word

    def _said(self, *words: str) -> str | None:
        """The next word where it is one of these."""
        return self._take() if self._next() in words else None

    def _pointed_column(self) -> tuple[str, str]:
        place = self._line[self._at].item
        self._at += 1
        return self._items.columns[place - self._items.first_column]

    def _pointed(self) -> Literal:
        place = self._line[self._at].item
        self._at += 1
        return self._items.literals[place - self._items.first_literal]

    def _metrics(self, spec: QuerySpec) -> list[tuple[str, Metric]]:
        usual = None if spec.shape in ("points", "change") else "avg"
        found = []
        while self._next() in (METRIC, *AGGREGATES, "raw"):
            said: Any = self._said(*AGGREGATES, "raw")
            aggregate: Any = usual if said is None else None if said == "raw" else said
            table, column = self._pointed_column()
            found.append((table, Metric(column, aggregate)))
        return list(dict.fromkeys(found))

    def _section(self, name: str) -> tuple[str, ...]:
        found = []
        if self._said(name):
            while self._next() == COLUMN:
                found.append(self._pointed_column()[1])
        return tuple(dict.fromkeys(found))

    def _filters(self) -> tuple[Filter, ...]:
        found: list[Filter] = []
        if self._said("where"):
            found += self._condition()
            while self._said("and"):
                found += self._condition()
        return _any_of([self._ended(f, found) for f in found])

    def _ended(self, condition: Filter, among: Sequence[Filter]) -> Filter:
        """With the values that the ends of an axis are."""
        if not any(isinstance(v, _End) for v in condition.values):
            return condition
        values = []
        others = [f for f in among if f is not condition]
        for value in condition.values:
            end = isinstance(value, _End)
            known = _end_of(condition.column, str(value), others, self._profile, self._measured) if end else value
            if known is None:
                raise Inexpressible(f"no value of {condition.column}")
            values.append(known)
        return replace(condition, values=tuple(values))

    def _condition(self) -> list[Filter]:
        denied = self._said("not") is not None
        if self._next() in (VALUE, TABLE):
            return [self._value_said(denied)]
        if bound := self._said("since", "before", "until"):
            start, end = _limits(self._pointed())
            value = end if bound == "until" else start or end
            if value is None:
                raise Inexpressible("a time without an end")
            return [Filter(_STARTED, ">=" if bound == "since" else "<", (value,))]
        if self._next() == TIME:
            start, end = _limits(self._pointed())
            ends = [Filter(_STARTED, ">=", (start,))] if start else []
            return [*ends, *([Filter(_STARTED, "<", (end,))] if end else [])]
        return self._tested(self._pointed_column()[1])

    def _tested(self, column: str) -> list[Filter]:
        operator: Any = self._take()
        if catalog.entry(column).type in ("text", "boolean"):
            raise Inexpressible(f"{column} holds no numbers")
        if operator == "between":
            ends: list[Any] = [self._number(column), self._number(column)]
            low, high = ends if any(isinstance(e, _End) for e in ends) else sorted(ends)
            return [Filter(column, ">=", (low,)), Filter(column, "<=", (high,))]
        values = [self._number(column)]
        while operator in ("in", "not in") and self._next() in (NUMBER, *NUMBERS):
            values.append(self._number(column))
        return [Filter(column, operator, tuple(dict.fromkeys(values)))]

    def _number(self, column: str = "") -> Value:
        """A number, in the unit of its column, or an end of an axis."""
        if self._next() == NUMBER:
            return _in_unit_of(column, self._pointed())
        word = self._take()
        return _End(word) if word in ("max", "min") else int(word[1:])

    def _value_said(self, denied: bool) -> Filter:
        found: list[tuple[str, Value]] = []
        while True:
            if self._next() == TABLE:
                place = self._line[self._at].item
                self._at += 1
                found.append(("benchmark", self._items.tables[place - self._items.first_table]))
            else:
                literal = self._pointed()
                assert literal.link
                values: Any = literal.value if isinstance(literal.value, tuple) else (literal.value,)
                found += [(str(literal.link.column), value) for value in values]
            if not self._said("or"):
                break
        if len({column for column, _ in found}) != 1:
            raise Inexpressible("values of several columns")
        return _of_values(found[0][0], [value for _, value in found], denied)

    def _order(self, metrics: Sequence[tuple[str, Metric]]) -> tuple[Order, ...]:
        found: list[Order] = []
        while self._said("order", ","):
            if place := self._said(*PLACES):
                if PLACES.index(place) >= len(metrics):
                    raise Inexpressible("order")
                column = metrics[PLACES.index(place)][1].alias
            else:
                column = self._said("trials") or self._pointed_column()[1]
            found.append(Order(column, self._take() == "desc"))
        return tuple(found)

    def _rest(self, spec: QuerySpec) -> QuerySpec:
        if self._said("top"):
            limit = self._number()
            if not isinstance(limit, int) or limit < 1:
                raise Inexpressible("limit")
            spec = replace(spec, limit=limit)
        if self._said("split"):
            spec = replace(spec, split=_moment(self._pointed()))
        if self._said("against"):
            spec = replace(spec, against=self._reference(spec.filters))
        if self._said("within"):
            within: Any = AS_GOOD if self._said("as good") else self._number()
            spec = replace(spec, within=within)
        averaged = self._section("over")
        distinct = next(iter(self._section("distinct")), None)
        return replace(spec, averaged=averaged, distinct=distinct)

    def _reference(self, filters: Sequence[Filter]) -> Filter:
        if self._said("baseline"):
            return _baseline()
        if self._next() in (VALUE, TABLE):
            return self._value_said(False)
        column = self._pointed_column()[1]
        return self._ended(Filter(column, "=", (self._number(column),)), filters)

    def _flags(self, spec: QuerySpec) -> QuerySpec:
        verdicts = self._said("verdicts") is not None
        claim: Any = self._said(*CLAIMS)
        inverse, keep, why, last = (self._said(flag) is not None for flag in _FLAGS[-4:])
        spec = replace(spec, verdicts=verdicts, claim=claim, inverse=inverse, keep_baseline=keep, explain=why)
        spec = replace(spec, last=last)
        kind: Any = _default_chart(spec)
        if self._said("as"):
            said = self._take()
            kind = None if said == "no chart" else said
        scales = [self._said(word) is not None for word in ("log x", "log y", "linear")]
        return replace(spec, chart=ChartWish(kind, *scales))


class _End(str):
    """An end of an axis, max or min: known when the benchmarks are."""


def _of_values(column: str, values: Sequence[Value], denied: bool) -> Filter:
    different = tuple(dict.fromkeys(values))
    if len(different) == 1:
        return Filter(column, "<>" if denied else "=", different)
    return Filter(column, "not in" if denied else "in", different)


def _any_of(filters: Sequence[Filter]) -> tuple[Filter, ...]:
    """No trial has two values at once: two that are said of one column are either, and two left out are both."""
    found: list[Filter] = []
    for f in dict.fromkeys(filters):
        denied = f.operator in ("<>", "not in")
        alike = ("<>", "not in") if denied else ("=", "in")
        at = next((i for i, g in enumerate(found) if g.column == f.column and g.operator in alike), None)
        if f.operator in ("=", "in", "<>", "not in") and at is not None:
            found[at] = _of_values(f.column, (*found[at].values, *f.values), denied)
        else:
            found.append(f)
    return tuple(found)
