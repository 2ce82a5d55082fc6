"""Streamlit pages: widgets only, each a thin reader of mirror.answer and mirror.runs.

From outside: ask, common, in_browser, new_run.
"""
