"""The page Data: other data, what was found in them, and answers to questions about them."""

import tempfile
from pathlib import Path

import pandas as pd
import streamlit as st

from mirror.answer.answer import Answer
from mirror.answer.answering import MAX_QUESTION, ask, run_sql, subject_of
from mirror.answer.subject import FAILURES, Subject
from mirror.data.process.other_data_process import shared
from mirror.data.process.turns import asked_by
from mirror.data.sources.location import READABLE, SourceError, find
from mirror.faces import sql_help
from mirror.faces.pages import learnt_view
from mirror.faces.pages.answer_view import badges, no_rows, question_buttons, show_agreement, show_sent
from mirror.faces.pages.common import heading, is_phone, plain
from mirror.faces.pages.entrance import entry
from mirror.faces.pages.result_view import (
    Origin,
    rows_in_words,
    show_answer_chart,
    show_facts,
    show_headline,
    show_rows,
)
from mirror.faces.pages.sql_editor import help_with
from mirror.faces.pages.trails.asking import taken_from
from mirror.schema.database import Column, Database, Relation, shown
from mirror.table.wording import counted

_SUFFIXES = (
    "csv", "tsv", "gz", "jsonl", "ndjson", "xlsx", "xlsm", "parquet", "pq", "sqlite", "sqlite3", "db", "duckdb",
)  # fmt: skip
_MOST_VALUES = 6
_MOST_UPLOADED_MB = 200
_ONLY_UPLOADS = (
    "You may ask about files that you upload. Files of this machine, and databases that it reaches, are opened by "
    "those who may start runs here."
)


def page() -> None:
    """Draw the page."""
    heading("Data")
    state = st.session_state
    _open_linked()
    _source_form()
    _show_link()
    if error := state.get("data_error"):
        st.error(plain(error), icon=":material/database_off:")
    if "data_url" not in state:
        st.info(plain(f"{READABLE} can be read; nothing is ever written to them."), icon=":material/lock:")
        return
    try:
        database = shared(find(state["data_url"])).schema()
        subject = subject_of(db=state["data_url"])  # of results, perhaps
        examples, learnt = subject.examples(), subject.habits.file
    except FAILURES as problem:
        st.error(plain(str(problem)), icon=":material/database_off:")
        return
    _found(database)
    learnt_view.show_list(learnt, "data_forget")
    if linked := str(st.query_params.pop("q", "")).strip():  # of a board; a server waits for its click first
        _ask_anew(linked, use_model=False)  # nobody has asked: a link starts no language model
    answer: Answer | None = state.get("data_answer")
    if answer is not None:
        # Streamlit forgets what is typed in a widget while another page is shown.
        state.setdefault("data_question", state["data_asked"])
        state.setdefault("data_sql", answer.sql or "")
    _question_form(next(iter(examples), ""))
    if answer is None:
        question_buttons(examples, _ask, "data_example")
        return
    _show(answer, subject)


# -- where the data are ------------------------------------------------------------------------------------------------


def _source_form() -> None:
    state = st.session_state
    if "data_name" in state:
        state.setdefault("data_source", state["data_name"])
    with st.form("data_source_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(
            "Database or file",
            key="data_source",
            placeholder="sales.csv, a folder of such files, shop.sqlite or postgresql://user@host/database",
            help="A URL, a path, a folder, or paths with commas between them.",
        )
        right.form_submit_button("Open", type="primary", width="stretch", on_click=_open_typed)
    with st.expander("Upload files", icon=":material/upload:", expanded=False):
        st.file_uploader(
            "CSV, JSON lines, Excel and Parquet files, each a table; or one SQLite or DuckDB file. Of a larger file "
            "name the path above.",
            type=list(_SUFFIXES),
            max_upload_size=_MOST_UPLOADED_MB,
            accept_multiple_files=True,
            key="data_upload",
            on_change=_open_uploaded,
        )


def _open_linked() -> None:
    """Open what the address names. A server waits for a person's click, since a link may come from anybody."""
    state, linked = st.session_state, str(st.query_params.get("source", "")).strip()
    if not linked or linked == state.get("data_link"):
        return
    if "://" in linked:
        state.update(data_link=linked, data_source=linked)
        state["data_error"] = f"The link names {linked}: press Open to connect to it."
    else:
        _open(linked)
        state["data_link"] = linked


def _show_link() -> None:
    """Put the source into the address, without a password; uploaded files have no address."""
    link = st.session_state.get("data_link")
    if link and st.query_params.get("source") != link:
        st.query_params["source"] = link
    elif not link:
        st.query_params.pop("source", None)


def _open_typed() -> None:
    state = st.session_state
    typed = state["data_source"].strip()
    if "data_name" in state and typed == state["data_name"]:
        _forget_answer()  # the name as it was shown, without its password: the same again
        return
    _open(typed)


def _open(url: str, uploaded: bool = False) -> None:
    """Take a source, and show its name in place of what was typed: a password is never shown back."""
    state = st.session_state
    _forget_answer()
    for key in ("data_url", "data_name", "data_link", "data_error"):
        state.pop(key, None)
    if not (uploaded or entry.person().may_run):
        state["data_error"] = _ONLY_UPLOADS
        return
    try:
        source = find(url)
    except SourceError as error:
        state["data_error"] = str(error)
        if "://" in url:
            state["data_source"] = ""
        return
    name = source.name if source.url else url
    state.update(data_url=url, data_name=name, data_link=name, data_source=name)


def _open_uploaded() -> None:
    """Files of the browser, in a folder that goes with the session."""
    state = st.session_state
    files = state["data_upload"]
    if not files:
        return
    folder = tempfile.TemporaryDirectory(prefix="mirror-data-")
    for file in files:
        (Path(folder.name) / Path(file.name).name).write_bytes(file.getbuffer())
    only = Path(folder.name) / Path(files[0].name).name
    _open(str(only) if len(files) == 1 else folder.name, uploaded=True)
    if "data_url" in state:
        state["data_folder"], state["data_link"] = folder, None
        state["data_name"] = state["data_source"] = shown(Path(f.name).name for f in files)


def _forget_answer() -> None:
    for key in ("data_answer", "data_original", "data_asked", "data_question", "data_sql"):
        st.session_state.pop(key, None)


# -- what was found ----------------------------------------------------------------------------------------------------


def _found(database: Database) -> None:
    tables = [r for r in database.relations if not r.view]
    views = len(database.relations) - len(tables)
    others = ((views, "view"), (len(database.foreign_keys), "foreign key"))
    parts = [counted(len(tables), "table"), *(counted(n, noun) for n, noun in others if n)]
    with st.expander(f"Found: {' · '.join(parts)}", icon=":material/database:"):
        for note in database.notes:
            st.caption(plain(note))
        for link in database.foreign_keys:
            said = f"{link.table}.{', '.join(link.columns)} → {link.to}.{', '.join(link.to_columns)}"
            st.markdown(plain(said if link.declared else f"{said} (inferred)"))
        for relation in database.relations:
            st.markdown(f"**{plain(relation.name)}** {plain(_about(relation))}")
            frame = pd.DataFrame(
                [
                    (c.name, c.type, "yes" if c.name in relation.key else "", _holds(c), c.comment)
                    for c in relation.columns
                ],
                columns=["column", "type", "key", "holds", "comment"],
            )
            st.dataframe(frame, hide_index=True, key=f"data_columns_{relation.name}")


def _about(relation: Relation) -> str:
    """`80 rows`, `about 1,000,000 rows`, and what the database says of the table."""
    rows = "" if relation.rows is None else counted(relation.rows, "row")
    about = f"about {rows}" if rows and not relation.exact else rows
    return " · ".join(filter(None, ("view" if relation.view else "", about, relation.comment)))


def _holds(column: Column) -> str:
    if column.values:
        return shown(column.values, _MOST_VALUES)
    return f"{column.low} to {column.high}" if column.low is not None else ""


# -- asking --------------------------------------------------------------------------------------------------------


def _ask(question: str, use_model: bool = True) -> None:
    """Answer a question and put it and its SQL where the widgets find them."""
    state = st.session_state
    with asked_by(entry.whose()):
        before = taken_from(state.get("data_original"))
        answer = ask(question, db=state["data_url"], use_model=use_model, after=before)
    state.update(data_asked=question, data_question=question, data_answer=answer, data_original=answer)
    state["data_sql"] = answer.sql or ""
    state["data_generation"] = state.get("data_generation", 0) + 1  # new widgets for the chart of a new answer


def _ask_anew(question: str, use_model: bool = True) -> None:
    """Answer a question by itself."""
    st.session_state.pop("data_original", None)
    _ask(question, use_model)


def _ask_typed() -> None:
    _ask(st.session_state["data_question"])


def _question_form(example: str) -> None:
    with st.form("data_question_form", border=False):
        left, right = st.columns([8, 1], vertical_alignment="bottom")
        left.text_input(
            "Your question",
            key="data_question",
            placeholder=example,
            label_visibility="collapsed",
            max_chars=10 * MAX_QUESTION,
        )
        right.form_submit_button("Ask", type="primary", width="stretch", on_click=_ask_typed)


# -- the answer ----------------------------------------------------------------------------------------------------


def _show(answer: Answer, subject: Subject) -> None:
    if answer.note:
        st.warning(plain(answer.note), icon=":material/info:")
    if answer.sql is None:
        no_rows(answer, _ask, "data_suggestion")
        learnt_view.show(answer, _ask_anew, "data_learnt")
        show_sent(answer)
        return
    show_headline(answer)
    edited = answer.engine == "sql" and st.session_state["data_original"].sql != answer.sql
    by = f" {badges(answer)}" if answer.engine == "llm" else ""
    st.markdown(f"Read as: {plain(answer.read_as)}{' · **edited**' if edited else ''}{by}")
    show_agreement(answer)
    learnt_view.show(answer, _ask_anew, "data_learnt")
    if answer.engine == "llm" and answer.suggestions:
        st.markdown("Or was one of these meant?")
        question_buttons(answer.suggestions, _ask, "data_other")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if answer.status == "answered" and answer.table and answer.chart:
            generation = st.session_state.get("data_generation", 0)
            name = st.session_state["data_name"]
            link = st.session_state.get("data_link")
            origin = Origin(f"Mirror · {name}", name, {"source": [link], "q": [answer.question]} if link else None)
            spec = answer.wanted or answer.spec
            show_answer_chart(answer, spec, f"data_{generation}", "data_chart", origin, subject)
        else:
            st.error(plain(answer.summary), icon=":material/error:")
    with right:
        show_facts(answer)
        with st.expander("SQL (edit me)", expanded=not is_phone(), icon=":material/code:"):
            _sql_editor(answer, edited)
            help_with(answer, sql_help.names_of_database(shared(find(st.session_state["data_url"])).schema()))
    if answer.table:
        show_rows(answer.table, key="data_table", file_name="data.csv")
    show_sent(st.session_state["data_original"])


# -- the SQL -------------------------------------------------------------------------------------------------------


def _run_edited() -> None:
    state = st.session_state
    original: Answer = state["data_original"]
    if original.sql == state["data_sql"]:
        state["data_answer"] = original
    else:
        with asked_by(entry.whose()):
            state["data_answer"] = run_sql(state["data_sql"], db=state["data_url"], question=original.question)
    state["data_generation"] += 1


def _restore() -> None:
    state = st.session_state
    state.update(data_answer=state["data_original"], data_sql=state["data_original"].sql or "")
    state["data_generation"] += 1


def _sql_editor(answer: Answer, edited: bool) -> None:
    with st.form("data_sql_form", border=False):
        # The key outlives the text of a failed statement: nothing typed is lost.
        st.text_area("SQL", key="data_sql", height=260, label_visibility="collapsed")
        st.form_submit_button("Run", type="primary", width="stretch", on_click=_run_edited, help="Ctrl+Enter")
    if edited:
        st.button("Back to the original", on_click=_restore, icon=":material/undo:", key="data_restore")
    if answer.table:
        st.caption(f"{rows_in_words(answer.table)} · {answer.table.milliseconds:.0f} ms · read only")
