"""The way in to the pages: nobody sees or starts anything before the login and the password that are asked for.

Who came in is kept in the session, on the server; what was typed is kept nowhere.
"""

import math
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from db import settings
from db.settings import SettingsError
from mirror.faces.markdown import plain
from mirror.faces.pages.entrance import logins, passwords
from mirror.runs.person import LOCAL, Person

_STRANGER = Person("stranger", may_run=False)
_ROLE, _TYPED, _SAID = "entry_role", "entry_password", "entry_said"  # in the session's state
_COOKIE = "_streamlit_xsrf"


def is_open() -> bool:
    """Whether the visitor may come in. What they must do first is drawn where not."""
    try:
        if _visitor():
            return True
        if logins.are_on() and not (logins.who() and logins.may_ask()):
            _show_login()
        else:
            _show_password()
    except SettingsError as error:
        st.title("Mirror", anchor=False)
        st.error(plain(str(error)), icon=":material/lock:")
    return False


def person() -> Person:
    """Who is at the page; who has not come in may nothing."""
    with suppress(SettingsError):
        return _visitor() or _STRANGER
    return _STRANGER


def whose() -> str:
    """What stands for the person where people take turns: their login, else their browser with all its tabs."""
    if (login := person().name) not in (LOCAL.name, _STRANGER.name, *passwords.ROLES):
        return login
    context = get_script_run_ctx()
    return _browser() or (context.session_id if context else "")


def _visitor() -> Person | None:
    """Who has come in, None for nobody yet. Raises SettingsError where what is asked for is not set as it must be."""
    settings.check()
    visitor: Person | None = LOCAL
    if logins.are_on():
        visitor = logins.who() if logins.may_ask() else None
    if passwords.are_on():
        role = st.session_state.get(_ROLE)
        if role not in passwords.ROLES or visitor is None:
            return None
        may_run = visitor.may_run and role == "owner"
        return Person(role if visitor is LOCAL else visitor.name, may_run)
    return visitor


def _browser() -> str:
    """What Streamlit's cookie has for one browser: its token, which is masked anew whenever the cookie is written."""
    with suppress(ValueError, ZeroDivisionError):  # a browser may send anything
        _, mask, masked, *_ = st.context.cookies.get(_COOKIE, "").split("|")
        key = bytes.fromhex(mask)
        return bytes(byte ^ key[i % len(key)] for i, byte in enumerate(bytes.fromhex(masked))).hex()
    return ""


# -- the login ---------------------------------------------------------------------------------------------------------


def _show_login() -> None:
    st.title("Mirror", anchor=False)
    if who := logins.who():
        st.error(plain(f"You are logged in as {who.name}, who may not ask here: whoever runs this app says who may."))
        st.button("Log out", key="logout", on_click=st.logout)
        return
    for name in logins.providers():
        st.button(f"Log in with {name}" if name else "Log in", key=f"login_{name}", on_click=_login, args=(name,))
    if said := st.session_state.pop(_SAID, ""):
        st.error(plain(said))


def _login(provider: str) -> None:
    try:
        st.login(provider or None)
    except StreamlitAPIException as error:  # the package for it is missing, or a line of [auth]
        st.session_state[_SAID] = f"Nobody can log in as this app is set up: {error}"


# -- the password ------------------------------------------------------------------------------------------------------


def _show_password() -> None:
    st.title("Mirror", anchor=False)
    with st.form("entry", border=False, width=420):
        st.text_input("Password", type="password", key=_TYPED, autocomplete="current-password")
        st.form_submit_button("Enter", on_click=_try)
    if said := st.session_state.pop(_SAID, ""):
        st.error(plain(said), icon=":material/lock:")


def _try() -> None:
    state = st.session_state
    typed, state[_TYPED] = str(state.get(_TYPED, "")), ""
    address = st.context.ip_address or "this machine"
    role, wait = passwords.throttle.attempt(address, lambda: passwords.role_of(typed))
    if role:
        state[_ROLE] = role
    elif wait:
        state[_SAID] = f"Not looked at, after wrong passwords before: try again in {math.ceil(wait)} s."
    else:
        state[_SAID] = "This is not the password."
