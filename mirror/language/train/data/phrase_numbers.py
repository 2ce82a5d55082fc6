"""Numbers and groups of made-up questions, in words and as they are asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.language.train.data.phrase_names import Unsayable, phrases
from mirror.language.train.data.phrase_parts import Condition, Parts
from mirror.query.other_data.form import (
    Aggregate,
    Bucket,
    GroupBy,
    Having,
    Measure,
    Operator,
)
from mirror.schema.database import Column, Relation
from mirror.schema.names import label_columns, plural, usual_aggregate, words_of

_OPPOSITES: tuple[Operator, ...] = (">=", ">=", ">", ">", "<", "<=")
_BUCKETS: tuple[Bucket, ...] = (
    "year",
    "month",
    "month",
    "quarter",
    "week",
    "day",
    "weekday",
    "weekday",
    "month_of_year",
)


@dataclass(frozen=True)
class Number:
    """A measure in words: `np` and `ask` hold `{rows}` where its rows are said."""

    measure: Measure
    np: str
    short: str
    ask: str


@dataclass(frozen=True)
class Group:
    """What rows are grouped by, in words; a bucket is said behind the number alone."""

    by: GroupBy
    one: str
    many: str


class Numbers(Parts):
    """What is counted, added up or averaged, and by what, over one database."""

    def number(self, relation: Relation, simple: bool = False) -> Number:
        """What is counted, added up or averaged."""
        makers = [self._counted] * 9 + [self._taken] * 8 + ([] if simple else [self._product] * 4 + [self._span] * 3)
        return self.pick([*makers, self._distinct])(relation)

    def _counted(self, relation: Relation) -> Number:
        ask = self.say("count ask", rows="{rows}")
        return Number(Measure("count", relation.name), self.say("count np", rows="{rows}"), "", ask)

    def _of_rows(self, short: str, measure: Measure, ask: str = "") -> Number:
        np = f"{short} {self.say('of rows', rows='{rows}')}"
        return Number(measure, np, short, ask or self.say("np ask", np=np))

    def _taken(self, relation: Relation) -> Number:
        dated = self.chance(0.08)
        column = self.pick(self.columns(relation, "date" if dated else "number"))
        among: list[Aggregate] = ["sum"] * 5 + ["avg"] * 5 + ["min", "max", "max", "median"]  # type: ignore[assignment]
        if dated or usual_aggregate(column) == "avg":
            among = ["min", "max"] if dated else ["avg", "avg", "avg", "min", "max", "median"]
        aggregate = self.pick(among)
        place = self.ref(relation, column)
        key = f"{aggregate} date np" if dated else f"{aggregate} np"
        return self._of_rows(
            self.say(key, col=self.column(place, relation.name)), Measure(aggregate, relation.name, (place,))
        )

    def _distinct(self, relation: Relation) -> Number:
        place = self.ref(relation, self.pick(self.columns(relation, "value")))
        measure = Measure("distinct", relation.name, (place,))
        short = self.say("distinct np", cols=self._plural(self.column(place, relation.name)))
        np = f"{short} {self.say('of rows', rows='{rows}')}"
        return Number(measure, np, short, np if short.startswith("how") else self.say("np ask", np=np))

    def _plural(self, name: str) -> str:
        head, _, tail = name.partition(" of the ")
        *first, last = head.split()
        return " ".join((*first, plural(last))) + (f" of the {tail}" if tail else "")

    def _product(self, relation: Relation) -> Number:
        """Two numbers of a row, or of it and what it leads to, multiplied: a price and how many."""
        near = [relation, *self.above(relation.name)]
        every = [(r, c) for r in near for c in self.columns(r, "number")]
        prices = [at for at in every if self._worded(at[1], "money words")]
        many = [at for at in every if self._worded(at[1], "many words") and at[0] is relation and at not in prices]
        one, other = self.pick(many), self.pick([at for at in prices if at[0] is relation or self.chance(0.5)])
        a, b = self.ref(*other), self.ref(*one)
        if self.chance(0.5):
            a, b = (b, a) if a.table == b.table else (a, b)
        measure = Measure("sum", relation.name, (b, a) if a.table != relation.name else (a, b))
        if len(prices) == 1 and len(many) == 1 and self.chance(0.4) and measure.table == measure.factors[0].table:
            return self._of_rows(self.say("revenue np"), measure)
        names = [self.column(p, relation.name) for p in measure.factors]
        return self._of_rows(self.say("product np", a=names[0], b=names[1]), measure)

    def _worded(self, column: Column, key: str) -> bool:
        return bool(set(phrases()[key]) & {w for o in words_of(column.name) for w in self._written_out([o])})

    def _span(self, relation: Relation) -> Number:
        """The time between two dates of a row."""
        among = self.columns(relation, "date")
        if len(among) < 2:
            raise Unsayable
        pair = sorted(self.rng.sample(among, 2), key=lambda c: str(c.low))
        both_times = all(c.type == "timestamp" for c in pair)
        unit = self.pick(("hours", "minutes", "days") if both_times else ("days",))
        aggregate: Aggregate = self.pick(("avg", "avg", "avg", "sum", "max", "min", "median"))
        start, end = (self.ref(relation, c) for c in pair)
        names = [self.column(p, relation.name) for p in (start, end)]
        measure = Measure(aggregate, relation.name, (start,), end, unit)  # type: ignore[arg-type]
        short = self.say("span np", aggregate, unit=unit, a=names[0], b=names[1])
        ask = ""
        if aggregate == "avg" and self.chance(0.5):
            ask = self.say("span ask", unit=unit, a=names[0], b=names[1], rows="{rows}")
        return self._of_rows(short, measure, ask)

    def group(self, relation: Relation, other_than: Group | Number | None = None, tables: bool = True) -> Group:
        """A column of the rows or of what they lead to, or a table that they lead to; not what is said already."""
        above = self.above(relation.name)
        named = [r for r in above if label_columns(r)]
        if tables and named and self.chance(0.45):
            table = self.pick(named).name
            one = self.one(table)
            found = Group(GroupBy(table), one, self._plural(one))
        else:
            near = [relation, relation, *above]
            places = [self.ref(r, c) for r in near for c in self.columns(r, "value")]
            place = self.pick(places)
            one = self.column(place, relation.name)
            found = Group(GroupBy(place.table, place), one, self._plural(one))
        if isinstance(other_than, Group) and (found.by.table, found.by.place) == (
            other_than.by.table,
            other_than.by.place,
        ):
            raise Unsayable
        if isinstance(other_than, Number) and found.by.place in other_than.measure.factors:
            raise Unsayable
        return found

    def _apart(self, conditions: list[Condition], group: Group) -> list[Condition]:
        """Conditions but for those that leave one group alone."""
        return [c for c in conditions if group.by.place is None or c.predicates[0].place != group.by.place]

    def _having(self, number: Number, relation: Relation) -> tuple[Having, str]:
        """A limit on the number of each group."""
        operator: Operator = self.pick(_OPPOSITES)
        measure = number.measure
        if measure.aggregate == "count":
            count = self.rng.choice((2, 3, 4, 5, 10, 20, 50) if operator in ("<", ">=") else (1, 2, 3, 4, 5, 10, 20))
            text = self.number_text(count)
            return Having(0, operator, count), self.say("count limits", operator, n=text, rows=self.many(relation.name))
        if measure.aggregate not in ("sum", "avg", "max", "min", "median") or measure.until or len(measure.factors) > 1:
            raise Unsayable
        column = relation.column(measure.factors[0].column)
        if column.temporal:
            raise Unsayable
        value = self.number_in(column) * (self.rng.choice((1, 5, 10, 100)) if measure.aggregate == "sum" else 1)
        value = round(value, 1) if isinstance(value, float) else value
        return Having(0, operator, value), self.say(
            "value limits", operator, np=number.short, v=self.number_text(value)
        )

    def _beyond(self, number: Number, relation: Relation, group: Group) -> tuple[Having, str]:
        """A limit on the number of each group by the mean of all groups."""
        operator: Operator = self.pick((">", ">", "<"))
        if number.measure.aggregate == "count":
            slots = {"rows": self.many(relation.name), "g": group.one}
            return Having(0, operator, None), self.say("count mean limits", operator, **slots)
        if not number.short:
            raise Unsayable
        said = self.say("mean limits", operator, np=number.short, gs=group.many, g=group.one)
        return Having(0, operator, None), said

    def _bucketed(self, relation: Relation, buckets: Sequence[Bucket] = _BUCKETS) -> Group:
        column = self.pick(self.columns(relation, "date"))
        bucket = (
            "hour" if column.type == "timestamp" and buckets is _BUCKETS and self.chance(0.2) else self.pick(buckets)
        )
        one = self.say("bucket one", bucket)
        if not self.alone(relation, column):
            verb = self.verb(column)
            one += (
                f" {verb}"
                if verb and self.chance(0.3)
                else f" of the {self.column(self.ref(relation, column), relation.name)}"
            )
        place = self.ref(relation, column)
        head, _, tail = one.partition(" of the ")
        plural = one + "s" if not tail else f"{head}s of the {tail}"
        return Group(GroupBy(relation.name, place, bucket), one, plural)
