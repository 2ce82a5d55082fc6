"""What a reading that was chosen teaches about the results."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from mirror.language.learning.learnable import is_learnable
from mirror.language.neural.items import RELATION, Items
from mirror.language.neural.results_items import results_items
from mirror.language.neural.results_numbers import plain
from mirror.language.neural.results_reader import network_readings, strange_words
from mirror.language.phrases import time_cues
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

    It takes one word that names nothing and was never learnt, and one column, curve or value of the reading that no
    other word names, so that the question with this word is read as it was meant.
    """
    items = results_items(question, profile, now)
    unknown = strange_words(items)
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
        first, second = (time_cues.find(plain(question), moment)[0] for moment in (now, later))
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


def _is_said(thing: OwnWord, items: Items) -> bool:
    """Whether a word of the question names a thing already."""
    if thing.value is not None:
        said = ((k.link.column, k.value) for k in items.literals if k.kind == "value" and k.link and k.start < k.end)
        return any(c == thing.column and thing.value in (v if isinstance(v, tuple) else (v,)) for c, v in said)
    column = (CURVES if thing.table == CURVES else RESULTS, thing.column)
    if column not in items.columns:
        return False
    relations = items.relations[: len(items.tokens), items.first_column + items.columns.index(column)]
    return RELATION["names"] in relations.tolist()


def _is_read_so(question: str, chosen: QuerySpec, own: OwnWord, profile: Profile, now: datetime) -> bool:
    """Whether with this word the likeliest reading is the chosen one."""
    worded = replace(profile, words=(*profile.words, own))
    found = network_readings(results_items(question, worded, now), worded)
    if not found:
        return False
    asked = found[0].asked
    try:
        return _bare(asked) == _bare(chosen) or (
            _bare(complete(asked, worded, question)) == _bare(complete(chosen, worded, question))
        )
    except (Refusal, Ambiguity):
        return False


def _bare(spec: QuerySpec) -> QuerySpec:
    """A query without its notes, in one order of its filters, and without aggregates that are the usual ones."""
    filters = sorted((f for f in spec.filters if f.column != "benchmark"), key=repr)
    metrics = tuple(replace(m, aggregate=m.aggregate or catalog.entry(m.column).aggregate) for m in spec.metrics)  # type: ignore[arg-type]
    return replace(spec, notes=(), filters=tuple(filters), metrics=metrics)
