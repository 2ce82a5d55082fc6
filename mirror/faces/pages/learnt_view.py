"""What was learnt from choices, on the pages: beside the answer that it bears on, and as a list to remove from."""

from collections.abc import Callable

import streamlit as st

from mirror.answer.answer import Answer
from mirror.faces.pages.common import plain
from mirror.faces.pages.entrance import entry
from mirror.query.kept.habits import Habit
from mirror.query.kept.learnt_file import Learnt
from mirror.query.kept.learnt_text import LearntError
from mirror.runs.person import ONLY_ASKS

_SHOWN = 12
_ERROR = "learnt_error"


def show(answer: Answer, again: Callable[[str], None], key: str) -> None:
    """What was learnt and bears on an answer, each with a button to take it back.

    Args:
        answer: the answer that is shown.
        again: asks its question anew, without what was taken back.
        key: what the buttons are called after.
    """
    if failed := st.session_state.pop(_ERROR, ""):
        st.error(plain(failed), icon=":material/error:")
    for i, habit in enumerate(filter(None, map(_current, answer.learnt))):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(plain(habit.said), width="content")
            if not entry.person().may_run:
                continue
            if habit.kind == "heard":
                label = f"Always read “{plain(habit.text)}” so"
                st.button(label, key=f"{key}_keep_{i}", on_click=_keep, args=(habit,), type="tertiary")
            label = f"Forget “{plain(habit.text)}”" if habit.kind in ("word", "heard") else "Forget this choice"
            st.button(label, key=f"{key}_forget_{i}", on_click=_forget, args=(habit, answer, again), type="tertiary")


def _current(habit: Habit) -> Habit | None:
    """What is in the file of it by now: it may have been taken back meanwhile, also elsewhere."""
    try:
        return habit.current
    except LearntError:
        return None


def _check() -> None:
    """Raise LearntError for who may change nothing."""
    if not entry.person().may_run:
        raise LearntError(ONLY_ASKS)


def _keep(habit: Habit) -> None:
    try:
        _check()
        habit.keep()
        st.toast(plain(f"From now on “{habit.text}” is read as {habit.means}."), icon=":material/school:")
    except LearntError as error:
        st.session_state[_ERROR] = str(error)


def _forget(habit: Habit, answer: Answer, again: Callable[[str], None]) -> None:
    """Take it back; an answer that came of it is asked for anew."""
    try:
        _check()
        habit.forget()
    except LearntError as error:
        st.session_state[_ERROR] = str(error)
        return
    chosen = any(other.kind == "chosen" for other in answer.learnt)  # then the answer is of a choice
    if habit.kind == "chosen":
        again(habit.text)
    elif habit.kind == "question" or (habit.kind == "word" and not chosen):
        again(answer.question)


def show_list(learnt: Learnt | None, key: str) -> None:
    """All that was learnt about a source, newest first, to remove; nothing where nothing was."""
    if learnt is None:
        return
    try:
        known = learnt.contents()
    except LearntError as error:
        st.popover("Learnt", icon=":material/school:").error(plain(str(error)))
        return
    lines = [(word, f"“{word}” is {means}") for word, means in reversed(list(known.words.items()))]
    lines += [(h.word, f"“{h.word}” may be {h.means}: not used yet") for h in reversed(known.heard)]
    lines += [(q.asked, f"{q.asked} → {q.meant}") for q in reversed(known.questions)]
    if not lines:
        return
    with st.popover("Learnt", icon=":material/school:", width="content"):
        st.caption(f"From your choices; kept in {plain(str(learnt.path))}.")
        for i, (text, said) in enumerate(lines[:_SHOWN]):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(plain(said), width="content")
                if entry.person().may_run:
                    st.button("Forget", key=f"{key}_{i}", on_click=_remove, args=(learnt, text), type="tertiary")
        if len(lines) > _SHOWN:
            st.caption(f"{len(lines) - _SHOWN:,} more stand in the file.")


def _remove(learnt: Learnt, text: str) -> None:
    try:
        _check()
        learnt.forget(text)
    except LearntError as error:
        st.session_state[_ERROR] = str(error)
