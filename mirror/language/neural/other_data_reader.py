"""Questions read by the network alone: forms with what they leave unread."""

from dataclasses import dataclass, replace
from datetime import datetime

from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.form_actions import ASKED, Reader
from mirror.language.neural.items import items_of
from mirror.language.neural.network import BEAM, WEIGHTS, trained
from mirror.language.neural.unread import unread
from mirror.language.reading.held import is_contradiction, parts_of
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.counted_once import is_counted_once
from mirror.query.other_data.form import Asked, ColumnRef, Measure, Predicate
from mirror.schema.database import Column, Database

_OF_NUMBERS = ("sum", "avg", "median", "stddev")


@dataclass(frozen=True)
class SecondReading:
    """One reading of the network.

    Attributes:
        asked: the form.
        built: its SQL.
        score: logarithm of its probability.
        unread: numbers, quoted texts and negations that it leaves out.
    """

    asked: Asked
    built: Built
    score: float
    unread: tuple[str, ...]


def other_data_readings(question: str, database: Database, now: datetime, beam: int = BEAM) -> list[SecondReading]:
    """The likeliest readings, the likeliest first; none where no network ships or nothing can be built."""
    network = trained(WEIGHTS, ASKED)
    if network is None:
        return []
    items = items_of(question, database, now)
    if not items.tokens:
        return []
    found: dict[Asked, SecondReading] = {}
    for line in network.lines(items, beam):
        try:
            asked = Reader(line.actions, items, database).asked()
            built = build(asked, database)
            if not _is_sound(asked, database) or is_contradiction(asked) or not is_counted_once(asked, database):
                continue
        except (Inexpressible, Refusal, KeyError, IndexError, ValueError):
            continue
        found.setdefault(asked, SecondReading(asked, built, line.score, unread(items, line.actions)))
    return list(found.values())


def _is_sound(asked: Asked, database: Database) -> bool:
    """Whether each part says something: no number divided by itself, no sum of texts, no month of a price."""
    parts = [part for measure in asked.measures for part in measure.parts]
    listed = (asked.groups, asked.measures, asked.conditions, *(part.factors for part in parts))
    if any(len(set(several)) < len(several) for several in listed):
        return False
    if any(replace(m, over=None, minus=None) in (m.over, m.minus) for m in asked.measures):
        return False
    if any(p.place in p.values for p in parts_of(asked, Predicate)):
        return False

    rows = any(g.place is None and g.bucket is None and g.table == asked.table for g in asked.groups)
    if rows and Measure("count", asked.table) in asked.measures:
        return False  # the rows of a table, counted one by one

    def column(place: ColumnRef) -> Column:
        return database.relation(place.table).column(place.column)

    summed = (place for p in parts if p.aggregate in _OF_NUMBERS and p.until is None for place in p.factors)
    if not all(column(place).numeric for place in summed):
        return False
    parted = [g.place for g in asked.groups if g.bucket] + [p.place for p in parts_of(asked, Predicate) if p.bucket]
    return all(column(place).temporal for place in parted if place)
