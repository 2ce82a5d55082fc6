"""Which benchmark a question means that several could answer: the one of which clearly most trials tell, else asked."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from db.columns import BY_NAME
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox
from mirror.query.complete import SeveralBenchmarks, complete
from mirror.query.errors import Ambiguity
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import compile_sql, condition
from mirror.table.wording import join

# As many times as many trials as the next benchmark has: with fewer, either may be meant.
CLEARLY = 8
_MOST_OTHERS = 3


@dataclass(frozen=True)
class Settled:
    """A completed query, and whole questions that mean another benchmark."""

    spec: QuerySpec
    others: tuple[str, ...] = ()


def settle(asked: QuerySpec, question: str, sandbox: Sandbox, is_answered: Callable[[str], bool]) -> Settled:
    """Complete a query, in the benchmark of which most trials tell where several could answer.

    Args:
        asked: what the question says.
        question: in plain words; what is offered says all that it says.
        sandbox: where trials are counted.
        is_answered: whether a question that is to be offered is answered with rows.

    Raises:
        Refusal: the results hold nothing of the kind.
        Ambiguity: several benchmarks have about as much to say; each choice leads to rows.
    """
    profile = sandbox.schema()
    try:
        return Settled(complete(asked, profile, question))
    except SeveralBenchmarks as several:
        told = _trials(asked, several, sandbox)
        first, *rest = sorted(several.benchmarks, key=lambda b: -told[b])
        others = [b for b in rest if told[b]]
        if told[first] == 0:
            raise
        choices = {b: _choice(question, b) for b in (first, *others)}
        if any(CLEARLY * told[b] > told[first] for b in others):
            leading = [b for b in choices if is_answered(choices[b])]
            if len(leading) > 1:
                raise Ambiguity(
                    f"{join(leading, word='or')}: which benchmark is meant?",
                    tuple(choices[b] for b in leading[:_MOST_OTHERS]),
                ) from several
            first = next(iter(leading), first)
        spec = complete(_in(asked, first), profile, question)
        rest = [f"{b} {told[b]:,}" for b in others if b != first]
        beside = f"; {join(rest)}" if rest else ""
        spec = replace(
            spec, notes=(*spec.notes, f"benchmark {first}, which has most to say ({told[first]:,} trials{beside})")
        )
        offered = [choices[b] for b in others if b != first and is_answered(choices[b])]
        return Settled(spec, tuple(offered[:_MOST_OTHERS]))


def has_rows(spec: QuerySpec, sandbox: Sandbox) -> bool:
    """Whether a completed query has rows."""
    try:
        return bool(sandbox.run(compile_sql(spec), row_cap=1).rows)
    except GuardError:  # a name in the results that no statement may hold
        return False


def _in(asked: QuerySpec, benchmark: str) -> QuerySpec:
    return replace(asked, filters=(Filter("benchmark", "=", (benchmark,)), *asked.filters))


def _choice(question: str, benchmark: str) -> str:
    return f"{question.rstrip(' ?.!')} in {benchmark}"


def _trials(asked: QuerySpec, several: SeveralBenchmarks, sandbox: Sandbox) -> dict[str, int]:
    """How many trials of each benchmark have the metrics and satisfy the conditions."""
    conditions = [condition(Filter("benchmark", "in", several.benchmarks))]
    conditions += [f"{metric} IS NOT NULL" for metric in several.metrics]
    conditions += [condition(f) for f in asked.filters if BY_NAME[f.column].role != "metric"]
    sql = f"SELECT benchmark, count(*) FROM {asked.source} WHERE {' AND '.join(conditions)} GROUP BY benchmark"
    return dict.fromkeys(several.benchmarks, 0) | {str(b): int(str(n)) for b, n in sandbox.run(sql).rows}
