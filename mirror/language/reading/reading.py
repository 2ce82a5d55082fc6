"""A question's readings, the cheapest first: forms with their costs, and the words that were not read."""

from dataclasses import dataclass, replace
from datetime import datetime

from mirror.language.reading.covers import Cover, covers, linker_of, spans_of, tokens_of
from mirror.language.reading.pieces import Pieces
from mirror.language.reading.settle import settled
from mirror.language.reading.settle_places import Unsettled
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.form import Asked
from mirror.schema.database import Database

_MOST_COVERS = 40
_UNUSED = 0.6  # a table that is named and not read


@dataclass(frozen=True)
class Reading:
    """One reading.

    Attributes:
        asked: the form.
        built: its SQL.
        cost: how unsure it is.
        unread: content words that it leaves out.
        cover: the spans that it was made of.
    """

    asked: Asked
    built: Built
    cost: float
    unread: tuple[str, ...]
    cover: Cover


def readings(question: str, database: Database, now: datetime, most: int = 3) -> list[Reading]:
    """The cheapest readings of a question; empty where it has none."""
    linker = linker_of(database)
    tokens, times = tokens_of(question, now, linker)
    found: dict[Asked, tuple[float, tuple[str, ...], Cover]] = {}
    for cover in covers(spans_of(tokens, times, linker), _MOST_COVERS):
        draft = Pieces(cover, database).draft()
        unread = (*cover.skipped, *draft.left)
        try:
            asked, cost = settled(draft, linker, now)
        except Unsettled:
            continue
        if asked not in found or found[asked][0] > cover.cost + cost:
            found[asked] = (cover.cost + cost, unread, cover)
    ranked = sorted(found.items(), key=lambda item: item[1][0])
    made: list[Reading] = []
    for asked, (cost, unread, cover) in ranked:
        try:
            built = build(asked, database)
        except (Refusal, KeyError, IndexError):
            continue
        asked, built, cost = _through(asked, built, cost, cover, database)
        made.append(Reading(asked, built, cost, unread, cover))
        if len(made) == most + 2:
            break
    return sorted(made, key=lambda r: r.cost)[:most]


def _through(asked: Asked, built: Built, cost: float, cover: Cover, database: Database) -> tuple[Asked, Built, float]:
    """The form by way of the tables that were named: who bought a tent did not only review it."""
    named = {s.link.table for s in cover.spans if s.kind == "rel" and s.link}
    missing = tuple(sorted(named - set(built.tables)))
    if not missing:
        return asked, built, cost
    try:
        further = replace(asked, via=missing)
        built_further = build(further, database)
    except (Refusal, KeyError, IndexError):
        return asked, built, cost + _UNUSED * len(missing)
    if named <= set(built_further.tables):
        return further, built_further, cost + 0.05
    return asked, built, cost + _UNUSED * len(missing)
