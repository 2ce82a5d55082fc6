"""The page Boards: a board's answers in a grid, each asked anew when it opens; put in order, renamed, removed."""

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from db.settings import SettingsError
from mirror.answer.answer import Answer
from mirror.data.sources.location import SourceError
from mirror.faces.kept_answers import ask_item, open_boards
from mirror.faces.pages.common import (
    ASK_PATH,
    BOARDS_PATH,
    heading,
    page_at,
    plain,
    show_chart,
    show_glossary,
    show_table,
)
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.places import opened
from mirror.query.kept.board_file import Board, BoardError, BoardItem, Boards
from mirror.runs.person import ONLY_ASKS
from mirror.table.wording import counted

_ACROSS = 2
_HEIGHT = 480  # pixels of what stands there until an answer is made
_BOARD = "board"  # of the address
_ANSWERS = "board_answers"  # in the session's state: what is asked -> its answer
_REMOVED, _FAILED = "board_removed", "board_failed"


def page() -> None:
    """Draw the page."""
    heading("Boards")
    try:
        store = open_boards()
        boards = store.all()
    except (BoardError, SettingsError, SourceError) as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    state = st.session_state
    if failed := state.pop(_FAILED, ""):
        st.error(plain(failed), icon=":material/error:")
    _bring_back(store)
    if not boards:
        st.info("There is no board yet: ask a question, and press “Add to board” below its chart.")
        st.page_link(page_at(ASK_PATH), label="Ask a question", icon=":material/search:")
        return
    named = str(st.query_params.get(_BOARD, "")).strip()
    shown = next((b for b in boards if b.name.casefold() == named.casefold()), None if named else boards[0])
    _names(boards, shown)
    if shown is None:
        st.info(plain(f"There is no board “{named}”: it was renamed or removed, or is kept elsewhere."))
        return
    st.query_params[_BOARD] = shown.name
    _head(store, shown)
    _grid(store, shown)


def _names(boards: tuple[Board, ...], shown: Board | None) -> None:
    """The boards, each a link of its own."""
    if len(boards) == 1 and shown:
        return
    with st.container(horizontal=True, gap="small", key="links-boards"):
        for board in boards:
            label = f"**{plain(board.name)}**" if board is shown else plain(board.name)
            query = {_BOARD: board.name}
            st.page_link(page_at(BOARDS_PATH), label=label, icon=":material/dashboard:", query_params=query)


def _head(store: Boards, board: Board) -> None:
    """The name of a board, and what can be done with all of it."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"#### {plain(board.name)}", width="content")
        with st.container(horizontal=True, gap="small", width="content"):
            # Streamlit forgets a widget while another page is shown: then the board opens, and all is asked anew.
            asked = "board_again" in st.session_state
            pressed = st.button("Ask again", key="board_again", icon=":material/refresh:")
            if pressed or not asked:
                st.session_state[_ANSWERS] = {}
            with st.popover("Change", icon=":material/edit:"):
                with st.form("board_form", border=False):
                    st.text_input("Name", board.name, key=f"board_name_{board.name}")
                    st.form_submit_button("Rename", on_click=_rename, args=(store, board))
                st.button("Remove the board", key="board_drop", on_click=_drop, args=(store, board))


def _grid(store: Boards, board: Board) -> None:
    """The answers, two beside each other; on a phone one below the other."""
    if not board.items:
        st.info("Nothing is on this board: ask a question, and press “Add to board” below its chart.")
    places: list[tuple[int, BoardItem, DeltaGenerator]] = []
    for i, item in enumerate(board.items):
        if i % _ACROSS == 0:
            columns = st.columns(_ACROSS)
        places.append((i, item, columns[i % _ACROSS].skeleton(height=_HEIGHT)))
    read: list[str] = []
    for i, item, place in places:
        answer = _answer(item)
        with place.container(border=True, height="stretch", key=f"card-{item.id}"):
            _card(store, board, i, item, answer)
        read += [answer.read_as, answer.summary]
    if board.items:
        show_glossary(*read)


def _answer(item: BoardItem) -> Answer:
    """The answer of an item, made once for as long as the board is open."""
    state = st.session_state
    made: dict[tuple[str, ...], Answer] = state.setdefault(_ANSWERS, {})
    key = (item.id, item.question, item.sql, item.source)  # boards that are written by hand share ids
    if key not in made:
        # What this session has open may have a password, which no board keeps.
        place = opened.of_link(item.source) if item.source else None
        made[key] = ask_item(item, place.db if place else item.source or None)
    return made[key]


def _card(store: Boards, board: Board, at: int, item: BoardItem, answer: Answer) -> None:
    """An answer: its title, its line and its chart, or the sentence that says why there is none."""
    told = answer.status == "answered" and bool(answer.summary)
    st.markdown(f"**{plain(item.title or (answer.headline().text if told else item.question))}**")
    if item.title and told:
        st.caption(plain(answer.headline().text))
    if not told or answer.table is None or answer.chart is None:
        st.info(plain(answer.summary), icon=":material/info:")
    elif answer.chart.type == "table":
        show_table(answer.table, key=f"board_table_{item.id}")
    else:
        show_chart(answer.table, answer.chart, key=f"board_{item.id}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        query: dict[str, Any] = dict(item.address or {"q": item.question})
        st.page_link(page_at(ASK_PATH), label=plain(item.question), icon=":material/arrow_forward:", query_params=query)
        if item.source:
            st.caption(plain(item.source), width="content")
    with st.container(horizontal=True, gap="xsmall", key=f"choices-{item.id}"):
        last = len(board.items) - 1
        _order(store, board, item, "Earlier", -1, disabled=at == 0)
        _order(store, board, item, "Later", 1, disabled=at == last)
        popover = st.popover("Title", icon=":material/edit:", type="tertiary")
        with popover, st.form(f"title_form_{item.id}", border=False):
            key = f"board_title_{item.id}"
            st.text_input("Title", item.title, key=key, placeholder="empty for the line that answers")
            st.form_submit_button("Apply", on_click=_entitle, args=(store, board, item, key))
        st.button(
            "Remove", key=f"board_remove_{item.id}", type="tertiary", icon=":material/delete:",
            on_click=_remove, args=(store, board, at, item),
        )  # fmt: skip


def _order(store: Boards, board: Board, item: BoardItem, label: str, by: int, disabled: bool) -> None:
    icon = ":material/arrow_back:" if by < 0 else ":material/arrow_forward:"
    st.button(
        label, key=f"board_{label}_{item.id}", type="tertiary", icon=icon, disabled=disabled,
        on_click=_move, args=(store, board, item, by),
    )  # fmt: skip


# -- changes -----------------------------------------------------------------------------------------------------------


def _tried(change: Callable[..., object], *given: object) -> bool:
    """Change the boards; whether that could be done: else the page says why not. All changes go through here."""
    try:
        if not entry.person().may_run:
            raise BoardError(ONLY_ASKS)
        change(*given)
    except BoardError as error:
        st.session_state[_FAILED] = str(error)
        return False
    return True


def _move(store: Boards, board: Board, item: BoardItem, by: int) -> None:
    _tried(store.move, board.name, item.id, by)


def _entitle(store: Boards, board: Board, item: BoardItem, key: str) -> None:
    _tried(store.entitle, board.name, item.id, st.session_state[key])


def _rename(store: Boards, board: Board) -> None:
    name = st.session_state[f"board_name_{board.name}"]
    if _tried(store.rename, board.name, name):
        st.query_params[_BOARD] = " ".join(name.split())


def _remove(store: Boards, board: Board, at: int, item: BoardItem) -> None:
    if _tried(store.remove, board.name, item.id):
        st.session_state[_REMOVED] = (board.name, ((at, item),))


def _drop(store: Boards, board: Board) -> None:
    gone: list[Board | None] = []
    if _tried(lambda: gone.append(store.drop(board.name))):
        if gone[0] and gone[0].items:  # another tab may have added to it since it was drawn
            st.session_state[_REMOVED] = (gone[0].name, tuple(enumerate(gone[0].items)))
        else:  # there is nothing to bring back
            st.session_state.pop(_REMOVED, None)
        st.query_params.pop(_BOARD, None)


def _bring_back(store: Boards) -> None:
    """Undo what was removed last."""
    removed = st.session_state.get(_REMOVED)
    if not removed:
        return
    name, items = removed
    what = plain(items[0][1].title or items[0][1].question) if len(items) == 1 else counted(len(items), "answer")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label = f"Bring back: {what} on {plain(name)}"
        st.button(label, key="board_undo", icon=":material/undo:", on_click=_undo, args=(store,))


def _undo(store: Boards) -> None:
    name, items = st.session_state[_REMOVED]
    if all(_tried(store.add, name, item, at) for at, item in items):
        st.session_state.pop(_REMOVED)
        st.query_params[_BOARD] = name
