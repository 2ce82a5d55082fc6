"""Groups on this machine, one at a time: a live worker per trial, of which one works at any moment."""

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from bench_engine.machine import hardware, memory
from bench_engine.machine import machine as this_machine
from bench_engine.machine.lock import machine_lock
from bench_engine.plan.planning import Site, this_site
from bench_engine.registry import benchmark
from bench_engine.run.executors import GroupResult, Running
from bench_engine.run.executors.bandwidth_ahead import BandwidthAhead
from bench_engine.run.executors.pinning import pin, quietest_cores
from bench_engine.run.executors.process import WorkerProcess, wait_for
from bench_engine.run.groups import recording
from bench_engine.run.groups.group import Group, compared
from bench_engine.run.groups.joined_starts import Spent, another, joined, share
from bench_engine.trial import Trial, TrialResult

_TELL_S = 1.0  # from one word on how far a group is to the next
_SPARE = 0.95  # share of the free memory that a trial without a limit of its own may take


class LocalExecutor:
    """Runs groups on this machine."""

    at_once = 1

    def __init__(self, prepare: Callable[[], object] = bool) -> None:
        """`prepare` is called ahead of all trials, once the machine is held."""
        self._prepare = prepare
        self._workers: list[WorkerProcess] = []
        self._bandwidth = BandwidthAhead()
        self._killed = False
        self._between: Callable[[], object] = bool

    @staticmethod
    def holding(
        sweep: str, wait: bool, waiting: Callable[[str], None], cancelled: Callable[[], bool]
    ) -> AbstractContextManager[None]:
        """Hold the lock of this machine."""
        return machine_lock(sweep, wait, waiting, cancelled)

    def sites(self) -> Sequence[Site]:
        """This machine alone."""
        self._prepare()
        return (this_site(),)

    def run(self, groups: Sequence[Group], running: Running) -> Iterator[GroupResult]:
        """Run the groups one after the other."""
        machine, code_version = this_machine.machine(), this_machine.code_version()
        useless: set[str] = set()  # references that failed: no other group is to wait for one again
        for group in groups:
            if group.reference and group.reference.configuration() in useless:
                group = replace(group, reference=None)
            running(group.label(), group)
            started_at, began = recording.now(), time.monotonic()
            self._between = _now_and_then(partial(running, group.label(), group))
            results = self.execute(group.trials)
            if self._killed:
                return
            if group.reference and results[0].status != "ok":
                useless.add(group.reference.configuration())
            own = results if group.reference is None else results[1:]
            yield GroupResult(group, tuple(own), started_at, machine, code_version, time.monotonic() - began)
            if self._killed:  # while its trials were written down
                return

    def kill(self) -> None:
        """End all workers; none is started any more."""
        self._killed = True
        self._bandwidth.kill()
        for worker in self._workers:
            worker.kill()

    def execute(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """The results of trials that take turns; all but the first are compared with it where it is the baseline.

        One that ran out of memory beside others is tried again beside the baseline only, and then alone.
        """
        if benchmark(trials[0].benchmark).beside_memory:
            self._bandwidth.known(_threads(trials), self._between)
        results = self._turns(trials)
        company = trials[:1] if trials[0].is_baseline and results[0].status == "ok" else []
        for index, trial in enumerate(trials):
            fewer = [[*company, trial], [trial]] if company else [[trial]]
            for again in fewer:
                if results[index].status == "oom" and len(again) < len(trials) and not self._killed:
                    results[index] = self._turns(again)[-1]
        return results

    def _turns(self, trials: Sequence[Trial]) -> list[TrialResult]:
        results = self._side_by_side(trials)
        if len(trials) > 1:
            group_id = secrets.token_hex(6)
            results = [replace(r, group_id=group_id) for r in results]
        if not trials[0].is_baseline:
            return results
        told = {"compared_with": trials[0].method}
        return [
            replace(r, environment={**r.environment, **told}) if r.paired else r for r in compared(results, results[0])
        ]

    def _side_by_side(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """The results over as many starts as are asked for and worth their time."""
        started: list[WorkerProcess | TrialResult] = []
        least = benchmark(trials[0].benchmark).starts
        order = random.Random(trials[0].to_json())
        of_starts: list[list[TrialResult]] = []
        spent: list[Spent] = []
        try:
            while True:
                begin = time.monotonic()
                if of_starts:
                    self._begin_again(trials)
                else:
                    self._set_up(trials if least == 1 else [share(t) for t in trials], started, least > 1)
                ready = time.monotonic()
                self._pin(trials)
                _take_turns(self._workers, order, self._between)
                _finish(self._workers, self._between)
                of_starts.append([s.outcome() if isinstance(s, WorkerProcess) else s for s in started])
                spent.append(Spent(ready - begin, time.monotonic() - ready))
                results = [joined(of_trial) for of_trial in zip(*of_starts, strict=True)]
                if least == 1 or self._killed or not self._in_time(len(of_starts)):
                    return results
                if not another(least, spent, compared(results, results[0]) if trials[0].is_baseline else results):
                    return results
        finally:
            for worker in self._workers:
                worker.free()
            self._workers = []

    def _in_time(self, starts: int) -> bool:
        """Whether there is a trial to start again, and each has the time for it."""
        able = [w for w in self._workers if w.result is not None and w.result.status == "ok"]
        return bool(able) and all(w.seconds * (starts + 1) / starts < w.trial.time_limit_s for w in able)

    def _set_up(
        self, trials: Sequence[Trial], started: list[WorkerProcess | TrialResult], several_starts: bool
    ) -> None:
        """Start the workers; set-up is not timed, so as many at once as the machine has cores."""
        free = int(memory.available_bytes() * _SPARE)
        at_once = max(1, hardware.cores() // _threads(trials))
        for first in range(0, len(trials), at_once):
            for trial in trials[first : first + at_once]:
                limit = trial.memory_limit_gb
                started.append(self._started(trial, free if limit is None else int(limit * 1e9), several_starts))
            wait_for([s for s in started[first:] if isinstance(s, WorkerProcess)], self._between)

    def _begin_again(self, trials: Sequence[Trial]) -> None:
        """Start those anew that have a result."""
        able = [w for w in self._workers if w.result is not None and w.result.status == "ok"]
        at_once = max(1, hardware.cores() // _threads(trials))
        for first in range(0, len(able), at_once):
            for worker in able[first : first + at_once]:
                worker.again()
            wait_for(able[first : first + at_once], self._between)

    def _started(self, trial: Trial, memory_bytes: int, several_starts: bool) -> WorkerProcess | TrialResult:
        if self._killed:
            return TrialResult("cancelled")
        try:
            worker = WorkerProcess(trial, memory_bytes, several_starts)
        except OSError as error:  # no space for temporary files, no process or memory left
            sentence = (
                f"The worker could not be run: {error.strerror}. Mend that (space for temporary files, number of "
                "processes, memory) and start again with --retry-failed."
            )
            return TrialResult("failed", error=sentence)
        self._workers.append(worker)
        if self._killed:  # the signal came while it was being started
            self.kill()
        return worker

    def _pin(self, trials: Sequence[Trial]) -> None:
        """Keep the workers where there is least to do. Set-up is over: it may use all cores."""
        live = [w.pid for w in self._workers if w.result is None]
        if live and (cores := quietest_cores(_threads(trials))):
            pin(live, cores)


def _threads(trials: Sequence[Trial]) -> int:
    return max(int(t.config.get("threads", 1)) for t in trials)


def _now_and_then(tell: Callable[[], object]) -> Callable[[], None]:
    """What calls `tell` when it is called, but no more often than every _TELL_S seconds."""
    told_at = time.monotonic()

    def call() -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= _TELL_S:
            told_at = time.monotonic()
            tell()

    return call


def _take_turns(workers: Sequence[WorkerProcess], order: random.Random, between: Callable[[], object]) -> None:
    """Give turns to all, round by round, as long as one needs more; those that have enough keep the others company, so
    that each turn has a partner. The order within a round is drawn anew, for nobody is always to follow the same one.
    `between` is called between rounds, when nothing is timed.
    """
    while any(w.state == "more" for w in workers):
        between()
        for worker in order.sample(workers, len(workers)):
            if worker.state != "ended":
                worker.tell("turn")
                wait_for([worker])


def _finish(workers: Sequence[WorkerProcess], between: Callable[[], object]) -> None:
    for worker in workers:
        if worker.result is None:
            worker.tell("finish")
            wait_for([worker], between)
            if worker.result is None:
                worker.end_with(TrialResult("failed", error="The benchmark gave no result when it was told to finish."))
