"""What to do after a run: the commands that look further into it, each with what it is for."""

import shlex
from collections import Counter

from bench_engine.report.run_results import Measured, RunResults
from bench_engine.sweep import sweep


def next_steps(found: RunResults) -> list[tuple[str, str]]:
    """(what it is for, the command)."""
    steps = []
    failed = sum(n for (status, _), n in found.reasons.items() if status not in ("skipped", "cancelled"))
    if failed and found.state and found.sweep in sweep.names():  # a file's path is not kept
        given = "".join(f" -p {shlex.quote(text)}" for text in found.state.overrides)
        steps.append(
            ("try again what failed", f"python -m bench_engine run {shlex.quote(found.sweep)}{given} --retry-failed")
        )
    if compared := _compared(found.measured):
        where = "" if any(m.row["sweep"] != found.sweep for m in found.measured) else f" --where {_value(found.sweep)}"
        steps.append(
            ("two methods beside each other", f"python -m bench_engine compare {compared}{where}"),
        )
    for question in _questions(found):
        steps.append(("ask", f'python -m mirror ask "{question}"'))
    if found.measured:
        name = shlex.quote(found.name)
        steps.append(("a page with charts", f"python -m bench_engine show {name} --format html --out {name}.html"))
    return steps


def _value(sweep: str) -> str:
    return shlex.quote(f'sweep="{sweep}"' if "," in sweep else f"sweep={sweep}")


def _compared(trials: tuple[Measured, ...]) -> str:
    """The baseline and the method that was compared with it most often."""
    baselines = Counter(m.axes["method"] for m in trials if m.is_baseline)
    others = Counter(m.axes["method"] for m in trials if m.speedup and m.axes["method"] not in baselines)
    if not baselines or not others:
        return ""
    return " ".join(shlex.quote(f"method:{names.most_common(1)[0][0]}") for names in (baselines, others))


def _questions(found: RunResults) -> list[str]:
    """Questions that the results answer, in words that are read without asking back."""
    asked = []
    for name, trials in found.benchmarks.items():
        if len({m.axes["method"] for m in trials}) < 2:
            continue
        if any("auc" in m.metrics for m in trials):
            asked.append("memory vs AUC by method")
        elif name == "lookup":
            many = len({m.axes.get("batch_size") for m in trials}) > 1
            asked.append(f"average lookup latency by method{' and batch size' if many else ''}")
        elif any(m.speedup for m in trials):
            asked.append("average speedup by method")
    return list(dict.fromkeys(asked))
