"""Saved questions on the page Ask: saving one with its SQL, and the list to ask from and to remove from."""

from dataclasses import dataclass

import streamlit as st

from mirror.data.sources.location import SourceError
from mirror.faces.pages.common import plain
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.trail import Trail
from mirror.query.saved import Saved, SavedError, SavedQuestion
from mirror.runs.person import ONLY_ASKS

_SHOWN = 12


@dataclass(frozen=True)
class _Draft:
    """What is about to be saved."""

    question: str
    sql: str


def _store(place: Place) -> Saved:
    """The store of a place. Raises SavedError."""
    try:
        return Saved(place.saved_path)
    except SourceError as error:  # a file that is not there any more
        raise SavedError(str(error)) from error


def _changed(place: Place) -> Saved:
    """The store for who may change it. Raises SavedError for all others."""
    if not entry.person().may_run:
        raise SavedError(ONLY_ASKS)
    return _store(place)


# -- saving ------------------------------------------------------------------------------------------------------------


def begin(trail: Trail) -> None:
    """Open the dialog for the question that is shown and the SQL as it stands in the editor."""
    state = st.session_state
    # A follow-up says little by itself, and would stand in for every other of its words.
    question = "" if trail.step.answer.engine == "sql" else ", ".join(trail.questions)
    state["saving"] = _Draft(question, state["sql"])
    state.update(saved_question=question, saved_note="")


def show_dialog(place: Place) -> None:
    """The dialog, while it is open."""
    draft: _Draft | None = st.session_state.get("saving")
    if draft:
        st.dialog("Save the question with its SQL", on_dismiss=_end)(_dialog)(draft, place)


def _end() -> None:
    st.session_state.pop("saving", None)


def _dialog(draft: _Draft, place: Place) -> None:
    state, noun = st.session_state, "results" if place.box else "data"
    st.caption(f"Whoever asks this question on these {noun} gets this SQL, as it stands.")
    with st.form("save_form", border=False):
        question = st.text_input("Question", key="saved_question")
        note = st.text_input("Note (optional)", key="saved_note", placeholder="why this SQL")
        pressed = st.form_submit_button("Save", type="primary")
    st.code(draft.sql, language="sql", wrap_lines=True)
    if not pressed:
        return
    try:
        saved = _changed(place).add(question, draft.sql, note)
    except SavedError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    _end()
    state["saved_notice"] = f"Saved: {saved.question}"
    st.rerun()


# -- the list ----------------------------------------------------------------------------------------------------------


def show_list(place: Place) -> None:
    """The saved questions, newest first, where there are any; and a word on what has just been done."""
    state = st.session_state
    if notice := state.pop("saved_notice", ""):
        st.toast(plain(notice), icon=":material/bookmark:")
    try:
        saved = _store(place).all()
    except SavedError as error:
        st.popover("Saved questions", icon=":material/bookmark:").error(plain(str(error)))
        return
    removed: SavedQuestion | None = state.get("removed")
    if not saved and not removed:
        return
    with st.popover("Saved questions", icon=":material/bookmark:", width="content"):
        if failed := state.pop("saved_error", ""):
            st.error(plain(failed), icon=":material/error:")
        if removed:
            undo = f"Bring back: {plain(removed.question)}"
            st.button(undo, key="saved_undo", on_click=_undo, args=(removed, place), icon=":material/undo:")
        found = _searched(saved)
        for i, one in enumerate(found[:_SHOWN]):
            _line(i, one, place)
        if len(found) > _SHOWN:
            st.caption(f"{len(found) - _SHOWN:,} more: find them by a word.")


def questions(place: Place) -> tuple[str, ...]:
    """The saved questions; none where they cannot be read, which the list says."""
    try:
        return tuple(s.question for s in _store(place).all())
    except SavedError:
        return ()


def _searched(saved: tuple[SavedQuestion, ...]) -> list[SavedQuestion]:
    """Newest first; of many, those with the words that a person looks for."""
    newest = sorted(saved, key=lambda s: s.saved_at, reverse=True)
    if len(saved) <= _SHOWN:
        return newest
    words = st.text_input("Find", key="saved_find").casefold().split()
    return [s for s in newest if all(word in f"{s.question} {s.note}".casefold() for word in words)]


def _line(i: int, saved: SavedQuestion, place: Place) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(plain(saved.question), key=f"saved_{i}", on_click=flow.ask_anew, args=(saved.question, place))
        if entry.person().may_run:
            st.button("Remove", key=f"remove_{i}", on_click=_remove, args=(saved, place), type="tertiary")
    if saved.note:
        st.caption(plain(saved.note))


def _remove(saved: SavedQuestion, place: Place) -> None:
    try:
        _changed(place).remove(saved.question)
        st.session_state["removed"] = saved
    except SavedError as error:
        st.session_state["saved_error"] = str(error)


def _undo(removed: SavedQuestion, place: Place) -> None:
    try:
        _changed(place).add(removed.question, removed.sql, removed.note)
        st.session_state.pop("removed", None)
    except SavedError as error:
        st.session_state["saved_error"] = str(error)
