"""What a reading that was chosen teaches about the results."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mirror.language.grammar import grammar
from mirror.language.grammar.lexicon import Item
from mirror.language.learning.learnable import is_learnable
from mirror.language.phrases import time_cues
from mirror.language.phrases.rephrase import rephrase
from mirror.language.reading.covers import tokens_of
from mirror.language.reading.lexemes import cut
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.own_words import CURVES, RESULTS, OwnWord
from mirror.schema.profile import Profile

_LATER = timedelta(days=400, hours=7)
# Which benchmark is meant is mostly left open, and the time is told by times.
_NEVER = ("benchmark", "started_at", "metric", "status")


def taught_word(question: str, chosen: QuerySpec, profile: Profile, now: datetime) -> OwnWord | None:
    """The word of a question that a chosen reading explains, and what it names; None where nothing is certain.

    It takes one word that the grammar does not know, and one column, curve or value of the reading that no other word
    names, so that the grammar reads the question with this word as it was meant.
    """
    try:
        items = grammar.items_of(question, profile, now)
    except (Refusal, Ambiguity):
        return None
    unknown = {i.text for i in items if i.kind == "unknown"}
    if len(unknown) != 1:
        return None
    (word,) = unknown
    tokens = cut(question)
    places = [i for i, token in enumerate(tokens) if token.text == word]
    if not places or not all(is_learnable(i, tokens) for i in places):
        return None
    things = [thing for thing in dict.fromkeys(_things(word, chosen)) if not _is_said(thing, items)]
    if len(things) != 1:
        return None
    return things[0] if _is_read_so(question, chosen, things[0], profile, now) else None


def holds_later(question: str, chosen: QuerySpec, now: datetime) -> bool:
    """Whether a reading is that of its question at any time: not where a time in it was told from the present."""
    later = now + _LATER
    if tokens_of(question, now)[1] != tokens_of(question, later)[1]:
        return False
    try:
        first, second = (time_cues.find(rephrase(question), moment)[0] for moment in (now, later))
    except (Refusal, Ambiguity):
        return False
    timed = chosen.split is not None or any(f.column == "started_at" for f in chosen.filters)
    said = first.start is not None or first.end is not None
    return (first.start, first.end) == (second.start, second.end) and (said or not timed)


def _things(word: str, chosen: QuerySpec) -> Iterator[OwnWord]:
    """The columns, curves and values that a query speaks of, as what the word may name."""
    for metric in chosen.metrics:
        yield OwnWord(word, CURVES, metric.name) if metric.name else OwnWord(word, RESULTS, metric.column)
    for name in (*chosen.dimensions, *chosen.partitions, *chosen.averaged):
        yield OwnWord(word, RESULTS, name)
    if chosen.distinct:
        yield OwnWord(word, RESULTS, chosen.distinct)
    for f in (*chosen.filters, *((chosen.against,) if chosen.against else ())):
        if f.column not in _NEVER:
            texts = [v for v in f.values if isinstance(v, str)]
            yield from (OwnWord(word, RESULTS, f.column, v) for v in texts)
            if not texts:
                yield OwnWord(word, RESULTS, f.column)


def _is_said(thing: OwnWord, items: Sequence[Item]) -> bool:
    for item in items:
        if thing.table == CURVES:
            said = item.kind == "curve" and item.name == thing.column
        elif thing.value is not None:
            filters = [f for f in item.filters if f.column == thing.column and thing.value in f.values]
            said = bool(filters) or (item.kind == "value" and (item.name, item.value) == (thing.column, thing.value))
        else:
            said = item.name == thing.column and item.kind in ("column", "value")
        if said:
            return True
    return False


def _is_read_so(question: str, chosen: QuerySpec, own: OwnWord, profile: Profile, now: datetime) -> bool:
    """Whether with this word the grammar comes to the chosen reading."""
    try:
        asked = grammar.parse(question, replace(profile, words=(*profile.words, own)), now)
        if _bare(asked) == _bare(chosen):
            return True
        return _bare(complete(asked, profile, question)) == _bare(complete(chosen, profile, question))
    except (Refusal, Ambiguity):
        return False


def _bare(spec: QuerySpec) -> QuerySpec:
    """A query without its notes, in one order of its filters, and without aggregates that are the usual ones."""
    filters = sorted((f for f in spec.filters if f.column != "benchmark"), key=repr)
    metrics = tuple(replace(m, aggregate=m.aggregate or catalog.entry(m.column).aggregate) for m in spec.metrics)  # type: ignore[arg-type]
    return replace(spec, notes=(), filters=tuple(filters), metrics=metrics)
