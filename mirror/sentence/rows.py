"""Sentences about listed trials: which stands first, and by what."""

from collections.abc import Sequence

from mirror.query.spec import QuerySpec, Question
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import capital, counted, in_words, moment, shortened, superlative


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
    name = _name(table, table.domain.listed_by)
    if total == 1:
        return f"{capital(name)}: {by.label} {first}."
    end = f"; the last of them {last}" if total == len(table.rows) else ""  # else nobody has read it
    if by.type == "timestamp":
        return f"{count}, {'newest' if order.descending else 'oldest'} first: {name}, {first}{end}."
    return f"{count}, by {by.label}: {name} with {first} first{end}."


def top_sentence(table: Table, spec: QuerySpec) -> str:
    """The first of single trials that are ranked by a metric, and the last that is listed."""
    metric, order = spec.metrics[0].column, spec.order[0]
    column, values = table.column(metric), table.values(metric)
    name = _name(table, [c for c in (table.domain.rival, *spec.dimensions) if c])
    tied = values.count(values[0]) - 1
    share = f" and {tied:,} more of the {len(values):,} listed share" if tied else " has"
    text = f"{capital(name)}{share} the {superlative(column, order.descending)} of a single trial: "
    text += format_value(column, values[0])
    last = f"; the last of {len(values):,} has {format_value(column, values[-1])}" if tied + 1 < len(values) else ""
    return f"{text}{last}."


def _name(table: Table, columns: Sequence[str]) -> str:
    """What the first row is called."""
    known = {c: table.values(c)[0] for c in columns if c in table.names}
    return in_words(table, {c: v for c, v in known.items() if v is not None})


def _place(column: Column, value: Value | None) -> str:
    return f"{moment(column, value)} UTC" if column.type == "timestamp" else format_value(column, value)
