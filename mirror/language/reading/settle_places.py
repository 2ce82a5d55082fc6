"""Whose rows a draft is about, which column of several it means, and the conditions on both."""

from datetime import datetime, timedelta

from mirror.language.reading.lexemes import of_kind, stem
from mirror.language.reading.linking import Linker, name_stems
from mirror.language.reading.query_draft import Draft, Target, Test
from mirror.language.reading.times import whole_year
from mirror.query.other_data import paths
from mirror.query.other_data.form import ColumnRef, Mean, Predicate, Presence
from mirror.query.spec import ChartWish
from mirror.schema.database import Column, Database
from mirror.schema.names import dates, is_key, is_measure, is_year, label_columns

_FAR = 0.25  # a step from table to table
# What ages are counted in, in days; and what the names of columns of numbers may say that these are.
_DAYS = {"": 365.2425, "year": 365.2425, "quarter": 91.310625, "month": 30.436875, "week": 7.0, "day": 1.0}
_SPANS = frozenset(map(stem, ("second", "minute", "hour", "day", "week", "month", "quarter", "year")))


class Unsettled(Exception):
    """A draft that no query of this database is."""


class Places:
    """One draft and the database it is about."""

    def __init__(self, draft: Draft, linker: Linker, now: datetime) -> None:
        self._draft = draft
        self._linker = linker
        self._database: Database = linker.database
        self._now = now
        self.cost = draft.cost
        self._subject = ""  # the table whose rows are asked for
        self._both: list[Test] = []  # conditions that rows of another table meet, each by a row of its own
        self._twice: str | None = None  # the table that has rows in each of two times

    # -- whose rows ----------------------------------------------------------------------------------------------------

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

    # -- columns -------------------------------------------------------------------------------------------------------

    def _column(self, place: ColumnRef) -> Column:
        return self._database.relation(place.table).column(place.column)

    def _distance(self, start: str, goal: str) -> int:
        found = paths.shortest(self._database, start, goal)
        return len(found[0]) if found else 99

    def _adds(self, place: ColumnRef) -> bool:
        return is_measure(self._database, self._database.relation(place.table), self._column(place))

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

    def _shown(self) -> list[ColumnRef]:
        """The columns that people know the subject's rows by."""
        relation = self._database.relation(self._subject)
        names = label_columns(relation) or relation.key or tuple(c.name for c in relation.columns[:1])
        return [ColumnRef(self._subject, n) for n in names]

    def _holds_years(self, place: ColumnRef) -> bool:
        column = self._column(place)
        return (
            isinstance(column.low, int) and isinstance(column.high, int) and 1000 <= column.low <= column.high <= 2100
        )

    # -- conditions ----------------------------------------------------------------------------------------------------

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
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        first = values[0] if values else None
        number = first if isinstance(first, int | float) and not isinstance(first, bool) else None
        own = set(name_stems(column.name)) & _SPANS
        if test.unit and column.numeric and own and stem(test.unit) not in own:
            raise Unsettled  # "longer than 2 hours", of a column of minutes
        if test.unit not in ("", "year") and self._holds_years(place):
            raise Unsettled
        if number is not None and target.cue and target.cue.turned and operator != "=" and self._holds_years(place):
            year = number if whole_year(number) else self._now.year - int(number)
            return Predicate(place, turned.get(operator, operator), (year,))  # type: ignore[arg-type]
        if column.temporal and number is not None:
            years = float(number)
            if target.cue is None or not target.cue.turned:
                raise Unsettled
            if whole_year(number) and not test.unit:  # "newer than 2000" begins when that year is over
                after = operator in ("<", ">=")
                return Predicate(place, ">=" if operator in ("<", "<=") else "<", (f"{int(years) + after}-01-01",))
            if test.unit not in _DAYS:
                raise Unsettled
            try:
                then = self._now - timedelta(days=_DAYS[test.unit] * years)
            except OverflowError:  # before the calendar
                raise Unsettled from None
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

    def _time(self, time: object, place: ColumnRef | None, base: str) -> list[Predicate]:
        years = getattr(time, "years", ())
        if place is None and years and (own := self._own_years(base)):
            place = own
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

    def _own_years(self, base: str) -> ColumnRef | None:
        """The column of years that a bare year is of: of a table without a date, or where no table has one."""
        relation = self._database.relation(base)
        own = [c for c in relation.columns if is_year(c)]
        if len(own) == 1 and not any(c.temporal for c in relation.columns):
            return ColumnRef(base, own[0].name)
        return None if any(dates(r) for r in self._database.relations) else self._year_column(base)

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

    def _chart(self) -> ChartWish:
        return ChartWish(self._draft.chart, self._draft.log, self._draft.log)  # type: ignore[arg-type]
