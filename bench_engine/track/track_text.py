"""Changes over commits as people read them: in a terminal, as a comment in Markdown, as JSON."""

import textwrap
from collections.abc import Sequence
from typing import Any

from bench_engine.compare.axes_shown import fixed, varying
from bench_engine.compare.compare import Limit
from bench_engine.compare.text_table import (
    GAP,
    WRAP,
    Column,
    amount,
    axis_columns,
    interval,
    plain,
    ratio_text,
    table,
)
from bench_engine.sweep.search import counted
from bench_engine.track.commit_order import subjects
from bench_engine.track.tracked import Change, Series, Tracked
from db.plain_text import in_markdown, markdown_table, plain_text, printable

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 40


def text(found: Tracked, width: int = 100, colour: bool = False, limit: Limit | None = None) -> str:
    """A table of the changes, the commits they lie in, and what all comes to."""
    lines = [_title(found)]
    if found.changes:
        verdicts = [c.word for c in found.changes] if colour else ()
        lines += ["", *table(found.changes, _columns(found), width, verdicts, above=())]
        lines += ["", *textwrap.wrap(f"The same in all: {_same(found)}.", width, **WRAP)]
        for span, of_span in _spans(found.changes).items():
            lines += [
                "",
                f"{span}: {_words(of_span)}",
                *(f"{GAP}{plain_text(line, 200)}" for line in _subjects(of_span)),
            ]
    lines += ["", *(part for line in _summary(found, limit) for part in textwrap.wrap(line, width, **WRAP))]
    return "\n".join(printable(line, keep="\x1b") if colour else printable(line) for line in lines)


def markdown(found: Tracked, limit: Limit | None = None) -> str:
    """The same as a comment on a pull request."""
    exceeded = found.exceeded(limit) if limit else []
    verdict = f"{counted(len(exceeded), 'configuration')} {limit.text}" if limit and exceeded else ""
    heading = verdict or (counted(len(found.changes), "change") if found.changes else "no change")
    parts = [f"### {in_markdown(found.sweep)}: {in_markdown(heading)}", in_markdown(_title(found))]
    if found.changes:
        told = [*axis_columns(varying(found.changes), found.changes), *_columns(found)]
        told.append(Column(["history"], [spark(c.series) for c in found.changes]))
        rows = [[column.cells[i] for column in told] for i in range(len(found.changes))]
        parts.append(markdown_table([" ".join(column.head) for column in told], rows))
        parts.append(f"The same in all: {in_markdown(_same(found))}.")
        for span, of_span in _spans(found.changes).items():
            listed = "".join(f"\n- {in_markdown(line)}" for line in _subjects(of_span))
            parts.append(f"**{in_markdown(span)}**: {in_markdown(_words(of_span))}{listed}")
    parts.append("\n".join(f"- {in_markdown(line)}" for line in _summary(found, limit)))
    return "\n\n".join(parts) + "\n"


def as_json(found: Tracked, limit: Limit | None = None) -> dict[str, Any]:
    """`{sweep, by, commits, configurations, series, changes, outliers, expected_false, fail_on ...}` of plain values.

    A series has its axes and its runs, `{trial_id, commit, started_at, value, low, high}` in the order of the commits;
    a change names its series by its place among them.
    """
    exceeded = found.exceeded(limit) if limit else []
    places = {id(series): number for number, series in enumerate(found.series)}
    between = {span: _subjects(of_span) for span, of_span in _spans(found.changes).items()}
    return {
        "sweep": found.sweep,
        "by": found.by,
        "relative": found.relative,
        "probability": found.probability,
        "commits": list(found.commits),
        "configurations": len(found.series),
        "single": found.single,
        "small": found.small,
        "series": [{"axes": dict(series.axes), "runs": _runs(found, series)} for series in found.series],
        "changes": [
            {
                "series": places[id(c.series)],
                "axes": dict(c.axes),
                "before": c.before,
                "after": c.after,
                "probability": c.probability,
                "old": c.old,
                "new": c.new,
                "ratio": interval(c.ratio),
                "word": c.word,
                "lasting": c.lasting,
                "runs_since": c.runs_since,
                "subjects": between[_span(c)],
            }
            for c in found.changes
        ],
        "outliers": [{"axes": dict(axes), "commit": commit} for axes, commit in found.outliers],
        "expected_false": found.expected_false,
        "fail_on": {"limit": limit.text, "exceeded": len(exceeded)} if limit else None,
    }


def _runs(found: Tracked, series: Series) -> list[dict[str, Any]]:
    return [
        {"trial_id": trial, "commit": found.commits[commit], "started_at": started.isoformat(), **interval(value)}
        for trial, commit, started, value in zip(
            series.trials, series.commits, series.started, series.values, strict=True
        )
    ]


def spark(series: Series) -> str:
    """The values of a series as bars, the median of each commit, of the last commits where there are many."""
    by_commit: dict[int, list[float]] = {}
    for commit, value in zip(series.commits, series.values, strict=True):
        by_commit.setdefault(commit, []).append(value.value)
    middles = [sorted(values)[len(values) // 2] for values in by_commit.values()][-_MOST_BARS:]
    low, high = min(middles), max(middles)
    span = max(high - low, 0.05 * high)  # differences of less than a twentieth look like none
    return "".join(_BARS[min(7, int(8 * (value - low) / span))] for value in middles)


def _title(found: Tracked) -> str:
    what = "time over that of the baseline in turns" if found.relative else "latency_us"
    count = counted(len(found.series), "configuration")
    commits = f"{len(found.commits)} {found.by}s, {found.commits[0]} to {found.commits[-1]}"
    return f"Sweep {found.sweep}: {count} over {commits}; {what}"


def _columns(found: Tracked) -> list[Column]:
    unit = "" if found.relative else "µs"
    return [
        Column([f"{found.by}s"], [_span(c) for c in found.changes], left=True),
        Column(["from"], [amount(c.old, unit) for c in found.changes]),
        Column(["to"], [amount(c.new, unit) for c in found.changes]),
        Column(["ratio"], [ratio_text(c.ratio) for c in found.changes]),
        Column(["probability"], [f"{min(c.probability, 0.9999):.4f}" for c in found.changes]),
        Column(["change"], [c.word for c in found.changes], left=True),
    ]


def _span(change: Change) -> str:
    return f"{change.before}..{change.after}"


def _spans(changes: Sequence[Change]) -> dict[str, list[Change]]:
    spans: dict[str, list[Change]] = {}
    for change in changes:
        spans.setdefault(_span(change), []).append(change)
    return spans


def _subjects(of_span: Sequence[Change]) -> list[str]:
    return subjects(of_span[0].before, of_span[0].after)


def _words(changes: Sequence[Change]) -> str:
    said = [c.word for c in changes]
    return ", ".join(f"{said.count(word)} {word}" for word in dict.fromkeys(said))


def _same(found: Tracked) -> str:
    return ", ".join(f"{name} {plain(value)}" for name, value in fixed(found.changes).items())


def _summary(found: Tracked, limit: Limit | None) -> list[str]:
    told = f"probability of at least {found.probability:g}"
    if found.changes:
        changed = len({id(c.series) for c in found.changes})
        lines = [
            f"{counted(len(found.changes), 'change')} in {changed} of {counted(len(found.series), 'configuration')}, "
            f"with a {told} each; by these {found.expected_false:.2f} of them are none. Ratios are old over new: below "
            "1 is slower; [95 % interval]."
        ]
    else:
        lines = [f"No change with a {told} in {counted(len(found.series), 'configuration')}."]
    once = [c for c in found.changes if c.runs_since == 1]
    if once:
        again = "measure that commit again" if found.by == "commit" else "measure once more"
        lines.append(f"{counted(len(once), 'change')} seen in one run so far: {again} with --force to be sure.")
    if found.outliers:
        lines.append(f"{counted(len(found.outliers), 'run')} off a level that goes on after it, left out.")
    if found.small:
        lines.append(f"{counted(found.small, 'change')} too small to be told (--least).")
    if found.single:
        place = "at one commit" if found.by == "commit" else "on one day"
        lines.append(f"{counted(found.single, 'configuration')} measured {place} only.")
    if limit:
        lines.append(f"--fail-on {limit.text}: {counted(len(found.exceeded(limit)), 'configuration')}.")
    return lines
