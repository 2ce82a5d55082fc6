"""Work that no ingredient changes, done once for all: the network's pass over an input, the rows of a statement.

A network gives the same lines for the same items, a statement the same rows of the same data. What is kept is what the
original gave, so answers are what they are without it, and only times are not.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from mirror.data.process.other_data_process import OtherDataSource
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.ablations.swapped import Swap
from mirror.language.neural import likeness
from mirror.language.neural.items import Items
from mirror.language.neural.network import Line, Network
from mirror.query.other_data import build as building
from mirror.query.other_data.form import Asked
from mirror.schema.database import Database

_MOST_ROWS = 100  # of a table that is kept


def remembering() -> list[Swap]:
    """What keeps the network's lines, statements, and rows of all data that are asked, which must not change."""
    return [
        Swap(Network, "lines", _lines),
        Swap(building, "build", _statements),
        Swap(OtherDataSource, "counted", _rows_of_other_data),
        Swap(OtherDataSource, "schema", _schemas),
        Swap(Sandbox, "run", _rows_of_results),
        Swap(Sandbox, "schema", _schemas),
    ]


def _lines(original: Callable[..., list[Line]]) -> Callable[..., list[Line]]:
    known: dict[tuple[object, ...], list[Line]] = {}

    def lines(self: Network, items: Items, *beam: int) -> list[Line]:
        at = (self, likeness.vectors_of, beam, _digest(items))
        if at not in known:
            known[at] = original(self, items, *beam)
        return known[at]

    return lines


def _digest(items: Items) -> bytes:
    """Of all that the network and the grammar of its language see of a question."""
    told = repr((items.tokens, items.tables, items.columns, items.literals, items.words)).encode()
    arrays = (items.kinds, items.features, items.relations)
    return hashlib.sha256(told + b"".join(repr(a.shape).encode() + a.tobytes() for a in arrays)).digest()


def _statements(original: Callable[[Asked, Database], Any]) -> Callable[[Asked, Database], Any]:
    known: dict[tuple[str, int], Any] = {}  # by text: True and 1 are equal, their statements are not
    held: dict[int, Database] = {}  # so that no other database gets the number of one that is gone

    def build(asked: Asked, database: Database) -> Any:
        at = (repr(asked), id(held.setdefault(id(database), database)))
        if at not in known:
            known[at] = original(asked, database)
        return known[at]

    return build


def _rows_of_other_data(original: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[object, ...], Any] = {}

    def counted(self: OtherDataSource, sql: str, *limits: Any, **named: Any) -> Any:
        # Whatever time it may take, what came within it is all there is.
        at = (self, sql, limits[:1], named.get("row_cap"))
        if at in known:
            return known[at]
        found = original(self, sql, *limits, **named)
        if len(found[0].rows) <= _MOST_ROWS:
            known[at] = found
        return found

    return counted


def _rows_of_results(original: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[object, ...], Any] = {}

    def run(self: Sandbox, sql: str, *limits: Any, **named: Any) -> Any:
        at = (self, sql, limits[:1], named.get("row_cap"))
        if at in known:
            return known[at]
        found = original(self, sql, *limits, **named)
        if len(found.rows) <= _MOST_ROWS:
            known[at] = found
        return found

    return run


def _schemas(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    known: dict[object, Any] = {}

    def schema(self: object) -> Any:
        if self not in known:
            known[self] = original(self)
        return known[self]

    return schema
