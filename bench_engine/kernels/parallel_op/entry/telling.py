"""Everything Parallel OP did in this process, in words: graphs, and what was kept for which calls, with times."""

import atexit
import sys
from collections import Counter

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import eager, optimizer_step
from bench_engine.kernels.parallel_op.graph import report
from bench_engine.kernels.parallel_op.settings import Settings, active_settings

_CHOICES_SHOWN = 6


def tell_at_exit() -> None:
    """Print the report when the process ends, once."""
    atexit.unregister(_print_report)
    atexit.register(_print_report)


def report_text(details: bool = True) -> str:
    """What became one op of each model and each graph, what was left and why, the times and the way that was kept.

    With `details` also every kind of calls, how groups came about, graph breaks and the op's own choices, which are
    otherwise told only of graphs that belong to no model. The op keeps its choices and counts itself, so they are told
    also where a cache of compiled graphs spared the pass.
    """
    summaries = eager.summaries()
    of_models = {id(graph) for summary in summaries for graph in summary.graphs}
    others = [graph for graph in report.reports() if id(graph) not in of_models]
    lines = [summary.text(details) for summary in summaries]
    if others or not lines:
        lines.append(report.report(others, details))
    lines += optimizer_step.report_lines()
    if details:
        lines += _breaks()
    choices = [_op_choice(line) for line in ops.choices().splitlines()]
    if details:
        lines += choices
    elif not summaries:
        lines += choices[:_CHOICES_SHOWN]
        if len(choices) > _CHOICES_SHOWN:
            lines.append(f"Parallel OP, op: and {len(choices) - _CHOICES_SHOWN} more kinds of calls.")
    return "\n".join(lines)


def _print_report() -> None:
    settings = active_settings() or Settings.from_environment()
    print(report_text(details=settings.report > 1), file=sys.stderr)


def _breaks() -> list[str]:
    breaks = _graph_breaks()
    if not breaks:
        return []
    total = sum(breaks.values())
    first = f"Parallel OP, graph breaks: {total}; ops on either side of one cannot be grouped together."
    return [first, *(f"  {count} x {' '.join(reason.split())[:200]}" for reason, count in breaks.most_common())]


def _graph_breaks() -> Counter[str]:
    """Reasons for which Dynamo cut a model in pieces so far, of all models of this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return Counter(dynamo.counters["graph_break"]) if dynamo is not None else Counter()


def _op_choice(line: str) -> str:
    """A line of mirror::parallel_op_choices: key, choice, calls, candidate=µs ..., separated by tabs."""
    key, kept, calls, *measured = line.split("\t")
    times = {name: f" ({float(us):.1f} µs)" for name, _, us in (pair.rpartition("=") for pair in measured)}
    told = "still measuring" if kept == "-" else kept + times.get(kept, ", as measured by an earlier process")
    others = [f"{name}{times[name]}" for name in ("untouched", "in order") if name in times and name != kept]
    before = f", before: {others[0]}" if others else ""
    return f"Parallel OP, op ({key}): {told}{before}; {calls} calls."
