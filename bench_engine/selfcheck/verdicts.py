"""Whether verdicts can be trusted on this machine: identical methods must not be told apart, a slower one must be."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench_engine.machine.lock import machine_lock
from bench_engine.registry import benchmark
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.selfcheck import SelfCheckError
from bench_engine.trial import Trial, TrialResult

AGAIN, SLOWED = "dense_again", "dense_slowed"
ENOUGH = 20  # rounds; with fewer, one in twenty is never seen
# Work beside the measuring, until the one that started it ends.
_NEIGHBOURS = {
    "busy": "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass",
    # For 0.2 to 3 s it computes and moves 32 MB about, then it is gone for as long.
    "visits": (
        "import os, random, time\nparent, some = os.getppid(), bytearray(1 << 25)\nwhile os.getppid() == parent:\n"
        "    until = time.monotonic() + random.uniform(0.2, 3)\n"
        "    while time.monotonic() < until: some = bytearray(some)\n"
        "    time.sleep(random.uniform(0.2, 3))"
    ),
}


@dataclass(frozen=True)
class VerdictReport:
    """Verdicts of all rounds.

    Attributes:
        identical: on a second process of the very same method.
        slowed: on a method slowed by ten per cent.
        rounds: number of rounds.
    """

    identical: Counter[str]
    slowed: Counter[str]
    rounds: int

    @property
    def enough(self) -> bool:
        """Whether there are rounds enough to tell."""
        return self.rounds >= ENOUGH

    @property
    def trusted(self) -> bool:
        """In twenty rounds or more, at most one in twenty identical methods is told apart, and at most two in twenty
        slowed ones are missed. An identical one that stays unclear is not told apart; where all stay unclear, the
        slowed ones are missed too."""
        right = self.identical["same"] + self.identical["unclear"]
        found = 20 * right >= 19 * self.rounds and 20 * self.slowed["slower"] >= 18 * self.rounds
        return self.enough and found

    def sentence(self) -> str:
        """What was counted and what follows from it, in plain words."""
        same, unclear = self.identical["same"], self.identical["unclear"]
        return (
            f"Identical methods: {same} times same, {unclear} unclear, {self.rounds - same - unclear} told apart. "
            f"Slowed by ten per cent: {self.slowed['slower']} of {self.rounds} times called slower. "
            + self._conclusion()
        )

    def _conclusion(self) -> str:
        if not self.enough:
            return f"These are too few rounds to tell more: {ENOUGH} are needed."
        return "Verdicts can be trusted here." if self.trusted else "Verdicts cannot be trusted here now."


def check_verdicts(rounds: int, busy: bool, say: Callable[[str], None]) -> VerdictReport:
    """Run dense, dense again and dense slowed in turns so many times; `busy` keeps one core at work meanwhile.

    Raises MachineBusyError, SelfCheckError.
    """
    if rounds < 1:
        raise SelfCheckError(f"--rounds must be at least 1, not {rounds}.")
    config = {**{a.name: a.default for a in benchmark("lookup").axes}, "batch_size": 1024}
    trials = [Trial("lookup", name, config, is_baseline=name == "dense") for name in ("dense", AGAIN, SLOWED)]
    found: dict[str, Counter[str]] = {AGAIN: Counter(), SLOWED: Counter()}
    with machine_lock("check-verdicts"), neighbour("busy" if busy else ""):
        for number in range(1, rounds + 1):
            baseline, *others = LocalExecutor().execute(trials)
            for trial, result in zip(trials[1:], others, strict=True):
                verdict, text = _judged(trial, result, baseline)
                found[trial.method][verdict] += 1
                say(f"[{number}/{rounds}] {trial.method:<13} {text}")
    return VerdictReport(found[AGAIN], found[SLOWED], rounds)


def _judged(trial: Trial, result: TrialResult, baseline: TrialResult) -> tuple[str, str]:
    if result.paired is None:
        raise SelfCheckError(f"{trial.method} cannot be compared: {result.error or baseline.error}")
    paired = result.paired
    speedup = paired.baseline_latency_us / result.metrics["latency_us"]
    interval = " to ".join(
        "?" if end is None else f"{end:.3f}" for end in (paired.speedup_ci_low, paired.speedup_ci_high)
    )
    return paired.verdict, f"{paired.verdict:<8} speedup {speedup:.3f} ({interval})"


@contextmanager
def neighbour(kind: str) -> Iterator[None]:
    """Work beside the measuring: `busy` keeps one core at work, `visits` comes and goes; none where it is empty."""
    if not kind:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _NEIGHBOURS[kind]])
    try:
        yield
    finally:
        process.kill()
        process.wait()
