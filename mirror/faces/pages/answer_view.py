"""An answer on the page Ask: its reading, sentence, chart, SQL and table; or a plan, a question back, a refusal."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from mirror.answer.answer import Answer
from mirror.faces import sql_help
from mirror.faces.pages import chips, learnt_view, new_run
from mirror.faces.pages.common import HOME, NEW_RUN_PATH, is_phone, origin_of_results, plain, prose
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.result_view import Origin, show_answer_chart, show_facts, show_headline, show_rows
from mirror.faces.pages.sql_editor import show_editor, show_error
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.address import Address
from mirror.faces.pages.trails.trail import CANCELLED, MOST_STEPS, Trail
from mirror.query.filter_words import filter_in_words
from mirror.runs.run_plan import RunPlan
from mirror.schema import catalog
from mirror.schema.database import Database
from mirror.sentence.refusal import two_lines
from mirror.table.wording import join

_ENGINES = {
    "grammar": ":gray-badge[built-in reader]",
    "llm": ":violet-badge[language model]",
    "saved": ":green-badge[saved question]",
    "sql": "",
}
_ICONS = {"ambiguous": ":material/help:", "error": ":material/error:"}
_TRAIL_LENGTH = 60  # characters of a question in the trail


def show(trail: Trail, place: Place, database: Database | None) -> None:
    """Show the answer of the question that is shown; `database` has the tables of other data."""
    answer = trail.step.shown
    with st.container():  # each thing has its place, there or not: what follows would jump when it comes and goes
        _trail(trail)
    with st.container():
        if answer.note:
            st.warning(plain(answer.note), icon=":material/info:")
        if flow.spared_model():
            _spared_model(trail, place)
    if answer.sql is None:
        # What was offered is known by the answer before.
        ask = flow.follow_up if answer.proposals else partial(flow.choose, trail.reply or answer)
        no_rows(trail.reply or answer, partial(ask, place=place), "suggestion")
        learnt_view.show(trail.reply or answer, partial(flow.ask_anew, place=place), "learnt")
    else:
        _rows(trail, place, database)
    show_sent(trail.step.answer)


def _spared_model(trail: Trail, place: Place) -> None:
    """What a link did not start, one click away; what costs money is started by a person."""
    st.caption("A link starts no language model: the question was read by the built-in reader.")
    if len(trail.questions) == 1:
        asked = (trail.questions[0], place)
        st.button("Ask the language model", key="by_model", on_click=flow.ask_anew, args=asked, icon=":material/send:")


def _beside(answer: Answer, place: Place) -> None:
    """What the question may also mean, one click away."""
    offered = tuple(p.text for p in answer.proposals)
    others = tuple(text for text in answer.suggestions if text not in offered)
    if place.box is None:  # one reader read it so, and another one so
        offered, others = (*offered, *others), ()
    if others:
        st.caption("Another benchmark tells of it too:")
        question_buttons(others, partial(flow.ask_anew, place=place), "other")
    if offered:
        st.caption("It may also mean:")
        question_buttons(offered, partial(flow.follow_up, place=place), "meant")


def _trail(trail: Trail) -> None:
    """The questions so far, to go back to."""
    if len(trail.steps) == 1:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="trail"):
        for i, step in enumerate(trail.steps):
            words = step.question if len(step.question) <= _TRAIL_LENGTH else f"{step.question[:_TRAIL_LENGTH]}…"
            if i:
                st.markdown("›", width="content")
            if i == trail.at:
                st.markdown(f"**{plain(words)}**", width="content")
            else:
                st.button(plain(words), key=f"back_{i}", type="tertiary", on_click=flow.go_back, args=(i,))


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(trail: Trail, place: Place, database: Database | None) -> None:
    """The headline; the chart, and beside it the facts and the SQL; then what to do next, and all rows."""
    answer = trail.step.shown
    with st.container():
        show_headline(answer)
        if told := flow.told_of_link():
            st.caption(told)
        by_sql = trail.step.edited or trail.step.shown.engine == "llm"
        if by_sql and trail.questions and not Address.of(trail, place.link).sql:
            st.caption("This SQL is too long for a link: the address leads to the question as it was asked.")
        _reading(trail, place)
    with st.container():
        learnt_view.show(answer, partial(flow.ask_anew, place=place), "learnt")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if answer.status == "answered" and answer.table and answer.chart:
            generation = st.session_state.get("generation", 0)
            spec = answer.spec or answer.wanted
            show_answer_chart(answer, spec, generation, "chart", _origin(trail, place), place.subject)
        elif answer.summary == CANCELLED:
            st.info(plain(answer.summary), icon=":material/cancel:")
        else:
            show_error(answer, place)
    with right:
        show_facts(answer)
        wanted = not is_phone() or answer.status != "answered"
        with st.expander("SQL (edit me)", expanded=wanted, icon=":material/code:"):
            names = sql_help.names_of_results() if database is None else sql_help.names_of_database(database)
            show_editor(trail, place, names)
    with st.container():
        if not trail.step.edited:
            _beside(answer, place)
    _follow_up(trail, place)
    if answer.table:
        show_rows(answer.table, key="table", file_name="mirror.csv" if place.is_own else "data.csv")


def _origin(trail: Trail, place: Place) -> Origin:
    """Where an answer is from, and its address; of files that were uploaded there is none."""
    address = Address.of(trail, place.link).said
    questions = () if trail.step.form else trail.questions  # changed in place, its question says all of it
    if place.is_own and place.box:
        return Origin(origin_of_results(place.box), address=address, questions=questions)
    return Origin(f"{HOME} · {place.name}", place.name, address if place.has_address else None, questions)


def _reading(trail: Trail, place: Place) -> None:
    """How the question was read and by whom, and beside it what to do when that is not what was meant."""
    answer, asked = trail.step.shown, trail.step.answer
    edited = " · **edited**" if trail.step.edited else ""
    if not trail.step.edited:
        chips.show(answer, place, not trail.is_full or bool(trail.step.form))
        if trail.reply and flow.is_of_parts(trail.reply):
            _reply(trail.reply, place)
    with st.container(key="reading"):
        left, right = st.columns([6, 1])
        left.markdown(f"Read as: {plain(answer.read_as)}{edited} {badges(answer)}")
        if asked.asked and not trail.step.edited:
            with right:
                _not_meant(asked, place)
    show_agreement(answer)


def badges(answer: Answer) -> str:
    """Who read the question, and whether another reader agrees, as Markdown."""
    agrees = " :green-badge[the built-in reader agrees]" if answer.agreement and answer.agreement.same else ""
    return f"{_ENGINES[answer.engine]}{agrees}"


def show_agreement(answer: Answer) -> None:
    """What the other reader would have done, where it does not agree."""
    if answer.agreement and not answer.agreement.same:
        differs = answer.agreement.same is False
        (st.warning if differs else st.caption)(plain(answer.agreement.sentence))


def _not_meant(answer: Answer, place: Place) -> None:
    """The readings next to this one: without a filter, or by the built-in reader."""
    with st.popover("Not what I meant", type="tertiary"):
        filters = answer.asked.filters if answer.asked else ()
        if answer.engine == "llm":
            by_grammar = {"place": place, "use_model": False}
            label = "Let the built-in reader read it"
            st.button(label, key="by_grammar", on_click=flow.ask_anew, args=(answer.question,), kwargs=by_grammar)
        for column in dict.fromkeys(f.column for f in filters):
            if column != "metric":  # of a curve: what is asked for, not a limit to it
                words = join(filter_in_words(f) for f in filters if f.column == column)
                drop = f"drop the {catalog.entry(column).label} filter"
                label = f"Leave out {plain(words)}"
                st.button(label, key=f"drop_{column}", on_click=flow.follow_up, args=(drop, place))
        st.caption("Or change the SQL, or say below what is to be different: “only hashed”, “by dim instead”.")


# -- the follow-up -----------------------------------------------------------------------------------------------------


def _follow_up(trail: Trail, place: Place) -> None:
    """The place for a follow-up, and what became of one that has no rows to show."""
    if trail.step.answer.asked is None and trail.step.answer.form is None:
        st.caption("There is no reading that words could change: edit the SQL, or ask above.")
        return
    if trail.is_full:
        st.caption(f"These are {MOST_STEPS} questions in a row: ask a new one above.")
        return
    with st.form("followup_form", border=False):
        left, right = st.columns([6, 1], vertical_alignment="bottom")
        left.text_input(
            "Follow up",
            key="followup",
            placeholder="and for 0.05?" if place.box else "only the first five",
            label_visibility="collapsed",
        )
        right.form_submit_button("Follow up", width="stretch", on_click=flow.follow_up_typed, args=(place,))
    if trail.step.edited:
        st.caption("A follow-up changes the question as it was asked, without the edits of its SQL.")
    if trail.reply and not flow.is_of_parts(trail.reply):
        _reply(trail.reply, place)


def _reply(reply: Answer, place: Place) -> None:
    """What became of a follow-up, or a change of parts, that has no rows to show."""
    again = flow.follow_up if reply.status == "ambiguous" else flow.ask_anew
    if reply.note:
        st.warning(plain(reply.note), icon=":material/info:")
    no_rows(reply, partial(again, place=place), "reply")
    show_sent(reply)


# -- no rows -----------------------------------------------------------------------------------------------------------


def no_rows(answer: Answer, ask: Callable[[str], None], key: str) -> None:
    """A plan to run, a question back, a refusal or an error."""
    if answer.plan:
        _plan(answer.plan, key)
        if answer.suggestions:
            st.markdown("What is measured already:")
            question_buttons(answer.suggestions, ask, key)
        return
    if answer.summary == CANCELLED:
        st.info(plain(answer.summary), icon=":material/cancel:")
        return
    icon = _ICONS.get(answer.status, ":material/block:")
    told = two_lines(answer.summary)
    lines = "  \n".join(prose(line) for line in (told.first, told.second) if line)
    (st.error if answer.status == "error" else st.info)(lines, icon=icon)
    if told.whole:
        with st.expander("All that is known", icon=":material/list:"):
            st.markdown(prose(told.whole))
    if answer.suggestions:
        st.markdown("Which one?" if answer.status == "ambiguous" else "These can be asked:")
        question_buttons(answer.suggestions, ask, key)


def question_buttons(questions: tuple[str, ...], ask: Callable[[str], None], key: str) -> None:
    """Questions to click; `ask` takes the one that is clicked."""
    with st.container(horizontal=True, gap="small", key=f"choices-{key}"):  # long ones are wrapped, not cut
        for i, question in enumerate(questions):
            st.button(plain(question), key=f"{key}_{i}", on_click=ask, args=(question,))


def _plan(plan: RunPlan, key: str) -> None:
    """What a question asks to be run. Nothing starts here."""
    st.markdown("Read as: a run to start")
    st.markdown(prose(plan.words))
    if plan.notes:
        st.caption("\n".join(f"- {prose(note)}" for note in plan.notes))
    st.code(plan.command, language=None, wrap_lines=True)
    if st.button("Fill the form on New run", key=f"{key}_plan", type="primary", icon=":material/edit_note:"):
        st.session_state["plan"] = plan
        st.switch_page(st.Page(new_run.page, url_path=NEW_RUN_PATH))
    st.caption("Nothing runs until you press Start there.")


def show_sent(answer: Answer) -> None:
    """What a language model was sent for an answer, word for word, and what that took."""
    if not answer.sent:
        return
    label = " · ".join(filter(None, ("What the language model was sent", answer.tokens.in_words)))
    with st.expander(label, icon=":material/outbox:"):
        st.code(answer.sent, language=None, wrap_lines=True)
