"""A result on a page: its headline and facts, its chart with options to change it, its table with a download."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from db.settings import SettingsError
from mirror.answer.answer import Answer
from mirror.answer.subject import Subject
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import redrawn
from mirror.chart.drawable import fits
from mirror.data.sources.location import SourceError
from mirror.faces import exports
from mirror.faces.kept_answers import item_of, open_boards
from mirror.faces.pages import points_view
from mirror.faces.pages.common import BOARDS_PATH, file_name, page_at, plain, show_chart, show_table
from mirror.faces.pages.entrance import entry
from mirror.query.kept.board_file import BoardError
from mirror.query.spec import ChartType, Question
from mirror.runs.listing import filled
from mirror.runs.person import ONLY_ASKS
from mirror.table.csv_export import to_csv
from mirror.table.table import Table
from mirror.table.wording import counted, join

_CHART_TYPES: tuple[ChartType, ...] = ("scatter", "line", "bar", "box", "histogram", "heatmap", "table")


def show_headline(answer: Answer) -> None:
    """The line that answers."""
    if answer.status == "answered" and answer.summary:
        with st.container(key="headline"):
            st.markdown(plain(answer.headline().text))


def show_facts(answer: Answer) -> None:
    """The facts under the headline as a small table, what they rest on, and all of it in sentences to open."""
    with st.container(
        key="facts"
    ):  # its place is there without facts too: what follows would be drawn twice for a while
        if answer.status != "answered" or not answer.summary:
            return
        told = answer.headline()
        if told.facts:
            rows = [told.columns, ("---",) * len(told.columns), *told.facts]
            lines = [row if i == 1 else [plain(cell) for cell in row] for i, row in enumerate(rows)]
            st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
        more = f"{told.left:,} more in the sentences and the table. " if told.left else ""
        if more or told.limits:
            st.caption(plain(f"{more}{told.limits}"))
        if len(answer.summary) > len(told.text) + len(told.limits) + 1:
            with st.expander("In sentences", icon=":material/notes:"):
                st.markdown(plain(answer.summary))


@dataclass(frozen=True)
class Origin:
    """Where an answer is from.

    Attributes:
        text: in words.
        db: what `ask` takes as `db`, without a password; None for the configured results.
        address: the parameters of the address that leads to it; None where it has none, as files that were uploaded.
        questions: those that were asked in a row to come to it, where it is a follow-up's.
    """

    text: str
    db: str | None = None
    address: points_view.Parameters | None = None
    questions: tuple[str, ...] = ()


@st.fragment  # what is selected or changed here draws nothing else anew
def show_answer_chart(
    answer: Answer,
    spec: Question | None,
    generation: object,
    key: str,
    origin: Origin,
    subject: Subject,
) -> None:
    """The chart of an answer, titled with its question; below it what is behind the points that are selected, what can
    be changed of it, files of it all, and boards to keep it on. `subject` is what the answer is about."""
    assert answer.table
    assert answer.chart
    place, behind = st.container(), st.container()
    asked = ", ".join(origin.questions) or answer.question  # a follow-up alone says too little in a file
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        chart = chart_options(answer.table, answer.chart, spec, generation)
        picture = _exports(replace(answer, chart=chart, question=asked), origin, key)
        _boards(answer, chart, origin, key)
        if chart.type not in ("tiles", "table"):
            st.caption("Select points of the chart to see what is behind them.", width="content")
    with place:
        show_chart(
            answer.table, chart, key=points_view.chart_key(key), title=asked, note=origin.text,
            picture=picture, select=partial(points_view.select, key, answer.table),
        )  # fmt: skip
    with behind:
        points_view.show(answer, key, subject, origin.address if origin.db is None else None)


def _exports(answer: Answer, origin: Origin, key: str) -> str:
    """Buttons that save the answer as a file of each kind; the kind of picture that the camera on the chart saves."""
    assert answer.table
    name = file_name(answer.question)
    notebook = partial(exports.to_notebook, answer, origin.db, origin.text, follows=len(origin.questions) > 1)
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("CSV", "csv", "text/csv", partial(to_csv, answer.table)),
        ("Parquet", "parquet", "application/vnd.apache.parquet", partial(exports.to_parquet, answer.table)),
        ("HTML page", "html", "text/html", partial(exports.to_html, answer, origin.text)),
        ("Notebook", "ipynb", "application/x-ipynb+json", notebook),
        ("Markdown", "md", "text/markdown", partial(exports.to_markdown, answer, origin.text)),
    )
    with st.popover("Export", icon=":material/download:"):
        with st.container(horizontal=True, gap="small"):
            for label, ending, mime, make in files:
                st.download_button(
                    label, make, file_name=f"{name}.{ending}", mime=mime, key=f"{key}_{ending}", on_click="ignore"
                )
        kind = st.radio(
            "Picture", ("PNG", "SVG"), horizontal=True, key=f"{key}_picture",
            help="The camera on the chart saves it, with its title, units, machine and date.",
        )  # fmt: skip
    return str(kind).lower()


def _boards(answer: Answer, chart: ChartSpec, origin: Origin, key: str) -> None:
    """A button that keeps the answer on a board, to be asked anew there."""
    with st.popover("Add to board", icon=":material/dashboard_customize:"):
        if origin.address is None:
            st.caption("A board asks anew, and uploaded files have no address: open them by their path.")
            return
        if kept := st.session_state.pop(f"{key}_kept", ""):
            st.toast(plain(f"It is on the board {kept}."), icon=":material/dashboard:")
        try:
            names = [board.name for board in open_boards().all()]
        except (BoardError, SettingsError, SourceError) as error:
            st.error(plain(str(error)))
            return
        st.selectbox(
            "Board", names, index=0 if names else None, key=f"{key}_board", accept_new_options=True,
            placeholder="type a name", help="One that is there, or the name of a new one.",
        )  # fmt: skip
        st.button("Add", key=f"{key}_add", type="primary", on_click=_keep, args=(answer, chart, origin, key))
        if failed := st.session_state.pop(f"{key}_not_kept", ""):
            st.error(plain(failed))
        st.page_link(page_at(BOARDS_PATH), label="All boards", icon=":material/dashboard:")


def _keep(answer: Answer, chart: ChartSpec, origin: Origin, key: str) -> None:
    state = st.session_state
    try:
        if not entry.person().may_run:
            raise BoardError(ONLY_ASKS)
        item = item_of(answer, chart, origin.db or "", origin.address or {})
        state[f"{key}_kept"] = open_boards().add(state[f"{key}_board"] or "", item).name
    except (BoardError, SettingsError, SourceError) as error:
        state[f"{key}_not_kept"] = str(error)


def chart_options(table: Table, chart: ChartSpec, spec: Question | None, key: object) -> ChartSpec:
    """The chart as chosen, with what the person changed. A new `key` forgets the changes."""
    with st.popover("Chart options", icon=":material/tune:"):
        columns = [None, *table.names]

        def pick(label: str, value: str | None) -> str | None:
            at = columns.index(value) if value in columns else 0
            return st.selectbox(
                label, columns, index=at, key=f"{label}_{key}", format_func=lambda c: c or "none",
                persist_state="session",
            )  # fmt: skip

        types = list(dict.fromkeys([chart.type, *_CHART_TYPES]))
        changed = replace(
            chart,
            type=st.selectbox("type", types, key=f"type_{key}", persist_state="session"),
            x=pick("x", chart.x),
            y=pick("y", chart.y),
            color=pick("colour", chart.color),
            facet=pick("panels", chart.facet),
            log_x=st.checkbox("log x", chart.log_x, key=f"log_x_{key}", persist_state="session"),
            log_y=st.checkbox("log y", chart.log_y, key=f"log_y_{key}", persist_state="session"),
        )
    if changed == chart:
        return chart
    if why := fits(changed, table):
        st.warning(plain(why))
        return chart
    return redrawn(changed, table, spec)


def rows_in_words(table: Table) -> str:
    """`36 rows`, `first 1,000 rows of more`, `sample of 1,000 rows, evenly over method`."""
    rows = counted(len(table.rows), "row")
    if table.evenly:
        return f"sample of {rows}, evenly over {join(map(table.label, table.evenly))}"
    return f"first {rows} of more" if table.truncated else rows


def show_rows(table: Table, key: str, file_name: str) -> None:
    """The table, and a button that downloads it."""
    with st.expander(f"Table ({rows_in_words(table)})", expanded=True, icon=":material/table:"):
        shown = filled(table) if table.rows else table
        show_table(shown, key=key)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.download_button("CSV", to_csv(table), file_name=file_name, mime="text/csv", icon=":material/download:")
            if empty := len(table.columns) - len(shown.columns):
                st.caption(f"{counted(empty, 'column')} without a value not shown; the CSV has all.")
