"""What each column of a result is for: metrics, parameters, names, times, spreads and counts."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirror.query.contrast import contrasted
from mirror.query.spec import Question
from mirror.table.table import Column, Table
from mirror.table.values import Value, Values, is_number
from mirror.words import phrasebook

# Last words of names, in tables of any kind.
_PLACES, _MEASURED = (phrasebook.phrases("names", "numbers")[told] for told in ("place", "measured"))
_IDENTIFIERS = phrasebook.phrases("names", "columns")["identifier"]


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
        """Names and parameters."""
        return self.names + self.parameters


def differing(table: Table, columns: Iterable[str]) -> list[str]:
    """The columns that hold more than one value (NULL counts as one)."""
    return [c for c in columns if len(table.values(c).different) > 1]


def roles_of(table: Table, spec: Question | None = None) -> Roles:
    """The columns by use: as the question says where there is one, else as they say themselves."""
    names = dict.fromkeys(table.names)
    asked = [c for c in spec.drawn if c in names] if spec else []
    groups = [d for d in spec.dimensions if d in names] if spec else []
    rest = [c for c in names if c not in asked and c not in groups]
    use: dict[str, list[str]] = defaultdict(list)
    for c in (*groups, *rest):
        use[_use(table, table.column(c), c in groups)].append(c)
    spreads = [c for c in rest if table.column(c).of]
    if asked:
        metrics = [c for c in asked if _values(table, c).numeric]
    else:
        alone = [c for c in spreads if table.column(c).unit and _values(table, c).numeric]
        metrics = use["metric"] or alone or use["count"]
    if len(metrics) == 1 and not (use["name"] or use["parameter"] or use["time"]):
        use["name"] = use["identifier"]  # numbers that only name a row, where nothing else does
    count = next(iter(use["count"]), None)
    lead = contrasted(spec)
    return Roles(
        tuple(metrics),
        tuple(use["parameter"]),
        tuple(use["name"]),
        tuple(use["time"]),
        count,
        spec.shape in ("points", "rows") if spec else not (count or spreads),
        tuple(c for c in groups if _describes(table, c, alone=len(groups) == 1)),
        lead if lead in names and len(table.values(lead).different - {None}) > 1 else None,
    )


def _use(table: Table, column: Column, grouped: bool) -> str:
    """What a column is for: as it says, or, where nobody knows it, by its values and the words of its name."""
    values = _values(table, column.name)
    if column.role in ("key", "tally") or (column.of and not grouped):
        return ""
    if values.temporal:
        return "time"
    if not values.numeric:
        return "" if values.empty or column.role == "metric" else "name"
    if grouped or column.role in ("axis", "name", "repetition"):
        return "parameter"
    if column.role:
        return column.role
    words = re.findall(r"[^\W_]+", column.name.lower()) or [""]
    if words[-1] in _IDENTIFIERS:
        return "identifier"
    return "parameter" if _is_place(words, values, column == table.columns[0]) else "metric"


def _values(table: Table, column: str) -> Values:
    """The values of a column; of one without any in the rows that were read, those of all rows."""
    values = table.values(column)
    return table.everything.values(column) if values.empty else values


def _is_place(words: Sequence[str], values: Values, first: bool) -> bool:
    """Whether numbers are places along something: a year, or 1, 2, 3 in the first column."""
    there = [v for v in values if v is not None]
    if not all(is_number(v) and float(v).is_integer() for v in there):
        return False
    if words[-1] in _PLACES and not set(words) & set(_MEASURED):
        return True
    steps = {float(b) - float(a) for a, b in itertools.pairwise(there)}
    return first and len(there) > 2 and len(steps) == 1 and steps.pop() > 0


def _describes(table: Table, column: str, alone: bool) -> bool:
    """Whether what usually only describes a run tells groups apart: asked for, it does, but for seeds.

    A reason of a failure is a sentence: it does where nothing else would.
    """
    if table.column(column).role != "repetition" or column in table.domain.repeated_by:
        return False
    return alone or column != "error"


def keys_in_order(table: Table, roles: Roles) -> list[str]:
    """The dimensions in which the rows differ, as the columns stand: what was asked for comes first."""
    keys = set(compared(table, roles))
    return [c for c in dict.fromkeys(table.names) if c in keys]


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
    low, high = table.spread_column(metric, "low"), table.spread_column(metric, "high")
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


def _drawn_deviation(table: Table, metric: str) -> str | None:
    name = table.spread_column(metric, "deviation")
    return name if name and any(is_number(v) and v for v in table.values(name)) else None


def _implied(table: Table, column: str, others: list[str]) -> bool:
    """Whether another column fixes one that then says nothing new: tables of a data set, settings that a method has."""
    domain = table.domain
    if column in domain.neutral and len(table.values(column).different - {domain.neutral[column], None}) > 1:
        return False
    fixing = [c for c in others if c in domain.implied.get(column, ())]
    return bool(fixing) and is_fixed_by(table, column, fixing)


def is_fixed_by(table: Table, column: str, others: Sequence[str]) -> bool:
    """Whether rows that agree in all of the others agree in the column too."""
    keys = list(zip(*(table.values(c) for c in others), strict=True)) or [()] * len(table.rows)
    return len(set(keys)) == len(set(zip(keys, table.values(column), strict=True)))


def _gap(low: Value | None, high: Value | None) -> float:
    return max(0.0, float(high) - float(low)) if is_number(low) and is_number(high) else 0.0
