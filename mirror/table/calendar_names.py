"""The order of names of months, weekdays and quarters, which is not that of their letters."""

import re

_QUARTER = re.compile(r"(?:(\d{4})[- ]?)?q([1-4])(?:[- ]?(\d{4}))?")
# English names, whatever the locale: the data do not change with it.
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST = 3


def place_in_year(value: object) -> tuple[int, int] | None:
    """(kind or year, place) of `March`, `Tue`, `Q2` or `2025-Q3`, to sort by; None for anything else."""
    if not isinstance(value, str):
        return None
    text = value.strip().lower().rstrip(".")
    if quarter := _QUARTER.fullmatch(text):
        return int(quarter[1] or quarter[3] or 0), int(quarter[2])
    for names in (MONTHS, _WEEKDAYS):
        for place, name in enumerate(names):
            if text == name or (len(text) == _SHORTEST and name.startswith(text)):
                return 0, place
    return None
