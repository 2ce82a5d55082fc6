"""Words of the sentences about a result: names of rows, comparisons, lists. Plain text only."""

import itertools
from collections.abc import Iterable, Sequence

from mirror.table.numbers import describe, format_factor, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value

MOST_NAMED = 3


def course(values: Sequence[float]) -> str:
    """How values run, in the order given."""
    steps = [b - a for a, b in itertools.pairwise(values)]
    if not any(steps):
        return "stays the same"
    if all(s >= 0 for s in steps):
        return "rises steadily"
    if all(s <= 0 for s in steps):
        return "falls steadily"
    return "rises and falls"


def in_words(table: Table, key: dict[str, Value | None]) -> str:
    """The values of dimensions as one name; settings that do not apply are left out."""
    known = {k: v for k, v in key.items() if v is not None or says_something(table.column(k))}
    if not known:
        return describe(table.column(next(iter(key))), None) if key else "one row"
    first, *rest = known
    return " ".join(
        filter(None, (describe(table.column(first), known[first]), where(table, [known[k] for k in rest], rest)))
    )


def who(table: Table, row: int) -> str:
    """The method of a row, with its machine and benchmark where the table holds several: `hashed on laptop`."""
    parts = []
    for column, before in table.domain.named_by.items():
        if column in table.names and (not before or len(set(table.values(column))) > 1):
            parts.append(before + describe(table.column(column), table.values(column)[row]))
    return " ".join(parts)


def says_something(column: Column) -> bool:
    """Whether rows without a value of the column are of a kind of their own, as sales without a country are.

    A method without chunks has none to tell.
    """
    return not column.own


def where(table: Table, key: Sequence[Value | None], columns: Sequence[str]) -> str:
    """`on frappe for forward at dim 16, batch size 64`."""
    parts: dict[str, list[str]] = {"on": [], "for": [], "at": []}
    places = (table.domain.dataset, table.domain.machine)
    for column, value in zip(columns, key, strict=True):
        kind = "on" if column in places else "for" if isinstance(value, str) else "at"
        parts[kind].append(describe(table.column(column), value))
    return " ".join(f"{kind} {', '.join(words)}" for kind, words in parts.items() if words)


def moment(column: Column, value: Value | None) -> str:
    """A place on the x axis: `compression 0.1`, `2026-11-03`, `2026-11-03 12:04`."""
    return value.removesuffix("T00:00:00").replace("T", " ")[:16] if isinstance(value, str) else describe(column, value)


def superlative(metric: Column, descending: bool, mean: str = "") -> str:
    """`highest AUC`, `lowest mean latency`."""
    name = metric.label if metric.own else f"“{metric.label}”"  # a lowest “highest latency”
    return f"{'highest' if descending else 'lowest'} {mean}{name}"


def shortened(parts: Sequence[str], most: int = MOST_NAMED, separator: str = ", ") -> str:
    """The first few of a list, and how many more there are."""
    more = [f"{len(parts) - most} more"] if len(parts) > most else []
    return join([*parts[:most], *more], separator)


def join(parts: Iterable[str], separator: str = ", ", word: str = "and") -> str:
    """`a, b and c`; with the separator `; ` one stands before the `and` as well."""
    *most, last = parts
    return f"{separator.join(most)}{';' if separator == '; ' else ''} {word} {last}" if most else last


def counted(n: int, noun: str) -> str:
    """`1 trial`, `1,284 trials`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def capital(text: str) -> str:
    """The text as the start of a sentence."""
    return text[:1].upper() + text[1:]


def difference(metric: Column, value: float, base: float) -> str:
    """How a value compares: as a ratio for what has a unit, else as a difference."""
    if value == base:
        return "the same"
    if metric.unit and value > 0 and base > 0:
        return format_factor(value / base)
    return f"{format_value(metric, abs(value - base))} {'lower' if value < base else 'higher'}"
