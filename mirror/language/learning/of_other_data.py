"""What a reading that was chosen teaches about other data."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from mirror.language.learning.learnable import is_learnable
from mirror.language.reading.covers import Span, linker_of, spans_of, tokens_of
from mirror.language.reading.held import parts_of
from mirror.language.reading.linking import TYPO
from mirror.language.reading.reading import readings
from mirror.query.errors import Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form import Asked, ColumnRef, Predicate
from mirror.schema.database import Database
from mirror.schema.names import label_columns
from mirror.schema.own_words import OwnWord

_LATER = timedelta(days=400, hours=7)
_MOST_THINGS = 4  # unsaid parts of a form beyond which no word explains them
_EQUAL = ("=", "in")


def taught_word(question: str, chosen: Asked, database: Database, now: datetime) -> OwnWord | None:
    """The word of a question that a chosen reading explains, and what it names; None where nothing is certain.

    It takes one word that names nothing, and one table, column or value of the reading that no other word names, so
    that the question with this word is read as it was meant, nothing left out.
    """
    tokens, times = tokens_of(question, now)
    starts = spans_of(tokens, times, linker_of(database))
    known = [s for here in starts for s in here if s.kind != "skipped" and s.cost < TYPO]
    covered = {at for span in known for at in range(span.start, span.end)}
    unknown = [i for i, token in enumerate(tokens) if i not in covered and token.kind != "sign"]
    if len({tokens[i].text for i in unknown}) != 1 or not is_learnable(unknown[0], tokens):
        return None
    word = tokens[unknown[0]].text
    things = [thing for thing in _things(word, chosen, database) if not any(_says(s, thing) for s in known)]
    if not 1 <= len(things) <= _MOST_THINGS:
        return None
    (thing, *others) = things
    return thing if not others and _is_read_so(question, chosen, thing, database, now) else None


def holds_later(question: str, chosen: Asked, now: datetime) -> bool:
    """Whether a reading is that of its question at any time: not where a date in it was told from the present."""
    times = tokens_of(question, now)[1]
    if times != tokens_of(question, now + _LATER)[1]:
        return False
    moments = {m.date().isoformat() for t in times for m in (t.time.start, t.time.end) if m is not None}
    dates = [v for p in parts_of(chosen, Predicate) for v in p.plain if isinstance(v, str) and _is_date(v)]
    return all(value[:10] in moments for value in dates)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text[:10])
    except ValueError:
        return False
    return len(text) >= len("2024-01-01")


def _things(word: str, chosen: Asked, database: Database) -> Iterator[OwnWord]:
    """The tables, columns and values that a form speaks of, each once, as what the word may name.

    A table is spoken of where its rows are listed, counted or required; the columns that they are known by go with it.
    """
    tables = [m.table for measure in chosen.measures for m in measure.parts if not m.factors]
    tables += [g.table for g in chosen.groups if g.place is None] + [p.table for p in chosen.presences]
    tables += [chosen.table] if not chosen.measures and not chosen.groups else []
    yield from (OwnWord(word, table) for table in dict.fromkeys(tables))
    own = {(t, c) for t in tables for c in (*label_columns(database.relation(t)), *database.relation(t).key)}
    valued: set[tuple[str, str]] = set()
    for condition in parts_of(chosen, Predicate):
        texts = [v for v in condition.plain if isinstance(v, str)]
        if condition.operator in _EQUAL and texts and condition.bucket is None:
            place = condition.place
            valued.add((place.table, place.column))
            yield from (OwnWord(word, place.table, place.column, v) for v in texts if not _is_date(v))
    places = dict.fromkeys((p.table, p.column) for p in parts_of(chosen, ColumnRef))
    yield from (OwnWord(word, *place) for place in places if place not in own | valued)


def _says(span: Span, thing: OwnWord) -> bool:
    """Whether a word may name a thing: a column by its values too, but for a table only by its own name."""
    link = span.link
    if link is None:
        return False
    if thing.column is None:
        return link.kind == "rel" and link.table == thing.table
    if (link.table, link.column) != (thing.table, thing.column):
        return False
    return thing.value is None or link.value == thing.value


def _is_read_so(question: str, chosen: Asked, own: OwnWord, database: Database, now: datetime) -> bool:
    """Whether with this word the reader of words comes to the chosen reading, and leaves nothing out."""
    taught = replace(database, words=(*database.words, own))
    try:
        wanted = build(chosen, database).sql
    except (Refusal, KeyError, IndexError):
        return False
    found = readings(question, taught, now)
    return any(r.built.sql == wanted and not r.unread and not r.left for r in found)
