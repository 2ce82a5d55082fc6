"""What a run found, from the store: each trial with its time, speedup, interval and verdict, and what weakens it.

A run keeps the list of its trials (db.runs), those that were done before it among them. Speedups are those of turns
taken with the baseline; what did not take turns has none here.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bench_engine.compare.axes_shown import order
from bench_engine.compare.compare import freedom, start_turns
from bench_engine.compare.pairs import group_by
from bench_engine.compare.sides import UsageError
from bench_engine.compare.why import environment, why
from bench_engine.measure import means
from bench_engine.measure.ratios import Ratio
from bench_engine.registry import hint
from db import journal, runs
from db.columns import AXES, GROUP_AXES, METRICS, OWN_STEP, Column
from db.runs import RunState
from db.schema import newest_first, with_implied
from db.settings import journal_dir
from db.store import Store

NOISY = 0.1  # IQR / median of samples above which a median says little
VERDICTS = ("faster", "slower", "same", "unclear")
_MOST_NAMED = 8
_STORED = tuple(name for name in METRICS if name != "speedup")
_INFO = (
    "trial_id", "status", "error", "is_baseline", "verdict", "stop_reason", "baseline_latency_us", "environment",
    "started_at", "duration_s", "code_version", "sweep", "machine_id", "comparison",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A trial that has a result.

    Attributes:
        axes: those that apply, the machine among them.
        metrics: metric -> value, those that it has.
        latency: time of a call in µs with its interval; None where nothing was timed.
        speedup: over the baseline in turns; None for the baseline itself, and where there were no turns.
        verdict: on the speedup; empty for none.
        notes: why to take care with it, sentences of `NOTES`.
        starts: how often its process was started.
        row: all that is stored of it.
    """

    axes: Mapping[str, Any]
    metrics: Mapping[str, float]
    latency: Ratio | None
    speedup: Ratio | None
    verdict: str
    is_baseline: bool
    notes: tuple[str, ...]
    starts: int
    row: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Missing:
    """A trial without a result: its axes, failed, timeout, oom, cancelled or skipped, and why, a sentence."""

    axes: Mapping[str, Any]
    status: str
    error: str


@dataclass(frozen=True)
class Mean:
    """A method over all its configurations: the geometric mean of its speedups and how often each verdict was said."""

    method: str
    over: str
    speedup: Ratio
    count: int
    verdicts: Mapping[str, int]


@dataclass(frozen=True)
class RunResults:
    """What a run found.

    Attributes:
        title: what it is, in a few words.
        name: what `show` knows it by.
        sweep: name of the sweep.
        state: of the run; None where all results of a sweep are meant.
        own: the metrics of plug-ins that some of its trials have.
    """

    title: str
    name: str
    sweep: str
    state: RunState | None
    measured: tuple[Measured, ...]
    missing: tuple[Missing, ...]
    own: tuple[Column, ...] = ()

    @cached_property
    def benchmarks(self) -> dict[str, list[Measured]]:
        """Benchmark -> its trials."""
        found: dict[str, list[Measured]] = defaultdict(list)
        for measured in self.measured:
            found[measured.axes["benchmark"]].append(measured)
        return dict(found)

    @cached_property
    def means(self) -> dict[str, list[Mean]]:
        """Benchmark -> what its methods come to, the fastest first."""
        return {name: found for name, trials in self.benchmarks.items() if (found := _means(trials))}

    @cached_property
    def why(self) -> dict[str, list[str]]:
        """Benchmark -> what its methods do otherwise than the baseline, those that are faster or slower and tell it."""
        return {name: found for name, trials in self.benchmarks.items() if (found := _why(trials))}

    @cached_property
    def notes(self) -> dict[str, str]:
        """Sentence of `NOTES` that applies to a trial -> the letter that stands for it."""
        applying = {note for measured in self.measured for note in measured.notes}
        return {note: chr(ord("a") + i) for i, note in enumerate(note for note, _ in NOTES if note in applying)}

    @property
    def warnings(self) -> list[str]:
        """The notes as lines: letter, how many trials, the sentence."""
        counts = Counter(note for measured in self.measured for note in measured.notes)
        return [f"{letter}  {counts[note]} of {len(self.measured)} {note}" for note, letter in self.notes.items()]

    @cached_property
    def reasons(self) -> dict[tuple[str, str], int]:
        """(status, why) of the trials without a result -> how many, the most frequent first."""
        return dict(Counter((m.status, m.error) for m in self.missing).most_common())

    @property
    def origin(self) -> str:
        """When, where and with which code it was measured, in one line."""
        rows = [m.row for m in self.measured]
        if not rows:
            return ""
        first, last = (f"{at(row['started_at'] for row in rows):%Y-%m-%d %H:%M}" for at in (min, max))
        when = first if first == last else f"{first} to {last[11:] if last[:10] == first[:10] else last}"
        machines, commits = (list(dict.fromkeys(row[key] for row in rows)) for key in ("machine", "code_version"))
        told = [*(str(m) for m in machines[:2]), *(["..."] if len(machines) > 2 else [])]
        code = ", ".join(str(c) for c in commits[:3]) + (" ..." if len(commits) > 3 else "")
        return f"{when} UTC; {'; '.join(told)}; commit {code}"


def of_run(store: Store, name: str = "") -> RunResults:
    """The results of a run by its id, the beginning of one, `last`, or the name of a sweep; the last run without one.

    Of a sweep that has no run with a list of its trials all newest results in the store count. Raises UsageError for a
    name that there is none of, and StoreError.
    """
    journal.look_into(store)
    folder = journal_dir(store.url)
    states = runs.read_all(folder)
    state = _state(states, name)
    if state is None:
        return _of_sweep(store, name, [s.run_id for s in states])
    ids = runs.trials_of(folder, state.run_id)
    if not ids and state.total:
        found = _of_sweep(store, state.sweep, [])
        return RunResults(
            f"Sweep {state.sweep}, all its results", state.run_id, state.sweep, state, found.measured, found.missing
        )
    return _results(store, f"Run {state.run_id} of sweep {state.sweep}", state.run_id, state, state.sweep, ids)


def _state(states: Sequence[RunState], name: str) -> RunState | None:
    """The run that is meant, of all from the newest to the oldest; None where it is no run's name."""
    if name in ("", "last"):
        if not states:
            raise UsageError("There is no run yet: `python -m bench_engine run quick` makes one.")
        return next((s for s in states if s.total), states[0])  # not one that waits, or ended before it began
    tests: tuple[Callable[[RunState], bool], ...] = (
        lambda s: s.run_id == name,
        lambda s: s.sweep == name,
        lambda s: s.run_id.startswith(name),
    )
    for number, test in enumerate(tests):
        fitting = [s for s in states if test(s)]
        if number == 2 and len(fitting) > 1:
            raise UsageError(f"{name!r} may mean {len(fitting)} runs: {_listed([s.run_id for s in fitting])}.")
        if fitting:
            return fitting[0]
    return None


def _of_sweep(store: Store, name: str, run_ids: Sequence[str]) -> RunResults:
    sweeps = [row["sweep"] for row in store.rows("SELECT DISTINCT sweep FROM trials WHERE sweep IS NOT NULL")]
    if name not in sweeps:
        known = [*dict.fromkeys([*run_ids[:_MOST_NAMED], *sorted(sweeps)])]
        raise UsageError(
            f"There is no run or sweep {name!r} in the results{hint(name, known)} There are: {_listed(known)}."
        )
    sql = f"SELECT trial_id FROM ({newest_first('t.sweep = :sweep', 't.trial_id', ok_first=True)}) AS t WHERE age = 1"
    ids = [row["trial_id"] for row in store.rows(sql, sweep=name)]
    return _results(store, f"Sweep {name}, all its results", name, None, name, ids)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (", ".join(names[:_MOST_NAMED]) or "none") + more


def _results(store: Store, title: str, name: str, state: RunState | None, sweep: str, ids: Sequence[str]) -> RunResults:
    """The results of some trials."""
    columns = ", ".join(
        [*(f"{with_implied(axis)} AS {axis}" for axis in AXES), *(f"t.{n}" for n in (*_INFO, *_STORED))]
    )
    sql = f"""SELECT {columns}, coalesce(m.name, t.machine_id) AS machine, m.cores FROM trials AS t
        LEFT JOIN machines AS m ON t.machine_id = m.machine_id
        WHERE t.trial_id IN (SELECT unnest(string_to_array(:ids, ',')))"""
    rows = store.rows(sql, ids=",".join(ids)) if ids else []
    own = store.own_metrics()
    _put_own(store, rows, own)
    ok = [row for row in rows if row["status"] == "ok"]
    baselines: dict[str, set[str]] = defaultdict(set)
    for benchmark, of_one in group_by(ok, lambda row: row["benchmark"]).items():
        for some in ([row for row in of_one if row["sweep"] == sweep], of_one):
            told = (row["method"] if row["is_baseline"] else environment(row).get("compared_with") for row in some)
            baselines[benchmark] = {str(over) for over in told if over}
            if baselines[benchmark]:
                break  # what it ran itself says over what
    measured = [_measured(row, baselines.get(row["benchmark"], set()), [c.name for c in own]) for row in ok]
    missing = [
        Missing(_axes(row), row["status"], " ".join(str(row["error"] or "No reason is known.").split()))
        for row in rows
        if row["status"] != "ok"
    ]
    measured.sort(key=_beside)
    there = tuple(c for c in own if any(c.name in m.metrics for m in measured))
    return RunResults(title, name, sweep, state, tuple(measured), tuple(sorted(missing, key=order)), there)


def _put_own(store: Store, rows: Sequence[dict[str, Any]], own: Sequence[Column]) -> None:
    """Put the metrics of plug-ins into the rows of trials."""
    sql = f"""SELECT trial_id, metric, value FROM curve_points WHERE step = {OWN_STEP}
        AND trial_id IN (SELECT unnest(string_to_array(:ids, ',')))"""
    of = {row["trial_id"]: row for row in rows}
    for point in store.rows(sql, ids=",".join(of)) if own and of else ():
        of[point["trial_id"]][point["metric"]] = point["value"]


def _beside(measured: Measured) -> tuple[Any, ...]:
    """Sorts by the work that is done, then the baseline and the other methods."""
    work = [(axis in measured.axes, str(type(v := measured.axes.get(axis))), v or 0) for axis in GROUP_AXES]
    return *work, not measured.is_baseline, order(measured)


def _axes(row: Mapping[str, Any]) -> dict[str, Any]:
    axes = {axis: row[axis] for axis in AXES if row[axis] is not None}
    return axes | ({"machine": row["machine"]} if row["machine"] else {})


def _measured(row: Mapping[str, Any], baselines: Collection[str], own: Sequence[str]) -> Measured:
    """A trial beside these baselines: a speedup over another one, which an earlier run had, is none here."""
    time_us, latency = row["latency_us"], None
    compared_with = environment(row).get("compared_with")
    beside = not baselines or compared_with is None or str(compared_with) in baselines
    is_baseline = row["method"] in baselines if baselines else bool(row["is_baseline"])
    if time_us:
        latency = Ratio(time_us, row["latency_ci_low_us"] or 0.0, row["latency_ci_high_us"] or math.inf, freedom(row))
    speedup = None
    if latency and row["baseline_latency_us"] and not is_baseline and beside:
        low, high = row["speedup_ci_low"] or 0.0, row["speedup_ci_high"] or math.inf
        speedup = Ratio(row["baseline_latency_us"] / time_us, low, high, freedom(row))
    starts = max(1, len(start_turns(row)))
    facts = {
        **row, "environment": environment(row), "speedup": speedup, "compared": bool(baselines), "starts": starts,
        "is_baseline": is_baseline,
    }  # fmt: skip
    notes = tuple(sentence for sentence, applies in NOTES if latency and applies(facts))
    metrics = {name: row[name] for name in (*_STORED, *own) if row.get(name) is not None}
    if speedup:
        metrics["speedup"] = speedup.value
    return Measured(
        _axes(row), metrics, latency, speedup, row["verdict"] or "" if speedup else "", is_baseline, notes, starts,
        row,
    )  # fmt: skip


def _busy(facts: Mapping[str, Any]) -> bool:
    load = facts["environment"].get("load_before")
    return isinstance(load, int | float) and load > (facts["cores"] or 1)


# What speaks against a result: the sentence, which goes on after "3 of 12", and when it applies.
NOTES: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    (
        "stopped at the time cap of the stop rule with a noise above 10 %: close other work, or give `max_seconds` of "
        "`stop` in the sweep more.",
        lambda f: f["stop_reason"] == "time_cap" and (f["noise"] or 0) > NOISY,
    ),
    (
        "have samples that vary by more than 10 % (IQR / median): close other work and run them again with --force.",
        lambda f: f["stop_reason"] != "time_cap" and (f["noise"] or 0) > NOISY,
    ),
    ("began while more processes than cores wanted to work: close other work, and --force.", _busy),
    (
        "leave open whether they are faster or slower: more samples (`min_samples` of `stop`) or a quieter machine "
        "would tell.",
        lambda f: f["speedup"] is not None and f["verdict"] == "unclear",
    ),
    (
        "were measured in one start of their process: what differs between two starts is not in the interval.",
        lambda f: f["speedup"] is not None and f["starts"] == 1,
    ),
    (
        "have no speedup, since no baseline took turns with them: --force measures both beside each other.",
        lambda f: f["compared"] and not f["is_baseline"] and f["speedup"] is None,
    ),
)


def _means(trials: Sequence[Measured]) -> list[Mean]:
    """What each method comes to over its configurations, where there are speedups."""
    baselines = list(dict.fromkeys(m.axes["method"] for m in trials if m.is_baseline))
    found: dict[str, list[Measured]] = defaultdict(list)
    for measured in trials:
        if measured.speedup and 0 < measured.speedup.value < math.inf:
            found[measured.axes["method"]].append(measured)
    over = " or ".join(baselines) or "the baseline"

    def configuration(measured: Measured) -> Any:
        return frozenset((axis, value) for axis, value in measured.axes.items() if axis != "seed")

    results = [
        Mean(
            method,
            over,
            means.over_configurations((configuration(m), m.speedup) for m in of_method if m.speedup),
            len({configuration(m) for m in of_method}),
            {word: n for word in VERDICTS if (n := sum(m.verdict == word for m in of_method))},
        )
        for method, of_method in found.items()
    ]
    return sorted(results, key=lambda mean: -mean.speedup.value)


def _why(trials: Sequence[Measured]) -> list[str]:
    """Of each method beside the baseline of the same work, in the order in which the methods come."""

    def work(measured: Measured) -> tuple[Any, ...]:
        return measured.row["comparison"], measured.row["machine_id"], measured.axes.get("seed")

    baselines = {work(m): m for m in trials if m.is_baseline}
    pairs: dict[tuple[str, str], list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = defaultdict(list)
    clear = {m.axes["method"] for m in trials if m.verdict in VERDICTS[:2]}
    for measured in trials:
        if measured.speedup and measured.axes["method"] in clear and (baseline := baselines.get(work(measured))):
            pairs[baseline.axes["method"], measured.axes["method"]].append((baseline.row, measured.row))
    return [told for (a, b), of_both in pairs.items() if (told := why(of_both, a, b))]
