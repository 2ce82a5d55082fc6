"""The page Runs: every trial, one line each; a failure's reason in its line."""

import hashlib
from dataclasses import replace

import streamlit as st

from db.plain_text import plain_text
from db.store import StoreError
from mirror.chart.chart_spec import ChartSpec
from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.common import heading, local_time, plain, sandbox, show_chart, show_status, show_table
from mirror.runs.listing import FILTERS, choices, details, trials
from mirror.schema import catalog
from mirror.table.csv_export import to_csv
from mirror.table.numbers import format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import counted

_LONGEST_VALUE = 120


def page() -> None:
    """Draw the page."""
    status = heading("Runs")
    box = sandbox()
    show_status(status, box)
    try:
        _list(box)
    except (QueryError, QueryStopped, GuardError, StoreError) as error:
        st.error(plain(str(error)), icon=":material/error:")


def _list(box: Sandbox) -> None:
    known = choices(box)
    chosen = {}
    with st.container(horizontal=True):
        for name in FILTERS:
            label = catalog.entry(name).label
            chosen[name] = st.multiselect(label, known[name], placeholder="all", key=f"only_{name}", width=165)
    version = box.version()
    table = trials(box, chosen)
    if not table.rows:
        st.info("No trial passes these filters: take one away." if any(chosen.values()) else "There are no trials yet.")
        return
    st.caption(f"{_in_words(table)} · columns that are alike in all are left out · select a line to open its trial")
    # A selection is a row number: with other filters or new results the table is another one, without a selection.
    shown = hashlib.sha256(repr((chosen, version)).encode()).hexdigest()[:12]
    selected = show_table(table, key=f"trials_{shown}", selectable=True)
    st.download_button("CSV", to_csv(table), file_name="trials.csv", mime="text/csv", icon=":material/download:")
    if selected is not None and selected < len(table.rows):
        show_trial(box, str(table.rows[selected][-1]))


def _in_words(table: Table) -> str:
    """`first 1,000 trials, 12 of them without a result`."""
    count = counted(len(table.rows), "trial")
    without = sum(status != "ok" for status in table.values("status"))
    return (
        ("first " if table.truncated else "") + count + (f", {without:,} of them without a result" if without else "")
    )


def show_trial(box: Sandbox, trial_id: str) -> None:
    """The story of one trial: its values, every timed sample, its curves."""
    story = details(box, trial_id)
    values = {c.name: v for c, v in story.values}
    with st.container(border=True, key="trial"):
        st.markdown(f"**{plain(str(values.get('method', '')))}** :small[{plain(trial_id)}]")
        if error := values.get("error"):
            st.error(plain(str(error)), icon=":material/error:")
        left, right = st.columns([2, 3])
        lines = [f"| {plain(c.label)} | {plain(_in_table(c, v))} |" for c, v in story.values if c.name != "error"]
        left.markdown("\n".join(["| | |", "|---|---|", *lines]))
        with right:
            if story.samples.rows:
                st.caption("Every timed sample, in the order taken")
                show_chart(story.samples, ChartSpec("scatter", x="sample", y="latency_us"), key="samples")
            for metric in dict.fromkeys(story.curves.values("metric")):
                rows = tuple(r for r in story.curves.rows if r[0] == metric)
                st.caption(f"{plain(str(metric))} over training steps")
                curve = replace(story.curves, rows=rows)
                show_chart(curve, ChartSpec("line", x="step", y="value"), key=f"curve_{metric}")


def _in_table(column: Column, value: Value) -> str:
    """A value on one line, times in the reader's zone."""
    text = local_time(str(value)) if column.type == "timestamp" else format_value(column, value)
    return plain_text(text, _LONGEST_VALUE)
