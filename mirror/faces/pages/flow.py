"""What the page Ask does: asks, follows up, runs edited SQL, waits, cancels, goes back; all in the session's state.

State: `trail` (the questions and their answers), `pending` (what is being answered), `generation` (rises with every
answer, so that its chart gets new widgets), the texts of the widgets `question`, `followup` and `sql`, and of the
address `address` (as the page wrote it last) and `visited` (the trails of the addresses before: Back and Forward show
them without asking anew).
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
_MOST_VISITED = 50
_LONGEST_SQL = 4_000  # characters of edited SQL in an address: some browsers and proxies cut longer ones
_GONE_S = 0.5  # a browser that loads the page anew is another one


@dataclass(frozen=True)
class _Pending:
    """An answer that is being made, what it does to the trail, and the follow-ups that come after it."""

    asking: Asking
    changed: Callable[[Answer], Trail]
    rest: tuple[str, ...] = ()
    sql: str = ""


@dataclass(frozen=True)
class Address:
    """What an address says: questions, the first and its follow-ups, and the SQL of the last as it was edited."""

    questions: tuple[str, ...] = ()
    sql: str = ""

    @classmethod
    def now(cls) -> "Address":
        """The address as the browser has it."""
        linked = tuple(q for q in st.query_params.get_all("q") if q.strip())[:MOST_STEPS]
        return cls(linked, str(st.query_params.get("sql", ""))[:_LONGEST_SQL] if linked else "")

    @classmethod
    def of(cls, shown: Trail) -> "Address":
        """The address that leads to what is shown."""
        sql = shown.step.shown.sql or ""
        return cls(shown.questions, sql if shown.step.edited and shown.questions and len(sql) <= _LONGEST_SQL else "")


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
    sql: str = "",
) -> None:
    """Ask a first question, and follow-ups after it, then run SQL in the place of the last one's.

    `after` is the answer that offered it, if any.
    """
    st.session_state["question"] = question
    work = partial(ask, question, sandbox=box, use_model=use_model, after=after)
    _start(work, box, Answer("error", question, summary=CANCELLED), partial(begun, question), rest, sql)


def choose(offering: Answer, question: str, box: Sandbox) -> None:
    """Ask a question that an answer offered, as one of its own."""
    ask_anew(question, box, after=offering if offering.asked is None else None)


def ask_typed(box: Sandbox) -> None:
    """Ask what the question box holds."""
    ask_anew(st.session_state["question"], box)


def follow_up(
    question: str, box: Sandbox, rest: tuple[str, ...] = (), rest_of_link: bool = False, sql: str = ""
) -> None:
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
    _start(work, box, Answer("error", question, summary=CANCELLED), partial(before.followed, question), rest, sql)


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
    state = st.session_state
    if pending := state.pop("pending", None):
        pending.asking.cancel()
    state.pop("trail", None)
    state.update(question="", followup="", sql="", address=Address())
    for name in ("q", "sql"):
        st.query_params.pop(name, None)


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
    sql: str = "",
) -> None:
    if before := st.session_state.pop("pending", None):
        before.asking.cancel()  # nobody waits for it any more
    st.session_state["pending"] = _Pending(Asking(work, box, given_up), changed, rest, sql)


# -- what the page does ------------------------------------------------------------------------------------------------


def open_link(box: Sandbox) -> None:
    """Show what the address says where it has changed: a link is asked, Back and Forward show what was there."""
    state, there = st.session_state, Address.now()
    from_elsewhere = state.pop("elsewhere", False)
    if there == state.get("address", Address()):
        return
    state["address"] = there
    if not there.questions:
        if not from_elsewhere:  # the list of pages leads here without questions: what was shown is shown again
            go_home()
    elif known := state.get("visited", {}).get(there):
        if pending := state.pop("pending", None):
            pending.asking.cancel()
        state["question"] = known.steps[0].question
        _show(known)
    else:
        ask_anew(there.questions[0], box, rest=there.questions[1:], sql=there.sql)


def remember() -> None:
    """Fill the widgets anew: Streamlit forgets what they hold while another page is shown."""
    if shown := trail():
        st.session_state.setdefault("question", shown.steps[0].question)
        st.session_state.setdefault("sql", shown.step.shown.sql or "")


def show_link() -> None:
    """Put what leads here into the address, and remember what is shown there."""
    shown, state = trail(), st.session_state
    if shown is None:
        return
    here = Address.of(shown)
    if here != Address.now() or len(st.query_params.get_all("q")) > MOST_STEPS:
        others = {k: st.query_params.get_all(k) for k in st.query_params if k not in ("q", "sql")}
        said = {"q": list(here.questions), "sql": here.sql}
        st.query_params.from_dict({**others, **{k: v for k, v in said.items() if v}})
    visited = {a: t for a, t in state.get("visited", {}).items() if a != here}
    state.update(address=here, visited=dict([*visited.items(), (here, shown)][-_MOST_VISITED:]))


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
            follow_up(pending.rest[0], box, pending.rest[1:], rest_of_link=True, sql=pending.sql)
        elif pending.sql and not pending.rest and shown and shown.reply is None and shown.step.answer.sql:
            st.session_state["sql"] = pending.sql
            run_edited(box)


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
