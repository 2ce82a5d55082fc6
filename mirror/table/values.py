"""The values of one column, and what is asked of them again and again: computed once."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Literal, TypeGuard

from mirror.table.calendar_names import place_in_year

Value = str | int | float | bool
Type = Literal["text", "integer", "real", "boolean", "timestamp"]
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_DIGITS, _MOST_DIGITS = re.compile(r"\d+"), 20


class Values(tuple[Value | None, ...]):
    """The values of one column, row by row: None, bool, int, float, str or ISO timestamps as str."""

    @cached_property
    def numeric(self) -> bool:
        """Whether there is a number somewhere, and no text or truth value."""
        return any(map(is_number, self)) and not any(isinstance(v, str | bool) for v in self)

    @cached_property
    def temporal(self) -> bool:
        """Whether there are ISO timestamps and nothing else."""
        return not self.empty and all(v is None or (isinstance(v, str) and is_timestamp(v)) for v in self)

    @cached_property
    def calendar(self) -> bool:
        """Whether there are names of months, of weekdays or of quarters, and nothing else."""
        return not self.empty and all(v is None or place_in_year(v) is not None for v in self.different)

    @cached_property
    def empty(self) -> bool:
        """Whether none is there."""
        return all(v is None for v in self)

    @cached_property
    def different(self) -> frozenset[Value | None]:
        """The distinct values; NULL counts as one."""
        return frozenset(self)

    @cached_property
    def distinct(self) -> tuple[Value | None, ...]:
        """The same in order: numbers by value, then text by name (months in their order), then NULL."""
        if self.calendar:
            return tuple(sorted(self.different, key=lambda v: (v is None, place_in_year(v) or (0, 0), str(v))))
        return tuple(sorted(self.different, key=sort_key))

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The distinct finite numbers, ascending."""
        return tuple(sorted({float(v) for v in self if is_number(v)}))


def type_of(values: Sequence[Value | None]) -> Type:
    """What values are: the one type that all of them have that are there, else text."""
    there = [v for v in values if v is not None]
    if all(isinstance(v, bool) for v in there):
        return "boolean" if there else "text"
    if not any(isinstance(v, str | bool) for v in there):
        return "integer" if all(isinstance(v, int) for v in there) else "real"
    return "timestamp" if all(isinstance(v, str) and is_timestamp(v) for v in there) else "text"


def is_number(value: object) -> TypeGuard[int | float]:
    """A finite number; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_timestamp(text: str) -> bool:
    """Whether a text is an ISO date, time or month."""
    if _MONTH.fullmatch(text):
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= 10 and text[4] == "-"


def sort_key(value: Value | None) -> tuple[int, float, str]:
    """Order of values of one column: numbers, then text (`part 2` before `part 10`), then NULL."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, str):
        return 1, 0.0, _DIGITS.sub(lambda digits: digits[0].zfill(_MOST_DIGITS), value)
    return 0, float(value), ""
