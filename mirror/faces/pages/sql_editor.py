"""The SQL of an answer, to edit, run, save and take back."""

import re

import streamlit as st

from mirror.answer.answer import Answer
from mirror.faces import sql_help
from mirror.faces.pages import in_browser, saved_view
from mirror.faces.pages.common import plain
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.places.place import Place
from mirror.faces.pages.result_view import rows_in_words
from mirror.faces.pages.trails import flow
from mirror.faces.pages.trails.trail import Trail
from mirror.query.sql import format_sql
from mirror.table.wording import join

_MOST_FIXES = 3


def show_editor(trail: Trail, place: Place, names: sql_help.Names) -> None:
    """The editor of the answer that is shown, with its buttons; `names` is what it completes."""
    with st.form("sql_form", border=False):
        # The key outlives the text of a failed statement: nothing typed is lost.
        st.text_area("SQL", key="sql", height=260, label_visibility="collapsed")
        with st.container(horizontal=True):
            st.form_submit_button(
                "Run", type="primary", width="stretch", on_click=flow.run_edited, args=(place,), help="Ctrl+Enter"
            )
            st.form_submit_button("Format", width="stretch", on_click=_format, args=(place,))
            # A button of the form, since text that is typed in a form comes with the form's own buttons alone.
            if entry.person().may_run and place.has_address:  # what was uploaded is elsewhere the next time
                st.form_submit_button("Save …", width="stretch", on_click=saved_view.begin, args=(trail,))
    if trail.step.edited:
        st.button("Back to the original", on_click=flow.restore, icon=":material/undo:")
    _show_change(trail)
    if table := trail.step.shown.table:
        how = "locked read-only copy" if place.box else "read only"
        st.caption(f"{rows_in_words(table)} · {table.milliseconds:.0f} ms · {how}")
    help_with(trail.step.shown, names)
    saved_view.show_dialog(place)


def _show_change(trail: Trail) -> None:
    """What of the SQL is not that of the question before, or not that of the question since it was edited."""
    lines = sql_help.changed_lines(trail.sql_before or "", trail.step.shown.sql or "")
    if trail.sql_before and lines:
        # What a language model changed is looked at before it is believed.
        with st.expander("What changed", expanded=trail.step.shown.engine == "llm", icon=":material/difference:"):
            st.code("\n".join(lines), language="diff", wrap_lines=True)


def help_with(answer: Answer, names: sql_help.Names) -> None:
    """Completion of names in the field of the SQL, and the place of what is wrong with an answer's statement."""
    sql = answer.sql or ""
    wrong = sql_help.place_of_mistake(answer.summary, sql) if answer.status in ("error", "refused") else None
    in_browser.help_with_sql(names, sql, wrong)


def show_error(answer: Answer, place: Place) -> None:
    """What is wrong with a statement; of a column that is not there with buttons for those that it may be."""
    wrong = re.search(r'column "([^"]+)" not found', answer.summary)
    bindings = re.search(r"Candidate bindings: (.*)", answer.summary)
    if not (wrong and bindings):
        st.error(plain(answer.summary), icon=":material/error:")
        return
    names = list(dict.fromkeys(n.rpartition(".")[2] for n in re.findall(r'"([^"]+)"', bindings[1])))[:_MOST_FIXES]
    st.error(plain(f"There is no column {wrong[1]}: was {join(names, word='or')} meant?"), icon=":material/error:")
    with st.container(horizontal=True, gap="small"):
        for name in names:
            label = f"Use {plain(name)} instead of {plain(wrong[1])}"
            st.button(label, key=f"fix_{name}", on_click=_apply_fix, args=(wrong[1], name, place))


def _apply_fix(wrong: str, right: str, place: Place) -> None:
    state = st.session_state
    word = re.escape(wrong)
    state["sql"] = re.sub(rf'"{word}"|(?<!\w){word}(?!\w)', lambda _: sql_help.written(right), state["sql"])
    flow.run_edited(place)


def _format(place: Place) -> None:
    dialect = place.location.dialect if place.location else "duckdb"
    st.session_state["sql"] = format_sql(st.session_state["sql"], dialect)
