"""What a follow-up may change in the form before, and how conditions of both become one."""

from collections.abc import Iterable
from dataclasses import replace

from mirror.query.errors import Refusal
from mirror.query.other_data.form import AGGREGATE_WORDS, Asked, ColumnRef, Predicate
from mirror.table.values import Value

_EQUAL, _UNEQUAL = ("=", "in"), ("<>", "not in")


def merged(before: tuple[Predicate, ...], new: Iterable[Predicate], more: bool) -> tuple[Predicate, ...]:
    """The conditions of both: a new one takes the place of those that it says anew. Raises Refusal.

    Args:
        before: those of the form before.
        new: those of the follow-up.
        more: whether new values stand beside the old ones of their column.
    """
    found = list(before)
    for condition in new:
        same = [c for c in before if (c.place, c.bucket) == (condition.place, condition.bucket) and c in found]
        if condition.operator in _EQUAL:
            joined = [v for c in same if more and c.operator in _EQUAL for v in c.plain]
            found = [c for c in found if c not in same]
            condition = _of_values(condition, "in", [*joined, *condition.plain])
        elif condition.operator in _UNEQUAL:
            for c in [c for c in same if c.operator in _EQUAL]:
                left = [v for v in c.plain if v not in condition.plain]
                if not left:
                    raise Refusal(f"Nothing would be left: {_dotted(c.place)} is {', '.join(map(str, c.values))} only.")
                found[found.index(c)] = _of_values(c, "in", left)
        else:  # a new span of time, or a new end of a range, replaces the old one
            if more and any(c.operator not in _UNEQUAL for c in same):
                raise Refusal(
                    f"Two conditions on {_dotted(condition.place)} side by side are not read: ask it as a whole "
                    "question, such as “between 1 and 5”, or without “too” or “also”, which replaces the old one."
                )
            found = [c for c in found if c not in same or c.operator in _UNEQUAL]
        found.append(condition)
    return tuple(dict.fromkeys(found))


def _of_values(condition: Predicate, several: str, values: list[Value]) -> Predicate:
    found = tuple(dict.fromkeys(values))
    return replace(condition, operator="=" if len(found) == 1 else several, values=found)  # type: ignore[arg-type]


def check_not_within(before: Asked, conditions: Iterable[Predicate]) -> None:
    """Raises Refusal for a condition on what the numbers themselves are told apart by: 2025 less 2024, "in 2025"."""
    own = {c.place for m in before.measures for part in m.parts for c in part.conditions}
    if twice := next((c.place for c in conditions if c.place in own), None):
        raise Refusal(f"The numbers differ in {_dotted(twice)} already: ask it as a whole question.")


def check_groups_kept(before: Asked, grouped: bool, ranked: bool) -> None:
    """Raises Refusal for other groups, or a ranking, of a question that rests on the groups that it has."""
    if before.outer and (grouped or ranked):
        what = AGGREGATE_WORDS[before.outer]
        raise Refusal(f"The {what} is of one number for each group: ask for the groups themselves first.")
    if before.of_total and ranked:
        raise Refusal("These are the shares of all groups, which a ranking would cut: ask for the numbers themselves.")
    if before.per and grouped:
        raise Refusal("Each group has a ranking of its own: ask for other groups as a whole question.")
    if before.count_groups and (grouped or ranked):
        raise Refusal("Only the number of groups was asked for: ask for the groups themselves first.")
    if grouped and not before.measures:
        raise Refusal(f"A list of {before.table} has no groups: ask for a number, such as how many there are.")


def check_ranked(before: Asked, limit: int | None) -> None:
    """Raises Refusal for a ranking of what has no order."""
    if before.measures and not before.groups:
        raise Refusal("There is one row alone, so nothing can be ranked: say by what first, such as “by month”.")
    if not before.measures and before.order is None:
        raise Refusal("It is not said by what the rows are ranked: ask for it, as in “top 5 orders by amount”.")
    if before.per and limit is None:
        raise Refusal("Each group has a ranking of its own: say how many of each, such as “top 3”.")


def _dotted(place: ColumnRef) -> str:
    return f"{place.table}.{place.column}"
