"""What the readers make of the wordings: each candidate with what speaks for it and whether its rows are right."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from mirror.language.ranking.candidate import Rows
from mirror.language.ranking.candidates import weighed
from mirror.language.train.wordings import not_here, opened, wordings
from mirror.query.other_data.build import Built, build
from mirror.table.alike import holds

NOW = datetime(2026, 11, 18, 12)  # the present of all wordings


@dataclass(frozen=True)
class Judged:
    """One question.

    Attributes:
        database, voice, text: whose it is and what it says; the voice `not here` cannot be answered.
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


def judged(name: str, sealed: bool = False) -> Iterator[Judged]:
    """The questions over one database, read and judged."""
    with opened(name) as (database, run):

        def rows_of(built: Built) -> Rows | None:
            return run(built.sql)

        for wording in wordings(name, sealed):
            right = rows_of(build(wording.asked, database))
            if right is None:
                continue
            found = weighed(wording.text, database, NOW, rows_of)
            rows = [rows_of(c.built) for c in found]
            hits = tuple(r is not None and holds(r, right) for r in rows)
            yield Judged(name, wording.voice, wording.text, tuple(c.features for c in found), hits, sealed)
        for text in not_here(name, sealed):
            found = weighed(text, database, NOW, rows_of)
            yield Judged(name, "not here", text, tuple(c.features for c in found), (False,) * len(found), sealed)
