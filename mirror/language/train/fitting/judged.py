"""What the readers make of questions: each candidate with what speaks for it and whether its rows are right."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mirror.language.ranking.candidate import Rows, RowsOf
from mirror.language.ranking.candidates import weighed
from mirror.language.train.data.example import NOW
from mirror.language.train.data.phrases import generate
from mirror.language.train.data.wordings import not_here, opened, wordings
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.form import Asked
from mirror.schema.database import Database
from mirror.table.alike import holds

NOT_HERE, BY_RULES = "not here", "by rules"


@dataclass(frozen=True)
class Judged:
    """One question.

    Attributes:
        database, voice, text: whose it is and what it says; NOT_HERE cannot be answered, BY_RULES was made by rules.
        features: of each candidate.
        right: whether each has the rows of the query that was worded.
        sealed: whether nobody may read the text.
    """

    database: str
    voice: str
    text: str
    features: tuple[Mapping[str, float], ...]
    right: tuple[bool, ...]
    sealed: bool = False


def judged(name: str, sealed: bool = False, by_rules: int = 0) -> Iterator[Judged]:
    """The questions over one database, read and judged, and so many made by rules."""
    with opened(name) as (database, run):

        def rows_of(built: Built) -> Rows | None:
            return run(built.sql)

        for voice, text, asked in _questions(name, database, sealed, by_rules):
            right = _rows(asked, database, rows_of) if asked else None
            if asked and right is None:
                continue
            found = weighed(text, database, NOW, rows_of)
            rows = [rows_of(c.built) for c in found] if asked else []
            hits = tuple(r is not None and right is not None and holds(r, right) for r in rows) or (False,) * len(found)
            yield Judged(name, voice, text, tuple(c.features for c in found), hits, sealed)


def _rows(asked: Asked, database: Database, rows_of: RowsOf) -> Rows | None:
    try:
        return rows_of(build(asked, database))
    except Refusal:
        return None


def _questions(name: str, database: Database, sealed: bool, by_rules: int) -> Iterator[tuple[str, str, Asked | None]]:
    """Voice, text and what is asked for; None where the data cannot answer it."""
    for wording in wordings(name, sealed):
        yield wording.voice, wording.text, wording.asked
    for text in not_here(name, sealed):
        yield NOT_HERE, text, None
    for text, asked in generate(database, random.Random(name), by_rules):
        yield BY_RULES, text, asked
