"""Sentences about verdicts: whether methods are faster or slower than the baseline, and in how many configurations."""

import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass

from mirror.query.spec import QuerySpec
from mirror.table.numbers import format_value
from mirror.table.table import Table
from mirror.table.values import Value, is_number
from mirror.table.wording import capital, counted, in_words, join, shortened, who

_MOST_NAMED = 6


@dataclass(frozen=True)
class _Told:
    """One row with a verdict: a configuration, or a trial where the rows are trials."""

    who: str
    verdict: str
    speedup: float | None
    interval: tuple[Value | None, Value | None]


def has_verdicts(table: Table) -> bool:
    """Whether any row tells how it stands to the baseline."""
    return "verdict" in table.names and any(isinstance(v, str) for v in table.values("verdict"))


def verdict_sentences(table: Table, spec: QuerySpec) -> list[str]:
    """A yes or no with the number of verdicts behind it where the question claims something, else the verdicts."""
    found: dict[str, list[_Told]] = defaultdict(list)
    for told in _told(table):
        found[told.who].append(told)
    if not found:
        return []
    noun = table.domain.row if spec.shape == "points" else table.domain.kind
    baseline = table.domain.baseline or ""
    if spec.claim is None:
        parts = [f"{name} {_kinds(rows)}".strip() for name, rows in found.items()]
        sentences = [f"Verdicts against the baseline: {shortened(parts, _MOST_NAMED, '; ')}."]
    elif len(found) == 1 and all(f.column != "verdict" for f in spec.filters):
        ((name, rows),) = found.items()
        sentences = [_yes_or_no(name, baseline, spec.claim, rows, noun), _speedups(table, rows)]
    else:
        sentences = [_who_is(found, baseline, spec.claim, noun)]
    if untold := _without_verdict(table, baseline):
        sentences.append(f"{counted(untold, noun)} without a verdict {'is' if untold == 1 else 'are'} not counted.")
    return sentences


def verdict_counts(table: Table) -> str:
    """How many verdicts of each kind there are, for each group that is not a kind itself."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    groups = [c for c in table.names if c not in ("verdict", "trials")]
    for row in table.rows:
        of = dict(zip(table.names, row, strict=True))
        name = in_words(table, {c: of[c] for c in groups}) if groups else ""
        kinds[name][str(of["verdict"])] += int(of["trials"] or 0)
    total = sum(sum(counts.values()) for counts in kinds.values())
    parts = [f"{name} {_listed(counts)}".strip() for name, counts in kinds.items()]
    return f"{counted(total, 'verdict')}: {shortened(parts, _MOST_NAMED, '; ')}."


def _told(table: Table) -> list[_Told]:
    def column(name: str) -> tuple[Value | None, ...]:
        return table.values(name) if name in table.names else (None,) * len(table.rows)

    parts = zip(*map(column, ("verdict", "speedup", "speedup_ci_low", "speedup_ci_high")), strict=True)
    return [
        _Told(who(table, i), verdict, float(speedup) if is_number(speedup) else None, (low, high))
        for i, (verdict, speedup, low, high) in enumerate(parts)
        if isinstance(verdict, str)
    ]


def _without_verdict(table: Table, baseline: str) -> int:
    """How many rows lack one, the baseline's own apart."""
    rival = table.domain.rival
    methods = table.values(rival) if rival in table.names else [None] * len(table.rows)
    return sum(v is None and m != baseline for v, m in zip(table.values("verdict"), methods, strict=True))


def _yes_or_no(method: str, baseline: str, claim: str, rows: list[_Told], noun: str) -> str:
    counts = Counter(row.verdict for row in rows)
    unclear = counts.pop("unclear", 0)
    total = counted(len(rows), noun)
    if not counts:
        where = f"all {total}" if len(rows) > 1 else f"the one {noun}"
        return f"It cannot be said whether {method} is {claim} than {baseline}: the verdict is unclear in {where}."
    if len(counts) > 1:
        first, *others = sorted(counts, key=lambda kind: (kind != claim, -counts[kind]))
        rest = [f"{'as fast' if kind == 'same' else kind} in {counts[kind]}" for kind in others]
        rest += [f"unclear in {unclear}"] if unclear else []
        answer = "In part" if first == claim else "No"
        return f"{answer}: {method} is {_than(first, baseline)} in {counts[first]} of {total}, {', '.join(rest)}."
    ((verdict, n),) = counts.items()
    if unclear:
        basis = f"verdict in {n} of {total}; {unclear} unclear"
    else:
        basis = f"verdict in all {total}" if n > 1 else f"verdict of the one {noun}"
    clear = " where it is clear" if unclear >= n else ""
    return f"{'Yes' if verdict == claim else 'No'}{clear}: {method} is {_than(verdict, baseline)} ({basis})."


def _than(verdict: str, baseline: str) -> str:
    return f"as fast as {baseline}" if verdict == "same" else f"{verdict} than {baseline}"


def _who_is(found: dict[str, list[_Told]], baseline: str, claim: str, noun: str) -> str:
    """Which of several are what is claimed, the most often first."""
    wins = {name: sum(row.verdict == claim for row in rows) for name, rows in found.items()}
    ordered = sorted(found, key=lambda name: (-wins[name] / len(found[name]), name))
    if sum(wins.values()) == sum(map(len, found.values())):  # only those were asked for
        often = [f"{name} in {counted(wins[name], noun)}" for name in ordered]
    else:
        often = [f"{name} in {wins[name]} of {counted(len(found[name]), noun)}" for name in ordered if wins[name]]
    never = shortened([f"{name} ({_kinds(found[name])})" for name in ordered if not wins[name]] or [""], _MOST_NAMED)
    if not often:
        return f"None is {claim} than {baseline}: {never}."
    return f"{capital(claim)} than {baseline}: {shortened(often, _MOST_NAMED)}{f'; not {never}' if never else ''}."


def _kinds(rows: list[_Told]) -> str:
    """`11 slower and 1 unclear`."""
    return _listed(Counter(row.verdict for row in rows))


def _listed(counts: Counter[str]) -> str:
    return join(f"{n:,} {kind}" for kind, n in counts.most_common())


def _speedups(table: Table, rows: list[_Told]) -> str:
    column = table.column("speedup")
    values = sorted(row.speedup for row in rows if row.speedup and row.speedup > 0)
    if len(values) < 2:
        ends = [format_value(column, end) for end in rows[0].interval if is_number(end)]
        text = f"Speedup {format_value(column, rows[0].speedup)}"
        return f"{text}, 95 % interval {' to '.join(ends)}." if len(ends) == 2 else f"{text}."
    low, high = (format_value(column, v) for v in (values[0], values[-1]))
    if low == high:
        return f"Speedup {low} in each."
    return f"Speedup {low} to {high}, geometric mean {format_value(column, statistics.geometric_mean(values))}."
