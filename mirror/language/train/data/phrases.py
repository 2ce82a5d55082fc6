"""Made-up questions over any database, each with its form: what the second reader is trained on before people's words.

A kind of question chooses what is asked and composes the phrases of `phrases.yaml`; what it says is all that it asks.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.form_actions import Writer
from mirror.language.neural.items import items_of
from mirror.language.train.data.example import NOW, Example
from mirror.language.train.data.phrase_names import Unsayable, phrases
from mirror.language.train.data.phrase_numbers import Number, Numbers
from mirror.language.train.data.phrase_parts import Condition, predicates_of
from mirror.query.errors import Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form import (
    Asked,
    ColumnRef,
    GroupBy,
    Measure,
    Operator,
    Predicate,
    Presence,
)
from mirror.schema.database import Column, Database, Relation
from mirror.schema.names import label_columns, words_of

_TRIES = 40


def generate(database: Database, rng: random.Random, count: int) -> Iterator[tuple[str, Asked]]:
    """Questions and their forms; fewer where the schema holds too little to ask about."""
    maker = _Maker(database, rng)
    for _ in range(count):
        for _ in range(_TRIES):
            try:
                text, asked = maker.question()
            except Unsayable:
                continue
            yield rough(text, rng), asked
            break


def examples(database: Database, rng: random.Random, count: int) -> Iterator[Example]:
    """Those questions whose forms can be built and said in actions, as examples; at most so many."""
    for text, asked in generate(database, rng, count):
        example = example_of(text, asked, database)
        if example:
            yield example


def example_of(text: str, asked: Asked, database: Database) -> Example | None:
    """A question as an example; None where its form cannot be built, or is not to be said in actions."""
    try:
        build(asked, database)
        items = items_of(text, database, NOW)
        return Example(items, tuple(Writer(asked, items, database).line()), f"made:{database.name}")
    except (Inexpressible, Refusal, KeyError, ValueError):
        return None


def rough(text: str, rng: random.Random) -> str:
    """A text as people type it: with fillers, without articles or capitals, with a slip now and then."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\ba (?=[aeio])", "an ", re.sub(r",? and but\b", " but", text))
    text = re.sub(r"\bof (of|from|between)\b", r"\1", text)
    if rng.random() < 0.13:
        text = re.sub(r"\b(the|a|an) ", "", text)
    asks = re.match(r"(which|how|what|who|do |can |are )", text) is not None
    if rng.random() < 0.15:
        text = _choice(phrases()["before"], rng) + text
    if rng.random() < 0.08:
        text += _choice(phrases()["after"], rng)
    if rng.random() < 0.07:
        text = _slip(text, rng)
    if rng.random() < 0.5:
        text = text[:1].upper() + text[1:] + ("?" if asks else rng.choice((".", "")))
    elif asks and rng.random() < 0.5:
        text += "?"
    return text


def _choice(among: Sequence[str], rng: random.Random) -> str:
    return among[int(rng.random() * len(among))]


def _slip(text: str, rng: random.Random) -> str:
    """Two letters of a long word change places, or one is left out."""
    words = text.split(" ")
    at = rng.randrange(len(words))
    word = words[at]
    if len(word) > 5 and word.isalpha() and word.islower():
        i = rng.randrange(1, len(word) - 2)
        words[at] = word[:i] + word[i + 1] + word[i] + word[i + 2 :] if rng.random() < 0.6 else word[:i] + word[i + 1 :]
    return " ".join(words)


class _Maker(Numbers):
    """Chooses what is asked."""

    def question(self) -> tuple[str, Asked]:
        """One question and its form. Raises Unsayable."""
        kinds: dict[Callable[[], tuple[str, Asked]], float] = {
            self.list: 20, self.plain: 12, self.grouped: 20, self.top_list: 6, self.top_group: 9, self.timed: 7,
            self.timed_top: 3, self.part: 4, self.share: 3, self.ratio: 2, self.difference: 3, self.presence: 5,
            self.group_count: 2, self.outer: 2, self.having: 3, self.above_mean: 2, self.values: 1.5,
        }  # fmt: skip
        (kind,) = self.rng.choices(list(kinds), list(kinds.values()))
        return kind()

    # -- numbers ---------------------------------------------------------------------------------------------------

    def some(self, relation: Relation, odds: Sequence[float]) -> list[Condition]:
        """None, one, two or three conditions."""
        (count,) = self.rng.choices(range(len(odds)), odds)
        return self.conditions(relation, count) if count else []

    def plain(self) -> tuple[str, Asked]:
        """One number."""
        relation = self.table()
        conditions = self.some(relation, (2, 6, 4, 1))
        number = self.number(relation)
        asked = Asked(relation.name, (number.measure,), conditions=predicates_of(conditions))
        return self.worded(number, relation, conditions, "", ""), asked

    def worded(self, number: Number, relation: Relation, conditions: Sequence[Condition], by: str, front: str) -> str:
        """A number with its rows and groups: as a question, a wish or a title, its parts in some order."""
        front = front if self.chance(0.25) else ""
        by = "" if front else by and f" {by}"
        if conditions and self.chance(0.12):
            of_which = self.say("np ask", np=number.short) if number.short else self.say("count of which")
            return self.say("of which", rows=self.rows(relation.name, conditions), ask=of_which) + (
                by or (front and f" {front}".rstrip(", :"))
            )
        rows = self.rows(relation.name, conditions)
        last = conditions[-1].after if conditions else ""
        said = rows.endswith(last) and last and self.chance(0.15)
        if said:  # the last condition goes to the end of all, or in front
            rows, tail = rows[: -len(last)].rstrip().removesuffix(" and").rstrip(","), f" {last}"
        else:
            tail = ""
        style = self.rng.random()
        if style < 0.5:
            core = number.ask.format(rows=rows)
        elif style < 0.75:
            np = number.np.format(rows=rows)
            core = f"{self.say('do')} {np if np.startswith('how') else 'the ' + np}"
        else:
            core = number.np.format(rows=rows)
        if not conditions and number.short and self.chance(0.25) and (by or front):
            core = number.short
        return f"{front}{core}{by}{tail}" if self.chance(0.7) else f"{front}{core}{tail}{by}"

    # -- groups ----------------------------------------------------------------------------------------------------

    def grouped(self) -> tuple[str, Asked]:
        """A number for each group, or for each pair of groups."""
        relation = self.table()
        number = self.number(relation)
        group = self.group(relation, number)
        conditions = self._apart(self.some(relation, (4, 5, 2)), group)
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        if self.chance(0.2):
            other = self.group(relation, group)
            by = self.say("by two", g=group.one, h=other.one)
            return self.worded(number, relation, conditions, by, ""), replace(asked, groups=(group.by, other.by))
        by = self.say("by", g=group.one, gs=group.many)
        front = self.say("front", g=group.one)
        bare = number.measure.aggregate == "count" and group.by.place is None and self.chance(0.3)
        if bare and any(group.by.table == k.to for k in self.database.foreign_keys if k.table == relation.name):
            text = self.say("owned ask", rows=self.rows(relation.name, conditions), g=group.one)
        else:
            text = self.worded(number, relation, conditions, by, front)
        if self.chance(0.12):
            having, said = self._having(number, relation)
            return f"{text}{self.say('having', gs=group.many, lim=said)}", replace(asked, having=(having,))
        if self.chance(0.15):
            down = self.chance(0.6)
            return text + self.say("sorted", down), replace(asked, order=(0, down))
        return text, asked

    def having(self) -> tuple[str, Asked]:
        """Groups with a number beyond a limit, or beyond the mean of all groups."""
        relation = self.table()
        number = self.number(relation, simple=True)
        group = self.group(relation, number)
        conditions = self._apart(self.some(relation, (5, 4)), group)
        counted = number.measure.aggregate == "count"
        if self.chance(0.45):
            having, said = self._beyond(number, relation, group)
        else:
            having, said = self._having(number, relation)
            if counted and group.by.place is None:
                raise Unsayable  # asked as a presence
        after = [c.after for c in conditions]
        of = f", counting only {self.rows(relation.name, conditions)}" if after else ""
        if after and not counted:
            of = f", only for {self.rows(relation.name, conditions)}"
        elif not counted and self.chance(0.5):
            of = f" of their {self.many(relation.name)}"
        text = self.say("having which", gs=group.many, lim=said) + of
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        return text, replace(asked, having=(having,))

    def group_count(self) -> tuple[str, Asked]:
        """How many groups have a number beyond a limit."""
        relation = self.table()
        number, group = self._counted(relation) if self.chance(0.7) else self._taken(relation), self.group(relation)
        having, said = self._beyond(number, relation, group) if self.chance(0.25) else self._having(number, relation)
        conditions = self._apart(self.some(relation, (6, 3)), group)
        text = self.say("count groups", gs=group.many, g=group.one, lim=said)
        if conditions:
            text += f", counting only {self.rows(relation.name, conditions)}"
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        return text, replace(asked, having=(having,), count_groups=True)

    def outer(self) -> tuple[str, Asked]:
        """The mean over groups of a number of each."""
        relation = self.table()
        conditions = self.some(relation, (5, 4))
        if self.chance(0.25):
            group = self._bucketed(relation, ("day", "week", "month", "month", "year"))
        else:
            group = self.group(relation)
        conditions = self._apart(conditions, group)
        rows = self.rows(relation.name, conditions)
        measure, number = Measure("count", relation.name), None
        if self.chance(0.35):
            number = self._taken(relation)
            measure = number.measure
        if measure.aggregate not in ("count", "sum"):
            raise Unsayable
        if number:
            text = self.say("outer", np=number.np.format(rows=rows), g=group.one, gs=group.many)
        else:
            text = self.say("outer count", rows=rows, g=group.one)
        asked = Asked(relation.name, (measure,), (group.by,), conditions=predicates_of(conditions), outer="avg")
        return text, asked

    # -- superlatives ----------------------------------------------------------------------------------------------

    def adjective(self, relation: Relation, column: Column) -> tuple[str, bool, bool]:
        """(a superlative, whether the largest is meant, whether it says the column by itself)."""
        down, words = self.chance(0.6), set(words_of(column.name))
        if column.temporal:
            alone = self.alone(relation, column)
            turned = [
                e
                for e in phrases()["adjectives"]
                if words & set(e["of"]) & {"birth", "born", "built", "hired", "joined"}
            ]
            entry = turned[0] if turned and self.chance(0.5) else phrases()["date adjectives"]
            return str(self.pick(entry["high" if down else "low"])), down, alone or bool(turned and entry is turned[0])
        for entry in phrases()["adjectives"]:
            rivals = [c for c in self.columns(relation, "number") if set(words_of(c.name)) & set(entry["of"])]
            if rivals == [column] and self.chance(0.6):
                return str(self.pick(entry["high" if down else "low"])), down, True
        return self.pick(phrases()["number adjectives"]["high" if down else "low"]), down, False

    def top_list(self) -> tuple[str, Asked]:
        """The rows at one end: the first, the first few, the second."""
        relation = self.table()
        label = self._label(relation)
        column = self.pick(self.columns(relation, "number") * 2 + self.columns(relation, "date"))
        adjective, down, alone = self.adjective(relation, column)
        conditions = [c for c in self.some(relation, (6, 4, 1)) if c.predicates[0].place.column != column.name]
        name, way = self.column(self.ref(relation, column), relation.name), self.rng.random()
        slots = {"adj": adjective, "col": name, "row": self.rows(relation.name, conditions, True)}
        asked = Asked(relation.name, columns=(*label, self.ref(relation, column)), conditions=predicates_of(conditions))
        asked = replace(asked, order=(len(label), down))
        if way < 0.5:
            asked = replace(asked, ties=True)
            text = self.say("adj row" if alone else "top row", **slots)
            text = re.sub(r"^which (.*) is the (\S+|\S+ \S+)$", r"which \1 is the \2", text)
        elif way < 0.82:
            limit = self.rng.choice((2, 3, 3, 4, 5, 5, 6, 8, 10, 10, 15, 20))
            asked = replace(asked, limit=limit)
            slots |= {"n": self.number_text(limit), "rows": self.rows(relation.name, conditions)}
            text = self.say("adj rows" if alone else "n rows", **slots)
        else:
            if alone and column.temporal:
                raise Unsayable
            nth = self.rng.choice((1, 1, 1, 2))
            asked = replace(asked, limit=1, offset=nth)
            if alone:
                slots["adj"] = self.pick(phrases()["number adjectives"]["high" if down else "low"][:2])
            text = self.say("nth row", nth=self.say("nth", nth), **slots)
        return text + (self.say("and value", col=name) if self.chance(0.3) and not conditions else ""), asked

    def top_group(self) -> tuple[str, Asked]:
        """The groups at one end of a number, over all or within each group of another kind."""
        relation = self.table()
        number, group, way = self.number(relation), self.group(relation), self.rng.random()
        conditions = self._apart(self.some(relation, (6, 4)), group)
        down, rows = self.chance(0.7), self.rows(relation.name, conditions)
        if number.measure.aggregate in ("min", "max", "median"):
            raise Unsayable
        limit = self.rng.choice((1, 2, 3, 3, 5, 5, 10))
        asked = Asked(
            relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions), order=(0, down)
        )
        np = number.np.format(rows=rows) if conditions or not number.short else number.short
        slots = {"g": group.one, "gs": group.many, "np": np, "n": self.number_text(limit)}
        if way < 0.4:
            most = self.say("most", down, rows=rows) if not number.measure.factors else self.say("highest", down, np=np)
            return self.say("which group", most=most, **slots), replace(asked, ties=True)
        if way < 0.7:
            limit = max(limit, 2)
            slots["n"] = self.number_text(limit)
            return self.say("top groups", down, **slots), replace(asked, limit=limit)
        if way < 0.82:
            nth = self.rng.choice((1, 1, 1, 2))
            text = self.say("nth group", down, nth=self.say("nth", nth), **slots)
            return text, replace(asked, limit=1, offset=nth)
        other = self.group(relation, group, tables=self.chance(0.4))
        text = self.say("best each" if limit == 1 else "top each", down, h=other.one, **slots)
        return text, replace(asked, groups=(other.by, group.by), limit=limit, per=1)

    # -- lists -----------------------------------------------------------------------------------------------------

    def _label(self, relation: Relation) -> tuple[ColumnRef, ...]:
        found = tuple(ColumnRef(relation.name, name) for name in label_columns(relation))
        if not found:
            raise Unsayable
        return found

    def shown(self, relation: Relation, count: int) -> list[tuple[ColumnRef, str]]:
        """Columns worth showing, of the rows and of what they lead to, with their names."""
        places = [self.ref(relation, c) for c in self.columns(relation, "plain")]
        for other in self.above(relation.name):
            places += [ColumnRef(other.name, name) for name in label_columns(other)[:1]]
        if len(places) < count:
            raise Unsayable
        return [(p, self.column(p, relation.name)) for p in self.rng.sample(places, count)]

    def list(self) -> tuple[str, Asked]:
        """Rows that meet conditions, with some of their columns."""
        relation = self.table()
        conditions = self.some(relation, (1, 8, 6, 2))
        rows = self.rows(relation.name, conditions)
        which = bool(label_columns(relation)) and self.chance(0.6)
        (count,) = self.rng.choices((0, 1, 2, 3), (5, 4, 3, 1) if which else (0, 2, 5, 3))
        columns = self.shown(relation, count)
        names = self.joined([name for _, name in columns])
        if which:
            places = [*self._label(relation), *(p for p, _ in columns)]
            text = self.say("which rows", rows=rows) + (self.say("with columns", cols=names) if columns else "")
        else:
            places = [p for p, _ in columns]
            text = self.say("columns of", rows=rows, cols=names)
        asked = Asked(relation.name, columns=tuple(places), conditions=predicates_of(conditions))
        if columns and self.chance(0.25):
            place, name = self.pick(columns)
            column = self.database.relation(place.table).column(place.column)
            key = "number" if column.numeric else "date" if column.temporal else "text"
            down = self.chance(0.55 if key != "text" else 0.1)
            return text + self.say(f"order {key}", down, col=name), replace(asked, order=(places.index(place), down))
        return text, asked

    def values(self) -> tuple[str, Asked]:
        """The different values of a column."""
        relation = self.table()
        column = self.pick(self.columns(relation, "value"))
        place = self.ref(relation, column)
        text = self.say("different", cols=self._plural(self.column(place, relation.name)))
        conditions = [c for c in self.some(relation, (1, 2)) if c.predicates[0].place != place]
        text += self.say("different of", rows=self.rows(relation.name, conditions))
        return text, Asked(relation.name, groups=(GroupBy(place.table, place),), conditions=predicates_of(conditions))

    def above_mean(self) -> tuple[str, Asked]:
        """Rows above or below a mean."""
        relation = self.table()
        label, mean = self._label(relation), self.mean(relation)
        place = mean.predicates[0].place
        more = [c for c in self.some(relation, (6, 3)) if c.predicates[0].place != place]
        text = self.say("which rows", rows=self.rows(relation.name, [*more, mean]))
        columns = [*label]
        if self.chance(0.4):
            columns.append(place)
            text += self.say("with columns", cols=self.column(place, relation.name))
        return text, Asked(relation.name, columns=tuple(columns), conditions=predicates_of([*more, mean]))

    # -- times -----------------------------------------------------------------------------------------------------

    def timed(self) -> tuple[str, Asked]:
        """A number over time."""
        relation = self.table()
        number, group = self.number(relation), self._bucketed(relation)
        conditions = [c for c in self.some(relation, (4, 5, 1)) if not c.predicates[0].bucket]
        bucket = group.by.bucket
        assert bucket
        assert group.by.place
        known = phrases()["bucket one"][bucket]
        by = self.say("bucket", bucket) if group.one in known else self.say("by", g=group.one, gs=group.many)
        if group.one not in known and self.chance(0.4):
            column = self.column(group.by.place, relation.name)
            by = (
                f"{self.say('bucket', bucket)} of the {column}"
                if self.chance(0.5)
                else f"{self.say('bucket', bucket)} by {column}"
            )
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        if self.chance(0.15) and group.one in known:
            other = self.group(relation)
            asked, by = replace(asked, groups=(group.by, other.by)), f"{by} and {other.one}"
        return self.worded(number, relation, conditions, by, self.say("front", g=group.one)) if len(
            asked.groups
        ) == 1 else self.worded(number, relation, conditions, by, ""), asked

    def timed_top(self) -> tuple[str, Asked]:
        """The time with the largest or smallest number."""
        relation = self.table()
        number, group, down = self._counted(relation), self._bucketed(relation), self.chance(0.7)
        conditions = self._apart(self.some(relation, (5, 3)), group)
        rows = self.rows(relation.name, conditions)
        text = self.say("which group", g=group.one, most=self.say("most", down, rows=rows))
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        return text, replace(asked, order=(0, down), ties=True)

    # -- shares, ratios, differences -------------------------------------------------------------------------------

    def part(self) -> tuple[str, Asked]:
        """Which part of rows meets a condition."""
        relation = self.table()
        inner = self.conditions(relation, 1)
        outer = [c for c in self.some(relation, (6, 3)) if c.predicates[0].place != inner[0].predicates[0].place]
        over = Measure("count", relation.name)
        if self.chance(0.25):
            number = self._taken(relation)
            if number.measure.aggregate != "sum":
                raise Unsayable
            over, np = number.measure, number.np.format(rows=self.rows(relation.name, outer))
            text = self.say("part sum", np=np, part=self.rows(relation.name, inner))
        else:
            text = self.say("part", base=self.rows(relation.name, outer), part=self.rows(relation.name, inner))
        measure = replace(over, conditions=predicates_of(inner), over=over)
        asked = Asked(relation.name, (measure,), conditions=predicates_of(outer))
        if self.chance(0.4):
            group = self.group(relation)
            return f"{text} {self.say('by', g=group.one, gs=group.many)}", replace(asked, groups=(group.by,))
        return text, asked

    def share(self) -> tuple[str, Asked]:
        """The part of each group in all."""
        relation = self.table()
        number = self.number(relation, simple=self.chance(0.6))
        group = self.group(relation, number)
        if number.measure.aggregate not in ("count", "sum"):
            raise Unsayable
        conditions = self._apart(self.some(relation, (5, 3)), group)
        text = self.say(
            "share", np=number.np.format(rows=self.rows(relation.name, conditions)), g=group.one, gs=group.many
        )
        asked = Asked(relation.name, (number.measure,), (group.by,), conditions=predicates_of(conditions))
        return text, replace(asked, of_total=True)

    def ratio(self) -> tuple[str, Asked]:
        """One sum divided by another."""
        relation = self.table()
        among = self.columns(relation, "number")
        if len(among) < 2:
            raise Unsayable
        a, b = (self.ref(relation, c) for c in self.rng.sample(among, 2))
        text = self.say("ratio sums", a=self.column(a, relation.name), b=self.column(b, relation.name))
        conditions = self.some(relation, (4, 3))
        if conditions or self.chance(0.6):
            text += f" {self.say('of rows', rows=self.rows(relation.name, conditions))}"
        measure = Measure("sum", relation.name, (a,), over=Measure("sum", relation.name, (b,)))
        asked = Asked(relation.name, (measure,), conditions=predicates_of(conditions))
        if self.chance(0.5):
            group = self.group(relation)
            return f"{text} {self.say('by', g=group.one, gs=group.many)}", replace(asked, groups=(group.by,))
        return text, asked

    def difference(self) -> tuple[str, Asked]:
        """A number of one year or value less that of another."""
        relation = self.table()
        number = self.number(relation, simple=True)
        if number.measure.aggregate not in ("count", "sum", "avg"):
            raise Unsayable
        rows = self.many(relation.name)
        np, counted = number.np.format(rows=rows), not number.measure.factors
        if self.chance(0.5):
            among = self.columns(relation, "date")
            column = self.pick(among)
            earliest, last = self.years(column)
            year = self.rng.randint(min(last, earliest + 1), last)
            place = self.ref(relation, column)
            limits: list[tuple[Predicate, ...]] = [
                (Predicate(place, ">=", (f"{y}-01-01",)), Predicate(place, "<", (f"{y + 1}-01-01",)))
                for y in (year, year - 1)
            ]
            key = "count year difference" if counted and self.chance(0.3) else "year difference"
            text = self.say(key, np=np, rows=rows, y1=year, y0=year - 1)
            text += f", by {self.column(place, relation.name)}" if len(among) > 1 else ""
        else:
            column, values = self._texts(relation, 2, ("value",))
            if any(self._values[v.lower()] > 1 for v in values):
                raise Unsayable
            place = self.ref(relation, column)
            a, b = (self.value_text(v, column) for v in values)
            limits = [(Predicate(place, "=", (v,)),) for v in values]
            text = self.say("count value difference" if counted else "value difference", np=np, rows=rows, a=a, b=b)
        minus = replace(number.measure, conditions=limits[1])
        return text, Asked(relation.name, (replace(number.measure, conditions=limits[0], minus=minus),))

    # -- presences -------------------------------------------------------------------------------------------------

    def presence(self) -> tuple[str, Asked]:
        """Rows that have others, none, so many or only such as meet a condition."""
        owner = self.pick([r for r in self.tables if label_columns(r) and self.children(r.name)])
        child = self.pick(self.children(owner.name))
        way = self.rng.random()
        inner = self.conditions(child, 1, above=False) if way > 0.75 or self.chance(0.45) else []
        within, rows = predicates_of(inner), self.rows(child.name, inner)
        made = Presence(child.name, owner.name, conditions=within)
        if way < 0.35:
            made, said = replace(made, absent=True), self.say("none", rows=rows)
        elif way < 0.75:
            operator: Operator = self.pick((">=", ">=", ">", ">", "<", "<=", "="))
            count = (
                self.rng.choice((1, 2, 2, 3, 3, 4, 5, 10))
                if operator not in ("<", ">=")
                else self.rng.choice((2, 3, 4, 5, 10))
            )
            limit = self.say("count limits", operator, n=self.number_text(count), rows=rows)
            made, said = replace(made, count=(operator, count)), self.say("so many", lim=limit)
        elif way < 0.87:
            made, said = replace(made, every=True), self.say("every", many=self.many(child.name), part=rows)
        else:
            said = self.say("some", rows=rows)
        conditions = self.conditions(owner, 1, above=False) if self.chance(0.25) else []
        text = self.rows(owner.name, [*conditions, Condition((), said)])
        if not made.count and self.chance(0.25):  # so many are counted as groups
            asked = Asked(owner.name, (Measure("count", owner.name),), conditions=predicates_of(conditions))
            return self.say("count ask", rows=text), replace(asked, presences=(made,))
        columns = self.shown(owner, 1) if self.chance(0.3) else []
        listed = self.say("which rows", rows=text)
        listed += self.say("with columns", cols=columns[0][1]) if columns else ""
        asked = Asked(
            owner.name, columns=(*self._label(owner), *(p for p, _ in columns)), conditions=predicates_of(conditions)
        )
        return listed, replace(asked, presences=(made,))
