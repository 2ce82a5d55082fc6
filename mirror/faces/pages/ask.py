"""The page Ask: what is asked about, a question, and its answer below it."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mirror.answer.subject import FAILURES, MAX_QUESTION
from mirror.faces import suggestions
from mirror.faces.pages import answer_view, chooser, found_view, in_browser, learnt_view, saved_view, tour, welcome
from mirror.faces.pages.common import HOME, heading, plain, profile_of, sandbox, show_glossary, show_status
from mirror.faces.pages.places import opened
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.trail import Trail
from mirror.schema import catalog
from mirror.schema.database import Database

TAGLINE = (
    "Mirror measures embedding methods: ask in plain words what each costs in memory, AUC and time, and see the "
    "number, the chart and the SQL."
)


def page() -> None:
    """Draw the page."""
    status = heading(HOME)
    tagline = st.empty()
    if not chooser.show():
        return
    place = opened.of_link(opened.link_now()) or Place(box=sandbox())
    flow.open_link(place)
    flow.remember()
    if place.is_own and flow.trail() is None:
        tagline.markdown(TAGLINE)
    if place.is_own:
        tour.show(place)
    _question_form(place)
    way_to_sql = st.container()
    flow.wait(st.empty(), place)
    flow.show_link()
    trail = flow.trail()
    if trail:
        tagline.empty()
        with way_to_sql:
            in_browser.show_way_to_sql()
    try:  # after the wait: what is asked of a source waits for what it answers
        database = None if place.is_own else place.database()
        examples = place.subject.examples()
    except FAILURES as problem:
        st.error(plain(str(problem)), icon=":material/database_off:")
        return
    if place.is_own and place.box:
        show_status(status, place.box)
    _buttons(trail, place, examples)
    _suggest(place, database, examples)
    if trail:
        answer_view.show(trail, place, database)
    elif database is None:
        welcome.show(place)
    else:
        answer_view.question_buttons(examples, partial(flow.ask_anew, place=place), "example")
    if database:
        found_view.show(place, database, expanded=trail is None)


def _question_form(place: Place) -> None:
    example = catalog.examples()[0] if place.box else "Ask in plain words"
    with st.form("question_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(
            "Your question",
            key="question",
            placeholder=example,
            label_visibility="collapsed",
            max_chars=10 * MAX_QUESTION,
        )
        right.form_submit_button("Ask", type="primary", width="stretch", on_click=flow.ask_typed, args=(place,))


def _buttons(trail: Trail | None, place: Place, examples: Sequence[str]) -> None:
    """What can be done with all that is shown, and what is known of it."""
    with st.container(horizontal=True, gap="small"):
        if trail:
            st.button("Start page", key="home", on_click=flow.go_home, icon=":material/home:")
            if flow.can_undo() or flow.can_redo():
                back, forth = not flow.can_undo(), not flow.can_redo()
                st.button("Undo", key="undo", on_click=flow.undo, icon=":material/undo:", disabled=back)
                st.button("Redo", key="redo", on_click=flow.redo, icon=":material/redo:", disabled=forth)
            with st.popover("Example questions", icon=":material/lightbulb:"):
                answer_view.question_buttons(tuple(examples), partial(flow.ask_anew, place=place), "example")
        if place.box:
            step = trail.step if trail else None
            show_glossary(*((step.shown.read_as, step.shown.summary, step.question) if step else ()))
        saved_view.show_list(place)
        learnt_view.show_list(place.subject.habits.file, "forget")
        if place.is_own and not trail:
            tour.show_button()


def _suggest(place: Place, database: Database | None, examples: Sequence[str]) -> None:
    """What is offered while a question is typed."""
    words = suggestions.words(profile_of(place.box)) if place.box else ()
    if database and not place.box:
        words = suggestions.words_of_database(database)
    in_browser.suggest(suggestions.questions(saved_view.questions(place), flow.asked(), examples), words)
