"""The language model on the page Settings: its address and name, a try, and what it gets to see."""

from dataclasses import dataclass

import streamlit as st

from db.settings import SettingsError, can_be_kept, origin, setting
from mirror.faces.pages.common import plain, prose
from mirror.model import server_check
from mirror.model.chat_server import DEFAULT_TIME_LIMIT_S, OPENAI_URL, LlmError, ServerSettings, checked_settings
from mirror.query.kept.kept_settings import keep

_URL, _MODEL, _LIMIT, _ROWS = "MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "MIRROR_LLM_TIMEOUT_S", "MIRROR_LLM_ROWS"
_DEFAULT_LIMIT = f"{DEFAULT_TIME_LIMIT_S:g}"
_MODELS = "settings_models"  # names that the server gave, by its address


@dataclass(frozen=True)
class _Filled:
    """The form as it is filled in."""

    url: str
    model: str
    limit: str
    rows: bool

    def server(self) -> ServerSettings:
        """What it names. Raises LlmError with one sentence."""
        return checked_settings(self.url or OPENAI_URL, self.model, self.limit)


def show() -> None:
    """Draw it."""
    st.markdown("##### Language model")
    st.markdown(
        prose(
            "None is needed: questions are read on this machine. One that speaks OpenAI's protocol (a server of your "
            "own, or OpenAI's) reads them too, and writes SQL for what the built-in readers cannot say. A key is set "
            "as `OPENAI_API_KEY`, in the environment or in `.streamlit/secrets.toml`, and never kept here."
        )
    )
    with st.form("settings_model", border=True):
        filled = _fields()
        with st.container(horizontal=True, gap="small"):
            kept = st.form_submit_button("Keep", type="primary", disabled=not _mine())
            tested = st.form_submit_button("Test", help="Sends one short message of Mirror's own, and no data.")
            listed = st.form_submit_button("List its models")
    if filled.model:
        st.caption(plain(_what_it_sees(filled)))
    try:
        if kept:
            _keep(filled)
        if tested:
            _test(filled)
        if listed:
            st.session_state[_MODELS] = (filled.url, server_check.models_of(filled.server()))
    except (LlmError, SettingsError) as error:
        st.error(plain(str(error)), icon=":material/error:")
    _show_models(filled.url)


def _mine() -> list[str]:
    """The settings that this page may change."""
    return [name for name in (_URL, _MODEL, _LIMIT, _ROWS) if can_be_kept(name)]


def _fields() -> _Filled:
    mine = _mine()

    def told(name: str, text: str) -> str:
        return text if name in mine else f"{text} Set by {origin(name)} ({name}), so it is changed there."

    url = st.text_input(
        "Address", setting(_URL), placeholder=OPENAI_URL, disabled=_URL not in mine, help=told(_URL, "Ends in /v1.")
    )
    left, right = st.columns([3, 1])
    model = left.text_input(
        "Model", setting(_MODEL), placeholder="none: the built-in readers alone", disabled=_MODEL not in mine,
        help=told(_MODEL, "Its name on that server; empty for none."),
    )  # fmt: skip
    limit = right.text_input(
        "Longest wait (s)", setting(_LIMIT, _DEFAULT_LIMIT), disabled=_LIMIT not in mine,
        help=told(_LIMIT, "For each thing that it is asked."),
    )  # fmt: skip
    rows = st.toggle(
        "It may see rows of results", setting(_ROWS).strip() == "1", disabled=_ROWS not in mine,
        help=told(_ROWS, "To word the summary. Off: it sees names of columns and values, and no results."),
    )  # fmt: skip
    return _Filled(url.strip(), model.strip(), limit.strip(), rows)


def _what_it_sees(filled: _Filled) -> str:
    try:
        server = filled.server()
    except LlmError:
        return ""
    where = f"Sent to {server.name}, " + ("which is this machine" if server.is_local else "over the network")
    rows = ", and rows of results" if filled.rows else ", and no rows of results"
    return f"{where}: the question, the catalogue, distinct values{rows}. Each answer shows it word for word."


def _keep(filled: _Filled) -> None:
    if filled.model:
        filled.server()
    rows = "1" if filled.rows else ""
    limit = "" if filled.limit == _DEFAULT_LIMIT else filled.limit
    values = {_URL: filled.url, _MODEL: filled.model, _LIMIT: limit, _ROWS: rows}
    keep({name: values[name] for name in _mine()})
    st.toast("Kept, for everybody who uses this Mirror.", icon=":material/check:")


def _test(filled: _Filled) -> None:
    if not filled.model:
        raise LlmError("There is no model to test: name one.")
    with st.spinner("Asking it …"):
        reply = server_check.tried(filled.server())
    told = ", ".join(filter(None, (f"{reply.seconds:.1f} s", reply.tokens.in_words)))
    st.success(plain(f"{filled.model} answered “{reply.text[:60]}” ({told})."), icon=":material/check:")


def _show_models(url: str) -> None:
    of, names = st.session_state.get(_MODELS, ("", None))
    if names is None or of != url:
        return
    if not names:
        st.info("The server names no models: ask who runs it.")
        return
    st.caption("Models of this server, to copy into Model:")
    st.code("\n".join(names), language=None)
