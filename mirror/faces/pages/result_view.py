"""A result on a page: its chart with options to change it, and its table with a download."""

from dataclasses import replace

import streamlit as st

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import redrawn
from mirror.chart.drawable import fits
from mirror.faces.pages.common import plain, show_table
from mirror.query.spec import ChartType, Question
from mirror.runs.listing import filled
from mirror.table.csv_export import to_csv
from mirror.table.table import Table
from mirror.table.wording import counted

_CHART_TYPES: tuple[ChartType, ...] = ("scatter", "line", "bar", "box", "histogram", "heatmap", "table")


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
    """`36 rows`, `first 1,000 rows of more`."""
    rows = counted(len(table.rows), "row")
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
