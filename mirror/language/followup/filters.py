"""What a follow-up question does to the filters of the question before: replace, add, exclude, lift. Pure functions.

Each returns the filters that hold now, and notes that say what has changed; a note is empty where nothing has.
"""

from collections.abc import Sequence

from db.plain_text import plain_text
from mirror.language.grammar.binding import NEGATED
from mirror.query.errors import Refusal
from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Filter, Operator
from mirror.schema import catalog
from mirror.table.numbers import format_number
from mirror.table.values import Value
from mirror.table.wording import join

Filters = tuple[Filter, ...]
Edited = tuple[Filters, list[str]]

_BOUNDS: dict[Operator, str] = {"<": "above", "<=": "above", ">": "below", ">=": "below"}  # which side they cut off


def replaced(filters: Filters, new_filters: Sequence[Filter], kept: Sequence[Value] = ()) -> Edited:
    """Each column that is spoken of is filtered as the follow-up says.

    Args:
        filters: of the question before.
        new_filters: of the follow-up.
        kept: values of a column that stay in a list of several: the reference of a comparison.
    """
    notes = []
    for column in dict.fromkeys(f.column for f in new_filters):
        new = [f for f in new_filters if f.column == column]
        old = [f for f in filters if f.column == column and _gives_way(f, new)]
        beside = _kept(old, new, kept)
        note = _change([_of(column, [v for f in old for v in f.values if v not in beside])] if beside else old, new)
        if beside:
            note += f", beside {_values(_of(column, beside))}"
            new = [_of(column, [*new[0].values, *beside])]
        filters = _in_place(filters, old, new)
        notes.append(note)
    return filters, notes


def exchanged(filters: Filters, new_filters: Sequence[Filter], instead_of: Sequence[Filter]) -> Edited:
    """ "qr instead of hashed": a value takes another's place. Raises Refusal where that one was not asked for."""
    notes = []
    for new in new_filters:
        gone = [v for f in instead_of if f.column == new.column for v in f.values]
        old = [f for f in filters if f.column == new.column]
        listed = next((f for f in old if f.operator in ("=", "in")), None)
        if listed and gone and not set(gone) & set(listed.values):
            raise Refusal(f"{_named(_of(new.column, gone))} was not asked for: the question has {_phrase(listed)}.")
        if listed is None or not gone or new.operator not in ("=", "in"):
            filters, more = replaced(filters, [new])
            notes += more
            continue
        rest = [v for v in listed.values if v not in gone]
        filters = _in_place(filters, [listed], [_of(new.column, [*new.values, *rest])])
        notes.append(f"{_named(new)} instead of {_values(_of(new.column, gone))}")
    return filters, notes


def added(filters: Filters, new_filters: Sequence[Filter]) -> Edited:
    """ "also for 0.05": values beside those that were asked for; a limit is one more."""
    notes = []
    for new in new_filters:
        old = [f for f in filters if f.column == new.column]
        listed = next((f for f in old if f.operator in ("=", "in")), None)
        excluded = next((f for f in old if f.operator in ("<>", "not in") and set(f.values) & set(new.values)), None)
        if new.operator not in ("=", "in"):
            filters, more = replaced(filters, [new])
            notes += more
        elif listed:
            merged = _of(new.column, [*listed.values, *new.values])
            filters = _in_place(filters, [listed], [merged])
            notes.append(_phrase(merged) if merged != listed else f"{_named(new)} is among them already")
        elif excluded:
            left = [v for v in excluded.values if v not in new.values]
            filters = _in_place(filters, [excluded], [_but(new.column, left)] if left else [])
            notes.append(f"{_named(new)} again")
        else:
            notes.append(f"{_named(new)} is among them already")
    return filters, notes


def excluded(filters: Filters, new_filters: Sequence[Filter]) -> Edited:
    """ "without dense". Raises Refusal where nothing would be left, or for a range."""
    notes = []
    columns = [f.column for f in new_filters]
    for f in new_filters:
        if columns.count(f.column) > 1:
            raise Refusal("A range cannot be excluded: say what to keep, such as “compression under 0.05”.")
        old = [g for g in filters if g.column == f.column]
        listed = next((g for g in old if g.operator in ("=", "in")), None)
        banned = next((g for g in old if g.operator in ("<>", "not in")), None)
        if f.operator in ("<>", "not in"):
            filters, more = replaced(filters, [_of(f.column, f.values)])
            notes += more
        elif f.operator not in ("=", "in"):
            filters, more = replaced(filters, [Filter(f.column, NEGATED[f.operator], f.values)])
            notes += more
        elif listed:
            left = [v for v in listed.values if v not in f.values]
            if not left:
                raise Refusal(f"Nothing would be left: the question is about {_phrase(listed)} alone.")
            if len(left) == len(listed.values):
                notes.append(f"{_named(f)} was not among them")
            else:
                filters = _in_place(filters, [listed], [_of(f.column, left)])
                notes.append(f"without {_named(f)}")
        else:
            if banned and set(f.values) <= set(banned.values):
                notes.append(f"without {_named(f)} as before")
                continue
            values = [*(banned.values if banned else ()), *f.values]
            filters = _in_place(filters, [banned] if banned else [], [_but(f.column, values)])
            notes.append(f"without {_named(f)}")
    return filters, notes


def lifted(filters: Filters, column: str) -> Edited:
    """ "for all compressions": without the filters on a column; no note where there is none."""
    old = [f for f in filters if f.column == column]
    label = catalog.entry(column).label
    return tuple(f for f in filters if f not in old), [f"any {label} instead of {_list(old)}"] if old else []


def _crossed(low: Filter, high: Filter) -> bool:
    bottom, top = low.values[0], high.values[0]
    if isinstance(bottom, str) or isinstance(top, str):
        return str(bottom) > str(top)
    return bottom > top or (bottom == top and "=" not in low.operator + high.operator)


def _gives_way(old: Filter, new: Sequence[Filter]) -> bool:
    """Whether a filter ends where these are said of its column: a limit leaves the one on the other side as it is."""
    if len(new) > 1 or new[0].operator not in _BOUNDS or old.operator not in _BOUNDS:
        return True
    if _BOUNDS[old.operator] == _BOUNDS[new[0].operator]:
        return True
    low, high = (old, new[0]) if old.operator in (">", ">=") else (new[0], old)
    return _crossed(low, high)


def _kept(old: Sequence[Filter], new: Sequence[Filter], kept: Sequence[Value]) -> list[Value]:
    """The reference that stood in a list with others, where the new values do not name it."""
    if len(new) > 1 or new[0].operator not in ("=", "in") or set(new[0].values) & set(kept):
        return []
    return [v for f in old if f.operator == "in" and not set(f.values) <= set(kept) for v in f.values if v in kept]


def _in_place(filters: Filters, old: Sequence[Filter], new: Sequence[Filter]) -> Filters:
    """The filters with others in the place of the first of some, or at the end."""
    at = min((filters.index(f) for f in old), default=len(filters))
    before = [f for f in filters[:at] if f not in old]
    after = [f for f in filters[at:] if f not in old]
    return (*before, *new, *after)


def _of(column: str, values: Sequence[Value]) -> Filter:
    values = tuple(dict.fromkeys(values))
    return Filter(column, "=" if len(values) == 1 else "in", values)


def _but(column: str, values: Sequence[Value]) -> Filter:
    values = tuple(dict.fromkeys(values))
    return Filter(column, "<>" if len(values) == 1 else "not in", values)


# -- words ---------------------------------------------------------------------------------------------------------


def _change(old: Sequence[Filter], new: Sequence[Filter]) -> str:
    if list(old) == list(new):
        return f"{_list(new)} as before"
    if not old:
        return f"{_list(new)} only"
    alike = all(f.operator in ("=", "in") for f in (*old, *new))
    return f"{_list(new)} instead of {_values(old[0]) if alike and len(old) == 1 else _list(old)}"


def _list(filters: Sequence[Filter]) -> str:
    return join(map(_phrase, filters))


def _phrase(f: Filter) -> str:
    """`compression 0.05`, `method hashed and dense`, `without dense`, `memory < 5 MB`."""
    label = catalog.entry(f.column).label
    if f.operator in ("=", "in"):
        return f"{label} {_values(f)}"
    return f"without {_named(f)}" if f.operator in ("<>", "not in") else filter_in_words(f)


def _named(f: Filter) -> str:
    """The values, with their column where they are numbers."""
    named = all(isinstance(v, str) for v in f.values)
    return _values(f) if named else f"{catalog.entry(f.column).label} {_values(f)}"


def _values(f: Filter) -> str:
    return join(plain_text(v) if isinstance(v, str | bool) else format_number(v, exact=True) for v in f.values)
