"""What the first visit shows: some answered questions, each small enough for a card."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from mirror.answer.answer import Answer
from mirror.chart.chart_spec import ChartSpec
from mirror.schema import catalog

MOST_CARDS = 3
_MOST_BARS = 8


def card_questions(asked: Callable[[str], Answer]) -> Iterable[Answer]:
    """The answers of up to three questions, each as soon as it is there.

    Those of the catalogue that the results can answer, else the first examples whose chart is small. `asked` answers
    one question; results that can answer none give no card.
    """
    given = 0
    for question in dict.fromkeys((*catalog.cards(), *catalog.examples())):
        if given == MOST_CARDS:
            return
        answer = asked(question)
        if is_small(answer):
            given += 1
            yield answer


def is_small(answer: Answer) -> bool:
    """Whether an answer has rows and a chart that can be read on a card."""
    if answer.status != "answered" or not answer.table or not answer.table.rows or answer.chart is None:
        return False
    chart = answer.chart
    few = len(answer.table.rows) <= _MOST_BARS or chart.type not in ("bar", "box", "heatmap", "parallel")
    return chart.type != "table" and chart.facet is None and len(chart.metrics) < 2 and few


def small_chart(chart: ChartSpec) -> ChartSpec:
    """The chart as a card shows it: its reason stands beside the whole answer."""
    return replace(chart, reason="")
