"""Everything Parallel OP did in this process, in words: graphs, and what was kept for which calls, with times."""

import sys
from collections import Counter

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import eager, optimizer_step
from bench_engine.kernels.parallel_op.graph import report


def report_text(details: bool = True) -> str:
    """What became one op of each model and each graph, what was left and why, the times and the way that was kept.

    With `details` also every kind of calls, graph breaks and the op's own choices. The op keeps its choices and counts
    itself, so they are told also where a cache of compiled graphs spared the pass.
    """
    models = [summary.text(details) for summary in eager.summaries()]
    lines = [*models, report.report()] if report.reports() or not models else models
    lines += optimizer_step.report_lines()
    if not details:
        return "\n".join(lines)
    breaks = _graph_breaks()
    if breaks:
        lines.append(
            f"Parallel OP, graph breaks: {sum(breaks.values())}; ops on either side of one cannot be grouped together."
        )
        lines += [f"  {count} x {' '.join(reason.split())[:200]}" for reason, count in breaks.most_common()]
    lines += [_op_choice(line) for line in ops.choices().splitlines()]
    return "\n".join(lines)


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
