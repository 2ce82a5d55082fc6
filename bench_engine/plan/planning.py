"""What a sweep still has to do: each trial with its identity, what became of it before, and how long it may take."""

import bisect
import contextlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bench_engine import plugin
from bench_engine.machine import machine as this_machine
from bench_engine.registry import benchmark, method
from bench_engine.sweep.part import SweepError
from bench_engine.sweep.search import Chosen
from bench_engine.sweep.sweep import Sweep, expand_parts, first_look
from bench_engine.trial import Stop, Trial
from db import journal
from db.settings import db_url, journal_dir
from db.store import Store, StoreError

Fate = Literal["todo", "done", "skip"]
_FAILED = ("failed", "timeout", "oom")
SKIPPED_BY_PLAN = {"skipped_by": "plan"}  # environment of a trial that no worker saw; its reason may go


@dataclass(frozen=True)
class Site:
    """A machine that trials may run on.

    Attributes:
        machine: its row of the table `machines`.
        reasons: why each of some trials cannot run there, a sentence; empty for one that can.
        warnings: what makes timings there unsure now.
    """

    machine: Mapping[str, Any]
    reasons: Callable[[Sequence[Trial]], Sequence[str]]
    warnings: tuple[str, ...] = ()

    @property
    def machine_id(self) -> str:
        """The id of the machine in the results."""
        return str(self.machine["machine_id"])


def this_site() -> Site:
    """This machine. Why a trial cannot run here was found out when the sweep was expanded."""
    return Site(this_machine.machine(), lambda trials: [t.skip_reason for t in trials], tuple(this_machine.warnings()))


@dataclass(frozen=True)
class Planned:
    """One trial of a plan.

    Attributes:
        identity: what makes it the same trial in every sweep, on the machine that speaks for it: one that has a result
            where there is one, else one that it can run on.
        fate: todo (it will run), done (there is a result, or a failure that is not retried), skip (it cannot run).
        before: ok where an attempt gave a result that counts as done, else the status of the last; empty for none.
        attempt: number of the attempt that comes next.
        reason: why it is skipped; recorded: whether the journal says so already.
        seconds: estimate of its time.
        part: index of its part in the plan's `parts`.
        site: index in the plan's `sites` of the machine that the identity names.
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
    site: int = 0


@dataclass(frozen=True)
class Plan:
    """The trials of a sweep in the order in which they run, and what its parts chose."""

    sweep: Sweep
    overrides: tuple[str, ...]
    sites: tuple[Site, ...]
    trials: tuple[Planned, ...]
    parts: tuple[Chosen, ...]
    earlier: "_Earlier" = field(repr=False, compare=False)

    def of(self, fate: Fate) -> list[Planned]:
        """The trials with this fate, in their order."""
        return [p for p in self.trials if p.fate == fate]

    @property
    def seconds(self) -> float:
        """Estimate of the time that is left."""
        return sum(p.seconds for p in self.trials if p.fate == "todo")

    def numbered(self, item: Planned, machine_id: str) -> tuple[str, int]:
        """Identity of a trial on the machine that ran it, and the number of this attempt."""
        if machine_id == self.sites[item.site].machine_id:
            return item.identity, item.attempt
        identity = identity_of(item.trial, machine_id)
        return identity, self.earlier.next_attempt(identity, machine_id)

    def stands(self, item: Planned) -> str:
        """Id of the attempt that a trial which does not run again counts by; empty for none."""
        tries = self.earlier.before(item.identity).tries
        number = max([n for n, status in tries.items() if status == "ok"] or tries, default=0)
        return f"{item.identity}-{number}" if number else ""

    def error(self, item: Planned) -> str:
        """Why the last attempt at a trial has no result; empty where that is lost."""
        return self.earlier.before(item.identity).error()


def plan(
    sweep: Sweep,
    overrides: Sequence[str] = (),
    url: str | None = None,
    retry_failed: bool = False,
    force: bool = False,
    quick: bool = False,
    sites: Sequence[Site] = (),
) -> Plan:
    """What is to be run of a sweep.

    Args:
        overrides: see bench_engine.sweep.sweep.expand.
        url: the results; their journal says what is done.
        retry_failed: run again what failed.
        force: run everything again.
        quick: a first look, each trial with a shorter stop rule. What has a thorough result (by the sweep's own stop
            rule or the default one) is done, even with `force`: a newer, rougher result would take its place.
        sites: the machines that trials may run on; this one where none is given. What is done on one of them is done,
            and only what none of them can run is skipped.

    Raises SweepError.
    """
    url = db_url(url)
    parts = expand_parts(sweep, overrides)
    sites = sites or (this_site(),)
    earlier = _Earlier(url, [site.machine_id for site in sites])
    planned: dict[str, Planned] = {}

    def at(number: int, full: Trial, cannot: str, part: int) -> Planned:
        """The trial as the machine of this number sees it."""
        trial = first_look(full) if quick else full
        machine_id = sites[number].machine_id
        thorough = earlier.thorough(full, machine_id) if trial.stop != full.stop else ""
        identity = thorough or identity_of(trial, machine_id)
        before = earlier.before(identity)
        fate, reason, recorded = _fate(cannot, before, retry_failed, force and not thorough)
        seconds = earlier.seconds(full, full.stop.max_seconds - trial.stop.max_seconds) if fate == "todo" else 0.0
        attempt = earlier.next_attempt(identity, machine_id)
        return Planned(
            replace(trial, skip_reason=cannot), identity, fate, before.counts if fate == "done" else before.last,
            attempt, reason, recorded, seconds, part, number,
        )  # fmt: skip

    for part, chosen in enumerate(parts):
        reasons = zip(*(site.reasons(chosen.trials) for site in sites), strict=True)
        for trial, reasons_of in zip(chosen.trials, reasons, strict=True):
            best = min((at(n, trial, cannot, part) for n, cannot in enumerate(reasons_of)), key=_rank)
            planned.setdefault(best.identity, best)  # two parts of the sweep may meet in one trial
    return Plan(sweep, tuple(overrides), tuple(sites), tuple(planned.values()), parts, earlier)


def _rank(p: Planned) -> int:
    """Which machine speaks for a trial: the one that has its result, a failure, or a worker's word that it cannot be
    run; then one that can run it."""
    if p.fate == "done":
        return 0 if p.before == "ok" else 1
    if p.fate == "skip" and p.reason != p.trial.skip_reason:
        return 2
    if p.fate == "todo":
        return 3
    return 4 if p.recorded else 5


def identity_of(trial: Trial, machine_id: str) -> str:
    """What makes a trial the same trial in every sweep. Raises SweepError where a kernel's source cannot be read."""
    try:
        source = plugin.with_parts(method(trial.method, trial.benchmark).source_hash(), plugin.parts_of(trial))
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

    @property
    def counts(self) -> str:
        """What a trial that does not run again counts as: one failure after a result takes nothing away."""
        return "ok" if "ok" in self.tries.values() else self.last

    def error(self, unless: Mapping[str, str] | None = None) -> str:
        """What the last attempt says it ended with; empty where that is lost, and in the environment `unless`."""
        entry = journal.read(self.folder, f"{self.identity}-{max(self.tries)}", self.last)
        if entry is None or (unless is not None and entry.trial.get("environment") == json.dumps(unless)):
            return ""
        return str(entry.trial.get("error") or "")

    def skipped_by_worker(self) -> str:
        """Why a worker skipped the trial; empty where the plan did, or where that is lost."""
        return self.error(unless=SKIPPED_BY_PLAN)


def _fate(cannot: str, before: _Before, retry_failed: bool, force: bool) -> tuple[Fate, str, bool]:
    """What happens to a trial, why it is skipped, and whether the journal says so already."""
    if not force and "ok" in before.tries.values():
        return "done", "", False
    if not force and not retry_failed and before.last in _FAILED:
        return "done", "", False
    if cannot:
        return "skip", cannot, before.last == "skipped"
    if before.last == "skipped" and not (force or retry_failed) and (reason := before.skipped_by_worker()):
        return "skip", reason, True
    return "todo", "", False


# How long trials took, those of each method and data set together: what is asked for does not grow with the results.
_DURATIONS = """SELECT benchmark, method, coalesce(dataset, '') AS dataset, count(*) AS trials,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_s) AS usual FROM trials
    WHERE machine_id = :machine AND status = 'ok' AND duration_s > 0
    GROUP BY benchmark, method, coalesce(dataset, '')"""


def _weighted_median(values: Sequence[tuple[float, int]]) -> float:
    """The median of values that stand for so many trials each."""
    ordered = sorted(values)
    passed = list(itertools.accumulate(count for _, count in ordered))
    return ordered[bisect.bisect_left(passed, passed[-1] / 2)][0]


class _Earlier:
    """What the journal and the results know of earlier trials; the results nothing where they cannot be read now."""

    def __init__(self, url: str, machine_ids: Sequence[str]) -> None:
        self._url = url
        self._folder = journal_dir(url)
        self._tries = journal.attempts([self._folder])
        self._highest: dict[str, dict[str, int]] = {}  # machine -> identity -> its last attempt in the results
        self._durations: dict[tuple[str, ...], list[tuple[float, int]]] = {}
        for machine_id in machine_ids:
            self._look(machine_id)
        self._usual = {key: _weighted_median(values) for key, values in self._durations.items()}

    def _look(self, machine_id: str) -> dict[str, int]:
        if machine_id in self._highest:
            return self._highest[machine_id]
        highest = self._highest[machine_id] = {}
        store = Store(self._url)  # waits as all do: an attempt's number that is given twice would lose a trial
        with contextlib.suppress(StoreError):  # out of reach: the journal alone tells
            for trial_id in store.trial_ids(machine_id):
                identity, _, number = trial_id.rpartition("-")
                if number == "1":  # nearly all
                    highest.setdefault(identity, 1)
                elif number.isdecimal():
                    highest[identity] = max(int(number), highest.get(identity, 0))
            for row in store.rows(_DURATIONS, machine=machine_id):
                measured = row["usual"], row["trials"]
                for key in ((row["benchmark"], row["method"], row["dataset"]), (row["benchmark"],)):
                    self._durations.setdefault(key, []).append(measured)
            journal.recover(store)
        return highest

    def before(self, identity: str) -> _Before:
        return _Before(self._tries.get(identity, {}), self._folder, identity)

    def next_attempt(self, identity: str, machine_id: str) -> int:
        """Number of the attempt that comes next."""
        return 1 + max(self._look(machine_id).get(identity, 0), *self._tries.get(identity, ()), 0)

    def thorough(self, trial: Trial, machine_id: str) -> str:
        """Identity of the trial, or of the same one with the default stop rule, that has a result; empty for none."""
        for full in (trial, replace(trial, stop=Stop())):
            identity = identity_of(full, machine_id)
            if "ok" in self.before(identity).tries.values():
                return identity
        return ""

    def seconds(self, trial: Trial, less: float = 0.0) -> float:
        """Median duration of trials like this one, else the benchmark's own guess; less so many seconds of sampling.

        At least a quarter is left: the trials before may have been short themselves.
        """
        like = (trial.benchmark, trial.method, str(trial.config.get("dataset", "")))
        usual = self._usual.get(like) or self._usual.get((trial.benchmark,)) or benchmark(trial.benchmark).seconds
        return max(usual - less, usual / 4)
