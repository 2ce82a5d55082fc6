"""The numbers of a draft: measures by groups, shares of a whole, quotients, differences, times between two dates."""

from collections.abc import Iterable
from dataclasses import replace

from mirror.language.reading.lexemes import of_kind
from mirror.language.reading.linking import name_stems
from mirror.language.reading.query_draft import Target, Wanted
from mirror.language.reading.settle_places import Places, Unsettled
from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Having, Measure, Predicate
from mirror.schema.names import dates, is_key, is_year, usual_aggregate

_PRICES_ADDED = 1.0  # the sum of a list of prices, of which nobody says how many were paid


class Numbers(Places):
    """Settles what is measured."""

    # -- groups --------------------------------------------------------------------------------------------------------

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

    # -- measures ------------------------------------------------------------------------------------------------------

    def _measure(self, wanted: Wanted, base: str) -> Measure:
        target, aggregate = wanted.target, wanted.aggregate
        if target == Target():
            return Measure("count", self._subject)
        if target.place is None and target.table is not None:
            return self._counted(target)
        if target.cue is not None and aggregate in (None, "sum", "value") and (product := self._product(target, base)):
            return product
        place = self._measure_place(target, base)
        if target.times is not None:
            return self._multiplied(place, target.times, aggregate)
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
        if aggregate == "sum" and is_year(column):
            raise Unsettled
        if target.cue and "revenue" in target.cue.of and usual_aggregate(column) == "avg":
            self.cost += _PRICES_ADDED * (not dates(self._database.relation(place.table)))
        if not column.numeric:
            if column.temporal and aggregate in ("min", "max"):
                return Measure(aggregate, place.table, (place,))
            raise Unsettled
        return Measure(aggregate, place.table, (place,))  # type: ignore[arg-type]

    def _multiplied(self, place: ColumnRef, times: ColumnRef, aggregate: str | None) -> Measure:
        """Two columns of one row, or of a row and the one that it names."""
        if not (self._adds(place) and self._adds(times)):
            raise Unsettled
        for one, other in ((place, times), (times, place)):
            if paths.reaches_up(self._database, one.table, other.table):
                return Measure(aggregate or "sum", one.table, (place, times))  # type: ignore[arg-type]
        raise Unsettled

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
            price = [n for n, words in named.items() if words & of_kind("price")]
            many = [n for n, words in named.items() if words & of_kind("many") and n not in price]
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
            if limit.operator == "in" and len(limit.values) == 2:
                havings += [Having(at, ">=", limit.values[0]), Having(at, "<=", limit.values[1])]
            else:
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
            presences=self._presences(self._presence_base(base)),
            having=tuple(havings),
            count_groups=counted,
            outer=draft.outer if groups and not counted else None,
            chart=self._chart(),
        )
        if draft.outer and not groups:
            raise Unsettled
        return self._sorted(asked)

    def _presence_base(self, base: str) -> str:
        """Whose belongings are meant: those of the subject."""
        return self._subject if self._draft.belongings else base

    def _sorted(self, asked: Asked) -> Asked:
        sort = self._draft.sort
        if sort is None or not asked.groups or asked.outer or asked.count_groups:
            return asked
        return replace(asked, order=(0, sort.largest)) if sort.target is None or asked.measures else asked

    # -- shares, quotients, differences, times between -----------------------------------------------------------------

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
        if not part and rest and not groups:  # "of paid orders in 2024": among the orders of 2024
            told = tuple(p for p in rest if not (self._column(p.place).temporal or is_year(self._column(p.place))))
            part, rest = told or rest, tuple(p for p in rest if told and p not in told)
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
