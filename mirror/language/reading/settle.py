"""A draft becomes a form, with what that costs beyond the words: which kind of question it is, first places, lists."""

from datetime import datetime

from mirror.language.reading.cues import cues
from mirror.language.reading.lexemes import of_kind, stem
from mirror.language.reading.linking import Linker
from mirror.language.reading.query_draft import Draft, Rank, Target, Test, Wanted
from mirror.language.reading.settle_measures import Numbers
from mirror.language.reading.settle_places import Unsettled
from mirror.query.errors import Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import Aggregate, Asked, ColumnRef, GroupBy, Measure
from mirror.schema.names import is_key, label_columns


class Settler(Numbers):
    """Settles one draft."""

    def asked(self) -> Asked:
        """The form. Raises Unsettled."""
        draft = self._draft
        if not (draft.tables or draft.wanted or draft.listed or draft.groups or draft.tests or draft.times):
            raise Unsettled  # nothing is asked for
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

    # -- first places --------------------------------------------------------------------------------------------------

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
            order=(0, rank.largest != bool(measure.factors and self._turns(target, measure.factors[0]))),
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
        below = [k.table for k in self._database.foreign_keys if k.to == self._subject]
        try:
            return Target(place=self._usual(self._subject))
        except Unsettled:
            if below:
                return Target(table=below[0])  # "the best customers", by their orders
            raise

    def _own_column(self, target: Target, rank: Rank, subject: str) -> ColumnRef | None:
        """The column of the subject's own rows that they are ranked by; None where it is another table's."""
        if rank.aggregate:
            return None
        if target.place is not None:
            place = target.place
        elif target.cue is not None:
            if (
                target.cue.kind == "measure"
                and stem(target.said) not in of_kind("price")
                and self._product(target, subject)
            ):
                return None  # revenue, and not the price of one
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

    def _turns(self, target: Target, place: ColumnRef) -> bool:
        """Whether the highest of what is asked for has the lowest value of a column: the oldest, of a year of birth."""
        return bool(target.cue and target.cue.turned and (self._column(place).temporal or self._holds_years(place)))

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
            aggregate = "max" if rank.largest != self._turns(target, place) else "min"
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
        if cue and cue.turned and (column.temporal or self._holds_years(place)):
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

    # -- lists ---------------------------------------------------------------------------------------------------------

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
