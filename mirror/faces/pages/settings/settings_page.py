"""The page Settings: what Mirror goes by, where each value comes from, and what may be changed here."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from db import settings
from db.settings import SettingsError, can_be_kept, db_url, journal_dir, origin, setting
from mirror.faces.pages.answer_view import show_sent
from mirror.faces.pages.common import heading, plain
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.settings import model_form
from mirror.faces.pages.trails import flow
from mirror.query.kept.habits import is_learning
from mirror.query.kept.kept_settings import keep
from mirror.query.saved import saved_path
from mirror.runs.person import ONLY_ASKS
from mirror.schema import catalog

_LEARNT, _FAILED = "MIRROR_LEARNT", "settings_failed"


@dataclass(frozen=True)
class _Place:
    """A setting that is read and not changed here: its value, and what it says."""

    name: str
    text: str
    value: Callable[[], str]


def _results() -> str:
    try:
        return make_url(db_url()).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "no address of a database"


_PLACES = (
    _Place("MIRROR_DB", "results", _results),
    _Place(
        "MIRROR_JOURNAL", "the journal: every result, before it is in the database", lambda: str(journal_dir(db_url()))
    ),
    _Place("MIRROR_SAVED", "saved questions", lambda: str(saved_path(db_url()))),
    _Place("MIRROR_CATALOG", "words of your own", lambda: setting("MIRROR_CATALOG", "none")),
    _Place("MIRROR_PLUGINS", "methods of your own", lambda: setting("MIRROR_PLUGINS", "none")),
    _Place("MIRROR_DATA_DIR", "real data sets", lambda: setting("MIRROR_DATA_DIR", "the default")),
    _Place("MIRROR_MACHINE", "name of this machine in the results", lambda: setting("MIRROR_MACHINE", "the default")),
    _Place("OPENAI_API_KEY", "key of the language model", lambda: "set" if setting("OPENAI_API_KEY") else "none"),
    _Place("MIRROR_PASSWORD", "a password for these pages", lambda: "set" if setting("MIRROR_PASSWORD") else "none"),
    _Place("MIRROR_SETTINGS", "what this page keeps", lambda: str(settings.kept_path())),
)


def page() -> None:
    """Draw the page."""
    heading("Settings")
    try:
        settings.check()
        if not entry.person().may_run:
            st.info("Settings are seen and changed by those who may start runs here.")
            return
        catalog.words()
        model_form.show()
        if (trail := flow.trail()) and trail.step.answer.sent:
            show_sent(trail.step.answer)
        _reading()
        _looks()
        _places()
    except SettingsError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _reading() -> None:
    st.markdown("##### Reading")
    mine = can_be_kept(_LEARNT)
    help_text = "Which reading you choose, and words that you take for others, count for later questions."
    if not mine:
        help_text += f" Set by {origin(_LEARNT)} ({_LEARNT}), so it is changed there."
    st.toggle("Learn from choices", is_learning(), key="learn", on_change=_learn, disabled=not mine, help=help_text)
    if failed := st.session_state.pop(_FAILED, ""):
        st.error(plain(failed), icon=":material/error:")


def _learn() -> None:
    try:
        if not entry.person().may_run:
            raise SettingsError(ONLY_ASKS)
        keep({_LEARNT: "" if st.session_state["learn"] else "0"})
    except SettingsError as error:
        st.session_state[_FAILED] = str(error)


def _looks() -> None:
    st.markdown("##### Looks")
    st.markdown(
        "Light or dark as the system asks; the menu ⋮ at the top right of a wide window has both to choose from."
    )


def _places() -> None:
    st.markdown("##### Where things are")
    for place in _PLACES:
        by = origin(place.name)
        told = f"{place.value()} · {f'set by {by}' if by else 'the default'}"
        st.markdown(f"**{plain(place.text.capitalize())}** (`{place.name}`)  \n{plain(told)}")
    st.caption("Changed in the environment or in .streamlit/secrets.toml, and read when Mirror starts.")
