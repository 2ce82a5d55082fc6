"""QuerySpec <-> JSON: the schema a language model is given, the strict reading of what it sends, and the way back."""

import dataclasses
import math
import re
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mirror.query.check import INT64, MAX_TEXT, SpecError, check, nearest, short
from mirror.query.spec import Aggregate, ChartType, ChartWish, Claim, Filter, Metric, Operator, Order, QuerySpec, Shape
from mirror.schema.views import KNOWN_COLUMNS, is_curve_name
from mirror.table.table import Value

MAX_COLUMNS = 12  # metrics, dimensions, partitions and sort keys, each
MAX_FILTERS = 20
MAX_VALUES = 100
MAX_NOTES = 10
MAX_LIMIT = 10_000

_SAME_OPERATOR = {"==": "=", "!=": "<>"}
_NUMERIC = ("integer", "real")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")


def to_json(spec: QuerySpec) -> dict[str, Any]:
    """The spec as a dict that `json.dumps` takes; `from_json` gives the spec back."""
    data: dict[str, Any] = _plain(spec)
    return data


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


# -- schema ------------------------------------------------------------------------------------------------------------


def json_schema() -> dict[str, Any]:
    """JSON schema of a QuerySpec over the known columns, in the strict subset (all keys required, none besides)."""
    columns = sorted({c for types_ in KNOWN_COLUMNS.values() for c in types_})
    enums = {
        (Metric, "column"): columns,
        (Filter, "column"): columns,
        (QuerySpec, "dimensions"): columns,
        (QuerySpec, "partitions"): columns,
        (QuerySpec, "source"): list(KNOWN_COLUMNS),
    }

    def object_of(cls: type) -> dict[str, Any]:
        hints = get_type_hints(cls)
        properties = {f.name: of(hints[f.name], enums.get((cls, f.name))) for f in dataclasses.fields(cls)}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def of(hint: Any, enum: list[str] | None) -> dict[str, Any]:
        if dataclasses.is_dataclass(hint):
            return object_of(typing.cast(type, hint))
        origin = get_origin(hint)
        if origin is tuple:
            return {"type": "array", "items": of(get_args(hint)[0], enum)}
        if origin is Literal:
            return {"type": "string", "enum": list(get_args(hint))}
        if origin in (types.UnionType, typing.Union):
            return {"anyOf": [of(part, enum) for part in get_args(hint)]}
        name = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}[hint]
        return {"type": name, "enum": enum} if enum else {"type": name}

    return object_of(QuerySpec)


# -- reading -----------------------------------------------------------------------------------------------------------


def from_json(data: Any) -> QuerySpec:
    """The QuerySpec that parsed JSON holds; only `shape` is required, null and absence mean the default.

    What is accepted compiles to a statement that runs. `data` is what `json.loads` gave.

    Raises:
        SpecError: an unknown key, column, operator or word, a value of the wrong type, or too many of anything.
    """
    fields = _object(data, "the query", QuerySpec)
    if "shape" not in fields:
        raise SpecError(f"shape is missing: it is one of {', '.join(get_args(Shape))}.")
    source = _word(fields.get("source", "results"), "source", tuple(KNOWN_COLUMNS))
    columns = _Columns(source)
    shape = _word(fields["shape"], "shape", get_args(Shape))
    metrics = tuple(_metric(item, f"metrics[{i}]", columns) for i, item in _items(fields, "metrics", MAX_COLUMNS))
    spec = QuerySpec(
        shape=shape,
        metrics=metrics,
        dimensions=tuple(columns.name(x, f"dimensions[{i}]") for i, x in _items(fields, "dimensions", MAX_COLUMNS)),
        partitions=tuple(columns.name(x, f"partitions[{i}]") for i, x in _items(fields, "partitions", MAX_COLUMNS)),
        filters=tuple(_filter(x, f"filters[{i}]", columns) for i, x in _items(fields, "filters", MAX_FILTERS)),
        keep_baseline=_flag(fields.get("keep_baseline", False), "keep_baseline"),
        order=tuple(_order(x, f"order[{i}]") for i, x in _items(fields, "order", MAX_COLUMNS)),
        limit=_limit(fields.get("limit")),
        source=source,
        split=None if fields.get("split") is None else _time(_text(fields["split"], "split"), "split"),
        verdicts=_flag(fields.get("verdicts", False), "verdicts"),
        within=_margin(fields.get("within")),
        claim=None if fields.get("claim") is None else _word(fields["claim"], "claim", get_args(Claim)),
        against=None if fields.get("against") is None else _filter(fields["against"], "against", columns),
        inverse=_flag(fields.get("inverse", False), "inverse"),
        averaged=tuple(columns.name(x, f"averaged[{i}]") for i, x in _items(fields, "averaged", MAX_COLUMNS)),
        distinct=None if fields.get("distinct") is None else columns.name(fields["distinct"], "distinct"),
        last=_flag(fields.get("last", False), "last"),
        explain=_flag(fields.get("explain", False), "explain"),
        chart=_chart(fields.get("chart", {})),
        notes=tuple(_text(x, f"notes[{i}]") for i, x in _items(fields, "notes", MAX_NOTES)),
    )
    check(spec)
    return spec


class _Columns:
    """The columns of one source, and what to say of a name that is not among them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.types = KNOWN_COLUMNS[source]

    def name(self, value: Any, where: str) -> str:
        name = _text(value, where)
        if name in self.types:
            return name
        homes = [source for source, columns in KNOWN_COLUMNS.items() if name in columns]
        if homes:
            raise SpecError(f"{where}: {name} is a column of {' and '.join(homes)}, not of {self.source}.")
        raise SpecError(f"{where}: {self.source} has no column {short(name)}{nearest(name, tuple(self.types))}.")


def _metric(data: Any, where: str, columns: _Columns) -> Metric:
    fields = _object(data, where, Metric, needs=("column",))
    column = columns.name(fields["column"], f"{where}.column")
    aggregate = fields.get("aggregate")
    if aggregate is not None:
        aggregate = _word(aggregate, f"{where}.aggregate", get_args(Aggregate))
    kind = columns.types[column]
    fits = kind in _NUMERIC or aggregate == "count" or (kind == "timestamp" and aggregate in ("min", "max"))
    if not fits:
        raise SpecError(f"{where}: {column} holds {kind} values and cannot be a metric; make it a dimension.")
    name = fields.get("name")
    if name is not None and not (column == "value" and _is_name(name)):
        raise SpecError(
            f"{where}.name is null, or for the column value of curves the name of the metric, in a-z, 0-9, _."
        )
    return Metric(column, aggregate, name)


def _is_name(name: Any) -> bool:
    """Whether a name can stand in SQL as it is, beside the other columns of a result."""
    return isinstance(name, str) and is_curve_name(name) and name not in ("n", "trials")


def _filter(data: Any, where: str, columns: _Columns) -> Filter:
    fields = _object(data, where, Filter, needs=("column", "operator", "values"))
    column = columns.name(fields["column"], f"{where}.column")
    operator = fields["operator"]
    if isinstance(operator, str):
        operator = _SAME_OPERATOR.get(operator.strip(), operator.strip().lower())
    operator = _word(operator, f"{where}.operator", get_args(Operator))
    items = _items(fields, "values", MAX_VALUES, where)
    values = tuple(_value(x, f"{where}.values[{i}]", column, columns.types[column]) for i, x in items)
    if not values:
        raise SpecError(f"{where}.values is empty: give the value to compare {column} with.")
    if len(values) > 1 and operator not in ("in", "not in"):
        raise SpecError(f"{where}: the operator {operator} takes one value, not {len(values)}; use in or not in.")
    return Filter(column, operator, values)


def _value(value: Any, where: str, column: str, kind: str) -> Value:
    """A filter's value, of the type that the column holds."""
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "text" and isinstance(value, str):
        return _text(value, where)
    if kind == "timestamp" and isinstance(value, str):
        return _time(value, where)
    if kind in _NUMERIC and isinstance(value, int | float) and not isinstance(value, bool):
        if not -INT64 <= value < INT64 and (isinstance(value, int) or not math.isfinite(value)):
            raise SpecError(f"{where}: {short(value)} is no number that {column} can hold.")
        if kind == "real" or isinstance(value, int):
            return value
        if value.is_integer():
            return int(value)
    wanted = {
        "boolean": "true or false",
        "text": "a text",
        "timestamp": "a time such as 2026-11-20T08:00:00",
        "integer": "a whole number without quotes or unit",
        "real": "a number without quotes or unit",
    }[kind]
    raise SpecError(f"{where}: {column} takes {wanted}, not {short(value)}.")


def _time(value: str, where: str) -> str:
    """An ISO time in naive UTC; a date stays a date."""
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo:
            time = time.astimezone(UTC).replace(tzinfo=None)
            return time.isoformat()
    except (ValueError, OverflowError) as error:
        raise SpecError(f"{where}: {short(value)} is no time; write it like 2026-11-20T08:00:00.") from error
    return value if _DATE.fullmatch(value) else time.isoformat()


def _order(data: Any, where: str) -> Order:
    fields = _object(data, where, Order, needs=("column",))
    descending = _flag(fields.get("descending", False), f"{where}.descending")
    return Order(_text(fields["column"], f"{where}.column"), descending)


def _chart(data: Any) -> ChartWish:
    fields = _object(data, "chart", ChartWish)
    type_ = fields.get("type")
    return ChartWish(
        None if type_ is None else _word(type_, "chart.type", get_args(ChartType)),
        _flag(fields.get("log_x", False), "chart.log_x"),
        _flag(fields.get("log_y", False), "chart.log_y"),
        _flag(fields.get("linear", False), "chart.linear"),
    )


def _limit(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LIMIT:
        raise SpecError(f"limit is a whole number from 1 to {MAX_LIMIT}, or null, not {short(value)}.")
    return value


def _margin(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SpecError(f"within is a number from 0 to 1, or null, not {short(value)}.")
    return float(value)


# -- parts -------------------------------------------------------------------------------------------------------------


def _object(data: Any, where: str, cls: type, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a JSON object that stands for `cls`, nulls left out."""
    if data is None:
        data = {}
    allowed = tuple(f.name for f in dataclasses.fields(cls))
    if not isinstance(data, dict):
        raise SpecError(f"{where} is an object with the keys {', '.join(allowed)}, not {short(data)}.")
    for key in data:
        if key not in allowed:
            raise SpecError(f"{where} has no key {short(key)}{nearest(str(key), allowed)}.")
    fields = {k: v for k, v in data.items() if v is not None}
    for key in needs:
        if key not in fields:
            raise SpecError(f"{where}.{key} is missing.")
    return fields


def _items(fields: Mapping[str, Any], key: str, most: int, inside: str = "") -> list[tuple[int, Any]]:
    """The numbered items of a list field."""
    where = f"{inside}.{key}" if inside else key
    items = fields.get(key, [])
    if not isinstance(items, list | tuple):
        raise SpecError(f"{where} is a list, not {short(items)}.")
    if len(items) > most:
        raise SpecError(f"{where} has {len(items)} items: {most} is the most.")
    return list(enumerate(items))


def _word(value: Any, where: str, allowed: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(f"{where} is one of {', '.join(allowed)}, not {short(value)}.")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise SpecError(f"{where} is true or false, not {short(value)}.")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{where} is a text, not {short(value)}.")
    if len(value) > MAX_TEXT:
        raise SpecError(f"{where} has {len(value)} characters: {MAX_TEXT} is the most.")
    # Neither a database nor a page can take these.
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise SpecError(f"{where} holds a character that is no text: {short(value)}.")
    return value
