"""What a run found, as text: in a terminal, in Markdown, as CSV and as JSON."""

import csv
import io
import json
import math
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from bench_engine.compare.axes_shown import fixed, varying
from bench_engine.compare.text_table import (
    GAP,
    NONE,
    WRAP,
    Column,
    amount,
    axis_columns,
    interval,
    plain,
    ratio_text,
    table,
)  # fmt: skip
from bench_engine.report.next_steps import next_steps
from bench_engine.report.run_results import Mean, Measured, RunResults
from bench_engine.sweep.search import counted
from db.columns import AXES, BY_NAME, CHOICE_AXES, METRICS
from db.plain_text import in_markdown, markdown_table, printable

MOST_ROWS = 60  # of a table that is not asked for as a whole
_MOST_REASONS = 8
_INLINE = ("method", *CHOICE_AXES)  # the methods of a configuration stand below one another, whatever their size
# Metrics that have a column of their own where a benchmark reports them, beside time and speedup.
SHOWN = (
    "auc", "logloss", "memory_mb", "optimizer_mb", "bandwidth_share", "prune_share", "kept_share", "duplicate_rows",
    "shared_slots", "right_share",
)  # fmt: skip
_HEADS = {"memory_mb": ["memory"], "optimizer_mb": ["optimizer"], "auc": ["AUC"]}


def text(found: RunResults, width: int = 100, colour: bool = False, every: bool = False) -> str:
    """A table for each benchmark, what the methods come to, what to take care with, and what to do next.

    Of a benchmark with more than MOST_ROWS trials only what the methods come to is told, unless `every`.
    """
    lines = [found.title, *([found.origin] if found.origin else [])]
    for benchmark, trials in found.benchmarks.items():
        lines += ["", benchmark]
        if every or len(trials) <= MOST_ROWS:
            verdicts = [m.verdict for m in trials] if colour else ()
            lines += table(trials, columns(trials, found), width, verdicts, (), _INLINE)
            same = ", ".join(f"{name} {plain(value)}" for name, value in fixed(trials).items() if name != "benchmark")
            lines += ["", *textwrap.wrap(f"The same in all: {same}.", width, **WRAP)]
        else:
            lines.append(f"{GAP}{counted(len(trials), 'trial')}; --all lists them: {_show(found)} --all")
        lines += _means(found.means.get(benchmark, []))
        if told := found.why.get(benchmark):
            lines += ["", "Why:", *(part for line in told for part in _wrapped(line, width))]
    for title, told in (("To take care with", found.warnings), ("Without a result", list(reasons(found)))):
        if told:
            lines += ["", f"{title}:", *(part for line in told for part in _wrapped(line, width))]
    if steps := next_steps(found):
        lines += ["", "Next:", *(f"{GAP}{command}" for _, command in steps)]
    return "\n".join(printable(line, keep="\x1b") if colour else printable(line) for line in lines)


def _show(found: RunResults) -> str:
    return f"python -m bench_engine show {shlex.quote(found.name)}"


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent=GAP, subsequent_indent=2 * GAP, break_long_words=False)


def columns(trials: Sequence[Measured], of: RunResults) -> list[Column]:
    """The columns of a table of trials beside their axes."""
    found = []
    if any(m.latency for m in trials):
        found.append(Column(["time"], [amount(m.latency.value, "µs") if m.latency else NONE for m in trials]))
        found.append(Column(["±"], [_half_width(m) for m in trials]))
    if any(m.speedup for m in trials):
        found.append(Column(["speedup"], [speedup_text(m) for m in trials]))
    for name, unit in {**{name: BY_NAME[name].unit for name in SHOWN}, **{c.name: c.unit for c in of.own}}.items():
        if any(name in m.metrics for m in trials):
            cells = [amount(m.metrics[name], unit) if name in m.metrics else NONE for m in trials]
            found.append(Column(_HEADS.get(name, name.split("_")), cells))
    if any(m.notes for m in trials):
        found.append(Column(["notes"], ["".join(of.notes[note] for note in m.notes) for m in trials], left=True))
    if any(m.speedup for m in trials):
        found.append(Column(["verdict"], [verdict(m) for m in trials], left=True))
    return found


def verdict(measured: Measured) -> str:
    """The word on a trial: its verdict, `baseline`, or a dash."""
    return measured.verdict or ("baseline" if measured.is_baseline else NONE)


def speedup_text(measured: Measured) -> str:
    """Its speedup with the interval; a dash where there is none."""
    return ratio_text(measured.speedup) if measured.speedup else NONE


def _half_width(measured: Measured) -> str:
    """Half the interval of the time, as a share of it."""
    if not measured.latency or not measured.latency.known:
        return NONE
    half = 100 * (math.sqrt(measured.latency.high / measured.latency.low) - 1)
    return f"{half:.1f} %" if half < 10 else f"{half:.0f} %"


def _means(means: Sequence[Mean]) -> Iterator[str]:
    if not means:
        return
    yield ""
    yield f"Speedup over {means[0].over}, geometric mean over configurations:"
    widest = max(len(mean.method) for mean in means)
    ratios = [ratio_text(mean.speedup) for mean in means]
    for mean, ratio in zip(means, ratios, strict=True):
        yield f"{GAP}{mean.method:<{widest}}{GAP}{ratio:<{max(map(len, ratios))}}{GAP}{counts(mean)}"


def counts(mean: Mean) -> str:
    """`12 configurations: 5 faster, 7 slower`; with seeds `12 configurations in 36 trials: ...`."""
    said = ", ".join(f"{n} {word}" for word, n in mean.verdicts.items())
    trials = sum(mean.verdicts.values())
    of = f" in {counted(trials, 'trial')}" if trials > mean.count else ""
    return counted(mean.count, "configuration") + of + (f": {said}" if said else "")


def reasons(found: RunResults) -> Iterator[str]:
    """A line for each reason why trials have no result."""
    for (status, error), number in list(found.reasons.items())[:_MOST_REASONS]:
        yield f"{number} {status}: {error}"
    if (left := len(found.reasons) - _MOST_REASONS) > 0:
        yield f"and {counted(left, 'other reason')}: the page Runs and `--format json` have all of them."


# -- files -----------------------------------------------------------------------------------------------------------


def markdown(found: RunResults, every: bool = False) -> str:
    """For a pull request: a table for each benchmark, the means, warnings and next commands."""
    parts = [f"### {in_markdown(found.title)}"]
    if found.origin:
        parts.append(in_markdown(found.origin))
    for benchmark, trials in found.benchmarks.items():
        parts.append(f"#### {in_markdown(benchmark)}")
        if means := found.means.get(benchmark):
            head = ["method", f"speedup over {means[0].over}", "verdicts"]
            parts.append(markdown_table(head, [[m.method, ratio_text(m.speedup), counts(m)] for m in means]))
        if told_why := found.why.get(benchmark):
            parts.append("\n".join(f"- {in_markdown(line)}" for line in told_why))
        shown = trials if every else trials[:MOST_ROWS]
        told = [*axis_columns(varying(trials), trials), *columns(trials, found)]
        cells = [[c.cells[i] for c in told] for i in range(len(shown))]
        parts.append(markdown_table([" ".join(c.head) for c in told], cells))
        if len(shown) < len(trials):
            parts.append(f"{counted(len(trials) - len(shown), 'trial')} more: {in_markdown(_show(found))} --all")
    if told_care := [*found.warnings, *reasons(found)]:
        parts.append("\n".join(f"- {in_markdown(line)}" for line in told_care))
    if steps := next_steps(found):
        parts.append("\n".join(["```", *(printable(command) for _, command in steps), "```"]))
    return "\n\n".join(parts) + "\n"


_OF_TRIAL = ("trial_id", "status", "verdict", "is_baseline", "stop_reason", "started_at", "duration_s", "code_version")


def as_csv(found: RunResults) -> str:
    """A line for each trial, those without a result too: its axes, all its metrics, its verdict and what went wrong."""
    there = {axis for axes in [*(m.axes for m in found.measured), *(m.axes for m in found.missing)] for axis in axes}
    axes = [axis for axis in (*AXES, "machine") if axis in there]
    metrics = [n for n in (*METRICS, *(c.name for c in found.own)) if any(n in m.metrics for m in found.measured)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*axes, *metrics, *_OF_TRIAL, "starts", "error"])
    for m in found.measured:
        own = [m.row[name] for name in _OF_TRIAL]
        writer.writerow([*map(_cell, [*map(m.axes.get, axes), *map(m.metrics.get, metrics), *own, m.starts]), ""])
    for lost in found.missing:
        own = [lost.status if name == "status" else None for name in _OF_TRIAL]
        cells = [*map(lost.axes.get, axes), *([None] * len(metrics)), *own, None, lost.error]
        writer.writerow(map(_cell, cells))
    return out.getvalue()


def _cell(value: Any) -> Any:
    """A value in a form that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        plain_value = printable(value)
        return "'" + plain_value if plain_value.startswith(("=", "+", "-", "@")) else plain_value
    return value


def as_json(found: RunResults) -> str:
    """`{title, run, sweep, origin, results, means, why, warnings, without_result, next}` of plain values."""
    entries = [
        {
            "axes": dict(m.axes),
            **{name: m.row[name] for name in _OF_TRIAL},
            "verdict": m.verdict or None,
            "latency_us": interval(m.latency) if m.latency else None,
            "speedup": interval(m.speedup) if m.speedup else None,
            "metrics": dict(m.metrics),
            "starts": m.starts,
            "notes": [found.notes[note] for note in m.notes],
        }
        for m in found.measured
    ]
    means = [
        {"benchmark": benchmark, "method": m.method, "over": m.over, "speedup": interval(m.speedup), **m.verdicts}
        for benchmark, of_benchmark in found.means.items()
        for m in of_benchmark
    ]
    whole = {
        "title": found.title,
        "run": found.state.run_id if found.state else None,
        "sweep": found.sweep,
        "origin": found.origin,
        "results": entries,
        "means": means,
        "why": found.why,
        "warnings": {letter: note for note, letter in found.notes.items()},
        "without_result": [{"axes": dict(m.axes), "status": m.status, "error": m.error} for m in found.missing],
        "next": [command for _, command in next_steps(found)],
    }
    return json.dumps(whole, default=str)
