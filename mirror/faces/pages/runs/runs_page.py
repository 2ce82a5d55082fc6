"""The page Runs: every trial, one line each; a failure's reason in its line."""

import hashlib
from dataclasses import replace
from functools import partial

import streamlit as st

from db.plain_text import plain_text
from db.store import StoreError
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import MOST_METRICS, spans
from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.common import (
    ASK_PATH,
    RUNS_PATH,
    heading,
    page_at,
    plain,
    sandbox,
    show_chart,
    show_status,
    show_table,
    utc_time,
)
from mirror.faces.pages.runs import commits_view
from mirror.faces.pages.trails.address import Address
from mirror.runs.comparing import MOST_COMPARED, Comparison, compared, reasons, side_by_side
from mirror.runs.listing import (
    FILTERS,
    PAGE,
    Listing,
    choices,
    details,
    filled,
    listed,
    trials,
)
from mirror.schema import catalog
from mirror.table.csv_export import to_csv
from mirror.table.numbers import format_value
from mirror.table.table import Column
from mirror.table.values import Value
from mirror.table.wording import counted, join

_LONGEST_VALUE = 120
_LINKED = "trial"  # of an address, once for each
_FAR = 20  # times the smallest sample: boxes then have a logarithmic axis
_FEW_COLUMNS = 3  # columns, the method among them: fewer are read in a table


def page() -> None:
    """Draw the page."""
    status = heading("Runs")
    box = sandbox()
    show_status(status, box)
    linked = list(dict.fromkeys(t for t in st.query_params.get_all(_LINKED) if t))[:MOST_COMPARED]
    try:
        if linked:
            _linked(box, linked)
        elif _view() == commits_view.OVER_COMMITS:
            commits_view.show(box)
        else:
            _list(box)
    except (QueryError, QueryStopped, GuardError, StoreError) as error:
        st.error(plain(str(error)), icon=":material/error:")


def _view() -> str | None:
    views = [commits_view.TRIALS, commits_view.OVER_COMMITS]
    return st.segmented_control(
        "Show", views, default=views[0], key=commits_view.VIEW, required=True, label_visibility="collapsed",
        bind="query-params",
    )  # fmt: skip


def _linked(box: Sandbox, ids: list[str]) -> None:
    """The trials that the address names, and the way back to the answer that led to them."""
    with st.container(horizontal=True, gap="small", key="links-trial"):
        if answer := Address.now().said:
            st.page_link(
                page_at(ASK_PATH), label="Back to the answer", icon=":material/arrow_back:", query_params=answer
            )
        commits_view.link_back()
        st.page_link(page_at(RUNS_PATH), label="All trials", icon=":material/list:")
    known = listed(box, {"trial_id": ids}).table
    there = [i for i in ids if i in (known.values("trial_id") if known.rows else ())]
    if gone := [i for i in ids if i not in there]:
        named = join(f"“{i}”" for i in gone)
        st.info(plain(f"These results have no trial {named}: they may be in another database."))
    if len(there) == 1:
        show_trial(box, there[0])
    elif there:
        _compare(box, there)


def _list(box: Sandbox) -> None:
    known = choices(box)
    chosen = {}
    with st.container(horizontal=True):
        for name in FILTERS:
            label = catalog.entry(name).label
            chosen[name] = st.multiselect(
                label, known[name], placeholder="all", key=f"only_{name}", width=165, bind="query-params",
                persist_state="session",
            )  # fmt: skip
    version = box.version()
    # A selection is a row number: with other filters or new results the table is another one, without a selection.
    shown = hashlib.sha256(repr((chosen, version)).encode()).hexdigest()[:12]
    page = int(st.session_state.get(f"page_{shown}", 1))
    found = listed(box, chosen, page)
    if not found.total:
        st.info("No trial passes these filters: take one away." if any(chosen.values()) else "There are no trials yet.")
        return
    st.caption(
        f"{_in_words(found, page)} · columns that are alike in all, or empty here, are left out · select a line to "
        f"open its trial, two to {MOST_COMPARED} to compare them"
    )
    selected = show_table(filled(found.table), key=f"trials_{shown}_{page}", selectable=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        file = partial(_csv, box, chosen)
        st.download_button("CSV", file, file_name="trials.csv", mime="text/csv", icon=":material/download:")
        if found.total > PAGE:
            st.pagination(-(-found.total // PAGE), key=f"page_{shown}", persist_state="session")
    ids = [str(found.table.rows[i][-1]) for i in selected if i < len(found.table.rows)]
    if len(ids) == 1:
        show_trial(box, ids[0])
    elif ids:
        _compare(box, ids)
    elif found.without:
        _reasons(box, chosen, shown)


def _csv(box: Sandbox, chosen: dict[str, list[str]]) -> str:
    return to_csv(trials(box, chosen))


def _in_words(found: Listing, page: int) -> str:
    """`trials 101 to 200 of 1,000, 12 of all without a result`."""
    count = counted(found.total, "trial")
    if found.total > PAGE:
        first = PAGE * (page - 1) + 1
        count = f"trials {first:,} to {first + len(found.table.rows) - 1:,} of {found.total:,}"
    return count + (f", {found.without:,} of them without a result" if found.without else "")


def _reasons(box: Sandbox, chosen: dict[str, list[str]], shown: str) -> None:
    """Why trials have no result: each reason once."""
    found = reasons(box, chosen)
    trials_without = sum(int(n or 0) for n in found.values("trials"))
    label = f"Without a result: {counted(trials_without, 'trial')}, {counted(len(found.rows), 'reason')}"
    with st.expander(label, icon=":material/error_outline:"):
        st.caption("Reasons that differ in numbers alone are one. Select a line to open its newest trial.")
        known = found.picked([n for n in found.names if n != "trial_id"])
        selected = show_table(known, key=f"reasons_{shown}", selectable=True)
    if selected and selected[0] < len(found.rows):
        show_trial(box, str(found.rows[selected[0]][-1]))


def _compare(box: Sandbox, ids: list[str]) -> None:
    """Some trials side by side: what differs, what the timings say, their samples and curves; of many the metrics."""
    with st.container(border=True, key="compared"):
        st.markdown(f"**{len(ids)} trials side by side**")
        if len(ids) > MOST_COMPARED:
            st.caption(f"Up to {MOST_COMPARED} are compared in all that differs; of more only the metrics are drawn.")
        else:
            _side_by_side(compared(box, ids))
        metrics = side_by_side(box, ids)
        if len(metrics.columns) > _FEW_COLUMNS:
            st.caption("Their metrics, the better end up; a line for each trial")
            axes = tuple(n for n in metrics.names if n != "method")[:MOST_METRICS]
            show_chart(metrics, ChartSpec("parallel", color="method", metrics=axes), key="compared_metrics")


def _side_by_side(found: Comparison) -> None:
    table = found.differing
    if found.told:
        st.markdown("  \n".join(map(plain, found.told)))
    left, right = st.columns([2, 3])
    heads = [
        f"{plain(str(method))} :small[{plain(str(i))}]"
        for method, i in zip(table.values("method"), table.values("trial_id"), strict=True)
    ]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for column in table.columns:
        if column.name not in ("method", "trial_id"):
            cells = (plain(_in_table(column, v)) for v in table.values(column.name))
            lines.append(f"| {plain(column.label)} | {' | '.join(cells)} |")
    left.markdown("\n".join(lines))
    with right:
        _drawn(found)


def _drawn(found: Comparison) -> None:
    """The samples of trials as distributions, and their curves over each other."""
    if len(set(found.samples.values("trial"))) > 1:
        st.caption("The first timed samples of each" if found.samples.truncated else "Every timed sample of each")
        far = spans(found.samples, "latency_us", _FAR)
        show_chart(found.samples, ChartSpec("box", x="trial", y="latency_us", log_y=far), key="compared_samples")
    for metric in dict.fromkeys(found.curves.values("metric")):
        rows = tuple(r for r in found.curves.rows if r[1] == metric)
        st.caption(f"{plain(str(metric))} over training steps")
        curves = replace(found.curves, rows=rows)
        show_chart(curves, ChartSpec("line", x="step", y="value", color="trial"), key=f"compared_{metric}")


def show_trial(box: Sandbox, trial_id: str) -> None:
    """The story of one trial: its values, every timed sample, its curves."""
    story = details(box, trial_id)
    values = {c.name: v for c, v in story.values}
    with st.container(border=True, key="trial"):
        st.markdown(f"**{plain(str(values.get('method', '')))}** :small[{plain(trial_id)}]")
        if error := values.get("error"):
            st.error(plain(str(error)), icon=":material/error:")
        if values.get("sweep") and values.get("latency_us"):
            commits_view.link(str(values["sweep"]), [trial_id])
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


def _in_table(column: Column, value: Value | None) -> str:
    """A value on one line."""
    text = utc_time(str(value)) if column.type == "timestamp" else format_value(column, value)
    return plain_text(text, _LONGEST_VALUE)
