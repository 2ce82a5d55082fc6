"""Compares the results of two sweeps, commits, machines, methods or times, configuration by configuration.

Trials pair up by the stored hash of what was planned (benchmark, method, every axis and the seed; not the machine and
not the code), the newest that is ok on each side, and on one machine wherever both sides have it there.

Times are compared through their samples: as turns where both trials took turns with each other, else side by side. What
is measured once per trial (memory, AUC, percentiles) is compared through its values over seeds; one seed alone tells no
interval, so that a difference stays unclear, except where the value is a count that does not vary (memory_mb). A metric
that has values below 0 is compared by differences, B - A.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bench_engine.compare import differences
from bench_engine.compare.axes_shown import order
from bench_engine.compare.differences import Difference
from bench_engine.compare.pairs import Joined, Row, filters, group_by, join, join_methods, newest, nothing_in_common
from bench_engine.compare.sides import CompareError, SameTrialsError, Side, UsageError, resolve
from bench_engine.compare.why import environment, why
from bench_engine.measure import means, ratios, starts
from bench_engine.measure.ratios import Ratio
from bench_engine.registry import hint
from db import journal
from db.columns import AXES, BY_NAME, CHOICE_AXES, Column
from db.schema import own_value
from db.store import Store

_SIZE_AXES = ("compression", "block_size")
_Pair = tuple[Row, Row]
_AxesOf = Callable[[Row, Row], dict[str, Any]]
_NONE = Ratio(math.nan, 0.0, math.inf)
TRIALS_AT_ONCE = 100  # whose samples are in memory at the same time


@dataclass(frozen=True)
class Metric:
    """How a metric is compared.

    Attributes:
        name: the column.
        words: what B is where the ratio is above 1, and where it is below.
        is_time: whether the ratio is a speedup, A / B; else it is B / A.
        margin: a ratio nearer to 1 than this is no difference.
        exact: whether it is counted, so that every difference is one.
        own: the column of a metric of a plug-in.
        by_difference: whether it is compared by B - A, since values below 0 have no ratio.
    """

    name: str
    words: tuple[str, str]
    is_time: bool = False
    margin: float = 0.001
    exact: bool = False
    own: Column | None = None
    by_difference: bool = False

    @property
    def unit(self) -> str:
        """Of its values; empty for AUC and log loss."""
        return (self.own or BY_NAME[self.name]).unit

    @property
    def sql(self) -> str:
        """Its value, of `trials AS t`."""
        return own_value(self.name) if self.own else f"t.{self.name}"

    @property
    def places(self) -> int:
        """Decimals of its ratios: those of AUC and log loss differ in the third."""
        return 2 if self.unit else 4

    @property
    def sampled(self) -> bool:
        """Whether it is compared through samples, else through its value in each trial."""
        return self.name == "latency_us"

    @property
    def formula(self) -> str:
        """Which way its ratio is taken, so that above 1 means that B is better; or its difference."""
        if self.by_difference:
            return "B - A"
        return "A / B" if self.is_time else "B / A"

    def verdict(self, ratio: Ratio, starts: int = 1) -> str:
        """One of the metric's words, same or unclear. In an interval over several starts is what processes differ."""
        between = ratios.BETWEEN_PROCESSES if self.is_time and starts == 1 else 0.0
        said = ratios.verdict(ratio, self.margin, between)
        if said != "same" and ratio.low < 1 < ratio.high:  # something against nothing, of which seeds tell too little
            return "unclear"
        return {"faster": self.words[0], "slower": self.words[1]}.get(said, said)


def _metrics() -> Iterator[Metric]:
    for name in ("latency_us", "latency_p10_us", "latency_p90_us", "latency_p95_us", "latency_p99_us"):
        yield Metric(name, ("faster", "slower"), is_time=True, margin=ratios.MARGIN)
    for name in ("memory_mb", "metadata_mb", "optimizer_mb", "peak_rss_mb"):
        exact = name != "peak_rss_mb"
        yield Metric(name, ("larger", "smaller"), margin=0.0 if exact else Metric.margin, exact=exact)
    for name in ("auc", "logloss", "regret", "kept_share", "restoration_lag_steps"):
        yield Metric(name, ("higher", "lower"))
    yield Metric("prune_share", ("higher", "lower"), margin=ratios.MARGIN)  # of times, which differ between processes


METRICS: dict[str, Metric] = {m.name: m for m in _metrics()}


@dataclass(frozen=True)
class Compared:
    """One configuration on both sides.

    Attributes:
        axes: its axes that apply, the seed only where it was compared alone; of two methods those of the second but for
            its name, and as `compared_with` the first with its size and what varies; `machine` where it is one.
        a, b: the metric; its mean where there are several seeds.
        ratio: A / B for times, else B / A; without a value where the metric is compared by differences.
        relative: the ratio of the speedups over the baselines that took turns with A and with B, where there are such.
        verdict: one of the metric's words, same or unclear.
        seeds: number of pairs of trials behind it.
        in_turns: whether both took turns with each other.
        starts: of the side with fewer, how often its process was started.
        difference: B - A, of a metric with values below 0.
    """

    axes: Mapping[str, Any]
    a: float
    b: float
    ratio: Ratio
    relative: Ratio | None
    verdict: str
    seeds: int = 1
    in_turns: bool = False
    starts: int = 1
    difference: Difference | None = None


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        by_baseline: whether the verdicts are about the change relative to the baseline.
        only_a, only_b: number of configurations that the other side lacks.
        same_trials: number of configurations whose newest trial is the very same on both sides, left out.
        other_machines: number of configurations that were compared across machines.
        left_out: number of common configurations left out since a side lacks the metric, or its baseline.
        why: benchmark -> what B does otherwise than A, a text for each of its methods that is faster or slower.
    """

    a: Side
    b: Side
    metric: Metric
    by_baseline: bool
    configurations: tuple[Compared, ...]
    only_a: int
    only_b: int
    same_trials: int
    other_machines: int
    left_out: int
    why: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def judged(self, compared: Compared) -> Ratio:
        """The ratio that the verdict is about."""
        return compared.relative if self.by_baseline and compared.relative else compared.ratio

    def counts(self) -> dict[str, int]:
        """Verdict -> number of configurations, zeros included."""
        said = [c.verdict for c in self.configurations]
        return {word: said.count(word) for word in (*self.metric.words, "same", "unclear")}

    def means(self) -> dict[str, Ratio]:
        """Means of the judged ratios by method, and over all under the name of "" where there are several (see
        bench_engine.measure.means)."""
        found: dict[str, list[tuple[Hashable, Ratio]]] = defaultdict(list)
        for compared in self.configurations:
            ratio = self.judged(compared)
            if 0 < ratio.value < np.inf:
                configuration = frozenset((axis, value) for axis, value in compared.axes.items() if axis != "seed")
                found[str(compared.axes.get("method", ""))].append((configuration, ratio))
        if len(found) > 1:
            found[""] = [ratio for of_method in list(found.values()) for ratio in of_method]
        return {method: means.over_configurations(of_method) for method, of_method in found.items()}


@dataclass(frozen=True)
class Limit:
    """A verdict that is not to be: `slower:5%`."""

    text: str
    word: str
    factor: float

    def exceeded(self, comparison: Comparison) -> list[Compared]:
        """The configurations with that verdict whose interval lies wholly beyond the limit. Raises UsageError."""
        if comparison.metric.by_difference:
            raise UsageError(
                f"--fail-on {self.text} is about a ratio, and {comparison.metric.name} has values below 0: "
                "leave it out."
            )
        above = self.word == comparison.metric.words[0]

        def beyond(ratio: Ratio) -> bool:
            return ratio.low > self.factor if above else ratio.high < 1 / self.factor

        return [c for c in comparison.configurations if c.verdict == self.word and beyond(comparison.judged(c))]


def limit(text: str, metric: Metric) -> Limit:
    """Read a limit such as `slower:5%`, for which a time ratio of 1.05 is the end. Raises UsageError."""
    match = re.fullmatch(r"(\w+):(\d{1,4}(?:\.\d{1,6})?) ?%", text)
    if not match or match[1] not in metric.words:
        choices = " or ".join(f"{word}:5%" for word in metric.words)
        raise UsageError(f"--fail-on {text} cannot be read: for {metric.name} write such as {choices}.")
    return Limit(text, match[1], 1 + float(match[2]) / 100)


def metric(name: str, store: Store | None = None) -> Metric:
    """The metric of that name, of those of plug-ins too that the results hold. Raises UsageError."""
    if name in METRICS:
        return METRICS[name]
    own: Sequence[Column] = ()
    if store and (store.path is None or store.path.exists()):
        journal.look_into(store)
        own = store.own_metrics()
    known = METRICS | {c.name: Metric(c.name, ("higher", "lower"), own=c) for c in own}
    if name not in known:
        raise UsageError(f"{name!r} cannot be compared{hint(name, known)} What can: {', '.join(known)}.")
    return known[name]


def compare(
    store: Store,
    a: str,
    b: str,
    of: Metric = METRICS["latency_us"],
    where: Sequence[str] = (),
    by_baseline: bool = False,
) -> Comparison:
    """Compare B with A, the baseline.

    Args:
        a, b: see bench_engine.compare.sides.resolve.
        of: the metric.
        where: `axis=value` or `axis=v1,v2`, of both sides; `sweep` and `machine_id` may be given like an axis.
        by_baseline: judge the change of the speedup over the baseline that each took turns with; latency_us only.

    Raises CompareError where a name is not known, or nothing is left to compare; UsageError where what was asked for
    cannot be read.
    """
    if by_baseline and not of.sampled:
        raise UsageError(
            f"--relative needs turns taken with a baseline, which {of.name} knows nothing of: leave it out."
        )
    journal.look_into(store)
    side_a, side_b = resolve(store, (a, b))
    joined = _joined(store, side_a, side_b, of, where)
    pairs = [pair for pair in joined.pairs if pair[0]["trial_id"] != pair[1]["trial_id"]]
    if not pairs:
        raise SameTrialsError(
            f"A ({side_a.text}) and B ({side_b.text}) hold the very same trials: there is no change to see."
        )
    pairs.sort(key=lambda pair: (pair[0]["trial_id"], pair[1]["trial_id"]))
    usable, speedups = _usable(store, pairs, of, by_baseline)
    of = replace(of, by_difference=any(row[of.name] < 0 for pair in usable for row in pair))
    names = {row["machine_id"]: row["name"] for row in store.rows("SELECT machine_id, name FROM machines")}
    axes = partial(_axes, named=_named(usable), machines=names)
    if of.sampled:
        found = list(_by_samples(store, usable, of, speedups, by_baseline, axes))
        told = _why(usable, [c.verdict for c in found])
    else:
        found, told = list(_by_values(usable, of, axes)), {}
    return Comparison(
        side_a,
        side_b,
        of,
        by_baseline,
        tuple(sorted(found, key=order)),
        only_a=joined.only_a,
        only_b=joined.only_b,
        same_trials=len(joined.pairs) - len(pairs),
        other_machines=sum(x["machine_id"] != y["machine_id"] for x, y in usable),
        left_out=len(pairs) - len(usable),
        why=told,
    )


def _joined(store: Store, a: Side, b: Side, of: Metric, where: Sequence[str]) -> Joined:
    """The trials of both sides that belong together. Raises CompareError where none do, and UsageError."""
    if (a.kind == "method") != (b.kind == "method"):
        raise UsageError("A method is compared with a method: write method:NAME on both sides.")
    wanted = filters(where)
    read = {of.name: of.sql}
    rows_a, rows_b = (newest(store, letter, side, read, wanted) for letter, side in (("A", a), ("B", b)))
    joined = (join_methods if a.kind == "method" else join)(rows_a, rows_b)
    if not joined.pairs:
        raise CompareError(nothing_in_common(a, rows_a, b, rows_b))
    return joined


def _usable(
    store: Store, pairs: Sequence[_Pair], of: Metric, by_baseline: bool
) -> tuple[list[_Pair], dict[str, Ratio]]:
    """The pairs that have what they are compared by, and the speedups by trial. Raises CompareError where none has."""

    def measured(row: Row) -> bool:
        return row[of.name] is not None and (row[of.name] > 0 or not of.is_time)

    usable = [pair for pair in pairs if all(map(measured, pair))]
    speedups = _speedups(store, usable) if of.sampled else {}
    if by_baseline:
        usable = [pair for pair in usable if all(row["trial_id"] in speedups for row in pair)]
    if not usable:
        lack = "a baseline that took turns with it on both sides" if by_baseline else f"{of.name} on both sides"
        raise CompareError(f"None of the {len(pairs)} configurations in common has {lack}.")
    return usable, speedups


def _why(pairs: Sequence[_Pair], verdicts: Sequence[str]) -> dict[str, list[str]]:
    """See `Comparison.why`; pairs of two machines tell of machines, and are left out."""
    clear: set[tuple[str, str, str]] = set()
    grouped: dict[tuple[str, str, str], list[_Pair]] = defaultdict(list)
    for (a, b), verdict in zip(pairs, verdicts, strict=True):
        key = str(b["benchmark"]), str(a["method"]), str(b["method"])
        if a["machine_id"] == b["machine_id"]:
            grouped[key].append((a, b))
            clear |= {key} if verdict in METRICS["latency_us"].words else set()
    found: dict[str, list[str]] = defaultdict(list)
    for key in sorted(clear):
        benchmark, method_a, method_b = key
        same = method_a == method_b
        told = why(grouped[key], f"{method_a} in A" if same else method_a, f"{method_b} in B" if same else method_b)
        found[benchmark] += [told] if told else []
    return {benchmark: told for benchmark, told in found.items() if told}


# -- ratios --------------------------------------------------------------------------------------------------------


def _speedups(store: Store, pairs: Sequence[_Pair]) -> dict[str, Ratio]:
    """Speedup over the baseline that took turns with a trial, by trial, where no doubt is which method that was."""
    sql = "SELECT DISTINCT comparison, machine_id, method FROM trials WHERE status = 'ok' AND is_baseline"
    baselines = group_by(store.rows(sql), lambda row: (row["comparison"], row["machine_id"]))
    found = {}
    for pair in pairs:
        methods = [
            {str(told)}
            if (told := environment(r).get("compared_with"))
            else {b["method"] for b in baselines.get((r["comparison"], r["machine_id"]), ())}
            for r in pair
        ]
        if methods[0] != methods[1] or len(methods[0]) != 1:
            continue
        for row in pair:
            baseline, low, high = row["baseline_latency_us"], row["speedup_ci_low"], row["speedup_ci_high"]
            if baseline and low and high and not row["is_baseline"]:
                found[row["trial_id"]] = Ratio(baseline / row["latency_us"], low, high, freedom(row))
    return found


def _by_samples(
    store: Store,
    pairs: Sequence[_Pair],
    of: Metric,
    speedups: Mapping[str, Ratio],
    by_baseline: bool,
    axes: _AxesOf,
) -> Iterator[Compared]:
    for first in range(0, len(pairs), TRIALS_AT_ONCE // 2):
        some = pairs[first : first + TRIALS_AT_ONCE // 2]
        samples = _samples(store, {row["trial_id"] for pair in some for row in pair})
        for a, b in some:
            in_turns = _took_turns(a, b)
            ratio = _of_samples(a, b, samples, in_turns)
            over = [speedups.get(row["trial_id"]) for row in (b, a)]
            relative = ratios.quotient(over[0], over[1]) if over[0] and over[1] else None
            count = min(len(start_turns(row) or (0,)) for row in (a, b))
            verdict = of.verdict(relative if by_baseline and relative else ratio, count)
            yield Compared(
                axes(a, b), a[of.name], b[of.name], ratio, relative, verdict, in_turns=in_turns, starts=count
            )


def _samples(store: Store, trial_ids: Iterable[str]) -> dict[str, list[np.ndarray]]:
    """Samples in µs by trial, one array per turn; stretches of them where there were no turns."""
    parameters = {f"trial_{i}": trial_id for i, trial_id in enumerate(trial_ids)}
    sql = f"""SELECT trial_id, array_agg(time_us ORDER BY sample) AS times, array_agg(turn ORDER BY sample) AS turns
        FROM samples WHERE trial_id IN ({", ".join(":" + name for name in parameters)}) GROUP BY trial_id"""
    return {row["trial_id"]: _turns(row["times"], row["turns"]) for row in store.rows(sql, **parameters)}


def _turns(times: Sequence[float], numbers: Sequence[int | None]) -> list[np.ndarray]:
    known = [number for number in numbers if number is not None]
    return ratios.turns(times, np.bincount(known).tolist() if len(known) == len(times) else ())


def _of_samples(a: Row, b: Row, samples: Mapping[str, list[np.ndarray]], in_turns: bool) -> Ratio:
    of_a, of_b = (samples.get(row["trial_id"]) for row in (a, b))
    if not of_a or not of_b:  # results of a source that keeps no samples
        return Ratio(a["latency_us"] / b["latency_us"], 0.0, np.inf)
    starts_a, starts_b = (starts.by_start(turns, start_turns(row)) for turns, row in ((of_a, a), (of_b, b)))
    try:
        return (starts.paired if in_turns else starts.independent)(starts_a, starts_b)
    except ValueError as error:
        trials = f"{a['trial_id']} and {b['trial_id']}"
        raise CompareError(f"The samples of the trials {trials} cannot be compared. {error}") from error


def start_turns(row: Row) -> list[int]:
    """How many turns each start of a trial's process had; empty for a trial from before there were several."""
    try:
        told = json.loads(row["environment"] or "{}").get("start_turns", [])
        return [int(turns) for turns in told]
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):  # a journal may hold anything
        return []


def freedom(row: Row) -> float:
    """Degrees of freedom of Student's quantile in a trial's stored intervals; many where it had one start."""
    count = len(start_turns(row))
    return count - 1 if count > 1 else math.inf


def _by_values(pairs: Sequence[_Pair], of: Metric, axes: _AxesOf) -> Iterator[Compared]:
    """Pairs that differ in the seed alone are one configuration."""
    grouped: dict[Any, list[_Pair]] = defaultdict(list)
    for a, b in pairs:
        same = tuple(row[name] for row in (a, b) for name in (*AXES, "machine_id") if name != "seed")
        grouped[same].append((a, b))
    for group in grouped.values():
        values_a, values_b = ([float(pair[side][of.name]) for pair in group] for side in (0, 1))
        mean_a, mean_b = float(np.mean(values_a)), float(np.mean(values_b))
        difference = differences.by_seed(values_a, values_b) if of.by_difference else None
        ratio = _NONE if difference else ratios.by_seed(values_a, values_b)
        if of.exact:
            ratio = Ratio(ratio.value, ratio.value, ratio.value)
        if of.is_time:
            ratio = ratios.inverse(ratio)
        axes_shown = axes(*group[0])
        if len(group) > 1:
            axes_shown.pop("seed", None)
        margin = of.margin * max(abs(mean_a), abs(mean_b))
        verdict = difference.verdict(of.words, margin) if difference else of.verdict(ratio)
        in_turns = all(_took_turns(a, b) for a, b in group)
        yield Compared(axes_shown, mean_a, mean_b, ratio, None, verdict, len(group), in_turns, difference=difference)


def _took_turns(a: Row, b: Row) -> bool:
    return a["group_id"] is not None and a["group_id"] == b["group_id"]


def _named(pairs: Iterable[_Pair]) -> list[str]:
    """Axes that tell one `compared_with` from another, or from what it is compared with: of those that have one value
    wherever they apply, only the size is named."""
    rows = [row for pair in pairs for row in pair]
    return [axis for axis in CHOICE_AXES if axis in _SIZE_AXES or len({row[axis] for row in rows} - {None}) > 1]


def _axes(a: Row, b: Row, named: Sequence[str], machines: Mapping[str, str]) -> dict[str, Any]:
    axes = {axis: b[axis] for axis in AXES if b[axis] is not None}
    if a["method"] != b["method"]:
        del axes["method"]
        told = {axis: a[axis] for axis in named if a[axis] is not None}
        at = [f"{axis} {f'{value:g}' if isinstance(value, float) else value}" for axis, value in told.items()]
        axes["compared_with"] = f"{a['method']}{' at ' if at else ''}{' and '.join(at)}"
    if a["machine_id"] == b["machine_id"] and a["machine_id"]:
        axes["machine"] = machines.get(a["machine_id"], a["machine_id"])
    return axes
