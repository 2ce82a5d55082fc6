"""Follow-ups on other data: "only card", "without refunds", "and for 2025", "by month instead", "top 3", "as bars".

The words are read as those of any question; what they say is put into the form of the question before.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime

from mirror.language.other_data.conditions import dotted, settled
from mirror.language.other_data.mentions import By, Slots, wish
from mirror.language.other_data.picking import Picker
from mirror.language.other_data.resolve import Resolver
from mirror.query.errors import Impossible, Refusal
from mirror.query.other_data.form import AGGREGATE_WORDS, Asked, ColumnRef, GroupBy, Predicate
from mirror.schema.database import Database, ForeignKey
from mirror.table.values import Value
from mirror.words import phrasebook

_OPENING = re.compile(
    r"\s*(?P<lead>(?:(?:and|but|now|then|so|ok|okay|please)\b[\s,]*)*)"
    r"(?P<verb>what about|how about|(?:the )?same (?:for|but|with)|only|just|also|for|"
    r"(?:but )?not|without|excluding|exclude|except(?: for)?|leave out|drop|remove)?\b[\s,]*",
    re.IGNORECASE,
)
_ENDING = re.compile(r"[\s,]*\b(?P<how>instead|rather|too|as well|also|only|please)?[\s?.!]*$", re.IGNORECASE)
_WORDS = phrasebook.phrases("follow_ups", "other data")
_WITHOUT, _MORE, _SURE = _WORDS["without"], _WORDS["more"], _WORDS["surely"]
_EQUAL, _UNEQUAL = ("=", "in"), ("<>", "not in")

Reader = Callable[[str, Database, datetime], tuple[Slots, Picker]]


@dataclass(frozen=True)
class _Unmarked:
    """A follow-up without its marks: what is left, and what the marks say.

    Attributes:
        text: what is left.
        marked: whether there are any.
        sure: whether they can only be those of a follow-up.
        verb: whether one of them says what to do: `only`, `for`, `without`.
        more: whether what is said is added, and takes the place of nothing.
    """

    text: str
    marked: bool
    sure: bool
    more: bool
    verb: bool


def read(question: str, before: Asked, database: Database, now: datetime, reader: Reader) -> Asked | None:
    """The form of a follow-up; None for a question of its own. Raises Refusal or Ambiguity.

    Args:
        question: in plain words.
        before: the form of the question before.
        database: what both are about.
        now: the present that "last month" is told from.
        reader: makes slots of words.
    """
    if not _is_of(before, database):
        return None
    unmarked = _without_marks(question)
    try:
        slots, picker = reader(unmarked.text, database, now)
    except Refusal:
        if unmarked.marked:
            raise
        return None  # read as a question of its own, it is refused as one
    if slots.measures or slots.named or slots.limits or slots.distinct or slots.via:
        if unmarked.sure:
            raise Refusal(
                f"“{question.strip()[:60]}” says more than what to change: change values, groups, the number of rows "
                "or the chart, or ask it as a whole question."
            )
        return None
    try:
        return _Change(slots, picker).of(before, unmarked.more)
    except Refusal as refusal:  # it is a follow-up, and no question of its own
        raise Impossible(str(refusal)) from refusal


def is_marked(question: str) -> bool:
    """Whether the words can hardly be a question of their own: `only ...`, `and ...`, `... instead`."""
    unmarked = _without_marks(question)
    return unmarked.sure or unmarked.verb


def _is_of(before: Asked, database: Database) -> bool:
    """Whether the question before was about these very tables and columns."""
    known = {(r.name, c.name) for r in database.relations for c in r.columns}
    tables = {before.table, *before.via, *(g.table for g in before.groups)}
    tables |= {part.table for m in before.measures for part in m.parts}
    tables |= {t for p in before.presences for t in (p.table, p.owner)}
    return tables <= {r.name for r in database.relations} and {(p.table, p.column) for p in _places(before)} <= known


def _places(held: object) -> Iterator[ColumnRef]:
    """All columns that a form names, wherever in it."""
    if isinstance(held, ColumnRef):
        yield held
    elif isinstance(held, tuple):
        for part in held:
            yield from _places(part)
    elif is_dataclass(held) and not isinstance(held, ForeignKey):
        for part in fields(held):
            yield from _places(getattr(held, part.name))


def _without_marks(question: str) -> _Unmarked:
    opening = _OPENING.match(question)
    verb = " ".join((opening["verb"] or "").lower().split()) if opening else ""
    rest = question[opening.end() :] if opening else question
    ending = _ENDING.search(rest)
    how = (ending["how"] or "").lower() if ending else ""
    text = rest[: ending.start()] if ending else rest
    if verb in _WITHOUT:
        text = f"without {text}"
    lead = opening["lead"] if opening else ""
    sure = bool(re.match("and|but", lead)) or verb in _SURE or "same" in verb or how in (*_MORE, "instead", "rather")
    return _Unmarked(text, bool(lead or verb or how), sure, verb == "also" or how in _MORE, bool(verb))


class _Change(Resolver):
    """What a follow-up changes."""

    def of(self, before: Asked, more: bool) -> Asked:
        """The form with the changes. Raises Refusal or Ambiguity."""
        slots, pick = self._slots, self._pick
        base = pick.base = before.measures[0].table if before.measures else before.table
        pick.context = {base, *(g.table for g in before.groups), *(c.place.table for c in before.conditions)}
        pick.via = before.via
        self._named_date()
        if slots.course and not slots.groups:
            slots.groups.append(By(None, "month"))
        conditions, presences = settled(slots.tests, slots.belongings, base, pick)
        _not_within(before, conditions)
        asked = replace(before, conditions=_merged(before.conditions, conditions, more))
        asked = replace(asked, presences=(*before.presences, *presences))
        tables = {part.table for m in before.measures for part in m.parts}
        for table in tables if len(tables) > 1 else ():
            if presences:
                raise Refusal("Numbers of two tables with a condition on other rows are not read: ask for one of them.")
            for condition in conditions:
                pick.way(table, condition.place, None)
        _keeps_its_groups(before, bool(slots.groups), self._ranked or slots.limit is not None)
        if before.count_groups and (slots.groups or self._ranked):
            raise Refusal("Only the number of groups was asked for: ask for the groups themselves first.")
        if slots.groups:
            asked = self._grouped_anew(asked, more)
        if self._ranked or slots.limit is not None or slots.ascending is not None:
            asked = self._ranked_anew(asked)
        if slots.chart or slots.log:
            asked = replace(asked, chart=wish(slots))
        if asked == before:
            raise Refusal(
                "That changes nothing: say what should be different, such as “only ...”, “without ...”, “by ...”, "
                "“top 3” or “as bars”."
            )
        return replace(asked, notes=tuple(dict.fromkeys((*asked.notes, *self._notes))))

    def _grouped_anew(self, before: Asked, more: bool) -> Asked:
        if not before.measures:
            raise Refusal(f"A list of {before.table} has no groups: ask for a number, such as how many there are.")
        groups: list[GroupBy] = [*(before.groups if more else ()), *map(self._group, self._slots.groups)]
        groups = list(dict.fromkeys(groups))
        for measure in (part for m in before.measures for part in m.parts):
            self._check(measure, groups)
        return replace(before, groups=tuple(groups))

    def _ranked_anew(self, before: Asked) -> Asked:
        slots, lead = self._slots, self._leading()
        if before.measures and not before.groups:
            raise Refusal("There is one row alone, so nothing can be ranked: say by what first, such as “by month”.")
        if not before.measures and before.order is None:
            raise Refusal("It is not said by what the rows are ranked: ask for it, as in “top 5 orders by amount”.")
        at = before.order[0] if before.order else 0
        ties = bool(slots.superlative) and lead.ties
        if before.per and slots.limit is None:
            raise Refusal("Each group has a ranking of its own: say how many of each, such as “top 3”.")
        return replace(before, order=(at, lead.descending), limit=slots.limit, ties=ties, offset=0)


def _not_within(before: Asked, conditions: list[Predicate]) -> None:
    """Raises Refusal for a condition on what the numbers themselves are told apart by: 2025 less 2024, "in 2025"."""
    own = {c.place for m in before.measures for part in m.parts for c in part.conditions}
    if twice := next((c.place for c in conditions if c.place in own), None):
        raise Refusal(f"The numbers differ in {dotted(twice)} already: ask it as a whole question.")


def _keeps_its_groups(before: Asked, grouped: bool, ranked: bool) -> None:
    """Raises Refusal for other groups, or a ranking, of a question that rests on the groups that it has."""
    if before.outer and (grouped or ranked):
        what = AGGREGATE_WORDS[before.outer]
        raise Refusal(f"The {what} is of one number for each group: ask for the groups themselves first.")
    if before.of_total and ranked:
        raise Refusal("These are the shares of all groups, which a ranking would cut: ask for the numbers themselves.")
    if before.per and grouped:
        raise Refusal("Each group has a ranking of its own: ask for other groups as a whole question.")


def _merged(before: tuple[Predicate, ...], new: list[Predicate], more: bool) -> tuple[Predicate, ...]:
    """The conditions of both: a new one takes the place of those that it says anew."""
    merged = list(before)
    for condition in new:
        same = [c for c in before if (c.place, c.bucket) == (condition.place, condition.bucket) and c in merged]
        if condition.operator in _EQUAL:
            joined = [v for c in same if more and c.operator in _EQUAL for v in c.plain]
            merged = [c for c in merged if c not in same]
            condition = _of_values(condition, "in", [*joined, *condition.plain])
        elif condition.operator in _UNEQUAL:
            for c in [c for c in same if c.operator in _EQUAL]:
                left = [v for v in c.plain if v not in condition.plain]
                if not left:
                    raise Refusal(f"Nothing would be left: {dotted(c.place)} is {', '.join(map(str, c.values))} only.")
                merged[merged.index(c)] = _of_values(c, "in", left)
        else:  # a new span of time, or a new end of a range, replaces the old one
            merged = [c for c in merged if c not in same or c.operator in (*_EQUAL, *_UNEQUAL)]
        merged.append(condition)
    return tuple(dict.fromkeys(merged))


def _of_values(condition: Predicate, several: str, values: list[Value]) -> Predicate:
    found = tuple(dict.fromkeys(values))
    return replace(condition, operator="=" if len(found) == 1 else several, values=found)  # type: ignore[arg-type]
