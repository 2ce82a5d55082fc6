"""A QuerySpec as a mapping of short texts, and back: the query as a person asked it, readable and writable by hand.

    {shape: ranking, metrics: [auc], by: [method], where: ["compression <= 0.2"], order: auc desc, limit: 3}

Keys, all but `shape` optional; a list may be one text where it has one entry:

    shape     points, groups, ranking, best, front, relative, count, rows or change
    of        the view that is read, where it is not results: history, failures, curves, machines ...
    metrics   auc is the shape's usual number: of each trial (points, rows, change), else the mean; max(latency_us) any
              other aggregate, raw(auc) a trial's own number where a mean is usual. Of curves what is recorded: loss
    by        columns to group by, or that are shown beside the metrics: [method, dataset]
    each      those of them within which a ranking, a front or a comparison is made anew
    where     conditions, all of which hold: "compression <= 0.2", "dataset = 'criteo'", "method in ('dense', 'hashed')"
    order     auc desc; several after commas
    limit     the first so many
    since     of a change: the moment that parts before from since
    verdicts, explain, inverse, last, keep_baseline    true where the spec says so
    auc_within    how far below the baseline's AUC is near enough
    claim     faster, slower, better or worse
    against   what the others are held against: method = 'dense'
    averaged  columns that are averaged over on purpose
    distinct  column whose different values are counted
    chart     line, scatter, bar ...; "scatter, log x", "log y", linear
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

from mirror.query.check import SpecError, check, nearest, short
from mirror.query.spec import (
    Aggregate,
    ChartType,
    ChartWish,
    Claim,
    Filter,
    Metric,
    Operator,
    Order,
    QuerySpec,
    Shape,
)
from mirror.schema.views import KNOWN_COLUMNS, is_curve_name
from mirror.table.values import Value

_FLAGS = ("verdicts", "explain", "inverse", "last", "keep_baseline")
KEYS = (
    *("shape", "of", "metrics", "by", "each", "where", "order", "limit", "since", "auc_within", "claim", "against"),
    *("averaged", "distinct", *_FLAGS, "chart"),
)
_OF_TRIALS = ("points", "rows", "change")  # shapes whose metrics are usually of single trials
_CALL = re.compile(r"(\w+)\((\w+)\)")
_VALUE = re.compile(r"\s*('(?:[^']|'')*'|[^\s,()']+)\s*")
_CONDITION = re.compile(r"(\w+)\s*(<=|>=|<>|=|<|>|\bnot in\b|\bin\b)\s*(.+)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def text_of(spec: QuerySpec) -> dict[str, Any]:
    """The mapping of a spec; `asked_of` gives the spec back, but for its notes."""
    found = {
        "shape": spec.shape,
        "of": spec.source if spec.source != "results" else None,
        "metrics": [_metric_text(m, spec) for m in spec.metrics],
        "by": list(spec.dimensions),
        "each": list(spec.partitions),
        "where": [_condition_text(f) for f in spec.filters if f is not _said_by_metrics(spec)],
        "order": ", ".join(f"{o.column} {'desc' if o.descending else 'asc'}" for o in spec.order),
        "limit": spec.limit,
        "since": spec.split,
        "auc_within": spec.within,
        "claim": spec.claim,
        "against": _condition_text(spec.against) if spec.against else None,
        "averaged": list(spec.averaged),
        "distinct": spec.distinct,
        **{flag: getattr(spec, flag) for flag in _FLAGS},
        "chart": _chart_text(spec.chart),
    }
    return {key: value for key, value in found.items() if value or (value == 0 and value is not False)}


def asked_of(mapping: Mapping[str, Any]) -> QuerySpec:
    """The spec of a mapping. Raises SpecError, with one sentence."""
    if unknown := [key for key in mapping if key not in KEYS]:
        raise SpecError(f"There is no key {short(unknown[0])}{nearest(str(unknown[0]), KEYS)}.")
    shape = _one_of(mapping.get("shape"), get_args(Shape), "shape")
    source = _one_of(mapping.get("of", "results"), tuple(KNOWN_COLUMNS), "of")
    usual: Aggregate | None = None if shape in _OF_TRIALS else "avg"
    metrics = tuple(_metric(text, source, usual) for text in _texts(mapping, "metrics"))
    filters = tuple(_condition(text, source, "where") for text in _texts(mapping, "where"))
    if source == "curves" and not any(f.column == "metric" for f in filters):
        filters = (*(Filter("metric", "=", (m.name,)) for m in metrics[:1] if m.name), *filters)
    against = mapping.get("against")
    flags: dict[str, Any] = {flag: _flag(mapping, flag) for flag in _FLAGS}
    spec = QuerySpec(
        shape,
        metrics,
        _columns(mapping, "by", source),
        _columns(mapping, "each", source),
        filters,
        order=tuple(_order(text) for text in _texts(mapping, "order", apart=True)),
        limit=_number(mapping, "limit", whole=True),
        source=source,
        split=_text(mapping, "since"),
        within=_number(mapping, "auc_within"),
        claim=_one_of(mapping["claim"], get_args(Claim), "claim") if mapping.get("claim") else None,
        against=_condition(against, source, "against") if against else None,
        averaged=_columns(mapping, "averaged", source),
        distinct=_column(mapping["distinct"], source, "distinct") if mapping.get("distinct") else None,
        chart=_chart(_texts(mapping, "chart", apart=True)),
        **flags,
    )
    if metrics or shape in ("best", "ranking", "front", "relative", "change"):
        check(spec)  # points and groups without a metric are asked for: completing the spec chooses one
    return spec


# -- parts -------------------------------------------------------------------------------------------------------------


def _texts(mapping: Mapping[str, Any], key: str, apart: bool = False) -> list[str]:
    """The texts of a key that holds a list or one text, which commas may part into several."""
    held = mapping.get(key)
    if held is None:
        return []
    texts = list(held) if isinstance(held, list | tuple) else [held]
    if wrong := [t for t in texts if not isinstance(t, str)]:
        raise SpecError(f"{key} holds {short(wrong[0])}, and must hold texts.")
    return [part.strip() for text in texts for part in (text.split(",") if apart else [text]) if part.strip()]


def _text(mapping: Mapping[str, Any], key: str) -> str | None:
    held = mapping.get(key)
    if held is not None and not isinstance(held, str):
        raise SpecError(f"{key} is {short(held)}, and must be a text in quotes.")
    return held


def _number(mapping: Mapping[str, Any], key: str, whole: bool = False) -> Any:
    held = mapping.get(key)
    if held is None or (isinstance(held, int if whole else int | float) and not isinstance(held, bool)):
        return held
    raise SpecError(f"{key} is {short(held)}, and must be a {'whole number' if whole else 'number'}.")


def _flag(mapping: Mapping[str, Any], key: str) -> bool:
    held = mapping.get(key, False)
    if not isinstance(held, bool):
        raise SpecError(f"{key} is {short(held)}, and must be true or false.")
    return held


def _one_of(held: Any, known: tuple[str, ...], key: str) -> Any:
    if held not in known:
        raise SpecError(f"{key} is {short(held)}, and must be one of {', '.join(known)}.")
    return held


def _column(name: Any, source: str, key: str) -> str:
    if name not in KNOWN_COLUMNS[source]:
        raise SpecError(
            f"{key}: {source} has no column {short(name)}{nearest(str(name), tuple(KNOWN_COLUMNS[source]))}."
        )
    return str(name)


def _columns(mapping: Mapping[str, Any], key: str, source: str) -> tuple[str, ...]:
    return tuple(_column(name, source, key) for name in _texts(mapping, key))


def _metric_text(metric: Metric, spec: QuerySpec) -> str:
    usual = None if spec.shape in _OF_TRIALS else "avg"
    name = metric.name or metric.column
    return name if metric.aggregate == usual else f"{metric.aggregate or 'raw'}({name})"


def _metric(text: str, source: str, usual: Aggregate | None) -> Metric:
    called = _CALL.fullmatch(text)
    aggregate, name = usual, text
    if called:
        name = called[2]
        aggregate = None if called[1] == "raw" else _one_of(called[1], get_args(Aggregate), f"metrics: what of {name}")
    if source == "curves" and name not in KNOWN_COLUMNS[source] and is_curve_name(name):
        return Metric("value", aggregate, name)
    return Metric(_column(name, source, "metrics"), aggregate)


def _said_by_metrics(spec: QuerySpec) -> Filter | None:
    """The condition on what is recorded, where the one metric of a curve names it already."""
    first = spec.filters[0] if spec.filters else None
    named = [m.name for m in spec.metrics]
    others = any(f.column == "metric" for f in spec.filters[1:])
    said = spec.source == "curves" and len(named) == 1 and first == Filter("metric", "=", (named[0] or "",))
    return first if said and not others else None


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _condition_text(f: Filter) -> str:
    values = ", ".join(map(_value_text, f.values))
    return (
        f"{f.column} {f.operator} ({values})" if f.operator in ("in", "not in") else f"{f.column} {f.operator} {values}"
    )


def _condition(text: Any, source: str, key: str) -> Filter:
    match = _CONDITION.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match:
        raise SpecError(f"{key}: {short(text)} is no condition; write it like compression <= 0.2.")
    column, operator, rest = _column(match[1], source, key), match[2], match[3].strip()
    several = operator in ("in", "not in")
    if several and not (rest.startswith("(") and rest.endswith(")")):
        raise SpecError(f"{key}: {short(text)} takes its values in brackets, like ('a', 'b').")
    values = _values(rest[1:-1] if several else rest)
    if not values or (len(values) > 1 and not several):
        raise SpecError(f"{key}: {short(text)} has no value that can be read; texts stand in single quotes.")
    allowed: tuple[Operator, ...] = get_args(Operator)
    return Filter(column, next(o for o in allowed if o == operator), values)


def _values(text: str) -> tuple[Value, ...]:
    """Values with commas between them; none where anything else stands there."""
    found: list[Value] = []
    at = 0
    while match := _VALUE.match(text, at):
        at = match.end()
        value = _value(match[1])
        if value is None or (at < len(text) and text[at] != ","):
            return ()
        found.append(value)
        at += 1
    return tuple(found) if at > len(text) else ()


def _value(text: str) -> Value | None:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text in ("true", "false"):
        return text == "true"
    number = _NUMBER.fullmatch(text)
    if not number:
        return None
    return float(text) if number[1] or number[2] else int(text)


def _order(text: str) -> Order:
    column, _, direction = text.partition(" ")
    if direction not in ("asc", "desc"):
        raise SpecError(f"order: {short(text)} is no order; write it like auc desc.")
    return Order(column, direction == "desc")


def _chart_text(chart: ChartWish) -> str:
    parts = [chart.type, "log x" if chart.log_x else None, "log y" if chart.log_y else None]
    return ", ".join([*filter(None, parts), *(["linear"] if chart.linear else [])])


def _chart(parts: list[str]) -> ChartWish:
    axes = ("log x", "log y", "linear")
    kinds: list[ChartType] = [_one_of(p, (*get_args(ChartType), *axes), "chart") for p in parts if p not in axes]
    if len(kinds) > 1:
        raise SpecError(f"chart names {kinds[0]} and {kinds[1]}: keep one.")
    return ChartWish(kinds[0] if kinds else None, "log x" in parts, "log y" in parts, "linear" in parts)
