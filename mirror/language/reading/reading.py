"""A question's readings, the cheapest first: forms with their costs, and the words that were not read."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from mirror.language.reading.covers import Cover, covers_of, linker_of, tokens_of
from mirror.language.reading.held import is_contradiction, left_out
from mirror.language.reading.lexemes import stem
from mirror.language.reading.pieces import Pieces
from mirror.language.reading.settle import settled
from mirror.language.reading.settle_places import Unsettled
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.counted_once import is_counted_once, why_counted_twice
from mirror.query.other_data.form import Asked
from mirror.query.other_data.key_roles import each_role
from mirror.schema.database import Database

_ARITHMETIC = re.compile(r"(\w+)(\s[/+%]\s|\s-\s|[/+])(?=(\w+))")
_ENDS = {"0001": "before 0002-01-01", "9999": "after 9998-12-31"}  # years that stand for none, and how to mean them
_UNUSED = 0.6  # a table that is named and not read
# What a reading costs, by what it is for.
WORDS, TABLES, JOINTS = "words taken for names", "names of several tables", "pieces beside one another"
OPEN, WAY = "what the words leave open", "tables named and not passed"


@dataclass(frozen=True)
class Reading:
    """One reading.

    Attributes:
        asked: the form.
        built: its SQL.
        cost: how unsure it is.
        unread: content words that it leaves out, and words without which it is never what was asked.
        cover: the spans that it was made of.
        terms: what the cost is the sum of, each with its name.
        left: other words that were read, and that no part of the form stands for.
    """

    asked: Asked
    built: Built
    cost: float
    unread: tuple[str, ...]
    cover: Cover
    terms: tuple[tuple[str, float], ...] = ()
    left: tuple[str, ...] = ()


def readings(question: str, database: Database, now: datetime, most: int = 3) -> list[Reading]:
    """The cheapest readings of a question; empty where it has none."""
    linker = linker_of(database)
    found: dict[Asked, _Settled] = {}
    for cover in covers_of(question, database, now):
        draft = Pieces(cover, database).draft()
        unread, attached = (*cover.skipped, *draft.left), draft.cost
        try:
            asked, cost = settled(draft, linker, now)
        except Unsettled:
            continue
        for meant in each_role(asked, database):
            if meant not in found or found[meant].cost > cover.cost + cost:
                found[meant] = _Settled(cover.cost + cost, unread, cover, attached)
    made: list[Reading] = []
    for asked, so_far in sorted(found.items(), key=lambda item: item[1].cost):
        if (reading := _built(asked, so_far, database)) is not None:
            made.append(reading)
        if len(made) == most + 2:
            break
    return sorted(made, key=lambda r: r.cost)[:most]


def check_said(question: str, database: Database, now: datetime) -> None:
    """Raises Refusal for what no reading would mend: a date that is none, or `amount / quantity`, which as words alone
    would be two numbers side by side."""
    linker = linker_of(database)
    tokens, times = tokens_of(question, now)
    for i, token in enumerate(tokens):
        if token.kind == "date" and not any(t.start <= i < t.end for t in times) and not linker.at((token.stem,)):
            if near := _ENDS.get(token.text[:4]) or _ENDS.get(token.text[-4:]):
                raise Refusal(
                    f"“{token.text}” is at an end of the calendar, where no days are told apart: say “{near}”."
                )
            raise Refusal(f"“{token.text}” is no date of the calendar.")

    def names(word: str) -> bool:
        return any(link.kind in ("rel", "col") for link in linker.at((stem(word.lower()),)))

    for left, sign, right in _ARITHMETIC.findall(question):
        if sign.strip() != sign or (names(left) and names(right)):
            raise Refusal(
                f"“{sign.strip()}” is not read: only “times” joins two columns, as in “total quantity times unit "
                "price”; anything else can be asked with SQL."
            )


def why_unread(question: str, database: Database, now: datetime) -> str | None:
    """Why the cheapest form of a question is not read: it would count rows twice, or SQL cannot say it."""
    for cover in covers_of(question, database, now):
        draft = Pieces(cover, database).draft()
        if cover.skipped or draft.left:
            continue
        try:
            asked = settled(draft, linker_of(database), now)[0]
            if why := why_counted_twice(asked, database):
                return why
            build(asked, database)
        except Refusal as refusal:
            return str(refusal)
        except (Unsettled, KeyError, IndexError):
            continue
    return None


@dataclass(frozen=True)
class _Settled:
    """What became of one cover, before its SQL is built; `attached` is what joining its spans cost."""

    cost: float
    unread: tuple[str, ...]
    cover: Cover
    attached: float


def _built(asked: Asked, so_far: _Settled, database: Database) -> Reading | None:
    """The reading with its SQL; None where no row can meet it, or where SQL cannot say it or would count rows twice."""
    try:
        built = build(asked, database)
    except (Refusal, KeyError, IndexError):
        return None
    asked, built, cost = _through(asked, built, so_far.cost, so_far.cover, database)
    if is_contradiction(asked) or not is_counted_once(asked, database):
        return None
    firm, left = left_out(asked, so_far.cover, database)
    unread = tuple(dict.fromkeys((*so_far.unread, *firm)))
    words = sum(span.cost for span in so_far.cover.spans)
    terms = (
        (WORDS, words),
        (TABLES, so_far.cover.cost - words),
        (JOINTS, so_far.attached),
        (OPEN, so_far.cost - so_far.cover.cost - so_far.attached),
        (WAY, cost - so_far.cost),
    )
    return Reading(asked, built, cost, unread, so_far.cover, terms, left)


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
