"""The Streamlit entry: page list and theme, nothing else."""

import streamlit as st

from mirror.faces.pages import ask, data, new_run, runs
from mirror.faces.pages.boards import board_page
from mirror.faces.pages.common import ASK_PATH, BOARDS_PATH, DATA_PATH, NEW_RUN_PATH, RUNS_PATH

st.set_page_config(page_title="Mirror", page_icon="🪞", layout="wide")
pages = [
    st.Page(ask.page, title="Ask", icon=":material/search:", url_path=ASK_PATH, default=True),
    st.Page(board_page.page, title="Boards", icon=":material/dashboard:", url_path=BOARDS_PATH),
    st.Page(runs.page, title="Runs", icon=":material/list:", url_path=RUNS_PATH),
    st.Page(new_run.page, title="New run", icon=":material/play_arrow:", url_path=NEW_RUN_PATH),
    st.Page(data.page, title="Data", icon=":material/database:", url_path=DATA_PATH),
]
chosen = st.navigation(pages, position="top")
with st.container(horizontal=True, gap="small", key="pages"):  # on a phone, where the list at the top is hidden
    for page in pages:
        st.page_link(page)
chosen.run()
