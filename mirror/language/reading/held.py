"""What a question says and its form does not hold: a word that was read, and that no part of the query stands for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from mirror.language.reading.covers import Cover, Span
from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, Mean, Predicate
from mirror.schema.database import Database, ForeignKey

Part = TypeVar("Part")

_EACH = ("each", "every")
_FIRM = ("neg", "every", "both", "num", "text", "or")
_COMPARING = ("<", "<=", ">", ">=", "=", "<>")


def left_out(asked: Asked, cover: Cover, database: Database) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a cover, in their order, that its form does not hold: those without which it is never what was
    asked (a negation, a quantifier, a number, a quoted text), and others."""
    form = _Held(asked, database)
    spans = [span for span in cover.spans if not form.holds(span, cover)]
    firm = dict.fromkeys(s.text for s in spans if s.kind in _FIRM or s.text == "only")
    return tuple(firm), tuple(dict.fromkeys(s.text for s in spans if s.text not in firm))


def is_contradiction(asked: Asked) -> bool:
    """Whether no row can meet the conditions (in 2024, and in 2025), or time is counted from a date to itself."""
    if any(part.until in part.factors for m in asked.measures for part in m.parts):
        return True
    scopes = [asked.conditions, *(p.conditions for p in asked.presences)]
    scopes += [(*asked.conditions, *part.conditions) for m in asked.measures for part in m.parts]
    return any(_is_empty(scope) for scope in scopes)


def _is_empty(conditions: tuple[Predicate, ...]) -> bool:
    """Whether some column would have to lie above its upper end."""
    for place in {(c.place, c.bucket) for c in conditions}:
        among = [c for c in conditions if (c.place, c.bucket) == place and len(c.plain) == 1]
        texts = [(c.operator, c.plain[0]) for c in among if isinstance(c.plain[0], str)]
        numbers = [(c.operator, float(c.plain[0])) for c in among if not isinstance(c.plain[0], str)]
        if _clash(texts) or _clash(numbers):
            return True
    return False


def _clash(limits: Sequence[tuple[str, Any]]) -> bool:
    low = max((value for operator, value in limits if operator in (">", ">=")), default=None)
    high = min((value for operator, value in limits if operator in ("<", "<=")), default=None)
    if low is None or high is None or low < high:
        return False
    return not (low == high and (">=", low) in limits and ("<=", high) in limits)


class _Held:
    """The parts of one form."""

    def __init__(self, asked: Asked, database: Database) -> None:
        self._asked, self._database = asked, database
        self._measures = [part for m in asked.measures for part in m.parts]
        self._predicates = list(parts_of(asked, Predicate))
        self._places = {(p.table, p.column) for p in parts_of(asked, ColumnRef)}
        self._means = list(parts_of(asked, Mean))
        self._values = [v for p in self._predicates for v in p.plain]
        self._rows_of = {g.table for g in asked.groups if g.place is None} | {m.table for m in self._measures}
        self._aggregates: set[str | None] = {asked.outer, *(m.aggregate for m in self._measures)}

    def holds(self, span: Span, cover: Cover) -> bool:
        """Whether a part of the form stands for a span; whatever needs no part of its own is held."""
        test: Callable[[Span], bool] | None = getattr(self, f"_on_{span.kind}", None)
        if span.text == "only" and span.kind in ("every", "filler"):
            return self._on_only()
        following = next((s for s in cover.spans if s.start >= span.end and s.kind != "filler"), None)
        if span.kind == "by" and following is not None and following.kind in ("val", "flag", "time"):
            return True  # "by phone"
        if span.kind == "by" and self._asked.order and any(word in span.text.split() for word in _EACH):
            return self._asked.per > 0
        return test is None or test(span)

    # -- names and values ------------------------------------------------------------------------------------------

    def _on_col(self, span: Span) -> bool:
        assert span.link is not None
        place = span.link.place
        if (place.table, place.column) in self._places:
            return True
        column = self._database.relation(place.table).column(place.column)
        keys = {c for k in self._database.foreign_keys if k.table == place.table for c in k.columns}
        if column.temporal and place.table in {p.table for p in self._asked.presences}:
            return True  # "never bought anything"
        named = column.type == "text" or column.temporal or column.unique or place.column in keys
        return named and place.table in self._rows_of | ({self._asked.table} if not self._asked.measures else set())

    def _on_val(self, span: Span) -> bool:
        assert span.link is not None
        return any(_same(p.place, span.link.place) and span.link.value in p.plain for p in self._predicates)

    def _on_flag(self, span: Span) -> bool:
        assert span.link is not None
        return any(_same(p.place, span.link.place) for p in self._predicates)

    def _on_text(self, span: Span) -> bool:
        return span.value in self._values

    def _on_num(self, span: Span) -> bool:
        asked = self._asked
        known = [*self._values, asked.limit, asked.offset + 1, asked.per]
        known += [h.value for h in asked.having] + [p.count[1] for p in asked.presences if p.count]
        return span.value in known or self._is_of_years()

    def _on_time(self, span: Span) -> bool:
        years = getattr(span.value, "years", ())
        moments = [getattr(span.value, end, None) for end in ("start", "end")]
        wanted = [m.date().isoformat() for m in moments if m is not None]
        return any(str(v)[:10] in wanted or v in years for v in self._values)

    # -- cues ------------------------------------------------------------------------------------------------------

    def _on_by(self, _: Span) -> bool:
        within = any(m.within for m in self._means)
        return bool(self._asked.groups or self._asked.order or within or any(m.over for m in self._measures))

    def _on_bucket(self, span: Span) -> bool:
        buckets = {g.bucket for g in self._asked.groups} | {p.bucket for p in self._predicates}
        return span.meaning in buckets or any(m.until for m in self._measures) or self._is_of_years()

    def _is_of_years(self) -> bool:
        """Whether a date is compared, which `older than 3 years` becomes."""
        return any(isinstance(v, str) and v[:4].isdigit() for v in self._values)

    def _on_agg(self, span: Span) -> bool:
        if span.meaning in ("avg", "median", "stddev"):
            return span.meaning in self._aggregates or bool(self._means)
        return bool(self._measures or self._asked.groups or self._asked.presences)

    def _on_sup(self, _: Span) -> bool:
        return self._asked.order is not None or any(m.minus for m in self._measures)

    def _on_adj(self, span: Span) -> bool:
        return self._on_sup(span) or bool(self._predicates)

    def _on_sort(self, _: Span) -> bool:
        return self._asked.order is not None

    def _on_cmp(self, _: Span) -> bool:
        counted = any(p.count for p in self._asked.presences)
        compared = any(p.operator in (*_COMPARING, "in") for p in self._predicates)
        return bool(self._asked.having or counted or compared or any(m.minus or m.until for m in self._measures))

    def _on_mean(self, _: Span) -> bool:
        return bool(self._means) or any(h.value is None for h in self._asked.having)

    def _on_times(self, _: Span) -> bool:
        return any(len(m.factors) > 1 for m in self._measures)

    def _on_share(self, _: Span) -> bool:
        return self._asked.of_total or any(m.over for m in self._measures) or self._is_gap()

    def _on_ratio(self, _: Span) -> bool:
        return any(m.over for m in self._measures)

    def _on_gap(self, _: Span) -> bool:
        return self._is_gap()

    def _is_gap(self) -> bool:
        return any(m.minus or m.over for m in self._asked.measures)

    def _on_elapsed(self, _: Span) -> bool:
        return any(m.until for m in self._measures)

    def _on_empty(self, _: Span) -> bool:
        return any(p.operator in ("is null", "is not null") for p in self._predicates)

    def _on_still(self, span: Span) -> bool:
        return self._on_empty(span) or bool(self._values)

    def _on_neg(self, _: Span) -> bool:
        absent = any(p.absent or (p.count and p.count[0] in ("<", "<=", "=")) for p in self._asked.presences)
        turned = ("<>", "not in", "<", "<=", ">=", "is null", "is not null", "=")
        return absent or any(p.operator in turned for p in self._predicates) or bool(self._asked.having)

    def _on_or(self, _: Span) -> bool:
        return any(len(p.plain) > 1 for p in self._predicates)

    def _on_every(self, _: Span) -> bool:
        return any(p.every for p in self._asked.presences)

    def _on_both(self, _: Span) -> bool:
        return len(self._asked.presences) > 1 or len(self._asked.measures) > 1 or len(self._asked.columns) > 1

    def _on_only(self) -> bool:
        """`only` adds nothing to a condition on the rows themselves; of rows that belong to them it means all."""
        asked = self._asked
        base = asked.measures[0].table if asked.measures else asked.table
        ways = [paths.shortest(self._database, base, c.place.table, c.place.role, asked.via) for c in asked.conditions]
        below = any(way and paths.multiplies(way[0]) for way in ways)
        return not below and all(p.every or p.absent for p in asked.presences)

    def _on_chart(self, span: Span) -> bool:
        return self._asked.chart.type == span.meaning


def _same(one: ColumnRef, other: ColumnRef) -> bool:
    return (one.table, one.column) == (other.table, other.column)


def parts_of(held: object, kind: type[Part]) -> Iterator[Part]:
    """All parts of a form that are of a kind, wherever in it."""
    if isinstance(held, kind):
        yield held
    if isinstance(held, tuple):
        for part in held:
            yield from parts_of(part, kind)
    elif is_dataclass(held) and not isinstance(held, ForeignKey | type):
        for part in fields(held):
            yield from parts_of(getattr(held, part.name), kind)
