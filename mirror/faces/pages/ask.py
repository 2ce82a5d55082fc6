"""The page Ask: a question, and its answer below it."""

from functools import partial

import streamlit as st

from mirror.answer.answering import subject_of
from mirror.data.process.sandbox import Sandbox
from mirror.faces import suggestions
from mirror.faces.pages import answer_view, in_browser, learnt_view, saved_view, tour, welcome
from mirror.faces.pages.common import HOME, heading, profile_of, sandbox, show_glossary, show_status
from mirror.faces.pages.trails import flow
from mirror.schema import catalog

TAGLINE = (
    "Mirror measures embedding methods: ask in plain words what each costs in memory, AUC and time, and see the "
    "number, the chart and the SQL."
)


def page() -> None:
    """Draw the page."""
    status = heading(HOME)
    box = sandbox()
    flow.open_link(box)
    flow.remember()
    tagline = st.empty()
    if flow.trail() is None:
        tagline.markdown(TAGLINE)
    tour.show(box)
    _question_form(box)
    way_to_sql = st.container()
    flow.wait(st.empty(), box)
    show_status(status, box)
    flow.show_link()
    trail = flow.trail()
    if trail:
        tagline.empty()
        with way_to_sql:
            in_browser.show_way_to_sql()
    with st.container(horizontal=True, gap="small"):
        if trail:
            st.button("Start page", key="home", on_click=flow.go_home, icon=":material/home:")
            if flow.can_undo() or flow.can_redo():
                back, forth = not flow.can_undo(), not flow.can_redo()
                st.button("Undo", key="undo", on_click=flow.undo, icon=":material/undo:", disabled=back)
                st.button("Redo", key="redo", on_click=flow.redo, icon=":material/redo:", disabled=forth)
            with st.popover("Example questions", icon=":material/lightbulb:"):
                answer_view.question_buttons(catalog.examples(), partial(flow.ask_anew, box=box), "example")
        answered = [trail.step.shown.read_as, trail.step.shown.summary, trail.step.question] if trail else []
        show_glossary(*answered)
        saved_view.show_list(box)
        learnt_view.show_list(subject_of(box).habits.file, "forget")
        if not trail:
            tour.show_button()
    in_browser.suggest(
        suggestions.questions(saved_view.questions(box), flow.asked()), suggestions.words(profile_of(box))
    )
    if trail:
        answer_view.show(trail, box)
    else:
        welcome.show(box)


def _question_form(box: Sandbox) -> None:
    with st.form("question_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(
            "Your question", key="question", placeholder=catalog.examples()[0], label_visibility="collapsed"
        )
        right.form_submit_button("Ask", type="primary", width="stretch", on_click=flow.ask_typed, args=(box,))
