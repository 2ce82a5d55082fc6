"""The page New run: a preset or a form, its plan with an estimate, Start, and the runs that are going.

A plan that a question has asked for is taken from `st.session_state["plan"]` and fills the preset or the form; Start
stays a person's click.
"""

import contextlib
from collections.abc import Iterator

import streamlit as st

from db.installation import ROOT
from db.runs import RunState
from db.store import StoreError
from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.common import heading, plain, prose, sandbox, show_status, show_table, utc_time
from mirror.faces.pages.entrance import entry
from mirror.runs import building, jobs
from mirror.runs.listing import filled, newest
from mirror.runs.person import LOCAL, ONLY_ASKS
from mirror.runs.run_plan import RunPlan, Scalar
from mirror.schema import catalog
from mirror.table.numbers import format_value
from mirror.table.table import plain_table
from mirror.table.wording import counted

_POLL_S = 1.0
_SHOWN_RUNS = 8
_ICONS = {
    "waiting": ":material/hourglass_empty:",
    "running": ":material/play_circle:",
    "done": ":material/check_circle:",
    "cancelled": ":material/cancel:",
    "failed": ":material/error:",
    "died": ":material/error:",
}


def page() -> None:
    """Draw the page."""
    status = heading("New run")
    box = sandbox()
    if building.state().going:
        st.session_state["compiling"] = True
    elif st.session_state.pop("compiling", False):  # what could not run may run now
        jobs.options.cache_clear()
        _planned.clear()
    show_status(status, box, measuring=any(state.active for state in jobs.runs()))
    if entry.person().may_run:
        left, right = st.columns([2, 3], gap="large")
        chosen = None
        with left, _errors_shown():
            chosen = _choose()
        if chosen:
            with right, _errors_shown():
                _plan(*chosen)
    else:  # nor is anything planned: a plan may load a file of methods
        st.info(plain(ONLY_ASKS), icon=":material/lock:")
    _runs(box)


@contextlib.contextmanager
def _errors_shown() -> Iterator[None]:
    """What the engine complains of is said in its place; the rest of the page is drawn all the same."""
    try:
        yield
    except jobs.JobError as error:
        st.error(prose(str(error)), icon=":material/error:")


# -- what to run ---------------------------------------------------------------------------------------------------


def _choose() -> tuple[str, tuple[str, ...]]:
    """(sweep name or text, overrides) from a preset or the form."""
    options = jobs.options()
    state = st.session_state
    _fill(options)
    state.setdefault("way", "Preset")
    way = st.segmented_control("What to run", ["Preset", "Form"], key="way", persist_state="session") or "Preset"
    _show_request()
    if way == "Form":
        return _form(options), ()
    names = [s.name for s in options.sweeps]
    state.setdefault("preset", "quick" if "quick" in names else names[0])
    name = st.selectbox("Sweep", names, key="preset", persist_state="session")
    st.markdown(plain(next(s.text for s in options.sweeps if s.name == name)))
    text = st.text_input(
        "Change axes (optional)", key="overrides", placeholder="batch_size=64,512 seeds=1", help="axis=value,value …",
        persist_state="session",
    )  # fmt: skip
    return name, tuple(text.split())


def _fill(options: jobs.Options) -> None:
    """Put a plan that was asked for into the widgets, once: what a person changes afterwards stays."""
    state = st.session_state
    plan = state.pop("plan", None)
    if isinstance(plan, RunPlan):
        values, unknown = jobs.form_of(plan, options)
        bench = None if plan.sweep else next((b for b in options.benchmarks if b.name == plan.benchmark), None)
        for axis in bench.axes if bench else ():  # what the plan does not name is not what an earlier one named
            if axis.name != "seed":
                state[f"form_{plan.benchmark}_{axis.name}"] = _usual(axis)
        state.update(values)
        state["planned"] = (plan, unknown)
        state.pop("planned_as", None)


def _show_request() -> None:
    """What the question asked for, what was assumed, and what of it cannot be filled in."""
    if "planned" not in st.session_state:
        return
    plan, unknown = st.session_state["planned"]
    state = st.session_state
    chosen = state.get("form_benchmark" if state["way"] == "Form" else "preset")
    if chosen is not None and chosen != state.setdefault("planned_as", chosen):  # another plan stands below
        return
    notes = "\n".join(f"- {prose(note)}" for note in plan.notes)
    st.info(f"{prose(f'Asked for: {plan.words}')}\n\n{notes}", icon=":material/chat:")
    if unknown:
        st.warning(plain(f"This cannot be chosen here and is left out: {', '.join(unknown)}."))
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        st.code(plan.command, language=None, wrap_lines=True)


def _form(options: jobs.Options) -> str:
    """A sweep made of widgets, as YAML text."""
    benches = {b.name: b for b in options.benchmarks}
    state = st.session_state
    name = st.selectbox(
        "Benchmark", list(benches), key="form_benchmark", help="what is measured", persist_state="session"
    )
    bench = benches[name]
    st.caption(plain(bench.text))
    known = {m.name: m for m in options.methods}
    asked, _ = state.get("planned", (RunPlan(), ()))
    state.setdefault(f"form_methods_{bench.name}", list(bench.methods[:2]))
    methods = st.multiselect(
        "Methods", bench.methods, key=f"form_methods_{bench.name}", format_func=str, persist_state="session"
    )
    for name in methods:
        if (missing := known[name].missing) and missing not in asked.notes:
            st.warning(prose(missing))
    parameters: dict[str, tuple[Scalar, ...]] = {}
    seeds = 1
    places = st.columns(2)
    had = [a for a in bench.axes if not a.methods or set(a.methods) & set(methods)]
    for i, axis in enumerate(had):
        key = f"form_{bench.name}_{axis.name}"
        if i and i % 2 == 0:  # rows of two: on a phone, where columns stand below each other, the order stays
            places = st.columns(2)
        column = places[i % 2]
        if axis.name == "seed":
            told = "how many repeats, each with its own seed"
            seeds = int(column.number_input("seeds", 1, 100, key=key, help=told, persist_state="session"))
        elif axis.choices:
            state.setdefault(key, _usual(axis))
            chosen = column.multiselect(
                axis.name, axis.choices, key=key, help=plain(axis.text), persist_state="session"
            )
            parameters[axis.name] = tuple(chosen)
        else:
            state.setdefault(key, _usual(axis))
            ends = plain(f"{axis.text}, {axis.low:g} to {axis.high:g}; several with commas")
            text = column.text_input(axis.name, key=key, help=ends, persist_state="session")
            parameters[axis.name] = tuple(_scalar(part) for part in text.split(",") if part.strip())
    baseline = next((m for m in (asked.baseline, catalog.words()["baseline"]) if m in methods), "")
    made = RunPlan(
        benchmark=bench.name,
        methods=tuple(methods),
        baseline=baseline,
        parameters=tuple(parameters.items()),
        seeds=seeds,
    )
    return made.sweep_text()


def _usual(axis: jobs.AxisOption) -> object:
    """What the widget of an axis holds unless something else was chosen."""
    return [axis.default] if axis.choices else str(axis.default)


def _scalar(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return text.strip()


# -- the plan ------------------------------------------------------------------------------------------------------


@st.cache_data(ttl=5, show_spinner="Planning …")
def _planned(
    sweep: str, overrides: tuple[str, ...], quick: bool, retry_failed: bool = False, force: bool = False
) -> jobs.PlanView:
    return jobs.plan(sweep, overrides, retry_failed=retry_failed, force=force, quick=quick)


def _plan(sweep: str, overrides: tuple[str, ...]) -> None:
    told = "fewer samples of each trial: soon there, and less certain"
    quick = st.checkbox("Quick look", key="quick", help=told, persist_state="session")
    plan = _planned(sweep, overrides, quick)
    failed = sum(t.failed for t in plan.trials)
    done = plan.count("done") - failed
    numbers = st.container(horizontal=True, gap="medium")
    retry = failed > 0 and st.checkbox("Retry what failed", key="retry")
    again = done > 0 and st.checkbox("Run what is done again", key="force")
    if retry or again:
        plan = _planned(sweep, overrides, quick, retry, again)
    todo = plan.count("todo")
    counts = {"to run": todo, "done already": done, "failed before": failed, "cannot run": plan.count("skip")}
    for name, count in counts.items():
        if count or name != "failed before":
            numbers.metric(name, f"{count:,}", width="content")
    numbers.metric("estimate", format_value(catalog.entry("duration_s"), plan.seconds), width="content")
    if st.button("Start", type="primary", disabled=todo == 0, icon=":material/play_arrow:"):
        jobs.start(sweep, overrides, retry_failed=retry, force=again, quick=quick, by=entry.person())
        st.session_state.pop("planned", None)
        _planned.clear()
        st.toast("Started. It goes on when this page is closed.")
    if todo == 0 and done and not failed:
        st.caption("Everything in this plan has its result: ask about it, or change an axis.")
    for note in plan.notes:
        st.caption(prose(note))
    with st.expander(f"Plan ({counted(len(plan.trials), 'trial')})", expanded=len(plan.trials) <= 12):
        rows = [(_fate(t), t.seconds if t.fate == "todo" else None, t.label, t.reason or None) for t in plan.trials]
        show_table(filled(plain_table(("state", "seconds", "trial", "reason"), rows)), key="plan")


def _fate(trial: jobs.PlannedView) -> str:
    return "failed before" if trial.failed else {"todo": "to run", "skip": "cannot run"}.get(trial.fate, trial.fate)


# -- runs ----------------------------------------------------------------------------------------------------------


@st.fragment(run_every=_POLL_S)
def _runs(box: Sandbox) -> None:
    """Runs, newest first, from their state files: reading results as they come would disturb what is being timed.

    Drawn every second while one is active, so that the time that is left goes down.
    """
    state = st.session_state
    states = jobs.runs()
    active = any(s.active for s in states)
    if state.get("measuring", active) and not active:
        state["measuring"] = False
        _planned.clear()
        st.rerun()  # the plan and the status line have changed
    state["measuring"] = active
    if not states:
        return
    st.subheader("Runs", divider="gray")
    for run in states[:_SHOWN_RUNS]:
        _run(run)
    _newest(next((s for s in states if s.status == "running"), states[0]), box, active)


def _newest(latest: RunState, box: Sandbox, active: bool) -> None:
    """The newest results of the latest run: read when it is over, and before that only when somebody asks."""
    asked = active and st.button("Show results so far", key="so_far", help="reading them may disturb the measurement")
    kept = st.session_state.get("newest")
    at = (latest.run_id, latest.status, latest.updated_at)
    if asked or (not active and (kept is None or kept[0] != at)):
        try:
            kept = (at, newest(box, latest.sweep, latest.started_at))
        except (StoreError, QueryStopped, QueryError) as error:  # perhaps a busy moment: the next look tries again
            st.caption(plain(str(error)))
            return
        st.session_state["newest"] = kept
    if kept is None or kept[0][0] != latest.run_id:
        return
    if active and not kept[1].rows:
        st.caption("It has no result yet.")
    elif kept[1].rows:
        st.markdown(f"Newest results of {plain(latest.sweep)}")
        show_table(kept[1], key=f"newest_{latest.run_id}")


def _cancel(state: RunState) -> None:
    try:
        if jobs.cancel(state.run_id, by=entry.person()):
            st.session_state.setdefault("cancelling", set()).add(state.run_id)
        else:
            st.toast("The run is over already.")
    except jobs.JobError as error:
        st.error(plain(str(error)))


def _run(state: RunState) -> None:
    with st.container(border=True):
        left, right = st.columns([6, 1], vertical_alignment="center")
        started = utc_time(state.started_at) if state.started_at else ""
        finished = state.done + state.failed + state.skipped
        counts = f"{finished} of {counted(state.total, 'trial')}"
        extra = [f"{n} {word}" for n, word in ((state.failed, "failed"), (state.skipped, "cannot run")) if n]
        stopping = state.active and state.run_id in st.session_state.get("cancelling", ())
        by = jobs.started_by(state.run_id)
        begun = f"started {started}" + (f" by {by}" if by not in ("", LOCAL.name) else "")
        title = " · ".join(["being cancelled" if stopping else state.status, counts, *extra, begun])
        left.markdown(f"{_ICONS[state.status]} **{plain(state.sweep)}** {plain(title)}")
        if state.active:
            if not stopping and entry.person().may_run:
                right.button("Cancel", key=f"cancel_{state.run_id}", on_click=_cancel, args=(state,))
            over = finished / state.total if state.total else 0.0
            parts = ["stopping; what is finished is kept" if stopping else state.current or "starting"]
            left_s = jobs.seconds_left(state)
            if left_s is not None and not stopping:
                soon = f"{format_value(catalog.entry('duration_s'), round(left_s))} left"
                parts.append(soon if left_s >= 1 else "longer than estimated")
            st.progress(min(over, 1.0), text=plain(" · ".join(parts)))
        if state.message:
            st.caption(plain(state.message))
        if state.status in ("failed", "died") and (text := _log(state)):
            with st.expander("Log", icon=":material/receipt_long:"):
                st.code(text, language=None, wrap_lines=True)


def _log(state: RunState) -> str:
    """The end of a run's log; paths of this machine are no business of a page."""
    try:
        return jobs.log(state.run_id).replace(f"{ROOT}/", "")
    except jobs.JobError:
        return ""
