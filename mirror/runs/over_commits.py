"""The times of a sweep over commits or days: what `track` of the engine says, as lines to draw and sentences.

The changes and their probabilities are the engine's, which its command line computes; nothing is computed anew here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from db.columns import AXES
from mirror.data.process.sandbox import Sandbox
from mirror.runs import jobs
from mirror.schema import catalog
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.wording import counted, join

MOST_LINES = 6
_SHARE = Column("share", "real", "share of the baseline's time", better="lower", role="metric")
_CERTAIN = 0.9999  # no probability is told as more
# Words for probabilities as Mastrandrea and others have them, Guidance note on treatment of uncertainties (IPCC, 2010).
_WORDS = ((0.99, "virtually certain"), (0.95, "extremely likely"), (0.90, "very likely"), (0.66, "likely"))


@dataclass(frozen=True)
class Run:
    """One run of a configuration.

    Attributes:
        commit: or the day, where days are followed.
        started_at: naive UTC, ISO.
        value: time in µs, or as a share of the baseline's.
        low, high: ends of its 95 % interval; None where that is not known.
    """

    trial_id: str
    commit: str
    started_at: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Change:
    """A change of one line.

    Attributes:
        before, after: commits or days between which it lies.
        probability: that there is one between them.
        old, new: median of the runs on either side, as far as the next change.
        factor: new over old, with the ends of its 95 % interval.
        word: faster or slower.
        runs_since: runs since it, up to the next change.
        subjects: what the commits in between did, a line each, where git knows.
    """

    before: str
    after: str
    probability: float
    old: float
    new: float
    factor: tuple[float, float, float]
    word: str
    runs_since: int
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One configuration on one machine.

    Attributes:
        name: the settings in which those of the sweep differ.
        runs: in the order of the commits.
        changes: in the same order.
        outliers: commits of runs that lie off a level that goes on after them.
    """

    name: str
    runs: tuple[Run, ...]
    changes: tuple[Change, ...]
    outliers: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """A sweep over commits or days.

    Attributes:
        by: commit or day.
        relative: whether values are shares of the baseline's time.
        commits: from the oldest to the newest.
        lines: the configurations with two commits or more.
        single: number of those with one.
        probability: with which a change must lie between two commits to be told.
        small: number of changes too small to be told.
    """

    sweep: str
    by: str
    relative: bool
    commits: tuple[str, ...]
    lines: tuple[Line, ...]
    single: int
    probability: float
    small: int

    @property
    def metric(self) -> Column:
        """What is followed."""
        return _SHARE if self.relative else catalog.entry("latency_us")

    def chosen(self, names: Sequence[str], trials: Sequence[str] = ()) -> tuple[Line, ...]:
        """The lines of these names; else those that hold one of the trials; else those that changed most, or first."""
        wanted = [line for line in self.lines if line.name in names]
        wanted = wanted or [line for line in self.lines if {run.trial_id for run in line.runs} & set(trials)]
        changed = sorted((line for line in self.lines if line.changes), key=_largest, reverse=True)
        return tuple((wanted or changed or list(self.lines))[:MOST_LINES])


@dataclass(frozen=True)
class Drawn:
    """What is drawn of some lines.

    Attributes:
        table: a row for each run: name of the line, place among `commits` (from 1), commit, start, value, interval.
        commits: those in which some of the lines has a run, in order.
        days: of each, the day (UTC) of its first run.
        changes: (name of the line, change) in the order of the commits.
        told: sentences, the first about all, and one for each change.
    """

    table: Table
    commits: tuple[str, ...]
    days: tuple[str, ...]
    changes: tuple[tuple[str, Change], ...]
    told: tuple[str, ...]

    def place(self, commit: str) -> int:
        """Where a commit stands in the chart."""
        return self.commits.index(commit) + 1


def sweeps(box: Sandbox) -> dict[str, tuple[int, int]]:
    """sweep -> the most commits, and the most days, that one of its configurations has times of; the most first."""
    axes = ", ".join(AXES)
    table = box.run(
        "SELECT sweep, max(commits) AS commits, max(dates) AS dates, max(newest) AS newest FROM (\n"
        "  SELECT sweep, count(DISTINCT code_version) AS commits, count(DISTINCT CAST(started_at AS DATE)) AS dates,\n"
        "         max(started_at) AS newest\n"
        f"  FROM history WHERE latency_us > 0 AND sweep IS NOT NULL GROUP BY sweep, machine_id, {axes}\n"
        ") AS of_each GROUP BY sweep ORDER BY commits DESC, dates DESC, newest DESC, sweep"
    )
    return {str(row[0]): (int(row[1] or 0), int(row[2] or 0)) for row in table.rows}


def history(sweep: str, by: str, relative: bool, url: str | None = None) -> History:
    """A sweep over commits (`by` is commit) or days (day). Raises JobError, also where there is nothing to follow."""
    found = jobs.tracked(sweep, by, relative, url)
    series = found["series"]
    names = _names([s["axes"] for s in series])
    changes: list[list[Change]] = [[] for _ in series]
    for told in found["changes"]:
        changes[told["series"]].append(_change(told))
    outliers = [tuple(o["commit"] for o in found["outliers"] if o["axes"] == s["axes"]) for s in series]
    lines = (
        Line(name, tuple(Run(**_run(run)) for run in s["runs"]), tuple(of_one), off)
        for name, s, of_one, off in zip(names, series, changes, outliers, strict=True)
    )
    return History(
        sweep, by, relative, tuple(found["commits"]), tuple(lines), found["single"], found["probability"],
        found["small"],
    )  # fmt: skip


def drawn(found: History, lines: Sequence[Line]) -> Drawn:
    """What is drawn of some lines, and said of them."""
    first_day: dict[str, str] = {}
    for run in (run for line in lines for run in line.runs):
        first_day[run.commit] = min(run.started_at[:10], first_day.get(run.commit, run.started_at[:10]))
    commits = tuple(commit for commit in found.commits if commit in first_day)
    days = tuple(first_day[commit] for commit in commits)
    metric = found.metric
    columns = (
        Column("configuration", "text", "configuration", role="name"),
        Column("place", "integer", f"{found.by}, in order", role="info"),
        Column("commit", "text", found.by, role="repetition"),
        catalog.entry("started_at"),
        metric,
        Column("low", "real", "95 % interval, low", metric.unit, metric.better, "low", of=metric.name),
        Column("high", "real", "95 % interval, high", metric.unit, metric.better, "high", of=metric.name),
        catalog.entry("trial_id"),
    )
    rows = tuple(
        (line.name, commits.index(r.commit) + 1, r.commit, r.started_at, r.value, r.low, r.high, r.trial_id)
        for line in lines
        for r in line.runs
    )
    changes = sorted(
        ((line.name, change) for line in lines for change in line.changes),
        key=lambda c: (commits.index(c[1].after), commits.index(c[1].before)),
    )
    shown = Drawn(Table(columns, rows), commits, days, tuple(changes), ())
    told = (_said_of(found, shown, name, change) for name, change in changes)
    return replace(shown, told=(_said_of_all(found, lines, shown), *told))


def likelihood(probability: float) -> str:
    """A probability in words and as a number: `virtually certain (99.9 %)`."""
    word = next((word for least, word in _WORDS if probability >= least), "about as likely as not")
    percent = 100 * min(probability, _CERTAIN)
    return f"{word} ({percent:.3g} %)" if percent < 99 else f"{word} ({percent:.2f} %)"


def likelihood_word(probability: float) -> str:
    """The word alone, for a place with little room."""
    return likelihood(probability).partition(" (")[0]


def _said_of_all(found: History, lines: Sequence[Line], shown: Drawn) -> str:
    """How many changes there are of which kind, in how many of the lines."""
    over = f"over {counted(len(shown.commits), found.by)}"
    if not shown.changes:
        return f"No change of {found.metric.label} in {counted(len(lines), 'configuration')} {over}."
    words = Counter(change.word for _, change in shown.changes)
    kinds = join(f"{n} {word}" for word, n in words.items())
    changed = len({name for name, _ in shown.changes})
    what = f"{changed} of {counted(len(lines), 'configuration')}"
    return f"{counted(len(shown.changes), 'change')} of {found.metric.label} ({kinds}) in {what} {over}."


def _said_of(found: History, shown: Drawn, name: str, change: Change) -> str:
    """Where a change of a line lies, from what to what, and how likely it is."""
    metric, days = found.metric, dict(zip(shown.commits, shown.days, strict=True))
    value, low, high = change.factor
    before, after = (_dated(found, commit, days[commit]) for commit in (change.before, change.after))
    values = f"{format_value(metric, change.new)} after {format_value(metric, change.old)}"
    once = " Seen in one run so far: measure again to be sure." if change.runs_since == 1 else ""
    return (
        f"{name} is {change.word}, between {before} and {after}: {values}, {value:.2f} times as long (95 % interval "
        f"{low:.2f} to {high:.2f}), {likelihood(change.probability)}.{once}"
    )


def _dated(found: History, commit: str, day: str) -> str:
    return commit if found.by == "day" else f"{commit} ({day})"


def _largest(line: Line) -> float:
    return max(max(c.factor[0], 1 / c.factor[0]) for c in line.changes)


def _run(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("trial_id", "commit", "started_at", "value", "low", "high")}


def _change(told: Mapping[str, Any]) -> Change:
    """A change as the engine tells it, whose ratio is a speedup: old time over new."""
    ratio = told["ratio"]
    factor = tuple(1 / ratio[end] for end in ("value", "high", "low"))
    value, low, high = factor
    return Change(
        told["before"], told["after"], told["probability"], told["old"], told["new"], (value, low, high), told["word"],
        told["runs_since"], tuple(told["subjects"]),
    )  # fmt: skip


def _names(axes: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each: the method, and the settings in which they differ where they have them."""
    several = [
        a for a in dict.fromkeys(name for one in axes for name in one) if len({str(one.get(a)) for one in axes}) > 1
    ]
    keys = ["method", *(a for a in several if a != "method")]
    names = [
        " · ".join(describe(catalog.entry(k), one[k]) for k in keys if one.get(k) is not None) or "one" for one in axes
    ]
    often, seen = Counter(names), Counter[str]()
    for i, name in enumerate(names):
        seen[name] += 1
        names[i] = f"{name} {seen[name]}" if often[name] > 1 else name
    return names
