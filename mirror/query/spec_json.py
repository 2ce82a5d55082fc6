"""QuerySpec <-> JSON: the schema a language model is given, the strict reading of what it sends, and the way back.

It needs pydantic, which takes a while to load: import it where a language model is asked, and not before.
"""

import dataclasses
import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)

from mirror.query.check import INT64, MAX_TEXT, SpecError, check, nearest, short
from mirror.query.spec import Aggregate, ChartType, ChartWish, Claim, Filter, Metric, Operator, Order, QuerySpec, Shape
from mirror.schema import own_metrics
from mirror.schema.views import KNOWN_COLUMNS, is_curve_name
from mirror.table.values import Value

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
    return dataclasses.asdict(spec)


def to_short_json(spec: QuerySpec) -> dict[str, Any]:
    """The same without notes and without what is so where nothing is said, for people to read; `from_json` reads it."""
    usual = to_json(QuerySpec(spec.shape))
    held = to_json(dataclasses.replace(spec, notes=()))
    return {key: value for key, value in held.items() if key == "shape" or value != usual[key]}


def from_json(data: Any) -> QuerySpec:
    """The QuerySpec that parsed JSON holds; only `shape` is required, null and absence mean the default.

    What is accepted compiles to a statement that runs. `data` is what `json.loads` gave.

    Raises:
        SpecError: an unknown key, column, operator or word, a value of the wrong type, or too many of anything.
    """
    source = data.get("source") if isinstance(data, dict) else None
    known = source if isinstance(source, str) and source in KNOWN_COLUMNS else "results"
    try:
        spec: QuerySpec = _built(_Query.model_validate(data, context=known))
    except ValidationError as error:
        raise SpecError(_sentence(error)) from error
    check(spec)
    return spec


def json_schema() -> dict[str, Any]:
    """JSON schema of a QuerySpec over the known columns, in the strict subset (all keys required, none besides)."""
    schema = _Query.model_json_schema()
    parts = schema.get("$defs", {})

    def strict(node: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in node:
            return strict(parts[node["$ref"].rsplit("/", 1)[1]])
        kept: dict[str, Any] = {k: node[k] for k in ("type", "enum") if k in node}
        if kept.get("enum") == _NAMES:
            kept["enum"] = [*_NAMES, *(c.name for c in own_metrics.known())]
        if "anyOf" in node:
            kept["anyOf"] = [strict(part) for part in node["anyOf"]]
        if "items" in node:
            kept["items"] = strict(node["items"])
        if "properties" in node:
            kept["properties"] = {name: strict(part) for name, part in node["properties"].items()}
            kept |= {"required": list(kept["properties"]), "additionalProperties": False}
        return kept

    return strict(schema)


# -- parts of the form -------------------------------------------------------------------------------------------------
#
# A validator raises ValueError with how the sentence goes on after the place that it is of.


def _text(value: str) -> str:
    if len(value) > MAX_TEXT:
        raise ValueError(f" has {len(value)} characters: {MAX_TEXT} is the most")
    # Neither a database nor a page can take these.
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f" holds a character that is no text: {short(value)}")
    return value


def _column(name: str, info: ValidationInfo) -> str:
    """The name of a column of the source."""
    source = info.context or "results"
    if name in KNOWN_COLUMNS[source]:
        return name
    if homes := [other for other, columns in KNOWN_COLUMNS.items() if name in columns]:
        raise ValueError(f": {name} is a column of {' and '.join(homes)}, not of {source}")
    raise ValueError(f": {source} has no column {short(name)}{nearest(name, tuple(KNOWN_COLUMNS[source]))}")


def _time(value: str) -> str:
    """An ISO time in naive UTC; a date stays a date."""
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo:
            return time.astimezone(UTC).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError) as error:
        raise ValueError(f": {short(value)} is no time; write it like 2026-11-20T08:00:00") from error
    return value if _DATE.fullmatch(value) else time.isoformat()


def _as_operator(value: Any) -> Any:
    return _SAME_OPERATOR.get(value.strip(), value.strip().lower()) if isinstance(value, str) else value


def _built(form: "_Form") -> Any:
    return form.builds(**dict(form))


_Text = Annotated[str, AfterValidator(_text)]
_Time = Annotated[_Text, AfterValidator(_time)]
# Without metrics of plug-ins, which are known later.
_NAMES = sorted({c for columns in KNOWN_COLUMNS.values() for c in columns})
_AnyColumn = Annotated[_Text, AfterValidator(_column)]
_Column = Annotated[_AnyColumn, Field(json_schema_extra={"enum": [*_NAMES]})]
_Columns = Annotated[tuple[_Column, ...], Field(max_length=MAX_COLUMNS)]
_AS_IT_IS = WrapValidator(lambda value, _handler: value)  # for what depends on other fields


class _Form(BaseModel):
    """A part of the form; it builds the dataclass of that part."""

    model_config = ConfigDict(extra="forbid")
    builds: ClassVar[type]

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data


class _Metric(_Form):
    builds = Metric
    column: _Column
    aggregate: Aggregate | None = None
    name: Annotated[str, _AS_IT_IS] | None = None

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> "_Metric":
        kind = KNOWN_COLUMNS[info.context or "results"][self.column]
        timed = kind == "timestamp" and self.aggregate in ("min", "max")
        if not (kind in _NUMERIC or self.aggregate == "count" or timed):
            raise ValueError(f": {self.column} holds {kind} values and cannot be a metric; make it a dimension")
        if self.name is not None and not (self.column == "value" and _is_name(self.name)):
            raise ValueError(
                ".name is null, or for the column value of curves the name of the metric, in a-z, 0-9, _, not "
                f"{short(self.name)}"
            )
        return self


def _is_name(name: Any) -> bool:
    """Whether a name can stand in SQL as it is, beside the other columns of a result."""
    return isinstance(name, str) and is_curve_name(name) and name not in ("n", "trials")


class _Filter(_Form):
    builds = Filter
    column: _Column
    operator: Annotated[Operator, BeforeValidator(_as_operator)]
    values: Annotated[tuple[Annotated[Value, _AS_IT_IS], ...], Field(max_length=MAX_VALUES)]

    @field_validator("values")
    @classmethod
    def _of_the_column(cls, values: tuple[Any, ...], info: ValidationInfo) -> tuple[Value, ...]:
        column, operator = info.data.get("column"), info.data.get("operator")
        if not (column and operator):
            return values  # there is an error already
        if not values:
            raise ValueError(f" is empty: give the value to compare {column} with")
        kind = KNOWN_COLUMNS[info.context or "results"][column]
        found = tuple(_value(value, i, column, kind) for i, value in enumerate(values))
        if len(found) > 1 and operator not in ("in", "not in"):
            raise ValueError(f": the operator {operator} takes one value, not {len(found)}; use in or not in")
        return found


def _value(value: Any, place: int, column: str, kind: str) -> Value:
    """A filter's value, of the type that the column holds."""
    try:
        if kind == "boolean" and isinstance(value, bool):
            return value
        if kind in ("text", "timestamp") and isinstance(value, str):
            return _time(value) if kind == "timestamp" else _text(value)
    except ValueError as error:
        raise ValueError(f"[{place}]{error}") from error
    if kind in _NUMERIC and isinstance(value, int | float) and not isinstance(value, bool):
        if not -INT64 <= value < INT64 and (isinstance(value, int) or not math.isfinite(value)):
            raise ValueError(f"[{place}]: {short(value)} is no number that {column} can hold")
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
    raise ValueError(f"[{place}]: {column} takes {wanted}, not {short(value)}")


class _Order(_Form):
    builds = Order
    column: _Text
    descending: StrictBool = False


class _Chart(_Form):
    builds = ChartWish
    type: ChartType | None = None
    log_x: StrictBool = False
    log_y: StrictBool = False
    linear: StrictBool = False


class _Query(_Form):
    """The whole form; what its keys mean stands at QuerySpec."""

    builds = QuerySpec
    shape: Shape
    metrics: Annotated[tuple[Annotated[_Metric, AfterValidator(_built)], ...], Field(max_length=MAX_COLUMNS)] = ()
    dimensions: _Columns = ()
    partitions: _Columns = ()
    filters: Annotated[tuple[Annotated[_Filter, AfterValidator(_built)], ...], Field(max_length=MAX_FILTERS)] = ()
    keep_baseline: StrictBool = False
    order: Annotated[tuple[Annotated[_Order, AfterValidator(_built)], ...], Field(max_length=MAX_COLUMNS)] = ()
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, strict=True)] | None = None
    source: Literal[tuple(KNOWN_COLUMNS)] = "results"  # type: ignore[valid-type]
    split: _Time | None = None
    verdicts: StrictBool = False
    within: Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)] | None = None
    claim: Claim | None = None
    against: Annotated[_Filter, AfterValidator(_built)] | None = None
    inverse: StrictBool = False
    averaged: Annotated[tuple[_AnyColumn, ...], Field(max_length=MAX_COLUMNS)] = ()
    distinct: _AnyColumn | None = None
    explain: StrictBool = False
    last: StrictBool = False
    chart: Annotated[_Chart, AfterValidator(_built)] = ChartWish()  # type: ignore[assignment]
    notes: Annotated[tuple[_Text, ...], Field(max_length=MAX_NOTES)] = ()


_SHAPES = ", ".join(get_args(Shape))
_FORMS: dict[str | int, type[_Form]] = {
    "metrics": _Metric, "filters": _Filter, "against": _Filter, "order": _Order, "chart": _Chart,
}  # fmt: skip


# -- in a sentence -----------------------------------------------------------------------------------------------------


def _sentence(error: ValidationError) -> str:
    """The first thing that is wrong; a wrong source comes before what is not found in it."""
    first = min(error.errors(include_url=False), key=lambda e: e["loc"] != ("source",))
    loc, kind = first["loc"], first["type"]
    keys = tuple((_FORMS[loc[0]] if loc and loc[0] in _FORMS else _Query).model_fields)
    if kind == "value_error":
        return f"{_place(loc)}{first['ctx']['error']}."
    if kind == "extra_forbidden":
        return f"{_place(loc[:-1])} has no key {short(str(loc[-1]))}{nearest(str(loc[-1]), keys)}."
    if kind == "missing":
        return f"{_place(loc)} is missing{f': it is one of {_SHAPES}' if loc == ('shape',) else ''}."
    if kind == "model_type":
        return f"{_place(loc)} should be an object with the keys {', '.join(keys)}, not {short(first['input'])}."
    said = first["msg"].replace("Tuple", "List").replace("tuple", "list").removeprefix("Input ")
    if kind == "too_long":
        return f"{_place(loc)}: {said}."
    return f"{_place(loc)} {said}, not {short(first['input'])}."


def _place(loc: tuple[str | int, ...]) -> str:
    """A place as a path: metrics[0].column."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in loc).removeprefix(".") or "the query"
