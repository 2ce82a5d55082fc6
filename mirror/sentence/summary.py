"""A result in one to three sentences: every number is computed from the rows, then worded. Plain text only."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import Configuration, configurations
from mirror.query.filter_words import no_rows
from mirror.query.roles import Roles, roles_of
from mirror.query.spec import Filter, QuerySpec, Question, Shape
from mirror.query.sql import MOST_LISTED
from mirror.sentence.changes import change_sentences, course_sentences, machine_sentences
from mirror.sentence.configuration_words import name_of, value_of
from mirror.sentence.contrasts import contrast_sentences
from mirror.sentence.firsts import range_sentence, ranked_sentences, trend_sentences
from mirror.sentence.relative import difference_sentences, front_sentences, relative_sentences
from mirror.sentence.rivals import number_of_rivals, trade_off_sentences, two_methods_sentence
from mirror.sentence.rows import rows_sentence, top_sentence
from mirror.sentence.verdicts import has_verdicts, verdict_counts, verdict_sentences
from mirror.table.numbers import describe, format_value
from mirror.table.table import Table
from mirror.table.values import Value, is_number
from mirror.table.wording import capital, counted, in_words, join, shortened, superlative

_MOST_METRICS = 4


@dataclass(frozen=True)
class _Result:
    """What the sentences are about.

    Attributes:
        table: all rows as far as they are known, by configuration where they are many (see mirror.answer.whole).
        read: the rows that were read, in their order.
        question: what was asked; None for edited SQL.
    """

    table: Table
    read: Table
    roles: Roles
    question: Question | None
    chart: ChartSpec

    @property
    def spec(self) -> QuerySpec | None:
        """The question where it has the form of those about Mirror's results."""
        return self.question if isinstance(self.question, QuerySpec) else None

    @property
    def shape(self) -> Shape | None:
        return self.question.shape if self.question else None


def summarize(
    table: Table, question: Question | None, chart: ChartSpec | None, failed: int = 0, machines: int = 0
) -> str:
    """What the rows say: winner and margin, range, trend or Pareto front, and how many rows that rests on.

    Args:
        table: the result.
        question: what was asked, or None for edited SQL.
        chart: the chart beside the text: both speak of the same columns.
        failed: failed trials that the question would have covered.
        machines: number of machines that have any results; 0 where nobody knows it.
    """
    roles = roles_of(table, question)
    result = _Result(_told_of(table, chart), table, roles, question, chart or ChartSpec("bar"))
    *most, last = _sentences(result)
    limits = []
    if result.shape == "rows" and question and not question.limit and len(table.rows) == MOST_LISTED:
        limits.append(f"only the first {MOST_LISTED:,} are listed")
    if result.table.truncated:
        limits.append(f"only the first {len(result.table.rows):,} rows were read")
    if failed > 0:
        limits.append(f"{failed:,} failed {'trial is' if failed == 1 else 'trials are'} not shown")
    ahead = [*_one_machine(result.table, result.spec, machines), *_absent(result.table, result.spec)]
    return " ".join([*ahead, *most, "; ".join([last.removesuffix("."), *limits]) + "."])


def _told_of(table: Table, chart: ChartSpec | None) -> Table:
    """All rows, unless these say nothing of what the chart is about."""
    places = [c for c in (chart.x, chart.y) if c in table.names] if chart else []
    lost = [c for c in places if table.everything.values(c or "").empty and not table.values(c or "").empty]
    return table if lost else table.everything


def _sentences(result: _Result) -> list[str]:
    """Those of the first kind of result that applies and has any; last how many rows they rest on."""
    for kind in _KINDS:
        if kind.applies(result) and (sentences := kind.sentences(result)):
            return [*sentences, _basis(result.table, result.roles)] if kind.rests else sentences
    raise AssertionError("The last kind applies to all.")


def _absent(table: Table, spec: QuerySpec | None) -> list[str]:
    """Which of the values that are named beside others of the same column no row has."""
    if not spec or not table.rows or table.truncated or spec.limit or spec.claim:
        return []
    if spec.shape not in ("groups", "points", "rows", "count", "relative"):
        return []  # of the others only the first are shown
    reference = spec.against.values if spec.against else ()
    absent: list[str] = []
    for f in spec.filters:
        if f.operator == "in" and f.column in table.names:
            there = {*table.values(f.column), *reference}
            absent += [describe(table.column(f.column), v) for v in f.values if v not in there]
    return [f"There is no row for {join(absent)}."] if absent else []


def _one_machine(table: Table, spec: QuerySpec | None, machines: int) -> list[str]:
    """Where machines should be compared and there is one."""
    if not spec or spec.shape != "groups" or spec.dimensions[:1] != (table.domain.machine,):
        return []
    machine = table.columns[0]
    found = table.values(machine.name).different
    if len(found) != 1:
        return []
    only = "There is one machine" if machines == 1 else "One machine has measured this"
    return [f"{only}: {describe(machine, *found)}; there is no other to compare it with."]


# -- kinds of results --------------------------------------------------------------------------------------------------


def _facts(table: Table) -> str:
    """What is known of the first machines: `epyc-01: cpu AMD EPYC`."""
    told = []
    for name, *values in table.rows:
        facts = [f"{c.label} {format_value(c, v)}" for c, v in zip(table.columns[1:], values, strict=True)]
        told.append(": ".join(filter(None, (describe(table.columns[0], name), join(facts) if facts else ""))))
    return f"{shortened(told, separator='; ')}."


def _count(table: Table, spec: QuerySpec | None, roles: Roles) -> list[str]:
    counter = roles.metrics[0]
    if spec and spec.distinct and spec.distinct not in spec.dimensions:
        return _distinct(table, spec, counter)
    if spec and "verdict" in spec.dimensions:
        return [verdict_counts(table)]
    found = configurations(table, roles, (counter,))
    total = int(sum(c.means[counter] for c in found))
    failed = spec is not None and spec.source == "failures" and Filter("status", "<>", ("skipped",)) in spec.filters
    unit = f"failed {table.domain.row}" if failed else table.domain.row
    verdicts = [v for f in spec.filters if f.column == "verdict" for v in f.values] if spec else []
    of = f" with the verdict {join(map(str, verdicts))}" if len(verdicts) == 1 else ""
    if len(table.rows) == 1:
        who = f" for {name_of(table, found[0])}" if found[0].key else ""
        return [f"{counted(total, unit)}{of}{who}."]
    ranked = sorted(found, key=lambda c: -c.means[counter])
    most, fewest = ranked[0], ranked[-1]
    if most.means[counter] == fewest.means[counter]:
        return [f"{counted(total, unit)}{of} in {len(found):,} groups, {most.means[counter]:,.0f} in each."]
    return [
        f"{counted(total, unit)}{of} in {len(found):,} groups: "
        f"most for {name_of(table, most)} ({most.means[counter]:,.0f}), "
        f"fewest for {name_of(table, fewest)} ({fewest.means[counter]:,.0f})."
    ]


def _distinct(table: Table, spec: QuerySpec, counter: str) -> list[str]:
    """How many different values there are."""
    what = spec.column(spec.distinct or "").label
    numbers = [v for v in table.values(counter) if is_number(v)]
    if len(numbers) == 1:
        return [f"{counted(int(numbers[0]), 'different value')} of {what}."]
    return [f"From {min(numbers):,} to {max(numbers):,} different values of {what} in {len(numbers):,} groups."]


def _single(table: Table, spec: Question | None, roles: Roles) -> list[str]:
    found = configurations(table, roles, roles.metrics[:_MOST_METRICS])
    asked = (table.domain.machine, *(spec.dimensions if spec else ()))
    named = {
        d: table.values(d)[0]
        for d in roles.dimensions
        if (d in asked or table.column(d).role == "axis") and d not in table.domain.repeated_by
    }
    who = f" for {in_words(table, named)}" if named else ""
    if not found:
        return [f"{counted(1, 'row')}{who}, without a value of {join(map(table.label, roles.metrics))}."]
    values = [f"{table.label(m)} {value_of(found[0], table.column(m))}" for m in roles.metrics[:_MOST_METRICS]]
    if spec and spec.shape in ("ranking", "best") and spec.order and spec.order[0].column == roles.metrics[0]:
        leading = table.column(roles.metrics[0])
        values[0] = f"{superlative(leading, spec.order[0].descending)} {value_of(found[0], leading)}"
    sentences = [f"{capital(join(values))}{who}."]
    return [*sentences, _basis(table, roles)] if roles.count else sentences


def _basis(table: Table, roles: Roles) -> str:
    """How many rows or trials there are behind what is said, and how many of them have no value to say it of."""
    metric, domain = roles.metrics[0], table.domain
    found, total = configurations(table, roles, (metric,)), sum(table.tallies)
    missing = sum(n for n, v in zip(table.tallies, table.values(metric), strict=True) if not is_number(v))
    of_trials = not roles.count and not {*domain.repeated_by}.isdisjoint(table.names)
    unit = domain.row if of_trials else "row"
    if of_trials:
        text = f"Rests on {counted(total - missing, unit)} of {counted(len(found), domain.kind)}"
    elif roles.count:
        text = f"Rests on {counted(_trials(table, found), domain.row)} in {counted(total, unit)}"
    else:
        text = counted(total, unit)
    if missing:
        text += f"; {counted(missing, unit)} {'has' if missing == 1 else 'have'} no {table.label(metric)}"
    return f"{text}."


def _trials(table: Table, found: Sequence[Configuration]) -> int:
    """How many trials groups rest on; of a training curve each has a point at every step."""
    step, curve = table.domain.step, table.domain.curve
    if step not in table.names:
        return sum(c.trials for c in found)
    most: dict[tuple[tuple[str, Value | None], ...], int] = defaultdict(int)
    for c in found:
        key = tuple((name, value) for name, value in c.key.items() if name not in (step, curve))
        most[key] = max(most[key], c.trials)
    return sum(most.values())


# -- parts of sentences ------------------------------------------------------------------------------------------------


def _ranked(result: _Result) -> list[str]:
    return ranked_sentences(result.table, result.question, result.roles) if result.question else []


def _contrast(result: _Result, spec: QuerySpec) -> list[str]:
    held, pairs = contrast_sentences(result.table, spec, result.roles)
    if held and pairs:
        return [*held, f"Rests on {counted(pairs, 'pair')} at equal work."]
    return held and [*held, range_sentence(result.table, result.roles), _basis(result.table, result.roles)]


def _with_verdicts(result: _Result, spec: QuerySpec) -> list[str]:
    *usual, basis = _sentences(replace(result, question=replace(spec, verdicts=False)))
    return [*usual, *verdict_sentences(result.table, spec), basis]


# -- which kind a result is --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """A kind of result.

    Attributes:
        applies: whether a result is of it.
        sentences: what is said then; nothing leaves the result to the kinds behind.
        rests: whether it is said last how many rows that rests on.
    """

    applies: Callable[[_Result], object]
    sentences: Callable[[_Result], list[str]]
    rests: bool = True


def _of(
    applies: Callable[[_Result, QuerySpec], object],
    sentences: Callable[[_Result, QuerySpec], list[str]],
    rests: bool = False,
) -> _Kind:
    """A kind of result of questions about Mirror's own results."""
    return _Kind(lambda r: r.spec and applies(r, r.spec), lambda r: sentences(r, r.spec) if r.spec else [], rests)


def _is_top(result: _Result, spec: QuerySpec) -> bool:
    """Whether single trials are listed in the order of a metric."""
    leads = bool(spec.order) and spec.order[0].column == result.roles.metrics[0]
    return spec.shape == "points" and bool(spec.limit) and leads


def _is_count(result: _Result) -> bool:
    return result.shape == "count" or (bool(result.roles.count) and result.roles.metrics == (result.roles.count,))


def _is_trade_off(result: _Result) -> bool:
    return result.chart.type == "scatter" and {result.chart.x, result.chart.y} <= set(result.roles.metrics)


def _is_of_two(result: _Result) -> bool:
    """Whether two methods are compared, and no line tells more."""
    metrics = len(result.roles.metrics)
    return (
        metrics <= _MOST_METRICS and number_of_rivals(result.table) == 2 and (metrics > 1 or result.chart.type == "bar")
    )


_KINDS = (
    _of(lambda r, s: s.shape == "change", lambda r, s: change_sentences(r.table, s)),
    _Kind(lambda r: not r.table.rows, lambda r: [no_rows(r.question)], rests=False),
    _of(lambda r, s: s.source == "machines" and s.shape == "rows" and s.dimensions, lambda r, s: [_facts(r.table)]),
    _Kind(
        lambda r: r.shape == "rows" or not r.roles.metrics,
        lambda r: [rows_sentence(r.read, r.question, sum(r.table.tallies))],
        rests=False,
    ),
    _of(_is_top, lambda r, s: [top_sentence(r.table, s)]),
    _of(lambda r, s: s.claim and has_verdicts(r.table), lambda r, s: verdict_sentences(r.table, s), rests=True),
    _of(
        lambda r, s: s.verdicts and has_verdicts(r.table) and s.shape in ("groups", "points") and len(r.table.rows) > 1,
        _with_verdicts,
    ),
    _of(lambda r, s: s.shape == "relative", lambda r, s: relative_sentences(r.table, s)),
    _of(lambda r, s: s.shape == "front", lambda r, s: front_sentences(r.table, s, r.roles)),
    _of(lambda r, s: s.explain, lambda r, s: difference_sentences(r.table, s, r.roles)),
    _of(
        lambda r, s: s.shape == "points" and r.table.columns[0].role == "time",
        lambda r, s: course_sentences(r.table, s),
    ),
    _Kind(_is_count, lambda r: _count(r.table, r.spec, r.roles), rests=False),
    _Kind(lambda r: sum(r.table.tallies) == 1, lambda r: _single(r.table, r.question, r.roles), rests=False),
    _Kind(lambda r: r.shape in ("ranking", "best"), _ranked),
    _of(lambda r, s: True, _contrast),
    _of(
        lambda r, s: s.shape == "groups" and s.dimensions[:1] == (r.table.domain.machine,),
        lambda r, s: machine_sentences(r.table, s),
        rests=True,
    ),
    _Kind(_is_trade_off, lambda r: trade_off_sentences(r.table, r.roles, r.chart)),
    _Kind(_is_of_two, lambda r: [two_methods_sentence(r.table, r.roles)]),
    _Kind(
        lambda r: r.chart.type == "line" and r.chart.x and r.chart.y,
        lambda r: trend_sentences(r.table, r.roles, r.chart),
    ),
    _Kind(lambda _: True, lambda r: [range_sentence(r.table, r.roles)]),
)
