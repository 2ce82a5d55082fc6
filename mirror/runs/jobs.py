"""Runs from the pages: what can be run, what a sweep would do, and runs that are started, watched and cancelled.

The engine is only ever called by its command line, in a process of its own: a run goes on when the page is closed, and
is found again by its state file.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from db import runs as run_states
from db.installation import python_path
from db.runs import RunState
from db.settings import db_url, environment, journal_dir
from mirror.runs import audit, starters
from mirror.runs.person import ONLY_ASKS, Person
from mirror.runs.run_plan import RunPlan, Scalar
from mirror.table.wording import join

_LIMIT_S = 60.0  # of a command that only reads
_LOG_BYTES = 20_000
_FAILED = ("failed", "timeout", "oom")
_BROKEN_OFF = ("cancelled", "failed", "died")
_starting = threading.Lock()  # two clicks at once must not both pass a limit that has room for one


class JobError(RuntimeError):
    """A run cannot be planned, started or cancelled; the message is a sentence for people."""


# -- what can be run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MethodOption:
    """A method; `missing` says why it cannot run here, empty when it can."""

    name: str
    text: str
    compressible: bool
    needs_build: bool
    missing: str


@dataclass(frozen=True)
class AxisOption:
    """An axis of a benchmark.

    Attributes:
        type: int, float or str.
        choices: empty where any value between low and high goes.
        methods: those that have it; empty for all.
    """

    name: str
    type: str
    default: Scalar
    text: str
    choices: tuple[Scalar, ...]
    low: float | None
    high: float | None
    methods: tuple[str, ...]


@dataclass(frozen=True)
class BenchmarkOption:
    """A benchmark with its axes; the seed is the last."""

    name: str
    op: str
    text: str
    methods: tuple[str, ...]
    axes: tuple[AxisOption, ...]


@dataclass(frozen=True)
class DataSetOption:
    """A data set; `missing` says which file it lacks, empty when it can be used."""

    name: str
    text: str
    missing: str


@dataclass(frozen=True)
class SweepOption:
    """A ready sweep and the question it answers."""

    name: str
    text: str


@dataclass(frozen=True)
class Options:
    """What can be run on this machine."""

    methods: tuple[MethodOption, ...]
    benchmarks: tuple[BenchmarkOption, ...]
    data_sets: tuple[DataSetOption, ...]
    sweeps: tuple[SweepOption, ...]


@cache
def options() -> Options:
    """What can be run. Asked of the engine once per process; `options.cache_clear()` forgets. Raises JobError."""
    found = _ask(["list", "--json"])
    return Options(
        tuple(MethodOption(**m) for m in found["methods"]),
        tuple(
            BenchmarkOption(**_with_tuples({**b, "axes": [AxisOption(**_with_tuples(a)) for a in b["axes"]]}))
            for b in found["benchmarks"]
            if b["methods"]  # what is callable comes with plug-ins
        ),
        tuple(DataSetOption(**d) for d in found["data_sets"]),
        tuple(SweepOption(**s) for s in found["sweeps"]),
    )


def suggestion(data: str, budget_mb: float) -> RunPlan:
    """The search of what to use for a budget on a data set, which nobody has started.

    Raises JobError, also with the sentence for a budget that is too small, or that a dense table keeps.
    """
    found = _ask(["suggest", data, "--budget-mb", f"{budget_mb:g}", "--plan", "--format", "json"])
    if found["dense_fits"]:
        raise JobError(
            f"Nothing needs to be searched: a dense float32 table of {data} takes {found['dense_mb']:.4g} of "
            f"{budget_mb:g} MB at dimension {found['embedding_dim']}."
        )
    first, *more = yaml.safe_load_all(found["sweep"])
    same = [part for part in (first, *more) if set(part["methods"]) <= set(first["methods"])]
    parameters = {axis: (entry["value"],) for axis, entry in first["parameters"].items() if "value" in entry}
    parameters["compression"] = tuple(v for part in same for v in part["parameters"]["compression"]["values"])
    others = sorted({name for part in more for name in part["methods"]} - set(first["methods"]))
    notes = ["chosen on the validation part, never on the test part"]
    if others:
        notes.append(f"the line in a terminal also trains {join(others)}, at sizes of their own, and makes the choice")
    return RunPlan(
        benchmark=first["benchmark"],
        methods=tuple(first["methods"]),
        parameters=tuple(parameters.items()),
        seeds=first["seeds"],
        notes=tuple(notes),
        budget=(data, budget_mb),
    )


def tracked(sweep: str, by: str, relative: bool, url: str | None = None) -> dict[str, Any]:
    """What `python -m bench_engine track` says of a sweep, as its JSON has it.

    Raises JobError, also with the sentence for a sweep that has results of one commit only.
    """
    options = ["--by", by, "--format", "json", *(["--relative"] if relative else [])]
    found: dict[str, Any] = _ask(["track", *options, "--", sweep], url)  # a sweep may be called as an option is
    return found


def _with_tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}


# -- what a sweep would do -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedView:
    """One trial of a plan.

    Attributes:
        label, benchmark, method: which trial.
        fate: todo, done (it has a result, or it failed and is not retried) or skip.
        before: status of its last attempt; empty for none.
        reason: why it is skipped.
        seconds: estimate of its time; 0 for one that will not run.
    """

    label: str
    benchmark: str
    method: str
    fate: str
    before: str
    reason: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether it failed before and stays so unless it is retried."""
        return self.fate == "done" and self.before in _FAILED


@dataclass(frozen=True)
class PlanView:
    """What a sweep would do: its trials in their order, an estimate of the time in seconds, what else to know of it."""

    sweep: str
    seconds: float
    trials: tuple[PlannedView, ...]
    notes: tuple[str, ...] = ()

    def count(self, fate: str) -> int:
        """How many trials have this fate."""
        return sum(t.fate == fate for t in self.trials)


def form_of(plan: RunPlan, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the widgets of the page New run hold for a plan, by key; and what of it is not known here, such as a method
    of an older plan."""
    known: dict[str, Any] = {"quick": plan.quick, "force": plan.again, "retry": plan.retry_failed}
    if plan.sweep:
        if plan.sweep not in [s.name for s in options.sweeps]:
            return known, (plan.sweep,)
        return {**known, "way": "Preset", "preset": plan.sweep, "overrides": " ".join(plan.overrides)}, ()
    bench = next((b for b in options.benchmarks if b.name == plan.benchmark), None)
    if bench is None:
        return known, (plan.benchmark or "a plan without a benchmark",)
    methods = [m for m in plan.methods if m in bench.methods]
    unknown = [m for m in plan.methods if m not in methods]
    known |= {"way": "Form", "form_benchmark": bench.name, f"form_methods_{bench.name}": methods}
    axes = {a.name: a for a in bench.axes if a.name != "seed"}
    for name, values in plan.parameters:
        allowed = [v for v in values if name in axes and (not axes[name].choices or v in axes[name].choices)]
        unknown += [f"{name} {v}" for v in values if v not in allowed]
        if allowed:
            known[f"form_{bench.name}_{name}"] = allowed if axes[name].choices else ", ".join(map(str, allowed))
    known[f"form_{bench.name}_seed"] = min(max(plan.seeds or 1, 1), 100)
    return known, tuple(unknown)


def plan(
    sweep: str,
    overrides: Sequence[str] = (),
    url: str | None = None,
    retry_failed: bool = False,
    force: bool = False,
    quick: bool = False,
) -> PlanView:
    """What `start` with the same arguments would do. Raises JobError, which says what is wrong with the sweep."""
    text = sweep if "\n" in sweep else ""
    options = _as_options(overrides, retry_failed, force, quick)
    found = _ask(["plan", *options, "--json", "--", "-" if text else sweep], url, text)
    return PlanView(
        found["sweep"], found["seconds"], tuple(PlannedView(**t) for t in found["trials"]), tuple(found["notes"])
    )


# -- runs ----------------------------------------------------------------------------------------------------------


def start(
    sweep: str,
    overrides: Sequence[str] = (),
    url: str | None = None,
    retry_failed: bool = False,
    force: bool = False,
    quick: bool = False,
    *,
    by: Person,
) -> str:
    """Start a run that outlives this process, and return its run_id. It waits for a run that holds the machine.

    Args:
        sweep: a name, a path, or the text of a sweep.
        overrides: texts such as `batch_size=64,512`.
        url: where the results go; None for the default.
        retry_failed: run again what failed.
        force: run again what is done.
        quick: a first look, with fewer samples.
        by: who starts it.

    Raises JobError when it cannot be started, or not by this person.
    """
    if not by.may_run:
        raise JobError(ONLY_ASKS)
    with _starting:
        folder = journal_dir(db_url(url))
        if full := starters.no_room(folder, by):
            raise JobError(full)
        goes_on = not force and _was_broken_off(folder, sweep, tuple(overrides))
        options = _as_options(overrides, retry_failed, force, quick)
        run_id = _start(folder, sweep, overrides, url, options, by)
    what = {"sweep": _sweep_name(sweep), "options": options, "sha256": hashlib.sha256(sweep.encode()).hexdigest()}
    audit.note(folder, by, "resumed" if goes_on else "started", run_id, **what)
    return run_id


def _start(
    folder: Path, sweep: str, overrides: Sequence[str], url: str | None, options: Sequence[str], by: Person
) -> str:
    run_id = run_states.new_run_id(_sweep_name(sweep))
    given = run_states.path_of(folder, run_id, ".yaml")
    log = run_states.path_of(folder, run_id, ".log")
    try:
        given.parent.mkdir(parents=True, exist_ok=True)
        starters.note(folder, run_id, by)
        if "\n" in sweep:
            given.write_text(sweep, encoding="utf-8")
        target = str(given) if "\n" in sweep else sweep
        command = ["run", *options, "--run-id", run_id, "--wait", "--", target]
        with log.open("wb") as output, _held_back(signal.SIGINT):
            process = subprocess.Popen(
                _engine(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(url),
                start_new_session=True,
            )
        state = RunState(
            run_id=run_id,
            sweep=_sweep_name(sweep),
            overrides=tuple(overrides),
            pid=process.pid,
            pid_start=run_states.process_start(process.pid) or 0.0,
            started_at=datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds"),
            log=log.name,
        )
        run_states.write(folder, state, new=True)  # unless the runner was quicker
    except OSError as error:
        raise JobError(f"The run cannot be started: {error.strerror} ({folder.name}/runs/).") from error
    except run_states.RunStateError as error:
        raise JobError(str(error)) from error
    return run_id


def _was_broken_off(folder: Path, sweep: str, overrides: tuple[str, ...]) -> bool:
    """Whether the newest run of the same sweep ended before its end: the next one goes on from there."""
    wanted = sweep if "\n" in sweep else _sweep_name(sweep)
    for state in run_states.read_all(folder):
        text = run_states.path_of(folder, state.run_id, ".yaml")
        given = text.read_text(encoding="utf-8") if text.is_file() else state.sweep
        if (given, state.overrides) == (wanted, overrides):
            return state.status in _BROKEN_OFF
    return False


def started_by(run_id: str, url: str | None = None) -> str:
    """Who started a run from the pages; empty for one of a terminal."""
    return starters.of(journal_dir(db_url(url)), run_id)


def runs(url: str | None = None) -> list[RunState]:
    """All runs that wrote to these results, newest first, those started in a terminal too."""
    return run_states.read_all(journal_dir(db_url(url)))


def log(run_id: str, url: str | None = None) -> str:
    """The end of what a run started here has printed; empty when there is nothing."""
    try:
        with run_states.path_of(journal_dir(db_url(url)), run_id, ".log").open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _LOG_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
    except run_states.RunStateError as error:
        raise JobError(str(error)) from error


def seconds_left(state: RunState, now: datetime | None = None) -> float | None:
    """What is left of a run by now: its estimate is as old as its state. None while nothing is known.

    Args:
        state: of the run.
        now: naive UTC; by default the clock's.
    """
    if state.seconds_left is None:
        return None
    now = now or datetime.now(UTC).replace(tzinfo=None)
    try:
        since = (now - datetime.fromisoformat(state.updated_at)).total_seconds()
    except ValueError:
        since = 0.0
    return max(0.0, state.seconds_left - max(0.0, since))


def cancel(run_id: str, url: str | None = None, *, by: Person) -> bool:
    """Ask a run to stop; what is finished is kept. Returns False when it is over already.

    Raises JobError when it cannot be cancelled, or not by this person.
    """
    if not by.may_run:
        raise JobError(ONLY_ASKS)
    try:
        folder = journal_dir(db_url(url))
        state = run_states.read(folder, run_id)
        if state is None or not state.active:  # `read` has compared the start of the process: it is no stranger
            return False
        os.kill(state.pid, signal.SIGINT)
    except ProcessLookupError:
        return False
    except PermissionError as error:
        raise JobError("This run belongs to another user, who must cancel it.") from error
    except run_states.RunStateError as error:
        raise JobError(str(error)) from error
    audit.note(folder, by, "cancelled", run_id, sweep=state.sweep)
    return True


# -- the engine's command line -------------------------------------------------------------------------------------


def _engine(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "bench_engine", *arguments]


def _environment(url: str | None) -> dict[str, str]:
    """The URL goes by environment: an argument, and a password in it, would show in the list of processes."""
    return {**environment(), "PYTHONPATH": python_path(), "MIRROR_DB": db_url(url)}


def _as_options(overrides: Sequence[str], retry_failed: bool, force: bool, quick: bool) -> list[str]:
    flags = (("--retry-failed", retry_failed), ("--force", force), ("--quick", quick))
    return [*(f"-p{text}" for text in overrides), *(flag for flag, wanted in flags if wanted)]


def _ask(arguments: Sequence[str], url: str | None = None, given: str = "") -> Any:
    """The JSON that a reading command prints. Raises JobError with its complaint."""
    try:
        done = subprocess.run(
            _engine(arguments), input=given, capture_output=True, text=True, timeout=_LIMIT_S, env=_environment(url)
        )
    except subprocess.TimeoutExpired as error:
        raise JobError(f"The engine did not answer within {_LIMIT_S:.0f} s: the machine may be busy.") from error
    except OSError as error:
        raise JobError(f"The engine cannot be started: {error.strerror}.") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["The engine ended without a word."]
        raise JobError(lines[-1])
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise JobError(f"What the engine printed cannot be read: {done.stdout.strip()[:200]!r}") from error


def _sweep_name(sweep: str) -> str:
    if "\n" not in sweep:
        return Path(sweep).stem
    with contextlib.suppress(yaml.YAMLError, AttributeError, StopIteration):
        return str(next(iter(yaml.safe_load_all(sweep))).get("name", "sweep"))
    return "sweep"


@contextlib.contextmanager
def _held_back(number: signal.Signals) -> Iterator[None]:
    """A process that is started meanwhile gets this signal once it listens (bench_engine.run.runner.signals): cancelled
    while it begins, it would end without a word."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
