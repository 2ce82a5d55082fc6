"""Whether an answer's rows say the same as a gold's, whatever its columns are called and whatever else it shows.

- Every column of the gold must be found in the answer by its values: numbers within 1e-6 of each other, times as
  moments, truth values apart from numbers unless they are `flags`. One column of the answer stands for one of the gold.
- A column of the gold that only tells rows apart (its name begins with `_`) may be missing where the other keys that
  were found decide its value in every row.
- The rows must be the same ones, no more and no fewer. Other columns of the answer are its own affair: they cannot
  change the number of rows.
- Order counts only where the gold has one, and among equal values it does not.
"""

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from db.columns import BY_NAME, GROUP_AXES
from mirror.evaluation.questions import Gold
from mirror.table.table import Table
from mirror.table.values import Value

TOLERANCE = 1e-6
_TINY = 1e-12
_NUMBER = "\0 any number"  # stands for the numbers of a row where only the rest must be equal to the letter
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_WORK = frozenset((*GROUP_AXES, "machine"))
_MOST_ASSIGNMENTS = 5_000
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}

Row = tuple[Value | None, ...]


def difference(gold: Gold, right: Table, answer: Table) -> str:
    """Why the answer does not say what the gold says, in a few words; empty where it does."""
    wanted = _wanted(gold, right)
    if not wanted.few <= len(answer.rows) <= len(wanted.rows):
        most = "" if wanted.few == len(wanted.rows) else f" to {len(wanted.rows)}"
        return f"{len(answer.rows)} rows where {wanted.few}{most} are right"
    found = _Finder(wanted, replace(answer, rows=tuple(_cells(row, gold.flags) for row in answer.rows)))
    if missing := found.missing():
        return f"no column holds {', '.join(missing)}"
    why = "the columns are there, their rows do not belong together"
    for assignment in itertools.islice(found.assignments(), _MOST_ASSIGNMENTS):
        pairs = found.pairs(assignment)
        if pairs is None:
            continue
        why = found.missing_key(assignment) or _not_in_order(gold, wanted, pairs)
        if not why:
            return ""
    return why


# -- what is wanted ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """Rows that may be in an answer; `must` (by place) have to be, and of each of `groups` (places) so many."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    must: frozenset[int]
    groups: tuple[tuple[frozenset[int], frozenset[int]], ...]

    @property
    def few(self) -> int:
        """The fewest rows that are right."""
        return sum(min(counts) for _, counts in self.groups)

    def complete(self, places: Sequence[int]) -> bool:
        """Whether rows at these places are all that is wanted."""
        chosen = set(places)
        return chosen >= self.must and all(len(chosen & group) in counts for group, counts in self.groups)

    def column(self, name: str) -> list[Value | None]:
        return [row[self.columns.index(name)] for row in self.rows]


def _wanted(gold: Gold, right: Table) -> _Wanted:
    rows = [_cells(row, gold.flags) for row in right.rows]
    everything = frozenset(range(len(rows)))
    if gold.top is None:
        return _Wanted(right.names, tuple(rows), everything, ((everything, frozenset((len(rows),))),))
    name, descending = _order(gold)
    by = right.names.index(name)
    work = [i for i, c in enumerate(right.names) if gold.per and c.removeprefix("_") in _WORK]
    kept: list[Row] = []
    must: set[int] = set()
    groups = []
    for group in _grouped([r for r in rows if r[by] is not None], work):
        group.sort(key=lambda row: row[by], reverse=descending)  # type: ignore[arg-type, return-value]
        last = group[min(gold.top, len(group)) - 1][by]
        chosen = [i for i, row in enumerate(group) if i < gold.top or same(row[by], last)]
        places = range(len(kept), len(kept) + len(chosen))
        kept += [group[i] for i in chosen]
        must |= {place for place, i in zip(places, chosen, strict=True) if not same(group[i][by], last)}
        # Of ties at the end so many as fill the number, or all of them.
        groups.append((frozenset(places), frozenset((min(gold.top, len(group)), len(chosen)))))
    return _Wanted(right.names, tuple(kept), frozenset(must), tuple(groups))


def _grouped(rows: Sequence[Row], by: Sequence[int]) -> list[list[Row]]:
    groups: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[i] for i in by)].append(row)
    return list(groups.values())


def _order(gold: Gold) -> tuple[str, bool]:
    """The column, which may be quoted as in SQL, and whether the largest comes first."""
    name = gold.order.removesuffix(" desc").removesuffix(" asc")
    return name.removeprefix('"').removesuffix('"'), gold.order.endswith(" desc")


def _not_in_order(gold: Gold, wanted: _Wanted, places: Sequence[int]) -> str:
    if not gold.order:
        return ""
    name, descending = _order(gold)
    values = wanted.column(name)
    work = [c for c in wanted.columns if gold.per and c.removeprefix("_") in _WORK]
    last: dict[Row, Value] = {}
    for place in places:
        value, group = values[place], tuple(wanted.column(c)[place] for c in work)
        if value is None:
            continue
        before = last.get(group, value)
        if not same(before, value) and (before < value) == descending:  # type: ignore[operator]
            return f"the rows are not sorted by {gold.order}"
        last[group] = value
    return ""


# -- finding it --------------------------------------------------------------------------------------------------------


class _Finder:
    """Which columns of an answer can be which of the gold."""

    def __init__(self, wanted: _Wanted, answer: Table) -> None:
        self._wanted = wanted
        self._answer = answer
        self._required = [c for c in wanted.columns if not c.startswith("_")]
        self._keys = [c for c in wanted.columns if c.startswith("_") and len(set(wanted.column(c))) > 1]
        columns = [[row[i] for row in answer.rows] for i in range(len(answer.columns))]
        self._candidates = {
            c: [i for i, values in enumerate(columns) if _contained(values, wanted.column(c))] for c in wanted.columns
        }

    def missing(self) -> list[str]:
        """Columns of the gold that nothing in the answer can be."""
        return [c for c in self._required if not self._candidates[c]]

    def assignments(self) -> Iterator[dict[str, int]]:
        """Column of the gold -> column of the answer, for all that must be there."""
        yield from self._assigned({}, self._required)

    def _assigned(self, so_far: dict[str, int], left: Sequence[str]) -> Iterator[dict[str, int]]:
        if not left:
            yield so_far
            return
        for candidate in self._candidates[left[0]]:
            if candidate not in so_far.values():
                yield from self._assigned({**so_far, left[0]: candidate}, left[1:])

    def pairs(self, assignment: dict[str, int]) -> list[int] | None:
        """For each row of the answer the place of the wanted row that it is; None where they are other rows.

        Of rows that look the same any is as good as another.
        """
        names = list(assignment)
        places = [self._wanted.columns.index(n) for n in names]
        free: dict[Row, list[int]] = defaultdict(list)
        for place, row in enumerate(self._wanted.rows):
            free[_texts(row[i] for i in places)].append(place)
        found = []
        for row in self._answer.rows:
            cells = [row[assignment[n]] for n in names]
            among = free[_texts(cells)]
            fits = (
                at
                for at, place in enumerate(among)
                if all(same(self._wanted.rows[place][i], x) for i, x in zip(places, cells, strict=True))
            )
            at = next(fits, None)
            if at is None:
                return None
            found.append(among.pop(at))
        return found if self._wanted.complete(found) else None

    def missing_key(self, assignment: dict[str, int]) -> str:
        """What the answer does not say of its rows; empty where nothing is missing."""
        matched = dict(assignment)
        for name in self._keys:
            free = (i for i in self._candidates[name] if i not in matched.values())
            if (at := next((i for i in free if self.pairs({**matched, name: i}) is not None), None)) is not None:
                matched[name] = at
        keys = [n for n in matched if _is_key(n)]
        for name in self._keys:
            if name not in matched and not self._decided(name, keys):
                return f"its rows do not say which {name.removeprefix('_')} they are of"
        return ""

    def _decided(self, name: str, keys: Sequence[str]) -> bool:
        """Whether the keys decide the value of a column in every wanted row."""
        columns = [self._wanted.column(k) for k in keys]
        values: dict[Row, Value | None] = {}
        for place, value in enumerate(self._wanted.column(name)):
            if not same(values.setdefault(tuple(column[place] for column in columns), value), value):
                return False
        return True


def _is_key(name: str) -> bool:
    column = BY_NAME.get(name.removeprefix("_"))
    return name.startswith("_") or name == "step" or (column is not None and column.role != "metric")


# -- cells -------------------------------------------------------------------------------------------------------------


def same(a: Value | None, b: Value | None) -> bool:
    """Whether two cells say the same."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=_TINY)


def _cells(row: Row, flags: bool) -> Row:
    """The cells of a row as they can be compared, truth values in one form where they are `flags`."""
    return tuple(_flag(c) if flags else _cell(c) for c in row)


def _flag(value: Value | None) -> Value | None:
    """A cell of which SQLite may have made 1 or 0, or whoever read a CSV file a truth value."""
    if isinstance(value, str) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    return float(value) if isinstance(value, bool) else _cell(value)


def _cell(value: Value | None) -> Value | None:
    """A cell that can be compared: numbers as floats, moments in one form of text."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).isoformat() if _MOMENT.fullmatch(value) else value
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _texts(cells: Iterator[Value | None] | Sequence[Value | None]) -> Row:
    """The cells that must be equal to the letter, numbers left out."""
    return tuple(c if c is None or isinstance(c, str | bool) else _NUMBER for c in cells)


def _contained(few: Sequence[Value | None], many: Sequence[Value | None]) -> bool:
    """Whether each cell of the first has one of its own in the second."""
    if Counter(_texts(few)) - Counter(_texts(many)):
        return False
    left = sorted(c for c in many if isinstance(c, float))
    at = 0
    for value in sorted(c for c in few if isinstance(c, float)):
        while at < len(left) and left[at] < value and not same(left[at], value):
            at += 1
        if at == len(left) or not same(left[at], value):
            return False
        at += 1
    return True
