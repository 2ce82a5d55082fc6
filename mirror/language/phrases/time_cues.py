"""Time in a question: "since monday", "in the last 3 days", "yesterday", "over time" -> moments in naive UTC.

Days begin at 00:00 UTC and weeks on Monday. "last week" is the calendar week before this one, "in the last week" the
seven days up to now, and "since last week" begins with the first day of the calendar week before this one.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta

from mirror.query.errors import NotUnderstood, Refusal
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

HOW_TO_SAY = (
    "say since 2026-11-01, since monday, since last week, yesterday, in the last 3 days (days are UTC), before "
    "2026-11-10, in november, or over time"
)

_WEEKDAYS = phrasebook.numbers("calendar", "weekdays")
_MONTHS = phrasebook.numbers("calendar", "months")
_UNITS = tuple(phrasebook.phrases("calendar", "spans"))
_NUMBERS = {word: int(n) for word, n in phrasebook.numbers("numbers", "cardinals").items() if 0 < n <= 100}
_DATE = r"\d{4}-\d{1,2}-\d{1,2}(?:[t ]\d{1,2}:\d{2}(?::\d{2})?)?(?:z| utc)?"
_AMOUNT = rf"(?P<amount>\d{{1,6}}|{one_of(_NUMBERS)})\s+(?P<unit>{'|'.join(_UNITS)})s?"
_NAMED = rf"today|yesterday|(?:this|last)\s+(?:{'|'.join(_UNITS[1:])})|(?:last\s+)?(?:{one_of(_WEEKDAYS)})"

_START = r"(?<![\w-])"  # not within a name such as run-2026-11-01
_END = r"(?:'s)?(?![\w-])"

# A date in words, which becomes an ISO date first; `may` and `march` alone are everyday words.
_MONTH = rf"(?P<month>{one_of(_MONTHS)})\.?"
_YEAR = r"(?:,?\s+(?P<year>20\d\d))?"
_WRITTEN = (
    re.compile(rf"{_START}{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d){_YEAR}(?![\w-])"),
    re.compile(rf"{_START}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}{_YEAR}(?![\w-])"),
)
_WHOLE_MONTH = re.compile(rf"{_START}(?:in|during|for|of)\s+{_MONTH}{_YEAR}(?![\w-])")
_WHOLE_YEAR = re.compile(rf"{_START}(?:in|during)\s+(?P<number>20\d\d)(?![\w-])")
_RANGE = re.compile(
    rf"{_START}(?:between|from)\s+(?P<from>{_DATE})\s+(?:and|to|until|till|through|-)\s+(?P<to>{_DATE}){_END}"
)
_UNTIL = re.compile(
    rf"{_START}(?P<how>before|until|till|up\s+to|prior\s+to)\s+(?:(?P<date>{_DATE})|(?P<named>{_NAMED})){_END}"
)
_AFTER = re.compile(rf"{_START}(?:after|from|starting|starting\s+from|beginning)\s+(?P<date>{_DATE})(?:\s+on)?{_END}")
_COURSE = re.compile(rf"{_START}(?:(?:over|through|with)\s+time|(?:the\s+)?(?:history|trends?)){_END}")
_SINCE = re.compile(
    rf"{_START}(?:ever\s+)?since\s+(?:(?P<date>{_DATE})|{_AMOUNT}\s+ago|(?P<named>{_NAMED})|{_MONTH}{_YEAR}){_END}"
)
_BEFORE_A_SPAN = r"(?:(?:in|within|over|during|for|of|on|from)\s+)?"
_RECENT = re.compile(
    rf"{_START}{_BEFORE_A_SPAN}(?:the\s+)?(?:last|past)\s+{_AMOUNT}{_END}"
    rf"|{_START}{_BEFORE_A_SPAN}the\s+(?:last|past)\s+(?P<one>{'|'.join(_UNITS)}){_END}"
)
_WINDOW = re.compile(rf"{_START}(?:on\s+(?P<date>{_DATE})|{_BEFORE_A_SPAN}(?P<named>{_NAMED})){_END}")
_LEFT = re.compile(rf"{_START}(?:since(?:\s+\S+){{0,2}}|{_DATE}){_END}")


@dataclass(frozen=True)
class Times:
    """What a question says of time.

    Attributes:
        course: it asks for a course over time.
        start: from this moment on (naive UTC), or None where nothing or only an end is said.
        end: before this moment, or None for up to now.
        phrase: the words for it, as they were written.
    """

    course: bool = False
    start: datetime | None = None
    end: datetime | None = None
    phrase: str = ""

    @property
    def asked(self) -> bool:
        """Whether the question says anything of time."""
        return self.course or self.start is not None or self.end is not None


def find(question: str, now: datetime) -> tuple[Times, str]:
    """The time that a question speaks of, and the question without it.

    Args:
        question: as asked.
        now: the present, naive UTC.

    Raises Refusal for a time that is not understood, or for two of them.
    """
    text = unicodedata.normalize("NFKC", question).lower()
    text, courses = _COURSE.subn(" ", text)
    text = _with_iso_dates(text, now)
    found: list[tuple[str, datetime | None, datetime | None]] = []

    def take(match: re.Match[str]) -> str:
        found.append((match[0].strip(), *_span(match, now)))
        return " "

    for pattern in (_RANGE, _SINCE, _UNTIL, _AFTER, _RECENT, _WINDOW, _WHOLE_MONTH, _WHOLE_YEAR):
        text = pattern.sub(take, text)
    if left := _LEFT.search(text):
        raise NotUnderstood(f"“{left[0].strip()}” is not understood as a time: {HOW_TO_SAY}.")
    if not found:
        return Times(course=bool(courses)), text if courses else question
    if len(found) > 1:
        raise NotUnderstood(f"“{found[0][0]}” and “{found[1][0]}” are two times: name one.")
    ((phrase, start, end),) = found
    return Times(bool(courses), start, end, phrase), text


def in_sql(moment: datetime) -> str:
    """A moment as short as SQL and people read it: `2026-11-09`, `2026-11-17 15:24`, `2026-11-17 15:24:30`."""
    if (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return moment.date().isoformat()
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")


def _with_iso_dates(text: str, now: datetime) -> str:
    """Dates in words as ISO dates; without a year the last one that is not to come."""

    def iso(match: re.Match[str]) -> str:
        return f"{_of_month(match, now, int(match['day'])):%Y-%m-%d}"

    for pattern in _WRITTEN:
        text = pattern.sub(iso, text)
    return text


def _of_month(match: re.Match[str], now: datetime, day: int) -> datetime:
    year = int(match["year"]) if match["year"] else now.year
    try:
        moment = datetime(year, int(_MONTHS[match["month"]]), day)
        return moment if match["year"] or moment <= now else moment.replace(year=year - 1)
    except ValueError as error:
        raise Refusal(f"“{match[0].strip()}” is no date of the calendar: write it like 2026-11-01.") from error


def _span(match: re.Match[str], now: datetime) -> tuple[datetime | None, datetime | None]:
    """(start, end) of a phrase; a span that reaches to now has no end, and one from the first results no start."""
    since = match.re is _SINCE
    parts = match.groupdict()
    if match.re is _RANGE:
        return _date(parts["from"]), _end_of(parts["to"])
    if match.re is _UNTIL:
        inclusive = parts["how"].split()[0] in ("until", "till", "up")
        if parts["date"]:
            return None, _end_of(parts["date"]) if inclusive else _date(parts["date"])
        first, after = _named(" ".join(parts["named"].split()), now)
        return None, after if inclusive else first
    if match.re is _AFTER:
        whole_day = match[0].startswith("after") and not re.search(r"\d:\d", parts["date"])
        return _date(parts["date"]) + timedelta(days=whole_day), None
    if since and parts["month"]:
        return _of_month(match, now, 1), None
    if match.re is _WHOLE_MONTH:
        first = _of_month(match, now, 1)
        return first, _back(first, -1, "month")
    if number := parts.get("number"):
        return datetime(int(number), 1, 1), datetime(int(number) + 1, 1, 1)
    if date := parts.get("date"):
        start = _date(date)
        return start, None if since else start + timedelta(days=1)
    if parts.get("one"):
        return _back(now, 1, parts["one"]), None
    if unit := parts.get("unit"):
        amount = parts["amount"]
        return _back(now, _NUMBERS.get(amount) or int(amount), unit), None
    start, end = _named(" ".join(parts["named"].split()), now)
    return start, None if since or end > now else end


def _named(name: str, now: datetime) -> tuple[datetime, datetime]:
    """(start, end) of a named day, week, month or year."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    which, _, unit = name.rpartition(" ")
    if unit in _WEEKDAYS:
        back = (today.weekday() - int(_WEEKDAYS[unit])) % 7
        if which == "last" and back == 0:
            back = 7
        start = today - timedelta(days=back)
        return start, start + timedelta(days=1)
    if unit in ("today", "yesterday", "day"):
        start = today - timedelta(days=1) if unit == "yesterday" or which == "last" else today
        return start, start + timedelta(days=1)
    start = {
        "week": today - timedelta(days=today.weekday()), "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]  # fmt: skip
    if which == "this":
        return start, _back(start, -1, unit)
    return _back(start, 1, unit), start


def _back(moment: datetime, amount: int, unit: str) -> datetime:
    """The moment that many units earlier, to the minute; a month's day that is not there becomes its last. Raises
    Refusal before the year 1."""
    moment = moment.replace(second=0, microsecond=0)
    try:
        if unit in ("hour", "day", "week"):
            return moment - timedelta(**{f"{unit}s": amount})
        months = moment.year * 12 + moment.month - 1 - amount * (12 if unit == "year" else 1)
        first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    except (OverflowError, ValueError) as error:
        raise Refusal(f"{amount:,} {unit}s ago there was no calendar: name a later time.") from error
    following = (first + timedelta(days=31)).replace(day=1)
    last = (following - timedelta(days=1)).day
    return first.replace(day=min(moment.day, last))


def _end_of(text: str) -> datetime:
    """The end of a date, or the moment itself where it has a time."""
    return _date(text) + timedelta(days=not re.search(r"\d:\d", text))


def _date(text: str) -> datetime:
    """A date, perhaps with a time, in UTC. Raises Refusal."""
    try:
        return datetime(*map(int, re.findall(r"\d+", text)))  # type: ignore[arg-type]
    except ValueError as error:
        raise Refusal(f"“{text}” is no date of the calendar: write it like 2026-11-01 or 2026-11-01 14:30.") from error
