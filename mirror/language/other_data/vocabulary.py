"""The words of one database: its tables, columns and values, beside the cues that every question uses."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from mirror.language.other_data import comments
from mirror.language.other_data.spans import MARK
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Database, ForeignKey
from mirror.schema.names import column_words, foreign_key_roles, qualified, singular, table_words, words_of
from mirror.table.values import Value
from mirror.words import phrasebook
from mirror.words.tokens import tokens

Kind = Literal["cue", "table", "column", "value", "number", "span", "quoted", "filler", "unknown"]
T = TypeVar("T")

QUOTED = "quotedtext"
_READ_IN = "other data"
# What every shop has, under a column of any name.
MONEY = frozenset(phrasebook.phrases("names", "money")["asked"])

_FILLERS = phrasebook.words("fillers", phrasebook.EVERYWHERE, _READ_IN)
_NUMBER = re.compile(r"(?P<number>\d+(?:,\d+)+(?:\.\d+)?|\d*\.?\d+(?:e[+-]?\d+)?)(?P<unit>[a-zµ%/]+)?")
_SCALES = {"": 1.0} | {word.lower(): n for word, n in phrasebook.numbers("units", "scale").items()}


@dataclass(frozen=True)
class Item:
    """One phrase of the question.

    Attributes:
        kind: what it is; `span` is a time, `quoted` a text in quotation marks.
        text: as written, in lower case.
        start, end: its words, as places in the list of all words.
        cue: name of the cue; also of a column or value whose word is a cue as well.
        tables: the tables it may mean.
        role: the foreign key by which a table is meant: the manager, not any of the staff.
        places: the columns it may mean.
        factors: the columns that those are multiplied by, where a comment says so.
        values: (column, value) pairs it may mean.
        value: a number, a quoted text, or the place of a span in the list of spans.
    """

    kind: Kind
    text: str
    start: int = 0
    end: int = 0
    cue: str = ""
    tables: tuple[str, ...] = ()
    role: ForeignKey | None = None
    places: tuple[ColumnRef, ...] = ()
    factors: tuple[ColumnRef, ...] = ()
    values: tuple[tuple[ColumnRef, str], ...] = ()
    value: Value | None = None

    def is_cue(self, *names: str) -> bool:
        """Whether it is one of these cues."""
        return self.kind == "cue" and self.cue in names


class Words:
    """Phrases -> items for one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._cues: dict[tuple[str, ...], str] = {}
        self._tables: dict[tuple[str, ...], list[str]] = {}
        self._roles: dict[tuple[str, ...], list[ForeignKey]] = {}
        self._places: dict[tuple[str, ...], list[ColumnRef]] = {}
        self._values: dict[tuple[str, ...], list[tuple[ColumnRef, str]]] = {}
        self._of_comments = comments.words(database)
        for cue, phrases in phrasebook.cues(_READ_IN).items():
            for phrase in phrases:
                self._cues[tuple(tokens(phrase))] = cue
        self._add_schema()
        for words, cue in list(self._cues.items()):
            if cue == "sort" and _folded(words[:1]) in self._tables:  # "amount per order by month" sorts nothing
                del self._cues[words]
        named = [*self._tables, *self._roles, *self._places]
        self._longest = max(map(len, [*named, *self._cues, *self._values]))
        cues = [words for words, cue in self._cues.items() if not cue.startswith(("chart:", "log"))]
        self._correctable = sorted({w for words in [*named, *cues] for w in words if len(w) >= 4 and w.isalpha()})

    def _add_schema(self) -> None:
        roles = foreign_key_roles(self.database)
        for link, role in roles:
            _add(self._roles, role, link)
        for relation in self.database.relations:
            for words in {table_words(relation.name), words_of(relation.name)}:
                _add(self._tables, words, relation.name)
            for column in relation.columns:
                if column.type == "other":
                    continue
                place = ColumnRef(relation.name, column.name)
                names = {column_words(column.name), qualified(relation.name, column.name)}
                if column.type == "boolean" and len(words_of(column.name)) > 1:
                    names.add(" ".join(w for w in words_of(column.name) if w not in ("is", "has", "was")))
                for name in names:
                    _add(self._places, tuple(name.split()), place)
                for value in column.values:
                    _add(self._values, tuple(tokens(value)), (place, value))
                for link, role in roles:
                    if link.to == relation.name:
                        named = replace(place, role=link)
                        _add(self._places, (*role, *words_of(column.name)), named)
                        _add(self._places, (*role, *qualified(relation.name, column.name).split()), named)

    def names(self) -> set[str]:
        """All words of tables, columns and values, in the singular."""
        return {word for known in (self._tables, self._places, self._values) for words in known for word in words}

    def items(self, text: str) -> tuple[list[Item], list[str], list[str]]:
        """Cut the text into items, longest phrase first. Returns them, all words, and a note for each typo."""
        words = tokens(text)
        found: list[Item] = []
        notes: list[str] = []
        i = 0
        while i < len(words):
            item = self._at(words, i)
            if item.kind == "unknown" and (corrected := self._correct(words[i])):
                meant = [*words[:i], corrected, *words[i + 1 :]]
                if (likely := self._at(meant, i)).kind != "unknown":
                    notes.append(f"read “{words[i]}” as “{corrected}”")
                    words, item = meant, likely
            found.append(item)
            i = item.end
        return found, words, notes

    def _at(self, words: list[str], start: int) -> Item:
        word = words[start]
        one = {"text": word, "start": start, "end": start + 1}
        if word.startswith(MARK) and word[len(MARK) :].isdigit():
            return Item("span", **one, value=int(word[len(MARK) :]))  # type: ignore[arg-type]
        if word.startswith(QUOTED) and word[len(QUOTED) :].isdigit():
            return Item("quoted", **one, value=int(word[len(QUOTED) :]))  # type: ignore[arg-type]
        longest = min(self._longest, len(words) - start)
        for length in range(longest, 0, -1):
            if item := self._phrase(words, start, length):
                return item
        if word in _FILLERS:
            return Item("filler", **one)  # type: ignore[arg-type]
        if meaning := self._of_comments.get(singular(word)):
            places, factors = meaning
            return Item("column", **one, places=places, factors=factors)  # type: ignore[arg-type]
        return _number(words, start) or Item("unknown", **one)  # type: ignore[arg-type]

    def _phrase(self, words: list[str], start: int, length: int) -> Item | None:
        """What a phrase means; names of the database come before cues, and cues before values."""
        exact = tuple(words[start : start + length])
        folded = _folded(exact)
        cue = self._cues.get(exact, "")
        tables = tuple(dict.fromkeys(self._tables.get(folded, ())))
        places = tuple(dict.fromkeys(self._places.get(folded, ())))
        values = tuple(dict.fromkeys(self._values.get(exact) or self._values.get(folded) or ()))
        at = {"text": " ".join(exact), "start": start, "end": start + length}
        roles = tuple(dict.fromkeys(self._roles.get(folded, ()))) if not (tables or places) else ()
        if len(roles) == 1:
            return Item("table", **at, tables=(roles[0].to,), role=roles[0])  # type: ignore[arg-type]
        if tables or places:
            kind: Kind = "table" if tables else "column"
            return Item(kind, **at, cue=cue, tables=tables, places=places, values=values)  # type: ignore[arg-type]
        if cue:
            return Item("cue", **at, cue=cue, values=values)  # type: ignore[arg-type]
        if length == 1 and exact[0] in _FILLERS:
            return None
        if values and not (length == 1 and _NUMBER.fullmatch(exact[0])):
            return Item("value", **at, values=values)  # type: ignore[arg-type]
        return None

    def value_at(self, words: list[str], start: int, places: Iterable[ColumnRef]) -> tuple[tuple[ColumnRef, str], ...]:
        """The values of some columns that the words from `start` on name, longest first; empty where they name none.

        Right behind its column a value may be any word: "grade a", "status open".
        """
        columns = {(p.table, p.column): p for p in places}
        for length in range(min(self._longest, len(words) - start), 0, -1):
            exact = tuple(words[start : start + length])
            for phrase in (exact, _folded(exact)):
                held = self._values.get(phrase, ())
                if found := tuple((columns[at], v) for p, v in held if (at := (p.table, p.column)) in columns):
                    return found
        return ()

    def length_of(self, value: str) -> int:
        """How many words a value has."""
        return len(tokens(value))

    def _correct(self, word: str) -> str | None:
        """The known name or cue that a typo stands for; never a value, of which there may be others as close."""
        if len(word) < 4 or not word.isalpha() or word in MONEY:
            return None
        close = difflib.get_close_matches(word, self._correctable, n=1, cutoff=0.82)
        if not close or close[0].endswith(word) or word.endswith(close[0]) or close[0] == word:
            return None
        return close[0]

    def nearest(self, word: str) -> list[str]:
        """Names and values near a word that is not known."""
        known = {" ".join(p): " ".join(p) for p in (*self._tables, *self._places)}
        known |= {" ".join(p): v for p, held in self._values.items() for _, v in held}
        return [known[m] for m in difflib.get_close_matches(word, known, n=2, cutoff=0.7)]


def _add(phrases: dict[tuple[str, ...], list[T]], words: Iterable[str], meaning: T) -> None:
    """Both as it is and folded, so that singular and plural find it."""
    exact = tuple(words)
    for phrase in dict.fromkeys((exact, _folded(exact))) if exact else ():
        phrases.setdefault(phrase, []).append(meaning)


def _folded(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(singular(w) for w in words)


def _number(words: list[str], start: int) -> Item | None:
    if words[start] == "minus" and (item := _number(words, start + 1) if start + 1 < len(words) else None):
        assert isinstance(item.value, int | float)
        return replace(item, text=f"-{item.text}", start=start, value=-item.value)
    match = _NUMBER.fullmatch(words[start])
    if not match:
        return None
    following = words[start + 1] if start + 1 < len(words) else ""
    unit, used = match["unit"] or "", 1
    if not unit and len(following) > 2 and following in _SCALES:
        unit, used = following, 2
    if unit not in _SCALES:
        return None
    value = float(match["number"].replace(",", "")) * _SCALES[unit]
    whole = value.is_integer() and not set("e.") & set(match["number"])
    return Item(
        "number", " ".join(words[start : start + used]), start, start + used, value=int(value) if whole else value
    )
