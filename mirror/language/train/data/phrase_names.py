"""What the tables and columns of a database are called in made-up questions, and which of them fit a kind of phrase."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from mirror.language.reading.cues import abbreviations, synonyms
from mirror.language.reading.lexemes import stem
from mirror.language.reading.linking import is_flag, name_stems
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column, Database, Relation
from mirror.schema.names import (
    GENERIC,
    dates,
    is_measure,
    is_year,
    label_columns,
    plural,
    singular,
    table_words,
    words_of,
)

_UNITS = {
    "km": "km", "kg": "kg", "min": "minutes", "minute": "minutes", "eur": "euros", "usd": "dollars", "gbp": "pounds",
    "gb": "gb", "m": "metres", "c": "degrees", "pct": "percent", "percent": "percent", "cm": "cm", "g": "grams",
    "ml": "ml", "mm": "mm", "chf": "francs", "kwh": "kwh",
}  # fmt: skip
_VERBS = frozenset(
    ("bought", "sold", "sent", "paid", "left", "born", "made", "begun", "taken", "given", "built", "lost", "held",
     "lent", "drawn", "written", "rung", "found", "won")
)  # fmt: skip
_KEY_ENDS = frozenset(("id", "key", "code", "no", "nr", "number", "num", "uuid"))
_PROSE = frozenset(
    ("email", "mail", "phone", "address", "postcode", "comment", "note", "notes", "remark", "remarks", "description",
     "summary", "message", "review")
)  # fmt: skip

_T = TypeVar("_T")


@cache
def phrases() -> dict[str, Any]:
    """The phrases of `phrases.yaml`, by kind."""
    text = Path(__file__).with_name("phrases.yaml").read_text()
    held: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return held


class Unsayable(ValueError):
    """The schema does not hold what a kind of question needs."""


class Names:
    """Choices at random, and the tables and columns of one database with what they are called."""

    def __init__(self, database: Database, rng: random.Random) -> None:
        self.database, self.rng = database, rng
        self.tables = [r for r in database.relations if r.columns and r.rows != 0]
        self._above = {r.name: self._reached(r.name) for r in database.relations}
        self._stems = {
            ColumnRef(r.name, c.name): frozenset(name_stems(c.name)) for r in database.relations for c in r.columns
        }
        self._known = {s for names in self._stems.values() for s in names}
        self._known |= {s for r in database.relations for s in name_stems(r.name)}
        self._values = Counter(v.lower() for r in database.relations for c in r.columns for v in {*c.values, *c.index})

    # -- choices ---------------------------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """True so often."""
        return self.rng.random() < share

    def pick(self, among: Sequence[_T]) -> _T:
        """One of them. Raises Unsayable where there is none."""
        if not among:
            raise Unsayable
        return among[int(self.rng.random() * len(among))]

    def say(self, key: str, inner: object = None, **slots: object) -> str:
        """A phrase of a kind, filled in."""
        held = phrases()[key]
        template: str = self.pick(held if inner is None else held[inner])
        if str(slots.get("col", "")).endswith("s"):
            template = re.sub(r"\ba \{col\}", "{col}", template)
        return template.format(**slots)

    # -- the schema ------------------------------------------------------------------------------------------------

    def _reached(self, table: str) -> tuple[str, ...]:
        """The tables that a row leads to by foreign keys, in one way each."""
        ways: Counter[str] = Counter()

        def climb(at: str, passed: frozenset[str]) -> None:
            for key in self.database.foreign_keys:
                if key.table == at and key.to not in passed and len(passed) < 4:
                    ways[key.to] += 1
                    climb(key.to, passed | {key.to})

        climb(table, frozenset((table,)))
        return tuple(t for t, count in ways.items() if count == 1)

    def above(self, table: str) -> list[Relation]:
        """The tables that a row of a table leads to."""
        return [self.database.relation(t) for t in self._above[table]]

    def children(self, table: str) -> list[Relation]:
        """The tables whose rows lead straight to those of a table, by one foreign key."""
        links = Counter(k.table for k in self.database.foreign_keys if k.to == table and k.table != table)
        return [r for r in self.tables if links[r.name] == 1 and table in self._above[r.name]]

    def table(self) -> Relation:
        """Any table; those with many columns that matter more often."""
        return self.rng.choices(self.tables, [1 + len(r.columns) for r in self.tables])[0]

    def columns(self, relation: Relation, kind: str) -> list[Column]:
        """Columns that are number, year, date, text, value, flag, label or plain (worth showing)."""
        labels = label_columns(relation)
        of_kind: dict[str, Callable[[Column], bool]] = {
            "number": lambda c: is_measure(self.database, relation, c) and not is_flag(c) and _ranged(c),
            "year": lambda c: is_year(c) and _ranged(c),
            "date": lambda c: c.temporal and isinstance(c.low, str) and c in dates(relation),
            "value": lambda c: (
                bool(c.values) and not is_flag(c) and not c.unique and c.name not in labels and not self._prose(c)
            ),
            "text": lambda c: c.type == "text" and bool(c.values or c.index) and not is_flag(c),
            "flag": is_flag,
            "label": lambda c: c.name in labels,
            "plain": lambda c: (
                c.type != "other" and c.name not in labels and not self._foreign(relation, c) and not is_flag(c)
            ),
        }
        return [c for c in relation.columns if of_kind[kind](c)]

    def _prose(self, column: Column) -> bool:
        return bool(_PROSE & set(words_of(column.name))) or any(len(v) > 40 for v in column.values)

    def _foreign(self, relation: Relation, column: Column) -> bool:
        return any(k.table == relation.name and column.name in k.columns for k in self.database.foreign_keys)

    # -- names -----------------------------------------------------------------------------------------------------

    def one(self, table: str) -> str:
        """What a row is called."""
        words = self._written_out(table_words(table))
        return " ".join((*words[:-1], self._synonym(singular(words[-1])))) if words else table

    def many(self, table: str) -> str:
        """What the rows are called."""
        *first, last = self.one(table).split()
        return " ".join((*first, plural(last)))

    def _written_out(self, words: Iterable[str]) -> list[str]:
        out: list[str] = []
        for word in words:
            out += abbreviations().get(word, word).split() if self.chance(0.85) else [word]
        return out

    def _synonym(self, word: str) -> str:
        """Now and then another word for it, where that one names nothing else here."""
        if word in GENERIC or self.chance(0.93):
            return word
        others = [w for w in sorted(synonyms().get(word, ())) if not {stem(p) for p in w.split()} & self._known]
        return self.pick(others) if others else word

    def ref(self, relation: Relation, column: Column) -> ColumnRef:
        """The column as a place."""
        return ColumnRef(relation.name, column.name)

    def column(self, place: ColumnRef, beside: str = "") -> str:
        """What a column is called, in full or by the part that tells it; `beside` is the table that was named."""
        words = self._own_words(place)
        relation = self.database.relation(place.table)
        unit = ""
        if len(words) > 1 and words[-1] in _UNITS and self.chance(0.7) and self._tells(words[:-1], place):
            unit = f" in {_UNITS[words[-1]]}" if self.chance(0.5) else ""
            words = words[:-1]
        if self._foreign(relation, relation.column(place.column)) and len(words) > 1 and words[-1] in _KEY_ENDS:
            words = words[:-1]
        elif len(words) > 2 and self.chance(0.25) and self._tells(words[1:], place):
            words = words[1:]
        name = self._dated_name(words) if relation.column(place.column).temporal else " ".join(words)
        name = self._synonym(name) if len(words) == 1 else name
        shared = sum(frozenset(map(stem, words)) <= names for names in self._stems.values()) > 1
        if (place.table != beside and (shared or self.chance(0.3))) or (shared and self.chance(0.15)):
            told = self.one(place.table)
            if not set(told.split()) <= set(name.split()):
                name = f"{told} {name}" if self.chance(0.85) else f"{name} of the {told}"
        return name + unit

    def _own_words(self, place: ColumnRef) -> list[str]:
        words, of_table = list(words_of(place.column)), list(words_of(place.table))
        short = [singular(w) for w in of_table]
        if len(words) > len(of_table) and [singular(w) for w in words[: len(short)]] == short and self.chance(0.7):
            words = words[len(of_table) :]
        return self._written_out(words) or [place.column]

    def _tells(self, words: Sequence[str], place: ColumnRef) -> bool:
        """Whether the words are in the name of no other column of the table."""
        wanted = {s for word in words for s in name_stems(word)}
        weak = wanted <= {"number", "date", "name", "type", "time", "on", "at", "in", "of", "per", "id", "code"}
        return not weak and not any(
            p.table == place.table and p != place and wanted <= names for p, names in self._stems.items()
        )

    def _dated_name(self, words: list[str]) -> str:
        if len(words) > 1 and words[-1] in ("on", "at"):
            start = " ".join(map(singular, words[:-1]))
            return self.pick(
                (f"{start} date", f"{start} {words[-1]}", f"date {start}", f"{start} time"[: len(start) + 5])
            )
        return (
            " ".join(words) if {"date", "day", "time"} & set(words) or self.chance(0.6) else " ".join((*words, "date"))
        )

    def verb(self, column: Column) -> str:
        """`closed` of `closedAt`; empty where the name is no such verb."""
        words = words_of(column.name)
        if words and words[-1] in ("on", "at", "date", "ts") and len(words) == 2:
            words = words[:1]
        verb = words[0] if len(words) == 1 else ""
        return verb if verb in _VERBS or (verb.endswith("ed") and len(verb) > 4) else ""


def _ranged(column: Column) -> bool:
    numbers = isinstance(column.low, int | float) and isinstance(column.high, int | float)
    return numbers and column.low < column.high  # type: ignore[operator]
