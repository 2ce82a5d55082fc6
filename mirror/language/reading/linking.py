"""What the words of a question may name in one database: tables, columns and values, each with what it costs.

Cheapest first: the name itself, another form of its words, a part of the name, a synonym, a typo. Nothing is decided
here: a phrase keeps all that it may name.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from mirror.language.reading.cues import abbreviations, cues, synonyms
from mirror.language.reading.lexemes import Token, of_kind, stem, stems
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column, Database, ForeignKey, Relation, known_sentence
from mirror.schema.names import foreign_key_roles, words_of
from mirror.schema.own_words import OwnWord
from mirror.words.close_words import close_words

MOST_WORDS = 7
_MOST_SAID = 6  # words that a refusal names
# What it costs to take a phrase for a name, in the order of how sure that is.
EXACT, OWN_TABLE, PART, SYNONYM, TYPO, PART_OF_VALUE = 0.0, 0.05, 0.35, 0.6, 0.9, 0.5
LEARNT = 0.1  # a word that people chose the thing for
_PREFIXES = frozenset(("tbl", "dim", "fact", "stg", "vw", "v", "t", "tab"))
# Words of a name that name nothing by themselves.
_WEAK = of_kind("weak")
_GENDERS = {
    ("f", "w", "female", "woman", "weiblich"): ("female", "females", "women", "woman", "girls", "ladies", "womens"),
    ("m", "male", "man", "männlich"): ("male", "males", "men", "man", "boys", "mens"),
}
_YES = frozenset(("yes", "y", "true", "t", "ja", "oui", "si", "1"))
_NO = frozenset(("no", "n", "false", "f", "nein", "non", "0"))


@dataclass(frozen=True)
class Link:
    """Something in the database that a phrase may name.

    Attributes:
        kind: rel, col, val or flag.
        table: the table.
        column: the column; None of a table.
        value: the value as the database has it; of a flag what it must be.
        cost: how unsure that is.
        role: the foreign key by which a table is meant: the destination, not any port.
        learnt: whether the phrase is a word that was learnt for it.
    """

    kind: str
    table: str
    column: str | None = None
    value: object = None
    cost: float = 0.0
    role: ForeignKey | None = None
    learnt: bool = False

    @property
    def place(self) -> ColumnRef:
        """The column, or that of the value."""
        assert self.column is not None
        return ColumnRef(self.table, self.column, self.role)


class Linker:
    """Phrases -> links for one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._index: dict[tuple[str, ...], dict[tuple[str, str, str | None, object, ForeignKey | None], float]] = {}
        for relation in database.relations:
            self._add_relation(relation)
            for column in relation.columns:
                if column.type != "other":
                    self._add_column(relation, column)
        for key, role in foreign_key_roles(database):
            words = tuple(w for part in role for w in name_stems(part))
            self._put(words, Link("rel", key.to, cost=0.02, role=key))
            self._put((*words, *name_stems(key.to)), Link("rel", key.to, cost=EXACT, role=key))
            for column in database.relation(key.to).columns:  # "manager full name"
                self._put((*words, *name_stems(column.name)), Link("col", key.to, column.name, cost=EXACT, role=key))
        self._learnt = {own: link for word in database.words for own, link in _own(word, database)}
        for phrase, link in self._learnt.items():
            self._put(phrase, link)
        self.longest = min(MOST_WORDS, max((len(p) for p in self._index), default=1))
        single = {p[0] for p in self._index if len(p) == 1}
        self._vocabulary = sorted(w for w in single if len(w) >= 3 and w.isalpha())

    # -- what is known ---------------------------------------------------------------------------------------------

    def _put(self, phrase: Iterable[str], link: Link) -> None:
        words = tuple(phrase)
        if not words:
            return
        known = self._index.setdefault(words, {})
        at = (link.kind, link.table, link.column, link.value, link.role)
        known[at] = min(link.cost, known.get(at, 99.0))

    def _add_relation(self, relation: Relation) -> None:
        words = _without_prefix(name_stems(relation.name))
        for phrase, cost in [p for form in _forms(relation.name) for p in _phrases(_without_prefix(form))]:
            self._put(phrase, Link("rel", relation.name, cost=cost))
        joined = "".join(words)
        if len(words) > 1:
            self._put((stem(joined),), Link("rel", relation.name, cost=EXACT))

    def _add_column(self, relation: Relation, column: Column) -> None:
        words = name_stems(column.name)
        table = name_stems(relation.name)
        of_table = words[: len(table)] == table and len(words) > len(table)
        own = words[len(table) :] if of_table else words
        if (flag := _flag(column)) is not None:
            self._add_flag(relation, column, own, flag)
        keyed = 0.7 * any(
            column.name in key.columns for key in self.database.foreign_keys if key.table == relation.name
        )
        keyed = keyed or 0.4 * (relation.key == (column.name,))
        for phrase, cost in [p for form in _forms(column.name) for p in _phrases(form)]:
            self._put(
                phrase,
                Link(
                    "col", relation.name, column.name, cost=cost + keyed * (phrase != words) + 0.3 * (flag is not None)
                ),
            )
        if of_table:
            self._put(own, Link("col", relation.name, column.name, cost=OWN_TABLE))
        else:
            self._put((*table, *own), Link("col", relation.name, column.name, cost=EXACT))
        if flag is None:
            for value in (*column.values, *column.index):
                self._add_value(relation, column, value)
        if column.unique and len(self.database.relations) == 1 and is_named_key(column.name):
            self._put((w for w in words if w not in _WEAK), Link("rel", relation.name, cost=OWN_TABLE))  # "Booking #"
        if set(words) & of_kind("gender"):
            self._add_genders(relation, column)

    def _add_flag(
        self, relation: Relation, column: Column, words: tuple[str, ...], flag: tuple[object, object]
    ) -> None:
        plain = tuple(w for w in words if w not in ("is", "has", "was", "be", "have"))
        for phrase, cost in _phrases(plain or words):
            self._put(
                phrase,
                Link("flag", relation.name, column.name, flag[0], cost + 0.05 + 0.3 * (phrase != (plain or words))),
            )
            if len(phrase) == 1 and cost <= PART:
                for prefix in ("un", "in", "non", "dis", "not "):
                    self._put(
                        (stem(prefix + phrase[0]),), Link("flag", relation.name, column.name, flag[1], cost + 0.1)
                    )

    def _add_genders(self, relation: Relation, column: Column) -> None:
        for letters, phrases in _GENDERS.items():
            for value in column.values:
                if value.lower() in letters:
                    for phrase in phrases:
                        self._put((stem(phrase),), Link("val", relation.name, column.name, value, 0.05))

    def _add_value(self, relation: Relation, column: Column, value: str) -> None:
        words = stems(value)
        if not words or len(words) > 12:
            return
        self._put(words, Link("val", relation.name, column.name, value, EXACT + 0.05))
        if len(words) > 1 and not (of_kind("prose") & set(name_stems(column.name))):
            self._put(("".join(words),), Link("val", relation.name, column.name, value, 0.1))
            for size in range(len(words) - 1, 0, -1):
                for start in range(len(words) - size + 1):
                    part = words[start : start + size]
                    if size > 1 or (len(part[0]) >= 3 and part[0] not in _WEAK and not part[0].isdigit()):
                        share = size / len(words)
                        self._put(
                            part, Link("val", relation.name, column.name, value, PART_OF_VALUE + 0.4 * (1 - share))
                        )

    def words(self) -> set[str]:
        """Words of tables, columns and values, as they are written."""
        found: set[str] = set()
        for relation in self.database.relations:
            found |= set(words_of(relation.name))
            for column in relation.columns:
                found |= set(words_of(column.name))
                found |= {w for v in (*column.values, *column.index) for w in v.lower().split()}
        return found

    # -- what a phrase may mean ------------------------------------------------------------------------------------

    @lru_cache(maxsize=4096)  # noqa: B019 - a linker lives as long as its database is asked
    def at(self, phrase: tuple[str, ...]) -> tuple[Link, ...]:
        """All that a phrase may name, given as its stems; the surest first."""
        found = dict(self._index.get(phrase, {}))
        if len(phrase) == 1:
            for other in _synonym_stems(phrase[0]):
                for at, cost in self._index.get(other, {}).items():
                    if at[0] in ("rel", "col") and cost <= PART + 0.3:
                        found[at] = min(found.get(at, 99.0), cost + SYNONYM)
        links = [Link(*at[:4], cost, at[4]) for at, cost in found.items()]
        if own := self._learnt.get(phrase):
            links = [own if replace(link, learnt=True) == own else link for link in links]
        return tuple(sorted(links, key=lambda link: link.cost))

    def corrected(self, token: Token) -> tuple[Link, ...]:
        """What a word that names nothing may be a slip of."""
        if len(token.text) < 4 or not token.text.isalpha() or (token.text,) in cues():
            return ()
        short = [
            w
            for w in self._vocabulary
            if 3 <= len(w) <= 5 and len(token.text) >= len(w) + 2 and token.text.startswith(w)
        ]
        if short:  # `prem` for "premium"
            return tuple(replace(k, cost=k.cost + PART) for w in short for k in self.at((w,)) if k.kind == "col")
        close = close_words(token.stem, self._vocabulary, 2, 0.8)
        found = [replace(k, cost=k.cost + TYPO) for word in close for k in self.at((word,))]
        return tuple(sorted(found, key=lambda link: link.cost))

    def nearest(self, word: str) -> list[str]:
        """Names and values near a word that names nothing."""
        close = close_words(word.lower(), self._written, 2, 0.7)
        return [self._written[found] for found in close]

    @cached_property
    def _written(self) -> dict[str, str]:
        """Names and values as they are compared with a word, and as they are shown."""
        found: dict[str, str] = {}
        for relation in self.database.relations:
            for name in (relation.name, *(c.name for c in relation.columns)):
                found[" ".join(words_of(name))] = " ".join(words_of(name))
            found |= {v.lower(): v for c in relation.columns for v in (*c.values, *c.index)}
        return found

    @lru_cache(maxsize=512)  # noqa: B019
    def columns_of(self, words: tuple[str, ...], numeric: bool = True) -> list[tuple[ColumnRef, float]]:
        """Columns whose names hold one of some words, each with its cost: the earlier the word, the surer."""
        found: dict[ColumnRef, float] = {}
        for rank, word in enumerate(words):
            wanted = stem(word)
            for relation in self.database.relations:
                for column in relation.columns:
                    if numeric and not (column.numeric or column.temporal):
                        continue
                    names = next((form for form in _forms(column.name) if wanted in form), ())
                    if names:
                        last = names[-1] == wanted
                        cost = 0.08 * rank + (0.0 if last else 0.1) + 0.03 * (len(names) - 1)
                        place = ColumnRef(relation.name, column.name)
                        found[place] = min(cost, found.get(place, 99.0))
        return sorted(found.items(), key=lambda item: item[1])


def _own(own: OwnWord, database: Database) -> Iterator[tuple[tuple[str, ...], Link]]:
    """A learnt word as a phrase, with its link; nothing where the database no longer has what it names."""
    try:
        column = own.column and database.relation(own.table).column(own.column)
    except KeyError:
        return
    kind = "rel" if not column else "col" if own.value is None else "val"
    yield stems(own.word), Link(kind, own.table, own.column, own.value, LEARNT, learnt=True)


def says_nothing(words: Iterable[str], linker: Linker) -> str:
    """What a refusal says of words that name nothing: which, what is near, and what there is."""
    unknown = list(dict.fromkeys(words))
    quoted = ", ".join(f"“{w[:40]}”" for w in unknown[:_MOST_SAID])
    more = f" and {len(unknown) - _MOST_SAID} more words" if len(unknown) > _MOST_SAID else ""
    near = list(dict.fromkeys(name for w in unknown[:_MOST_SAID] for name in linker.nearest(w)))
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return f"The data say nothing about {quoted}{more}.{hint} {known_sentence(linker.database)}"


@lru_cache(maxsize=20_000)
def name_stems(name: str) -> tuple[str, ...]:
    """The stems of a name's words, short forms written out."""
    words: list[str] = []
    for word in words_of(name):
        words += abbreviations().get(word, word).split()
    return tuple(stem(w) for w in words)


@lru_cache(maxsize=20_000)
def _forms(name: str) -> tuple[tuple[str, ...], ...]:
    """The stems of a name, short forms written out and as they are."""
    return tuple(dict.fromkeys((name_stems(name), tuple(stem(w) for w in words_of(name)))))


def _without_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if len(words) > 1 and words[0] in _PREFIXES else words


def _phrases(words: tuple[str, ...]) -> list[tuple[tuple[str, ...], float]]:
    """The name, and the parts of it that may stand for it."""
    found = [(words, EXACT)]
    for size in range(len(words) - 1, 0, -1):
        for start in range(len(words) - size + 1):
            part = words[start : start + size]
            if all(w in _WEAK for w in part):
                continue
            left = len(words) - size
            weak = sum(w in _WEAK for w in (*words[:start], *words[start + size :]))
            found.append(
                (part, PART + 0.15 * (left - 1) - 0.2 * (weak > 0) + (0.1 if start + size < len(words) - weak else 0))
            )
    return found


def _flag(column: Column) -> tuple[object, object] | None:
    """(what is true, what is false) of a column that says yes or no; None of others."""
    if column.type == "boolean":
        return True, False
    if column.type == "integer" and column.low == 0 and column.high == 1:
        return 1, 0
    lowered = {v.lower(): v for v in column.values}
    if column.values and len(lowered) <= 2 and set(lowered) <= _YES | _NO:
        yes = next((v for k, v in lowered.items() if k in _YES), None)
        no = next((v for k, v in lowered.items() if k in _NO), None)
        return (yes, no) if yes is not None and no is not None else None
    return None


def is_named_key(name: str) -> bool:
    """Whether a column is called a number or a key: `Booking #`, `Ref No`."""
    return "#" in name or words_of(name)[-1:] in (("id",), ("no",), ("nr",), ("number",), ("code",), ("key",), ("cd",))


def is_flag(column: Column) -> bool:
    """Whether a column says yes or no."""
    return _flag(column) is not None


@lru_cache(maxsize=4096)
def _synonym_stems(word: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        dict.fromkeys(stems(other) for known, others in synonyms().items() if stem(known) == word for other in others)
    )
