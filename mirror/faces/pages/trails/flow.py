"""What the page Ask does: asks, follows up, changes parts, runs edited SQL, waits, cancels, goes back, undoes, and goes
to another place to ask about.

All of it is in the session's state: `trail` (the questions and their answers), `pending` (what is being answered),
`generation` (rises with every answer, so that its chart gets new widgets), the texts of the widgets `question`,
`followup` and `sql`, `changing` (the words of a change of parts), `not_changed` (why there is none), `past` and
`future` (trails to undo and redo), and of the address `address` (as the page wrote it last) and `visited` (the trails
of the addresses before: Back and Forward show them without asking anew) and `linked` (the last that was a link);
`left` (what was shown of the places that were asked about before).
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal
from mirror.answer.subject import MAX_QUESTION
from mirror.data.process.turns import asked_by
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.places import opened
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails.address import LONGEST_FORM, NOTHING, PARAMETERS, Address
from mirror.faces.pages.trails.asking import Asking, taken_from
from mirror.faces.pages.trails.trail import CANCELLED, MOST_STEPS, Trail, begun
from mirror.model.model_setting import configured
from mirror.query.check import SpecError
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec

_QUICK_S = 0.5  # an answer that is there by then comes without a word
_TICK_S = 0.2
_MOST_VISITED = 50
_MOST_UNDONE = 50
_OF_A_PLACE = ("trail", "past", "future")
_GONE_S = 0.5  # a browser that loads the page anew is another one


@dataclass(frozen=True)
class _Pending:
    """An answer that is being made, what it does to the trail, and the follow-ups that come after it."""

    asking: Asking
    changed: Callable[[Answer], Trail]
    rest: Address


def trail() -> Trail | None:
    """The questions and answers of this session."""
    found: Trail | None = st.session_state.get("trail")
    return found


def asked() -> tuple[str, ...]:
    """The first questions of what this session has shown of this place, the oldest first."""
    here = [a for a in st.session_state.get("visited", {}) if a.source == opened.link_now()]
    return tuple(dict.fromkeys(a.questions[0] for a in here if a.questions))


# -- what widgets start ------------------------------------------------------------------------------------------------


def ask_anew(
    question: str,
    place: Place,
    use_model: bool = True,
    rest: Address = NOTHING,
    after: Answer | None = None,
) -> None:
    """Ask a first question, and what a link says after it.

    `after` is the answer that offered it, if any.
    """
    st.session_state["question"] = question
    work = partial(place.ask, question, use_model, taken_from(after), entry.person().may_run)
    _start(work, place, Answer("error", question, summary=CANCELLED), partial(begun, question), rest)


def choose(offering: Answer, question: str, place: Place) -> None:
    """Ask a question that an answer offered, as one of its own."""
    ask_anew(question, place, after=offering if offering.asked is None and offering.form is None else None)


def ask_typed(place: Place) -> None:
    """Ask what the question box holds."""
    ask_anew(st.session_state["question"], place)


def follow_up(question: str, place: Place, rest: Address = NOTHING, rest_of_link: bool = False) -> None:
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
    work = partial(place.ask, question, not rest_of_link, taken_from(after), entry.person().may_run)
    _start(work, place, Answer("error", question, summary=CANCELLED), partial(before.followed, question), rest)


def change(changed: QuerySpec, place: Place, rest: Address = NOTHING) -> None:
    """Show the answer of a query that was made by changing parts of the one that is shown."""
    before, state = trail(), st.session_state
    if before is None or (before.is_full and not before.step.form):
        return
    from mirror.query.spec_json import from_json, to_short_json  # here, since it takes a while to load

    try:
        changed = from_json(to_short_json(changed))  # as its link gives it back: checked, and without notes
        form = json.dumps(to_short_json(changed), ensure_ascii=False, separators=(",", ":"))
        if len(form) > LONGEST_FORM:
            raise SpecError("These are more parts than a link can hold: take some away.")
    except SpecError as error:
        state["not_changed"] = error
        return
    question = question_of(changed)[:MAX_QUESTION]
    # It is a reading that is offered and chosen at once, by somebody who has chosen nothing of the question before.
    offering = replace(before.step.answer, proposals=(Proposal(question, None, asked=changed),), teaches=False)
    work = partial(place.ask, question, after=offering)
    state["changing"] = question
    given_up = Answer("error", question, summary=CANCELLED)
    _start(work, place, given_up, partial(before.followed, question, form=form), rest)


def is_of_parts(reply: Answer) -> bool:
    """Whether an answer without rows is of a change of parts, and not of a follow-up that was typed."""
    return reply.question == st.session_state.get("changing")


def _follow_link(link: Address, place: Place) -> None:
    """Ask the next question of a link: its form where it has one that can be read, else its words."""
    if form := next(iter(link.forms), ""):
        from mirror.query.spec_json import from_json  # here, since it takes a while to load

        try:
            change(from_json(json.loads(form)), place, link.rest)
            return
        except (ValueError, RecursionError):  # of another version, perhaps, or cut
            pass
    follow_up(link.questions[0], place, link.rest, rest_of_link=True)


def follow_up_typed(place: Place) -> None:
    """Ask what the follow-up box holds."""
    follow_up(st.session_state["followup"], place)


def run_edited(place: Place) -> None:
    """Run what the editor holds."""
    before = trail()
    if before is None:
        return
    sql, asked = st.session_state["sql"], before.step.answer
    if sql == asked.sql:
        _show(before.showing(asked))
        return
    work = partial(place.run_sql, sql, asked.question)
    stopped = Answer("error", asked.question, "SQL as written", sql, summary=CANCELLED, engine="sql")
    _start(work, place, stopped, before.showing)


def go_back(at: int) -> None:
    """Show another question of the trail."""
    if before := trail():
        _show(before.back_to(at))


def go_home() -> None:
    """Show the start page of the same place again, with nothing asked."""
    _give_up()
    for name in _OF_A_PLACE:
        st.session_state.pop(name, None)
    _fill_in()
    write_address()


def go_to(link: str) -> None:
    """Ask about another place from now on: what was shown of it before is shown again."""
    state = st.session_state
    _give_up()
    if link != opened.link_now():
        left = state.setdefault("left", {})
        left[opened.link_now()] = {name: state.pop(name) for name in _OF_A_PLACE if name in state}
        state.update({**left.pop(link, {}), "place": link, "generation": state.get("generation", 0) + 1})
        for name in ("saving", "removed"):
            state.pop(name, None)
    _fill_in()


def forget(link: str) -> None:
    """Have nothing to show of a place, which was opened anew."""
    state = st.session_state
    state.get("left", {}).pop(link, None)
    state["visited"] = {at: trail for at, trail in state.get("visited", {}).items() if at.source != link}
    if link == opened.link_now():
        for name in _OF_A_PLACE:
            state.pop(name, None)


def _give_up() -> None:
    """Stop what is being answered, for which nobody waits any more."""
    if pending := st.session_state.pop("pending", None):
        pending.asking.cancel()


def _fill_in() -> None:
    """Fill the widgets with what is shown, or with nothing."""
    shown = trail()
    question, sql = (shown.steps[0].question, shown.step.shown.sql or "") if shown else ("", "")
    address = Address.of(shown, opened.link_now())
    st.session_state.update(question=question, followup="", sql=sql, address=address)


def write_address() -> None:
    """Have the browser's address say what is shown."""
    here = Address.of(trail(), opened.link_now())
    others = {k: st.query_params.get_all(k) for k in st.query_params if k not in PARAMETERS}
    st.query_params.from_dict({**others, **here.said})


def can_undo() -> bool:
    """Whether something was shown before that can be shown again."""
    return bool(st.session_state.get("past"))


def can_redo() -> bool:
    """Whether something was undone."""
    return bool(st.session_state.get("future"))


def undo() -> None:
    """Show what was shown before the last change."""
    _step_in_time("past", "future")


def redo() -> None:
    """Show again what was undone."""
    _step_in_time("future", "past")


def _step_in_time(back: str, forth: str) -> None:
    state, now = st.session_state, trail()
    if now is None or not state.get(back):
        return
    *left, shown = state[back]
    kept = [*state.get(forth, ()), now]
    state["question"] = shown.steps[0].question
    _show(shown)
    state.update({back: left, forth: kept})


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
    place: Place,
    given_up: Answer,
    changed: Callable[[Answer], Trail],
    rest: Address = NOTHING,
) -> None:
    _give_up()
    work = asked_by(entry.whose())(work)
    st.session_state["pending"] = _Pending(Asking(work, place.source, given_up), changed, rest)


# -- what the page does ------------------------------------------------------------------------------------------------


def is_from_elsewhere() -> bool:
    """Whether another page was shown before this one."""
    return bool(st.session_state.get("elsewhere"))


def open_link(place: Place) -> None:
    """Show what the address says where it has changed: a link is asked, Back and Forward show what was there."""
    state, there = st.session_state, Address.now()
    from_elsewhere = is_from_elsewhere()
    state.pop("elsewhere", None)
    if there == state.get("address", NOTHING):
        return
    state["address"] = there
    if not there.questions:
        if not from_elsewhere:  # the list of pages leads here without questions: what was shown is shown again
            go_home()
    elif known := state.get("visited", {}).get(there):
        _give_up()
        state["question"] = known.steps[0].question
        _show(known)
    else:
        state["linked"] = there
        ask_anew(there.questions[0], place, use_model=False, rest=there.rest)  # nobody has asked yet


def told_of_link() -> str:
    """Whether the rows behind the answer that a link leads to are others than when it was made; nothing otherwise."""
    linked, here = _linked()
    return str(linked.told_since(here.seen)) if here == linked else ""


def spared_model() -> bool:
    """Whether a link leads to what is shown, which a language model would have read had it been asked here."""
    (linked, here), shown = _linked(), trail()
    if not configured() or shown is None or not here.questions or here.questions != linked.questions:
        return False
    answer = shown.step.answer
    return answer.engine == "grammar" and answer.plan is None and not answer.sent


def _linked() -> tuple[Address, Address]:
    """The last link that was opened, and the address of what is shown."""
    shown = trail()
    return st.session_state.get("linked", NOTHING), Address.of(shown, opened.link_now()) if shown else NOTHING


def remember() -> None:
    """Fill the widgets anew: Streamlit forgets what they hold while another page is shown."""
    if shown := trail():
        st.session_state.setdefault("question", shown.steps[0].question)
        st.session_state.setdefault("sql", shown.step.shown.sql or "")


def show_link() -> None:
    """Put what leads here into the address, and remember what is shown there."""
    shown, state = trail(), st.session_state
    here = Address.of(shown, opened.link_now())
    if here != Address.now() or len(st.query_params.get_all("q")) > MOST_STEPS:
        write_address()
    if shown is None:
        return
    visited = {a: t for a, t in state.get("visited", {}).items() if a != here}
    state.update(address=here, visited=dict([*visited.items(), (here, shown)][-_MOST_VISITED:]))


def wait(slot: DeltaGenerator, place: Place) -> None:
    """Wait for what is being answered, and show the answer: where it takes a while, say so, with a button to cancel."""
    for number in count():
        pending = st.session_state.get("pending")
        if not pending:
            return
        asking: Asking = pending.asking
        if not asking.done(_QUICK_S - asking.seconds):
            try:
                _show_progress(asking, slot, number)
            except StopException:
                _stop_if_gone(asking)
                raise
        _settle(pending)
        shown = trail()
        if shown is None or shown.reply is not None:
            continue
        if pending.rest.questions and _goes_on(shown.step.answer):
            _follow_link(pending.rest, place)
        elif pending.rest.sql:  # also where words that a language model read lead nowhere now
            st.session_state["sql"] = pending.rest.sql
            run_edited(place)


def _goes_on(answer: Answer) -> bool:
    """Whether the next question of a link can be asked after an answer: a follow-up, or one of its choices."""
    return answer.status == "answered" or bool(answer.proposals)


def _show_progress(asking: Asking, slot: DeltaGenerator, number: int) -> None:
    """Stand by until it is done. Any click, also on Cancel, ends this run of the page; the next one goes on waiting.

    Questions of one address are waited for in one run, where each needs a button of its own.
    """
    with slot.container(border=True, horizontal=True, vertical_alignment="center"):
        text = st.empty()
        st.button("Cancel", key=f"cancel_{number}", on_click=cancel, icon=":material/close:")
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
    if (before := state.get("trail")) and shown.reply is None and before is not shown:
        state.update(past=[*state.get("past", ()), replace(before, reply=None)][-_MOST_UNDONE:], future=[])
    state["trail"] = shown
    if shown.reply is None:
        state.update(sql=shown.step.shown.sql or "", followup="")
        state["generation"] = state.get("generation", 0) + 1
