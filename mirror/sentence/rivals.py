"""Sentences about rivals: what one pays for its quality, who is on the Pareto front, and how two of them differ."""

from collections.abc import Sequence

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import Configuration, by, configurations, pareto_front
from mirror.query.roles import Roles
from mirror.sentence.configuration_words import members, name_of, value_of
from mirror.sentence.firsts import extent, first_two, range_sentence
from mirror.table.numbers import describe, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import capital, difference, join, shortened, superlative, where

_MOST_METRICS = 4


def cost_and_quality(table: Table, x: str, y: str) -> tuple[str, str]:
    """Quality is what should be high; where both or none should, what was asked for second."""
    return (y, x) if table.column(x).better == "higher" != table.column(y).better else (x, y)


def two_rivals(table: Table) -> tuple[Value, Value]:
    """The two methods of a result, the baseline second."""
    first, second = (m for m in table.values(table.domain.rival or "").distinct if m is not None)
    return (second, first) if first in baselines_of(table) else (first, second)


def trade_off_sentences(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """Who is best in quality, at what cost against the baseline, and who is on the Pareto front; per panel."""
    x, y = chart.x or "", chart.y or ""
    cost, quality = cost_and_quality(table, x, y)
    panels = [chart.facet] if chart.facet else []
    groups = by(configurations(table, roles, (x, y), panels), panels)
    if not groups:
        return [f"No row has both {table.label(x)} and {table.label(y)}."]
    if not chart.pareto:  # no direction, or different work: nobody wins, so only the ranges are told
        return [f"{capital(join(extent(table, groups, m) for m in (x, y)))}."]
    baselines = baselines_of(table)
    best_in = table.column(quality)
    descending, rival = best_in.better == "higher", table.domain.rival or ""
    parts = []
    for key, found in groups.items():
        rivals = [c for c in found if c.key.get(rival) not in baselines] or found
        best, _ = first_two(rivals, quality, descending)
        against = _against_baseline(table, best[0], found, baselines, cost, quality)
        value = f"{value_of(best[0], best_in, brackets=False)}{against}"
        names = shortened([name_of(table, c, panels) for c in best])
        parts.append(" ".join(filter(None, (names, where(table, key, panels), f"({value})"))))
    others = f" besides {join(map(str, baselines))}" if 0 < len(baselines) < number_of_rivals(table) else ""
    sentences = [f"{capital(superlative(best_in, descending))}{others}: {shortened(parts, separator='; ')}."]
    fronts = {
        key: members(table, pareto_front(found, table.column(x), table.column(y))) for key, found in groups.items()
    }
    if len(set(fronts.values())) == 1:
        each = f" of every {table.label(chart.facet)}" if len(fronts) > 1 else ""
        return [*sentences, f"On the Pareto front{each}: {next(iter(fronts.values()))}."]
    named = [f"{members} {where(table, key, panels)}" for key, members in fronts.items()]
    return [*sentences, f"On the Pareto front: {shortened(named, separator='; ')}."]


def two_methods_sentence(table: Table, roles: Roles) -> str:
    """How two methods differ in each metric, wherever both were measured."""
    rival = table.domain.rival or ""
    first, second = two_rivals(table)
    parts = []
    for metric in roles.metrics[:_MOST_METRICS]:
        column = table.column(metric)
        pairs = paired(table, configurations(table, roles, (metric,)), metric, first, second)
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
        return range_sentence(table, roles)
    return (
        f"{describe(table.column(rival), first)} against {describe(table.column(rival), second)}: {', '.join(parts)}."
    )


def paired(
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


def baselines_of(table: Table) -> set[Value | None]:
    """The baseline methods: those that the table marks, else the one the catalogue names."""
    rival, mark = table.domain.rival, table.domain.baseline_mark
    if rival is None or rival not in table.names:
        return set()
    methods = table.values(rival)
    if mark in table.names:
        marks = table.values(mark or "")
        return {m for m, marked in zip(methods, marks, strict=True) if marked is True}
    return {m for m in methods if m == table.domain.baseline}


def number_of_rivals(table: Table) -> int:
    """How many rivals the rows hold."""
    rival = table.domain.rival
    return len(set(table.values(rival)) - {None}) if rival in table.names else 0
