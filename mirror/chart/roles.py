"""What each column of a result is for: metrics, parameters, names, times, spreads and counts."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirror.query.contrast import contrasted
from mirror.query.spec import QuerySpec
from mirror.table.calendar_names import place_in_year
from mirror.table.table import Column, Table, Value, is_number, is_timestamp

# Last words of the names of numbers that are places along something or name something, in tables of any kind.
_PLACES = (
    "year", "quarter", "month", "week", "weekday", "day", "hour", "minute", "epoch", "iteration", "bucket", "bin",
    "rank", "age",
)  # fmt: skip
_MEASURED = ("avg", "average", "mean", "median", "sum", "total", "min", "max", "count", "number", "num", "per")
_IDENTIFIERS = ("id", "key", "code", "zip", "postcode", "uuid")
_DIGITS, _MOST_DIGITS = re.compile(r"\d+"), 20


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


def is_numeric(table: Table, column: str) -> bool:
    """Whether a column holds a number somewhere, and no text or truth value."""
    values = table.values(column)
    return any(map(is_number, values)) and not any(isinstance(v, str | bool) for v in values)


def is_temporal(table: Table, column: str) -> bool:
    """Whether a column holds ISO timestamps and nothing else."""
    values = [v for v in table.values(column) if v is not None]
    return bool(values) and all(isinstance(v, str) and is_timestamp(v) for v in values)


def distinct(table: Table, column: str) -> list[Value | None]:
    """The distinct values of a column: numbers by value, then text by name (months in their order), then NULL."""
    values = set(table.values(column))
    if is_calendar(table, column):
        return sorted(values, key=lambda v: (v is None, place_in_year(v) or (0, 0), str(v)))
    return sorted(values, key=sort_key)


def is_calendar(table: Table, column: str) -> bool:
    """Whether a column holds names of months, of weekdays or of quarters, and nothing else."""
    values = {v for v in table.values(column) if v is not None}
    return bool(values) and all(place_in_year(v) is not None for v in values)


def distinct_numbers(table: Table, column: str) -> list[float]:
    """The distinct finite numbers of a column, ascending."""
    return sorted({float(v) for v in table.values(column) if is_number(v)})


def differing(table: Table, columns: Iterable[str]) -> list[str]:
    """The columns that hold more than one value (NULL counts as one)."""
    return [c for c in columns if len(set(table.values(c))) > 1]


def sort_roles(table: Table, spec: QuerySpec | None = None) -> Roles:
    """Sort the columns by use: as the spec says where there is one, else through the catalogue and the values."""
    columns = {c.name: c for c in reversed(table.columns)}
    columns = {n: columns[n] for n in table.names}
    asked = [c for c in spec.drawn if c in columns] if spec else []
    dimensions = [d for d in spec.dimensions if d in columns] if spec else []
    rest = [c for c in columns if c not in asked and c not in dimensions]
    count = next((c for c in rest if columns[c].role == "count" and is_numeric(table, c)), None)
    spreads = {c for c in rest if columns[c].of}
    inferred: list[str] = []
    parameters, names, times, identifiers = [], [], [], []
    for c in dimensions + rest:
        column = columns[c]
        if c == count or c in spreads or column.role == "key":
            continue
        if is_temporal(table, c):
            times.append(c)
        elif not is_numeric(table, c):
            if any(v is not None for v in table.values(c)) and column.role != "metric":
                names.append(c)
        elif c not in dimensions and _is_identifier(column):
            identifiers.append(c)
        elif c in dimensions or column.role in ("axis", "name", "repetition") or _is_place(table, column):
            parameters.append(c)
        else:
            inferred.append(c)
    metrics = [c for c in asked if is_numeric(table, c)]
    if not metrics and not asked:
        metrics = inferred or [c for c in rest if columns[c].of and columns[c].unit]
        metrics = [c for c in metrics if is_numeric(table, c)]
    if not metrics and not asked and count:
        metrics = [count]
    if not (names or parameters or times) and len(metrics) == 1:
        names = identifiers  # numbers that only name a row, where nothing else does
    raw = spec.shape in ("points", "rows") if spec else count is None and not spreads
    # A reason is a sentence: it tells groups apart only where nothing else does.
    described = tuple(
        d
        for d in dimensions
        if columns[d].role == "repetition"
        and d not in table.domain.repeated_by
        and (d != "error" or len(dimensions) == 1)
    )
    lead = contrasted(spec)
    lead = lead if lead in columns and len(set(table.values(lead)) - {None}) > 1 else None
    return Roles(tuple(metrics), tuple(parameters), tuple(names), tuple(times), count, raw, described, lead)


def compared(table: Table, roles: Roles) -> list[str]:
    """The dimensions in which the rows differ, without repetitions (seeds ...) and what another dimension implies."""
    columns = [
        c
        for c in differing(table, roles.dimensions)
        if (table.column(c).role != "repetition" or c in roles.asked) and table.domain.beside.get(c) not in table.names
    ]
    return [c for c in columns if not _implied(table, c, [o for o in columns if o != c])]


def spread(table: Table, metric: str) -> tuple[list[float], list[float]] | None:
    """How far each value reaches down and up: its standard deviation or its interval; None where no column says so."""
    if deviation := _drawn_deviation(table, metric):
        known = [float(v) if is_number(v) else 0.0 for v in table.values(deviation)]
        return known, known
    low, high = (_beside(table, metric, end) for end in ("low", "high"))
    if low and high:
        values = table.values(metric)
        below = [_gap(end, value) for end, value in zip(table.values(low), values, strict=True)]
        above = [_gap(value, end) for value, end in zip(values, table.values(high), strict=True)]
        return (below, above) if any(below) or any(above) else None
    return None


def spread_in_words(table: Table, metric: str) -> str:
    """What `spread` tells: `the standard deviation over trials`, `the 95 % interval`; empty where there is none."""
    if spread(table, metric) is None:
        return ""
    whole = f"the standard deviation over {table.domain.row}s"
    return whole if _drawn_deviation(table, metric) else "the 95 % interval"


def deviation_of(table: Table, metric: str) -> str | None:
    """The column that holds the standard deviation of a metric."""
    return _beside(table, metric, "deviation")


def _beside(table: Table, metric: str, role: str) -> str | None:
    return next((c.name for c in table.columns if c.of == metric and c.role == role), None)


def _drawn_deviation(table: Table, metric: str) -> str | None:
    name = deviation_of(table, metric)
    return name if name and any(is_number(v) and v for v in table.values(name)) else None


def _implied(table: Table, column: str, others: list[str]) -> bool:
    """Whether another column fixes one that then says nothing new: tables of a data set, settings that a method has."""
    domain = table.domain
    if column in domain.neutral and len(set(table.values(column)) - {domain.neutral[column], None}) > 1:
        return False
    fixing = [c for c in others if c in domain.implied.get(column, ())]
    return bool(fixing) and is_fixed_by(table, column, fixing)


def is_fixed_by(table: Table, column: str, others: Sequence[str]) -> bool:
    """Whether rows that agree in all of the others agree in the column too."""
    keys = list(zip(*(table.values(c) for c in others), strict=True)) or [()] * len(table.rows)
    return len(set(keys)) == len(set(zip(keys, table.values(column), strict=True)))


def _is_place(table: Table, column: Column) -> bool:
    """Whether numbers of an unknown column are places along something: a year, or 1, 2, 3 in the first column."""
    values = table.values(column.name)
    if column.own or not all(v is None or (is_number(v) and float(v).is_integer()) for v in values):
        return False
    words = _words(column.name)
    if words[-1] in _PLACES and not set(words) & set(_MEASURED):
        return True
    numbers = [float(v) for v in values if is_number(v)]
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    return column == table.columns[0] and len(numbers) > 2 and len(steps) == 1 and steps.pop() > 0


def _is_identifier(column: Column) -> bool:
    return not column.own and _words(column.name)[-1] in _IDENTIFIERS


def _words(column: str) -> list[str]:
    return re.findall(r"[^\W_]+", column.lower()) or [""]


def _gap(low: Value | None, high: Value | None) -> float:
    return max(0.0, float(high) - float(low)) if is_number(low) and is_number(high) else 0.0


def sort_key(value: Value | None) -> tuple[int, float, str]:
    """Order of values of one column: numbers, then text (`part 2` before `part 10`), then NULL."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, str):
        return 1, 0.0, _DIGITS.sub(lambda digits: digits[0].zfill(_MOST_DIGITS), value)
    return 0, float(value), ""
