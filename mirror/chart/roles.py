"""What each column of a result is for: metrics, parameters, names, times, spreads and counts."""

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeGuard

from db.columns import BY_NAME, CHOICE_AXES
from mirror.query.contrast import contrasted
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.table.calendar_names import place_in_year
from mirror.table.table import Table, Value

# Places along a run in the views `curves` and `samples`, which the catalogue of trials does not hold.
_POSITIONS = ("step", "sample")
# Columns that tell repetitions of one configuration apart, or only describe the run.
_REPETITION = ("seed", "sweep", "code_version", "group_id", "is_baseline", "stop_reason", "error")
# Columns that only describe a row where another one is there: the id of a machine that is named, what a speedup means.
_BESIDE = {"machine_id": "machine", "verdict": "speedup"}
_INTERVALS = {
    "latency_us": ("latency_ci_low_us", "latency_ci_high_us"), "speedup": ("speedup_ci_low", "speedup_ci_high"),
    "right_share": ("right_ci_low", "right_ci_high"),
}  # fmt: skip
# Last words of the names of numbers that are places along something or name something, in tables of any kind.
_PLACES = (
    "year", "quarter", "month", "week", "weekday", "day", "hour", "minute", "epoch", "iteration", "bucket", "bin",
    "rank", "age",
)  # fmt: skip
_MEASURED = ("avg", "average", "mean", "median", "sum", "total", "min", "max", "count", "number", "num", "per")
_IDENTIFIERS = ("id", "key", "code", "zip", "postcode", "uuid")
_DIGITS, _MOST_DIGITS = re.compile(r"\d+"), 20
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_PERCENTILES = ("latency_p10_us", "latency_p90_us", "latency_p95_us", "latency_p99_us")


@dataclass(frozen=True)
class Roles:
    """The columns of a table by use, each list in the order of the question, then of the table.

    Attributes:
        metrics: numbers to draw, the leading one first.
        parameters: numeric dimensions.
        names: dimensions of text or truth values.
        times: timestamp columns.
        count: the column that says how many trials a row rests on, or None.
        asked: columns that usually only describe a run (sweep, code version), and that the question groups by.
        lead: the axis whose values the question holds against one another, where the rows hold several of them.
        raw: whether rows are single trials, so that several of them may be one configuration.
    """

    metrics: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    count: str | None = None
    raw: bool = True
    asked: tuple[str, ...] = ()
    lead: str | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        return self.names + self.parameters


def is_number(value: object) -> TypeGuard[int | float]:
    """A finite number; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_numeric(table: Table, column: str) -> bool:
    """Whether a column holds a number somewhere, and no text or truth value."""
    values = table.column(column)
    return any(map(is_number, values)) and not any(isinstance(v, str | bool) for v in values)


def is_temporal(table: Table, column: str) -> bool:
    """Whether a column holds ISO timestamps and nothing else."""
    values = [v for v in table.column(column) if v is not None]
    return bool(values) and all(isinstance(v, str) and _is_timestamp(v) for v in values)


def distinct(table: Table, column: str) -> list[Value | None]:
    """The distinct values of a column: numbers by value, then text by name (months in their order), then NULL."""
    values = set(table.column(column))
    if is_calendar(table, column):
        return sorted(values, key=lambda v: (v is None, place_in_year(v) or (0, 0), str(v)))
    return sorted(values, key=sort_key)


def is_calendar(table: Table, column: str) -> bool:
    """Whether a column holds names of months, of weekdays or of quarters, and nothing else."""
    values = {v for v in table.column(column) if v is not None}
    return bool(values) and all(place_in_year(v) is not None for v in values)


def distinct_numbers(table: Table, column: str) -> list[float]:
    """The distinct finite numbers of a column, ascending."""
    return sorted({float(v) for v in table.column(column) if is_number(v)})


def differing(table: Table, columns: Iterable[str]) -> list[str]:
    """The columns that hold more than one value (NULL counts as one)."""
    return [c for c in columns if len(set(table.column(c))) > 1]


def sort_roles(table: Table, spec: QuerySpec | None = None) -> Roles:
    """Sort the columns by use: as the spec says where there is one, else through the catalogue and the values."""
    columns = tuple(dict.fromkeys(table.columns))
    asked = [c for c in spec.drawn if c in columns] if spec else []
    dimensions = [d for d in spec.dimensions if d in columns] if spec else []
    rest = [c for c in columns if c not in asked and c not in dimensions]
    count = next((c for c in rest if c in catalog.COUNT_NAMES and is_numeric(table, c)), None)
    spreads = {s for c in columns for s in _spread_columns(c) if s in rest}
    inferred: list[str] = []
    parameters, names, times, identifiers = [], [], [], []
    for c in dimensions + rest:
        entry = catalog.entry(c)
        if c == count or c in spreads or entry.role == "key":
            continue
        if is_temporal(table, c):
            times.append(c)
        elif not is_numeric(table, c):
            if any(v is not None for v in table.column(c)) and entry.role != "metric":
                names.append(c)
        elif c not in dimensions and _is_identifier(c):
            identifiers.append(c)
        elif c in dimensions or entry.role == "axis" or c in _POSITIONS or _is_place(table, c):
            parameters.append(c)
        elif entry.role == "metric" or c not in BY_NAME:
            inferred.append(c)
    metrics = [c for c in asked if is_numeric(table, c)]
    if not metrics and not asked:
        metrics = inferred or [c for c in rest if c in BY_NAME and BY_NAME[c].unit and c not in parameters]
        metrics = [c for c in metrics if is_numeric(table, c)]
    if not metrics and not asked and count:
        metrics = [count]
    if not (names or parameters or times) and len(metrics) == 1:
        names = identifiers  # numbers that only name a row, where nothing else does
    raw = spec.shape in ("points", "rows") if spec else count is None and not spreads
    # A reason is a sentence: it tells groups apart only where nothing else does.
    described = tuple(
        d for d in dimensions if d in _REPETITION and d != "seed" and (d != "error" or len(dimensions) == 1)
    )
    lead = contrasted(spec)
    lead = lead if lead in columns and len(set(table.column(lead)) - {None}) > 1 else None
    return Roles(tuple(metrics), tuple(parameters), tuple(names), tuple(times), count, raw, described, lead)


def compared(table: Table, roles: Roles) -> list[str]:
    """The dimensions in which the rows differ, without repetitions (seeds ...) and what another dimension implies."""
    columns = [
        c
        for c in differing(table, roles.dimensions)
        if (c not in _REPETITION or c in roles.asked) and _BESIDE.get(c) not in table.columns
    ]
    return [c for c in columns if not _implied(table, c, [o for o in columns if o != c])]


def spread(table: Table, metric: str) -> tuple[list[float], list[float]] | None:
    """How far each value reaches down and up: its standard deviation or its interval; None where no column says so."""
    values = table.column(metric)
    if _has_deviation(table, metric):
        deviations = [float(v) if is_number(v) else 0.0 for v in table.column(f"stddev_{metric}")]
        return deviations, deviations
    low, high = _INTERVALS.get(metric, ("", ""))
    if low in table.columns and high in table.columns:
        below = [_gap(low, value) for low, value in zip(table.column(low), values, strict=True)]
        above = [_gap(value, high) for value, high in zip(values, table.column(high), strict=True)]
        return (below, above) if any(below) or any(above) else None
    return None


def spread_in_words(table: Table, metric: str) -> str:
    """What `spread` tells: `the standard deviation over trials`, `the 95 % interval`; empty where there is none."""
    if spread(table, metric) is None:
        return ""
    return "the standard deviation over trials" if _has_deviation(table, metric) else "the 95 % interval"


def _has_deviation(table: Table, metric: str) -> bool:
    name = f"stddev_{metric}"
    return name in table.columns and any(is_number(v) and v for v in table.column(name))


def _implied(table: Table, column: str, others: list[str]) -> bool:
    """Whether another column fixes one that then says nothing new: tables of a data set, settings that a method has."""
    if column in ("num_rows", "num_tables"):
        others = [c for c in others if c == "dataset"]
    elif column == "op":
        others = [c for c in others if c == "benchmark"]
    elif column in ("compression", "block_size"):
        if len(set(table.column(column)) - {1, None}) > 1:
            return False
        others = [c for c in others if c == "method"]
    elif column in CHOICE_AXES:
        others = [c for c in others if c == "method"]
    else:
        return False
    return bool(others) and is_fixed_by(table, column, others)


def is_fixed_by(table: Table, column: str, others: Sequence[str]) -> bool:
    """Whether rows that agree in all of the others agree in the column too."""
    keys = list(zip(*(table.column(c) for c in others), strict=True)) or [()] * len(table.rows)
    return len(set(keys)) == len(set(zip(keys, table.column(column), strict=True)))


def _is_place(table: Table, column: str) -> bool:
    """Whether numbers of an unknown column are places along something: a year, or 1, 2, 3 in the first column."""
    values = table.column(column)
    if column in BY_NAME or not all(v is None or (is_number(v) and float(v).is_integer()) for v in values):
        return False
    words = _words(column)
    if words[-1] in _PLACES and not set(words) & set(_MEASURED):
        return True
    numbers = [float(v) for v in values if is_number(v)]
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    return column == table.columns[0] and len(numbers) > 2 and len(steps) == 1 and steps.pop() > 0


def _is_identifier(column: str) -> bool:
    return column not in BY_NAME and _words(column)[-1] in _IDENTIFIERS


def _words(column: str) -> list[str]:
    return re.findall(r"[^\W_]+", column.lower()) or [""]


def _spread_columns(metric: str) -> tuple[str, ...]:
    percentiles = _PERCENTILES if metric == "latency_us" else ()
    return (f"stddev_{metric}", *_INTERVALS.get(metric, ()), *percentiles)


def _gap(low: Value | None, high: Value | None) -> float:
    return max(0.0, float(high) - float(low)) if is_number(low) and is_number(high) else 0.0


def _is_timestamp(text: str) -> bool:
    if _MONTH.fullmatch(text):
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= 10 and text[4] == "-"


def sort_key(value: Value | None) -> tuple[int, float, str]:
    """Order of values of one column: numbers, then text (`part 2` before `part 10`), then NULL."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, str):
        return 1, 0.0, _DIGITS.sub(lambda digits: digits[0].zfill(_MOST_DIGITS), value)
    return 0, float(value), ""
