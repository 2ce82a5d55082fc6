"""Sentences about the values of one axis held against one another: cold against warm, dim 16 against dim 64."""

import statistics
from collections.abc import Sequence

from mirror.query.contrast import contrasted, held_against
from mirror.query.roles import Roles, differing
from mirror.query.spec import QuerySpec
from mirror.sentence.relative import MOST_NAMED, apart, numbers, outcome_in_words, pairs, tells_apart
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import capital, join, shortened

_MOST_METRICS = 4
_OF_ONE_WORK = (None, "avg", "median", "stddev")  # ends and sums are over all that is not named


def contrast_sentences(table: Table, spec: QuerySpec, roles: Roles) -> tuple[list[str], int]:
    """(sentences, number of pairs) of how the values that are named stand to the last of them at the same work.

    Without sentences where the rows hold but one of the values, or the question holds none against another. With one
    metric each method is told by itself, since they may well differ in it.
    """
    axis = contrasted(spec)
    alike = spec.shape == "groups" and all(m.aggregate in _OF_ONE_WORK for m in spec.metrics)
    if axis is None or axis not in table.names or not alike:
        return [], 0
    there = [v for v in held_against(spec) if v in table.values(axis)]
    if len(there) < 2:
        return [], 0
    *others, last = there
    keys = [d for d in differing(table, roles.dimensions) if d != axis]
    work = [k for k in keys if not tells_apart(table, k, axis)]
    metrics = roles.metrics[:_MOST_METRICS]
    methods: list[Value | None] = [None]
    if len(metrics) == 1:
        first = pairs(table, axis, (others[0], last), work)
        known = [m for m in _methods(table, work) if numbers(table, metrics[0], _of_method(table, first, m))]
        methods = known if 1 < len(known) <= MOST_NAMED else methods
    told: list[str] = []
    of, rival = table.column(axis), table.domain.rival or ""
    count = 0
    for value in others:
        parts, rows = [], pairs(table, axis, (value, last), work)
        for metric in metrics:
            column = table.column(metric)
            for method in methods:
                found = numbers(table, metric, _of_method(table, rows, method))
                count += len(found) if metric == metrics[0] else 0
                if found:
                    who = column.label if method is None else describe(table.column(rival), method)
                    parts.append(f"{who} {_outcome(column, found)}")
        head = f"{describe(of, value)} against {describe(of, last)}"
        if parts:
            told.append(f"{head}: {shortened(parts, MOST_NAMED, ', ' if methods == [None] else '; ')}")
        else:
            told.append(f"{describe(of, value)} and {describe(of, last)} were never measured at the same work")
    sentences = [f"{capital(text)}." for text in told]
    if methods != [None]:
        sentences[0] = f"{capital(table.label(metrics[0]))}, {sentences[0][:1].lower()}{sentences[0][1:]}"
    besides = [apart(table, k, axis, others[0], last) for k in keys if k not in work] if len(others) == 1 else []
    if besides:
        sentences.append(f"They differ besides in {join(besides)}.")
    return sentences, count


def _methods(table: Table, work: Sequence[str]) -> list[Value | None]:
    rival = table.domain.rival
    return [m for m in dict.fromkeys(table.values(rival)) if m is not None] if rival and rival in work else []


def _of_method(table: Table, rows: Sequence[tuple[int, int]], method: Value | None) -> list[tuple[int, int]]:
    """The pairs of one method; all of them for None."""
    return [p for p in rows if method is None or table.values(table.domain.rival or "")[p[0]] == method]


def _outcome(metric: Column, both: Sequence[tuple[float, float]]) -> str:
    """`3.7x (2.9x to 4.2x in 4 pairs)`; of a single pair both values."""
    ratio = bool(metric.unit)
    values = [a / b if ratio else a - b for a, b in both if b or not ratio]
    if not values:
        return f"{format_value(metric, statistics.fmean(a for a, _ in both))} against {format_value(metric, 0.0)}"
    text = outcome_in_words(metric, values)
    if len(both) == 1:
        (a, b), *_ = both
        text += f" ({format_value(metric, a)} against {format_value(metric, b)})"
    return text
