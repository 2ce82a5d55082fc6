"""The headline of an answer: one line with the number that answers, and the few facts that a small table tells."""

import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from db.plain_text import plain_text
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import Configuration, by, configurations
from mirror.query.roles import Roles, roles_of
from mirror.query.spec import QuerySpec, Question
from mirror.sentence.firsts import first_two, ranking_of
from mirror.sentence.rivals import baselines_of, cost_and_quality, number_of_rivals, paired, two_rivals
from mirror.sentence.verdicts import has_verdicts
from mirror.table.numbers import cut_middle, describe, format_factor, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number
from mirror.table.wording import capital, counted, in_words, join, superlative

MOST_FACTS = 6
_LONGEST = 150  # characters of a headline: about a line of a desk screen
_LONGEST_NAME = 60  # of what is named in it
_LONGEST_PLACE = 44  # of a cell
_AHEAD = ("There is", "One machine")  # how sentences begin that say what is not there
_FEW_PLACES = 12  # so many places along x have a line each
_STOP = re.compile(r"(?<=\.) (?=[A-Z0-9])")


@dataclass(frozen=True)
class Headline:
    """What an answer says first.

    Attributes:
        text: one line.
        columns: what the facts under it are, the first what they are of.
        facts: some lines of text; empty where the line says everything.
        left: how many lines there would be besides.
        limits: what it rests on, and what of the question it does not hold.
    """

    text: str
    columns: tuple[str, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    left: int = 0
    limits: str = ""


def headline(table: Table, question: Question | None, chart: ChartSpec | None, summary: str) -> Headline:
    """The headline of a result.

    Args:
        table: the result.
        question: what was asked, or None for edited SQL.
        chart: the chart below.
        summary: its sentences: what has no number of its own to begin with is told by the first of them.
    """
    sentences = _sentences(summary, table.everything)
    told = _told(table, question, chart, sentences)
    return replace(told, limits=_limits(sentences, told.text))


def _told(table: Table, question: Question | None, chart: ChartSpec | None, sentences: Sequence[str]) -> Headline:
    every, roles = table.everything, roles_of(table, question)
    shape = question.shape if question else None
    told = Headline(_first_sentence(sentences))
    single = sum(every.tallies) <= 1
    if single or not roles.metrics or shape in ("change", "rows", "count", "relative", "front"):
        return told
    if roles.count and roles.metrics == (roles.count,) and every.domain.repeated_by:
        return told
    if has_verdicts(every) and "speedup" in every.names and "speedup" in roles.metrics:
        return _speedups(every, roles, chart, _asked_rival(every, question)) or told
    if shape in ("best", "ranking") and question:
        return _ranked(every, question, roles) or told
    if chart and chart.type == "scatter":
        return _trade_off(every, roles, chart) or told
    if number_of_rivals(every) == 2 and len(roles.metrics) > 1:
        return _two(every, roles) or told
    if every.columns[0].role == "time" and shape == "points":
        return told
    return _ends(every, roles, chart) or told


def _sentences(summary: str, table: Table) -> list[str]:
    """The sentences of a summary. A full stop within a value or a label ends none: St. Louis, J. Smith."""
    held = {plain_text(v) for name in table.names for v in table.values(name).different if isinstance(v, str)}
    held |= {column.label for column in table.columns}
    for text in sorted(filter(_STOP.search, held), key=len, reverse=True):
        summary = summary.replace(text, _STOP.sub("\0", text))
    return [sentence.replace("\0", " ") for sentence in _STOP.split(summary)]


def _first_sentence(sentences: Sequence[str]) -> str:
    first = next((s for s in sentences if not s.startswith(_AHEAD)), sentences[0])
    return cut_middle(first, 2 * _LONGEST)


def _limits(sentences: Sequence[str], told: str) -> str:
    """Those sentences that must not be missed: what of the question is not there, and what it rests on."""
    ahead = list(itertools.takewhile(lambda s: s.startswith(_AHEAD), sentences))
    last = sentences[-1:] if len(sentences) > max(1, len(ahead)) else []
    return " ".join(s for s in (*ahead, *last) if s not in told)


# -- factors of the baseline -------------------------------------------------------------------------------------------


def _asked_rival(table: Table, question: Question | None) -> str:
    """The one method that was asked for, which the rows need not name; empty for none and for several."""
    filters = question.filters if isinstance(question, QuerySpec) else ()
    named = [v for f in filters if f.column == table.domain.rival and f.operator == "=" for v in f.values]
    return str(named[0]) if len(named) == 1 else ""


def _speedups(table: Table, roles: Roles, chart: ChartSpec | None, asked: str) -> Headline | None:
    """How fast against the baseline: the geometric mean, the ends, and in how many configurations faster."""
    speedups, verdicts = table.values("speedup"), table.values("verdict")
    marked = baselines_of(table)
    rival = table.domain.rival
    methods = table.values(rival) if rival in table.names else [None] * len(table.rows)
    rows = [i for i, v in enumerate(speedups) if is_number(v) and v > 0 and methods[i] not in marked]
    if not rows:
        return None
    column = table.column("speedup")
    key = _telling(table, roles, chart, [methods[i] for i in rows])
    names = table.values(key) if key else [None] * len(table.rows)
    groups: dict[Value | None, list[int]] = defaultdict(list)
    for i in rows:
        groups[names[i]].append(i)

    def mean(of: Sequence[int]) -> float:
        return statistics.geometric_mean(float(speedups[i]) for i in of)  # type: ignore[arg-type]

    def line(of: Sequence[int]) -> tuple[str, str, str]:
        ends = (min(speedups[i] for i in of), max(speedups[i] for i in of))  # type: ignore[type-var]
        low, high = (format_value(column, end) for end in ends)
        faster = sum(verdicts[i] == "faster" for i in of)
        return format_value(column, mean(of)), low if low == high else f"{low} to {high}", f"{faster:,} of {len(of):,}"

    numbers = key is not None and table.values(key).numeric
    order = sorted(groups, key=lambda v: float(v) if numbers and v is not None else -mean(groups[v]))
    if key == rival and key is not None:
        first = order[0]
        who, of = describe(table.column(key), first), groups[first]
    else:
        known = {v for i in rows if (v := methods[i]) is not None}
        who, of = (str(known.pop()) if len(known) == 1 else asked or "what was asked for"), rows
    middle, ends, faster = line(of)
    if len(of) == 1:
        text = f"{who} is {middle} as fast as the baseline."
    else:
        where = f"faster in {faster} {table.domain.kind}s"
        text = f"{who} is {middle} as fast as the baseline (geometric mean of {ends}), {where}."
    facts = [(_cell(table, key, v), *line(groups[v])) for v in order] if key and len(groups) > 1 else []
    label = table.label(key) if key else ""
    return _with(text, (label, "speedup", "lowest to highest", "faster in"), facts)


def _telling(table: Table, roles: Roles, chart: ChartSpec | None, rivals: Sequence[Value | None]) -> str | None:
    """The column whose values have a line each: methods, else places along x, else what has a colour."""
    if len(set(rivals)) > 1:
        return table.domain.rival
    wanted = (chart.x, chart.color, chart.facet) if chart else ()
    names = [c for c in wanted if c and c in roles.dimensions] + list(roles.dimensions)
    return next((c for c in names if 1 < len(table.values(c).different) <= _FEW_PLACES), None)


# -- who is first ------------------------------------------------------------------------------------------------------


def _ranked(table: Table, question: Question, roles: Roles) -> Headline | None:
    """The first, or how often each is first where different work has a first of its own."""
    metric = roles.metrics[0]
    column = table.column(metric)
    descending, partitions = ranking_of(table, question, roles)
    found = configurations(table, roles, (metric,), partitions)
    groups = by(found, partitions)
    if not groups:
        return None
    what = capital(superlative(column, descending))
    if not partitions:
        best, after = first_two(groups[()], metric, descending)
        ranked = sorted(groups[()], key=lambda c: c.means[metric], reverse=descending)
        text = f"{what} {format_value(column, best[0].means[metric])}: {_names(table, best)}"
        if after:
            text += f"; the next has {format_value(column, after.means[metric])}"
        facts = [_place(table, column, c) for c in ranked] if len(ranked) > 1 else []
        return _with(f"{text}.", (_who(table), column.label, "at"), facts)
    firsts = {key: first_two(of, metric, descending)[0] for key, of in groups.items()}
    rival = table.domain.rival if table.domain.rival in table.names else None
    often: dict[str, int] = defaultdict(int)
    for of_one in firsts.values():
        for name in {_cell(table, rival, c.key.get(rival)) if rival else _name(table, c, partitions) for c in of_one}:
            often[name] += 1
    leaders = [name for name, n in often.items() if n == max(often.values())]
    times = max(often.values())
    text = f"{what}: {join(leaders[:2]) if len(leaders) < 3 else counted(len(leaders), 'name')}"
    text += f", first in {times:,} of {len(groups):,} kinds of work."
    facts = [
        (_where(table, dict(zip(partitions, key, strict=True))), format_value(column, best[0].means[metric]),
         _name(table, best[0], partitions))
        for key, best in firsts.items()
    ]  # fmt: skip
    return _with(text, ("of", column.label, "first"), facts)


def _ends(table: Table, roles: Roles, chart: ChartSpec | None) -> Headline | None:
    """The better end of the leading metric and who has it; different tasks have an end each."""
    metric = chart.y if chart and chart.y in roles.metrics else roles.metrics[0]
    column = table.column(metric)
    found = configurations(table, roles, (metric,))
    if not found:
        return None
    descending = column.better != "lower"
    what = capital(superlative(column, descending, "mean " if roles.raw and any(c.trials > 1 for c in found) else ""))
    tasks = [k for k in found[0].key if k in table.domain.tasks]
    if tasks:
        firsts = {key: first_two(of, metric, descending)[0][0] for key, of in by(found, tasks).items()}
        text = join(
            [
                f"{format_value(column, c.means[metric])} on {_where(table, dict(zip(tasks, key, strict=True)))}"
                for key, c in list(firsts.items())[:3]
            ]
        )
        more = f" (and {len(firsts) - 3:,} more)" if len(firsts) > 3 else ""
        facts = [
            (_where(table, dict(zip(tasks, key, strict=True))), format_value(column, c.means[metric]),
             _name(table, c, tasks))
            for key, c in firsts.items()
        ]  # fmt: skip
        return _with(f"{what}: {text}{more}.", (join(map(table.label, tasks)), column.label, "at"), facts)
    best, _ = first_two(found, metric, descending)
    number = format_value(column, best[0].means[metric])
    text = f"{what} {number}: {_names(table, best)}." if found[0].key else f"{what} {number}."
    key = _telling(table, roles, chart, [c.key.get(table.domain.rival or "") for c in found])
    places: list[tuple[float, tuple[str, ...]]] = []
    if key and key in found[0].key:
        for (value,), of in by(found, [key]).items():
            first = first_two(of, metric, descending)[0][0]
            places.append((first.means[metric], (_cell(table, key, value), *_place(table, column, first, key)[1:])))
        if not table.values(key).numeric:
            places.sort(key=lambda p: p[0], reverse=descending)
    lines = [line for _, line in places]
    return _with(text, (table.label(key) if key else "", superlative(column, descending), "at"), lines)


# -- pairs of equal work -----------------------------------------------------------------------------------------------


def _trade_off(table: Table, roles: Roles, chart: ChartSpec) -> Headline | None:
    """What each method pays and gets against the baseline at equal work, as medians; else the better end alone."""
    x, y = chart.x or "", chart.y or ""
    rival = table.domain.rival or ""
    if not {x, y} <= set(roles.metrics) or rival not in table.names:
        return _ends(table, roles, chart)
    cost, quality = cost_and_quality(table, x, y)
    if table.column(quality).better != "higher" or table.column(cost).better != "lower":
        return _ends(table, roles, chart)
    marked = baselines_of(table)
    found = configurations(table, roles, (x, y))
    work = [k for k in (found[0].key if found else {}) if k in (*table.domain.work, *table.domain.apart)]
    bases: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for c in found:
        if c.key[rival] in marked:
            bases[tuple(c.key[k] for k in work)].append(c)
    pairs: dict[Value | None, list[tuple[float, float]]] = defaultdict(list)
    for c in found:
        same = bases.get(tuple(c.key[k] for k in work), [])
        if c.key[rival] not in marked and len(same) == 1 and same[0].means[cost] > 0:
            base = same[0]
            pairs[c.key[rival]].append((c.means[cost] / base.means[cost], c.means[quality] - base.means[quality]))
    if not pairs or len(marked) != 1:
        return _ends(table, _leading(roles, quality), chart)
    medians = {
        m: (statistics.median(c for c, _ in of), statistics.median(q for _, q in of), len(of))
        for m, of in pairs.items()
    }
    order = sorted(medians, key=lambda m: -medians[m][1])
    most = max(n for *_, n in medians.values())
    # Who was measured in a few places alone is told in the table, and not first.
    first = next(m for m in order if medians[m][2] * 2 >= most)
    baseline = describe(table.column(rival), next(iter(marked)))
    price, gain, n = medians[first]
    of = table.column(quality)
    how = (
        f"the same as {baseline}"
        if gain == 0
        else f"{format_value(of, abs(gain))} {'above' if gain > 0 else 'below'} {baseline}"
    )
    what = f"{of.label} {how}" if len(medians) == 1 else f"keeps the most {of.label}: {how}"
    name = describe(table.column(rival), first) + (":" if len(medians) == 1 else "")
    behind = counted(n, table.domain.kind)
    text = f"{name} {what} at {format_factor(price)} its {table.label(cost)} (median of {behind})."
    facts = [
        (describe(table.column(rival), m), format_factor(price), _signed(of, gain), f"{n:,}")
        for m, (price, gain, n) in ((m, medians[m]) for m in order)
    ]
    columns = (f"against {baseline}", table.label(cost), of.label, f"{table.domain.kind}s")
    return _with(text, columns, facts)


def _leading(roles: Roles, metric: str) -> Roles:
    """The roles with another metric first."""
    return replace(roles, metrics=(metric, *(m for m in roles.metrics if m != metric)))


def _two(table: Table, roles: Roles) -> Headline | None:
    """How two methods differ in each metric, as medians of pairs of equal work."""
    rival = table.domain.rival or ""
    first, second = two_rivals(table)
    parts, facts, most = [], [], 0
    for metric in roles.metrics[:MOST_FACTS]:
        column = table.column(metric)
        pairs = paired(table, configurations(table, roles, (metric,)), metric, first, second)
        if not pairs:
            continue
        ratio = bool(column.unit) and all(a > 0 and b > 0 for a, b in pairs)
        values = sorted(a / b if ratio else a - b for a, b in pairs)
        shown = [
            format_factor(v) if ratio else _signed(column, v)
            for v in (statistics.median(values), values[0], values[-1])
        ]
        most = max(most, len(pairs))
        parts.append(f"{column.label} {shown[0]}")
        facts.append((column.label, shown[0], f"{shown[1]} to {shown[2]}", f"{len(pairs):,}"))
    if not parts:
        return None
    names = [describe(table.column(rival), m) for m in (first, second)]
    text = f"{names[0]} against {names[1]}: {', '.join(parts)} (median of {counted(most, 'pair')})."
    return _with(text, ("", "median", "lowest to highest", "pairs"), facts)


# -- words -------------------------------------------------------------------------------------------------------------


def _with(text: str, columns: tuple[str, ...], facts: Sequence[tuple[str, ...]]) -> Headline:
    shown = tuple(facts[:MOST_FACTS]) if len(facts) > 1 else ()
    return Headline(text, columns if shown else (), shown, len(facts) - len(shown) if shown else 0)


def _who(table: Table) -> str:
    return table.label(table.domain.rival) if table.domain.rival in table.names else ""


def _place(table: Table, column: Column, c: Configuration, key: str | None = None) -> tuple[str, str, str]:
    """(who, value, where) of a configuration; who is what `key` has, else its method."""
    key = key or (table.domain.rival if table.domain.rival in c.key else next(iter(c.key), None))
    who = _cell(table, key, c.key.get(key)) if key else ""
    return who, format_value(column, c.means[column.name]), _where(table, {k: v for k, v in c.key.items() if k != key})


def _cell(table: Table, key: str | None, value: Value | None) -> str:
    """A value under the name of its column: without it where it is a number."""
    if key is None:
        return ""
    text = describe(table.column(key), value)
    return cut_middle(text.removeprefix(f"{table.label(key)} "), _LONGEST_PLACE)


def _where(table: Table, key: dict[str, Value | None]) -> str:
    """`frappe, dim 16`, as much of it as has room; what does not apply is left out."""
    words: list[str] = []
    places = sorted(key, key=lambda k: k == table.domain.machine)  # its name is long
    for k in places:
        if key[k] is None and table.column(k).own:
            continue
        text = cut_middle(describe(table.column(k), key[k]), _LONGEST_PLACE // 2)
        if words and len(", ".join([*words, text])) > _LONGEST_PLACE:
            return ", ".join([*words, "…"])
        words.append(text)
    return ", ".join(words)


def _name(table: Table, c: Configuration, without: Sequence[str] = ()) -> str:
    """A configuration in a few words: its method and what tells it from others, without the machine's long name."""
    key = {k: v for k, v in c.key.items() if k not in without and k != table.domain.machine} or c.key
    while len(key) > 1 and len(in_words(table, key)) > _LONGEST_NAME:
        key = dict(list(key.items())[:-1])
    return cut_middle(in_words(table, key), _LONGEST_NAME)


def _names(table: Table, best: Sequence[Configuration]) -> str:
    more = f" and {len(best) - 1:,} more" if len(best) > 1 else ""
    return _name(table, best[0]) + more


def _signed(column: Column, value: float) -> str:
    text = format_value(column, abs(value))
    return text if value == 0 else f"{'+' if value > 0 else '−'}{text}"
