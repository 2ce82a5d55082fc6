"""Sentences about numbers in order: who is first, where the two ends are, and how lines run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import Configuration, Groups, badness, by, configurations
from mirror.query.roles import Roles, differing
from mirror.query.spec import Question
from mirror.sentence.configuration_words import name_of, value_of
from mirror.table.numbers import describe, format_value
from mirror.table.table import Table
from mirror.table.values import sort_key
from mirror.table.wording import (
    MOST_NAMED,
    capital,
    course,
    difference,
    moment,
    says_something,
    shortened,
    superlative,
    where,
)


def ranking_of(table: Table, question: Question, roles: Roles) -> tuple[bool, list[str]]:
    """Whether the highest is first, and what has a ranking each."""
    metric = roles.metrics[0]
    order = next((o for o in question.order if o.column == metric), None)
    descending = order.descending if order else table.column(metric).better == "higher"
    return descending, [p for p in question.partitions if p in differing(table, roles.dimensions)]


def ranked_sentences(table: Table, spec: Question, roles: Roles) -> list[str]:
    """Who is first and by how much, or the first of each partition; nothing where no row has the metric."""
    metric = roles.metrics[0]
    column = table.column(metric)
    descending, partitions = ranking_of(table, spec, roles)
    found = configurations(table, roles, (metric,), partitions)
    # What is ranked is named even where it is the same everywhere: the one machine that is always first.
    same = {d: table.values(d)[0] for d in spec.dimensions if d not in spec.partitions}
    found = [c if set(c.key) - set(partitions) else replace(c, key={**same, **c.key}) for c in found]
    groups = by(found, partitions)
    if not groups:
        return []
    what = superlative(column, descending)
    if partitions:
        sentences = [f"{capital(what)}: {_leaders(table, groups, partitions, metric, descending)}."]
        if len(groups) > MOST_NAMED:
            sentences.append(_winners(table, groups, partitions, metric, descending))
        return sentences
    best, runner_up = first_two(groups[()], metric, descending)
    text = f"{shortened([name_of(table, c) for c in best])} {'has' if len(best) == 1 else 'share'} the {what}: "
    text += value_of(best[0], column)
    if runner_up:
        margin = difference(column, runner_up.means[metric], best[0].means[metric])
        text += f"; next is {name_of(table, runner_up)} with {format_value(column, runner_up.means[metric])} ({margin})"
    return [f"{text}."]


def range_sentence(table: Table, roles: Roles) -> str:
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
        return f"{capital(what)}: {_leaders(table, by(found, apart), apart, metric, descending)}."
    if len(found) == 1:
        low, high = (format_value(column, v) for v in found[0].ends[metric])
        return f"{capital(mean + column.label)} {value_of(found[0], column)}, from {low} to {high}."
    ends = []
    for up in (descending, not descending):
        (first, *tied), _ = first_two(found, metric, up)
        who = [
            describe(of, v)
            for of, v in ((table.column(k), v) for k, v in first.key.items())
            if v is not None or says_something(of)
        ]
        who += [f"and {len(tied)} more"] if tied else []
        value = format_value(column, first.means[metric])
        ends.append(f"{superlative(column, up, mean)} {value}" + (f" ({', '.join(who)})" if who else ""))
    return f"{capital(ends[0])}; {ends[1]}."


def extent(table: Table, groups: Groups, metric: str) -> str:
    """`AUC from 0.7000 to 0.7841`."""
    found = [c for of_one in groups.values() for c in of_one]
    column, values = table.column(metric), [c.means[metric] for c in found]
    if len(found) == 1:  # its mean is no range
        values = [*found[0].ends[metric]]
    return f"{column.label} from {format_value(column, min(values))} to {format_value(column, max(values))}"


def trend_sentences(table: Table, roles: Roles, chart: ChartSpec) -> list[str]:
    """How the lines run along x, and where the ends are."""
    x, y = chart.x or "", chart.y or ""
    along_x, metric = table.column(x), table.column(y)
    along = replace(roles, metrics=(y,), parameters=tuple(dict.fromkeys((x, *roles.parameters))), times=())
    found = [c for c in configurations(table, along, (y,)) if c.key.get(x) is not None]
    others = list(dict.fromkeys(k for c in found for k in c.key if k != x))
    lines = {
        k: sorted(line, key=lambda c: sort_key(c.key[x])) for k, line in by(found, others).items() if len(line) > 1
    }
    if not lines:
        return [range_sentence(table, roles)]
    if len(lines) > MOST_NAMED:
        kinds = Counter(course([c.means[y] for c in line]) for line in lines.values()).most_common()
        count = f"all {len(lines)}" if len(kinds) == 1 else f"{kinds[0][1]} of {len(lines)}"
        text = f"{capital(metric.label)} {kinds[0][0]} along {along_x.label} in {count} lines"
        text += "".join(f", {kind} in {n}" for kind, n in kinds[1:])
        return [f"{text}.", range_sentence(table, roles)]
    spans = {k: f"from {moment(along_x, of[0].key[x])} to {moment(along_x, of[-1].key[x])}" for k, of in lines.items()}
    alike = len(set(spans.values())) == 1
    shown = []
    for key, line in lines.items():
        first, last = line[0], line[-1]
        text = course([c.means[y] for c in line])
        text += f" from {format_value(metric, first.means[y])} to {format_value(metric, last.means[y])}"
        peak = min(line, key=lambda c: badness(metric, c.means[y]))
        if metric.better and peak not in (first, last):
            text += f", best {format_value(metric, peak.means[y])} at {moment(along_x, peak.key[x])}"
        who = where(table, key, others) if len(lines) > 1 else ""
        shown.append(" ".join(filter(None, (text, who, "" if alike else f"({spans[key]})"))))
    over = f", {next(iter(spans.values()))}" if alike else f" along {along_x.label}"
    return [f"{capital(metric.label)}{over}, {'; '.join(shown)}."]


def first_two(
    found: Sequence[Configuration], metric: str, descending: bool
) -> tuple[list[Configuration], Configuration | None]:
    """The first, all of them when tied, and the next behind them."""
    ranked = sorted(found, key=lambda c: c.means[metric], reverse=descending)
    best = [c for c in ranked if c.means[metric] == ranked[0].means[metric]]
    return best, ranked[len(best)] if len(best) < len(ranked) else None


def _leaders(table: Table, groups: Groups, partitions: list[str], metric: str, descending: bool) -> str:
    parts = []
    for key, found in groups.items():
        best, _ = first_two(found, metric, descending)
        names = shortened([name_of(table, c, partitions) for c in best])
        parts.append(
            f"{names} {where(table, key, partitions)} ({value_of(best[0], table.column(metric), brackets=False)})"
        )
    return shortened(parts)


def _winners(table: Table, groups: Groups, partitions: list[str], metric: str, descending: bool) -> str:
    """How often each is first; a tie counts for all of it."""
    firsts = [c for found in groups.values() for c in first_two(found, metric, descending)[0]]
    wins = Counter(name_of(table, c, partitions) for c in firsts).most_common()
    return (
        f"First of {len(groups)}: {shortened([f'{name} {n} times' if n > 1 else f'{name} once' for name, n in wins])}."
    )
