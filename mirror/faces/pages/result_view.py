"""A result on a page: its headline and facts, its chart with options to change it, its table with a download."""

from dataclasses import replace

import streamlit as st

from mirror.answer.answer import Answer
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import redrawn
from mirror.chart.drawable import fits
from mirror.faces.pages.common import plain, show_chart, show_table
from mirror.query.spec import ChartType, Question
from mirror.runs.listing import filled
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
    if answer.status != "answered" or not answer.summary:
        return
    told = answer.headline()
    with st.container(key="facts"):
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


def show_answer_chart(answer: Answer, spec: Question | None, generation: object, key: str) -> None:
    """The chart of an answer, titled with its question, and below it what can be changed of it."""
    assert answer.table
    assert answer.chart
    place = st.container()
    chart = chart_options(answer.table, answer.chart, spec, generation)
    with place:
        show_chart(answer.table, chart, key=key, title=answer.question, name=answer.question)


def chart_options(table: Table, chart: ChartSpec, spec: Question | None, key: object) -> ChartSpec:
    """The chart as chosen, with what the person changed. A new `key` forgets the changes."""
    with st.popover("Chart options", icon=":material/tune:"):
        columns = [None, *table.names]

        def pick(label: str, value: str | None) -> str | None:
            at = columns.index(value) if value in columns else 0
            return st.selectbox(label, columns, index=at, key=f"{label}_{key}", format_func=lambda c: c or "none")

        types = list(dict.fromkeys([chart.type, *_CHART_TYPES]))
        changed = replace(
            chart,
            type=st.selectbox("type", types, key=f"type_{key}"),
            x=pick("x", chart.x),
            y=pick("y", chart.y),
            color=pick("colour", chart.color),
            facet=pick("panels", chart.facet),
            log_x=st.checkbox("log x", chart.log_x, key=f"log_x_{key}"),
            log_y=st.checkbox("log y", chart.log_y, key=f"log_y_{key}"),
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
