"""The first visit of the page Ask: three answered questions, so that nobody meets an empty box."""

from functools import partial

import streamlit as st

from db.settings import db_url
from db.store import StoreError
from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.chart.chart_spec import ChartSpec
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages import flow
from mirror.faces.pages.answer_view import question_buttons
from mirror.faces.pages.common import is_phone, plain, show_chart
from mirror.schema import catalog
from mirror.table.table import Table

_CARDS = (3, 2, 2)  # relative widths; a narrow one has no more room for a chart than a phone
_HEIGHTS = (750, 450, 450)  # of the highest chart that a card takes, in pixels
_PHONE_HEIGHTS = (750, 750, 750)


def show(box: Sandbox) -> None:
    """The cards, and the other questions to click."""
    cards = _cards(box)
    for i, (column, answer) in enumerate(zip(st.columns(_CARDS), cards, strict=False)):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{plain(answer.question)}**")
            if answer.status == "answered" and answer.table and answer.chart:
                show_chart(answer.table, answer.chart, key=f"card_{i}", narrow=_is_narrow(i))
            st.markdown(plain(answer.summary))
            st.button("Open", key=f"open_{i}", on_click=flow.ask_anew, args=(answer.question, box))
    st.markdown("More questions to click:")
    shown = [answer.question for answer in cards]
    others = tuple(question for question in catalog.examples() if question not in shown)
    question_buttons(others, partial(flow.ask_anew, box=box), "more")


def _cards(box: Sandbox) -> list[Answer]:
    """For each card the first example that fits into it, of a benchmark that no card tells of where there is one; where
    none fits, the first that has no card."""
    cards: list[Answer] = []
    for i, height in enumerate(_PHONE_HEIGHTS if is_phone() else _HEIGHTS):
        left = [q for q in catalog.examples() if all(q != card.question for card in cards)]
        told = [_benchmark(card) for card in cards]
        fitting: Answer | None = None
        for answer in (_answer(q, box) for q in left):
            if _is_small(answer, height, _is_narrow(i)):
                fitting = fitting or answer
                if _benchmark(answer) not in told:
                    fitting = answer
                    break
        cards.append(fitting or _answer(left[0], box))
    return cards


def _benchmark(answer: Answer) -> str | None:
    """The benchmark that an answer tells of; None for several."""
    filters = answer.spec.filters if answer.spec else ()
    return next((str(f.values[0]) for f in filters if f.column == "benchmark" and f.operator == "="), None)


def _is_narrow(card: int) -> bool:
    return is_phone() or _CARDS[card] < max(_CARDS)


def _is_small(answer: Answer, height: int, narrow: bool) -> bool:
    if answer.status != "answered" or not answer.table or not answer.chart or not answer.table.rows:
        return False
    return _drawn_height(answer.table, answer.chart, 1 if narrow else None) <= height


@st.cache_data(max_entries=80, show_spinner=False)
def _drawn_height(table: Table, chart: ChartSpec, columns: int | None) -> float:
    """Of a chart in pixels, 0 where there is none. Kept, since to draw all examples takes longer than all else here."""
    from mirror.chart.draw.figure import draw  # here, since Plotly is slow to load

    drawn = draw(table, chart, columns=columns)
    return (drawn.layout.height or 0) if drawn is not None else 0


def _answer(question: str, box: Sandbox) -> Answer:
    """An example's answer. Nobody has asked it: no language model is, and it is made once per state of the results."""
    try:
        key = (question, db_url(), box.version())
    except StoreError as error:
        return Answer("error", question, summary=str(error))
    answer = _example_answer(*key, box)
    if answer.status == "error":  # a busy moment, perhaps
        _example_answer.clear(*key)
    return answer


@st.cache_data(max_entries=40, show_spinner=False)
def _example_answer(question: str, url: str, version: str, _box: Sandbox) -> Answer:
    return ask(question, sandbox=_box, use_model=False)
