"""What a result holds and its chart does not show, in sentences that say how to ask for it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import (
    MOST_BARS,
    MOST_COLORS,
    MOST_FACETS,
    complete_part,
    crowded,
    drawn_part,
    narrowed,
    panels,
    placed,
)
from mirror.query.spec import Filter
from mirror.query.sql import condition
from mirror.table.numbers import describe
from mirror.table.table import Table
from mirror.table.values import Value
from mirror.table.wording import join, where


def left_out(chart: ChartSpec, table: Table, edited: bool = False) -> str:
    """What the rows hold and the chart does not show; empty when it shows everything.

    Args:
        chart: a chart that can be drawn.
        table: the whole result.
        edited: the result is that of SQL that a person wrote, so SQL is what to change.
    """
    sentences = []
    shown = drawn_part(chart, table)
    if chart.only:
        drawn = join([describe(table.column(c), v) for c, v in chart.only])
        column, value = next((o for o in chart.only if o[0] != table.domain.machine), chart.only[0])
        hint = _hint(table, column, table.values(column).distinct, [value], edited)
        sentences.append(f"Only {drawn} {'is' if len(chart.only) == 1 else 'are'} drawn{hint}.")
    complete = complete_part(chart, table)
    linear = complete
    if chart.log_x or chart.log_y:
        linear = complete_part(replace(chart, log_x=False, log_y=False), table)
    if missing := len(narrowed(table, chart.only).rows) - len(linear.rows):
        names = " or no ".join(table.label(c) for c in placed(chart))
        sentences.append(f"{missing:,} {'row has' if missing == 1 else 'rows have'} no {names} to draw.")
    if below := len(linear.rows) - len(complete.rows):
        told = "row is" if below == 1 else "rows are"
        sentences.append(f"{below:,} {told} not above zero, which a logarithmic axis cannot show.")
    for c in crowded(chart, complete):
        sentences.append(f"{MOST_BARS} of {len(complete.values(c).distinct):,} values of {table.label(c)} are drawn.")
    if chart.facet and (facets := len(shown.values(chart.facet).distinct)) > MOST_FACETS:
        hint = _hint(table, chart.facet, shown.values(chart.facet).distinct, panels(chart, shown), edited)
        sentences.append(f"{MOST_FACETS} of {facets:,} panels by {table.label(chart.facet)} are drawn{hint}.")
    if chart.type == "bar":
        in_panels = Counter(shown.values(chart.facet)).values() if chart.facet else [len(shown.rows)]
        bars = len(shown.values(chart.x).distinct) if chart.x else max(in_panels, default=0)
        if bars > MOST_BARS:
            sentences.append(f"The first {MOST_BARS} of {bars:,} bars are drawn.")
    if chart.color and chart.type != "heatmap" and len(shown.values(chart.color).distinct) > MOST_COLORS:
        sentences.append(f"Only {MOST_COLORS} values of {table.label(chart.color)} have a colour, the rest is grey.")
    if table.truncated:
        sentences.append(_cut(chart, table))
    return " ".join(sentences)


def _cut(chart: ChartSpec, table: Table) -> str:
    """That the row cap cut what is drawn, and that a Pareto front is not cut."""
    lines = ", so lines may end early" if chart.type == "line" else ""
    if table.evenly:
        lines = ", evenly over " + join(map(table.label, table.evenly))
    if table.whole is None:
        which = "a sample of" if table.evenly else "the first"
        return f"Only {which} {len(table.rows):,} rows were read{lines}."
    of = f"{'more than ' if table.whole.truncated else ''}{sum(table.whole.tallies):,}"
    front = "; the Pareto front is that of all" if chart.pareto or chart.fronts else ""
    if table.evenly:
        return f"Of {of} rows {len(table.rows):,} are drawn{lines}{front}."
    return f"Of {of} rows the first {len(table.rows):,} are drawn{lines or front}."


def _hint(
    table: Table, column: str, values: Sequence[Value | None], drawn: Sequence[Value | None], edited: bool
) -> str:
    """`; add “on ml-1m” for another`: how to see one of the values that are not drawn; empty where there is none."""
    other = next((v for v in values if v is not None and v not in drawn), None)
    too_long = column == table.domain.machine and not edited  # for a question
    if other is None or too_long:
        return ""
    if not edited:
        return f"; add “{where(table, [other], [column])}” for another"
    name = column if column.isidentifier() else '"' + column.replace('"', '""') + '"'
    return f"; add “WHERE {condition(Filter(name, '=', (other,)))}” for another"
