"""The page Ask: a question, how it was read, the chart, the SQL to edit, the table."""

import re
from dataclasses import replace

import streamlit as st

from db.settings import db_url
from db.store import StoreError
from mirror import catalog
from mirror.answer import MAX_QUESTION, ask, run_sql
from mirror.chart import fits, redrawn
from mirror.compile_sql import format_sql
from mirror.csv_export import to_csv
from mirror.pages.common import heading, is_phone, plain, sandbox, show_chart, show_status, show_table
from mirror.query_spec import Answer, ChartSpec, ChartType, QuerySpec, Table
from mirror.sandbox import Sandbox
from mirror.wording import counted

_CARDS = (3, 2, 2)  # relative widths
_CHART_TYPES: tuple[ChartType, ...] = ("scatter", "line", "bar", "box", "histogram", "heatmap", "table")


def page() -> None:
    """Draw the page."""
    status = heading("Ask")
    box = sandbox()
    state = st.session_state
    linked = st.query_params.get("q", "")
    if linked and state.get("asked") is None:
        _ask(linked, box)
    answer: Answer | None = state.get("answer")
    if answer is not None:
        # Streamlit forgets what is typed in a widget while another page is shown.
        state.setdefault("question", state["asked"])
        state.setdefault("sql", answer.sql or "")
    _question_form(box)
    show_status(status, box)
    if answer is None:
        _welcome(box)
        return
    _show(answer, box)


# -- asking --------------------------------------------------------------------------------------------------------


def _ask(question: str, box: Sandbox) -> None:
    """Answer a question and put it, its SQL and the link where the widgets find them."""
    answer = ask(question, sandbox=box)
    state = st.session_state
    state.update(asked=question, question=question, answer=answer, original=answer, sql=answer.sql or "")
    state["generation"] = state.get("generation", 0) + 1  # new widgets for the chart of a new answer
    if question.strip():
        st.query_params["q"] = question[:MAX_QUESTION]


def _ask_typed(box: Sandbox) -> None:
    _ask(st.session_state["question"], box)


def _question_form(box: Sandbox) -> None:
    with st.form("question_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(
            "Your question", key="question", placeholder=catalog.examples()[0], label_visibility="collapsed"
        )
        right.form_submit_button("Ask", type="primary", width="stretch", on_click=_ask_typed, args=(box,))
    if st.session_state.get("answer") is not None:
        with st.popover("Example questions", icon=":material/lightbulb:"):
            _question_buttons(catalog.examples(), box, "example")


def _question_buttons(questions: tuple[str, ...], box: Sandbox, key: str) -> None:
    with st.container(horizontal=True, gap="small"):
        for i, question in enumerate(questions):
            st.button(plain(question), key=f"{key}_{i}", on_click=_ask, args=(question, box))


def _welcome(box: Sandbox) -> None:
    """The first visit: three answered questions, so that nobody meets an empty box."""
    questions = catalog.examples()
    for i, (column, question) in enumerate(zip(st.columns(_CARDS), questions, strict=False)):
        answer = _card(question, box)
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{plain(question)}**")
            if answer.status == "answered" and answer.table and answer.chart:
                show_chart(answer.table, answer.chart, key=f"card_{i}")
            st.markdown(plain(answer.summary))
            st.button("Open", key=f"open_{i}", on_click=_ask, args=(question, box))
    st.markdown("More questions to click:")
    _question_buttons(questions[len(_CARDS) :], box, "more")


def _card(question: str, box: Sandbox) -> Answer:
    """An example's answer. Nobody has asked it: no language model is, and it is made once per state of the results."""
    try:
        key = (question, db_url(), box.version())
    except StoreError as error:
        return Answer("error", question, summary=str(error))
    answer = _example_answer(*key, box)
    if answer.status == "error":  # a busy moment, perhaps
        _example_answer.clear(*key)
    return answer


@st.cache_data(max_entries=20, show_spinner=False)
def _example_answer(question: str, url: str, version: str, _box: Sandbox) -> Answer:
    return ask(question, sandbox=_box, use_model=False)


# -- the answer ----------------------------------------------------------------------------------------------------


def _show(answer: Answer, box: Sandbox) -> None:
    if answer.note:
        st.warning(plain(answer.note), icon=":material/info:")
    if answer.sql is None:
        _not_answered(answer, box)
        _sent(answer)
        return
    edited = answer.engine == "sql" and st.session_state["original"].sql != answer.sql
    mark = " · **edited**" if edited else ""
    st.markdown(f"Read as: {plain(answer.read_as)}{mark}")
    if answer.status == "answered" and answer.summary:
        st.markdown(plain(answer.summary))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if answer.status == "answered" and answer.table and answer.chart:
            chart = _chart_options(answer.table, answer.chart, answer.spec)
            show_chart(answer.table, chart, key="chart")
        else:
            st.error(plain(answer.summary), icon=":material/error:")
            _likely_fix(answer, box)
    with right, st.expander("SQL (edit me)", expanded=not is_phone(), icon=":material/code:"):
        _sql_editor(answer, box, edited)
    if answer.table:
        _table(answer.table)
    _sent(answer)


def _sent(answer: Answer) -> None:
    if answer.sent:
        with st.expander("What the language model was sent", icon=":material/outbox:"):
            st.code(answer.sent, language=None, wrap_lines=True)


def _not_answered(answer: Answer, box: Sandbox) -> None:
    icon = {"ambiguous": ":material/help:", "error": ":material/error:"}.get(answer.status, ":material/block:")
    (st.error if answer.status == "error" else st.info)(plain(answer.summary), icon=icon)
    if answer.suggestions:
        st.markdown("Which one?" if answer.status == "ambiguous" else "These can be asked:")
        _question_buttons(answer.suggestions, box, "suggestion")


def _chart_options(table: Table, chart: ChartSpec, spec: QuerySpec | None) -> ChartSpec:
    """The chart as chosen, with what the person changed."""
    generation = st.session_state.get("generation", 0)
    with st.popover("Chart options", icon=":material/tune:"):
        columns = [None, *table.columns]

        def pick(label: str, value: str | None) -> str | None:
            at = columns.index(value) if value in columns else 0
            return st.selectbox(
                label, columns, index=at, key=f"{label}_{generation}", format_func=lambda c: c or "none"
            )

        types = list(dict.fromkeys([chart.type, *_CHART_TYPES]))
        changed = replace(
            chart,
            type=st.selectbox("type", types, key=f"type_{generation}"),
            x=pick("x", chart.x),
            y=pick("y", chart.y),
            color=pick("colour", chart.color),
            facet=pick("panels", chart.facet),
            log_x=st.checkbox("log x", chart.log_x, key=f"log_x_{generation}"),
            log_y=st.checkbox("log y", chart.log_y, key=f"log_y_{generation}"),
        )
    if changed == chart:
        return chart
    if why := fits(changed, table):
        st.warning(plain(why))
        return chart
    return redrawn(changed, table, spec)


# -- the SQL -------------------------------------------------------------------------------------------------------


def _run_edited(box: Sandbox) -> None:
    state = st.session_state
    original: Answer = state["original"]
    if original.sql == state["sql"]:
        state["answer"] = original
    else:
        answer = run_sql(state["sql"], box, question=original.question)
        state["answer"] = replace(answer, sql=state["sql"])
    state["generation"] += 1


def _restore() -> None:
    state = st.session_state
    state.update(answer=state["original"], sql=state["original"].sql or "")
    state["generation"] += 1


def _format() -> None:
    st.session_state["sql"] = format_sql(st.session_state["sql"])


def _sql_editor(answer: Answer, box: Sandbox, edited: bool) -> None:
    with st.form("sql_form", border=False):
        # The key outlives the text of a failed statement: nothing typed is lost.
        st.text_area("SQL", key="sql", height=260, label_visibility="collapsed")
        run, tidy = st.columns(2)
        run.form_submit_button(
            "Run", type="primary", width="stretch", on_click=_run_edited, args=(box,), help="Ctrl+Enter"
        )
        tidy.form_submit_button("Format", width="stretch", on_click=_format)
    if edited:
        st.button("Back to the original", on_click=_restore, icon=":material/undo:")
    if answer.table:
        st.caption(f"{_rows(answer.table)} · {answer.table.milliseconds:.0f} ms · locked read-only copy")


def _rows(table: Table) -> str:
    rows = counted(len(table.rows), "row")
    return f"first {rows} of more" if table.truncated else rows


def _apply_fix(wrong: str, right: str, box: Sandbox) -> None:
    state = st.session_state
    state["sql"] = re.sub(rf"\b{re.escape(wrong)}\b", right, state["sql"])
    _run_edited(box)


def _likely_fix(answer: Answer, box: Sandbox) -> None:
    """A button for a misspelt column, where DuckDB names candidates."""
    wrong = re.search(r'column "([^"]+)" not found', answer.summary)
    right = re.search(r'Candidate bindings: "([^"]+)"', answer.summary)
    if wrong and right:
        name = right[1].rpartition(".")[2]
        st.button(f"Use {plain(name)} instead of {plain(wrong[1])}", on_click=_apply_fix, args=(wrong[1], name, box))


def _table(table: Table) -> None:
    with st.expander(f"Table ({_rows(table)})", expanded=True, icon=":material/table:"):
        show_table(table, key="table")
        st.download_button("CSV", to_csv(table), file_name="mirror.csv", mime="text/csv", icon=":material/download:")
