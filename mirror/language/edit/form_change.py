"""What a fragment changes in the form before: its conditions, groups, order, number of rows or chart."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product

from mirror.language.edit import merging
from mirror.language.edit.fragment import Fragment
from mirror.language.reading.held import parts_of
from mirror.language.reading.lexemes import of_kind
from mirror.language.reading.linking import Linker, name_stems
from mirror.language.reading.query_draft import Draft, Rank, Target
from mirror.language.reading.settle_measures import Numbers
from mirror.language.reading.settle_places import Unsettled
from mirror.query.errors import Impossible, Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.counted_once import why_counted_twice
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Predicate, Presence
from mirror.query.other_data.key_roles import Role, roles
from mirror.schema.database import ForeignKey, shown
from mirror.schema.names import dates, many, one

_ELSEWHERE = 0.1  # a table that the form before does not speak of
_MOST_ROWS = 1000
# Pieces of a draft that ask for something new.
_NEW = ("wanted", "listed", "having", "share", "gap", "outer", "elapsed", "per", "both")
_MERE_ENDS = ("top", "bottom")  # of an order, and no single winner


class NoChange(Refusal):
    """The form stays as it is."""


class Change(Numbers):
    """One draft and the form that it changes."""

    def __init__(self, draft: Draft, linker: Linker, now: datetime, before: Asked, fragment: Fragment) -> None:
        super().__init__(draft, linker, now)
        self._before, self._fragment = before, fragment
        self._base = before.measures[0].table if before.measures else before.table
        self._subject = draft.subject or self._base
        named = {p.table for p in parts_of(before, ColumnRef)} | {g.table for g in before.groups}
        self._known = {self._base, *named}
        self._roles = set(parts_of(before, ForeignKey))
        self._day: ColumnRef | None = None

    def asks_more(self) -> bool:
        """Whether the words ask for something new, and do not only change what is there."""
        draft = self._draft
        if any(getattr(draft, name) for name in _NEW):
            return True
        if draft.subject and not (self._fragment.marked and self._is_of_rows(draft.subject)):
            return True
        if draft.person and not draft.subject:
            return True
        order = draft.rank or draft.sort
        target = order.target if order else None
        if target is None or (target.cue and not self._columns(target, self._base)):  # "highest", where nothing is high
            return False
        return self._place_in_order(target) is None

    def _is_of_rows(self, table: str) -> bool:
        """Whether a table that is named only says again whose rows they are, or of what."""
        limited = self._draft.tests or self._draft.times or self._draft.belongings
        return table in self._known or bool(limited and paths.reaches_up(self._database, self._base, table))

    def forms(self) -> Iterator[Asked]:
        """The form with the changes; several where several dates or foreign keys may be meant. Raises Refusal."""
        for day in self._days():
            self._day = day
            yield from self._of_day()

    def _of_day(self) -> Iterator[Asked]:
        before, draft, base = self._before, self._draft, self._base
        conditions = self._predicates(base)
        presences = self._presences(self._subject)
        groups = tuple(dict.fromkeys(self._group(t, base) for t in draft.groups))
        ranked = draft.rank is not None or draft.sort is not None
        self._check_lacking(conditions)
        merging.check_not_within(before, conditions)
        merging.check_groups_kept(before, bool(groups), ranked)
        self._check_owner(presences)
        parts: list[list[Predicate] | list[GroupBy] | list[Presence]] = []
        parts += [[replace(c, place=replace(c.place, role=r)) for r in self._ways_to(c.place)] for c in conditions]
        parts += [self._ways_of(g) for g in groups]
        parts += [[replace(p, role=r) for r in self._ways_down(p)] for p in presences]
        for chosen in product(*parts):
            asked = self._with(
                [c for c in chosen if isinstance(c, Predicate)],
                [g for g in chosen if isinstance(g, GroupBy)],
                [p for p in chosen if isinstance(p, Presence)],
            )
            if asked == before:
                raise NoChange(
                    "That changes nothing: say what should be different, such as “only ...”, “without ...”, “by ...”, "
                    "“top 3” or “as bars”."
                )
            if twice := why_counted_twice(asked, self._database):
                raise Impossible(twice)
            yield asked

    def _with(self, conditions: list[Predicate], groups: list[GroupBy], presences: list[Presence]) -> Asked:
        before, more = self._before, self._fragment.more
        asked = replace(before, conditions=merging.merged(before.conditions, conditions, more))
        anew = {(p.table, p.owner, p.role, p.conditions) for p in presences}
        kept = [p for p in before.presences if p in presences or (p.table, p.owner, p.role, p.conditions) not in anew]
        asked = replace(asked, presences=tuple(dict.fromkeys((*kept, *presences))))
        if groups:
            asked = replace(asked, groups=tuple(dict.fromkeys((*(before.groups if more else ()), *groups))))
        if order := self._draft.rank or self._draft.sort:
            asked = self._ranked_anew(asked, order)
        if self._draft.chart or self._draft.log:
            new, old = self._chart(), before.chart
            chart = replace(old, type=new.type or old.type, log_x=old.log_x or new.log_x, log_y=old.log_y or new.log_y)
            asked = replace(asked, chart=chart)
        return asked

    def _check_lacking(self, conditions: Sequence[Predicate]) -> None:
        """Raises Impossible for "drop country" of numbers by country, which is no condition on rows without one."""
        by = {g.place for g in self._before.groups if g.place}
        lacking = (c.place for c in conditions if c.operator == "is null" and self._fragment.without)
        if lost := next((p for p in lacking if any((p.table, p.column) == (g.table, g.column) for g in by)), None):
            raise Impossible(
                f"The numbers are by {lost.table}.{lost.column}: name the groups that are to stay, as in “by month "
                f"instead”, or ask “only where {lost.column} is empty”."
            )

    def _check_owner(self, presences: Sequence[Presence]) -> None:
        """Raises Refusal for conditions on other rows that the form before has no place for."""
        owner = self._subject
        ways = paths.shortest(self._database, self._base, owner, None, self._before.via)
        if presences and ways and paths.multiplies(ways[0]):
            raise Refusal(f"One {one(self._base)} has several {many(owner)}: ask about {many(owner)} themselves.")
        tables = {part.table for m in self._before.measures for part in m.parts}
        if presences and len(tables) > 1:
            raise Refusal("Numbers of two tables with a condition on other rows are not read: ask for one of them.")

    # -- first places ----------------------------------------------------------------------------------------------

    def _ranked_anew(self, asked: Asked, order: Rank) -> Asked:
        limit = order.number or (1 if order.nth > 1 else None)
        merging.check_ranked(asked, limit)
        if order.number is not None and not 1 <= order.number <= _MOST_ROWS:
            raise Impossible(f"“{order.number}” is no number of rows: ask for the top 1 to 1,000.")
        at = asked.order[0] if asked.order else 0
        largest = order.largest
        if order.target is not None:
            found = self._place_in_order(order.target)
            if found is None:
                raise Unsettled
            at = found
            cue = order.target.cue
            shown = None if asked.measures else asked.columns[at]
            of_time = shown is not None and (self._column(shown).temporal or self._holds_years(shown))
            largest ^= bool(cue and cue.turned and of_time)
        ties = order is self._draft.rank and limit is None and order.text not in _MERE_ENDS
        return replace(asked, order=(at, largest), limit=limit, ties=ties, offset=order.nth - 1)

    def _place_in_order(self, target: Target) -> int | None:
        """Which measure or column of the form before a ranking is by; None where it has none such."""
        if target.place is not None:
            meant = [target.place]
        else:
            meant = [place for place, _ in self._columns(target, self._base)] if target.cue else []
        shown_by = [set(m.factors) for m in self._before.measures] or [{c} for c in self._before.columns]
        for place in meant:
            if (at := next((i for i, places in enumerate(shown_by) if place in places), None)) is not None:
                return at
        counted = target.table is not None and target.place is None
        tables = [m.table for m in self._before.measures if not m.factors]
        return tables.index(target.table) if counted and target.table in tables else None

    # -- which date ------------------------------------------------------------------------------------------------

    def _days(self) -> list[ColumnRef | None]:
        """The dates that a time without a name may be of: the one that the form before has, or the nearest."""
        draft = self._draft
        open_times = [t for t, place, inside in draft.times if place is None and not inside]
        if not open_times and not any(g.bucket and g.place is None for g in draft.groups):
            return [None]
        if self._has_years(open_times):
            return [None]
        used = [c.place for c in self._before.conditions] + [g.place for g in self._before.groups if g.place]
        used += [f for m in self._before.measures for f in m.factors]
        if known := [p for p in used if self._column(p).temporal]:
            return [known[0]]
        return list(self._nearest_dates())

    def _has_years(self, times: Sequence[object]) -> bool:
        """Whether the times are bare years, and a column of years is what they are compared with."""
        return bool(times) and all(getattr(t, "years", ()) for t in times) and self._own_years(self._base) is not None

    def _nearest_dates(self) -> Sequence[ColumnRef]:
        by_distance: dict[int, list[ColumnRef]] = {}
        for relation in self._database.relations:
            ways = paths.shortest(self._database, self._base, relation.name, None, self._before.via)
            if ways and not paths.multiplies(ways[0]) and (not relation.view or relation.name == self._base):
                found = [ColumnRef(relation.name, c.name) for c in dates(relation)]
                by_distance.setdefault(len(ways[0]), []).extend(found)
        nearest = next((by_distance[far] for far in sorted(by_distance) if by_distance[far]), [])
        if not nearest:
            named = [f"{r.name}.{c.name}" for r in self._database.relations if not r.view for c in dates(r)]
            there = f"the dates here are {shown(named)}" if named else "no table has one"
            raise Refusal(f"{self._base} has no date, so nothing can be said of a time: {there}.")
        return [p for p in nearest if not set(name_stems(p.column)) & of_kind("life")] or nearest

    def _date(self, table: str) -> ColumnRef:
        return self._day or super()._date(table)

    def _usual(self, table: str) -> ColumnRef:
        """What `over 100` is of: the number that the form before is about, of each row."""
        own = [m.factors[0] for m in self._before.measures if len(m.factors) == 1 and m.factors[0].table == table]
        own += [c for c in self._before.columns if c.table == table and self._adds(c)]
        return own[0] if len(own) == 1 else super()._usual(table)

    def _nearest(self, place: ColumnRef, near: str) -> ColumnRef:
        self.cost += _ELSEWHERE * (place.table not in self._known)
        return super()._nearest(place, near)

    # -- which way -------------------------------------------------------------------------------------------------

    def _ways_of(self, group: GroupBy) -> list[GroupBy]:
        if group.place is not None:
            return [replace(group, place=replace(group.place, role=r)) for r in self._ways_to(group.place)]
        return [replace(group, role=role) for role in self._roles_to(self._base, group.table, group.role)]

    def _ways_to(self, place: ColumnRef) -> list[Role]:
        tables = {part.table for m in self._before.measures for part in m.parts} - {self._base}
        for table in tables:
            self._roles_to(table, place.table, place.role)
        return self._roles_to(self._base, place.table, place.role)

    def _ways_down(self, presence: Presence) -> list[Role]:
        """The foreign keys by which rows of another table belong to the owner, where several do."""
        ways = paths.shortest(self._database, presence.owner, presence.table, presence.role, self._before.via)
        if len(ways) > 1 and all(len(way) == 1 for way in ways):
            return [way[0].link for way in ways]
        return self._roles_to(presence.owner, presence.table, presence.role)

    def _roles_to(self, start: str, table: str, role: Role) -> list[Role]:
        """The foreign keys that may be meant by a table, where several lead there. Raises Impossible."""
        ways = paths.shortest(self._database, start, table, role, self._before.via)
        if not ways:
            raise Impossible(f"No foreign key leads from {start} to {table}, so they cannot be joined: ask about one.")
        if len(ways) > 1 and (told := [way[-1].link for way in ways if way[-1].link in self._roles]):
            return [told[0]]
        if found := roles(self._database, start, table, role, self._before.via):
            return found
        raise Impossible(
            f"{len(ways)} foreign keys lead from {start} to {table}: write the SQL, with the join that is meant."
        )
