"""Which benchmark a question means that several could answer: the one of which clearly most trials tell, else asked.

Of a benchmark of several operators as many tell of a question that names none as one operator has: they are different
computations, which no answer compares with each other. Such a benchmark makes nothing unclear of which another one
tells more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox
from mirror.query.complete import SeveralBenchmarks, complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import compile_sql, condition
from mirror.schema.own_metrics import role_of
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.wording import join

# As many times as many trials as the next benchmark has: with fewer, either may be meant.
CLEARLY = 8
_MOST_OTHERS, _MOST_WAYS = 3, 2
_MOST_COUNTED = 200


class _Trials(NamedTuple):
    """How many of a benchmark meet a condition, and the most of them that are of one operator."""

    all: int = 0
    of_one: int = 0


_counted: dict[tuple[str, str, str], dict[str, _Trials]] = {}


@dataclass(frozen=True)
class Settled:
    """A completed query, and those that mean another benchmark, each with the question that says so."""

    spec: QuerySpec
    others: tuple[tuple[str, QuerySpec], ...] = ()


class BenchmarkUnclear(Ambiguity):
    """Several benchmarks have about as much to say: `meant` are the queries of each, with the questions in words."""

    def __init__(self, benchmarks: tuple[str, ...], meant: tuple[tuple[str, QuerySpec], ...]) -> None:
        super().__init__(f"{join(benchmarks, word='or')}: which benchmark is meant?", tuple(text for text, _ in meant))
        self.meant = meant


def settle(asked: QuerySpec, question: str, sandbox: Sandbox) -> Settled:
    """Complete a query, in the benchmark of which most trials tell where several could answer.

    Args:
        asked: what the question says.
        question: in plain words; what is offered says all that it says.
        sandbox: where trials are counted.

    Raises:
        Refusal: the results hold nothing of the kind.
        BenchmarkUnclear: several benchmarks have about as much to say; each choice leads to rows.
    """
    profile = sandbox.schema()
    try:
        return Settled(complete(asked, profile, question))
    except SeveralBenchmarks as several:
        told = _told(asked, several, sandbox)
        if not told:
            raise
        leading = [b for b in told if _has_rows_in(asked, b, question, sandbox)]
        meant = {b: (_choice(question, b), _in(asked, b)) for b in leading[:_MOST_OTHERS]}
        if not _is_clear(told) and len(leading) > 1:
            raise BenchmarkUnclear(tuple(leading), tuple(meant.values())) from several
        first = next(iter(told if _is_clear(told) else leading), next(iter(told)))
        spec = _named(complete(_in(asked, first), profile, question), first, told)
        return Settled(spec, tuple(one for b, one in meant.items() if b != first))


def settled_ways(asked: QuerySpec, question: str, sandbox: Sandbox) -> tuple[list[tuple[QuerySpec, QuerySpec]], bool]:
    """(query, completed) in each benchmark that most trials tell of, and whether the first of them is clearly meant.

    Raises Refusal or Ambiguity, where no benchmark could answer.
    """
    profile = sandbox.schema()
    try:
        return [(asked, complete(asked, profile, question))], True
    except SeveralBenchmarks as several:
        told = _told(asked, several, sandbox)
        if not told:
            raise
        meant = {b: _named(complete(_in(asked, b), profile, question), b, told) for b in list(told)[:_MOST_WAYS]}
        if _is_clear(told):
            return [(asked, next(iter(meant.values())))], True
        return [(_in(asked, b), spec) for b, spec in meant.items()], False


def _told(asked: QuerySpec, several: SeveralBenchmarks, sandbox: Sandbox) -> dict[str, _Trials]:
    """The benchmarks that have trials, with how many, those with most to say first."""
    told = _trials(asked, several, sandbox)
    return {b: told[b] for b in sorted(several.benchmarks, key=lambda b: -told[b].of_one) if told[b].all}


def _is_clear(told: dict[str, _Trials]) -> bool:
    first, *others = told.values()
    return all((CLEARLY if o.of_one == o.all else 1) * o.of_one <= first.of_one for o in others)


def _named(spec: QuerySpec, benchmark: str, told: dict[str, _Trials]) -> QuerySpec:
    """With a note which benchmark was taken, and why."""
    rest = [f"{b} {trials.all:,}" for b, trials in told.items() if b != benchmark]
    beside = f"; {join(rest)}" if rest else ""
    note = f"benchmark {benchmark}, which has most to say ({told[benchmark].all:,} trials{beside})"
    return replace(spec, notes=(*spec.notes, note))


def has_rows(spec: QuerySpec, sandbox: Sandbox) -> bool:
    """Whether a completed query has rows."""
    try:
        return bool(sandbox.run(compile_sql(spec), row_cap=1).rows)
    except GuardError:  # a name in the results that no statement may hold
        return False


def which_have_rows(specs: Sequence[QuerySpec], sandbox: Sandbox) -> list[bool | None]:
    """The same of several, asked at once where that goes; None for one that no statement can say."""
    statements = [compile_sql(spec) for spec in specs]
    if len(specs) > 1:
        asked = ", ".join(f"EXISTS ({sql}) AS has_{i}" for i, sql in enumerate(statements))
        try:
            (told,) = sandbox.run(f"SELECT {asked}").rows
            return [bool(has) for has in told]
        except QueryCancelled:
            raise
        except (QueryError, GuardError, QueryStopped):
            pass  # which of them cannot be asked, or takes long, is found out one by one
    return [_has_rows_or_none(spec, sandbox) for spec in specs]


def _has_rows_or_none(spec: QuerySpec, sandbox: Sandbox) -> bool | None:
    try:
        return has_rows(spec, sandbox)
    except QueryError:
        return None


def _has_rows_in(asked: QuerySpec, benchmark: str, question: str, sandbox: Sandbox) -> bool:
    try:
        return has_rows(complete(_in(asked, benchmark), sandbox.schema(), question), sandbox)
    except (Refusal, Ambiguity):
        return False


def _in(asked: QuerySpec, benchmark: str) -> QuerySpec:
    return replace(asked, filters=(Filter("benchmark", "=", (benchmark,)), *asked.filters))


def _choice(question: str, benchmark: str) -> str:
    return f"{question.rstrip(' ?.!')} in {benchmark}"


def _trials(asked: QuerySpec, several: SeveralBenchmarks, sandbox: Sandbox) -> dict[str, _Trials]:
    """How many trials of each benchmark have the metrics and satisfy the conditions."""
    conditions = [condition(Filter("benchmark", "in", several.benchmarks))]
    conditions += [f"{metric} IS NOT NULL" for metric in several.metrics]
    conditions += [condition(f) for f in asked.filters if role_of(f.column) != "metric"]
    operators = "benchmark, operator" if "operator" in KNOWN_COLUMNS[asked.source] else "benchmark"
    met = f"FROM {asked.source} WHERE {' AND '.join(conditions)}"
    counts = f"SELECT benchmark, count(*) AS n {met} GROUP BY {operators}"
    sql = f"SELECT benchmark, sum(n)::BIGINT, max(n) FROM ({counts}) AS counted GROUP BY benchmark"
    key = (sandbox.url, sandbox.version(), sql)  # the readings of one question ask the same of one state of the results
    found = _counted.get(key)
    if found is None:
        found = {str(b): _Trials(int(str(n)), int(str(most))) for b, n, most in sandbox.run(sql).rows}
        if len(_counted) >= _MOST_COUNTED:
            _counted.clear()
        _counted[key] = found
    return dict.fromkeys(several.benchmarks, _Trials()) | found
