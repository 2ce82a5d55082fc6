"""What speaks for a reading and against it, as numbers that the ranker weighs."""

import math
from collections.abc import Sequence
from dataclasses import replace

from mirror.language.neural.items import RELATIONS, Items
from mirror.language.neural.likeness import likeness
from mirror.language.ranking.candidate import Candidate, Rows
from mirror.language.reading.covers import Cover
from mirror.language.reading.held import left_out, parts_of
from mirror.query.other_data.form import Asked, ColumnRef, Predicate
from mirror.schema.database import Database
from mirror.schema.names import label_columns

# Where a reader does not read so, its numbers are those of a reading that it would hardly give.
_NO_COST, _NO_SCORE = 4.0, -8.0
_MANY = 200  # rows
_SUPPORTED = 0.3
# How well a word that names a column supports it.
_NAMED = {RELATIONS.index("names"): 1.0, RELATIONS.index("part of"): 0.7, RELATIONS.index("like"): 0.4}


def with_evidence(
    found: Sequence[Candidate], items: Items, covers: Sequence[Cover], database: Database
) -> list[Candidate]:
    """The candidates of a question, each with its features.

    Args:
        found: the candidates, with the rows of those that were run.
        items: the question as the network sees it.
        covers: ways to read its words, the cheapest first.
        database: what it is about.
    """
    least = min((c.first.cost for c in found if c.first), default=None)
    most = max((c.second.score for c in found if c.second), default=None)
    keys = [_key(c.rows) for c in found]
    alike = [
        [other for other, rows in zip(found, keys, strict=True) if other is one or (key and rows == key)]
        for one, key in zip(found, keys, strict=True)
    ]
    support = _Support(items, database)
    told = []
    for candidate, same in zip(found, alike, strict=True):
        firm, left = left_out(candidate.asked, covers[0], database) if covers else ((), ())
        features = {
            **_first(candidate, least, [c.first.cost for c in same if c.first]),
            **_second(candidate, most, [c.second.score for c in same if c.second]),
            **_agreement(candidate, same, least, most),
            **_rows(candidate),
            "left firm": min(len(firm), 4),
            "left": min(len(left), 4),
            "skipped": min(len(covers[0].skipped), 4) if covers else 4,
            "cover": min(covers[0].cost, 6.0) if covers else 6.0,
            "words": min(len(items.tokens), 40) / 10,
            **support.of(candidate.asked),
            **_shape(candidate),
        }
        numbers = {name: float(value) for name, value in features.items()}
        told.append(replace(candidate, features=numbers, left=(*firm, *left)))
    return told


def _key(rows: Rows | None) -> tuple[tuple[str, ...], ...] | None:
    """Rows in any order."""
    return None if rows is None else tuple(sorted(tuple(map(repr, row)) for row in rows))


def _first(one: Candidate, least: float | None, alike: Sequence[float]) -> dict[str, float]:
    """What the reader with the words says; `least` is the cost of its best reading."""
    reading = one.first
    cost = min(reading.cost, _NO_COST) if reading else _NO_COST
    return {
        "first": reading is not None,
        "first reads": least is not None,
        "cost": cost,
        "cost behind": min(cost - least, 2.0) if reading and least is not None else 2.0,
        "least cost alike": min([*alike, _NO_COST]),
        "unread": min(len(reading.unread), 4) if reading else 0,
        "unheld": min(len(reading.left), 4) if reading else 0,
    }


def _second(one: Candidate, most: float | None, alike: Sequence[float]) -> dict[str, float]:
    """What the network says; `most` is the score of its best reading."""
    reading = one.second
    score = max(reading.score, _NO_SCORE) if reading else _NO_SCORE
    return {
        "second": reading is not None,
        "second reads": most is not None,
        "score": score,
        "chance": math.exp(score),
        "score behind": min(most - score, 4.0) if reading and most is not None else 4.0,
        "chance of these rows": sum(map(math.exp, alike)),
        "best score alike": max([*alike, _NO_SCORE]),
        "missed": min(len(reading.unread), 4) if reading else 0,
    }


def _agreement(one: Candidate, same: Sequence[Candidate], least: float | None, most: float | None) -> dict[str, float]:
    """Whether both readers come to these rows, and whether with their best readings."""
    by_first, by_second = [c.first for c in same if c.first], [c.second for c in same if c.second]
    best_first = any(r.cost == least for r in by_first)
    best_second = any(r.score == most for r in by_second)
    return {
        "same form": one.first is not None and one.second is not None,
        "both": bool(by_first and by_second),
        "best of first": best_first,
        "best of second": best_second,
        "best of both": best_first and best_second,
    }


def _rows(one: Candidate) -> dict[str, float]:
    rows = one.rows
    return {
        "not run": not one.compared,
        "failed": one.compared and rows is None,
        "empty": one.empty,
        "one row": rows is not None and len(rows) == 1,
        "many rows": rows is not None and len(rows) > _MANY,
    }


class _Support:
    """How well the words of a question support the columns that a form shows, measures or groups by."""

    def __init__(self, items: Items, database: Database) -> None:
        self._items, self._count = items, len(items.tokens)
        # What its rows are called stands for a table.
        self._labels = {(r.name, c) for r in database.relations for c in (*label_columns(r), *r.key)}
        self._alike = likeness(items.words, self._count)[1][: self._count]

    def of(self, asked: Asked) -> dict[str, float]:
        valued = [p.place for p in parts_of(asked, Predicate) if p.operator in ("=", "<>", "in", "not in")]
        places = {(p.table, p.column) for p in parts_of(asked, ColumnRef)} - {(p.table, p.column) for p in valued}
        places -= self._labels
        levels = [self._level(place) for place in places]
        return {
            "unsupported": min(sum(level < _SUPPORTED for level in levels), 4),
            "least support": min(levels, default=1.0),
            "support": sum(levels) / len(levels) if levels else 1.0,
        }

    def _level(self, place: tuple[str, str]) -> float:
        if place not in self._items.columns:
            return 0.0
        at = self._items.first_column + self._items.columns.index(place)
        named = max((_NAMED.get(int(r), 0.0) for r in self._items.relations[: self._count, at]), default=0.0)
        return max(named, float(self._alike[:, at].max(initial=0.0)))


def _shape(one: Candidate) -> dict[str, float]:
    asked = one.asked
    parts = [part for measure in asked.measures for part in measure.parts]
    return {
        "tables": min(len(one.built.tables), 5),
        "measures": min(len(asked.measures), 3),
        "groups": len(asked.groups),
        "shown": min(len(asked.columns), 4),
        "conditions": min(len(list(parts_of(asked, Predicate))), 5),
        "presences": len(asked.presences),
        "having": len(asked.having),
        "ordered": asked.order is not None,
        "limited": asked.limit is not None,
        "of two numbers": sum(1 for m in asked.measures for other in (m.over, m.minus) if other),
        "counted if": sum(bool(m.conditions) for m in parts),
        "products": sum(len(m.factors) > 1 for m in parts),
        "spans of time": sum(m.until is not None for m in parts),
        "of groups": asked.of_total or asked.count_groups or asked.outer is not None,
    }
