"""The first visit of the page Ask: three answered questions, so that nobody meets an empty box."""

from functools import partial

import streamlit as st

from db.settings import db_url
from db.store import StoreError
from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.faces import opening
from mirror.faces.pages.answer_view import question_buttons
from mirror.faces.pages.common import plain, show_small_chart
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails import flow
from mirror.schema import catalog

_HEIGHT_OF_A_CARD = 330  # pixels of what stands there until a card's answer is made


def show(place: Place) -> None:
    """The cards, each as soon as its answer is there, and the other questions to click."""
    columns = st.columns(opening.MOST_CARDS)
    places = [column.skeleton(height=_HEIGHT_OF_A_CARD) for column in columns]
    more = st.container()
    questions = catalog.examples()
    with more:
        st.markdown("More questions to click:")
        question_buttons(questions, partial(flow.ask_anew, place=place), "more")
    made, box = 0, place.box
    assert box
    for answer in opening.card_questions(partial(_answer, box=box)):
        with places[made].container(border=True, height="stretch"):
            _card(made, answer, place)
        made += 1
    for left in places[made:]:
        left.empty()


def _card(i: int, answer: Answer, place: Place) -> None:
    st.markdown(f"**{plain(answer.headline().text)}**")
    if answer.table and answer.chart:
        show_small_chart(answer.table, opening.small_chart(answer.chart), key=f"card_{i}")
    with st.container(horizontal=True, key=f"choices-card_{i}"):
        label = plain(answer.question)
        asked = (answer.question, place)
        st.button(label, key=f"open_{i}", on_click=flow.ask_anew, args=asked, icon=":material/arrow_forward:")


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
