"""A result in one to three sentences: every number is computed from the rows, then worded. Plain text only."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import Configuration, badness, configurations, pareto_front
from mirror.query.filter_words import no_rows
from mirror.query.roles import Roles, differing, roles_of
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import MOST_LISTED
from mirror.schema import catalog
from mirror.sentence.changes import change_sentences, course_sentences, machine_sentences
from mirror.sentence.configuration_words import members, name_of, value_of
from mirror.sentence.contrasts import contrast_sentences
from mirror.sentence.relative import difference_sentences, front_sentences, relative_sentences
from mirror.sentence.rows import rows_sentence, top_sentence
from mirror.sentence.verdicts import has_verdicts, verdict_counts, verdict_sentences
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number, sort_key
from mirror.table.wording import (
    MOST_NAMED,
    capital,
    counted,
    course,
    difference,
    in_words,
    join,
    moment,
    says_something,
    shortened,
    superlative,
    where,
)

_MOST_METRICS = 4
_Groups = dict[tuple[Value | None, ...], list[Configuration]]


def summarize(table: Table, spec: QuerySpec | None, chart: ChartSpec | None, failed: int = 0, machines: int = 0) -> str:
    """What the rows say: winner and margin, range, trend or Pareto front, and how many rows that rests on.

    Args:
        table: the result.
        spec: the question, or None for edited SQL.
        chart: the chart beside the text: both speak of the same columns.
        failed: failed trials that the question would have covered.
        machines: number of machines that have any results; 0 where nobody knows it.
    """
    roles = roles_of(table, spec)
    if spec and spec.shape == "change":
        *most, last = change_sentences(table, spec)
    else:
        *most, last = _sentences(table, spec, chart, roles) if table.rows else [no_rows(spec)]
    limits = []
    if spec and spec.shape == "rows" and not spec.limit and len(table.rows) == MOST_LISTED:
        limits.append(f"only the first {MOST_LISTED:,} are listed")
    limits += [f"only the first {len(table.rows):,} rows were read"] if table.truncated else []
    if failed > 0:
        limits.append(f"{failed:,} failed {'trial is' if failed == 1 else 'trials are'} not shown")
    ahead = [*_one_machine(table, spec, machines), *_absent(table, spec)]
    return " ".join([*ahead, *most, "; ".join([last.removesuffix("."), *limits]) + "."])


def _sentences(  # noqa: C901
    table: Table, spec: QuerySpec | None, chart: ChartSpec | None, roles: Roles
) -> list[str]:
    shape = spec.shape if spec else None
    if spec and spec.source == "machines" and shape == "rows" and spec.dimensions:
        return [_facts(table)]
    if shape == "rows" or not roles.metrics:
        return [rows_sentence(table, spec)]
    if spec and shape == "points" and spec.limit and spec.order and spec.order[0].column == roles.metrics[0]:
        return [top_sentence(table, spec)]
    if spec and spec.claim and has_verdicts(table):
        return [*verdict_sentences(table, spec), _basis(table, roles)]
    if spec and spec.verdicts and has_verdicts(table) and shape in ("groups", "points") and len(table.rows) > 1:
        *usual, basis = _sentences(table, replace(spec, verdicts=False), chart, roles)
        return [*usual, *verdict_sentences(table, spec), basis]
    if spec and shape == "relative":
        return relative_sentences(table, spec)
    if spec and shape == "front":
        return front_sentences(table, spec, roles)
    if spec and spec.explain and (differences := difference_sentences(table, spec, roles)):
        return differences
    if spec and shape == "points" and table.names[0] == "started_at":
        return course_sentences(table, spec)
    if shape == "count" or (roles.count and roles.metrics == (roles.count,)):
        return _count(table, spec, roles)
    if len(table.rows) == 1:
        return _single(table, spec, roles)
    if spec and shape in ("ranking", "best"):
        return _ranked(table, spec, roles)
    held, pairs = contrast_sentences(table, spec, roles) if spec else ([], 0)
    if held and pairs:
        return [*held, f"Rests on {counted(pairs, 'pair')} at equal work."]
    if held:
        return [*held, _range(table, roles), _basis(table, roles)]
    of_machines = spec is not None and shape == "groups" and spec.dimensions[:1] == (table.domain.machine,)
    if spec and of_machines and (compared := machine_sentences(table, spec)):
        return [*compared, _basis(table, roles)]
    if chart and chart.type == "scatter" and chart.x in roles.metrics and chart.y in roles.metrics:
        return [*_trade_off(table, roles, chart), _basis(table, roles)]
    if (
        _methods(table) == 2
        and len(roles.metrics) <= _MOST_METRICS
        and (len(roles.metrics) > 1 or not chart or chart.type == "bar")
    ):
        return [_two_methods(table, roles), _basis(table, roles)]
    if chart and chart.type == "line" and chart.x and chart.y:
        return [*_trend(table, roles, chart), _basis(table, roles)]
    return [_range(table, roles), _basis(table, roles)]


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
    found = set(table.values("machine"))
    if len(found) != 1:
        return []
    only = "There is one machine" if machines == 1 else "One machine has measured this"
    return [f"{only}: {describe(table.column('machine'), found.pop())}; there is no other to compare it with."]


# -- kinds of results --------------------------------------------------------------------------------------------------


def _facts(table: Table) -> str:
    """What is known of the first machines: `epyc-01: cpu AMD EPYC`."""
    told = []
    for name, *values in table.rows:
        facts = [f"{c.label} {format_value(c, v)}" for c, v in zip(table.columns[1:], values, strict=True)]
        told.append(f"{describe(table.columns[0], name)}: {join(facts)}")
    return f"{shortened(told, separator='; ')}."


def _count(table: Table, spec: QuerySpec | None, roles: Roles) -> list[str]:
    if spec and "verdict" in spec.dimensions:
        return [verdict_counts(table)]
    counter = roles.metrics[0]
    if spec and spec.distinct and spec.distinct not in spec.dimensions:
        return _distinct(table, spec, counter)
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
    what = catalog.entry(spec.distinct or "").label
    numbers = [v for v in table.values(counter) if is_number(v)]
    if len(numbers) == 1:
        return [f"{counted(int(numbers[0]), 'different value')} of {what}."]
    return [f"From {min(numbers):,} to {max(numbers):,} different values of {what} in {len(numbers):,} groups."]


def _single(table: Table, spec: QuerySpec | None, roles: Roles) -> list[str]:
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


def _ranked(table: Table, spec: QuerySpec, roles: Roles) -> list[str]:
    metric = roles.metrics[0]
    column = table.column(metric)
    order = next((o for o in spec.order if o.column == metric), None)
    descending = order.descending if order else column.better == "higher"
    partitions = [p for p in spec.partitions if p in differing(table, roles.dimensions)]
    found = configurations(table, roles, (metric,), partitions)
    # What is ranked is named even where it is the same everywhere: the one machine that is always first.
    same = {d: table.values(d)[0] for d in spec.dimensions if d not in spec.partitions}
    found = [c if set(c.key) - set(partitions) else replace(c, key={**same, **c.key}) for c in found]
    groups = _by(found, partitions)
    if not groups:
        return [_basis(table, roles)]
    what = superlative(column, descending)
    if partitions:
        sentences = [f"{capital(what)}: {_leaders(table, groups, partitions, metric, descending)}."]
        if len(groups) > MOST_NAMED:
            sentences.append(_winners(table, groups, partitions, metric, descending))
        return [*sentences, _basis(table, roles)]
    best, runner_up = _first_two(groups[()], metric, descending)
    text = f"{shortened([name_of(table, c) for c in best])} {'has' if len(best) == 1 else 'share'} the {what}: "
    text += value_of(best[0], column)
    if runner_up:
        margin = difference(column, runner_up.means[metric], best[0].means[metric])
        text += f"; next is {name_of(table, runner_up)} with {format_value(column, runner_up.means[metric])} ({margin})"
    return [f"{text}.", _basis(table, roles)]


def _trade_off(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """Who is best in quality, at what cost against the baseline, and who is on the Pareto front; per panel."""
    x, y = chart.x or "", chart.y or ""
    # Quality is what should be high; where both or none should, what was asked for second.
    cost, quality = (y, x) if table.column(x).better == "higher" != table.column(y).better else (x, y)
    panels = [chart.facet] if chart.facet else []
    groups = _by(configurations(table, roles, (x, y), panels), panels)
    if not groups:
        return [f"No row has both {table.label(x)} and {table.label(y)}."]
    if not chart.pareto:  # no direction, or different work: nobody wins, so only the ranges are told
        return [f"{capital(join(_extent(table, groups, m) for m in (x, y)))}."]
    baselines = _baselines(table)
    best_in = table.column(quality)
    descending, rival = best_in.better == "higher", table.domain.rival or ""
    parts = []
    for key, found in groups.items():
        rivals = [c for c in found if c.key.get(rival) not in baselines] or found
        best, _ = _first_two(rivals, quality, descending)
        against = _against_baseline(table, best[0], found, baselines, cost, quality)
        value = f"{value_of(best[0], best_in, brackets=False)}{against}"
        names = shortened([name_of(table, c, panels) for c in best])
        parts.append(" ".join(filter(None, (names, where(table, key, panels), f"({value})"))))
    others = f" besides {join(map(str, baselines))}" if 0 < len(baselines) < _methods(table) else ""
    sentences = [f"{capital(superlative(best_in, descending))}{others}: {shortened(parts, separator='; ')}."]
    fronts = {
        key: members(table, pareto_front(found, table.column(x), table.column(y))) for key, found in groups.items()
    }
    if len(set(fronts.values())) == 1:
        each = f" of every {table.label(chart.facet)}" if len(fronts) > 1 else ""
        return [*sentences, f"On the Pareto front{each}: {next(iter(fronts.values()))}."]
    named = [f"{members} {where(table, key, panels)}" for key, members in fronts.items()]
    return [*sentences, f"On the Pareto front: {shortened(named, separator='; ')}."]


def _two_methods(table: Table, roles: Roles) -> str:
    """How two methods differ in each metric, wherever both were measured."""
    rival = table.domain.rival or ""
    first, second = (m for m in table.values(rival).distinct if m is not None)
    if first in _baselines(table):
        first, second = second, first
    parts = []
    for metric in roles.metrics[:_MOST_METRICS]:
        column, pairs = (
            table.column(metric),
            _pairs(table, configurations(table, roles, (metric,)), metric, first, second),
        )
        if len(pairs) == 1:
            (a, b), *_ = pairs
            values = f"{format_value(column, a)} against {format_value(column, b)}"
            parts.append(f"{column.label} {difference(column, a, b)} ({values})")
        elif pairs:
            low, *_, high = (difference(column, *p) for p in sorted(pairs, key=lambda p: _ordering(column, *p)))
            number, _, word = low.partition(" ")
            ends = low if low == high else f"{number} to {high}" if word and high.endswith(word) else f"{low} to {high}"
            parts.append(f"{column.label} {ends} in {len(pairs)} pairs")
    if not parts:
        return _range(table, roles)
    return (
        f"{describe(table.column(rival), first)} against {describe(table.column(rival), second)}: {', '.join(parts)}."
    )


def _pairs(
    table: Table, found: list[Configuration], metric: str, first: Value, second: Value
) -> list[tuple[float, float]]:
    """Values of two methods at the same configuration; a method with one size is the partner of every size."""
    pairs, rival, size = [], table.domain.rival or "", table.domain.size or ""
    for c in (c for c in found if c.key[rival] == first):
        others = [o for o in found if o.key[rival] == second and _same(o, c, (rival, size))]
        exact = [o for o in others if _same(o, c, (rival,))]
        if len(partner := exact or others) == 1:
            pairs.append((c.means[metric], partner[0].means[metric]))
    return pairs


def _same(a: Configuration, b: Configuration, but: Sequence[str]) -> bool:
    return all(a.key[k] == b.key[k] for k in a.key if k not in but)


def _trend(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """How the lines run along x, and where the ends are."""
    x, y = chart.x or "", chart.y or ""
    along_x, metric = table.column(x), table.column(y)
    along = Roles(
        (y,), tuple({x: 0, **dict.fromkeys(roles.parameters)}), roles.names, (), roles.count, roles.raw, roles.asked
    )
    found = [c for c in configurations(table, along, (y,)) if c.key.get(x) is not None]
    others = list(dict.fromkeys(k for c in found for k in c.key if k != x))
    lines = {
        k: sorted(line, key=lambda c: sort_key(c.key[x])) for k, line in _by(found, others).items() if len(line) > 1
    }
    if not lines:
        return [_range(table, roles)]
    if len(lines) > MOST_NAMED:
        kinds = Counter(course([c.means[y] for c in line]) for line in lines.values()).most_common()
        count = f"all {len(lines)}" if len(kinds) == 1 else f"{kinds[0][1]} of {len(lines)}"
        text = f"{capital(metric.label)} {kinds[0][0]} along {along_x.label} in {count} lines"
        text += "".join(f", {kind} in {n}" for kind, n in kinds[1:])
        return [f"{text}.", _range(table, roles)]
    shown = []
    for key, line in lines.items():
        first, last = line[0], line[-1]
        text = course([c.means[y] for c in line])
        text += f" from {format_value(metric, first.means[y])} to {format_value(metric, last.means[y])}"
        peak = min(line, key=lambda c: badness(metric, c.means[y]))
        if metric.better and peak not in (first, last):
            text += f", best {format_value(metric, peak.means[y])} at {moment(along_x, peak.key[x])}"
        who = where(table, key, others) if len(lines) > 1 else ""
        shown.append(f"{text} {who}".strip())
    line = next(iter(lines.values()))
    span = f"from {moment(along_x, line[0].key[x])} to {moment(along_x, line[-1].key[x])}"
    return [f"{capital(metric.label)}, {span}, {'; '.join(shown)}."]


def _range(table: Table, roles: Roles) -> str:
    """The two ends of the leading metric, the better one first; per data set the better end alone."""
    metric = roles.metrics[0]
    column, found = table.column(metric), configurations(table, roles, (metric,))
    if not found:
        return f"No row has a value of {column.label}."
    mean = "mean " if roles.raw and any(c.trials > 1 for c in found) else ""
    descending = column.better != "lower"
    apart = [k for k in found[0].key if k in table.domain.tasks]
    if apart and len(found[0].key) > 1:
        what = superlative(column, descending, mean)
        return f"{capital(what)}: {_leaders(table, _by(found, apart), apart, metric, descending)}."
    if len(found) == 1:
        values = [v for v in table.values(metric) if is_number(v)]
        low, high = (format_value(column, v) for v in (min(values), max(values)))
        return f"{capital(mean + column.label)} {value_of(found[0], column)}, from {low} to {high}."
    ends = []
    for up in (descending, not descending):
        (first, *tied), _ = _first_two(found, metric, up)
        who = [
            describe(of, v)
            for of, v in ((table.column(k), v) for k, v in first.key.items())
            if v is not None or says_something(of)
        ]
        who += [f"and {len(tied)} more"] if tied else []
        value = format_value(column, first.means[metric])
        ends.append(f"{superlative(column, up, mean)} {value}" + (f" ({', '.join(who)})" if who else ""))
    return f"{capital(ends[0])}; {ends[1]}."


def _extent(table: Table, groups: _Groups, metric: str) -> str:
    found = [c for of_one in groups.values() for c in of_one]
    column, values = table.column(metric), [c.means[metric] for c in found]
    if len(found) == 1:  # its mean is no range
        values = [float(v) for v in table.values(metric) if is_number(v)]
    return f"{column.label} from {format_value(column, min(values))} to {format_value(column, max(values))}"


def _basis(table: Table, roles: Roles) -> str:
    found, domain = configurations(table, roles, roles.metrics[:1]), table.domain
    if roles.count and domain.step in table.names:  # a trial has a point at every step
        trials: dict[tuple[tuple[str, Value | None], ...], int] = defaultdict(int)
        for c in found:
            key = tuple((name, value) for name, value in c.key.items() if name not in (domain.step, domain.curve))
            trials[key] = max(trials[key], c.trials)
        return f"Rests on {counted(sum(trials.values()), domain.row)} in {counted(len(found), 'row')}."
    rows = sum(c.trials for c in found)
    if roles.count:
        return f"Rests on {counted(rows, domain.row)} in {counted(len(found), 'row')}."
    if not {*domain.repeated_by} & set(table.names):
        return f"{counted(rows, 'row')}."
    return f"Rests on {counted(rows, domain.row)} of {counted(len(found), domain.kind)}."


# -- parts of sentences ------------------------------------------------------------------------------------------------


def _against_baseline(
    table: Table,
    best: Configuration,
    found: Sequence[Configuration],
    baselines: set[Value | None],
    cost: str,
    quality: str,
) -> str:
    """`, 0.0036 lower than dense with 0.1x its memory`; empty where there is no one baseline of the same workload."""
    rival = table.domain.rival or ""
    if best.key.get(rival) in baselines:
        return ""
    same = [k for k in best.key if k in table.domain.work]
    bases = [c for c in found if c.key.get(rival) in baselines and all(c.key[k] == best.key[k] for k in same)]
    if len(bases) != 1:
        return ""
    (base,) = bases
    than = difference(table.column(quality), best.means[quality], base.means[quality])
    than += " as" if than == "the same" else " than" if than.endswith(("lower", "higher")) else " that of"
    share = difference(table.column(cost), best.means[cost], base.means[cost])
    if share == "the same":
        price = f"at the same {table.label(cost)}"
    elif share.endswith("x"):
        price = f"with {share} its {table.label(cost)}"
    else:
        price = f"at a {table.label(cost)} {share}"
    return f", {than} {describe(table.column(rival), base.key[rival])} {price}"


def _ordering(metric: Column, value: float, base: float) -> float:
    return value / base if metric.unit and base > 0 else value - base


def _first_two(
    found: Sequence[Configuration], metric: str, descending: bool
) -> tuple[list[Configuration], Configuration | None]:
    """The first, all of them when tied, and the next behind them."""
    ranked = sorted(found, key=lambda c: c.means[metric], reverse=descending)
    best = [c for c in ranked if c.means[metric] == ranked[0].means[metric]]
    return best, ranked[len(best)] if len(best) < len(ranked) else None


def _leaders(table: Table, groups: _Groups, partitions: list[str], metric: str, descending: bool) -> str:
    parts = []
    for key, found in groups.items():
        best, _ = _first_two(found, metric, descending)
        names = shortened([name_of(table, c, partitions) for c in best])
        parts.append(
            f"{names} {where(table, key, partitions)} ({value_of(best[0], table.column(metric), brackets=False)})"
        )
    return shortened(parts)


def _winners(table: Table, groups: _Groups, partitions: list[str], metric: str, descending: bool) -> str:
    """How often each is first; a tie counts for all of it."""
    firsts = [c for found in groups.values() for c in _first_two(found, metric, descending)[0]]
    wins = Counter(name_of(table, c, partitions) for c in firsts).most_common()
    return (
        f"First of {len(groups)}: {shortened([f'{name} {n} times' if n > 1 else f'{name} once' for name, n in wins])}."
    )


def _by(found: Iterable[Configuration], columns: Sequence[str]) -> _Groups:
    groups: _Groups = defaultdict(list)
    for c in found:
        groups[tuple(c.key.get(k) for k in columns)].append(c)
    return dict(groups)


def _baselines(table: Table) -> set[Value | None]:
    """The baseline methods: those that the table marks, else the one the catalogue names."""
    rival, mark = table.domain.rival, table.domain.baseline_mark
    if rival is None or rival not in table.names:
        return set()
    methods = table.values(rival)
    if mark in table.names:
        marks = table.values(mark or "")
        return {m for m, marked in zip(methods, marks, strict=True) if marked is True}
    return {m for m in methods if m == table.domain.baseline}


def _methods(table: Table) -> int:
    rival = table.domain.rival
    return len(set(table.values(rival)) - {None}) if rival in table.names else 0
