"""Runs a sweep: what is left of its plan, group after group, each trial into the journal before anything else."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from bench_engine.machine import machine as this_machine
from bench_engine.plan.planning import SKIPPED_BY_PLAN, Plan, Planned, Site, plan
from bench_engine.progress import Progress, TimeLeft
from bench_engine.run.executors import Executor, GroupResult
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups import recording
from bench_engine.run.groups.group import Group, grouped
from bench_engine.run.results import Results
from bench_engine.sweep.search import counted
from bench_engine.sweep.sweep import Sweep, expand
from bench_engine.trial import TrialResult
from db import journal, runs
from db.record import Record
from db.runs import RunState
from db.settings import journal_dir
from db.store import Store


@dataclass(frozen=True)
class Options:
    """How a sweep is to be run.

    Attributes:
        overrides: see bench_engine.sweep.sweep.expand.
        url: where the results go; None for the default.
        retry_failed: run again what failed.
        force: run everything again.
        quick: a first look (see bench_engine.plan.planning.plan).
        wait: wait for a run that holds the machine.
        run_id: name of the run's state; made up when empty.
        verbose: tell what each trial has measured.
    """

    overrides: tuple[str, ...] = ()
    url: str | None = None
    retry_failed: bool = False
    force: bool = False
    quick: bool = False
    wait: bool = False
    run_id: str = ""
    verbose: bool = False


def run(
    sweep: Sweep,
    options: Options | None = None,
    executor: Executor | None = None,
    say: Callable[[str], None] = print,
) -> RunState:
    """Run what is left of a sweep. Must be called from the main thread, for it handles signals.

    SIGINT, SIGTERM and SIGHUP end the trials that are running without a record; the state returned is then `cancelled`.

    Raises SweepError, MachineBusyError, ExecutorError, JournalError, StoreError or RunStateError with a sentence; the
    state of the run then says the same.
    """
    options = options or Options()
    return _Run(sweep, options, executor or LocalExecutor(), say).go()


def refuse(sweep: str, options: Options, sentence: str) -> None:
    """Leave the state of a run that failed before it had a sweep, for whoever gave it its id."""
    store = Store(options.url)
    store.check_place()
    folder = journal_dir(store.url)
    runs.write(folder, replace(first_state(sweep, options, folder), status="failed", message=sentence))


def first_state(sweep: str, options: Options, folder: Path) -> RunState:
    """The state of a run that begins now in this process; `folder` is that of the journal."""
    run_id = options.run_id or runs.new_run_id(sweep)
    log = runs.path_of(folder, run_id, ".log")
    return RunState(
        run_id=run_id,
        sweep=sweep,
        overrides=options.overrides,
        pid=os.getpid(),
        pid_start=runs.process_start(os.getpid()) or 0.0,
        started_at=recording.now().isoformat(timespec="milliseconds"),
        log=log.name if log.exists() else "",
    )


class _Run:
    """One run: its state, its signals and its trials."""

    time_left: TimeLeft
    progress: Progress
    group: Group | None = None  # that runs now, where it is one alone

    def __init__(self, sweep: Sweep, options: Options, executor: Executor, say: Callable[[str], None]) -> None:
        self.sweep = sweep
        self.options = options
        self.executor = executor
        self.say = say
        self.store = Store(options.url)
        self.store.check_place()
        self.journal = journal_dir(self.store.url)
        self.cancelled = False
        self.told: set[str] = set()  # of metrics that have no number, each once
        self.results = Results(self.store, say)
        self.state = first_state(sweep.name, options, self.journal)

    def go(self) -> RunState:
        self.update()
        try:
            with signals(self.cancel):
                expand(self.sweep, self.options.overrides)  # a slip in the sweep is told before any waiting
                with self.executor.holding(self.sweep.name, self.options.wait, self.wait_for, lambda: self.cancelled):
                    if not self.cancelled:
                        self.update(message="")  # nothing to wait for any more
                        self.results.open()
                        sites = self.executor.sites()
                    if not self.cancelled:
                        self.trials(self.plan(sites))
        except Exception as error:
            with contextlib.suppress(runs.RunStateError):  # a full disk, say: the first error is the one to tell
                self.update(status="failed", current="", seconds_left=None, message=str(error))
            raise
        if self.cancelled and (self.finished < self.state.total or not self.state.total):
            self.update(status="cancelled", message=self.cancelled_sentence())
        else:
            self.update(status="done")
        return self.state

    def plan(self, sites: Sequence[Site]) -> Plan:
        options = self.options
        how = (options.retry_failed, options.force, options.quick)
        return plan(self.sweep, options.overrides, self.store.url, *how, sites)

    def cancel(self) -> None:
        self.cancelled = True
        self.executor.kill()

    def cancelled_sentence(self) -> str:
        if self.state.total:
            then = "--force measures all of them again" if self.options.force else "the same command goes on from here"
            return f"{self.finished} of {self.state.total} done; {then}."
        if self.state.message:
            holder = self.state.message.removesuffix("; waiting for it to end.")
            return f"Cancelled while waiting for the machine: {holder}."
        return "Cancelled before the first trial; the same command starts it."

    def wait_for(self, sentence: str) -> None:
        self.update(message=sentence)
        self.say(sentence)

    def update(self, **changes: object) -> None:
        """Write the state with some changes."""
        self.state = recording.changed(self.state, **changes)
        runs.write(self.journal, self.state)

    # -- trials ----------------------------------------------------------------------------------------------------

    def trials(self, planned: Plan) -> None:
        failed = self.begin(planned)
        sweep_row = recording.sweep_row(self.sweep, planned.overrides, recording.now())
        try:
            for item in planned.of("skip"):
                if not item.recorded:
                    self.keep(self.skip(item, planned.sites[item.site].machine), planned, sweep_row)
            for found in self.executor.run(grouped(planned.trials), self.running):
                self.keep(found, planned, sweep_row)
        finally:
            with contextlib.suppress(runs.RunStateError):  # it is written once more, and this error is the second
                self.update(current="", seconds_left=None)
            self.progress.close()
            self.results.catch_up()
        if failed and not self.cancelled:
            were, them = ("was", "it") if len(failed) == 1 else ("were", "them")
            last = failed[-1]
            self.say(
                f"{counted(len(failed), 'trial')} failed before and {were} left alone; --retry-failed runs {them} "
                f"again. The last of them: {last.trial.label()}: {planned.error(last) or last.before}"
            )

    def begin(self, planned: Plan) -> list[Planned]:
        """Tell how much there is to do, and what makes it unsure. Returns the trials that failed before."""
        done, todo = planned.of("done"), planned.of("todo")
        failed = [p for p in done if p.before != "ok"]
        self.time_left = TimeLeft((p.trial.benchmark, p.seconds) for p in todo)
        self.progress = Progress(len(planned.trials))
        there = (planned.stands(p) for p in planned.trials if p.fate == "done" or p.recorded)
        runs.forget_trials(self.journal, self.state.run_id)
        runs.add_trials(self.journal, self.state.run_id, filter(None, there))
        self.update(
            status="running",
            total=len(planned.trials),
            done=len(done) - len(failed),
            failed=len(failed),
            skipped=len(planned.of("skip")),
            seconds_left=self.left(),
            message="",
        )
        for warning in (w for site in planned.sites for w in site.warnings if todo):
            self.say(warning)
        return failed

    def running(self, text: str, group: Group | None) -> None:
        if group is not None and group is not self.group:
            self.time_left.began(group.members[0].trial.benchmark, sum(m.seconds for m in group.members))
        self.group = group
        self.update(current=text, seconds_left=self.left())
        self.progress.running(self.finished, text, self.left())

    def keep(self, found: GroupResult, planned: Plan, sweep_row: Mapping[str, Any]) -> None:
        """Write down what became of a group: into the journal first, then into the state and the results."""
        entries = []
        guessed = sum(item.seconds for item in found.group.members)
        for item, result in zip(found.group.members, found.results, strict=True):
            identity, attempt = planned.numbered(item, found.machine["machine_id"])
            entry = recording.record(
                item.trial,
                result,
                identity=identity,
                attempt=attempt,
                started_at=found.started_at,
                code_version=found.code_version,
                machine=found.machine,
                sweep=sweep_row,
            )
            journal.write(self.journal, entry)
            entries.append(entry)
            taken = found.seconds * item.seconds / guessed if found.seconds and guessed else result.seconds
            self.time_left.ended(item.trial.benchmark, item.seconds, taken)
            self.count(item, entry)
            self.progress.ended(self.finished, item.trial.label(), entry.status, entry.trial["error"], self.left())
            self.complain(result)
            if self.options.verbose:
                self.progress.say(f"  {_measured(entry)}")
        runs.add_trials(self.journal, self.state.run_id, [entry.trial_id for entry in entries])
        self.results.index(entries)

    def complain(self, result: TrialResult) -> None:
        """Say which metrics of plug-ins a trial lacks, and why."""
        missing = result.environment.get("missing_metrics") if isinstance(result.environment, Mapping) else None
        for sentence in missing.values() if isinstance(missing, Mapping) else ():
            if sentence not in self.told:
                self.told.add(sentence)
                self.progress.say(sentence)

    def left(self) -> float:
        """Estimate of the seconds that are left."""
        return self.time_left.seconds() / self.executor.at_once

    @property
    def finished(self) -> int:
        return self.state.done + self.state.failed + self.state.skipped

    @staticmethod
    def skip(item: Planned, machine: Mapping[str, Any]) -> GroupResult:
        result = TrialResult("skipped", error=item.reason, environment=SKIPPED_BY_PLAN)
        return GroupResult(Group((item,)), (result,), recording.now(), machine, this_machine.code_version())

    def count(self, item: Planned, entry: Record) -> None:
        counter = {"ok": "done", "skipped": "skipped"}.get(entry.status, "failed")
        changes: dict[str, object] = {"seconds_left": self.left()}
        if item.fate == "todo":
            changes[counter] = getattr(self.state, counter) + 1
        if counter == "failed":
            changes["message"] = f"{item.trial.label()}: {entry.trial['error']}"
        self.update(**changes)


def _measured(entry: Record) -> str:
    """What a trial has measured, and how, in a line."""
    row = entry.trial
    told = [f"{row['latency_us']:.4g} µs"] if row.get("latency_us") else []
    if row.get("latency_us") and row.get("baseline_latency_us") and not row["is_baseline"]:
        low, high = row.get("speedup_ci_low"), row.get("speedup_ci_high")
        ends = f" [{low:.3g}, {high:.3g}]" if low and high else ""
        told.append(f"{row['baseline_latency_us'] / row['latency_us']:.3g}x{ends} {row.get('verdict') or ''}".rstrip())
    told += [f"{len(entry.samples_us)} samples in {len(entry.turn_sizes)} turns"] if entry.samples_us else []
    told += [f"stopped by {row['stop_reason']}"] if row.get("stop_reason") else []
    return ", ".join([*told, f"{row['duration_s']:.1f} s", f"trial {entry.trial_id}"])


@contextlib.contextmanager
def signals(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` for a signal that asks this process to end. It raises nothing: what is being written gets whole."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        handle()

    asked = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        asked.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in asked}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, asked)  # the app holds them back until somebody listens
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
