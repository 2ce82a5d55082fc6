"""What runs on a node of a Ray cluster: one group after another, under the lock of that machine. Imports no Ray.

It writes nothing but temporary files and the compiled kernels; what came out goes back to the driver.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from bench_engine.kernels.native import extension
from bench_engine.machine import machine as this_machine
from bench_engine.machine.lock import MachineBusyError, machine_lock
from bench_engine.methods.identity import torch_version
from bench_engine.plan.planning import SKIPPED_BY_PLAN
from bench_engine.registry.readiness import SkipReasons, kernels_built
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups import recording
from bench_engine.trial import Scalar, Trial, TrialResult
from db import installation


@dataclass(frozen=True)
class Answer:
    """What became of a group that a node was given.

    Attributes:
        results: one per trial; empty where the group was not run.
        started_at: naive UTC, by the node's clock.
        busy: who else uses the machine; the group was not run.
        lacks: why a trial of the group cannot run there; the group was not run.
    """

    results: tuple[TrialResult, ...] = ()
    started_at: datetime | None = None
    busy: str = ""
    lacks: str = ""


_SOURCES = (
    *(("bench_engine", pattern) for pattern in ("*.py", "*.h", "*.tl")),
    ("db", "*.py"),
    ("csrc", "*.*"),
    *(("mirror", pattern) for pattern in ("*.py", "*.yaml", "*.json", "*.npz")),  # what readers of questions are
)


@cache
def code() -> str:
    """Hash of all that must be the same on the driver and on its nodes: sources, Python and torch (12 hex digits)."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}{torch_version()}".encode())
    for folder, pattern in _SOURCES:
        top = installation.path(folder)
        for path in sorted(top.rglob(pattern)):
            digest.update(f"{folder}/{path.relative_to(top).as_posix()}".encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


class Node:
    """The engine on one node, called by the driver. Trials come as JSON: their mappings cannot be pickled."""

    def __init__(self) -> None:
        self._executor = LocalExecutor()
        self._skip = SkipReasons()
        # Workers die with the thread that started them (PR_SET_PDEATHSIG), so all are started by one thread that lives
        # as long as this process; whose threads run its methods is Ray's own affair.
        self._hand = ThreadPoolExecutor(1, initializer=_normal_priority)

    def facts(self) -> dict[str, Any]:
        """What the driver must know of this node, in plain values: its code may be another."""
        return {
            "code": code(),
            "code_version": this_machine.code_version(),
            "machine": this_machine.machine(),
            "warnings": [*this_machine.warnings(), *self._hand.submit(_priority_warnings).result()],
            "built": kernels_built(),
        }

    def build(self) -> str:
        """Compile the kernels for this machine. Returns why that was not possible, as a sentence; empty if it was."""
        try:
            with machine_lock("kernels", wait=True, waiting=lambda _sentence: None, kind="Build of"):
                extension.build()
        except (MachineBusyError, extension.CompilerMissingError, extension.CompileError, OSError) as error:
            return str(error).partition("\n")[0].rstrip(":.") + "."
        finally:
            self._skip = SkipReasons()
        return ""

    def reasons(self, asked: Sequence[tuple[str, dict[str, Scalar], str]]) -> list[str]:
        """Why each (method, configuration, benchmark) cannot run here; empty for one that can."""
        return [self._skip.of(*question) for question in asked]

    def run(self, sweep: str, trials: Sequence[str], anyhow: bool) -> Answer:
        """Run the trials of a group; one that cannot run here is `skipped` when it is to be run anyhow, else nothing
        is run."""
        return self._hand.submit(self._run, sweep, [Trial.from_json(t) for t in trials], anyhow).result()

    def end(self) -> None:
        """End what is running."""
        self._executor.kill()

    def _run(self, sweep: str, trials: Sequence[Trial], anyhow: bool) -> Answer:
        reasons = self.reasons([(t.method, dict(t.config), t.benchmark) for t in trials])
        if any(reasons) and not anyhow:
            return Answer(lacks=next(filter(None, reasons)))
        busy: list[str] = []
        try:
            with machine_lock(sweep, True, busy.append, lambda: bool(busy), kind="A group of sweep"):
                if busy:  # the driver asks again later, and may use other nodes meanwhile
                    return Answer(busy=busy[0].removesuffix("; waiting for it to end.") + ".")
                started_at = recording.now()
                able = [t for t, reason in zip(trials, reasons, strict=True) if not reason]
                ran = iter(self._executor.execute(able) if able else ())
        except MachineBusyError as error:
            return Answer(busy=str(error))
        skipped = [TrialResult("skipped", error=reason, environment=SKIPPED_BY_PLAN) for reason in reasons]
        return Answer(tuple(next(ran) if not s.error else s for s in skipped), started_at)


def _normal_priority() -> None:
    """Ray gives its processes the niceness 15, and they would hand it on to their workers: take that of Ray itself."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, os.getppid()))


def _priority_warnings() -> list[str]:
    if (niceness := os.getpriority(os.PRIO_PROCESS, 0)) <= 0:
        return []
    return [
        f"Ray runs trials at niceness {niceness}, so other work goes first: start it with RAY_worker_niceness=0 in its "
        "environment."
    ]
