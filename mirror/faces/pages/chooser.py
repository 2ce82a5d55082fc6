"""The line that says what is asked about, and how something else is opened: a path, a URL or an upload."""

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import streamlit as st

from db.store import Store, StoreError
from mirror.answer.subject import FAILURES
from mirror.data.process import sandbox
from mirror.data.process.other_data_process import shared
from mirror.data.sources.kind import find_other_data
from mirror.data.sources.location import READABLE, SourceError, find
from mirror.faces.pages.common import plain
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.places import opened
from mirror.faces.pages.places.place import Kind, Place, kind_of
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.address import ABOUT, Address
from mirror.schema.database import shown

_KINDS: dict[Kind, str] = {"results": "Results", "file": "File", "folder": "Folder", "database": "Database"}
_TO_TYPE: dict[Kind, tuple[str, str]] = {
    "file": ("sales.csv", "A path, a glob such as data/*.csv, or paths with commas between them."),
    "folder": ("data/", "Each CSV, JSON lines, Excel and Parquet file in it is a table."),
    "database": ("shop.sqlite, shop.duckdb or postgresql://user@host/database", "A path or a URL."),
}
_SUFFIXES = (
    "csv", "tsv", "gz", "jsonl", "ndjson", "xlsx", "xlsm", "parquet", "pq", "sqlite", "sqlite3", "db", "duckdb",
)  # fmt: skip
_DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")
_MOST_UPLOADED_MB = 200
_UPLOADED = "uploaded:"  # before the names of files in an address, which only this session has
_ONLY_UPLOADS = (
    "You may ask about files that you upload. Files of this machine, and databases that it reaches, are opened by "
    "those who may start runs here."
)
# In the session's state: the source and kind of the address as it was read or written last; what was typed or uploaded
# and is to be opened; why something could not be opened; the address that waits until its source is open.
_ADDRESS, _OPENING, _ERROR, _AWAITED = "place_address", "place_opening", "place_error", "place_awaited"


def show() -> bool:
    """The line; below it what opens a place, while one is being chosen. Whether there is something to ask about."""
    _follow_address()
    if given := st.session_state.pop(_OPENING, None):
        _open(*given)
    place, kind = opened.of_link(opened.link_now()), opened.choosing()
    now: Kind = kind or (place.kind if place else "results")
    st.session_state[ABOUT] = now
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="places"):
        st.caption("Ask about", width="content")
        st.segmented_control(
            "Ask about", list(_KINDS), key=ABOUT, format_func=_KINDS.__getitem__, required=True,
            label_visibility="collapsed", on_change=_choose,
        )  # fmt: skip
        if place and not kind:
            with st.popover(plain(place.name), icon=":material/folder_open:", type="tertiary"):
                _form(now, place)
    if kind:
        _form(kind, None)
    if error := st.session_state.get(_ERROR):
        st.error(plain(error), icon=":material/database_off:")
    if kind:
        st.session_state.pop("elsewhere", None)
        st.query_params[ABOUT] = kind
        st.info(plain(f"{READABLE} can be read; nothing is ever written to them."), icon=":material/lock:")
    return not kind


def _form(kind: Kind, place: Place | None) -> None:
    """What opens a place of a kind, another one where one is open."""
    key, (example, told) = f"place_{kind}", _TO_TYPE[kind]
    if place:
        st.session_state.setdefault(key, place.name)  # Streamlit forgets what is typed while another page is shown
    with st.form(f"{key}_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(_KINDS[kind], key=key, placeholder=example, help=told)
        right.form_submit_button("Open", type="primary", width="stretch", on_click=_open_typed, args=(key, place))
    if kind != "folder":
        st.file_uploader(
            "Or upload: CSV, JSON lines, Excel and Parquet files, each a table; or one SQLite or DuckDB file. Of a "
            "larger file name the path above.",
            type=list(_SUFFIXES),
            max_upload_size=_MOST_UPLOADED_MB,
            accept_multiple_files=True,
            key=f"{key}_upload",
            on_change=_take_uploaded,
            args=(f"{key}_upload",),
        )


# -- what was chosen ---------------------------------------------------------------------------------------------------


def _choose() -> None:
    """Go to what was open of the kind that was clicked; where nothing was, let it be opened."""
    kind: Kind = st.session_state[ABOUT]
    last = opened.last_of(kind)
    if kind == "results" or last:
        _go_to(last.link if last else "")
    else:
        _let_choose(kind)
        st.query_params.from_dict({ABOUT: kind})
        st.session_state[_ADDRESS] = ("", kind)


def _let_choose(kind: Kind, error: str = "") -> None:
    st.session_state.update({"choosing": kind, _ERROR: error})


def _go_to(link: str, of_address: bool = False) -> None:
    state = st.session_state
    for name in ("choosing", _ERROR):
        state.pop(name, None)
    flow.go_to(link)
    if not of_address:
        flow.write_address()
    state[_ADDRESS] = (link, "")


def _follow_address() -> None:
    """Ask about what the address names where that has changed. A server waits for a person's click, since a link may
    come from anybody."""
    state, query = st.session_state, st.query_params
    named, kind = str(query.get("source", "")).strip(), str(query.get(ABOUT, ""))
    there = (named, "" if named or kind not in _KINDS else kind)
    if there == state.get(_ADDRESS, ("", "")) or (flow.is_from_elsewhere() and there == ("", "")):
        return
    state[_ADDRESS] = there
    if not named:
        if there[1] in _TO_TYPE:
            _let_choose(there[1])
        else:
            _go_to("", of_address=True)
    elif opened.of_link(named):
        _go_to(named, of_address=True)
    else:
        state[_AWAITED] = Address.now()
        if named.startswith(_UPLOADED):
            names = named.removeprefix(_UPLOADED)
            _let_choose(
                "file", f"The link is about files that were uploaded in another tab ({names}): upload them here."
            )
        elif "://" in named:
            state["place_database"] = named
            _let_choose("database", f"The link names {named}: press Open to connect to it.")
        else:
            _open(named)


# -- opening -----------------------------------------------------------------------------------------------------------


def _open_typed(key: str, place: Place | None) -> None:
    typed = st.session_state[key].strip()
    if place and typed == place.name:  # as it was shown, without its password: the same again
        flow.go_home()
    else:
        st.session_state[_OPENING] = (typed, None, "")


def _take_uploaded(key: str) -> None:
    """Files of the browser, in a folder that goes with the session."""
    files = st.session_state[key]
    if not files:
        return
    names = [Path(file.name).name for file in files]
    if told := _cannot_be_together(names):
        _let_choose(opened.choosing() or "file", told)
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="mirror-data-")
        paths = [Path(folder.name) / name for name in names]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file.getbuffer())
    except OSError as error:
        told = f"The upload cannot be kept ({error.strerror}): make room in the folder for temporary files."
        _let_choose(opened.choosing() or "file", told)
        return
    only = str(paths[0]) if len(paths) == 1 else folder.name
    st.session_state[_OPENING] = (only, folder, shown(path.name for path in paths))


def _cannot_be_together(names: Sequence[str]) -> str:
    """Why files cannot be uploaded at once, a sentence; empty where they can."""
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"Two of the files are called {twice}: give one of them another name, which becomes that of its table."
    if len(names) > 1 and (alone := next((name for name in names if name.lower().endswith(_DATABASES)), "")):
        return f"{alone} is a whole database: upload it by itself."
    return ""


def _open(text: str, uploads: "tempfile.TemporaryDirectory[str] | None" = None, name: str = "") -> None:
    """Open a place and ask about it; its name takes the place of what was typed: a password is never shown back."""
    state = st.session_state
    kind: Kind = opened.choosing() or "file"
    if not (uploads or entry.person().may_run):
        _let_choose(kind, _ONLY_UPLOADS)
        return
    key = f"place_{kind}"
    try:
        if "://" in text:
            state[key] = ""
        location = find(text)
        kind = "file" if uploads else kind_of(location, text)
        name = name or (location.name if location.url else text)
        state[f"place_{kind}"] = name
        with st.spinner(f"Opening {plain(name)} …"):
            shared(location).schema()
            box = None if find_other_data(text) else _results_at(text)
    except FAILURES as error:
        _let_choose(kind, str(error))
        return
    place = Place(kind, text, name, f"{_UPLOADED}{name}" if uploads else name, box, location, uploads)
    opened.keep(place)
    awaited: Address | None = state.pop(_AWAITED, None)
    is_awaited = awaited is not None and _link_of(awaited.source) == place.link
    flow.forget(place.link)
    _go_to(place.link)
    if awaited and is_awaited:  # the rest of it is asked now
        st.query_params.from_dict({**awaited.said, "source": place.link})


def _results_at(text: str) -> sandbox.Sandbox:
    """Results of somebody, in which nothing is changed. Raises StoreError where they would have to be."""
    store = Store(text)
    if store.is_older():
        raise StoreError(
            f"{store.name} was written by another version of Mirror, and what is opened here is not changed: "
            "`python -m bench_engine --db FILE ingest` brings it up to date; or do so with a copy."
        )
    return sandbox.shared(text, keeps=True)


def _link_of(source: str) -> str:
    """The link of what an address names."""
    with suppress(SourceError):
        return find(source).name if "://" in source and find(source).url else source
    return source
