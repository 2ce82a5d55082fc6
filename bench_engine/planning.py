"""What a sweep still has to do: each trial with its identity, what became of it before, and how long it may take."""

import contextlib
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bench_engine import machine as this_machine
from bench_engine.registry import benchmark, method
from bench_engine.sweep import Sweep, SweepError, expand_parts, first_look
from bench_engine.sweep_search import Chosen
from bench_engine.trial import Stop, Trial
from db import journal
from db.settings import db_url, journal_dir
from db.store import Store, StoreError

Fate = Literal["todo", "done", "skip"]
_FAILED = ("failed", "timeout", "oom")
SKIPPED_BY_PLAN = {"skipped_by": "plan"}  # environment of a trial that no worker saw; its reason may go


@dataclass(frozen=True)
class Planned:
    """One trial of a plan.

    Attributes:
        identity: what makes it the same trial in every sweep.
        fate: todo (it will run), done (there is a result, or a failure that is not retried), skip (it cannot run).
        before: status of its last attempt; empty for none.
        attempt: number of the attempt that comes next.
        reason: why it is skipped; recorded: whether the journal says so already.
        seconds: estimate of its time.
        part: index of its part in the plan's `parts`.
    """

    trial: Trial
    identity: str
    fate: Fate
    before: str
    attempt: int
    reason: str
    recorded: bool
    seconds: float
    part: int = 0


@dataclass(frozen=True)
class Plan:
    """The trials of a sweep in the order in which they run, and what its parts chose."""

    sweep: Sweep
    overrides: tuple[str, ...]
    machine: dict[str, Any]
    trials: tuple[Planned, ...]
    parts: tuple[Chosen, ...] = ()

    def of(self, fate: Fate) -> list[Planned]:
        return [p for p in self.trials if p.fate == fate]

    @property
    def seconds(self) -> float:
        """Estimate of the time that is left."""
        return sum(p.seconds for p in self.trials if p.fate == "todo")


def plan(
    sweep: Sweep,
    overrides: Sequence[str] = (),
    url: str | None = None,
    retry_failed: bool = False,
    force: bool = False,
    quick: bool = False,
) -> Plan:
    """What is to be run of a sweep on this machine.

    Args:
        overrides: see bench_engine.sweep.expand.
        url: the results; their journal says what is done.
        retry_failed: run again what failed.
        force: run everything again.
        quick: a first look, each trial with a shorter stop rule. What has a thorough result (by the sweep's own stop
            rule or the default one) is done, even with `force`: a newer, rougher result would take its place.

    Raises SweepError.
    """
    url = db_url(url)
    parts = expand_parts(sweep, overrides)
    machine = this_machine.machine()
    folder = journal_dir(url)
    attempts = journal.attempts([folder])
    history = _History(url, machine["machine_id"])
    planned: dict[str, Planned] = {}
    for part, full in ((part, trial) for part, chosen in enumerate(parts) for trial in chosen.trials):
        trial = first_look(full) if quick else full
        thorough = _thorough(full, attempts, machine["machine_id"]) if trial.stop != full.stop else ""
        identity = thorough or identity_of(trial, machine["machine_id"])
        if identity in planned:  # two parts of the sweep meet in one trial
            continue
        before = _Before(attempts.get(identity, {}), folder, identity)
        fate, reason, recorded = _fate(trial, before, retry_failed, force and not thorough)
        number = 1 + max([0, *before.tries, *history.attempts.get(identity, ())])
        seconds = history.seconds(full, full.stop.max_seconds - trial.stop.max_seconds) if fate == "todo" else 0.0
        planned[identity] = Planned(trial, identity, fate, before.last, number, reason, recorded, seconds, part)
    return Plan(sweep, tuple(overrides), machine, tuple(planned.values()), parts)


def _thorough(trial: Trial, attempts: Mapping[str, Mapping[int, str]], machine_id: str) -> str:
    """Identity of the trial, or of the same one with the default stop rule, that has a result; empty for none."""
    for full in (trial, replace(trial, stop=Stop())):
        identity = identity_of(full, machine_id)
        if "ok" in attempts.get(identity, {}).values():
            return identity
    return ""


def identity_of(trial: Trial, machine_id: str) -> str:
    """What makes a trial the same trial in every sweep. Raises SweepError where a kernel's source cannot be read."""
    try:
        source = method(trial.method).source_hash()
    except OSError as error:
        raise SweepError(
            f"The source of the method {trial.method} cannot be read ({error.filename}: {error.strerror}): "
            "mend the checkout, or leave the method out."
        ) from error
    return trial.identity(source, machine_id, benchmark(trial.benchmark).measurement)


@dataclass(frozen=True)
class _Before:
    """What the journal says of earlier attempts at a trial."""

    tries: dict[int, str]
    folder: Path
    identity: str

    @property
    def last(self) -> str:
        return self.tries[max(self.tries)] if self.tries else ""

    def skipped_by_worker(self) -> str:
        """Why a worker skipped the trial; empty where the plan did, or where that is lost."""
        entry = journal.read(self.folder, f"{self.identity}-{max(self.tries)}", self.last)
        if entry is None or entry.trial.get("environment") == json.dumps(SKIPPED_BY_PLAN):
            return ""
        return str(entry.trial.get("error", ""))


def _fate(trial: Trial, before: _Before, retry_failed: bool, force: bool) -> tuple[Fate, str, bool]:
    """What happens to a trial, why it is skipped, and whether the journal says so already."""
    if not force and "ok" in before.tries.values():
        return "done", "", False
    if not force and not retry_failed and before.last in _FAILED:
        return "done", "", False
    if trial.skip_reason:
        return "skip", trial.skip_reason, before.last == "skipped"
    if before.last == "skipped" and not (force or retry_failed) and (reason := before.skipped_by_worker()):
        return "skip", reason, True
    return "todo", "", False


class _History:
    """What the results know of earlier trials on this machine; nothing where they cannot be read now."""

    def __init__(self, url: str, machine_id: str) -> None:
        self.attempts: dict[str, list[int]] = {}
        durations: dict[tuple[str, ...], list[float]] = {}
        sql = "SELECT trial_id, benchmark, method, dataset, status, duration_s FROM trials WHERE machine_id = :machine"
        rows: list[dict[str, Any]] = []
        store = Store(url, lock_wait_s=0.5)
        with contextlib.suppress(StoreError):  # an estimate is not worth an error
            rows = store.rows(sql, machine=machine_id)
            journal.recover(store)
        for row in rows:
            identity, _, number = row["trial_id"].rpartition("-")
            if number.isdecimal():
                self.attempts.setdefault(identity, []).append(int(number))
            if row["status"] == "ok" and row["duration_s"]:
                for key in ((row["benchmark"], row["method"], row["dataset"] or ""), (row["benchmark"],)):
                    durations.setdefault(key, []).append(row["duration_s"])
        self._usual = {key: statistics.median(values) for key, values in durations.items()}

    def seconds(self, trial: Trial, less: float = 0.0) -> float:
        """Median duration of trials like this one, else the benchmark's own guess; less so many seconds of sampling.

        At least a quarter is left: the trials before may have been short themselves.
        """
        like = (trial.benchmark, trial.method, str(trial.config.get("dataset", "")))
        usual = self._usual.get(like) or self._usual.get((trial.benchmark,)) or benchmark(trial.benchmark).seconds
        return max(usual - less, usual / 4)
