"""A result in one to three sentences: every number is computed from the rows, then worded. Plain text only."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from db.columns import AXES, GROUP_AXES
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import no_rows
from mirror.chart.configurations import Configuration, badness, configurations, has_direction, pareto_front
from mirror.chart.drawable import label
from mirror.chart.roles import Roles, differing, distinct, is_number, sort_key, sort_roles
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import MOST_LISTED
from mirror.schema import catalog
from mirror.sentence.changes import change_sentences, course_sentences, machine_sentences
from mirror.sentence.contrasts import contrast_sentences
from mirror.sentence.relative import difference_sentences, front_sentences, relative_sentences
from mirror.sentence.rows import rows_sentence, top_sentence
from mirror.sentence.verdicts import has_verdicts, verdict_counts, verdict_sentences
from mirror.table.numbers import describe, format_value
from mirror.table.table import Table, Value
from mirror.table.wording import (
    MOST_NAMED,
    capital,
    counted,
    course,
    difference,
    in_words,
    join,
    members,
    moment,
    name_of,
    says_something,
    shortened,
    superlative,
    value_of,
    where,
)

_MOST_METRICS = 4
# Values of these are different tasks: their numbers are never ranked against each other.
_TASKS = ("metric", "benchmark", "dataset")


def summarize(table: Table, spec: QuerySpec | None, chart: ChartSpec | None, failed: int = 0, machines: int = 0) -> str:
    """What the rows say: winner and margin, range, trend or Pareto front, and how many rows that rests on.

    Args:
        table: the result.
        spec: the question, or None for edited SQL.
        chart: the chart beside the text: both speak of the same columns.
        failed: failed trials that the question would have covered.
        machines: number of machines that have any results; 0 where nobody knows it.
    """
    roles = sort_roles(table, spec)
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


def _sentences(table: Table, spec: QuerySpec | None, chart: ChartSpec | None, roles: Roles) -> list[str]:
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
    if spec and shape == "points" and table.columns[0] == "started_at":
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
    of_machines = spec is not None and shape == "groups" and spec.dimensions[:1] == ("machine",)
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
        if f.operator == "in" and f.column in table.columns:
            there = {*table.column(f.column), *reference}
            absent += [describe(f.column, v) for v in f.values if v not in there]
    return [f"There is no row for {join(absent)}."] if absent else []


def _one_machine(table: Table, spec: QuerySpec | None, machines: int) -> list[str]:
    """Where machines should be compared and there is one."""
    if not spec or spec.shape != "groups" or spec.dimensions[:1] != ("machine",):
        return []
    found = set(table.column("machine"))
    if len(found) != 1:
        return []
    only = "There is one machine" if machines == 1 else "One machine has measured this"
    return [f"{only}: {describe('machine', found.pop())}; there is no other to compare it with."]


# -- kinds of results --------------------------------------------------------------------------------------------------


def _facts(table: Table) -> str:
    """What is known of the first machines: `epyc-01: cpu AMD EPYC`."""
    told = []
    for name, *values in table.rows:
        facts = [f"{label(c)} {format_value(c, v)}" for c, v in zip(table.columns[1:], values, strict=True)]
        told.append(f"{describe('machine', name)}: {join(facts)}")
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
    unit = "failed trial" if failed else "trial"
    verdicts = [v for f in spec.filters if f.column == "verdict" for v in f.values] if spec else []
    of = f" with the verdict {join(map(str, verdicts))}" if len(verdicts) == 1 else ""
    if len(table.rows) == 1:
        who = f" for {name_of(found[0])}" if found[0].key else ""
        return [f"{counted(total, unit)}{of}{who}."]
    ranked = sorted(found, key=lambda c: -c.means[counter])
    most, fewest = ranked[0], ranked[-1]
    if most.means[counter] == fewest.means[counter]:
        return [f"{counted(total, unit)}{of} in {len(found):,} groups, {most.means[counter]:,.0f} in each."]
    return [
        f"{counted(total, unit)}{of} in {len(found):,} groups: most for {name_of(most)} ({most.means[counter]:,.0f}), "
        f"fewest for {name_of(fewest)} ({fewest.means[counter]:,.0f})."
    ]


def _distinct(table: Table, spec: QuerySpec, counter: str) -> list[str]:
    """How many different values there are."""
    what = label(spec.distinct)
    numbers = [v for v in table.column(counter) if is_number(v)]
    if len(numbers) == 1:
        return [f"{counted(int(numbers[0]), 'different value')} of {what}."]
    return [f"From {min(numbers):,} to {max(numbers):,} different values of {what} in {len(numbers):,} groups."]


def _single(table: Table, spec: QuerySpec | None, roles: Roles) -> list[str]:
    found = configurations(table, roles, roles.metrics[:_MOST_METRICS])
    asked = spec.dimensions if spec else ()
    named = {d: table.column(d)[0] for d in roles.dimensions if d in (*AXES, "machine", *asked) and d != "seed"}
    who = f" for {in_words(named)}" if named else ""
    if not found:
        return [f"{counted(1, 'row')}{who}, without a value of {join(label(m) for m in roles.metrics)}."]
    values = [f"{label(m)} {value_of(found[0], m)}" for m in roles.metrics[:_MOST_METRICS]]
    if spec and spec.shape in ("ranking", "best") and spec.order and spec.order[0].column == roles.metrics[0]:
        values[0] = f"{superlative(roles.metrics[0], spec.order[0].descending)} {value_of(found[0], roles.metrics[0])}"
    sentences = [f"{capital(join(values))}{who}."]
    return [*sentences, _basis(table, roles)] if roles.count else sentences


def _ranked(table: Table, spec: QuerySpec, roles: Roles) -> list[str]:
    metric = roles.metrics[0]
    order = next((o for o in spec.order if o.column == metric), None)
    descending = order.descending if order else catalog.entry(metric).better == "higher"
    partitions = [p for p in spec.partitions if p in differing(table, roles.dimensions)]
    found = configurations(table, roles, (metric,), partitions)
    # What is ranked is named even where it is the same everywhere: the one machine that is always first.
    same = {d: table.column(d)[0] for d in spec.dimensions if d not in spec.partitions}
    found = [c if set(c.key) - set(partitions) else replace(c, key={**same, **c.key}) for c in found]
    groups = _by(found, partitions)
    if not groups:
        return [_basis(table, roles)]
    what = superlative(metric, descending)
    if partitions:
        sentences = [f"{capital(what)}: {_leaders(groups, partitions, metric, descending)}."]
        if len(groups) > MOST_NAMED:
            sentences.append(_winners(groups, partitions, metric, descending))
        return [*sentences, _basis(table, roles)]
    best, runner_up = _first_two(groups[()], metric, descending)
    text = f"{shortened([name_of(c) for c in best])} {'has' if len(best) == 1 else 'share'} the {what}: "
    text += value_of(best[0], metric)
    if runner_up:
        margin = difference(metric, runner_up.means[metric], best[0].means[metric])
        text += f"; next is {name_of(runner_up)} with {format_value(metric, runner_up.means[metric])} ({margin})"
    return [f"{text}.", _basis(table, roles)]


def _trade_off(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """Who is best in quality, at what cost against the baseline, and who is on the Pareto front; per panel."""
    x, y = chart.x or "", chart.y or ""
    # Quality is what should be high; where both or none should, what was asked for second.
    cost, quality = (y, x) if catalog.entry(x).better == "higher" != catalog.entry(y).better else (x, y)
    panels = [chart.facet] if chart.facet else []
    groups = _by(configurations(table, roles, (x, y), panels), panels)
    if not groups:
        return [f"No row has both {label(x)} and {label(y)}."]
    if not chart.pareto:  # no direction, or different work: nobody wins, so only the ranges are told
        return [f"{capital(join(_extent(groups, m) for m in (x, y)))}."]
    baselines = _baselines(table)
    descending = catalog.entry(quality).better == "higher"
    parts = []
    for key, found in groups.items():
        rivals = [c for c in found if c.key.get("method") not in baselines] or found
        best, _ = _first_two(rivals, quality, descending)
        against = _against_baseline(best[0], found, baselines, cost, quality)
        value = f"{value_of(best[0], quality, brackets=False)}{against}"
        names = shortened([name_of(c, panels) for c in best])
        parts.append(" ".join(filter(None, (names, where(key, panels), f"({value})"))))
    others = f" besides {join(map(str, baselines))}" if 0 < len(baselines) < _methods(table) else ""
    sentences = [f"{capital(superlative(quality, descending))}{others}: {shortened(parts, separator='; ')}."]
    fronts = {key: members(pareto_front(found, x, y)) for key, found in groups.items()}
    if len(set(fronts.values())) == 1:
        each = f" of every {label(chart.facet)}" if len(fronts) > 1 else ""
        return [*sentences, f"On the Pareto front{each}: {next(iter(fronts.values()))}."]
    named = [f"{members} {where(key, panels)}" for key, members in fronts.items()]
    return [*sentences, f"On the Pareto front: {shortened(named, separator='; ')}."]


def _two_methods(table: Table, roles: Roles) -> str:
    """How two methods differ in each metric, wherever both were measured."""
    first, second = (m for m in distinct(table, "method") if m is not None)
    if first in _baselines(table):
        first, second = second, first
    parts = []
    for metric in roles.metrics[:_MOST_METRICS]:
        pairs = _pairs(configurations(table, roles, (metric,)), metric, first, second)
        if len(pairs) == 1:
            (a, b), *_ = pairs
            values = f"{format_value(metric, a)} against {format_value(metric, b)}"
            parts.append(f"{label(metric)} {difference(metric, a, b)} ({values})")
        elif pairs:
            low, *_, high = (difference(metric, *p) for p in sorted(pairs, key=lambda p: _ordering(metric, *p)))
            number, _, word = low.partition(" ")
            ends = low if low == high else f"{number} to {high}" if word and high.endswith(word) else f"{low} to {high}"
            parts.append(f"{label(metric)} {ends} in {len(pairs)} pairs")
    if not parts:
        return _range(table, roles)
    return f"{describe('method', first)} against {describe('method', second)}: {', '.join(parts)}."


def _pairs(found: list[Configuration], metric: str, first: Value, second: Value) -> list[tuple[float, float]]:
    """Values of two methods at the same configuration; a method with one size is the partner of every size."""
    pairs = []
    for c in (c for c in found if c.key["method"] == first):
        others = [o for o in found if o.key["method"] == second and _same(o, c, ("method", "compression"))]
        exact = [o for o in others if _same(o, c, ("method",))]
        if len(partner := exact or others) == 1:
            pairs.append((c.means[metric], partner[0].means[metric]))
    return pairs


def _same(a: Configuration, b: Configuration, but: Sequence[str]) -> bool:
    return all(a.key[k] == b.key[k] for k in a.key if k not in but)


def _trend(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """How the lines run along x, and where the ends are."""
    x, y = chart.x or "", chart.y or ""
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
        text = f"{capital(label(y))} {kinds[0][0]} along {label(x)} in {count} lines"
        text += "".join(f", {kind} in {n}" for kind, n in kinds[1:])
        return [f"{text}.", _range(table, roles)]
    shown = []
    for key, line in lines.items():
        first, last = line[0], line[-1]
        text = course([c.means[y] for c in line])
        text += f" from {format_value(y, first.means[y])} to {format_value(y, last.means[y])}"
        peak = min(line, key=lambda c: badness(y, c.means[y]))
        if has_direction(y) and peak not in (first, last):
            text += f", best {format_value(y, peak.means[y])} at {moment(x, peak.key[x])}"
        who = where(key, others) if len(lines) > 1 else ""
        shown.append(f"{text} {who}".strip())
    line = next(iter(lines.values()))
    span = f"from {moment(x, line[0].key[x])} to {moment(x, line[-1].key[x])}"
    return [f"{capital(label(y))}, {span}, {'; '.join(shown)}."]


def _range(table: Table, roles: Roles) -> str:
    """The two ends of the leading metric, the better one first; per data set the better end alone."""
    metric = roles.metrics[0]
    found = configurations(table, roles, (metric,))
    if not found:
        return f"No row has a value of {label(metric)}."
    mean = "mean " if roles.raw and any(c.trials > 1 for c in found) else ""
    descending = catalog.entry(metric).better != "lower"
    apart = [k for k in found[0].key if k in _TASKS]
    if apart and len(found[0].key) > 1:
        what = superlative(metric, descending, mean)
        return f"{capital(what)}: {_leaders(_by(found, apart), apart, metric, descending)}."
    if len(found) == 1:
        values = [v for v in table.column(metric) if is_number(v)]
        low, high = (format_value(metric, v) for v in (min(values), max(values)))
        return f"{capital(mean + label(metric))} {value_of(found[0], metric)}, from {low} to {high}."
    ends = []
    for up in (descending, not descending):
        (first, *tied), _ = _first_two(found, metric, up)
        who = [describe(k, v) for k, v in first.key.items() if v is not None or says_something(k)]
        who += [f"and {len(tied)} more"] if tied else []
        value = format_value(metric, first.means[metric])
        ends.append(f"{superlative(metric, up, mean)} {value}" + (f" ({', '.join(who)})" if who else ""))
    return f"{capital(ends[0])}; {ends[1]}."


def _extent(groups: dict[tuple[Value | None, ...], list[Configuration]], metric: str) -> str:
    values = [c.means[metric] for found in groups.values() for c in found]
    return f"{label(metric)} from {format_value(metric, min(values))} to {format_value(metric, max(values))}"


def _basis(table: Table, roles: Roles) -> str:
    found = configurations(table, roles, roles.metrics[:1])
    if roles.count and "step" in table.columns:  # a trial has a point at every step
        trials: dict[tuple[tuple[str, Value | None], ...], int] = defaultdict(int)
        for c in found:
            key = tuple((name, value) for name, value in c.key.items() if name not in ("step", "metric"))
            trials[key] = max(trials[key], c.trials)
        return f"Rests on {counted(sum(trials.values()), 'trial')} in {counted(len(found), 'row')}."
    rows = sum(c.trials for c in found)
    if roles.count:
        return f"Rests on {counted(rows, 'trial')} in {counted(len(found), 'row')}."
    if not {"seed", "trial_id"} & set(table.columns):
        return f"{counted(rows, 'row')}."
    return f"Rests on {counted(rows, 'trial')} of {counted(len(found), 'configuration')}."


# -- parts of sentences ------------------------------------------------------------------------------------------------


def _against_baseline(
    best: Configuration, found: Sequence[Configuration], baselines: set[Value | None], cost: str, quality: str
) -> str:
    """`, 0.0036 lower than dense with 0.1x its memory`; empty where there is no one baseline of the same workload."""
    if best.key.get("method") in baselines:
        return ""
    same = [k for k in best.key if k in GROUP_AXES]
    bases = [c for c in found if c.key.get("method") in baselines and all(c.key[k] == best.key[k] for k in same)]
    if len(bases) != 1:
        return ""
    (base,) = bases
    than = difference(quality, best.means[quality], base.means[quality])
    than += " as" if than == "the same" else " than" if than.endswith(("lower", "higher")) else " that of"
    share = difference(cost, best.means[cost], base.means[cost])
    if share == "the same":
        price = f"at the same {label(cost)}"
    elif share.endswith("x"):
        price = f"with {share} its {label(cost)}"
    else:
        price = f"at a {label(cost)} {share}"
    return f", {than} {describe('method', base.key['method'])} {price}"


def _ordering(metric: str, value: float, base: float) -> float:
    return value / base if catalog.entry(metric).unit and base > 0 else value - base


def _first_two(
    found: Sequence[Configuration], metric: str, descending: bool
) -> tuple[list[Configuration], Configuration | None]:
    """The first, all of them when tied, and the next behind them."""
    ranked = sorted(found, key=lambda c: c.means[metric], reverse=descending)
    best = [c for c in ranked if c.means[metric] == ranked[0].means[metric]]
    return best, ranked[len(best)] if len(best) < len(ranked) else None


def _leaders(
    groups: dict[tuple[Value | None, ...], list[Configuration]], partitions: list[str], metric: str, descending: bool
) -> str:
    parts = []
    for key, found in groups.items():
        best, _ = _first_two(found, metric, descending)
        names = shortened([name_of(c, partitions) for c in best])
        parts.append(f"{names} {where(key, partitions)} ({value_of(best[0], metric, brackets=False)})")
    return shortened(parts)


def _winners(
    groups: dict[tuple[Value | None, ...], list[Configuration]], partitions: list[str], metric: str, descending: bool
) -> str:
    """How often each is first; a tie counts for all of it."""
    firsts = [c for found in groups.values() for c in _first_two(found, metric, descending)[0]]
    wins = Counter(name_of(c, partitions) for c in firsts).most_common()
    return (
        f"First of {len(groups)}: {shortened([f'{name} {n} times' if n > 1 else f'{name} once' for name, n in wins])}."
    )


def _by(found: Iterable[Configuration], columns: Sequence[str]) -> dict[tuple[Value | None, ...], list[Configuration]]:
    groups: dict[tuple[Value | None, ...], list[Configuration]] = defaultdict(list)
    for c in found:
        groups[tuple(c.key.get(k) for k in columns)].append(c)
    return dict(groups)


def _baselines(table: Table) -> set[Value | None]:
    """The baseline methods: those that the table marks, else the one the catalogue names."""
    if "method" not in table.columns:
        return set()
    methods = table.column("method")
    if "is_baseline" in table.columns:
        return {m for m, marked in zip(methods, table.column("is_baseline"), strict=True) if marked is True}
    return {catalog.words()["baseline"]} & set(methods)


def _methods(table: Table) -> int:
    return len(set(table.column("method")) - {None}) if "method" in table.columns else 0
