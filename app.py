"""The Streamlit entry: page list and theme, and the door that all pages lie behind."""

import streamlit as st

from mirror.data.process.turns import asked_by
from mirror.faces.pages import ask, in_browser, new_run
from mirror.faces.pages.boards import board_page
from mirror.faces.pages.common import ASK_PATH, BOARDS_PATH, NEW_RUN_PATH, RUNS_PATH
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.runs import runs_page
from mirror.faces.pages.settings import settings_page

st.set_page_config(page_title="Mirror", page_icon="🪞", layout="wide")
pages = [
    st.Page(ask.page, title="Ask", icon=":material/search:", url_path=ASK_PATH, default=True),
    st.Page(board_page.page, title="Boards", icon=":material/dashboard:", url_path=BOARDS_PATH),
    st.Page(runs_page.page, title="Runs", icon=":material/list:", url_path=RUNS_PATH),
    st.Page(new_run.page, title="New run", icon=":material/play_arrow:", url_path=NEW_RUN_PATH),
    st.Page(settings_page.page, title="Settings", icon=":material/settings:", url_path="settings"),
]
moved = st.Page(in_browser.run, title="Data", url_path=in_browser.OLD_PATH, visibility="hidden")
is_open = entry.is_open()
chosen = st.navigation([*pages, moved], position="top" if is_open else "hidden")
if chosen.url_path == in_browser.OLD_PATH:
    in_browser.run()  # which leads to Ask, before a password is asked for: it would be asked for again there
    st.stop()
if not is_open:
    st.stop()
with st.container(horizontal=True, gap="small", key="pages"):  # on a phone, where the list at the top is hidden
    for page in pages:
        st.page_link(page)
with asked_by(entry.whose()):
    chosen.run()
in_browser.follow_theme()
