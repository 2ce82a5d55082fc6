"""The readings of both readers as one list, the likeliest first."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mirror.language.neural.items import items_of
from mirror.language.neural.other_data_reader import SecondReading, other_data_readings
from mirror.language.ranking.candidate import Candidate, NotRun, RowsOf
from mirror.language.ranking.evidence import with_evidence
from mirror.language.ranking.ranker import trained
from mirror.language.reading.covers import covers_of
from mirror.language.reading.reading import Reading, readings
from mirror.schema.database import Database

MOST = 4  # readings of each reader
_COMPARED = 3  # of each reader, whose rows are looked at


def candidates(question: str, database: Database, now: datetime, rows_of: RowsOf) -> list[Candidate]:
    """The readings of a question, the likeliest first; none where nobody reads it.

    Args:
        question: as typed.
        database: what it is about.
        now: the present, for `last month`.
        rows_of: runs a statement; readings with the same rows support each other.
    """
    found = weighed(question, database, now, rows_of)
    told = trained().chances([c.features for c in found])
    return sorted((replace(c, chance=p) for c, p in zip(found, told, strict=True)), key=lambda c: -c.chance)


def weighed(question: str, database: Database, now: datetime, rows_of: RowsOf) -> list[Candidate]:
    """The readings with what speaks for them, those of the first reader first."""
    first, second = readings(question, database, now, MOST), other_data_readings(question, database, now, MOST)
    compared = {*(r.built.sql for r in first[:_COMPARED]), *(r.built.sql for r in second[:_COMPARED])}
    found = [_compared(c, rows_of) if c.built.sql in compared else c for c in _together(first, second)]
    return with_evidence(found, items_of(question, database, now), covers_of(question, database, now), database)


def _compared(candidate: Candidate, rows_of: RowsOf) -> Candidate:
    try:
        return replace(candidate, compared=True, rows=rows_of(candidate.built))
    except NotRun:
        return candidate


def _together(first: Sequence[Reading], second: Sequence[SecondReading]) -> list[Candidate]:
    """One for each statement: forms may say the same in two ways."""
    found: dict[str, Candidate] = {}
    for reading in first:
        found.setdefault(reading.built.sql, Candidate(reading.asked, reading.built, first=reading))
    for other in second:
        known = found.get(other.built.sql, Candidate(other.asked, other.built))
        if known.second is None:
            found[other.built.sql] = replace(known, second=other)
    return list(found.values())
