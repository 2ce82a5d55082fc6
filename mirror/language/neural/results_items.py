"""What the network sees of a question over the results: its words, benchmarks, columns of the catalogue and literals.

Benchmarks take the part of tables. Curves of training and facts of machines are columns of tables of their own. Items,
features and relations are those of questions over other data, with a few features more.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache

import numpy as np

from mirror.language.neural.items import (
    FEATURES,
    KIND,
    MOST_NAME_WORDS,
    MOST_TOKENS,
    RELATION,
    Assembly,
    Found,
    Items,
    Literal,
)
from mirror.language.neural.likeness import vectors_of
from mirror.language.neural.results_numbers import HOW, UNIT_OF, NumberSaid, numbers_of, plain
from mirror.language.neural.results_phrases import CURVES, MACHINES, RESULTS, Phrases, phrases_of, statuses
from mirror.language.phrases import time_cues
from mirror.language.reading.lexemes import Token, cut, stems
from mirror.language.reading.linking import Link
from mirror.language.reading.times import Time, days_in, times_in
from mirror.query.errors import Impossible, Refusal
from mirror.schema import catalog, own_metrics
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

MOST_LITERALS, MOST_TIMES, MOST_NUMBERS, MOST_BENCHMARKS, MOST_COLUMNS, MOST_UNSAID = 36, 8, 20, 12, 100, 110
RESULTS_FEATURES = (
    *FEATURES, "metric", "axis", "info", "curve", "fact", "measured", "higher", "lower", "said value", "family",
    "unsaid", *HOW, "before",
)  # fmt: skip
_REWRITES = tuple(
    (re.compile(rf"\b(?:{one_of(among)})\b"), meaning)
    for meaning, among in phrasebook.phrases("rewrites", "results").items()
)
_COMMON = (
    "method", "dataset", "embedding_dim", "batch_size", "compression", "direction", "machine", "threads", "num_tables",
    "num_rows", "seed", "cache", "started_at", "auc", "logloss", "memory_mb", "latency_us", "latency_p99_us",
    "samples_per_s", "speedup", "verdict", "status", "sweep", "optimizer", "split",
)  # fmt: skip
# Columns that every trial has, whatever it measured.
_ALWAYS = ("info", "key")
_FAR = 9.0
_SURELY = 0.1  # what naming a value by all of its name costs at most


def results_items(question: str, profile: Profile, now: datetime, before: str = "") -> Items:
    """The items of a question over the results; of a follow-up those of the question before it too, in front."""
    text, tokens = tokens_in(question)
    before = own_metrics.as_one_word(before.lower())
    asked_before = cut(plain(before))[: max(0, MOST_TOKENS - len(tokens))]
    tokens = [*asked_before, *tokens][:MOST_TOKENS]
    text = f"{plain(before)} {text}" if before else text
    phrases = phrases_of(profile)
    links = _without_nested(list(_links(tokens, phrases)))
    said = _literals(tokens, links, text, now)
    literals = (*said, *_unsaid(profile, said, len(tokens)))
    benchmarks, columns = _benchmarks(profile, links), _columns(profile, tokens, links)
    made = _OfResults(profile, tokens, benchmarks, columns, literals, links).items()
    _put_before(made, len(asked_before))
    return made


def tokens_in(question: str) -> tuple[str, list[Token]]:
    """A question as it is read, and its tokens: all of them, of which MOST_TOKENS are read."""
    text = plain(own_metrics.as_one_word(question.lower()))
    for pattern, meaning in _REWRITES:
        text = pattern.sub(meaning, text)
    return text, cut(text)


def _put_before(items: Items, tokens: int) -> None:
    """Tell so many tokens in front, and what is said in them, as those of the question before."""
    at = RESULTS_FEATURES.index("before")
    items.features[:tokens, at] = 1
    for i, literal in enumerate(items.literals):
        if literal.end <= tokens:
            items.features[items.first_literal + i, at] = 1


def pointer_of(column: tuple[str, str]) -> str:
    """What a column is pointed at as: a metric or curve, or what trials are told apart by."""
    table, name = column
    return "<metric>" if table == CURVES or (table == RESULTS and _role(name) == "metric") else "<column>"


def _role(name: str) -> str:
    return catalog.entry(name).role


def _links(tokens: list[Token], phrases: Phrases) -> Iterator[Found]:
    stemmed = [t.stem for t in tokens]
    for i, token in enumerate(tokens):
        here: list[Found] = []
        for length in range(1, min(phrases.longest, len(tokens) - i) + 1):
            here += [Found(i, i + length, link) for link in phrases.at(tuple(stemmed[i : i + length]))[:10]]
        if not here and token.kind == "word":
            here = [Found(i, i + 1, link) for link in phrases.corrected(token)[:4]]
        yield from here


def _without_nested(links: list[Found]) -> list[Found]:
    """Without values that are a part of a longer one of their column: `log softmax` is no softmax."""
    spans = {(f.link.column, f.start, f.end) for f in links if f.link.kind == "val" and f.link.cost <= _SURELY}

    def is_part(f: Found) -> bool:
        return any(
            c == f.link.column and s <= f.start and f.end <= e and (s, e) != (f.start, f.end) for c, s, e in spans
        )

    return [f for f in links if f.link.kind != "val" or not is_part(f)]


def _literals(tokens: list[Token], links: list[Found], text: str, now: datetime) -> tuple[Literal, ...]:
    numbers = list(numbers_of(tokens))[:MOST_NUMBERS]
    times = _times(tokens, text, now)[:MOST_TIMES]
    best: dict[tuple[object, ...], Found] = {}
    for f in links:
        if f.link.kind == "val":
            at = (f.link.column, f.link.value)
            if at not in best or (best[at].link.cost, best[at].start - best[at].end) > (f.link.cost, f.start - f.end):
                best[at] = f
    ranked = sorted(best.values(), key=lambda f: (f.link.cost - 0.1 * (f.end - f.start), f.start))
    values = [Literal("value", f.start, f.end, f.link.value, f.link) for f in ranked]
    return (*numbers, *times, *values)[:MOST_LITERALS]


def _unsaid(profile: Profile, said: Sequence[Literal], behind: int) -> list[Literal]:
    """The other values that texts may have: "without gradients" says `forward` in words that nobody has listed."""
    known = {(k.link.column, k.value) for k in said if k.link}
    held = [(c, v) for c in _told_by_values() for v in profile.values(c)]
    held += [("status", status) for status in statuses()]
    left = [at for at in held if at not in known][:MOST_UNSAID]
    return [Literal("value", behind, behind, value, Link("val", RESULTS, column, value)) for column, value in left]


@cache
def _told_by_values() -> tuple[str, ...]:
    """Columns whose few values are words."""
    texts = [e.name for e in catalog.entries().values() if e.type == "text" and e.role == "axis"]
    return (*(name for name in texts if name not in ("benchmark", "method")), "verdict", "method")


def _times(tokens: list[Token], text: str, now: datetime) -> list[Literal]:
    """The times of the calendar, and the one that `time_cues` finds, to the minute."""
    said = times_in(tokens, now)
    found = [Literal("time", t.start, t.end, t.time) for t in said if t.end <= MOST_TOKENS]
    for day in days_in(tokens, now):  # "before and after november 1": the day itself too
        if day.end <= MOST_TOKENS and all(day.time != k.value for k in found):
            found.append(Literal("time", day.start, day.end, day.time))
    try:
        cue = time_cues.find(text, now)[0]
    except (Refusal, Impossible):
        return found
    if cue.start is None and cue.end is None:
        return found
    if all((k.value.start, k.value.end) != (cue.start, cue.end) for k in found):  # type: ignore[attr-defined]
        words = [t.text for t in cut(cue.phrase)]
        texts = [t.text for t in tokens]
        places = (i for i in range(len(texts)) if texts[i : i + len(words)] == words)
        place = next(places, found[0].start if found else None)
        if place is not None:
            end = min(len(tokens), place + len(words))
            found.insert(0, Literal("time", place, end, Time(cue.start, cue.end, cue.phrase)))
    return found


def _benchmarks(profile: Profile, links: list[Found]) -> list[str]:
    said = [f.link.table for f in links if f.link.kind == "rel" and f.link.cost <= 0.1]
    return list(dict.fromkeys([*profile.benchmarks, *said]))[:MOST_BENCHMARKS]


def _columns(profile: Profile, tokens: list[Token], links: list[Found]) -> list[tuple[str, str]]:
    """The columns that are there or named; the common ones, and of the others those nearest to what is said."""
    said: dict[tuple[str, str], float] = {}
    for f in links:
        if f.link.kind in ("col", "val") and f.link.column:
            at = (f.link.table, f.link.column)
            said[at] = min(said.get(at, _FAR), f.link.cost)
    there = [at for at in _known(profile) if _is_there(at, profile) or said.get(at, _FAR) <= 0.1]
    if len(there) <= MOST_COLUMNS:
        return there
    alike = _alike(tokens, there)
    common = {(RESULTS, name) for name in _COMMON}
    nearest = sorted(there, key=lambda at: (at not in common, said.get(at, _FAR), -alike[at]))[:MOST_COLUMNS]
    return [at for at in there if at in nearest]


def _known(profile: Profile) -> list[tuple[str, str]]:
    curves = dict.fromkeys([*profile.curves, *catalog.curve_synonyms()])
    facts = catalog.words()["machine_facts"]
    results = [(RESULTS, name) for name in catalog.entries() if name != "benchmark"]
    return [*results, (RESULTS, "benchmark"), *((CURVES, c) for c in curves), *((MACHINES, f) for f in facts)]


def _is_there(at: tuple[str, str], profile: Profile) -> bool:
    table, name = at
    if table == CURVES:
        return name in profile.curves and not name[-1].isdigit()  # one of a row's many: only where it is named
    if table == MACHINES or name in _COMMON or _role(name) in _ALWAYS:
        return True
    if _role(name) == "axis":
        return bool(profile.values(name)) or name not in profile.distinct
    return name in ("duration_s", "sample_count") or any(name in profile.metrics(b) for b in profile.benchmarks)


def _alike(tokens: list[Token], columns: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """How alike each column and the likeliest word of the question are."""
    asked = vectors_of([t.stem for t in tokens] or [""])
    return {at: float((vectors_of(_words(at)) @ asked.T).max(initial=0.0)) for at in columns}


@cache
def _words(at: tuple[str, str]) -> tuple[str, ...]:
    """The stems of a column's name and label, and of what else it is called."""
    table, name = at
    if table == RESULTS:
        entry = catalog.entry(name)
        names: list[str] = [entry.label, name, *(s for s in entry.synonyms if " " not in s)]
    elif table == CURVES:
        names = [name, *catalog.curve_synonyms().get(name, ())]
    else:
        names = [name, *catalog.words()["machine_facts"][name]]
    return tuple(dict.fromkeys(s for n in names for s in stems(n.replace("_", " "))))[:MOST_NAME_WORDS]


class _OfResults(Assembly):
    """Benchmarks and columns of the results."""

    def __init__(
        self,
        profile: Profile,
        tokens: list[Token],
        benchmarks: list[str],
        columns: list[tuple[str, str]],
        literals: tuple[Literal, ...],
        links: list[Found],
    ) -> None:
        super().__init__(tuple(tokens), benchmarks, columns, literals, links, RESULTS_FEATURES)
        self._profile = profile

    def items(self) -> Items:
        """All of it, with what numbers may be of."""
        made = super().items()
        for i, literal in enumerate(self._literals):
            if isinstance(literal, NumberSaid):
                self._put_number(made.first_literal + i, literal)
            elif isinstance(literal.value, tuple):
                self._set(made.first_literal + i, "family")
            elif literal.kind == "value" and literal.start == literal.end:
                self._set(made.first_literal + i, "unsaid")
        return made

    def _put_tables(self) -> None:
        for benchmark, at in self._table_at.items():
            self._words.append(stems(benchmark.replace("_", " "))[:MOST_NAME_WORDS])
            self._kinds[at] = KIND["table"]
            if benchmark in self._profile.benchmarks:
                self._set(at, "measured")
            for other in self._table_at.values():
                self._relate(at, other, "table", "table")

    def _put_columns(self) -> None:
        self._beside()
        for (table, name), at in self._column_at.items():
            self._words.append(_words((table, name)))
            entry = catalog.entry(name)
            kind = "text" if table == MACHINES else "real" if table == CURVES else entry.type or "text"
            self._kinds[at] = KIND[kind if kind in KIND else "text"]
            role = {CURVES: "curve", MACHINES: "fact"}.get(table, entry.role)
            self._set(at, *(f for f in (role, entry.better) if f in self._feature))
            self._measured(at, table, name)

    def _beside(self) -> None:
        """Columns of one kind stand beside one another."""
        alike: dict[tuple[str, str | None], list[int]] = defaultdict(list)
        for (table, name), at in self._column_at.items():
            alike[table, _role(name) if table == RESULTS else None].append(at)
        for places in alike.values():
            self._relations[np.ix_(places, places)] = RELATION["beside"]

    def _measured(self, at: int, table: str, name: str) -> None:
        """The benchmarks that a column is measured in."""
        for benchmark, place in self._table_at.items():
            training = table == CURVES and benchmark == "training"
            held = name in self._profile.metrics(benchmark) or bool(self._profile.values(name, benchmark))
            if training or (table == RESULTS and held):
                self._relate(at, place, "in table", "has column")
                self._set(at, "measured")

    def _put_number(self, at: int, number: NumberSaid) -> None:
        """How it is meant, the axes that have such a value, and the metrics of its unit."""
        self._set(at, number.how)
        for (table, name), place in self._column_at.items():
            if table != RESULTS:
                continue
            entry = catalog.entry(name)
            unit = entry.unit and UNIT_OF.get(number.how) == entry.unit and entry.role == "metric"
            if entry.numeric and _holds(self._profile.values(name), number.value):
                self._relate(place, at, "column of", "literal of")
                self._set(at, "said value")
            elif unit:
                self._relate(place, at, "column of", "literal of")


def _holds(values: tuple[Value, ...], number: object) -> bool:
    return any(value == number for value in values if isinstance(value, int | float) and not isinstance(value, bool))
