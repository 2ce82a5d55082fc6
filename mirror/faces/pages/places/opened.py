"""What this session has opened, and which of it is asked about.

In its state: `places` (by their links, the one that was opened last at the end), `place` (the link of the one that is
asked about, empty for the results) and `choosing` (the kind of place that somebody is about to open).
"""

import streamlit as st

from mirror.faces.pages.places.place import Kind, Place


def link_now() -> str:
    """The link of what is asked about; empty for the results."""
    return str(st.session_state.get("place", ""))


def choosing() -> Kind | None:
    """The kind of place that is about to be opened, None where nobody is at it."""
    kind: Kind | None = st.session_state.get("choosing")
    return kind


def of_link(link: str) -> Place | None:
    """What was opened and has this link."""
    found: Place | None = st.session_state.get("places", {}).get(link)
    return found


def last_of(kind: Kind) -> Place | None:
    """What was opened last of a kind."""
    places: dict[str, Place] = st.session_state.get("places", {})
    return next((place for place in reversed(places.values()) if place.kind == kind), None)


def keep(place: Place) -> None:
    """Remember what was opened, with the password that somebody typed, for as long as the session."""
    places: dict[str, Place] = st.session_state.setdefault("places", {})
    places.pop(place.link, None)
    places[place.link] = place
