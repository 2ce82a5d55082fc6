"""Groups: the trials of one configuration, which take turns on a machine, and what the baseline's turns say of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench_engine.measure import ratios, starts
from bench_engine.plan.planning import Planned
from bench_engine.run.groups.recording import fault
from bench_engine.trial import Paired, Trial, TrialResult

# Live workers of one group, the baseline among them: each holds a table, and each turn waits for all others.
MOST_WORKERS = 8

_Work = tuple[str, str, object]


@dataclass(frozen=True)
class Group:
    """Trials that take turns.

    Attributes:
        members: the trials to run and to record; the baseline first where it is among them.
        reference: the baseline where it has its result already: it takes turns with the others again, so that they are
            compared with it as it is now, and what it yields is not recorded.
    """

    members: tuple[Planned, ...]
    reference: Trial | None = None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All that run, the baseline first."""
        own = tuple(m.trial for m in self.members)
        return own if self.reference is None else (self.reference, *own)

    def label(self) -> str:
        """Short text for progress lines."""
        label = self.members[0].trial.label()
        others = len(self.trials) - 1
        return f"{label}, taking turns with {others} more" if others else label


def grouped(planned: Sequence[Planned]) -> list[Group]:
    """The groups of what is to do in a plan, in its order; at most MOST_WORKERS trials in each."""
    baselines: dict[_Work, list[Planned]] = {}
    for p in planned:
        worked = p.fate == "done" and p.before == "ok" and not p.trial.skip_reason
        if p.trial.is_baseline and (p.fate == "todo" or worked):
            baselines.setdefault(_work(p.trial), []).append(p)
    company: dict[tuple[_Work, str], tuple[Planned | None, list[Planned]]] = {}
    for p in planned:
        if p.fate == "todo":
            baseline = _baseline_of(p, baselines.get(_work(p.trial), []))
            key = _work(p.trial), baseline.identity if baseline else ""
            company.setdefault(key, (baseline, []))[1].append(p)
    return [group for baseline, members in company.values() for group in _split(baseline, members)]


def _work(trial: Trial) -> _Work:
    return trial.benchmark, trial.comparison(), trial.config.get("seed")


def _baseline_of(p: Planned, baselines: Sequence[Planned]) -> Planned | None:
    """The baseline to compare a trial with: itself, else the one of its size, else the first."""
    size = p.trial.config.get("compression")
    by_fit = sorted(baselines, key=lambda b: (b is not p, b.trial.config.get("compression") != size))
    return by_fit[0] if by_fit else None


def _split(baseline: Planned | None, members: Sequence[Planned]) -> list[Group]:
    others = [m for m in members if m is not baseline]
    size = MOST_WORKERS if baseline is None else MOST_WORKERS - 1
    parts = [tuple(others[i : i + size]) for i in range(0, len(others), size)] or [()]
    if baseline is None:
        return [Group(part) for part in parts]
    if baseline.fate == "todo":
        return [Group((baseline, *parts[0])), *(Group(part, baseline.trial) for part in parts[1:])]
    return [Group(part, baseline.trial) for part in parts]


def compared(results: Sequence[TrialResult], baseline: TrialResult) -> list[TrialResult]:
    """The results, those that can be compared with the baseline's turns completed by how they stand to it."""
    return [r if r is baseline else replace(r, paired=_paired(r, baseline)) for r in results]


def _paired(result: TrialResult, baseline: TrialResult) -> Paired | None:
    if any(r.status != "ok" or not r.turn_sizes or fault(r) for r in (result, baseline)):
        return None
    try:
        of_baseline, own = (
            starts.by_start(ratios.turns(r.samples_us, r.turn_sizes), r.start_turns) for r in (baseline, result)
        )
        ratio = starts.paired(of_baseline, own)
    except ValueError:  # no samples, or a median of 0
        return None
    low, high = (ratio.low, ratio.high) if ratio.known else (None, None)
    latency_us = starts.median(own).value if len(own) > 1 else float(np.median(result.samples_us))
    between = 0.0 if min(len(of_baseline), len(own)) > 1 else ratios.BETWEEN_PROCESSES
    return Paired(ratio.value * latency_us, low, high, ratios.verdict(ratio, between=between))
