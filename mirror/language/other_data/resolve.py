"""What the words ask for becomes the form: every word one column, every way one way, nothing counted twice."""

from dataclasses import dataclass, replace

from mirror.language.other_data.conditions import dotted, rows_of, settled
from mirror.language.other_data.measures import Measures
from mirror.language.other_data.mentions import DOWNWARD, By, Limit, MeasureMention, known_sentence, wish
from mirror.language.other_data.vocabulary import Item
from mirror.query.errors import Ambiguity, Impossible, Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Having, Measure, Presence
from mirror.schema.database import Column
from mirror.schema.names import column_words, is_measure, label_columns, many, plural, qualified, usual_aggregate

_MEANS = ("sum", "avg", "median", "stddev")
MOST_COLUMNS = 12  # of a list that names none


@dataclass(frozen=True)
class _Leading:
    """What rows or groups are sorted by."""

    descending: bool
    ties: bool


class Resolver(Measures):
    """One question. Raises Refusal or Ambiguity."""

    def asked(self) -> Asked:
        """The form of the question."""
        slots, pick = self._slots, self._pick
        if not (slots.measures or slots.groups or slots.named or slots.course):
            self._rows_of_tests()
        items = [
            *slots.context,
            *slots.named,
            *slots.via,
            *(b.item for b in slots.belongings),
            *(w.item for w in slots.measures),
        ]
        items += [by.item for by in slots.groups if by.item]
        pick.context = {pick.table(i) for i in items if i.tables}
        pick.via = tuple(pick.table(i) for i in slots.via)
        slots.distinct &= bool(slots.groups)
        self._named_date()
        self._entities()
        if slots.course and not any(by.bucket for by in slots.groups):
            slots.groups.append(By(None, "month"))
            self._notes.append("over time is by month")
        asked = self._list() if self._is_list() else self._grouped()
        return replace(asked, notes=tuple(dict.fromkeys(self._notes)), via=pick.via, chart=wish(slots))

    def _named_date(self) -> None:
        items = [t.item for t in self._slots.tests if t.span and t.item]
        items += [by.item for by in self._slots.groups if by.bucket and by.item]
        dates = [i for i in items if any(self._pick.column(p).temporal for p in i.places)]
        if dates:
            self._pick.date_named = self._pick.date("", dates[0])

    def _rows_of_tests(self) -> None:
        """`amount over 100` alone asks for the rows where it is."""
        compared = [t.item for t in self._slots.tests if t.item and t.item.kind == "column" and t.item.places]
        if not compared:
            raise Refusal(f"It is not said what to show. {known_sentence(self._pick.known)}")
        self._pick.context = {self._pick.table(i) for i in self._slots.context}
        table = self._pick.one_of(compared[0].places, compared[0], self._pick.phrase).table
        self._tables = [Item("table", table, tables=(table,))]

    # -- what is grouped, ranked or listed -------------------------------------------------------------------------

    def _entities(self) -> None:
        """Whose ranking, or whose number, is asked for: the first table or column that is named."""
        slots = self._slots
        limited = {limit.measure for limit in slots.limits}
        if limited and not slots.groups:
            first = slots.measures[0]
            if 0 not in limited and first.aggregate in ("count", "distinct"):
                self._count_groups = True
                slots.measures.pop(0)
                slots.limits = [Limit(x.operator, x.value, x.measure - 1) for x in slots.limits]
                slots.groups = [By(first.item)]
            elif slots.named:
                slots.groups = [By(self._taken())]
            else:
                raise Refusal(
                    "It is not said what is counted for each of: name it, as in “customers with more than 3 orders”."
                )
        elif limited and 0 not in limited:
            raise Refusal(
                "A condition on one number beside another number is not read: ask for one of them, or write SQL."
            )
        elif self._ranked and not slots.groups and slots.named and (slots.measures or not self._tables):
            slots.groups = [By(self._taken())]
        if (slots.measures or slots.groups) and self._columns and not self._is_list():
            slots.groups += [By(item) for item in self._columns]
            self._columns = []

    def _taken(self) -> Item:
        """The first item that is named, which is then no context any more."""
        item = self._slots.named[0]
        self._tables = [i for i in self._tables if i is not item]
        self._columns = [i for i in self._columns if i is not item]
        return item

    def _is_list(self) -> bool:
        """Whether rows are listed as they are: nothing is added up, and nothing is grouped."""
        slots = self._slots
        if slots.limits or any(w.aggregate for w in slots.measures) or self._count_groups:
            return False
        if self._ranked and len(slots.groups) == 1 and (item := slots.groups[0].item) and item.tables:
            table = self._pick.table(item)
            return all(table in {p.table for p in w.item.places} and not w.times for w in slots.measures)
        if slots.groups or slots.distinct:
            return False
        if not slots.measures:
            return True
        if self._ranked:
            return bool(self._tables)
        return not any(w.times or self._usual(w) == "sum" for w in slots.measures)

    def _usual(self, mention: MeasureMention) -> str:
        found = {usual_aggregate(self._pick.column(p)) for p in mention.item.places if self._pick.column(p).numeric}
        return "sum" if "sum" in found else next(iter(found), "")

    # -- lists -----------------------------------------------------------------------------------------------------

    def _list(self) -> Asked:
        slots, pick = self._slots, self._pick
        entity = [by.item for by in slots.groups if by.item]
        tables = [pick.table(i) for i in [*entity, *self._tables]]
        pick.base = tables[0] if tables else ""
        numbers = [self._number(w.item) for w in slots.measures]
        places = [self._shown(i) for i in self._columns]
        base = tables[0] if tables else self._lowest([*places, *numbers])
        pick.base = base
        order = None
        if self._ranked and not numbers and not slots.dated:
            numbers = [ColumnRef(base, self._only_number(base, entity or self._tables).name)]
        if self._ranked:
            order = pick.date(base) if slots.dated else numbers[slots.leading or 0]
        columns = list(dict.fromkeys([*places, *numbers]))
        if order and not places:
            columns = [*self._names(base), *(numbers if slots.superlative and not slots.dated else self._all(base))]
        if not columns:
            columns = self._all(base)
        columns = list(dict.fromkeys([*columns, *([order] if order else [])]))
        for place in columns:
            way, _ = pick.way(base, place, None)
            if paths.multiplies(way):
                raise Refusal(
                    f"{rows_of(base).capitalize()} has several {many(place.table)}, so {dotted(place)} cannot stand "
                    f"beside it: ask for {many(place.table)}."
                )
        conditions, presences = settled(slots.tests, slots.belongings, base, pick)
        presences = [*presences, *self._there(base, self._tables, {c.place.table for c in conditions})]
        lead = self._leading()
        return Asked(
            base,
            columns=tuple(columns),
            conditions=tuple(conditions),
            presences=tuple(presences),
            order=(columns.index(order), lead.descending) if order else None,
            limit=slots.limit,
            ties=bool(order) and lead.ties,
        )

    def _all(self, table: str) -> list[ColumnRef]:
        relation = self._pick.relation(table)
        usable = [c for c in relation.columns if c.type != "other"]
        if len(usable) > MOST_COLUMNS:
            self._notes.append(f"the first {MOST_COLUMNS} of {len(usable)} columns")
        return [ColumnRef(table, c.name) for c in usable[:MOST_COLUMNS]]

    def _names(self, table: str) -> list[ColumnRef]:
        """The columns that people know a row by."""
        relation = self._pick.relation(table)
        return [ColumnRef(table, name) for name in label_columns(relation) or relation.key]

    def _lowest(self, places: list[ColumnRef]) -> str:
        """The table from which each of the columns has one value a row."""
        for place in places:
            if all(paths.reaches_up(self._database, place.table, other.table) for other in places):
                return place.table
        return places[0].table

    def _only_number(self, table: str, items: list[Item]) -> Column:
        """The one number that rows of a table can be ranked by. Raises Ambiguity."""
        relation = self._pick.relation(table)
        numbers = [c for c in relation.columns if is_measure(self._database, relation, c)]
        for few in (numbers, [c for c in numbers if usual_aggregate(c) == "sum"]):
            if len(few) == 1:
                return few[0]
        raise self._by_what(table, numbers)

    def _by_what(self, table: str, numbers: list[Column]) -> Ambiguity | Refusal:
        """What a table could be ranked by: its numbers, how many rows belong to it, and their numbers."""
        choices = [qualified(table, c.name) for c in numbers]
        for link in self._database.foreign_keys:
            child = self._pick.relation(link.table)
            if link.to == table and not child.view:
                choices.append(f"number of {many(child.name)}")
                choices += [
                    f"total {qualified(child.name, c.name)}"
                    for c in child.columns
                    if is_measure(self._database, child, c) and usual_aggregate(c) == "sum"
                ]
        if not choices:
            return Refusal(f"{table} has no number to rank it by, and nothing belongs to it: name what counts.")
        asked = [self._pick.sentence([*self._pick.words, "by", choice]) for choice in dict.fromkeys(choices)]
        return Ambiguity(f"By what should {many(table)} be ranked?", tuple(asked[:6]))

    def _shown(self, item: Item) -> ColumnRef:
        return self._pick.place(item, lambda *_: True, "")

    # -- groups ----------------------------------------------------------------------------------------------------

    def _grouped(self) -> Asked:
        slots, pick = self._slots, self._pick
        if slots.dated:
            raise Refusal(
                "First and last are read of rows alone, as in “last 5 orders”: ask for the lowest or highest."
            )
        if self._ranked and not slots.measures and not slots.distinct:
            self._need_measure()
        measures = [self._measure(w, bool(slots.groups)) for w in slots.measures]
        pick.base = measures[0].table if measures else self._base_of_groups()
        if not measures and not slots.distinct:
            measures = [Measure("count", pick.base)]
        base = pick.base
        groups = [self._group(by) for by in slots.groups]
        groups = list(dict.fromkeys(groups))
        tables = list(dict.fromkeys(m.table for m in measures)) or [base]
        if len(tables) > 2:
            raise Refusal("Numbers of three tables at once are not read: ask for fewer of them.")
        for measure in measures or [Measure("distinct", base)]:
            self._check(measure, groups)
        conditions, presences = settled(slots.tests, slots.belongings, base, pick)
        grouped = {g.table for g in groups}
        others = [i for i in self._tables if pick.table(i) not in grouped]
        presences += self._there(base, others, {c.place.table for c in conditions})
        if len(tables) == 2 and presences:
            raise Refusal("Numbers of two tables with a condition on other rows are not read: ask for one of them.")
        for table in tables:
            for condition in conditions:
                pick.way(table, condition.place, None)
        self._complete_groups(measures, groups)
        order = None
        lead = self._leading()
        if measures and (self._ranked or slots.limits) and groups and not self._count_groups:
            order = (slots.leading or 0, lead.descending)
        return Asked(
            base,
            measures=tuple(measures),
            groups=tuple(groups),
            conditions=tuple(conditions),
            presences=tuple(presences),
            having=tuple(Having(x.measure, x.operator, x.value) for x in slots.limits),
            order=order,
            limit=slots.limit,
            ties=order is not None and lead.ties,
            count_groups=self._count_groups,
        )

    def _complete_groups(self, measures: list[Measure], groups: list[GroupBy]) -> None:
        """Refuse what asks for few of something, where those that have none are in no group; and what ranks nothing."""
        slots = self._slots
        if not measures:
            return
        if (slots.superlative or slots.limit) and not groups:
            raise Refusal(
                "It is not said whose number is ranked: name it, as in “which customer has the highest total amount”."
            )
        few = {x.measure for x in slots.limits if x.operator in ("<", "<=", "<>")}
        if slots.superlative and not self._leading().descending:
            few.add(slots.leading or 0)
        for i in few:
            table = measures[i].table
            if measures[i].aggregate == "count" and any(g.place is None and g.table != table for g in groups):
                of = many(next(g.table for g in groups if g.place is None))
                raise Refusal(
                    f"{of.capitalize()} without any {many(table)} would be left out: ask for those without "
                    f"{many(table)}, or for those that have more."
                )

    def _leading(self) -> _Leading:
        slots = self._slots
        descending = slots.superlative in DOWNWARD or not slots.superlative
        if slots.ascending is not None:
            descending = not slots.ascending
        several = slots.limit is not None or slots.superlative in ("", "top", "bottom")
        return _Leading(descending, not several)

    def _need_measure(self) -> None:
        item = self._slots.groups[0].item if self._slots.groups else None
        if item is None:
            raise Refusal("It is not said what is ranked by what: as in “top 5 products by total quantity”.")
        if item.tables:
            raise self._by_what(self._pick.table(item), [])
        place = self._shown(item)
        choices = [f"number of {many(place.table)}"]
        relation = self._pick.relation(place.table)
        choices += [f"total {column_words(c.name)}" for c in relation.columns if usual_aggregate(c) == "sum"]
        asked = [self._pick.sentence([*self._pick.words, "by", choice]) for choice in choices]
        raise Ambiguity(f"By what should {item.text} be ranked?", tuple(asked[:6]))

    def _base_of_groups(self) -> str:
        """Whose rows are counted where only groups are named: the table that is named beside them, or theirs."""
        if self._tables:
            return self._pick.table(self._tables[0])
        for by in self._slots.groups:
            if by.item and not by.item.tables:
                return self._shown(by.item).table
            if by.item:
                return self._pick.table(by.item)
        raise Refusal(f"It is not said what is counted. {known_sentence(self._pick.known)}")

    def _group(self, by: By) -> GroupBy:
        pick = self._pick
        if by.bucket:
            place = self._with_role(pick.date(pick.base, by.item), by.item)
            return GroupBy(place.table, place, by.bucket)
        assert by.item is not None
        if by.item.tables:
            table = pick.table(by.item)
            _, role = pick.way_to(pick.base, table, by.item.role, by.item)
            return GroupBy(table, role=role)
        place = self._with_role(self._shown(by.item), by.item)
        if pick.column(place).type == "timestamp":
            self._notes.append(f"{column_words(place.column)} is by day")
            return GroupBy(place.table, place, "day")
        return GroupBy(place.table, place)

    def _with_role(self, place: ColumnRef, item: Item | None) -> ColumnRef:
        _, role = self._pick.way(self._pick.base, place, item)
        return replace(place, role=role)

    # -- counted once ----------------------------------------------------------------------------------------------

    def _check(self, measure: Measure, groups: list[GroupBy]) -> None:
        """Refuse what would count a row several times."""
        for group in groups:
            role = group.place.role if group.place else group.role
            way, _ = self._pick.way_to(measure.table, group.table, role, None)
            if not paths.multiplies(way):
                continue
            several = next(step.to for step in way if step.multiplies)
            if paths.turns_down(way):
                raise Impossible(
                    f"{many(measure.table).capitalize()} and {many(group.table)} only share {many(way[0].to)}: neither "
                    "belongs to the other, so one cannot be split by the other."
                )
            if measure.aggregate in _MEANS:
                what = column_words(measure.factors[0].column) if measure.factors else "number"
                raise Impossible(
                    f"{rows_of(measure.table).capitalize()} has several {many(several)}, so its {what} would be "
                    f"counted once for each of them: ask for a number of {many(several)}, or for the number of "
                    f"{many(measure.table)}."
                )
            if measure.aggregate == "count":
                if not self._pick.relation(measure.table).key:
                    raise Impossible(
                        f"{measure.table} has no primary key, so {many(measure.table)} with several {many(several)} "
                        "could be counted twice: ask without them."
                    )
                by = plural(column_words(group.place.column)) if group.place else many(group.table)
                self._notes.append(f"{rows_of(measure.table)} may count for several {by}")

    def _there(self, base: str, items: list[Item], conditioned: set[str]) -> list[Presence]:
        """Tables named beside the base: rows of them that belong to it must be there."""
        found = []
        for item in items:
            table = self._pick.table(item)
            if table == base:
                continue
            way, _ = self._pick.way_to(base, table, None, item)
            passed = any(
                table in {step.to for step in paths.shortest(self._database, base, other)[0]}
                for other in conditioned - {base}
            )
            if any(step.multiplies for step in way) and not passed:
                found.append(Presence(table, base))
        return found
