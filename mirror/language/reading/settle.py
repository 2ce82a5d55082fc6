"""A draft becomes a form: whose rows, which column of several, which joins; what that costs beyond the words."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from mirror.language.reading.cues import cues
from mirror.language.reading.lexemes import of_kind, stem
from mirror.language.reading.linking import Linker, name_stems
from mirror.language.reading.query_draft import Draft, Rank, Target, Test, Wanted
from mirror.query.errors import Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import (
    Aggregate,
    Asked,
    ColumnRef,
    GroupBy,
    Having,
    Mean,
    Measure,
    Predicate,
    Presence,
)
from mirror.query.spec import ChartWish
from mirror.schema.database import Column, Database
from mirror.schema.names import dates, is_key, is_measure, label_columns, usual_aggregate

_FAR = 0.25  # a step from table to table


class Unsettled(Exception):
    """A draft that no query of this database is."""


class Settler:
    """One draft and the database it is about."""

    def __init__(self, draft: Draft, linker: Linker, now: datetime) -> None:
        self._draft = draft
        self._linker = linker
        self._database: Database = linker.database
        self._now = now
        self.cost = draft.cost

    def asked(self) -> Asked:
        """The form. Raises Unsettled."""
        draft = self._draft
        draft.tests = [t for i, t in enumerate(draft.tests) if t not in draft.tests[:i]]
        self._subject = self._find_subject()
        self._both = [
            t for t in draft.tests
            if t.operator == "=" and t.target.place and t.target.place.table != self._subject and not draft.gap
            and sum(o.target.place == t.target.place and o.operator == "=" for o in draft.tests) > 1
        ]  # fmt: skip
        others = [t for t in draft.tables if t != self._subject]
        self._twice = others[-1] if draft.both and len(draft.times) == 2 and others else None
        if draft.elapsed:
            return self._elapsed()
        if draft.share and draft.share_of is None and not draft.wanted and not draft.listed:
            draft.share_of = Target(table=self._subject)
        if draft.share and not draft.gap:
            return self._share()
        if draft.gap and (found := self._gap()):
            return found
        if draft.rank and draft.rank.marked:
            return self._ranked(draft.rank)
        measured = [
            t for t in draft.listed if t.cue or (t.place and self._column(t.place).numeric and self._adds(t.place))
        ]
        dated = bool(draft.listed) and all(t.place and self._column(t.place).temporal for t in draft.listed)
        if dated and any(g.bucket for g in draft.groups):  # "bookings per year"
            draft.event, draft.listed = draft.listed[0].place, []
            draft.tests.append(Test(Target(place=draft.event), "is not null"))
        if draft.per is not None:
            return self._quotient(draft.per)
        if draft.wanted or draft.having or (draft.groups and (measured or not draft.listed)):
            return self._numbers()
        if measured and len(measured) == len(draft.listed) and not draft.subject and not draft.person:
            return self._numbers()
        return self._listing()

    def _adds(self, place: ColumnRef) -> bool:
        return is_measure(self._database, self._database.relation(place.table), self._column(place))

    # -- whose rows ------------------------------------------------------------------------------------------------

    def _find_subject(self) -> str:
        draft = self._draft
        if draft.person and (people := self._people()):
            return people
        if draft.subject:
            return draft.subject
        named = [*draft.listed, *(w.target for w in draft.wanted), *draft.groups]
        tables = list(dict.fromkeys(t.place.table for t in named if t.place is not None))
        if len(tables) > 1:  # the table each of whose rows has one of all the others
            down = [t for t in tables if all(paths.reaches_up(self._database, t, other) for other in tables)]
            if down:
                return down[0]
        for target in named:
            if target.place is not None:
                return target.place.table
            if target.table:
                return target.table
        tested = [t.target for t in draft.tests]
        ranked = [draft.rank.target] if draft.rank and draft.rank.target else []
        for target in [*named, *tested, *ranked]:
            near = draft.tables[0] if draft.tables else None
            if target.cue and (found := self._columns(target, near)):
                return found[0][0].table
        if draft.tables:
            table = draft.tables[0]
            holders = [k.table for k in self._database.foreign_keys if k.to == table]
            lookup = len(self._database.relation(table).columns) <= 6 and len(set(holders)) == 1 and bool(draft.tests)
            return holders[0] if lookup else table  # "desserts": dishes of that kind
        relations = [r for r in self._database.relations if not r.view] or list(self._database.relations)
        if len(relations) == 1:
            return relations[0].name
        if not relations:
            raise Unsettled
        self.cost += 1.0
        return self._facts()

    def _people(self) -> str | None:
        """The table of people, the named one first."""
        draft = self._draft
        found = [r.name for r in self._database.relations if set(name_stems(r.name)) & of_kind("people")]
        if named := next((t for t in draft.tables if t in found), None):
            return named
        if len(found) > 1:
            self.cost += 0.2
            about = list(draft.tables) or [self._facts()]
            found.sort(key=lambda t: (len(name_stems(t)), sum(self._distance(t, other) for other in about)))
        return found[0] if found else None

    def _facts(self) -> str:
        """The table whose rows are events: most foreign keys, then most rows."""

        def weight(name: str) -> tuple[int, int]:
            keys = sum(k.table == name for k in self._database.foreign_keys)
            return keys, self._database.relation(name).rows or 0

        return max((r.name for r in self._database.relations), key=weight)

    # -- columns ---------------------------------------------------------------------------------------------------

    def _column(self, place: ColumnRef) -> Column:
        return self._database.relation(place.table).column(place.column)

    def _distance(self, start: str, goal: str) -> int:
        found = paths.shortest(self._database, start, goal)
        return len(found[0]) if found else 99

    def _columns(self, target: Target, near: str | None, dates_too: bool = True) -> list[tuple[ColumnRef, float]]:
        """Columns that a measure word may mean, near a table first; each with its cost."""
        assert target.cue
        if target.cue.own:
            return [(self._usual(target.cue.own), 0.0)]
        found = []
        for place, cost in self._linker.columns_of(target.cue.of):
            column = self._column(place)
            if not dates_too and not column.numeric:
                continue
            relation = self._database.relation(place.table)
            if column.numeric and is_key(self._database, relation, column):
                continue
            far = self._distance(near, place.table) if near else 0
            if far > 6:
                continue
            found.append((place, cost + _FAR * far))
        return sorted(found, key=lambda item: item[1])

    def _place(self, target: Target, near: str, numbers: bool = False) -> ColumnRef:
        """The one column that a target means. Raises Unsettled."""
        if target.place is not None:
            if self._distance(near, target.place.table) > 6:
                raise Unsettled
            return self._nearest(target.place, near)
        if target.cue is not None:
            found = self._columns(target, near, dates_too=not numbers)
            if not found:
                raise Unsettled
            self.cost += found[0][1]
            return found[0][0]
        raise Unsettled

    def _nearest(self, place: ColumnRef, near: str) -> ColumnRef:
        """The same column in the table that is asked about, where that has it too."""
        self.cost += 0.08 * self._distance(near, place.table)
        return place

    def _date(self, table: str) -> ColumnRef:
        """The date of a table's rows, or of the nearest table that has one."""
        found: list[tuple[int, int, ColumnRef]] = []
        for relation in self._database.relations:
            far = self._distance(table, relation.name)
            if far > 4:
                continue
            for i, column in enumerate(dates(relation)):
                words = set(name_stems(column.name))
                personal = bool(words & of_kind("life"))
                found.append((far * 2 + (5 if personal else 0), i, ColumnRef(relation.name, column.name)))
        if not found:
            raise Unsettled
        found.sort(key=lambda item: item[:2])
        self.cost += 0.1 * (found[0][0] > 1)
        return found[0][2]

    # -- conditions ------------------------------------------------------------------------------------------------

    def _predicates(self, base: str, share: bool | None = None) -> tuple[Predicate, ...]:
        """The conditions of the question; with `share` only those of the part, or only the others."""
        found: list[Predicate] = []
        for test in self._draft.tests:
            if (share is None or test.share == share) and test not in self._both:
                found.append(self._predicate(test, base))
        if share is not True and self._draft.still:
            found.append(self._open_ended(base))
        if share is not True:
            for time, place, inside in self._draft.times:
                if not inside and not self._twice:
                    found += self._time(time, place, base)
        fixed: dict[ColumnRef, object] = {}
        for predicate in found:
            if predicate.operator == "=" and fixed.setdefault(predicate.place, predicate.values) != predicate.values:
                raise Unsettled  # no row has two values at once
        return tuple(dict.fromkeys(found))

    def _open_ended(self, base: str) -> Predicate:
        """What has not ended: "current staff", "alerts that are still open"."""
        own = self._draft.still_table
        for table in (own,) if own else dict.fromkeys((self._subject, base, *self._draft.tables)):
            for column in self._database.relation(table).columns:
                if column.temporal and column.nullable and set(name_stems(column.name)) & of_kind("end"):
                    return Predicate(ColumnRef(table, column.name), "is null")
        raise Unsettled

    def _predicate(self, test: Test, base: str) -> Predicate:
        target = test.target
        named = target.place is not None or target.cue is not None
        place = self._place(target, base) if named else self._usual(base)
        column = self._column(place)
        operator = test.operator
        if test.mean:
            if not column.numeric:
                raise Unsettled
            return Predicate(place, operator, (Mean(place, self._alike(test.within, place)),))
        values = test.values
        if column.temporal and values and isinstance(values[0], int | float) and not isinstance(values[0], bool):
            years = float(values[0])
            if target.cue is None or not target.cue.turned:
                raise Unsettled
            then = self._now - timedelta(days=365.2425 * years)
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return Predicate(place, turned.get(operator, operator), (then.date().isoformat(),))  # type: ignore[arg-type]
        if not column.numeric and any(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            raise Unsettled
        return Predicate(place, operator, values)  # type: ignore[arg-type]

    def _alike(self, within: Target | None, place: ColumnRef) -> ColumnRef | None:
        """The column of the same table in which rows are alike: its own, or the key of the table that is named."""
        if within is None:
            return None
        if within.place is not None and within.place.table == place.table:
            return within.place
        goal = within.place.table if within.place else within.table
        keys = [
            k for k in self._database.foreign_keys if k.table == place.table and k.to == goal and len(k.columns) == 1
        ]
        if len(keys) != 1:
            raise Unsettled
        return ColumnRef(place.table, keys[0].columns[0])

    def _usual(self, table: str) -> ColumnRef:
        """The number that a table is about, where nobody names one."""
        relation = self._database.relation(table)
        found = [
            c for c in relation.columns if is_measure(self._database, relation, c) and c.type in ("real", "integer")
        ]
        if not found:
            raise Unsettled
        self.cost += 0.3 * (len(found) - 1)
        return ColumnRef(table, found[0].name)

    def _time(self, time: object, place: ColumnRef | None, base: str) -> list[Predicate]:
        years = getattr(time, "years", ())
        if place is None and years and not any(dates(r) for r in self._database.relations):
            place = self._year_column(base)
            if time.operator == "between":  # type: ignore[attr-defined]
                return [Predicate(place, ">=", (years[0],)), Predicate(place, "<=", (years[-1],))]
            return [Predicate(place, time.operator, (years[0],))]  # type: ignore[attr-defined]
        place = place or self._draft.event or self._date(base)
        stamp = self._column(place).type == "timestamp"
        found = []
        for operator, moment in ((">=", time.start), ("<", time.end)):  # type: ignore[attr-defined]
            if moment is not None:
                text = (
                    moment.isoformat(" ")
                    if stamp and moment.time() != datetime.min.time()
                    else moment.date().isoformat()
                )
                found.append(Predicate(place, operator, (text,)))  # type: ignore[arg-type]
        return found

    def _year_column(self, base: str) -> ColumnRef:
        for relation in sorted(self._database.relations, key=lambda r: self._distance(base, r.name)):
            for column in relation.columns:
                if column.numeric and stem("year") in name_stems(column.name):
                    return ColumnRef(relation.name, column.name)
        raise Unsettled

    def _presences(self, base: str) -> tuple[Presence, ...]:
        found = [
            Presence(t.target.place.table, base, conditions=(self._predicate(t, t.target.place.table),))  # type: ignore[union-attr]
            for t in self._both
        ]
        if self._twice:  # "who ordered both in 2024 and in 2025"
            for time, place, _ in self._draft.times:
                found.append(Presence(self._twice, base, conditions=tuple(self._time(time, place, self._twice))))
        for belonging in self._draft.belongings:
            if belonging.table == base or base == "":
                raise Unsettled
            if self._distance(base, belonging.table) > 4:
                raise Unsettled
            inside = [self._predicate(t, belonging.table) for t in belonging.tests]
            for time, place, within in self._draft.times:
                if within:
                    inside += self._time(time, place, belonging.table)
            if belonging.every and not inside:
                raise Unsettled
            found.append(
                Presence(belonging.table, base, belonging.absent, tuple(inside), None, belonging.count, belonging.every)
            )
        return tuple(found)

    # -- groups and measures ---------------------------------------------------------------------------------------

    def _groups(self, base: str) -> tuple[GroupBy, ...]:
        found: list[GroupBy] = []
        for target in self._draft.groups:
            found.append(self._group(target, base))
        return tuple(dict.fromkeys(found))

    def _group(self, target: Target, base: str) -> GroupBy:
        if target.bucket:
            date = target.place or self._group_date(base)
            return GroupBy(date.table, date, target.bucket)
        if target.place is not None:
            place = self._nearest(target.place, base)
            return GroupBy(place.table, place)
        if target.table is not None:
            if self._distance(base, target.table) > 6:
                raise Unsettled
            self.cost += 0.08 * self._distance(base, target.table)
            return GroupBy(target.table, role=target.role)
        place = self._place(target, base)
        return GroupBy(place.table, place)

    def _group_date(self, base: str) -> ColumnRef:
        if self._draft.event:
            return self._draft.event
        named = [t.place for t in self._draft.listed if t.place and self._column(t.place).temporal]
        timed = [place for _, place, _ in self._draft.times if place]
        return (named or timed or [self._date(base)])[0]

    def _measure(self, wanted: Wanted, base: str) -> Measure:
        target, aggregate = wanted.target, wanted.aggregate
        if target == Target():
            return Measure("count", self._subject)
        if target.place is None and target.table is not None:
            return self._counted(target)
        if target.cue is not None and aggregate in (None, "sum", "value") and (product := self._product(target, base)):
            return product
        place = self._measure_place(target, base)
        column = self._column(place)
        if aggregate == "count" and target.cue is not None:
            aggregate = "sum"
        if aggregate in (None, "value"):
            aggregate = usual_aggregate(column) or "sum"  # type: ignore[assignment]
            self.cost += 0.1
        if aggregate == "distinct":
            return Measure("distinct", place.table, (place,))
        if aggregate == "count":
            return Measure("count", place.table)
        if column.numeric and is_key(self._database, self._database.relation(place.table), column):
            raise Unsettled  # numbers that only name rows
        if not column.numeric:
            if column.temporal and aggregate in ("min", "max"):
                return Measure(aggregate, place.table, (place,))
            raise Unsettled
        return Measure(aggregate, place.table, (place,))  # type: ignore[arg-type]

    def _counted(self, target: Target) -> Measure:
        """Rows; where a part of the name was said and each row stands for several, those: tickets of ticket sales."""
        assert target.table
        columns = self._database.relation(target.table).columns
        many = [c.name for c in columns if c.numeric and set(name_stems(c.name)) & of_kind("many")]
        if target.part and len(many) == 1:
            return Measure("sum", target.table, (ColumnRef(target.table, many[0]),))
        return Measure("count", target.table)

    def _product(self, target: Target, base: str) -> Measure | None:
        """Money that no column holds: quantity times price of one table's rows."""
        assert target.cue
        if "revenue" not in target.cue.of:
            return None
        if any(
            cost < 0.5 and usual_aggregate(self._column(p)) == "sum" for p, cost in self._columns(target, None, False)
        ):
            return None
        for relation in sorted(self._database.relations, key=lambda r: self._distance(base, r.name)):
            named = {c.name: set(name_stems(c.name)) for c in relation.columns if c.numeric}
            many = [n for n, words in named.items() if words & of_kind("many")]
            price = [n for n, words in named.items() if words & of_kind("price")]
            if len(many) == 1 and len(price) == 1 and self._distance(base, relation.name) < 6:
                table = relation.name
                return Measure("sum", table, (ColumnRef(table, many[0]), ColumnRef(table, price[0])))
        return None

    def _measure_place(self, target: Target, base: str) -> ColumnRef:
        if target.place is not None:
            return self._nearest(target.place, base)
        return self._place(target, base, numbers=True)

    def _base_of(self, measures: Iterable[Measure]) -> str:
        return next((m.table for m in measures), self._subject)

    def _numbers(self) -> Asked:
        draft = self._draft
        wanted = list(draft.wanted)
        listed = [t for t in draft.listed if not (t.place and self._column(t.place).temporal and draft.groups)]
        grouped = [t for t in listed if t.place is not None and not self._column(t.place).numeric]
        for target in [t for t in listed if t not in grouped]:
            wanted.append(Wanted(None, target))
        draft.groups += [t for t in grouped if t not in draft.groups]
        if draft.having and not draft.groups and draft.subject:
            draft.groups.append(Target(table=draft.subject))
        havings = []
        for target, limit in draft.having:
            if not any(w.target == target for w in wanted):
                wanted.append(Wanted("count" if target.table and not target.place else None, target))
            at = next(i for i, w in enumerate(wanted) if w.target == target)
            havings.append(Having(at, limit.operator, limit.values[0] if limit.values else None))
        counted = False
        if havings and len(wanted) > 1 and wanted[0].aggregate == "count" and wanted[0].target.table == draft.subject:
            counted = True  # "how many customers have more than 3 orders"
            draft.groups = draft.groups or [Target(table=draft.subject)]
            wanted, havings = wanted[1:], [replace(h, measure=h.measure - 1) for h in havings]
        if not wanted:
            tables = [g.table or (g.place.table if g.place else None) for g in draft.groups]
            if self._subject in tables or draft.distinct:
                others = [t for t in draft.tables if t not in tables]
                wanted.append(Wanted("count", Target(table=others[0] if others else self._subject)))
                self.cost += 0.2
            else:
                wanted.append(Wanted("count", Target(table=self._subject)))
        measures = tuple(dict.fromkeys(self._measure(w, self._subject) for w in wanted))
        base = self._base_of(measures)
        if draft.groups and draft.each and base in [g.table for g in draft.groups if not g.place]:
            self.cost += 0.1
        groups = self._groups(base)
        if any(g.place is None and g.bucket is None and g.table == base for g in groups) and measures == (
            Measure("count", base),
        ):
            raise Unsettled  # the rows of a table, one by one
        asked = Asked(
            base,
            measures,
            groups,
            conditions=self._predicates(base),
            presences=self._presences(self._presence_base(base, groups)),
            having=tuple(havings),
            count_groups=counted,
            outer=draft.outer if groups and not counted else None,
            chart=self._chart(),
        )
        if draft.outer and not groups:
            raise Unsettled
        return self._sorted(asked)

    def _presence_base(self, base: str, groups: tuple[GroupBy, ...]) -> str:
        """Whose belongings are meant: those of the subject."""
        return self._subject if self._draft.belongings else base

    def _sorted(self, asked: Asked) -> Asked:
        sort = self._draft.sort
        if sort is None or not asked.groups or asked.outer or asked.count_groups:
            return asked
        return replace(asked, order=(0, sort.largest)) if sort.target is None or asked.measures else asked

    def _chart(self) -> ChartWish:
        return ChartWish(type=self._draft.chart) if self._draft.chart else ChartWish()  # type: ignore[arg-type]

    # -- shares, gaps, times between -------------------------------------------------------------------------------

    def _share(self) -> Asked:
        """The part of the rows, or of a number, that meets the conditions; or of each group in the whole."""
        draft = self._draft
        target = draft.share_of or (draft.wanted[0].target if draft.wanted else Target(table=self._subject))
        wanted = Wanted(None, target)
        if target.place is not None and not self._column(target.place).numeric:
            wanted = Wanted("count", Target(table=target.place.table))
        measure = self._measure(wanted, self._subject)
        base = measure.table
        part = self._predicates(base, share=True)
        rest = self._predicates(base, share=False)
        groups = self._groups(base)
        if not part and rest and not groups:
            part, rest = tuple(p for p in rest), ()
        presences = self._presences(base)
        if groups and not part and not presences and not rest:
            return Asked(base, (measure,), groups, of_total=True, chart=self._chart())
        if part and not presences:
            whole = replace(measure, conditions=part, over=measure)
            return Asked(base, (whole,), groups, conditions=rest, chart=self._chart())
        raise Unsettled

    def _quotient(self, per: Target) -> Asked:
        """One number for each unit of another: sales per guest."""
        draft = self._draft
        wanted = draft.wanted[0] if draft.wanted else Wanted(None, draft.listed[0])
        if wanted.aggregate == "avg":
            wanted = Wanted(None, wanted.target)
        top = self._measure(wanted, self._subject)
        under = self._measure(Wanted("sum", per), self._subject)
        return Asked(
            top.table, (replace(top, over=under),), self._groups(top.table),
            conditions=self._predicates(top.table), chart=self._chart(),
        )  # fmt: skip

    def _gap(self) -> Asked | None:
        """The difference of a number between two values or two times; with a share, their quotient."""
        draft = self._draft
        target = draft.wanted[0] if draft.wanted else None
        if target is None:
            found = [t for t in draft.listed if t.place is None or self._column(t.place).numeric]
            target = Wanted(None, found[0]) if found else Wanted("count", Target(table=self._subject))
        measure = self._measure(target, self._subject)
        base = measure.table
        sides: list[tuple[Predicate, ...]] = []
        rest: list[Predicate] = []
        tests = [self._predicate(t, base) for t in draft.tests]
        columns = [p.place for p in tests]
        for predicate in tests:
            several = predicate.operator == "in" and len(predicate.values) == 2
            if several:
                sides += [(Predicate(predicate.place, "=", (v,)),) for v in predicate.values]
            elif columns.count(predicate.place) == 2:
                sides.append((predicate,))
            else:
                rest.append(predicate)
        if not sides and len(draft.times) == 2:
            sides = [tuple(self._time(time, place, base)) for time, place, _ in draft.times]
        else:
            for time, place, _ in draft.times:
                rest += self._time(time, place, base)
        if len(sides) != 2:
            raise Unsettled
        first, second = (replace(measure, conditions=side) for side in sides)
        both = replace(first, over=second) if draft.share else replace(first, minus=second)
        return Asked(base, (both,), self._groups(base), conditions=tuple(rest), chart=self._chart())

    def _elapsed(self) -> Asked:
        """How many days lie between two dates of a row, on average where nobody says how."""
        draft = self._draft
        named = [t.place for t in draft.listed if t.place and self._column(t.place).temporal]
        if len(named) >= 2 and named[0].table == named[1].table:
            first, second = named[:2]
        else:
            relations = [r for r in self._database.relations if len([c for c in r.columns if c.temporal]) >= 2]
            near = [r for r in relations if r.name in (self._subject, *draft.tables)] or relations
            if not near:
                raise Unsettled
            dated = [ColumnRef(near[0].name, c.name) for c in near[0].columns if c.temporal]
            self.cost += 0.3 * (len(near) - 1) + 0.2 * (len(dated) - 2)
            first = next((d for d in dated if d not in named), dated[0])
            second = named[0] if named else dated[1]
        draft.listed = [t for t in draft.listed if t.place not in (first, second)]
        base = first.table
        aggregate = next((w.aggregate for w in draft.wanted if w.aggregate in ("avg", "min", "max", "median")), "avg")
        if draft.rank and draft.rank.marked:
            raise Unsettled
        measure = Measure(aggregate, base, (first,), until=second, unit=draft.unit)  # type: ignore[arg-type]
        return Asked(base, (measure,), self._groups(base), conditions=self._predicates(base), chart=self._chart())

    # -- first places ----------------------------------------------------------------------------------------------

    def _ranked(self, rank: Rank) -> Asked:
        draft = self._draft
        limit = rank.number
        subject = self._subject
        target = rank.target
        if target is None and draft.wanted and draft.groups:
            target, rank.aggregate = draft.wanted[0].target, draft.wanted[0].aggregate
        if target is None:
            target = self._found_target(rank)
        # What is ranked: groups that were named, a column that was asked for, or the rows of the subject.
        kinds = [t for t in draft.listed if t.place is not None and not self._column(t.place).numeric and t != target]
        things = draft.groups or kinds
        own = self._own_column(target, rank, subject)
        if own is not None and not things:
            return self._rows_ranked(own, rank, limit)
        if (
            own is not None
            and not draft.groups
            and kinds
            and all(k.place and (k.place.table == subject or k.place.table == own.table) for k in kinds)
            and not rank.aggregate
            and self._labels(kinds)
        ):
            return self._rows_ranked(own, rank, limit, kinds)
        measure = self._rank_measure(target, rank, subject)
        base = measure.table
        if not things:
            if base == subject and not measure.factors:
                raise Unsettled
            things = [Target(table=subject)]
            if subject == base:
                own_place = measure.factors[0]
                return self._rows_ranked(own_place, rank, limit)
        groups = tuple(dict.fromkeys(self._group(t, base) for t in things))
        per = 0
        if len(groups) == 2 and limit is None and draft.each:
            per, limit = 1, 1
            groups = groups[::-1] if draft.groups and groups[0].place is None else groups
        several = limit is not None and limit > 1
        return Asked(
            base,
            (measure,),
            groups,
            conditions=self._predicates(base),
            presences=self._presences(subject),
            order=(0, rank.largest),
            limit=limit if several or per else (1 if rank.nth > 1 else None),
            ties=not several and not per and rank.nth == 1,
            offset=rank.nth - 1,
            per=per,
            chart=self._chart(),
        )

    def _labels(self, kinds: list[Target]) -> bool:
        return all(k.place and k.place.column in label_columns(self._database.relation(k.place.table)) for k in kinds)

    def _found_target(self, rank: Rank) -> Target:
        """What is ranked by where the words name nothing: rows of the other table, or the usual number."""
        draft = self._draft
        others = [t for t in draft.tables if t != self._subject]
        numeric = [t for t in draft.listed if t.place and self._column(t.place).numeric]
        if numeric:
            draft.listed.remove(numeric[0])
            return numeric[0]
        cued = [t for t in draft.listed if t.cue]
        if cued:
            draft.listed.remove(cued[0])
            return cued[0]
        if others:
            return Target(table=others[-1])
        if draft.groups or any(t.place for t in draft.listed):
            return Target(table=self._subject)
        sized = next((c for c in cues().get((rank.text,), ()) if c.kind == "adj"), None)
        if sized and (
            found := [f for f in self._columns(Target(cue=sized), self._subject) if f[0].table == self._subject]
        ):
            self.cost += 0.1
            return Target(place=found[0][0])
        self.cost += 0.6
        return Target(place=self._usual(self._subject))

    def _own_column(self, target: Target, rank: Rank, subject: str) -> ColumnRef | None:
        """The column of the subject's own rows that they are ranked by; None where it is another table's."""
        if rank.aggregate:
            return None
        if target.place is not None:
            place = target.place
        elif target.cue is not None:
            found = self._columns(target, subject)
            if target.cue.rows:
                found = [f for f in found if f[0].table == subject]
            if not found:
                return None
            place = found[0][0]
            if place.table == subject or paths.reaches_up(self._database, subject, place.table):
                self.cost += found[0][1]
        else:
            return None
        if place.table == subject or paths.reaches_up(self._database, subject, place.table):
            return place
        return None

    def _rank_measure(self, target: Target, rank: Rank, subject: str) -> Measure:
        if target.cue is not None and target.cue.rows and not self._columns(target, subject, dates_too=False):
            return self._counted_facts(subject)
        aggregate: Aggregate | None = rank.aggregate
        if target.place is None and target.cue is None and target.table:
            return self._counted(target)
        if target.cue is not None and aggregate in (None, "sum") and (product := self._product(target, subject)):
            return product
        place = self._place(target, subject)
        column = self._column(place)
        if aggregate is None and column.temporal:
            aggregate = "max" if rank.largest else "min"
        if aggregate is None and target.cue is not None and target.cue.rows:
            aggregate = "sum"
        return self._measure(Wanted(aggregate, Target(place=place)), subject)

    def _counted_facts(self, subject: str) -> Measure:
        """Rows of what happens to the subject: "the busiest", "the most popular"."""
        named = [t for t in self._draft.tables if t != subject]
        down = [k.table for k in self._database.foreign_keys if k.to == subject]
        tables = named or down
        if self._draft.groups and not tables:
            return Measure("count", subject)
        if not tables:
            return Measure("count", subject)
        self.cost += 0.1 * (len(tables) - 1)
        return Measure("count", tables[0])

    def _rows_ranked(self, place: ColumnRef, rank: Rank, limit: int | None, kinds: list[Target] | None = None) -> Asked:
        """Rows of the subject in the order of a column."""
        column = self._column(place)
        largest = rank.largest
        cue = rank.target.cue if rank.target else None
        if cue and cue.turned and (column.temporal or self._is_year(place)):
            largest = not largest
        if not (column.numeric or column.temporal):
            raise Unsettled
        if column.numeric and is_key(self._database, self._database.relation(place.table), column):
            raise Unsettled
        shown = [t.place for t in (kinds or [])] or self._shown()
        listed = [t.place for t in self._draft.listed if t.place]
        columns = tuple(dict.fromkeys([*shown, *listed, place]))
        several = limit is not None and limit > 1
        return Asked(
            self._subject,
            columns=columns,
            conditions=self._predicates(self._subject),
            presences=self._presences(self._subject),
            order=(columns.index(place), largest),
            limit=limit if several else (1 if rank.nth > 1 else None),
            ties=not several and rank.nth == 1,
            offset=rank.nth - 1,
            chart=self._chart(),
        )

    def _is_year(self, place: ColumnRef) -> bool:
        column = self._column(place)
        return (
            isinstance(column.low, int) and isinstance(column.high, int) and 1000 <= column.low <= column.high <= 2100
        )

    def _shown(self) -> list[ColumnRef]:
        """The columns that people know the subject's rows by."""
        relation = self._database.relation(self._subject)
        names = label_columns(relation) or relation.key or tuple(c.name for c in relation.columns[:1])
        return [ColumnRef(self._subject, n) for n in names]

    # -- lists -----------------------------------------------------------------------------------------------------

    def _listing(self) -> Asked:
        draft = self._draft
        places = [self._place(t, self._subject) for t in draft.listed]
        others = [t for t in draft.tables if t != self._subject and self._subject]
        relation = self._database.relation(self._subject)
        labels = self._shown()
        if not places:
            if not label_columns(relation):
                columns = [ColumnRef(self._subject, c.name) for c in relation.columns if c.type != "other"]
            else:
                columns = labels
        elif all(self._column(p).type in ("text", "boolean") and not self._column(p).unique for p in places) and (
            not draft.subject or places[0].table != self._subject
        ):
            groups = tuple(GroupBy(p.table, p) for p in places)  # "which cities": each once
            base = draft.subject or places[0].table
            return Asked(base, groups=groups, conditions=self._predicates(base), presences=self._presences(base))
        else:
            columns = [*(labels if draft.subject or draft.person else []), *places]
        for table in others:
            tested = any(t.target.place and t.target.place.table == table for t in draft.tests)
            if any(p.table == table for p in places) or tested or any(b.table == table for b in draft.belongings):
                continue
            self.cost += 0.1
            if paths.reaches_up(self._database, self._subject, table):  # "shipments with customer and ship"
                relation = self._database.relation(table)
                columns = [*columns, *(ColumnRef(table, n) for n in label_columns(relation) or relation.key)]
        order = None
        if draft.sort and places:
            numeric = [
                i for i, p in enumerate(dict.fromkeys(columns)) if self._column(p).numeric or self._column(p).temporal
            ]
            order = (numeric[0], draft.sort.largest) if numeric else None
        return Asked(
            self._subject,
            columns=tuple(dict.fromkeys(columns)),
            conditions=self._predicates(self._subject),
            presences=self._presences(self._subject),
            order=order,
            chart=self._chart(),
        )


def settled(draft: Draft, linker: Linker, now: datetime) -> tuple[Asked, float]:
    """The form of a draft and what it cost. Raises Unsettled."""
    settler = Settler(draft, linker, now)
    try:
        return settler.asked(), settler.cost
    except (Refusal, KeyError, IndexError) as error:
        raise Unsettled from error
