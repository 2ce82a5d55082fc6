"""An executor that needs no process."""

from collections.abc import Callable, Iterator, Sequence

from bench_engine.machine import machine
from bench_engine.run.executors import GroupResult, Running
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups import recording
from bench_engine.run.groups.group import Group
from bench_engine.trial import Trial, TrialResult


class FakeExecutor:
    """Answers without a process, and remembers the trials it was asked for."""

    def __init__(self, answer: Callable[[Trial], TrialResult] | None = None) -> None:
        self.asked: list[Trial] = []
        self.groups: list[Group] = []
        self.killed = False
        self.answer = answer or (lambda _trial: TrialResult("ok", {"latency_us": 1.0}, (1.0,)))

    at_once = 1
    holding = staticmethod(LocalExecutor.holding)
    sites = LocalExecutor().sites

    def run(self, groups: Sequence[Group], running: Running) -> Iterator[GroupResult]:
        for group in groups:
            running(group.label(), group)
            self.groups.append(group)
            self.asked += [m.trial for m in group.members]
            results = tuple(self.answer(m.trial) for m in group.members)
            if self.killed:
                return
            yield GroupResult(group, results, recording.now(), machine.machine(), "code")

    def kill(self) -> None:
        self.killed = True
