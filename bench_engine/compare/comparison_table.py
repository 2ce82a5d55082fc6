"""A comparison as people read it in a terminal, and as JSON."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_engine.compare.compare import Compared, Comparison, Limit, Metric, fixed, varying
from bench_engine.measure.ratios import Ratio
from bench_engine.sweep.search import counted

_GAP = "  "
_NONE = "–"
_WRAP: dict[str, Any] = {"subsequent_indent": _GAP, "break_long_words": False}
_COLOURS = {"faster": 32, "smaller": 32, "slower": 31, "larger": 31, "same": 2, "unclear": 33}


def text(comparison: Comparison, width: int = 100, colour: bool = False, limit: Limit | None = None) -> str:
    """A table for each benchmark, and what all comes to."""
    benchmarks = dict.fromkeys(c.axes["benchmark"] for c in comparison.configurations)
    lines = [f"A  {comparison.a.text}", f"B  {comparison.b.text}", *textwrap.wrap(_legend(comparison), width, **_WRAP)]
    for benchmark in benchmarks:
        mine = [c for c in comparison.configurations if c.axes["benchmark"] == benchmark]
        same = ", ".join(f"{name} {plain(value)}" for name, value in fixed(mine).items())
        lines += ["", *_table(mine, comparison.metric, width, colour)]
        lines += ["", *textwrap.wrap(f"The same in all: {same}.", width, **_WRAP)]
    summary = [part for line in _summary(comparison, limit) for part in textwrap.wrap(line, width, **_WRAP)]
    return "\n".join([*lines, "", *summary])


def as_json(comparison: Comparison, limit: Limit | None = None) -> dict[str, Any]:
    """`{a, b, metric, configurations, summary}` of plain values; an end of an interval that is not known is null."""
    return {
        "a": {"kind": comparison.a.kind, "name": comparison.a.name},
        "b": {"kind": comparison.b.kind, "name": comparison.b.name},
        "metric": comparison.metric.name,
        "configurations": [
            {
                "axes": dict(c.axes),
                "a": c.a,
                "b": c.b,
                "ratio": _interval(c.ratio),
                "vs_baseline": _interval(c.relative) if c.relative else None,
                "verdict": c.verdict,
                "seeds": c.seeds,
                "in_turns": c.in_turns,
                "starts": c.starts,
            }
            for c in comparison.configurations
        ],
        "summary": {
            "ratio_is": comparison.metric.formula,
            "judged": "vs_baseline" if comparison.by_baseline else "ratio",
            "counts": comparison.counts(),
            "geometric_mean": {method or "all": _interval(mean) for method, mean in comparison.means().items()},
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "same_trials": comparison.same_trials,
            "other_machines": comparison.other_machines,
            "left_out": comparison.left_out,
            "fixed": fixed(comparison.configurations),
            "fail_on": {"limit": limit.text, "exceeded": len(limit.exceeded(comparison))} if limit else None,
        },
    }


# -- the table -----------------------------------------------------------------------------------------------------


def _legend(comparison: Comparison) -> str:
    metric = comparison.metric
    judged = ", verdicts from the change against the baseline" if comparison.by_baseline else ""
    return f"{metric.name}, ratio = {metric.formula}: above 1 B is {metric.words[0]}; [95 % interval]{judged}"


def _table(configurations: Sequence[Compared], metric: Metric, width: int, colour: bool) -> list[str]:
    """Lines of a table. Where it would be wider than `width`, an axis with few values becomes a heading over a part of
    the table for each of them."""
    axes = varying(configurations)
    above = ["method"] if "method" in axes else []
    while True:
        columns = _columns([name for name in axes if name not in above], configurations, metric)
        widths = [max(map(len, (*c.head, *c.cells))) for c in columns]
        if sum(widths) + len(_GAP) * len(widths) <= width or len(above) == len(axes):
            break
        left = [name for name in axes if name not in above]
        above.append(min(left, key=lambda name: len({c.axes.get(name) for c in configurations})))
    parts: dict[str, list[int]] = {}
    for i, compared in enumerate(configurations):
        parts.setdefault(_heading(compared, above), []).append(i)
    height = max(len(c.head) for c in columns)
    heads = [[""] * (height - len(c.head)) + c.head for c in columns]
    lines = [line([head[i] for head in heads], columns, widths) for i in range(height)]
    for heading, rows in parts.items():
        lines += [heading] if heading else []
        for i in rows:
            shade = _COLOURS.get(configurations[i].verdict) if colour else None
            lines.append(line([c.cells[i] for c in columns], columns, widths, shade))
    return lines


def _heading(compared: Compared, above: Sequence[str]) -> str:
    given = [(name, compared.axes[name]) for name in above if name in compared.axes]
    return ", ".join(str(value) if name in ("method", "machine") else f"{name} {plain(value)}" for name, value in given)


@dataclass(frozen=True)
class Column:
    """A column of a table of text: its head in lines, and its cells."""

    head: list[str]
    cells: list[str]
    left: bool = False


def _columns(axes: Sequence[str], configurations: Sequence[Compared], metric: Metric) -> list[Column]:
    found = [Column(name.split("_"), [plain(c.axes.get(name)) for c in configurations], left=True) for name in axes]
    if any(c.seeds > 1 for c in configurations):
        found.append(Column(["seeds"], [str(c.seeds) for c in configurations]))
    found.append(Column(["A"], [amount(c.a, metric.unit) for c in configurations]))
    found.append(Column(["B"], [amount(c.b, metric.unit) for c in configurations]))
    found.append(Column(["ratio"], [ratio_text(c.ratio, metric.places) for c in configurations]))
    if any(c.relative for c in configurations):
        relative = [ratio_text(c.relative, metric.places) if c.relative else _NONE for c in configurations]
        found.append(Column(["vs", "baseline"], relative))
    return [*found, Column(["verdict"], [c.verdict for c in configurations], left=True)]


def line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], shade: int | None = None) -> str:
    """A line of a table; `shade` colours its last cell."""
    padded = [
        cell.ljust(width) if column.left else cell.rjust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    if shade is not None:
        padded[-1] = f"\x1b[{shade}m{cells[-1]}\x1b[0m"
    return (_GAP + _GAP.join(padded)).rstrip()


# -- what it comes to ----------------------------------------------------------------------------------------------


def _summary(comparison: Comparison, limit: Limit | None) -> list[str]:
    counts = ", ".join(f"{n} {word}" for word, n in comparison.counts().items() if n)
    places = comparison.metric.places
    lines = [f"{counted(len(comparison.configurations), 'configuration')}: {counts}."]
    if means := comparison.means():
        title = "Geometric mean of the ratios" + (" against the baseline" if comparison.by_baseline else "")
        if len(means) == 1:
            lines.append(f"{title}: {ratio_text(next(iter(means.values())), places)}.")
        else:
            widest = max(len(method or "all") for method in means)
            lines.append(f"{title}:")
            lines += [
                f"{_GAP}{method or 'all':<{widest}}  {ratio_text(mean, places)}" for method, mean in means.items()
            ]
    if comparison.only_a or comparison.only_b:
        lines.append(f"Not compared: {comparison.only_a} only in A, {comparison.only_b} only in B.")
    if comparison.same_trials:
        lines.append(f"Left out: {comparison.same_trials} with the very same trial on both sides.")
    if comparison.left_out:
        lack = (
            "a baseline in turns on both sides" if comparison.by_baseline else f"{comparison.metric.name} on both sides"
        )
        lines.append(f"Left out: {comparison.left_out} without {lack}.")
    if comparison.other_machines:
        lines.append(f"Measured on different machines: {comparison.other_machines}; the ratio is one of machines too.")
    if comparison.metric.is_time and not comparison.metric.sampled:
        lines.append(
            f"{comparison.metric.name} is compared by its value in each trial, over seeds, not by samples: turns that "
            "trials took with each other make no interval narrower."
        )
    apart = [c for c in comparison.configurations if not c.in_turns]
    if comparison.metric.is_time and apart and not comparison.by_baseline:
        remedy = "; --relative takes it out where there is a baseline" if any(c.relative for c in apart) else ""
        lines.append(
            f"{counted(len(apart), 'configuration')} not measured in turns: how the machine had changed between A and "
            f"B is in the ratio and not in its interval{remedy}."
        )
    once = [c for c in comparison.configurations if c.starts == 1]
    if comparison.metric.sampled and once:
        lines.append(
            f"{counted(len(once), 'configuration')} measured in one start: what differs between two starts of a "
            "process is not in the interval."
        )
    if limit:
        lines.append(f"--fail-on {limit.text}: {counted(len(limit.exceeded(comparison)), 'configuration')}.")
    return lines


def ratio_text(ratio: Ratio, places: int = 2) -> str:
    """`1.08x [1.05, 1.11]`; without the interval where nothing is known of it or it has no width."""
    value = f"{_factor(ratio.value, places)}x"
    if math.isinf(ratio.high) or ratio.low == ratio.high:
        return value
    return f"{value} [{_factor(ratio.low, places)}, {_factor(ratio.high, places)}]"


def _factor(value: float, places: int) -> str:
    if math.isinf(value):
        return "∞"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{places}f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


def amount(value: float, unit: str) -> str:
    """`12.3 µs`, `1.20 s`, `0.7312`."""
    if not unit:
        return f"{value:.4f}" if value >= 0.1 or value == 0 else f"{value:.3g}"
    if unit == "µs":
        divisor, unit = next(((d, u) for d, u in ((1e6, "s"), (1e3, "ms")) if value >= d), (1.0, unit))
        value /= divisor
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}" if value >= 0.1 or value == 0 else f"{value:.2g} {unit}"


def plain(value: Any) -> str:
    """A value of an axis."""
    return _NONE if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _interval(ratio: Ratio) -> Mapping[str, float | None]:
    ends = {"value": ratio.value, "low": ratio.low, "high": ratio.high}
    if math.isinf(ratio.high):
        ends["low"] = math.inf
    return {name: end if math.isfinite(end) else None for name, end in ends.items()}
