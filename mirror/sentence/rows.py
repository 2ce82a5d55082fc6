"""Sentences about listed trials: which stands first, and by what."""

from collections.abc import Sequence

from mirror.query.spec import QuerySpec, Question
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import capital, counted, in_words, moment, shortened, superlative

# What names a trial among all of them.
_NAMES = ("method", "benchmark", "dataset", "machine", "compression", "embedding_dim", "batch_size", "seed")


def rows_sentence(table: Table, spec: Question | None, total: int) -> str:
    """How many rows there are, and the first of those that are in an order; of one column its values."""
    count = counted(total, "row")
    if len(table.names) == 1:
        (column,) = table.columns
        values = [describe(column, v) for v in dict.fromkeys(table.everything.values(column.name))]
        return f"{count}, {column.label}: {shortened(values)}."
    order = spec.order[0] if spec and spec.order else None
    if order is None or order.column not in table.names:
        return f"{count}."
    by = table.column(order.column)
    first, last = (_place(by, table.values(order.column)[i]) for i in (0, -1))
    name = _name(table, 0, _NAMES)
    if total == 1:
        return f"{capital(name)}: {by.label} {first}."
    if order.column == "started_at":
        return f"{count}, {'newest' if order.descending else 'oldest'} first: {name}, {first}; the last of them {last}."
    return f"{count}, by {by.label}: {name} with {first} first; the last of them {last}."


def top_sentence(table: Table, spec: QuerySpec) -> str:
    """The first of single trials that are ranked by a metric, and the last that is listed."""
    metric, order = spec.metrics[0].column, spec.order[0]
    column, values = table.column(metric), table.values(metric)
    name = _name(table, 0, [d for d in dict.fromkeys(("method", *spec.dimensions)) if d in table.names])
    text = f"{capital(name)} has the {superlative(column, order.descending)} of a single trial: "
    text += format_value(column, values[0])
    last = f"; the last of {len(values):,} has {format_value(column, values[-1])}" if len(values) > 1 else ""
    return f"{text}{last}."


def _name(table: Table, row: int, columns: Sequence[str]) -> str:
    known = {c: table.values(c)[row] for c in columns if c in table.names}
    return in_words(table, {c: v for c, v in known.items() if v is not None} or {"method": None})


def _place(column: Column, value: Value | None) -> str:
    return f"{moment(column, value)} UTC" if column.type == "timestamp" else format_value(column, value)
