"""A sweep over commits: a line for each configuration, and where its time has changed."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mirror.answer.subject import Behind
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import spans
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages import points_view
from mirror.faces.pages.common import RUNS_PATH, is_phone, origin_of_results, page_at, plain, prose, show_chart
from mirror.runs import over_commits
from mirror.runs.jobs import JobError
from mirror.runs.listing import listed
from mirror.runs.over_commits import MOST_LINES, Drawn, History, likelihood_word
from mirror.table.wording import counted

VIEW, TRIALS, OVER_COMMITS = "view", "Trials", "Over commits"
_SWEEP, _BY, _RELATIVE, _LINES, _AT = "of", "by", "relative", "line", "at"  # in the address
_PARAMETERS = (VIEW, _SWEEP, _BY, _RELATIVE, _LINES, _AT)
_BYS = {"commits": "commit", "days": "day"}
_FAR = 5  # times the smallest time: lines then have a logarithmic axis
_KEY = "over_commits"


def link(sweep: str, trials: Sequence[str]) -> None:
    """The way from trials to the chart of their configurations."""
    to = {VIEW: [OVER_COMMITS], _SWEEP: [sweep], _AT: list(trials)}
    st.page_link(page_at(RUNS_PATH), label="Its time over commits", icon=":material/timeline:", query_params=to)


def link_back() -> None:
    """The way from trials back to the chart that led to them; nothing where none did."""
    if st.query_params.get(VIEW) == OVER_COMMITS:
        st.page_link(
            page_at(RUNS_PATH), label="Back to the chart", icon=":material/arrow_back:", query_params=_address()
        )


def show(box: Sandbox) -> None:
    """Choose a sweep and configurations; the sentence, the chart, and the trials behind its points."""
    known = over_commits.sweeps(box)
    if not known:
        st.info(prose("There are no times yet: `python -m bench_engine run quick` measures the first."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = next(iter(known))
        sweep = st.selectbox(
            "sweep",
            list(known),
            index=None,  # what is chosen stands in the address, which a default would not
            key=_SWEEP,
            placeholder=f"{first}, the most commits",
            width=260,
            bind="query-params",
            on_change=_forget_lines,
            persist_state="session",
        )
        by = st.segmented_control("over", list(_BYS), key=_BY, default="commits", required=True, bind="query-params")
        relative = st.toggle(
            "share of the baseline's time", key=_RELATIVE, bind="query-params",
            help="of the baseline that took turns: a machine that has become slower does not move it",
        )  # fmt: skip
    try:
        found = _history(box.url, box.version(), sweep or first, _BYS[by or "commits"], relative)
    except JobError as error:
        st.info(prose(str(error)), icon=":material/timeline:")
        return
    if not found.lines:
        st.info(prose(_nothing(found)), icon=":material/timeline:")
        return
    _lines(box, found)


def _lines(box: Sandbox, found: History) -> None:
    names = st.multiselect(
        "configurations", [line.name for line in found.lines], key=_LINES, max_selections=MOST_LINES,
        placeholder="those that changed most", bind="query-params",
    )  # fmt: skip
    at = st.query_params.get_all(_AT)
    lines = found.chosen(names, at)
    if at and not names and not any(run.trial_id in at for line in lines for run in line.runs):
        st.info(prose(
            f"The trial that led here is on no line: its configuration has one {found.by} here, or no share of a "
            "baseline. Those that changed most are drawn; "
            f"`python -m bench_engine run {found.sweep} --force` measures all again."
        ))  # fmt: skip
    shown = _drawn(box.url, box.version(), found.sweep, found.by, found.relative, tuple(x.name for x in lines))
    with st.container(key="headline"):
        st.markdown(plain(shown.told[0]))
    metric = found.metric.name
    chart = ChartSpec(
        "line", x="place", y=metric, color="configuration", log_y=spans(shown.table, metric, _FAR),
    )  # fmt: skip
    key = points_view.chart_key(_KEY)
    show_chart(
        shown.table, chart, key=key, title=f"{found.sweep} over {found.by}s", note=origin_of_results(box),
        select=partial(points_view.select, _KEY, shown.table), finish=partial(_finish, found, shown, is_phone()),
        more_in_words=" ".join(shown.told),
    )  # fmt: skip
    st.caption(_beside(found, lines))
    _tell(shown)
    points_view.show_of(shown.table, _KEY, partial(_behind, box, shown), _address())


def _tell(shown: Drawn) -> None:
    """Each change in a sentence, and what the commits did between which it lies."""
    said = []
    for (_, change), sentence in zip(shown.changes, shown.told[1:], strict=True):
        did = "".join(f"\n   - {plain(line)}" for line in change.subjects)
        said.append(f"1. {plain(sentence)}{did}")
    if said:
        st.markdown("\n".join(said))


def _finish(found: History, shown: Drawn, narrow: bool, figure: object) -> None:
    from mirror.chart.draw.change_marks import Mark, add_changes  # here, since Plotly is slow to load

    marks = [
        Mark(
            number, shown.place(c.before), shown.place(c.after), (c.old * c.new) ** 0.5, c.new > c.old,
            f"{c.word}, {likelihood_word(c.probability)}", sentence,
        )
        for number, ((_, c), sentence) in enumerate(zip(shown.changes, shown.told[1:], strict=True), 1)
    ]  # fmt: skip
    dated = [
        commit if found.by == "day" else f"{commit}<br>{day}"
        for commit, day in zip(shown.commits, shown.days, strict=True)
    ]
    add_changes(figure, marks, dated, narrow)


def _beside(found: History, lines: Sequence[over_commits.Line]) -> str:
    """What of all is drawn, what a mark stands for, and what is left out."""
    parts = [f"drawn: {len(lines)} of {counted(len(found.lines), 'configuration')} with several {found.by}s"]
    changed = sum(bool(line.changes) for line in found.lines)
    parts.append(f"with a change that is at least {100 * found.probability:g} % likely: {changed}")
    if off := sum(len(line.outliers) for line in lines):
        parts.append(f"{counted(off, 'run')} off a level that goes on after it, which is no change")
    if found.small:
        parts.append(f"{counted(found.small, 'change')} too small to be told")
    if found.single:
        parts.append(f"{found.single:,} measured {'at one commit' if found.by == 'commit' else 'on one day'} only")
    parts.append("click points, or draw a box around them, to come to their trials")
    return plain(" · ".join(parts))


def _nothing(found: History) -> str:
    """Why there is no line, and what to run."""
    run = f"`python -m bench_engine run {found.sweep} --force`"
    if found.by == "day":
        return f"No configuration of {found.sweep} was measured on two days: {run} measures all of them again."
    return (
        f"No configuration of {found.sweep} was measured at two commits. An unchanged kernel has its results already, "
        f"so at another commit {run} measures all of them again."
    )


def _behind(box: Sandbox, shown: Drawn, places: Sequence[int]) -> Behind:
    of = shown.table.values("trial_id")
    ids = [str(of[place]) for place in places]
    found = listed(box, {"trial_id": ids})
    return Behind(found.table, found.total, trials=True)


@st.cache_resource(max_entries=8, show_spinner="Looking for changes …")
def _history(url: str, version: str, sweep: str, by: str, relative: bool) -> History:
    return over_commits.history(sweep, by, relative, url)


@st.cache_resource(max_entries=20, show_spinner=False)
def _drawn(url: str, version: str, sweep: str, by: str, relative: bool, names: tuple[str, ...]) -> Drawn:
    """One object for one chart, as long as it is looked at: what is selected in it is known by that."""
    found = _history(url, version, sweep, by, relative)
    return over_commits.drawn(found, [line for line in found.lines if line.name in names])


def _forget_lines() -> None:
    """Those of another sweep are others."""
    st.session_state[_LINES] = []
    st.query_params.pop(_AT, None)


def _address() -> dict[str, list[str]]:
    """What the address says of the chart."""
    return {name: st.query_params.get_all(name) for name in _PARAMETERS if name in st.query_params}
