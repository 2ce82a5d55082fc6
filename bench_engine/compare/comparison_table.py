"""A comparison as people read it in a terminal, and as JSON."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from bench_engine.compare.axes_shown import fixed
from bench_engine.compare.compare import Compared, Comparison, Limit, Metric
from bench_engine.compare.text_table import GAP, NONE, WRAP, Column, amount, interval, plain, ratio_text, table
from bench_engine.sweep.search import counted


def text(comparison: Comparison, width: int = 100, colour: bool = False, limit: Limit | None = None) -> str:
    """A table for each benchmark, and what all comes to."""
    benchmarks = dict.fromkeys(c.axes["benchmark"] for c in comparison.configurations)
    lines = [f"A  {comparison.a.text}", f"B  {comparison.b.text}", *textwrap.wrap(_legend(comparison), width, **WRAP)]
    for benchmark in benchmarks:
        mine = [c for c in comparison.configurations if c.axes["benchmark"] == benchmark]
        same = ", ".join(f"{name} {plain(value)}" for name, value in fixed(mine).items())
        lines += [
            "",
            *table(mine, _columns(mine, comparison.metric), width, [c.verdict for c in mine] if colour else ()),
        ]
        lines += ["", *textwrap.wrap(f"The same in all: {same}.", width, **WRAP)]
        for told in comparison.why.get(benchmark, ()):
            lines += textwrap.wrap(f"Why: {told}", width, **WRAP)
    summary = [part for line in _summary(comparison, limit) for part in textwrap.wrap(line, width, **WRAP)]
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
                "ratio": None if c.difference else interval(c.ratio),
                "difference": c.difference.plain() if c.difference else None,
                "vs_baseline": interval(c.relative) if c.relative else None,
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
            "geometric_mean": {method or "all": interval(mean) for method, mean in comparison.means().items()},
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "same_trials": comparison.same_trials,
            "other_machines": comparison.other_machines,
            "left_out": comparison.left_out,
            "fixed": fixed(comparison.configurations),
            "why": {benchmark: list(told) for benchmark, told in comparison.why.items()},
            "fail_on": {"limit": limit.text, "exceeded": len(limit.exceeded(comparison))} if limit else None,
        },
    }


# -- the table -----------------------------------------------------------------------------------------------------


def _legend(comparison: Comparison) -> str:
    metric = comparison.metric
    if metric.by_difference:
        return f"{metric.name}, some of it below 0, difference = {metric.formula}; [95 % interval]"
    judged = ", verdicts from the change against the baseline" if comparison.by_baseline else ""
    return f"{metric.name}, ratio = {metric.formula}: above 1 B is {metric.words[0]}; [95 % interval]{judged}"


def _columns(configurations: Sequence[Compared], metric: Metric) -> list[Column]:
    found = []
    if any(c.seeds > 1 for c in configurations):
        found.append(Column(["seeds"], [str(c.seeds) for c in configurations]))
    found.append(Column(["A"], [amount(c.a, metric.unit) for c in configurations]))
    found.append(Column(["B"], [amount(c.b, metric.unit) for c in configurations]))
    if metric.by_difference:
        found.append(Column(["B - A"], [_difference(c, metric.unit) for c in configurations]))
    else:
        found.append(Column(["ratio"], [ratio_text(c.ratio, metric.places) for c in configurations]))
    if any(c.relative for c in configurations):
        relative = [ratio_text(c.relative, metric.places) if c.relative else NONE for c in configurations]
        found.append(Column(["vs", "baseline"], relative))
    return [*found, Column(["verdict"], [c.verdict for c in configurations], left=True)]


def _difference(compared: Compared, unit: str) -> str:
    """`-0.0500 [-0.0700, -0.0300]`; without the interval where nothing is known of it or it has no width."""
    found = compared.difference
    assert found
    if math.isinf(found.high) or found.low == found.high:
        return amount(found.value, unit)
    return f"{amount(found.value, unit)} [{amount(found.low, unit)}, {amount(found.high, unit)}]"


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
            lines += [f"{GAP}{method or 'all':<{widest}}  {ratio_text(mean, places)}" for method, mean in means.items()]
    nothing = sum(comparison.judged(c).value in (0, math.inf) for c in comparison.configurations)
    if nothing and not comparison.metric.by_difference:
        lines.append(f"{counted(nothing, 'configuration')} with 0 on one side: a ratio that is in no mean.")
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
