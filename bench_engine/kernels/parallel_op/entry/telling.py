"""Everything Parallel OP did in this process, in words: graphs, and what was kept for which calls, with times."""

import sys
from collections import Counter

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import eager
from bench_engine.kernels.parallel_op.entry.turns import Choice
from bench_engine.kernels.parallel_op.graph import report


def report_text() -> str:
    """Graphs with their groups and what was left, graph breaks, models called in turns, and the op's own choices.

    The op keeps its choices and counts itself, so they are told also where a cache of compiled graphs spared the pass.
    """
    lines = [report.report()]
    breaks = _graph_breaks()
    if breaks:
        lines.append(
            f"Parallel OP, graph breaks: {sum(breaks.values())}; ops on either side of one cannot be grouped together."
        )
        lines += [f"  {count} x {' '.join(reason.split())[:200]}" for reason, count in breaks.most_common()]
    lines += [_choice(choice) for choice in eager.choices()]
    lines += [_op_choice(line) for line in ops.choices().splitlines()]
    return "\n".join(lines)


def _graph_breaks() -> Counter[str]:
    """Reasons for which Dynamo cut a model in pieces so far, of all models of this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return Counter(dynamo.counters["graph_break"]) if dynamo is not None else Counter()


def _choice(choice: Choice) -> str:
    text = f"Parallel OP, {choice.model} ({choice.bucket}): {choice.kept}"
    if choice.untouched_us is not None and choice.grouped_us is not None:
        text += f"; untouched {choice.untouched_us:.0f} µs, grouped {choice.grouped_us:.0f} µs"
    return text + (f"; {choice.reason}" if choice.reason else "") + "."


def _op_choice(line: str) -> str:
    """A line of mirror::parallel_op_choices: key, choice, calls, candidate=µs ..., separated by tabs."""
    key, kept, calls, *measured = line.split("\t")
    times = {name: f" ({float(us):.1f} µs)" for name, _, us in (pair.rpartition("=") for pair in measured)}
    told = "still measuring" if kept == "-" else kept + times.get(kept, ", as measured by an earlier process")
    others = [f"{name}{times[name]}" for name in ("untouched", "in order") if name in times and name != kept]
    before = f", before: {others[0]}" if others else ""
    return f"Parallel OP, op ({key}): {told}{before}; {calls} calls."
