"""Single days in a question: "2026-11-17", "nov 17", "the eleventh of november", "last monday", "on the 9th", "today".

What was not said of a day (its year, month or week) is the last one that has it, and is kept with the day, so that two
days that make a range can be told apart from one another: "the 28th to the 3rd".
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Literal, Protocol

from mirror.words import phrasebook

BEFORE = frozenset(("last", "past", "previous", "prior", "preceding", "lst", "prev", "recent"))
THIS = frozenset(("this", "current", "present", "running", "ongoing"))
NEXT = frozenset(("next", "coming", "upcoming", "following"))
SINCE = frozenset(("since", "sinc", "from"))
# What a cost must be above that of a shorter reading, so that both are kept; costs of what was left out.
PART_OF, SURE, BARE, NO_YEAR = 0.16, 0.0, 0.05, 0.15
_APART = PART_OF + 0.01
_DAY = timedelta(days=1)

# Prepositions that go with a single day; "in november 17 runs failed" is a month and a number.
_ON_A_DAY = SINCE | {"on", "after", "before", "until", "till", "til", "by"}
_CLEAR = _ON_A_DAY | {"between", "to", "up", "through", "thru", "past", "and"}
_SHORT = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6}
_WORDS_TOO = frozenset(("mon", "wed", "sat", "sun"))
_MONTHS_TOO = {"may": 0.6, "march": 0.0}  # what these months cost more, as they are everyday words
_PARTS = frozenset(("morning", "afternoon", "evening", "night"))
_TO_TWENTY = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS = {word: day for day, word in enumerate(_TO_TWENTY.split(), 1)} | {"twelvth": 12, "thirtieth": 30}
_TENS = {"twenty": 20, "thirty": 30}
_THINGS = (
    "percentile percentiles pctl pct quantile quantiles quartile decile place places row rows rank ranks ranked "
    "position quarter half week weeks month months year years day days hour hours decade century time times run runs "
    "trial trials attempt try step epoch item entry column line page floor grade class season round edition version "
    "generation customer person party best worst fastest slowest largest smallest biggest highest lowest most least "
    "longest shortest oldest newest cheapest"
)
_COUNTED = frozenset(_THINGS.split())  # "the 3rd quarter" and its like are no days
_UNITS = "% # x k times percent days weeks months years hours hrs minutes seconds"
_COUNTING = frozenset(_UNITS.split())
_FUNCTION_WORDS = (
    "and or but to until till through in at on for with by from per since before after did was were is are do does "
    "have has inclusive incl only onwards onward what which who how show list give vs than i we then"
)
_GOES_ON = frozenset(("", ",", *_FUNCTION_WORDS.split()))  # what may follow a day that is only a number


class Word(Protocol):
    """What a token tells of itself."""

    @property
    def text(self) -> str:
        """In lower case."""

    @property
    def kind(self) -> str:
        """A `date` is written in digits; `quoted` text is no time."""

    @property
    def number(self) -> object:
        """The number that it is, also where it is written as a word."""


@dataclass(frozen=True)
class Period:
    """From `start` on and before `end`.

    Attributes:
        at: the place behind the tokens that say it.
        cost: how unsure it is.
        years: the year that it is, where one was written.
        month_only: a month without its year.
        unsaid: what of a day was not said: the year of "november 17", the month of "the 9th", the week of "monday".
        to_now: it goes on until the present, which is no bound: "the last 24 hours".
    """

    start: datetime
    end: datetime
    at: int
    cost: float = SURE
    years: tuple[int, ...] = ()
    month_only: bool = False
    unsaid: Literal["", "year", "month", "week"] = ""
    to_now: bool = False

    @property
    def one_day(self) -> bool:
        """Whether it is a single day."""
        return self.end - self.start == _DAY and (self.start.hour, self.start.minute) == (0, 0)


@cache
def months() -> dict[str, int]:
    """The number of each name of a month."""
    return {name: int(number) for name, number in phrasebook.numbers("calendar", "months").items()}


@cache
def _weekdays() -> dict[str, int]:
    return _SHORT | {name: int(number) for name, number in phrasebook.numbers("calendar", "weekdays").items()}


def moved(day: datetime, months_on: int) -> datetime:
    """The day so many months on; the last of its month where that has no such day."""
    at = min(max(12, day.year * 12 + day.month - 1 + months_on), 9_999 * 12 - 1)
    year, month = at // 12, at % 12 + 1
    return datetime(year, month, min(day.day, calendar.monthrange(year, month)[1]))


class Days:
    """The days among the tokens of a question."""

    def __init__(self, tokens: Sequence[Word], now: datetime) -> None:
        self._words = [t.text for t in tokens]
        self._tokens = tokens
        self._now = now.replace(second=0, microsecond=0)
        self._today = datetime(now.year, now.month, now.day)
        self._periods_at: dict[int, tuple[Period, ...]] = {}

    def _word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def _over(self, at: int, words: frozenset[str]) -> int:
        while self._word(at) in words:
            at += 1
        return at

    def _turn(self, at: int) -> int | None:
        """-1, 0 or 1 for last, this and next."""
        word = self._word(at)
        return -1 if word in BEFORE else 0 if word in THIS else 1 if word in NEXT else None

    def _year_number(self, at: int) -> tuple[int, int] | None:
        """(year, place behind it)."""
        at = self._over(at, frozenset(("of", "in", "the", "year", "calendar", "fiscal", "fy", ",")))
        token = self._tokens[at] if 0 <= at < len(self._tokens) else None
        if token and token.kind == "number" and re.fullmatch(r"(19|20)\d\d", token.text):
            return int(token.text), at + 1
        if token and (fiscal := re.fullmatch(r"(?:fy|cy)((?:19|20)\d\d)", token.text)):
            return int(fiscal[1]), at + 1
        turn = self._turn(at)
        if turn is not None and self._word(at + 1) in ("year", "years", "yr", "yrs"):
            return self._now.year + turn, at + 2
        return None

    def _days(self, at: int) -> Iterator[Period]:
        """The days that begin at a token."""
        yield from self._date(at)
        yield from self._weekday(at)
        yield from self._of_a_month(at)
        yield from self._named_day(at)

    # -- with their month ------------------------------------------------------------------------------------------

    def _date(self, at: int) -> Iterator[Period]:
        """`2025-01-31`, `31 January 2025`, `January 31st, 2025`, `nov 17`, `ninth of last month`; also `2025-01`."""
        if not 0 <= at < len(self._tokens):
            return
        if self._tokens[at].kind == "date":
            yield from self._written(self._words[at], at + 1)
        elif month := months().get(self._word(at)):
            yield from self._month_and_day(at, month)
        elif numbered := self._numbered(at):
            day, end = numbered
            place = end + 1 if self._word(end) == "of" else end
            if month := months().get(self._word(place)):
                word = self._word(at)
                unlike = self._word(at - 1) in ("top", "best", "bottom") or (
                    day <= 3 and word.isalpha() and place == end
                )
                yield from self._dated(day, month, place + 1, NO_YEAR + (_APART if unlike else 0))
            elif place > end and not self._word(at).isdigit():
                place = self._over(place, frozenset(("the",)))
                turn = self._turn(place)
                place += turn is not None
                if self._word(place) == "month" and (turn is not None or self._word(place - 1) == "the"):
                    first = moved(self._today.replace(day=1), turn or 0)
                    if day <= calendar.monthrange(first.year, first.month)[1]:
                        yield _one(first.replace(day=day), place + 1)

    def _month_and_day(self, at: int, month: int) -> Iterator[Period]:
        place = self._over(at + 1, frozenset(("the",)))
        numbered = self._numbered(place)
        if not numbered:
            return
        day, end = numbered
        name, text = self._word(at), self._word(place)
        cost = NO_YEAR
        if text.isalpha():
            cost += _APART if day <= 3 and place == at + 1 else 0.0  # "in november second to none"
        elif text.isdigit() and place > at + 1:
            return
        elif text.isdigit() and not self._year_number(end):  # a number may be of something else
            if self._word(end) in _COUNTING:
                return
            if self._word(at - 1) in _CLEAR:
                cost += _APART if name in _MONTHS_TOO else BARE
            else:
                unlike = name in _MONTHS_TOO or self._word(at - 1) in ("in", "during", "within", "throughout")
                cost += _MONTHS_TOO.get(name, 0.0) + (_APART if unlike else BARE)
        yield from self._dated(day, month, end, cost)

    def _numbered(self, at: int) -> tuple[int, int] | None:
        """(number of a day of any month, place behind it): `17`, `17th`, `seventeenth`, `twenty first`."""
        if not 0 <= at < len(self._tokens) or self._tokens[at].kind == "quoted":
            return None
        word, following = self._word(at), self._word(at + 1)
        if digits := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", word):
            day, end = int(digits[1]), at + 1
        elif word in _TENS and _ORDINALS.get(following, 10) < 10:
            day, end = _TENS[word] + _ORDINALS[following], at + 2
        else:
            day, end = _ORDINALS.get(word, 0), at + 1
        return (day, end) if 1 <= day <= 31 else None

    def _dated(self, day: int, month: int, at: int, cost: float) -> Iterator[Period]:
        found = self._year_number(at)
        past = (month, day) <= (self._now.month, self._now.day)
        year = found[0] if found else self._now.year - (not past)
        if day <= calendar.monthrange(year, month)[1]:
            start = datetime(year, month, day)
            yield _one(start, found[1]) if found else _one(start, at, cost, "year")

    def _written(self, text: str, at: int) -> Iterator[Period]:
        try:
            if match := re.fullmatch(r"(\d{4})-(\d\d?)-(\d\d?)", text):
                start = datetime(int(match[1]), int(match[2]), int(match[3]))
            elif match := re.fullmatch(r"(\d{4})-(\d\d?)", text):
                start = datetime(int(match[1]), int(match[2]), 1)
            elif match := re.fullmatch(r"(\d\d?)[./](\d\d?)[./](\d{4})", text):
                day, month = int(match[1]), int(match[2])
                if "/" in text and day <= 12:
                    day, month = month, day  # 3/25/2025
                start = datetime(int(match[3]), month, day)
            else:
                return
        except ValueError:
            return
        if 1 < start.year < 9_999:  # there is a calendar before and after it
            yield Period(start, moved(start, 1), at) if text.count("-") == 1 else _one(start, at)

    # -- of a week, of a month -------------------------------------------------------------------------------------

    def _weekday(self, at: int) -> Iterator[Period]:
        """`monday`, `last monday`, `friday of last week`; of `tuesday, i mean the 17th` the date."""
        turn = self._turn(at)
        place = at + (turn is not None)
        name = self._word(place)
        number = _weekdays().get(name)
        if number is None or self._word(place - 1) in ("every", "each", "per", "all", "any"):
            return
        end = self._over(place + 1, _PARTS)
        if dated := list(self._meant(end)):
            for day in dated:
                yield _one(day.start, day.at, min(day.cost, BARE), day.unsaid)
            return
        if self._word(end) in ("of", "in") and self._word(end + 1) in months():  # "the last friday of october"
            return
        cost = self._weekday_cost(at, name)
        if cost is None:
            return
        today, week = self._today, self._today - timedelta(days=self._today.weekday())
        after = self._over(end, frozenset(("of", "the")))
        weeks = self._turn(after)
        if turn is None and weeks is not None and self._word(after + 1) == "week":
            yield _one(week + timedelta(days=7 * weeks + number), after + 2)
            return
        back = (today.weekday() - number) % 7
        if turn is None:
            yield _one(today - timedelta(days=back), end, cost, "week")
        elif turn == 0:
            yield _one(week + timedelta(days=number), end, cost)
        else:
            days = -(back or 7) if turn < 0 else 7 - back
            yield _one(today + timedelta(days=days), end, cost)

    def _meant(self, at: int) -> Iterator[Period]:
        """The date that is said behind a weekday."""
        at = self._over(at, frozenset((",", "i", "mean", "meant", "ie", "that", "is", "meaning", "the", "on")))
        dated = [day for day in self._date(at) if day.one_day]
        yield from dated or self._of_a_month(at, after_weekday=True)

    def _weekday_cost(self, at: int, name: str) -> float | None:
        """None where it is no weekday: "mon cher", "5 sun exposed plants"."""
        before = self._word(at - 1)
        joined = before == "and" and self._word(at - 2) in _weekdays()
        clear = self._turn(at) is not None or joined or before in _CLEAR - {"and"}
        if name in _WORDS_TOO:
            goes_on = self._word(at + 1 + (self._turn(at) is not None)) in _GOES_ON
            return (0.2 if goes_on else 0.5) if clear else None
        if self._turn(at) is not None:
            return SURE
        return BARE if clear and before != "on" else 0.25  # a weekday may be a value too

    def _of_a_month(self, at: int, after_weekday: bool = False) -> Iterator[Period]:
        """`the 9th` of this month, or of the last one where that is still to come."""
        numbered = self._numbered(at)
        word = self._word(at)
        if not numbered or word.isdigit() or self._word(numbered[1]) in _COUNTED:
            return
        day, end = numbered
        the = self._word(at - 1) == "the"
        before = self._word(at - 2 if the else at - 1)
        clear, goes_on = before in _CLEAR, self._word(end) in _GOES_ON
        if after_weekday and (the or not word.isalpha()):
            cost = SURE
        elif word.isalpha():  # "after the second" is hardly ever a day
            if not (the and before in _ON_A_DAY and goes_on and day > 3):
                return
            cost = 0.5
        elif the or (clear and before != "and"):
            cost = 0.2 + (0.0 if clear else 0.2) + (0.0 if goes_on else 0.4)
        else:
            return
        if not any(True for _ in self._date(at)):
            yield _one(_latest(day, self._today), end, cost, "month")

    # -- by their names --------------------------------------------------------------------------------------------

    def _named_day(self, at: int) -> Iterator[Period]:
        word, following = self._word(at), self._word(at + 1)
        turn = {"today": 0, "yesterday": -1, "tomorrow": 1, "tonight": 0}.get(word)
        if turn is not None:
            yield _one(self._today + turn * _DAY, self._over(at + 1, _PARTS))
        if word == "this" and following in _PARTS:
            yield _one(self._today, at + 2)
        if word == "last" and following == "night":
            yield _one(self._today - _DAY, at + 2)
        if word == "day" and (following, self._word(at + 2)) in (("before", "yesterday"), ("after", "tomorrow")):
            yield _one(self._today + (-2 if following == "before" else 2) * _DAY, at + 3)
        if word == "now":
            yield _one(self._today, at + 1, 0.2)
        if word == "new" and following.startswith("year"):
            end = at + 2 + (self._word(at + 2) == "s")
            eve = self._word(end) == "eve"
            end += self._word(end) in ("eve", "day")
            found = self._year_number(end)
            year = found[0] if found else self._now.year
            start = datetime(year, 12, 31) if eve else datetime(year, 1, 1)
            yield _one(start, found[1] if found else end)

    def _unplaced(self, at: int) -> Iterator[Period]:
        """A day that only another one beside it gives a month: `8` of `november 1 to 8`."""
        numbered = self._numbered(at)
        if numbered and self._word(numbered[1]) not in (_COUNTING if self._word(at).isdigit() else _COUNTED):
            yield _one(_latest(numbered[0], self._today), numbered[1], SURE, "month")


def in_order(first: Period, last: Period) -> tuple[Period, Period] | None:
    """Two days of a range, each with what it takes from the other, which makes it as sure; None where they end before
    they begin."""
    if last.unsaid == "month" and first.unsaid in ("", "year"):
        last = _one(_following(last.start.day, first.start), last.at, min(first.cost, last.cost))
    elif last.unsaid == "week" and first.unsaid != "week" and last.start < first.start:
        last = _one(last.start + timedelta(days=7), last.at, last.cost)
    elif first.unsaid:
        day, until = first.start, last.start
        if first.unsaid == "week":
            day = until - timedelta(days=(until - day).days % 7)
        elif first.unsaid == "month":
            day = _latest(day.day, until)
        elif (day.month, day.day) != (2, 29):
            day = day.replace(year=until.year - ((day.month, day.day) > (until.month, until.day)))
        first = _one(day, first.at, min(first.cost, last.cost))
    return (first, last) if first.start <= last.start else None


def _one(day: datetime, at: int, cost: float = SURE, unsaid: Literal["", "year", "month", "week"] = "") -> Period:
    return Period(day, day + _DAY, at, cost, unsaid=unsaid)


def _latest(day: int, until: datetime) -> datetime:
    """The last day of that number that is not after another day."""
    first = until.replace(day=1)
    while day > calendar.monthrange(first.year, first.month)[1] or first.replace(day=day) > until:
        first = moved(first, -1)
    return first.replace(day=day)


def _following(day: int, after: datetime) -> datetime:
    """The first day of that number that is after another day."""
    first = after.replace(day=1)
    while day > calendar.monthrange(first.year, first.month)[1] or first.replace(day=day) <= after:
        first = moved(first, 1)
    return first.replace(day=day)
