"""The Streamlit entry: page list and theme, nothing else."""

import streamlit as st

from mirror.pages import ask, new_run, runs

st.set_page_config(page_title="Mirror", page_icon="🪞", layout="wide")
st.navigation(
    [
        st.Page(ask.page, title="Ask", icon=":material/search:", url_path="ask", default=True),
        st.Page(runs.page, title="Runs", icon=":material/list:", url_path="runs"),
        st.Page(new_run.page, title="New run", icon=":material/play_arrow:", url_path="new-run"),
    ],
    position="top",
).run()
