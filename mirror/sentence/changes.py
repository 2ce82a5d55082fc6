"""Sentences about time and machines: did a metric get worse, how did it run, how does one machine compare.

Values are compared at the same configuration only. Ratios are averaged by the geometric mean, differences of metrics
without unit by the arithmetic one.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mirror.query.change import TIMED, change_columns
from mirror.query.filter_words import no_rows
from mirror.query.spec import QuerySpec
from mirror.table.numbers import describe, format_factor, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number
from mirror.table.wording import capital, counted, join, moment, shortened, who

_MOST_NAMED = 6
# A difference in AUC that counts as none, however alike the repeats are (one repeat says nothing of their spread).
_LEAST_DIFFERENCE = {"auc": 0.001}


@dataclass(frozen=True)
class _Pair:
    """A configuration on both sides: who, the two values, and how far apart they are without meaning anything."""

    who: str
    before: float
    since: float
    noise: float


def change_sentences(table: Table, spec: QuerySpec) -> list[str]:
    """Whether the metric got worse or better since the split, within noise, or why that cannot be said."""
    metric = spec.column(spec.metrics[0].column)
    names = change_columns(metric.name)
    before, since = (int(sum(_numbers(table, n))) for n in (names.n_before, names.n_since))
    pairs = _pairs(table, metric)
    moment_ = f"{spec.split} UTC"
    what = f"{metric.label} {f'got {spec.claim}' if spec.claim else 'changed'} since {moment_}"
    if not pairs:
        if not table.rows:
            why = f"there are no results on either side. {no_rows(spec)}"
        elif not before or not since:
            why = f"there are no results {'since' if before else 'before'} then."
        else:
            ends = f"{counted(before, 'trial')} before and {since:,} since"
            why = f"no configuration was measured on both sides ({ends})."
        return [f"It cannot be said whether {what}: {why}"]
    groups: dict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.who].append(pair)
    states: dict[str, list[str]] = defaultdict(list)
    for name, of_one in groups.items():
        state, amount = _state(metric, of_one)
        states[state].append(f"{name} ({amount})" if name else amount)
    if spec.claim and states.get(spec.claim):
        first = f"Yes: {what} for {shortened(states.pop(spec.claim), _MOST_NAMED)}"
        return [f"{'; '.join([first, *_listed(states)])}.", _compared(table, metric)]
    head = f"No: {metric.label} did not get {spec.claim}" if spec.claim else capital(metric.label)
    head += f" since {moment_}{'' if spec.claim else ' against before'}"
    return [f"{head}: {'; '.join(_listed(states))}.", _compared(table, metric)]


def course_sentences(table: Table, spec: QuerySpec) -> list[str]:
    """From when to when trials were made, and how the latest of each configuration stands to its first."""
    metric = table.column(spec.metrics[0].column)
    at, time = table.names.index(metric.name), table.columns[0]
    keys = [table.names.index(d) for d in spec.dimensions if d in table.names and d != time.name]
    lines: dict[tuple[Value | None, ...], list[int]] = defaultdict(list)
    times = table.values(time.name)
    for i, row in enumerate(table.rows):
        if is_number(row[at]) and times[i] is not None:
            lines[tuple(row[k] for k in keys)].append(i)
    if not lines:
        return [f"No row has a value of {metric.label}."]
    shown = sorted(str(times[i]) for rows in lines.values() for i in rows)
    ends = " to ".join(dict.fromkeys(moment(time, t) for t in (shown[0], shown[-1])))
    first = f"{counted(len(shown), 'trial')} of {counted(len(lines), 'configuration')}, {ends} UTC."
    repeated: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for rows in lines.values():
        if len(rows) > 1:
            oldest, *_, newest = sorted(rows, key=lambda i: str(times[i]))
            a, b = table.rows[oldest][at], table.rows[newest][at]
            repeated[who(table, oldest)].append((float(a), float(b)))  # type: ignore[arg-type]
    if not repeated:
        return [first, f"Each configuration was measured once, so how {metric.label} changed cannot be said."]
    parts = [f"{name} {_mean_change(metric, pairs)}".strip() for name, pairs in repeated.items()]
    head = f"{capital(metric.label)}, latest trial against first ({_kind_of_mean(metric)})"
    return [first, f"{head}: {shortened(parts, _MOST_NAMED, '; ')}."]


def machine_sentences(table: Table, spec: QuerySpec) -> list[str]:
    """How the other machines stand to the best one, over the configurations that both have measured, per benchmark."""
    metric = table.column(spec.drawn[0])
    where, by = table.columns[0], table.domain.named_by
    keys = [d for d in spec.dimensions if d in table.names and d != where.name]
    values: dict[str, dict[tuple[Value | None, ...], float]] = defaultdict(dict)
    places: dict[tuple[Value | None, ...], str] = {}
    for row in table.rows:
        of = dict(zip(table.names, row, strict=True))
        key = tuple(of[k] for k in keys)
        places[key] = "".join(f" {by[k]}{describe(table.column(k), of[k])}" for k in keys if by.get(k))
        if is_number(value := of[metric.name]):
            values[describe(where, of[where.name])][key] = float(value)
    if len(values) < 2:
        return []
    best = _best(values, metric.better)
    base = values.pop(best)
    parts, alone = [], []
    for machine, found in values.items():
        changes: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for key in found:
            if key in base:
                changes[places[key]].append((base[key], found[key]))
        told = [f"{_mean_change(metric, c)}{place}" for place, c in changes.items()]
        if told:
            parts.append(f"{machine} {join(told)}")
        else:
            alone.append(machine)
    head = f"{capital(metric.label)} against {best} ({_kind_of_mean(metric)})"
    sentences = [f"{head}: {shortened(parts, _MOST_NAMED, '; ')}."] if parts else []
    if alone:
        names = shortened(alone, _MOST_NAMED)
        sentences.append(f"No configuration was measured on {best} and on {names}, so they cannot be compared.")
    return sentences


def _best(values: dict[str, dict[tuple[Value | None, ...], float]], better: str) -> str:
    """The machine that is better than most others where both have measured."""

    def wins(a: str, b: str) -> bool:
        shared = [(values[a][k], values[b][k]) for k in values[a] if k in values[b]]
        ahead = sum((x > y) if better == "higher" else (x < y) for x, y in shared)
        return ahead > len(shared) / 2

    return max(values, key=lambda a: sum(wins(a, b) for b in values if b != a))


def _paired(table: Table, metric: Column) -> Table:
    """The rows with a value on both sides; a ratio needs two above zero."""
    names = change_columns(metric.name)
    sides = zip(table.values(names.before), table.values(names.since), strict=True)
    ratio = bool(metric.unit)
    both = [is_number(a) and is_number(b) and (not ratio or (a > 0 and b > 0)) for a, b in sides]
    return table.kept(both)


def _pairs(table: Table, metric: Column) -> list[_Pair]:
    """The configurations with a value on both sides."""
    names, paired = change_columns(metric.name), _paired(table, metric)
    columns = (_numbers(paired, n) for n in (names.before, names.since, names.noise))
    found = []
    for i, (before, since, spread) in enumerate(zip(*columns, strict=True)):
        if bool(metric.unit) and metric.name not in TIMED:
            spread /= before  # a standard deviation, in the metric's own unit
        found.append(_Pair(who(paired, i), before, since, spread))
    return found


def _state(metric: Column, pairs: Sequence[_Pair]) -> tuple[str, str]:
    """(worse, better or within noise; the mean change in words) of some configurations together."""
    changes = [(p.before, p.since) for p in pairs]
    noise = statistics.median(p.noise for p in pairs)
    mean = _mean(metric, changes)
    if bool(metric.unit):
        is_noise = abs(math.log(mean)) <= math.log1p(noise) + 1e-12
        up = mean > 1
    else:
        is_noise, up = abs(mean) <= max(_LEAST_DIFFERENCE.get(metric.name, 0.0), noise), mean > 0
    better = metric.better
    if is_noise:
        state = "within noise"
    elif not better:
        state = "higher" if up else "lower"
    else:
        state = "better" if up == (better == "higher") else "worse"
    return state, _mean_change(metric, changes)


def _mean(metric: Column, changes: Sequence[tuple[float, float]]) -> float:
    if _has_ratio(metric, changes):
        return statistics.geometric_mean(b / a for a, b in changes)
    return statistics.fmean(b - a for a, b in changes)


def _has_ratio(metric: Column, changes: Sequence[tuple[float, float]]) -> bool:
    return bool(metric.unit) and all(a > 0 and b > 0 for a, b in changes)


def _mean_change(metric: Column, changes: Sequence[tuple[float, float]]) -> str:
    """`1.31x over 12 configurations`, `-0.0021 over 3 configurations`, `2x, 20 µs against 10 µs`."""
    mean = _mean(metric, changes)
    ratio = _has_ratio(metric, changes)
    text = format_factor(mean) if ratio else f"{'+' if mean >= 0 else '-'}{format_value(metric, abs(mean))}"
    if all(a == b for a, b in changes):
        text = "the same"
    if len(changes) == 1:
        ((a, b),) = changes
        return f"{text}, {format_value(metric, b)} against {format_value(metric, a)}"
    return f"{text} over {len(changes)} configurations"


def _kind_of_mean(metric: Column) -> str:
    return "geometric means" if metric.unit else "means"


def _listed(states: dict[str, list[str]]) -> list[str]:
    order = ("worse", "better", "higher", "lower", "within noise")
    return [f"{state} for {shortened(states[state], _MOST_NAMED)}" for state in order if states.get(state)]


def _compared(table: Table, metric: Column) -> str:
    """What the comparison rests on, and where all of it was measured."""
    paired = _paired(table, metric)
    before, since = (int(sum(_numbers(paired, n))) for n in ("n_before", "n_since"))
    text = f"Compared {'is' if len(paired.rows) == 1 else 'are'} {counted(len(paired.rows), 'configuration')}"
    text += f"{_place(table, paired)} measured on both sides by {_kind_of_mean(metric)} of medians, "
    text += f"{counted(before, 'trial')} before and {since:,} since"
    counts = list(zip(_numbers(table, "n_before"), _numbers(table, "n_since"), strict=True))
    only_before, only_since = sum(not b for _, b in counts), sum(not a for a, _ in counts)
    alone = [f"{n:,} only {side}" for n, side in ((only_before, "before"), (only_since, "since")) if n]
    return f"{text}; {join(alone)}." if alone else f"{text}."


def _place(table: Table, paired: Table) -> str:
    """The machine and the benchmark of what could be compared, where there are others that could not."""
    parts = []
    for column, before in table.domain.named_by.items():
        if before and column in table.names and len(set(table.values(column))) > 1 == len(set(paired.values(column))):
            parts.append(f" {before}{describe(table.column(column), paired.values(column)[0])}")
    return "".join(parts)


def _numbers(table: Table, column: str) -> list[float]:
    return [float(v) if is_number(v) else 0.0 for v in table.values(column)]
