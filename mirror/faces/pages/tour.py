"""A tour of the page Ask in a few steps, over a real answer; it can be left at each of them."""

from dataclasses import dataclass

import streamlit as st

from mirror.faces.pages import in_browser
from mirror.faces.pages.common import is_dark
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.trails import flow
from mirror.schema import catalog

_KEY = "tour"  # of the step in the session's state
# What a step points at is framed, and the step stays in sight.
_POINTER = """
<style>
:is({at}) {{outline: 2px solid #d55e00; outline-offset: 4px; border-radius: 0.4rem;}}
:has(> .st-key-tour) {{position: sticky; top: 4rem; z-index: 20;}}
.st-key-tour {{background: {background};}}
</style>
"""
_LIGHT, _DARK = "#ffffff", "#11181f"  # backgrounds as in .streamlit/config.toml


@dataclass(frozen=True)
class _Step:
    """A step: its title, what it says, and the CSS selector of what it points at."""

    title: str
    text: str
    at: str


_STEPS = (
    _Step(
        "Ask in plain words",
        "Type a question and press Enter; suggestions come while you type. Next asks this one.",
        ".st-key-question",
    ),
    _Step(
        "The line that answers",
        "One number first. Below it the chart, beside it the facts, at the end of the page all rows.",
        ".st-key-headline",
    ),
    _Step(
        "How it was read",
        "Each chip is a part of the question. Click one to change it; SQL and chart follow. Undo takes it back.",
        ".st-key-chips",
    ),
    _Step(
        "The SQL behind it",
        "What ran, on a locked copy of the results. Edit it and press Ctrl+Enter; nothing can break.",
        '[data-testid="stForm"]:has(.st-key-sql)',
    ),
    _Step(
        "Go on from here",
        "Say what is to be different: “and for 0.5?”, “only hashed”. The page's address is a link to what you see.",
        ".st-key-followup",
    ),
    _Step(
        "The other pages",
        "Runs lists and compares all trials, New run measures on this machine. Files and databases of your own are "
        "asked here: choose one above the question.",
        '[data-testid="stHeader"], .st-key-pages',
    ),
)


def show_button() -> None:
    """What starts the tour."""
    st.button("Take the tour", key="tour_start", on_click=_go, args=(0,), icon=":material/signpost:")


def show(place: Place) -> None:
    """The step that the tour is at; nothing while there is none."""
    at = st.session_state.get(_KEY)
    if at is None:
        return
    step, is_last = _STEPS[at], at == len(_STEPS) - 1
    st.html(_POINTER.format(at=step.at, background=_DARK if is_dark() else _LIGHT))
    in_browser.point_at(step.at)
    with st.container(border=True, key="tour"):
        st.markdown(f"**{step.title}** :small[{at + 1} of {len(_STEPS)}]  \n{step.text}")
        with st.container(horizontal=True, gap="small"):
            if is_last:
                st.button("Done", key="tour_next", type="primary", on_click=_end)
            else:
                st.button("Next", key="tour_next", type="primary", on_click=_next, args=(at, place))
            if at:
                st.button("Back", key="tour_back", on_click=_go, args=(at - 1,))
            if not is_last:
                st.button("Skip the tour", key="tour_skip", type="tertiary", on_click=_end)


def _next(at: int, place: Place) -> None:
    if at == 0 or flow.trail() is None:
        flow.ask_anew(catalog.examples()[0], place)
    _go(at + 1)


def _go(at: int) -> None:
    if at == 0:
        st.session_state["question"] = catalog.examples()[0]
    st.session_state[_KEY] = at


def _end() -> None:
    st.session_state.pop(_KEY, None)
