"""What the network sees: words of the question, tables, columns and literals, with features and relations between them.

All of it is one sequence of items. A literal is something said that a query may hold as it is: a number, a time, a
value or a flag of the database, a quoted text, a table in a role.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from mirror.language.reading.covers import linker_of, tokens_of
from mirror.language.reading.lexemes import Token, stems
from mirror.language.reading.linking import Link, Linker, is_flag, name_stems
from mirror.language.reading.times import Said
from mirror.schema.database import Column, Database, Relation
from mirror.schema.names import label_columns

MOST_TOKENS, MOST_COLUMNS, MOST_TABLES, MOST_LITERALS, MOST_NAME_WORDS = 64, 72, 20, 20, 6

KINDS = (
    "word", "number", "quoted", "sign", "comma", "date", "table", "text", "integer", "real", "boolean", "column_date",
    "timestamp", "flag", "lit_number", "lit_time", "lit_value", "lit_flag", "lit_text", "lit_role",
)  # fmt: skip
FEATURES = (
    "table_exact", "table_part", "column_exact", "column_part", "column_weak", "value", "flagged", "small", "year",
    "large", "key", "foreign", "unique", "few", "label", "year_like", "from", "until", "bare_year", "no", "whole_value",
    "dated", "second_name",
)  # fmt: skip
KIND = {name: i for i, name in enumerate(KINDS)}
# Relations of one item to another. Words of the question are told by how far apart they stand.
FAR = 4
RELATIONS = (
    "none", *(f"apart {d}" for d in range(-FAR, FAR + 1)), "names", "named", "part of", "has part", "like", "liked",
    "in literal", "holds", "column of", "literal of", "in table", "has column", "key of", "has key", "beside",
    "refers", "referred", "to table", "from table", "table", "same words", "self",
)  # fmt: skip
RELATION = {name: i for i, name in enumerate(RELATIONS)}


@dataclass(frozen=True)
class Literal:
    """A number, time, value, flag, text or role of the question.

    Attributes:
        kind: number, time, value, flag, text or role.
        start, end: its tokens.
        value: the number, time or text; of a value or flag that in the database.
        link: what it names there.
    """

    kind: str
    start: int
    end: int
    value: object
    link: Link | None = None


@dataclass(frozen=True)
class Items:
    """One question over one database.

    Attributes:
        tokens: its tokens.
        tables, columns, literals: what may be pointed at, in the order of the items behind the tokens.
        words: (items, MOST_NAME_WORDS) texts by their stems; empty texts fill up.
        kinds: (items,) of KINDS.
        features: (items, len(FEATURES)) of 0 and 1.
        relations: (items, items) of RELATIONS.
    """

    tokens: tuple[Token, ...]
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    literals: tuple[Literal, ...]
    words: tuple[tuple[str, ...], ...]
    kinds: np.ndarray
    features: np.ndarray
    relations: np.ndarray

    @property
    def first_table(self) -> int:
        """Place of the first table among the items."""
        return len(self.tokens)

    @property
    def first_column(self) -> int:
        """Place of the first column."""
        return self.first_table + len(self.tables)

    @property
    def first_literal(self) -> int:
        """Place of the first literal."""
        return self.first_column + len(self.columns)


@lru_cache(maxsize=8)  # the network and what weighs its readings look at the same ones
def items_of(question: str, database: Database, now: datetime) -> Items:
    """The items of a question."""
    linker = linker_of(database)
    tokens, times = tokens_of(question, now)
    tokens = tokens[:MOST_TOKENS]
    times = [t for t in times if t.end <= MOST_TOKENS]
    links = _links(tokens, linker)
    return assembled(database, tokens, times, links)


@dataclass(frozen=True)
class Found:
    """A link and the tokens that it was found at."""

    start: int
    end: int
    link: Link


def _links(tokens: list[Token], linker: Linker) -> list[Found]:
    stems = [t.stem for t in tokens]
    found: list[Found] = []
    for i, token in enumerate(tokens):
        here: list[Found] = []
        for length in range(1, min(linker.longest, len(tokens) - i) + 1):
            here += [Found(i, i + length, link) for link in linker.at(tuple(stems[i : i + length]))[:10]]
        if not here:
            here = [Found(i, i + 1, link) for link in linker.corrected(token)[:4]]
        found += here
    return found


def assembled(database: Database, tokens: list[Token], times: list[Said], links: list[Found]) -> Items:
    """Items of tokens, times and links that are there already."""
    literals = _literals(tokens, times, links)
    tables, columns = _kept(database, links, literals)
    return _OfDatabase(database, tuple(tokens), tables, columns, tuple(literals), links).items()


def _literals(tokens: list[Token], times: list[Said], links: list[Found]) -> list[Literal]:
    found: list[Literal] = []
    for i, token in enumerate(tokens):
        if token.kind == "quoted":
            found.append(Literal("text", i, i + 1, token.text))
        elif token.number is not None:
            found.append(Literal("number", i, i + 1, token.number))
    found += [Literal("time", t.start, t.end, t.time) for t in times[:8]]
    best: dict[tuple[object, ...], Found] = {}
    for f in links:
        if f.link.kind in ("val", "flag") or f.link.role is not None:
            at = (f.link.kind, f.link.table, f.link.column, f.link.value, f.link.role)
            if at not in best or (best[at].link.cost, -best[at].end + best[at].start) > (f.link.cost, f.start - f.end):
                best[at] = f
    ranked = sorted(best.values(), key=lambda f: (f.link.cost - 0.1 * (f.end - f.start), f.start))
    for f in ranked[: max(0, MOST_LITERALS - len(found))]:
        kind = {"val": "value", "flag": "flag"}.get(f.link.kind, "role")
        found.append(Literal(kind, f.start, f.end, f.link.value, f.link))
    return found[:MOST_LITERALS]


def _kept(
    database: Database, links: list[Found], literals: list[Literal]
) -> tuple[tuple[Relation, ...], tuple[tuple[Relation, Column], ...]]:
    """Tables and columns, of a wide database those that come nearest to what is said."""
    said: dict[tuple[str, str | None], float] = {}
    for f in [*links, *(Found(0, 1, k.link) for k in literals if k.link)]:
        for at in ((f.link.table, f.link.column), (f.link.table, None)):
            said[at] = min(said.get(at, 9.0), f.link.cost)
    tables = sorted(database.relations, key=lambda r: said.get((r.name, None), 9.0))[:MOST_TABLES]
    tables = [r for r in database.relations if r in tables]
    all_columns = [(r, c) for r in tables for c in r.columns if c.type != "other"]
    if len(all_columns) > MOST_COLUMNS:
        keys = {(k.table, c) for k in database.foreign_keys for c in k.columns}

        def near(at: tuple[Relation, Column]) -> tuple[float, bool]:
            relation, column = at
            return said.get((relation.name, column.name), 9.0), (relation.name, column.name) in keys

        nearest = sorted(all_columns, key=near)[:MOST_COLUMNS]
        all_columns = [at for at in all_columns if at in nearest]
    return tuple(tables), tuple(all_columns)


@lru_cache(maxsize=4096)
def _words_of_value(value: str) -> tuple[str, ...]:
    return stems(value.replace("_", " "))[:MOST_NAME_WORDS]


class Assembly:
    """Puts the arrays together: what is common to questions over databases and over the results."""

    def __init__(
        self,
        tokens: tuple[Token, ...],
        tables: Sequence[str],
        columns: Sequence[tuple[str, str]],
        literals: tuple[Literal, ...],
        links: list[Found],
        features: Sequence[str] = FEATURES,
    ) -> None:
        self._tokens, self._literals, self._links = tokens, literals, links
        n = len(tokens) + len(tables) + len(columns) + len(literals)
        self._feature = {name: i for i, name in enumerate(features)}
        self._kinds = np.zeros(n, np.int64)
        self._features = np.zeros((n, len(features)), np.float32)
        self._relations = np.zeros((n, n), np.uint8)
        self._words: list[tuple[str, ...]] = []
        self._table_at = {name: len(tokens) + i for i, name in enumerate(tables)}
        first = len(tokens) + len(tables)
        self._column_at = {at: first + i for i, at in enumerate(columns)}

    def items(self) -> Items:
        """All of it."""
        self._put_tokens()
        self._put_tables()
        self._put_columns()
        self._put_literals()
        self._put_links()
        np.fill_diagonal(self._relations, RELATION["self"])
        return Items(
            self._tokens,
            tuple(self._table_at),
            tuple(self._column_at),
            self._literals,
            tuple(self._words),
            self._kinds,
            self._features,
            self._relations,
        )

    def _set(self, at: int, *features: str) -> None:
        for feature in features:
            self._features[at, self._feature[feature]] = 1

    def _relate(self, one: int, other: int, relation: str, back: str) -> None:
        self._relations[one, other] = RELATION[relation]
        self._relations[other, one] = RELATION[back]

    def _put_tokens(self) -> None:
        for i, token in enumerate(self._tokens):
            self._words.append((token.stem,))
            self._kinds[i] = KIND[token.kind]
            if isinstance(token.number, int | float):
                size = "small" if abs(token.number) <= 12 else "year" if 1900 <= token.number <= 2100 else "large"
                self._set(i, size)
        count = len(self._tokens)
        apart = np.clip(np.arange(count)[None, :] - np.arange(count)[:, None], -FAR, FAR)
        self._relations[:count, :count] = apart + FAR + RELATION[f"apart {-FAR}"]

    def _put_tables(self) -> None:
        """The words, kinds, features and relations of tables."""
        raise NotImplementedError

    def _put_columns(self) -> None:
        """Those of columns."""
        raise NotImplementedError

    def _put_literals(self) -> None:
        first = len(self._tokens) + len(self._table_at) + len(self._column_at)
        for i, literal in enumerate(self._literals):
            at = first + i
            self._words.append(self._words_of(literal))
            self._kinds[at] = KIND[f"lit_{literal.kind}"]
            for token in range(literal.start, min(literal.end, len(self._tokens))):
                self._relate(token, at, "in literal", "holds")
            if literal.kind == "time":
                self._timed(at, literal.value)
            if literal.link:
                self._linked(at, literal.link)
            if isinstance(literal.value, int | float) and literal.kind == "number":
                size = "small" if abs(literal.value) <= 12 else "year" if 1900 <= literal.value <= 2100 else "large"
                self._set(at, size)
            for j, other in enumerate(self._literals):
                if other.start < literal.end and literal.start < other.end:
                    self._relations[at, first + j] = RELATION["same words"]

    def _words_of(self, literal: Literal) -> tuple[str, ...]:
        """What it is said with; its own name where it is not said."""
        if literal.start == literal.end:
            return _words_of_value(str(literal.value))
        return tuple(t.stem for t in self._tokens[literal.start : literal.end][:MOST_NAME_WORDS])

    def _timed(self, at: int, time: object) -> None:
        told = {"from": time.start, "until": time.end, "bare_year": time.years}  # type: ignore[attr-defined]
        self._set(at, *(name for name, value in told.items() if value))

    def _linked(self, at: int, link: Link) -> None:
        if link.cost <= 0.1:
            self._set(at, "whole_value")
        if link.value in (False, 0, "no"):
            self._set(at, "no")
        place = (link.table, link.column or "")
        if place in self._column_at:
            self._relate(self._column_at[place], at, "column of", "literal of")
        elif link.table in self._table_at:
            self._relate(self._table_at[link.table], at, "column of", "literal of")

    def _put_links(self) -> None:
        """Words that name tables and columns; the surest relation stays."""
        for found in sorted(self._links, key=lambda f: -f.link.cost):
            link = found.link
            exact, part = link.cost <= 0.1, link.cost <= 0.55
            level = "exact" if exact else "part" if part else "weak"
            for token in range(found.start, min(found.end, len(self._tokens))):
                if link.kind == "rel" and link.table in self._table_at:
                    self._set(token, "table_exact" if exact else "table_part")
                    self._meet(token, self._table_at[link.table], level)
                elif link.kind == "col" and (link.table, link.column or "") in self._column_at:
                    self._set(token, f"column_{level}")
                    self._meet(token, self._column_at[link.table, link.column or ""], level)
                elif link.kind in ("val", "flag"):
                    self._set(token, "value" if link.kind == "val" else "flagged")
                    if place := self._column_at.get((link.table, link.column or "")):
                        self._set(place, "value" if link.kind == "val" else "flagged")

    def _meet(self, token: int, at: int, level: str) -> None:
        relation = {"exact": ("names", "named"), "part": ("part of", "has part"), "weak": ("like", "liked")}[level]
        self._relate(token, at, *relation)
        kind = "table" if self._kinds[at] == KIND["table"] else "column"
        self._set(at, f"{kind}_{'part' if kind == 'table' and level == 'weak' else level}")


class _OfDatabase(Assembly):
    """Tables and columns of a database."""

    def __init__(
        self,
        database: Database,
        tokens: tuple[Token, ...],
        tables: tuple[Relation, ...],
        columns: tuple[tuple[Relation, Column], ...],
        literals: tuple[Literal, ...],
        links: list[Found],
    ) -> None:
        super().__init__(tokens, [r.name for r in tables], [(r.name, c.name) for r, c in columns], literals, links)
        self._database, self._tables, self._columns = database, tables, columns

    def _put_tables(self) -> None:
        for relation in self._tables:
            at = self._table_at[relation.name]
            self._words.append(tuple(name_stems(relation.name)[:MOST_NAME_WORDS]))
            self._kinds[at] = KIND["table"]
            if any(c.temporal for c in relation.columns):
                self._set(at, "dated")
        for one in self._table_at.values():
            for other in self._table_at.values():
                self._relations[one, other] = RELATION["table"]
        for key in self._database.foreign_keys:
            if key.table in self._table_at and key.to in self._table_at:
                self._relate(self._table_at[key.table], self._table_at[key.to], "to table", "from table")

    def _put_columns(self) -> None:
        foreign = {(k.table, c) for k in self._database.foreign_keys for c in k.columns}
        for relation, column in self._columns:
            at = self._column_at[relation.name, column.name]
            self._words.append(tuple(name_stems(column.name)[:MOST_NAME_WORDS]))
            self._kinds[at] = KIND[
                "flag" if is_flag(column) else "column_date" if column.type == "date" else column.type
            ]
            told = {
                "key": column.name in relation.key,
                "foreign": (relation.name, column.name) in foreign,
                "unique": column.unique,
                "few": bool(column.values),
                "label": column.name in label_columns(relation),
                "year_like": isinstance(column.low, int)
                and isinstance(column.high, int)
                and column.low >= 1900
                and column.high <= 2100,
            }
            self._set(at, *(name for name, holds in told.items() if holds))
            for other_relation, other in self._columns:
                if other_relation is relation:
                    self._relations[at, self._column_at[relation.name, other.name]] = RELATION["beside"]
            table = self._table_at[relation.name]
            self._relate(
                at, table, *(("key of", "has key") if column.name in relation.key else ("in table", "has column"))
            )
        for key in self._database.foreign_keys:
            for own, theirs in zip(key.columns, key.to_columns, strict=True):
                if (key.table, own) in self._column_at and (key.to, theirs) in self._column_at:
                    self._relate(self._column_at[key.table, own], self._column_at[key.to, theirs], "refers", "referred")
