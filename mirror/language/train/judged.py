"""What the readers make of the wordings: each candidate with what speaks for it and whether its rows are right."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from mirror.data.data_source import QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.language.ranking.candidate import Rows
from mirror.language.ranking.candidates import weighed
from mirror.language.train.wordings import not_here, opened, wordings
from mirror.query.other_data.build import Built, build
from mirror.table.alike import holds
from mirror.table.table import Table

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
    with opened(name) as source:
        database = source.schema()
        tables: dict[str, Table | None] = {}

        def table_of(built: Built) -> Table | None:
            if built.sql not in tables:
                try:
                    tables[built.sql] = source.counted(built.sql)[0]
                except (GuardError, QueryError, QueryStopped):
                    tables[built.sql] = None
            return tables[built.sql]

        def rows_of(built: Built) -> Rows | None:
            table = table_of(built)
            return None if table is None else table.rows

        for wording in wordings(name, sealed):
            right = table_of(build(wording.asked, database))
            if right is None:
                continue
            found = weighed(wording.text, database, NOW, rows_of)
            tables_found = [table_of(c.built) for c in found]
            hits = tuple(t is not None and holds(t.rows, right.rows) for t in tables_found)
            yield Judged(name, wording.voice, wording.text, tuple(c.features for c in found), hits, sealed)
        for text in not_here(name, sealed):
            found = weighed(text, database, NOW, rows_of)
            yield Judged(name, "not here", text, tuple(c.features for c in found), (False,) * len(found), sealed)
