"""What the page Ask does: asks, follows up, runs edited SQL, waits, cancels, goes back; all in the session's state.

State: `trail` (the questions and their answers), `pending` (what is being answered), `generation` (rises with every
answer, so that its chart gets new widgets), and the texts of the widgets `question`, `followup` and `sql`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.asking import Asking
from mirror.faces.pages.trail import CANCELLED, MOST_STEPS, Trail, begun

_QUICK_S = 0.5  # an answer that is there by then comes without a word
_TICK_S = 0.2
_GONE_S = 0.5  # a browser that loads the page anew is another one


@dataclass(frozen=True)
class _Pending:
    """An answer that is being made, what it does to the trail, and the follow-ups that come after it."""

    asking: Asking
    changed: Callable[[Answer], Trail]
    rest: tuple[str, ...] = ()


def trail() -> Trail | None:
    """The questions and answers of this session."""
    found: Trail | None = st.session_state.get("trail")
    return found


# -- what widgets start ------------------------------------------------------------------------------------------------


def ask_anew(
    question: str,
    box: Sandbox,
    use_model: bool = True,
    rest: tuple[str, ...] = (),
    after: Answer | None = None,
) -> None:
    """Ask a first question, and follow-ups after it; `after` is the answer that offered it, if any."""
    st.session_state["question"] = question
    work = partial(ask, question, sandbox=box, use_model=use_model, after=after)
    _start(work, box, Answer("error", question, summary=CANCELLED), partial(begun, question), rest)


def choose(offering: Answer, question: str, box: Sandbox) -> None:
    """Ask a question that an answer offered, as one of its own."""
    ask_anew(question, box, after=offering if offering.asked is None else None)


def ask_typed(box: Sandbox) -> None:
    """Ask what the question box holds."""
    ask_anew(st.session_state["question"], box)


def follow_up(question: str, box: Sandbox, rest: tuple[str, ...] = (), rest_of_link: bool = False) -> None:
    """Ask what changes the question that is shown; not as its SQL was edited, but as it was asked."""
    before = trail()
    if before is None or before.is_full or not question.strip():
        return
    st.session_state["followup"] = question
    reply = before.reply
    chosen = reply and any(p.text == question for p in reply.proposals)  # known by the answer that offers it
    after = reply if chosen else before.step.answer
    if rest_of_link and after is not None:
        after = replace(after, teaches=False)  # whoever opens a link has chosen nothing
    work = partial(ask, question, sandbox=box, after=after)
    _start(work, box, Answer("error", question, summary=CANCELLED), partial(before.followed, question), rest)


def follow_up_typed(box: Sandbox) -> None:
    """Ask what the follow-up box holds."""
    follow_up(st.session_state["followup"], box)


def run_edited(box: Sandbox) -> None:
    """Run what the editor holds."""
    before = trail()
    if before is None:
        return
    sql, asked = st.session_state["sql"], before.step.answer
    if sql == asked.sql:
        _show(before.showing(asked))
        return
    work = partial(run_sql, sql, sandbox=box, question=asked.question)
    stopped = Answer("error", asked.question, "SQL as written", sql, summary=CANCELLED, engine="sql")
    _start(work, box, stopped, before.showing)


def go_back(at: int) -> None:
    """Show another question of the trail."""
    if before := trail():
        _show(before.back_to(at))


def go_home() -> None:
    """Show the start page again, with nothing asked."""
    cancel()
    for key in ("trail", "question", "followup", "sql"):
        st.session_state.pop(key, None)
    st.query_params.clear()


def restore() -> None:
    """Show the answer as it was asked."""
    if before := trail():
        _show(before.showing(before.step.answer))


def cancel() -> None:
    """Stop what is being answered."""
    if pending := st.session_state.get("pending"):
        pending.asking.cancel()
        _settle(pending)


def _start(
    work: Callable[[], Answer],
    box: Sandbox,
    given_up: Answer,
    changed: Callable[[Answer], Trail],
    rest: tuple[str, ...] = (),
) -> None:
    if before := st.session_state.pop("pending", None):
        before.asking.cancel()  # nobody waits for it any more
    st.session_state["pending"] = _Pending(Asking(work, box, given_up), changed, rest)


# -- what the page does ------------------------------------------------------------------------------------------------


def open_link(box: Sandbox) -> None:
    """Ask what the address asks, once: the first question, then its follow-ups."""
    linked = tuple(q for q in st.query_params.get_all("q") if q.strip())[:MOST_STEPS]
    if linked and trail() is None and "pending" not in st.session_state:
        ask_anew(linked[0], box, rest=linked[1:])


def remember() -> None:
    """Fill the widgets anew: Streamlit forgets what they hold while another page is shown."""
    if shown := trail():
        st.session_state.setdefault("question", shown.steps[0].question)
        st.session_state.setdefault("sql", shown.step.shown.sql or "")


def show_link() -> None:
    """Put the questions that lead here into the address."""
    shown = trail()
    if shown is None:
        return
    questions = list(shown.questions)
    if not questions:
        st.query_params.pop("q", None)
    elif questions != st.query_params.get_all("q"):
        st.query_params["q"] = questions


def wait(slot: DeltaGenerator, box: Sandbox) -> None:
    """Wait for what is being answered, and show the answer: where it takes a while, say so, with a button to cancel."""
    while pending := st.session_state.get("pending"):
        asking: Asking = pending.asking
        if not asking.done(_QUICK_S - asking.seconds):
            try:
                _show_progress(asking, slot)
            except StopException:
                _stop_if_gone(asking)
                raise
        _settle(pending)
        shown = trail()
        if pending.rest and shown and shown.reply is None and _goes_on(shown.step.answer):
            follow_up(pending.rest[0], box, pending.rest[1:], rest_of_link=True)


def _goes_on(answer: Answer) -> bool:
    """Whether the next question of a link can be asked after an answer: a follow-up, or one of its choices."""
    return answer.status == "answered" or bool(answer.proposals)


def _show_progress(asking: Asking, slot: DeltaGenerator) -> None:
    """Stand by until it is done. Any click, also on Cancel, ends this run of the page; the next one goes on waiting."""
    with slot.container(border=True, horizontal=True, vertical_alignment="center"):
        text = st.empty()
        st.button("Cancel", key="cancel", on_click=cancel, icon=":material/close:")
    while not asking.done(_TICK_S):
        text.markdown(f"Asking … {asking.seconds:.0f} s")
    slot.empty()


def _stop_if_gone(asking: Asking) -> None:
    """Stop what is asked for nobody: a click and a browser that is closed end a run of the page in the same way."""
    context = get_script_run_ctx()
    session = context.session_id if context else ""

    def look() -> None:
        if not runtime.get_instance().is_active_session(session):
            asking.cancel()

    if runtime.exists():
        threading.Timer(_GONE_S, look).start()


def _settle(pending: _Pending) -> None:
    """Take the answer, or raise what went wrong; either way nothing is being answered any more.

    A click may end this run of the page at any use of the state. So `pending` goes last: the next run then settles it.
    """
    try:
        answer = pending.asking.answer()
    except Exception:
        st.session_state.pop("pending", None)
        raise
    _show(pending.changed(answer))
    st.session_state.pop("pending", None)


def _show(shown: Trail) -> None:
    state = st.session_state
    state["trail"] = shown
    if shown.reply is None:
        state.update(sql=shown.step.shown.sql or "", followup="")
        state["generation"] = state.get("generation", 0) + 1
