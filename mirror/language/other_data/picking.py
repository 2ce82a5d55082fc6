"""Which table or column a word means where several fit: the one the question speaks of, or a question back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mirror.language.other_data.spans import MARK, Span
from mirror.language.other_data.vocabulary import QUOTED, Item, Words
from mirror.query.errors import Ambiguity, Impossible, Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column, Database, ForeignKey, Relation, shown
from mirror.schema.names import GENERIC, column_words, dates, many, one, qualified, role_words, words_of


@dataclass
class Picker:
    """Settles what words mean.

    Attributes:
        words: all words of the question, for questions back.
        context: tables that the question names.
        base: the table whose rows are measured or listed, once it is known.
        via: tables that every way must pass.
        date_named: the date that the question names, which then is the one of all its times.
    """

    known: Words
    words: list[str]
    spans: list[Span]
    quotes: list[str]
    context: set[str] = field(default_factory=set)
    base: str = ""
    via: tuple[str, ...] = ()
    date_named: ColumnRef | None = None

    @property
    def database(self) -> Database:
        """The one that is asked."""
        return self.known.database

    def relation(self, table: str) -> Relation:
        """The table or view of this name."""
        return self.database.relation(table)

    def column(self, place: ColumnRef) -> Column:
        """The column that a place names."""
        return self.relation(place.table).column(place.column)

    # -- tables ----------------------------------------------------------------------------------------------------

    def table(self, item: Item) -> str:
        """The table an item names. Raises Ambiguity."""
        found = [t for t in item.tables if t.lower() == item.text.replace(" ", "_")] or list(item.tables)
        found = [t for t in found if not self.relation(t).view] or found
        if len(found) > 1:
            raise self.back(item, [" ".join(words_of(t)) for t in found], "table")
        return found[0]

    # -- columns ---------------------------------------------------------------------------------------------------

    def place(self, item: Item, fits: Callable[[Relation, Column], bool], why_not: str) -> ColumnRef:
        """The column an item names, among those that fit; `why_not` is the refusal where none does."""
        found = [p for p in item.places if fits(self.relation(p.table), self.column(p))]
        if not found:
            raise Impossible(why_not) if item.places else Refusal(why_not)  # a column that is there and does not fit
        return self.one_of(found, item, lambda p: self.phrase(p))

    def phrase(self, place: ColumnRef) -> str:
        """Words that name a column and no other."""
        if place.role is not None and (role := role_words(self.database, place.role)):
            return f"{role} {column_words(place.column)}"
        return qualified(place.table, place.column)

    def one_of(self, places: Sequence[ColumnRef], item: Item, wording: Callable[[ColumnRef], str]) -> ColumnRef:
        """The one that is meant. Raises Ambiguity with a question for each."""
        found = list(dict.fromkeys(places))
        for narrower in (self._tables_only, self._plain_roles, self._keys_once, self._in_context, self._at_base):
            found = narrower(found) or found
            if len(found) == 1:
                return found[0]
        if len({p.column for p in found}) > 1 or not set(words_of(found[0].column)) & GENERIC:
            found = self._reached(found) or found
            if len(found) == 1:
                return found[0]
        raise self.back(item, [wording(p) for p in found], "column")

    def _tables_only(self, found: list[ColumnRef]) -> list[ColumnRef]:
        return [p for p in found if not self.relation(p.table).view or p.table in self.context]

    @staticmethod
    def _plain_roles(found: list[ColumnRef]) -> list[ColumnRef]:
        """The same column with and without a role: the way there is settled later."""
        plain = {(p.table, p.column) for p in found if p.role is None}
        return [p for p in found if p.role is None or (p.table, p.column) not in plain]

    def _keys_once(self, found: list[ColumnRef]) -> list[ColumnRef]:
        """A foreign key and the key it names are one thing."""
        places = {(p.table, p.column) for p in found}
        same = {
            (link.table, link.columns[0])
            for link in self.database.foreign_keys
            if len(link.columns) == 1 and (link.to, link.to_columns[0]) in places
        }
        return [p for p in found if (p.table, p.column) not in same]

    def _in_context(self, found: list[ColumnRef]) -> list[ColumnRef]:
        return [p for p in found if p.table in self.context]

    def _at_base(self, found: list[ColumnRef]) -> list[ColumnRef]:
        return [p for p in found if p.table == self.base]

    def _reached(self, found: list[ColumnRef]) -> list[ColumnRef]:
        """Those of which each row of the base has one: its customer's country, not that of some supplier."""
        if not self.base:
            return []
        return [p for p in found if paths.reaches_up(self.database, self.base, p.table)]

    def date(self, base: str, item: Item | None = None) -> ColumnRef:
        """The date that a time speaks of: the base's, or the nearest that each of its rows has one of."""
        if item is not None:
            return self.place(
                item, lambda _, c: c.temporal, f"“{item.text}” is no date: name one, such as {self._dates()}."
            )
        if self.date_named and paths.reaches_up(self.database, base, self.date_named.table):
            return self.date_named
        by_distance: dict[int, list[ColumnRef]] = {}
        for relation in self.database.relations:
            ways = paths.shortest(self.database, base, relation.name, None, self.via)
            if ways and not paths.multiplies(ways[0]) and (not relation.view or relation.name == base):
                by_distance.setdefault(len(ways[0]), []).extend(
                    ColumnRef(relation.name, c.name) for c in dates(relation)
                )
        for distance in sorted(by_distance):
            found = by_distance[distance]
            if len(found) == 1:
                return found[0]
            if found:
                named = [p for p in found if p.table in self.context]
                if len(named) == 1:
                    return named[0]
                raise self.dated(found)
        raise Refusal(f"{base} has no date, so nothing can be said of a time: {self._dates()}.")

    def _dates(self) -> str:
        named = [f"{r.name}.{c.name}" for r in self.database.relations if not r.view for c in dates(r)]
        return f"the dates here are {shown(named)}" if named else "no table has one"

    def dated(self, found: list[ColumnRef]) -> Ambiguity:
        """Which of several dates is meant, asked with the time that the question holds."""
        choices = []
        mark = next((i for i, w in enumerate(self.words) if w.startswith(MARK)), len(self.words))
        for place in found:
            if mark < len(self.words):
                words = [*self.words[:mark], "with", self.phrase(place), *self.words[mark:]]
            else:
                words = [*self.words, "of", self.phrase(place)]
            choices.append(self.sentence(words))
        return Ambiguity(f"{one(found[0].table).capitalize()} has several dates: which one?", tuple(choices))

    # -- ways ------------------------------------------------------------------------------------------------------

    def way(self, start: str, place: ColumnRef, item: Item | None) -> tuple[paths.Path, ForeignKey | None]:
        """How to get from one table to a column, and the role that says it. Raises Refusal or Ambiguity."""
        return self.way_to(start, place.table, place.role, item, place.column)

    def way_to(
        self, start: str, table: str, role: ForeignKey | None, item: Item | None, column: str = ""
    ) -> tuple[paths.Path, ForeignKey | None]:
        """The same for a table."""
        ways = paths.shortest(self.database, start, table, role, self.via)
        if not ways:
            through = f" through {shown(map(many, self.via))}" if self.via else ""
            raise Impossible(
                f"No foreign key leads from {start} to {table}{through}, so they cannot be joined: ask about one."
            )
        if len(ways) == 1:
            return ways[0], role
        last = [way[-1].link for way in ways]
        roles = [role_words(self.database, link) for link in last]
        if len(set(last)) == len(ways) and len({way[:-1] for way in ways}) == 1:
            plain = [way for way, words in zip(ways, roles, strict=True) if not words]
            if len(plain) == 1:  # `department_id` beside `former_department_id`
                return plain[0], plain[0][-1].link if plain[0][-1].up else None
            if item is not None and all(way[-1].up for way in ways):
                named = " ".join(filter(None, (column and column_words(column), item.text if item.values else "")))
                raise self.back(item, [f"{words} {named}".strip() for words in roles], "way")
        through_each = [[step.to for step in way[:-1]] for way in ways]
        own = [next((t for t in ts if sum(t in o for o in through_each) == 1), "") for ts in through_each]
        choices = [self.sentence([*self.words, "via", *many(t).split()]) for t in own if t]
        if len(choices) < len(ways):
            raise Impossible(
                f"{len(ways)} foreign keys lead from {start} to {table}: write the SQL, with the join that is meant."
            )
        raise Ambiguity(f"There are {len(ways)} ways from {start} to {table}: which one?", tuple(choices))

    # -- questions back --------------------------------------------------------------------------------------------

    def back(self, item: Item, phrases: Sequence[str], what: str) -> Ambiguity:
        """A question back: the same question with each of the phrases in place of an item's words."""
        named = list(dict.fromkeys(phrases))
        choices = [self.sentence([*self.words[: item.start], *p.split(), *self.words[item.end :]]) for p in named]
        of = {"table": "may be the table", "column": "may be", "way": "may be"}.get(what, "may be")
        return Ambiguity(f"“{item.text}” {of} {' or '.join(named)}: which one?", tuple(choices[:6]))

    def sentence(self, words: Sequence[str]) -> str:
        """Words as a question, with times and quoted texts where their marks stand."""
        shown_words = []
        for word in words:
            if word.startswith(MARK) and word[len(MARK) :].isdigit():
                word = self.spans[int(word[len(MARK) :])].phrase
            elif word.startswith(QUOTED) and word[len(QUOTED) :].isdigit():
                word = f'"{self.quotes[int(word[len(QUOTED) :])]}"'
            shown_words.append(word)
        return " ".join(shown_words).replace(" ,", ",").replace("minus ", "-")
