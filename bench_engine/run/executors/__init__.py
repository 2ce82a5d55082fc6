"""Executors: what carries groups of trials to the processes that run them.

From outside: the names here, bandwidth_ahead, environment, local, ray.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bench_engine.plan.planning import Site
from bench_engine.run.groups.group import Group
from bench_engine.trial import TrialResult


class ExecutorError(RuntimeError):
    """The machines that trials are to run on cannot be reached or used; the message says what to do."""


@dataclass(frozen=True)
class GroupResult:
    """What became of a group.

    Attributes:
        results: one per member of the group, in their order.
        started_at: naive UTC.
        machine: the machine that ran it, as a row of the table `machines`.
        code_version: see bench_engine.machine.machine.
        seconds: from its start to its end; None where that is not known.
    """

    group: Group
    results: tuple[TrialResult, ...]
    started_at: datetime
    machine: Mapping[str, Any]
    code_version: str
    seconds: float | None = None


Running = Callable[[str, Group | None], None]


class Executor(Protocol):
    """Runs groups, on one machine or on many."""

    @property
    def at_once(self) -> int:
        """How many groups can run at the same time now; at least 1."""

    def holding(
        self, sweep: str, wait: bool, waiting: Callable[[str], None], cancelled: Callable[[], bool]
    ) -> AbstractContextManager[None]:
        """Hold for a sweep what no other run may use meanwhile (see bench_engine.machine.lock.machine_lock)."""

    def sites(self) -> Sequence[Site]:
        """The machines that groups may run on, to be asked for while they are held."""

    def run(self, groups: Sequence[Group], running: Running) -> Iterator[GroupResult]:
        """Run groups to their ends, in this order as far as machines are free, and yield each when it is over.

        A worker that fails, hangs or dies is a result, never an exception. `running` is told, as a short text, what
        runs now, with the group where it is one alone; then again from time to time while that goes on, never in a
        turn.
        Raises ExecutorError when there is no machine left to run on.
        """

    def kill(self) -> None:
        """End what is running, from a signal handler too; `run` then yields no more."""
