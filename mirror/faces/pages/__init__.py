"""Streamlit pages: widgets only, each a thin reader of answer.py and jobs.py."""
