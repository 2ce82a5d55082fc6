"""Number check: whether every number in a text is one of a result's, however it is scaled, rounded or spelt.

That a number stands beside the right name is not checked. What cannot be read as a number (3/4, 1.5.6, 0,78) counts as
unsupported, so that a text is rather refused than believed. Number words of other languages than English are not known.
"""

import re
from functools import cached_property
from typing import TypeGuard

from mirror.language.phrases.written_numbers import UNITS, Number, blanked, dates, in_digits, numbers, one_spelling
from mirror.table.table import Column, Table
from mirror.table.values import Value

# How far a rounded number may be from the one it stands for, as a fraction: "1 ms" is no rounding of 1.4 ms.
_FARTHEST = 0.05
# Things that are the different values of the column of that name; of all others a row is one.
_COUNTED = ("method", "dataset", "machine", "seed", "sweep", "benchmark")
_LONGEST = 200  # characters of a text in the result that may stand in a summary
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ](?P<time>\d\d:\d\d)(?::\d\d(?:\.\d+)?)?)?")


def unsupported(text: str, table: Table, computed: str) -> tuple[str, ...]:
    """The numbers of a text that neither the result nor the computed summary holds, as they are written.

    A number is supported when it is one of theirs, in any unit of its kind (1.2 ms for 1200 µs, 78 % for 0.7841), right
    to the last digit that is written and not rounded far. Counts (of rows, of different values of a column) are exact;
    a place (2nd) is one that there is; a date or a year is one of a time in the result.

    Args:
        text: what is to be checked.
        table: the result.
        computed: the summary that was computed from it.
    """
    held = _Held(table, computed)
    written_dates, rest = dates(held.without_names(one_spelling(text)))
    found = [(d.start, d.text) for d in written_dates if (d.month, d.day, d.year) not in held.dates]
    found += [(w.start, w.text) for w in numbers(rest) if not any(map(held.supports, w.readings))]
    return tuple(dict.fromkeys(snippet.strip() for _, snippet in sorted(found)))


class _Held:
    """What a result and its computed summary hold."""

    def __init__(self, table: Table, computed: str) -> None:
        self._table = table
        self._computed = one_spelling(computed)
        texts = {v for row in table.rows for v in row if isinstance(v, str) and len(v) <= _LONGEST}
        self._texts = sorted(map(one_spelling, texts))
        self._moments = [m for t in (*self._texts, self._computed) for m in _ISO.finditer(t)]
        self.dates = {(int(m["month"]), int(m["day"]), y) for m in self._moments for y in (None, int(m["year"]))}

    def without_names(self, text: str) -> str:
        """The text without the names that hold numbers: of columns, methods, data sets; and without moments."""
        low = text.lower()
        known = sorted((n for n in self._names if n.lower() in low), key=len, reverse=True)
        if not known:
            return text
        pattern = rf"(?<![\w.])(?:{'|'.join(map(re.escape, known))})(?![\w%]|\.\d)"
        return blanked(re.compile(pattern, re.IGNORECASE), text)

    def supports(self, number: Number) -> bool:
        """Whether one of the numbers held is this one."""
        if number.kind == "place":
            return 1 <= number.value <= max(1, len(self._table.rows))
        if number.kind == "percentile":
            return any(f"p{number.raw:.0f}" in column.split("_") for column in self._table.names)
        if number.counted:
            return number.raw in self._counts(number.counted)
        return number.kind != "unknown" and any(_stands_for(number, fact) for fact in self._facts)

    @cached_property
    def _names(self) -> set[str]:
        names = {n for c in self._table.columns for n in (c.name, c.label)}
        names |= {t for t in self._texts if len(t) > 1 and any(c.isalpha() for c in t)}
        for m in self._moments:
            names |= {form for cut in (10, 16, 19) for form in (m[0][:cut], m[0][:cut].replace("T", " "))}
            names |= {m[0], m["time"] or ""}
        return {n for n in map(one_spelling, names) if numbers(n)} - set(UNITS)

    def _counts(self, thing: str) -> set[float]:
        """How many things of a kind there are: as computed, else rows or different values of their column."""
        table, rows = self._table, float(len(self._table.rows))
        written = {n.raw for n in self._facts if n.counted == thing}
        if thing == "thing":
            return {n.raw for n in self._facts if n.kind in ("", "any")}
        if thing in _COUNTED:
            known = thing in table.names and not table.truncated
            return written | ({float(len({v for v in table.values(thing) if v is not None}))} if known else set())
        counted = [c.name for c in table.columns if c.role == "count" or (thing == "row" and c.name == "num_rows")]
        return written | {rows} | {float(v) for c in counted for v in table.values(c) if _is_finite(v)}

    @cached_property
    def _facts(self) -> frozenset[Number]:
        facts = {_whole(len(self._table.rows)), *(_whole(int(m["year"])) for m in self._moments)}
        for i, column in enumerate(self._table.columns):
            values = {row[i] for row in self._table.rows if row[i] is not None}
            kind, size = _unit_of(column)
            facts |= {Number(float(v), v * size, kind) for v in values if _is_finite(v)}
            if not self._table.truncated:
                facts.add(_whole(len(values)))
        for text in (t for t in self._texts if t[:1].isdigit()):  # perhaps a number in a column of texts
            facts |= {n for w in in_digits(text) if w.text == text for n in w.readings}
        facts |= {n for w in numbers(self.without_names(self._computed)) for n in w.readings}
        return frozenset(facts)


def _stands_for(number: Number, fact: Number) -> bool:
    """Whether a number of the text is this one of the result."""
    if number.kind == fact.kind:
        return _is_near(number, number.value, fact.value)
    if not number.kind:  # as the table shows it, in the unit of its column
        return _is_near(number, number.value, fact.raw)
    if number.kind == "about" and fact.kind == "ratio":
        return _is_near(number, number.value, fact.value)
    if fact.kind == "any" and _is_near(number, number.raw, fact.raw):
        return True
    # A whole number is no fraction of anything: a seed 1 is not 100 %.
    fraction = number.kind in ("share", "about") and fact.kind in ("", "any") and not fact.raw.is_integer()
    return fraction and _is_near(number, number.value, fact.raw)


def _is_near(number: Number, value: float, fact: float) -> bool:
    """Whether a value of the number, with or without its unit, is the fact to the last digit that is written."""
    step = number.step if value == number.value or not number.value else number.step * abs(value / number.value)
    if not number.signed:
        value, fact = abs(value), abs(fact)
    gap = abs(value - fact)
    return gap <= step / 2 * (1 + 1e-9) + abs(fact) * 1e-12 and gap <= _FARTHEST * abs(fact)


def _unit_of(column: Column) -> tuple[str, float]:
    """(kind, size) of the values of a column; `any` where nobody knows their unit."""
    if column.name.endswith(("_percent", "_pct")):
        return "share", 0.01
    if not column.source and column.role not in ("metric", "count"):
        return "any", 1.0
    return UNITS.get(one_spelling(column.unit), ("", 1.0))


def _is_finite(value: Value | None) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _whole(value: int) -> Number:
    return Number(float(value), float(value))
