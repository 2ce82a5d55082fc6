"""How the times of a sweep have changed over commits: its trials from the store, and the changes among them.

A series is one configuration on one machine; each of its runs is a trial, of whatever kernel the commit had. Changes
are those of bench_engine.measure.change_points: each has a probability, and no two runs alone make one.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from bench_engine.compare.axes_shown import order
from bench_engine.compare.compare import METRICS, Limit, Metric, freedom
from bench_engine.compare.pairs import filters
from bench_engine.compare.sides import CompareError, UsageError
from bench_engine.compare.why import environment
from bench_engine.measure.change_points import ChangePoint, change_points
from bench_engine.measure.ratios import Ratio, inverse
from bench_engine.registry import hint
from bench_engine.track.commit_order import ordered
from db import journal
from db.columns import AXES
from db.schema import with_implied
from db.store import Store

METRIC: Metric = METRICS["latency_us"]
By = Literal["commit", "day"]
_COLUMNS = (
    "trial_id", "configuration", "machine_id", "code_version", "started_at", "latency_us", "latency_ci_low_us",
    "latency_ci_high_us", "baseline_latency_us", "speedup_ci_low", "speedup_ci_high", "is_baseline", "environment",
    *AXES,
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    """One configuration on one machine over commits.

    Attributes:
        axes: its axes, the machine among them.
        commits: number of the commit of each run, in the order of Tracked.commits.
        values: time in µs, or as a share of the baseline's, of each run.
        trials: trial_id of each run.
        started: when each run started, naive UTC.
    """

    axes: Mapping[str, Any]
    commits: tuple[int, ...]
    values: tuple[Ratio, ...] = field(repr=False)
    trials: tuple[str, ...] = field(default=(), repr=False)
    started: tuple[datetime, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Change:
    """A change of one series.

    Attributes:
        axes: of the series.
        before, after: commits between which it lies: the last of the old level and the first of the new.
        probability: that there is a change between them.
        old, new: the median value of the runs on either side, as far as the next change.
        ratio: old over new, a speedup: above 1 it has become faster; with its 95 % interval.
        word: faster or slower.
        lasting: of the change, how much is left at the last commit, as such a ratio.
        runs_since: runs since it, up to the next change.
    """

    axes: Mapping[str, Any]
    before: str
    after: str
    probability: float
    old: float
    new: float
    ratio: Ratio
    word: str
    lasting: float
    runs_since: int
    series: Series = field(repr=False)


@dataclass(frozen=True)
class Tracked:
    """What has become of a sweep over commits.

    Attributes:
        relative: whether values are shares of the baseline's time, and not times.
        probability: with which a change must lie between two commits to be told.
        commits: from the oldest to the newest.
        series: those with two commits or more.
        single: number of those with one, of which nothing can be said.
        changes: in the order of the commits.
        outliers: (axes, commit) of runs that lie off a level that goes on after them.
        small: number of changes that are smaller than was asked for.
        by: commit, or day: then the days (UTC) on which runs started stand wherever commits are spoken of.
    """

    sweep: str
    relative: bool
    probability: float
    commits: tuple[str, ...]
    series: tuple[Series, ...]
    single: int
    changes: tuple[Change, ...]
    outliers: tuple[tuple[Mapping[str, Any], str], ...]
    small: int
    by: By = "commit"

    @property
    def expected_false(self) -> float:
        """How many of the changes are expected to be none, by their probabilities."""
        return sum(1 - change.probability for change in self.changes)

    def exceeded(self, limit: Limit) -> list[Change]:
        """The changes that are as a limit says, and still are at the last commit."""

        def beyond(change: Change) -> bool:
            if limit.word == METRIC.words[0]:
                return change.ratio.low > limit.factor and change.lasting > limit.factor
            return change.ratio.high < 1 / limit.factor and change.lasting < 1 / limit.factor

        return [change for change in self.changes if change.word == limit.word and beyond(change)]


def track(
    store: Store,
    sweep: str,
    where: Sequence[str] = (),
    relative: bool = False,
    probability: float = 0.95,
    least: float = 0.02,
    last: int = 200,
    by: By = "commit",
) -> Tracked:
    """The changes in the times of a sweep.

    Args:
        where: see bench_engine.compare.compare.compare.
        relative: follow the time as a share of that of the baseline that took turns, so that a machine that has become
            slower is no slower method.
        probability: with which a change must lie between two commits to be told.
        least: a change by less than this, as a share, is only counted.
        last: how many commits are looked at, the newest.
        by: commit, or day: whatever was measured on one day (UTC) is one place then, of whatever commit.

    Raises CompareError where there is nothing to follow, UsageError for a filter that cannot be read, StoreError.
    """
    rows = _rows(store, sweep, where, relative, by)
    seen: dict[str, datetime] = {}
    for row in rows:
        seen[row["place"]] = min(row["started_at"], seen.get(row["place"], row["started_at"]))
    commits = (ordered(seen) if by == "commit" else sorted(seen))[-last:]
    if len(commits) < 2:
        raise CompareError(
            f"Sweep {sweep} has results of one {by} only ({', '.join(commits)}): "
            f"`python -m bench_engine run {sweep} --force` {'at another' if by == 'commit' else 'on another'} makes a "
            "second."
        )
    places = {commit: number for number, commit in enumerate(commits)}
    machines = {row["machine_id"]: row["name"] for row in store.rows("SELECT machine_id, name FROM machines")}
    grouped: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["place"] in places:
            grouped[row["configuration"], row["machine_id"]].append(row)
    found = [
        _series(_over_one(of_one) if relative else of_one, places, machines, relative) for of_one in grouped.values()
    ]
    followed = sorted((s for s in found if len(set(s.commits)) > 1), key=order)
    changes: list[Change] = []
    outliers: list[tuple[Mapping[str, Any], str]] = []
    for series in followed:
        own, off = _changes(series, commits, probability)
        changes += own
        outliers += off
    told = [c for c in changes if abs(math.log(c.ratio.value)) >= math.log1p(least)]
    told.sort(key=lambda c: (places[c.after], places[c.before]))
    return Tracked(
        sweep, relative, probability, tuple(commits), tuple(followed), len(found) - len(followed), tuple(told),
        tuple(outliers), len(changes) - len(told), by,
    )  # fmt: skip


def _rows(store: Store, sweep: str, where: Sequence[str], relative: bool, by: By) -> list[Mapping[str, Any]]:
    """The trials that can be followed, each with its `place`. Raises CompareError where there are none, UsageError."""
    wanted = filters(where)
    journal.look_into(store)
    names = ", ".join(f"{with_implied(name)} AS {name}" for name in _COLUMNS)
    sql = f"""SELECT {names} FROM trials AS t WHERE t.status = 'ok' AND t.latency_us > 0
        AND t.sweep = :tracked{wanted.sql}
        ORDER BY t.started_at, t.trial_id"""
    rows = store.rows(sql, tracked=sweep, **wanted.parameters)
    if not rows:
        known = [row["sweep"] for row in store.rows("SELECT DISTINCT sweep FROM trials WHERE sweep IS NOT NULL")]
        such = f" with {' and '.join(where)}" if where else ""
        if sweep not in known:
            there = ", ".join(sorted(known)[:12]) or "none"
            raise UsageError(f"There is no sweep {sweep!r} in the results{hint(sweep, known)} There are: {there}.")
        raise CompareError(f"The sweep {sweep} has no times{such} in the results.")
    if by == "commit":
        rows = [row for row in rows if row["code_version"] is not None]
        if not rows:
            raise CompareError(
                f"Nobody knows of which commits the results of the sweep {sweep} are: they were measured outside of a "
                "git clone. A run in a clone notes its commit; --by day follows the days."
            )
    if relative:
        rows = [row for row in rows if row["baseline_latency_us"] and not row["is_baseline"]]
        if not rows:
            raise CompareError(f"No trial of the sweep {sweep} took turns with a baseline: leave --relative out.")
    return [
        {**row, "place": row["code_version"] if by == "commit" else f"{row['started_at']:%Y-%m-%d}"} for row in rows
    ]


def _over_one(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that took turns with the baseline of the newest: shares of two baselines are no series."""
    named = [environment(row).get("compared_with") for row in rows]
    newest = next((name for name in reversed(named) if name is not None), None)
    return [row for row, name in zip(rows, named, strict=True) if name in (None, newest)]


def _series(
    rows: Sequence[Mapping[str, Any]], places: Mapping[str, int], machines: Mapping[str, str], relative: bool
) -> Series:
    rows = sorted(rows, key=lambda row: (places[row["place"]], row["started_at"]))
    axes = {axis: rows[-1][axis] for axis in AXES if rows[-1][axis] is not None}
    if rows[-1]["machine_id"]:
        axes["machine"] = machines.get(rows[-1]["machine_id"], rows[-1]["machine_id"])
    return Series(
        axes,
        tuple(places[row["place"]] for row in rows),
        tuple(_value(row, relative) for row in rows),
        tuple(row["trial_id"] for row in rows),
        tuple(row["started_at"] for row in rows),
    )


def _value(row: Mapping[str, Any], relative: bool) -> Ratio:
    if relative:
        low, high = row["speedup_ci_low"] or 0.0, row["speedup_ci_high"] or math.inf
        return inverse(Ratio(row["baseline_latency_us"] / row["latency_us"], low, high, freedom(row)))
    low, high = row["latency_ci_low_us"] or 0.0, row["latency_ci_high_us"] or math.inf
    return Ratio(row["latency_us"], low, high, freedom(row))


def _changes(
    series: Series, commits: Sequence[str], probability: float
) -> tuple[list[Change], list[tuple[Mapping[str, Any], str]]]:
    """The changes of a series, and its outliers."""
    there = sorted(set(series.commits))  # not each commit has a run of each configuration
    numbers = [there.index(commit) for commit in series.commits]
    values = [v.value for v in series.values]
    found = change_points(values, [v.variance for v in series.values], numbers, probability)
    ends = [0, *(c.after for c in found.changes)], [*(c.before for c in found.changes), len(there) - 1]
    levels = []
    for first, end in zip(*ends, strict=True):
        inside = [v for v, n in zip(values, numbers, strict=True) if first <= n <= end and n not in found.outliers]
        levels.append((statistics.median(inside), len(inside)))
    changes = [
        _change(series, commits, there, point, levels[i][0], levels[i + 1], levels[-1][0])
        for i, point in enumerate(found.changes)
    ]
    return changes, [(series.axes, commits[there[number]]) for number in found.outliers]


def _change(
    series: Series,
    commits: Sequence[str],
    there: Sequence[int],
    point: ChangePoint,
    old: float,
    new: tuple[float, int],
    last: float,
) -> Change:
    ratio = inverse(point.ratio)
    return Change(
        series.axes,
        commits[there[point.before]],
        commits[there[point.after]],
        point.probability,
        old,
        new[0],
        ratio,
        METRIC.words[0] if ratio.value > 1 else METRIC.words[1],
        old / last,
        new[1],
        series,
    )
