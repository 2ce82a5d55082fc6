"""Logins by OpenID Connect, which are Streamlit's: who is logged in, and which e-mail addresses may what.

They are on where secrets.toml has the section [auth].
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from db.settings import SettingsError, setting
from mirror.data.guard.guard_errors import ascii_lower
from mirror.runs.person import Person


def are_on() -> bool:
    """Whether nothing is served without a login. Raises SettingsError where Streamlit cannot tell."""
    there = [path for path in st.get_option("secrets.files") if Path(path).is_file()]
    if there and not st.secrets.load_if_toml_exists():
        raise SettingsError(".streamlit/secrets.toml cannot be read by Streamlit, whose log says why: mend it.")
    return "is_logged_in" in st.user


def who() -> Person | None:
    """Who is logged in; None for nobody. They may run what MIRROR_MAY_RUN lets them."""
    if not st.user.get("is_logged_in"):
        return None
    mail = _mail()
    name = mail or f"login {st.user.get('sub', '')}"  # not the name that people give themselves
    return Person(name, may_run=bool(mail) and is_listed(mail, setting("MIRROR_MAY_RUN")))


def may_ask() -> bool:
    """Whether who is logged in may come in: everybody, or those whom MIRROR_MAY_ASK or MIRROR_MAY_RUN names."""
    listed = setting("MIRROR_MAY_ASK")
    return not listed or is_listed(_mail(), f"{listed},{setting('MIRROR_MAY_RUN')}")


def is_listed(mail: str, listed: str) -> bool:
    """Whether an e-mail address is in a list of addresses and domains (`@example.org`), separated by commas."""
    # Of ASCII alone: ß is no ss, and two such addresses are two people's.
    wanted = {ascii_lower(part.strip()) for part in listed.split(",") if part.strip()}
    mail = ascii_lower(mail)
    return bool(mail) and (mail in wanted or f"@{mail.rpartition('@')[2]}" in wanted)


def _mail() -> str:
    """The address of who is logged in; empty where there is none, or the provider says that it is not verified."""
    mail = st.user.get("email")
    return mail if isinstance(mail, str) and "@" in mail and st.user.get("email_verified", True) is True else ""


def providers() -> list[str]:
    """The names of the providers that [auth] has sections for; an empty one where it is a provider itself."""
    section = st.secrets["auth"]
    named = [name for name, value in section.items() if isinstance(value, Mapping)]
    return ([""] if "client_id" in section else []) + named
