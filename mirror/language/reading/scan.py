"""A walk over the spans of one cover: where it is, what was said and waits for what it is of, and what is taken."""

from mirror.language.reading.covers import Cover, Span
from mirror.language.reading.query_draft import Belonging, Draft, Limit, Target
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column, Database

NOTHING = Span(-1, -1, "end", 0.0)
_SILENT = ("filler", "skipped")


class Scan:
    """The spans of a cover from left to right, and the draft that is made of them."""

    def __init__(self, cover: Cover, database: Database) -> None:
        self._spans = [s for s in cover.spans if s.kind not in _SILENT]
        self._database = database
        self._at = 0
        self._draft = Draft()
        self._aggregate: Span | None = None
        self._by = False
        self._per = False
        self._series: list[str] = []  # aggregates of one column: lowest and highest
        self._neg = False
        self._every = False
        self._which = False
        self._last: Target | None = None  # what was named last, for a comparison behind it
        self._limit: Limit | None = None
        self._inside: Belonging | None = None
        self._number: int | None = None  # of a superlative that comes later

    def _peek(self, ahead: int = 0, over: tuple[str, ...] = ("of", "than")) -> Span:
        """The next span that is no preposition."""
        seen = -1
        for span in self._spans[self._at :]:
            if span.kind not in over:
                seen += 1
                if seen == ahead:
                    return span
        return NOTHING

    def _skip_to(self, span: Span) -> None:
        """Take all up to a span, and it."""
        while self._spans[self._at] is not span:
            self._at += 1
        self._at += 1

    def _leave(self, span: Span) -> None:
        if span.kind not in ("of", "than", "comma", "end"):
            self._draft.left.append(span.text)
            self._draft.cost += 0.6

    def _column(self, place: ColumnRef) -> Column:
        return self._database.relation(place.table).column(place.column)

    def _take_aggregate(self) -> str | None:
        span, self._aggregate = self._aggregate, None
        return span.meaning if span else None

    def _take_neg(self) -> bool:
        negated, self._neg = self._neg, False
        return negated

    def _names_rows(self, table: str) -> bool:
        """Whether a table was named last, and no column of it."""
        return self._last is not None and self._last.table == table and self._last.place is None

    def _in_series(self, span: Span) -> bool:
        """`lowest, average and highest` before a column are numbers of it, and no ranking."""
        found, at = [span], self._at
        while at < len(self._spans) and self._spans[at].kind in ("comma", "and"):
            at += 1
            if at < len(self._spans) and self._spans[at].kind in ("sup", "adj", "agg"):
                found.append(self._spans[at])
                at += 1
        meant = [s.meaning for s in found]
        ends = at < len(self._spans) and self._spans[at].kind in ("col", "measure")
        if len(found) < 2 or not ends or not set(meant) <= {"min", "max", "avg", "sum", "median", "stddev"}:
            return False
        self._series, self._aggregate, self._at = meant, span, at
        return True
