"""Times in a question about other data: "in 2025", "before march 2025", "between D and D", and what `time_cues` knows.

Each is taken out and a mark is left in its place, so that a reader still knows which column it stood beside.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from mirror.language.phrases import time_cues
from mirror.query.errors import Impossible
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

MARK = "timespan"
HOW_TO_SAY = (
    "say in 2025, in march 2025, since 2025-03-01, before 2025-06-01, between 2025-01-01 and 2025-03-31, last month"
)

_MONTHS = phrasebook.numbers("calendar", "months")
_FULL_MONTHS = [names[0] for names in phrasebook.phrases("calendar", "months").values()]
_MONTH = one_of(_MONTHS)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_NAMED = rf"(?:{_MONTH})\.?\s+{_YEAR}|q[1-4]\s*(?:of\s+)?{_YEAR}"
_PERIOD = rf"{_DAY}|{_YEAR}-\d{{2}}(?![\d-])|{_NAMED}|{_YEAR}"
_START, _END = r"(?<![\w.,-])", r"(?![\w-]|[.,]\d)"
_THE = r"(?:the\s+)?(?:year\s+|month\s+|months\s+|quarter\s+|years\s+)?(?:of\s+)?"

_RANGE = re.compile(
    rf"{_START}(?:between|from|in|for|during)\s+{_THE}(?P<first>{_PERIOD})\s*(?:and|to|until|till|through|–)\s*"
    rf"(?P<last>{_PERIOD}){_END}"
)
_BOUND = re.compile(
    rf"(?:{_START}(?P<word>since|starting(?:\s+in|\s+from)?|after|before|until|till|through|from|in|during|for|of|on"
    rf"|within)\s+|(?P<sign>>=|<=|<>|!=|[<>=≤≥])\s*){_THE}(?P<period>{_PERIOD}){_END}"
)
_BARE = re.compile(rf"{_START}(?P<period>{_DAY}|{_NAMED}){_END}")
_NO_YEAR = re.compile(rf"{_START}(?:in|during|since|before|after|until|of)\s+(?P<month>{one_of(_FULL_MONTHS)}){_END}")

_LIKE_TIMES = phrasebook.words("calendar", "weekdays", "days", "courses")
_HIDDEN = "\N{WORD JOINER}"

_FROM_START = (">=", "≥", "since", "starting", "starting in", "starting from")
_TO_END = ("<=", "≤", "until", "till", "through")


@dataclass(frozen=True)
class Span:
    """A time that a question speaks of.

    Attributes:
        start: from this moment on, naive UTC, or None.
        end: before this moment, or None.
        phrase: the words for it.
        operator, years: what was written, where it was bare years: what a column of years, or of any numbers, is
            compared with; `between` has two. No years where a day, a month or a quarter was named.
    """

    start: datetime | None
    end: datetime | None
    phrase: str
    operator: Literal["=", "<>", "<", "<=", ">", ">=", "between"] = "="
    years: tuple[int, ...] = ()


def find(question: str, now: datetime, names: Iterable[str] = ()) -> tuple[list[Span], bool, str]:
    """The times of a question, whether it asks for a course over time, and the question with marks in their places.

    `names` are words of the database, which are no times there: a table `history`, a weekday in a column.

    Raises Refusal for a time that is not understood.
    """
    text = unicodedata.normalize("NFKC", question).lower()
    spans: list[Span] = []

    def take(match: re.Match[str]) -> str:
        spans.append(_span(match))
        return f" {MARK}{len(spans) - 1} "

    for pattern in (_RANGE, _BOUND, _BARE):
        text = pattern.sub(take, text)
    if month := _NO_YEAR.search(text):
        raise Impossible(f"“{month[0]}” needs a year, as in “{month['month']} {now.year}”.")
    for name in names:
        if name in _LIKE_TIMES:
            text = re.sub(rf"\b{name}", _HIDDEN.join(name), text)
    times, rest = time_cues.find(text, now)
    if times.start is not None:
        spans.append(Span(times.start, times.end, times.phrase))
        _, rest = time_cues.find(text.replace(times.phrase, f" {MARK}{len(spans) - 1} ", 1), now)
    return spans, times.course, rest.replace(_HIDDEN, "")


def _span(match: re.Match[str]) -> Span:
    parts = match.groupdict()
    phrase = " ".join(match[0].split())
    if "first" in parts:
        start, end = _period(parts["first"])[0], _period(parts["last"])[1]
        if start >= end:
            raise Impossible(f"“{phrase}” ends before it begins: name the earlier time first.")
        bare = _is_year(parts["first"]) and _is_year(parts["last"])
        return Span(start, end, phrase, "between", (int(parts["first"]), int(parts["last"])) if bare else ())
    start, end = _period(parts["period"])
    how = " ".join((parts.get("word") or parts.get("sign") or "in").split())
    years = (int(parts["period"]),) if _is_year(parts["period"]) else ()
    if how in _FROM_START or (how == "from" and end - start == timedelta(days=1)):
        return Span(start, None, phrase, ">=", years)
    if how in ("after", ">"):
        return Span(end, None, phrase, ">", years)
    if how in ("before", "<"):
        return Span(None, start, phrase, "<", years)
    if how in _TO_END:
        return Span(None, end, phrase, "<=", years)
    return Span(start, end, phrase, "<>" if how in ("<>", "!=", "≠") else "=", years)


def _is_year(text: str) -> bool:
    return bool(re.fullmatch(_YEAR, text))


def _period(text: str) -> tuple[datetime, datetime]:
    """(start, end) of a day, month, quarter or year. Raises Refusal for what is in no calendar."""
    try:
        if quarter := re.fullmatch(rf"q([1-4])\s*(?:of\s+)?({_YEAR})", text):
            return _months(int(quarter[2]), int(quarter[1]) * 3 - 2, 3)
        if named := re.fullmatch(rf"([a-z]+)\.?\s+({_YEAR})", text):
            return _months(int(named[2]), int(_MONTHS[named[1]]), 1)
        numbers = [int(n) for n in text.split("-")]
        if len(numbers) == 3:
            start = datetime(*numbers)  # type: ignore[arg-type]
            return start, start + timedelta(days=1)
        return _months(numbers[0], numbers[1], 1) if len(numbers) == 2 else _months(numbers[0], 1, 12)
    except (ValueError, OverflowError) as error:
        raise Impossible(f"“{text}” is no date of the calendar: write it like 2025-03-01.") from error


def _months(year: int, month: int, count: int) -> tuple[datetime, datetime]:
    last = year * 12 + month - 1 + count
    return datetime(year, month, 1), datetime(last // 12, last % 12 + 1, 1)
