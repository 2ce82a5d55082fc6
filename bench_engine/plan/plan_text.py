"""What `plan` prints: each part of a sweep with its axes, then its trials or, where there are many, their counts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bench_engine.plan.planning import Plan, Planned
from bench_engine.progress import duration
from bench_engine.sweep.part import Part
from bench_engine.sweep.search import Chosen, counted
from bench_engine.trial import Scalar

MOST_LINES = 40  # more trials than that are counted, not listed
_MOST_VALUES = 8


def lines(plan: Plan, every: bool = False) -> Iterator[str]:
    """The plan as text, line by line; `every` lists all trials however many there are."""
    listed = every or len(plan.trials) <= MOST_LINES
    for number, chosen in enumerate(plan.parts):
        trials = [p for p in plan.trials if p.part == number]
        yield from _heading(chosen)
        yield from (_trial(p) for p in trials) if listed else _counts(trials)
    if not listed:
        yield "All of them, one on a line: plan --all."
    yield (
        f"{counted(len(plan.trials), 'trial')}: {len(plan.of('done')):,} done, {len(plan.of('skip')):,} cannot run, "
        f"{len(plan.of('todo')):,} to do in about {duration(plan.seconds)}."
    )


def _heading(chosen: Chosen) -> Iterator[str]:
    part = chosen.part
    how = f"drawn at random (random_seed {part.random_seed})" if part.drawn else "of a grid"
    yield (
        f"{part.benchmark.name}: {counted(chosen.configurations, 'configuration')} {how}, "
        f"{counted(len(part.methods), 'method')}, {counted(len(chosen.trials), 'trial')}"
    )
    yield f"  methods: {', '.join(part.methods)}" + (f" (baseline {part.baseline})" if part.baseline else "")
    for name, text in _varied(part):
        yield f"  {name}: {text}"
    if chosen.note:
        yield f"  {chosen.note}"


def _varied(part: Part) -> Iterator[tuple[str, str]]:
    """The axes that the sweep says something about, in the order of the benchmark, and their values."""
    for axis in part.benchmark.axes:
        if axis.name in part.ranges:
            yield axis.name, str(part.ranges[axis.name])
        elif axis.name in part.values:
            yield axis.name, _values(part.values[axis.name])
    yield "seed", _values(part.seeds)


def _values(values: Sequence[Scalar]) -> str:
    shown = ", ".join(f"{v:.12g}" if isinstance(v, float) else str(v) for v in values[:_MOST_VALUES])
    return shown if len(values) <= _MOST_VALUES else f"{shown} ... {len(values):,} values"


def _trial(p: Planned) -> str:
    note = {"skip": p.reason, "done": p.before, "todo": duration(p.seconds)}[p.fate]
    return f"{p.fate}  {p.trial.label()}  ({note})"


def _counts(trials: Sequence[Planned]) -> Iterator[str]:
    """One line for what is to do, then one for each end that trials came to or reason that keeps them from running."""
    todo = [p.seconds for p in trials if p.fate == "todo"]
    if todo:
        yield f"  {len(todo):>6,} to do, in about {duration(sum(todo))}"
    done = Counter(f"done: {p.before}" for p in trials if p.fate == "done")
    skipped = Counter(f"cannot run: {p.reason}" for p in trials if p.fate == "skip")
    for what, count in (*done.most_common(), *skipped.most_common()):
        yield f"  {count:>6,} {what}"
