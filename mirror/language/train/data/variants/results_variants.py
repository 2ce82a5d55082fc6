"""Variants of wordings over the results: other values, further conditions, talk around them.

People wrote some four thousand wordings. What they said of a value is said of any other, and a condition may stand
beside any question: a network that has seen each value only where it was written leaves out what it did not expect.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mirror.query.spec import ChartType, ChartWish, Filter, Operator, QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value

_MOST_ADDED, _MOST_CONDITIONS = 3, 6
_ANOTHER_VALUE, _IN_FRONT, _TWO, _DENIED, _LIMIT = 0.7, 0.25, 0.2, 0.12, 0.25
_ASIDE, _CHART = 0.12, 0.08
# Columns that people name most; the others are taken less often.
_USUAL, _LESS = (
    ("method", "dataset", "embedding_dim", "batch_size", "compression", "threads", "machine", "direction"),
    0.2,
)
# The share of values, and of benchmarks, that other results hold.
_KEPT, _BENCHMARKS_KEPT, _RENAMED = 0.6, 0.7, 0.6
# What machines are called where people name them; else they have the name of their processor.
_MACHINES = ("laptop", "server", "workstation", "desktop", "node1", "node-7", "buildbox", "xeon", "epyc", "lab", "m1")
# Shapes whose conditions mean what they say of trials one by one.
_PLAIN = frozenset(("groups", "points", "best", "ranking", "relative", "front", "count", "rows", "change"))


@dataclass(frozen=True)
class ResultsWording:
    """A query over the results in somebody's words.

    Attributes:
        query: the id of the query.
        voice: who says it.
        text: the words.
        asked: what they ask for; of a follow-up the whole question that it makes.
        before: the question before it; None for a first one.
    """

    query: str
    voice: str
    text: str
    asked: QuerySpec
    before: QuerySpec | None = None


def variant(wording: ResultsWording, profile: Profile, rng: random.Random) -> ResultsWording:
    """The wording with other values and, at times, with more conditions than it had."""
    if wording.before:
        return _after_other_values(wording, wording.before, profile, rng)
    made = _with_other_values(wording, profile, rng)
    for _ in range(rng.choice((0, 1, 1, 2, _MOST_ADDED))):
        made = _with_condition(made, profile, rng)
    return _with_talk(made, rng)


# -- other results -----------------------------------------------------------------------------------------------------


def other_results(profile: Profile, asked: QuerySpec, rng: random.Random) -> Profile:
    """Results that hold a part of the values, of few benchmarks or many, on other machines; what is asked for stays."""
    conditions = [*asked.filters, *([asked.against] if asked.against else [])]
    named = {(f.column, v) for f in conditions for v in f.values}
    wanted = {v for c, v in named if c == "benchmark"}
    benchmarks = [b for b in profile.benchmarks if b in wanted or rng.random() < _BENCHMARKS_KEPT] or ["training"]
    names: dict[Value, Value] = {}
    if not any(c == "machine" for c, _ in named) and rng.random() < _RENAMED:
        machines = profile.values("machine")
        names = dict(zip(machines, rng.sample(_MACHINES, len(machines)), strict=True))

    def kept(held: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
        return {
            c: tuple(names.get(v, v) for v in values if (c, v) in named or rng.random() < _KEPT)
            for c, values in held.items()
        } | {"benchmark": tuple(benchmarks)}

    of_each = {b: kept(held) for b, held in profile.distinct_by_benchmark.items() if b in benchmarks}
    filled = {b: metrics for b, metrics in profile.filled_metrics.items() if b in benchmarks}
    return replace(profile, distinct=kept(profile.distinct), distinct_by_benchmark=of_each, filled_metrics=filled)


# -- other values ------------------------------------------------------------------------------------------------------


def _with_other_values(wording: ResultsWording, profile: Profile, rng: random.Random) -> ResultsWording:
    """Values that are written as they are give way to others of their column."""
    text, changed = wording.text, {}
    for column, value in _said(wording.asked):
        written = re.compile(rf"(?<![\w.-]){re.escape(_text(value))}(?![\w.-]|\.\d)", re.IGNORECASE)
        others = [v for v in profile.values(column) if _text(v).lower() not in text.lower()]
        places = list(written.finditer(text))
        if not others or len(places) != 1 or rng.random() > _ANOTHER_VALUE:
            continue
        other = rng.choice(others)
        text = text[: places[0].start()] + _text(other) + text[places[0].end() :]
        changed[column, value] = other
    return replace(wording, text=text, asked=_exchanged(wording.asked, changed))


def _after_other_values(
    wording: ResultsWording, before: QuerySpec, profile: Profile, rng: random.Random
) -> ResultsWording:
    """A follow-up to the same question of other values, as far as it does not speak of them."""
    text, changed = wording.text.lower(), {}
    for column, value in _said(before):
        others = [v for v in profile.values(column) if _text(v).lower() not in text]
        if others and _text(value).lower() not in text and rng.random() < _ANOTHER_VALUE:
            changed[column, value] = rng.choice(others)
    return replace(wording, asked=_exchanged(wording.asked, changed), before=_exchanged(before, changed))


def _said(asked: QuerySpec) -> list[tuple[str, Value]]:
    """Values of conditions that stand in one place only, whatever the column."""
    conditions = [f for f in (*asked.filters, *([asked.against] if asked.against else [])) if f.column != "benchmark"]
    values = [(f.column, v) for f in conditions for v in f.values]
    written = [_text(v).lower() for _, v in values]
    known = {e.name for e in catalog.entries().values() if e.role == "axis"}
    return [
        (c, v)
        for c, v in dict.fromkeys(values)
        if c in known and all(_text(v).lower() == w or _text(v).lower() not in w for w in written)
    ]


def _exchanged(asked: QuerySpec, changed: dict[tuple[str, Value], Value]) -> QuerySpec:
    def of(condition: Filter) -> Filter:
        values = tuple(changed.get((condition.column, v), v) for v in condition.values)
        return replace(condition, values=values)

    return replace(asked, filters=tuple(map(of, asked.filters)), against=asked.against and of(asked.against))


# -- further conditions ------------------------------------------------------------------------------------------------


def _with_condition(wording: ResultsWording, profile: Profile, rng: random.Random) -> ResultsWording:
    """One condition more, on a column of which nothing is said yet."""
    asked = wording.asked
    taken = {f.column for f in asked.filters} | {*asked.dimensions, *asked.partitions, *asked.averaged}
    taken |= {m.column for m in asked.metrics} | ({asked.against.column} if asked.against else set())
    free = [c for c in _phrases() if c in catalog.entries() and c not in taken and len(profile.values(c)) > 1]
    if asked.shape not in _PLAIN or asked.source not in ("results", "history") or not free:
        return wording
    if len(asked.filters) >= _MOST_CONDITIONS:
        return wording
    column = rng.choices(free, [1 if c in _USUAL else _LESS for c in free])[0]
    condition, said = _condition(column, profile.values(column), rng)
    if rng.random() < _IN_FRONT and said.startswith(("on ", "for ", "in ", "with ", "at ")):
        text = f"{said}{rng.choice((', ', ' ', ': '))}{wording.text}"
    else:
        text = f"{wording.text.rstrip(' ?.!')}{rng.choice((' ', ' ', ', '))}{said}{rng.choice(('', '', '?', '.'))}"
    return replace(wording, text=text, asked=replace(asked, filters=(*asked.filters, condition)))


def _condition(column: str, values: tuple[Value, ...], rng: random.Random) -> tuple[Filter, str]:
    """A condition on a column, and how it is said."""
    value, phrases = rng.choice(values), _phrases()
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if numeric and rng.random() < _LIMIT:
        limits: tuple[Operator, ...] = ("<=", ">=", "<", ">")
        operator = rng.choice(limits)
        name = rng.choice((catalog.entry(column).label, *catalog.entry(column).synonyms[:3]))
        return Filter(column, operator, (value,)), _filled(rng.choice(phrases["limits"][operator]), value, name)
    of_column = phrases[column]
    if isinstance(of_column, dict):  # phrases of each value by themselves
        value = rng.choice([v for v in values if v in of_column] or [value])
        return Filter(column, "=", (value,)), rng.choice(of_column.get(value, [str(value)]))
    phrase = rng.choice(of_column)
    others = [v for v in values if v != value]
    if others and rng.random() < _TWO and "{v}" in phrase:
        other = rng.choice(others)
        both = rng.choice(phrases["two"]).format(a=_text(value), b=_text(other))
        return Filter(column, "in", (value, other)), phrase.replace("{v}", both)
    if not numeric and rng.random() < _DENIED:
        return Filter(column, "<>", (value,)), rng.choice(phrases["denied"]).format(v=_text(value))
    return Filter(column, "=", (value,)), _filled(phrase, value, column)


def _filled(phrase: str, value: Value, name: str) -> str:
    if not isinstance(value, int | float) or not value:
        return phrase.format(v=_text(value), name=name, percent=_text(value), times=_text(value))
    return phrase.format(v=_text(value), name=name, percent=f"{value * 100:g}", times=f"{1 / value:g}")


def _with_talk(wording: ResultsWording, rng: random.Random) -> ResultsWording:
    text, asked, phrases = wording.text, wording.asked, _phrases()
    if rng.random() < _CHART and asked.chart == ChartWish() and asked.shape in ("groups", "best", "ranking"):
        kinds: tuple[ChartType, ...] = ("bar", "table", "line")
        kind = rng.choice(kinds)
        text = f"{text.rstrip(' ?.')} {rng.choice(phrases['charts'][kind])}"
        asked = replace(asked, chart=ChartWish(kind))
    if rng.random() < _ASIDE:
        text = f"{text.rstrip(' ?.')}, {rng.choice(phrases['asides'])}"
    if rng.random() < _ASIDE:
        text = f"{rng.choice(phrases['openings'])} {text}"
    return replace(wording, text=text, asked=asked)


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _phrases() -> dict[str, Any]:
    text = Path(__file__).with_name("results_conditions.yaml").read_text()
    phrases: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return phrases
