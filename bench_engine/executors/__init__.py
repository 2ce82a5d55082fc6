"""Executors: what carries a trial to the process that runs it."""

from typing import Protocol

from bench_engine.trial import Trial, TrialResult


class Executor(Protocol):
    """Runs one trial after another."""

    def execute(self, trial: Trial) -> TrialResult:
        """Run a trial to its end. A worker that fails, hangs or dies is a result, never an exception."""

    def kill(self) -> None:
        """End the trial that is running, from a signal handler too; trials handed over later end at once."""
