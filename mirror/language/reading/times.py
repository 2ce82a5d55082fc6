"""Times in a question, found among its tokens: "in 2025", "since last march", "the past 3 weeks", "from 2024 on".

Every reading is kept, with the tokens that it takes: a year may be a number too, and a month without a year is the last
one that has begun.
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Literal

from mirror.language.reading.lexemes import Token
from mirror.words import phrasebook

_UNITS = {
    "day": "day", "days": "day", "week": "week", "weeks": "week", "wk": "week", "wks": "week", "month": "month",
    "months": "month", "mnth": "month", "mnths": "month", "mth": "month", "quarter": "quarter", "quarters": "quarter",
    "qtr": "quarter", "qtrs": "quarter", "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "decade": "decade",
}  # fmt: skip
_BEFORE = frozenset(("last", "past", "previous", "prior", "preceding", "lst", "prev", "recent"))
_THIS = frozenset(("this", "current", "present", "running", "ongoing"))
_NEXT = frozenset(("next", "coming", "upcoming", "following"))
_LITTLE = frozenset(("the", "of", "in", "year", "month", "fy", "calendar", "fiscal", "financial", "our", "my", "day"))
_IN = frozenset(("in", "during", "for", "of", "on", "within", "over", "throughout", "through", "at", "dated", "by"))
_FROM = frozenset(("since", "from", "starting", "beginning", "effective"))
_ON = frozenset(("on", "onwards", "onward", "forward", "forth"))
_UNTIL = frozenset(("until", "till", "til", "up", "through", "thru"))
_TO = frozenset(("to", "until", "till", "through", "and", "thru", "til"))
_SOON = {"early": 0, "beginning": 0, "start": 0, "begin": 0, "end": 1, "close": 1}
_NTH = {"1st": 1, "first": 1, "2nd": 2, "second": 2, "3rd": 3, "third": 3, "4th": 4, "fourth": 4, "last": 4}
_SURE, _NO_YEAR, _BARE, _PART_OF = 0.0, 0.15, 0.05, 0.16
_MOST_YEARS = 1_000


@dataclass(frozen=True)
class Time:
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


@dataclass(frozen=True)
class Said:
    """A time and the tokens that say it."""

    start: int
    end: int
    time: Time
    cost: float = _SURE


@dataclass(frozen=True)
class _Period:
    """From `start` on and before `end`; the tokens up to `at` say it."""

    start: datetime
    end: datetime
    at: int
    cost: float = _SURE
    years: tuple[int, ...] = ()
    month_only: bool = False


@cache
def _months() -> dict[str, int]:
    return {name: int(number) for name, number in phrasebook.numbers("calendar", "months").items()}


def whole_year(number: object) -> Time | None:
    """The year that a number may be; None for other numbers."""
    if not isinstance(number, int) or not 1900 <= number <= 2100:
        return None
    return Time(datetime(number, 1, 1), datetime(number + 1, 1, 1), str(number), "=", (number,))


def times_in(tokens: Sequence[Token], now: datetime) -> list[Said]:
    """All times that the tokens say, those that begin first in front."""
    return _Times(tokens, now).found()


class _Times:
    def __init__(self, tokens: Sequence[Token], now: datetime) -> None:
        self._words = [t.text for t in tokens]
        self._tokens = tokens
        self._now = now
        self._today = datetime(now.year, now.month, now.day)

    def found(self) -> list[Said]:
        """All of them."""
        said: dict[tuple[int, int, datetime | None, datetime | None], Said] = {}
        for i in range(len(self._words)):
            for one in self._from(i):
                said.setdefault((one.start, one.end, one.time.start, one.time.end), one)
        return [one for one in said.values() if not any(_takes_in(other, one) for other in said.values())]

    def _word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def _over(self, at: int, words: frozenset[str] = _LITTLE) -> int:
        while self._word(at) in words:
            at += 1
        return at

    # -- bounds ----------------------------------------------------------------------------------------------------

    def _from(self, i: int) -> Iterator[Said]:
        """The times that begin at a token."""
        word = self._word(i)
        if word in ("between", "from", "in", "for", "during"):
            yield from self._range(i, i + 1)
        yield from self._range(i, i)
        if word in _FROM and (at := self._bound(i + 1)) is not None:
            first = word in ("since", "from") or self._word(i + 1) in ("from", "in", "with", "on", "of", "at")
            if first:
                for period in self._points(at):
                    yield self._said(i, self._after_on(period.at), period.start, None, ">=", period)
        if word in ("after", "past"):
            for period in self._points(self._bound(i + 1) or i + 1):
                yield self._said(i, period.at, period.end, None, ">", period)
        if word in ("before", "prior", "earlier"):
            for period in self._points(self._bound(i + 1) or i + 1):
                yield self._said(i, period.at, None, period.start, "<", period)
        if word in _UNTIL or (word == "by" and self._word(i + 1) in ("the", "end")):
            for period in self._points(self._bound(i + 1) or i + 1):
                yield self._said(i, period.at, None, period.end, "<=", period)
        yield from self._plain(i)
        yield from self._to_now(i)

    def _bound(self, at: int) -> int | None:
        return self._over(
            at, frozenset(("to", "in", "on", "from", "with", "of", "the", "at", "including", "until", "than"))
        )

    def _after_on(self, at: int) -> int:
        return at + 1 if self._word(at) in _ON else at

    def _plain(self, i: int) -> Iterator[Said]:
        """A period with or without a preposition, and `2025 onwards`, `2024 or later`."""
        at = self._over(i + 1, frozenset(("the", "all", "whole", "entire"))) if self._word(i) in _IN else i
        for period in self._periods(at):
            yield self._said(i, period.at, period.start, period.end, "=", period)
            if self._word(period.at) in _ON and self._word(period.at) != "on":
                yield self._said(i, period.at + 1, period.start, None, ">=", period)
            pair = (self._word(period.at), self._word(period.at + 1))
            if pair[0] in ("or", "and"):
                if pair[1] in ("later", "after", "newer", "afterwards", "onwards", "thereafter"):
                    yield self._said(i, period.at + 2, period.start, None, ">=", period)
                if pair[1] in ("earlier", "before", "older"):
                    yield self._said(i, period.at + 2, None, period.end, "<=", period)
            if pair == ("so", "far") or pair == ("to", "date"):
                yield self._said(i, period.at + 2, period.start, None, ">=", period)
            if pair[0] == "ytd":
                yield self._said(i, period.at + 1, period.start, None, ">=", period)

    def _to_now(self, i: int) -> Iterator[Said]:
        word, following = self._word(i), self._word(i + 1)
        january = datetime(self._now.year, 1, 1)
        if word == "ytd":
            known = [p for p in self._periods(i + 1) if p.years]
            start, end = (known[0].start, known[0].at) if known else (january, i + 1)
            yield Said(i, end, Time(start, None, "ytd", ">="))
        if (word, following) == ("year", "to") and self._word(i + 2) == "date":
            yield Said(i, i + 3, Time(january, None, "year to date", ">="))
        if (word, following) == ("since", "new") and self._word(i + 2) in ("year", "years", "year's"):
            yield Said(i, i + 3, Time(january, None, "since new year", ">="))
        if word in ("overdue", "expired", "lapsed"):
            yield Said(i, i + 1, Time(None, self._today, word, "<"), 0.4)

    def _range(self, i: int, at: int) -> Iterator[Said]:
        at = self._over(at, frozenset(("the",)))
        for first in self._periods(at):
            at = first.at
            if self._word(at) in (",",) or self._word(at) in _TO or self._word(at) == "-":
                months = [first]
                while self._word(at) == ",":  # "july, august and september"
                    listed = [p for p in self._periods(at + 1) if p.month_only or p.years]
                    if not listed:
                        break
                    months.append(listed[0])
                    at = listed[0].at
                if self._word(at) not in _TO and self._word(at) != "-":
                    continue
                plain = self._word(at) == "and" and self._word(i) not in ("between", "from") and len(months) == 1
                at = self._over(at + 1, frozenset(("the", "including", "incl")))
                for last in self._points(at):
                    start = first.start
                    if first.month_only and not last.month_only:
                        start = datetime(last.end.year if last.end.month > 1 else last.end.year - 1, start.month, 1)
                    if start < last.end and not (plain and not (first.month_only or first.years)):
                        end = last.end
                        years = (*first.years[:1], *last.years[-1:]) if first.years and last.years else ()
                        cost = max(first.cost, last.cost) + (0.3 if plain else 0.0)
                        yield Said(i, last.at, Time(start, end, self._phrase(i, last.at), "between", years), cost)

    def _phrase(self, i: int, end: int) -> str:
        return " ".join(self._words[i:end])

    def _said(
        self, i: int, at: int, start: datetime | None, end: datetime | None, operator: str, period: _Period
    ) -> Said:
        years = period.years if period.years and len(period.years) == 1 else ()
        cost = period.cost
        return Said(i, at, Time(start, end, self._phrase(i, at), operator, years), cost)  # type: ignore[arg-type]

    # -- periods ---------------------------------------------------------------------------------------------------

    def _points(self, at: int) -> Iterator[_Period]:
        """Periods, or the day at which one begins or ends: `the start of 2025`, `end of march`."""
        at = self._over(at, frozenset(("the",)))
        if self._word(at) in _SOON:
            inner = self._over(at + 1, frozenset(("of", "the", "in")))
            for period in self._periods(inner):
                if _SOON[self._word(at)]:
                    yield _Period(period.end - timedelta(days=1), period.end, period.at, period.cost)
                else:
                    yield _Period(period.start, period.start + timedelta(days=1), period.at, period.cost)
        yield from self._periods(at)

    def _periods(self, at: int) -> Iterator[_Period]:
        """Days, months, quarters, halves, years and decades that begin at a token."""
        yield from self._day(at)
        yield from self._quarter(at)
        yield from self._month(at)
        yield from self._relative(at)
        yield from self._year(at)
        yield from self._named_day(at)

    def _year_number(self, at: int) -> tuple[int, int] | None:
        """(year, place behind it)."""
        at = self._over(at, frozenset(("of", "in", "the", "year", "calendar", "fiscal", "fy", ",")))
        token = self._tokens[at] if 0 <= at < len(self._tokens) else None
        if token and token.kind == "number" and re.fullmatch(r"(19|20)\d\d", token.text):
            return int(token.text), at + 1
        if token and (fiscal := re.fullmatch(r"(?:fy|cy)((?:19|20)\d\d)", token.text)):
            return int(fiscal[1]), at + 1
        word, following = self._word(at), self._word(at + 1)
        unit = _UNITS.get(following)
        if unit == "year" and word in _THIS:
            return self._now.year, at + 2
        if unit == "year" and word in _BEFORE:
            return self._now.year - 1, at + 2
        if unit == "year" and word in _NEXT:
            return self._now.year + 1, at + 2
        return None

    def _year(self, at: int) -> Iterator[_Period]:
        word = self._word(at)
        start = at
        if word in ("calendar", "fiscal", "financial", "fy", "year") or (
            word == "the" and self._word(at + 1) == "year"
        ):
            start = self._over(at, frozenset(("the", "calendar", "fiscal", "financial", "fy", "year", "of")))
        found = self._year_number(start) if self._word(start) not in ("of", "in", ",", "the") else None
        if found:
            year, end = found
            bare = start == at
            yield _Period(*_span(year, 1, 12), end, _BARE if bare else _SURE, (year,))
        half, end = {"h1": 1, "h2": 7}.get(word), at + 1
        if self._word(at + 1) == "half":
            half, end = {"first": 1, "1st": 1, "second": 7, "2nd": 7, "last": 7}.get(word), at + 2
        if half and (found := self._year_number(end)):
            yield _Period(*_span(found[0], half, 6), found[1])
        if decade := re.fullmatch(r"((?:19|20)\d)0s", word):
            year = int(decade[1]) * 10
            yield _Period(datetime(year, 1, 1), datetime(year + 10, 1, 1), at + 1)

    def _month(self, at: int) -> Iterator[_Period]:
        at = self._over(at, frozenset(("month", "months")))
        number = _months().get(self._word(at).rstrip("."))
        if number is None or (self._word(at) in ("may", "mar") and not self._year_number(at + 1) and at == 0):
            return
        if found := self._year_number(at + 1):
            year, end = found
            yield _Period(*_span(year, number, 1), end)
            return
        year = self._now.year if number <= self._now.month else self._now.year - 1
        cost = _NO_YEAR + (0.6 if self._word(at) in ("may", "mar", "dec", "jan", "sep") else 0)
        yield _Period(*_span(year, number, 1), at + 1, cost, month_only=True)

    def _quarter(self, at: int) -> Iterator[_Period]:
        word = self._word(at)
        number, end = None, at
        if match := re.fullmatch(r"q([1-4])", word):
            number, end = int(match[1]), at + 1
        elif word in _NTH and _UNITS.get(self._word(at + 1)) == "quarter":
            number, end = _NTH[word], at + 2
        if number is None:
            return
        if found := self._year_number(end):
            yield _Period(*_span(found[0], number * 3 - 2, 3), found[1])
        elif word != "last":
            year = self._now.year if number * 3 - 2 <= self._now.month else self._now.year - 1
            yield _Period(*_span(year, number * 3 - 2, 3), end, _NO_YEAR)

    def _relative(self, at: int) -> Iterator[_Period]:
        """`last month`, `the past 3 weeks`, `this year`, `the year before`."""
        word = self._word(at)
        if word == "the" and (self._word(at + 1) in _BEFORE | _THIS | _NEXT):
            at, word = at + 1, self._word(at + 1)
        if word in _BEFORE | _THIS | _NEXT:
            unit = _UNITS.get(self._word(at + 1))
            number = self._tokens[at + 1].number if at + 1 < len(self._tokens) else None
            if unit and self._word(at + 1) not in ("days", "weeks", "months", "years", "quarters"):
                turn = -1 if word in _BEFORE else 1 if word in _NEXT else 0
                end = at + 2
                if (month := _months().get(self._word(end))) and unit == "month":
                    end += 1  # "the past month October"
                    yield _Period(*_span(self._now.year, month, 1), end)
                start, stop = self._calendar(unit, turn)
                yield _Period(start, stop, at + 2, years=(start.year,) if unit == "year" else ())
            elif isinstance(number, int) and (unit := _UNITS.get(self._word(at + 2))) and word not in _THIS:
                if 0 < number <= _MOST_YEARS:
                    yield self._rolling(unit, number if word in _NEXT else -number, at + 3)
            elif unit and word in _BEFORE and self._word(at + 1) in ("days", "weeks", "months", "years"):
                return
            elif (month := _months().get(self._word(at + 1))) and word in _BEFORE | _NEXT:  # "last march"
                year = self._now.year - (word in _BEFORE and month >= self._now.month)
                year += word in _NEXT and month <= self._now.month
                if not self._year_number(at + 2):
                    yield _Period(*_span(year, month, 1), at + 2)
        if _UNITS.get(word) == "year" and self._word(at + 1) in ("before", "earlier"):
            end = at + 2
            if self._word(end) in ("last", "that", "it"):
                end += 1
            year = self._now.year - 2
            yield _Period(*_span(year, 1, 12), end, years=(year,))
        number = self._tokens[at].number if at < len(self._tokens) else None
        unit = _UNITS.get(self._word(at + 1))
        if isinstance(number, int) and unit and self._word(at + 2) == "ago" and 0 < number <= _MOST_YEARS:
            start, end_of = self._back(unit, number)
            yield _Period(start, end_of, at + 3)

    def _named_day(self, at: int) -> Iterator[_Period]:
        word = self._word(at)
        turn = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(word)
        if turn is not None:
            day = self._today + timedelta(days=turn)
            yield _Period(day, day + timedelta(days=1), at + 1)
        if word == "now":
            yield _Period(self._today, self._today + timedelta(days=1), at + 1, 0.2)
        if word == "new" and self._word(at + 1).startswith("year"):
            end = at + 2 + (self._word(at + 2) == "s")
            eve = self._word(end) == "eve"
            end += self._word(end) in ("eve", "day")
            found = self._year_number(end)
            year = found[0] if found else self._now.year
            start = datetime(year, 12, 31) if eve else datetime(year, 1, 1)
            yield _Period(start, start + timedelta(days=1), found[1] if found else end)

    def _day(self, at: int) -> Iterator[_Period]:
        """`2025-01-31`, `31 January 2025`, `January 31st, 2025`, `2025-01`."""
        token = self._tokens[at] if at < len(self._tokens) else None
        if token is None:
            return
        if token.kind == "date":
            yield from self._written(token.text, at + 1)
            return
        word, following = token.text, self._word(at + 1)
        first = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", word)
        if first:
            place = at + 2 if following == "of" else at + 1
            if month := _months().get(self._word(place)):
                yield from self._dated(int(first[1]), month, place + 1)
        elif month := _months().get(word):
            day = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", following)
            if day and (self._year_number(at + 2) or following[-1].isalpha()):
                yield from self._dated(int(day[1]), month, at + 2)

    def _dated(self, day: int, month: int, at: int) -> Iterator[_Period]:
        found = self._year_number(at)
        year = found[0] if found else self._now.year if (month, day) <= (self._now.month, self._now.day) else None
        year = year or self._now.year - 1
        if 1 <= day <= calendar.monthrange(year, month)[1]:
            start = datetime(year, month, day)
            yield _Period(start, start + timedelta(days=1), found[1] if found else at, _SURE if found else _NO_YEAR)

    def _written(self, text: str, at: int) -> Iterator[_Period]:
        try:
            if match := re.fullmatch(r"(\d{4})-(\d\d?)-(\d\d?)", text):
                start = datetime(int(match[1]), int(match[2]), int(match[3]))
            elif match := re.fullmatch(r"(\d{4})-(\d\d?)", text):
                yield _Period(*_span(int(match[1]), int(match[2]), 1), at)
                return
            elif match := re.fullmatch(r"(\d\d?)[./](\d\d?)[./](\d{4})", text):
                day, month = int(match[1]), int(match[2])
                if "/" in text and day <= 12:
                    day, month = month, day  # 3/25/2025
                start = datetime(int(match[3]), month, day)
            else:
                return
        except ValueError:
            return
        yield _Period(start, start + timedelta(days=1), at)

    # -- the calendar ----------------------------------------------------------------------------------------------

    def _calendar(self, unit: str, turn: int) -> tuple[datetime, datetime]:
        """This, the last or the next day, week, month, quarter, year or decade, as the calendar has it."""
        today = self._today
        if unit in ("day", "week"):
            length = timedelta(days=1 if unit == "day" else 7)
            start = today - timedelta(days=today.weekday() if unit == "week" else 0) + turn * length
            return start, start + length
        if unit == "decade":
            year = today.year // 10 * 10 + 10 * turn
            return datetime(year, 1, 1), datetime(year + 10, 1, 1)
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        at = today.year * 12 + (today.month - 1) // months * months + turn * months
        return _span(at // 12, at % 12 + 1, months)

    def _rolling(self, unit: str, number: int, at: int) -> _Period:
        """The last or next so many units, up to now or from now on."""
        tomorrow = self._today + timedelta(days=1)
        if unit in ("day", "week"):
            days = number * (1 if unit == "day" else 7)
            moved = self._today + timedelta(days=days)
        else:
            moved = _moved(self._today, number * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit])
        return _Period(moved, tomorrow, at) if number < 0 else _Period(self._today, moved, at)

    def _back(self, unit: str, number: int) -> tuple[datetime, datetime]:
        start = self._rolling(unit, -number, 0).start
        return start, start + timedelta(days=1)


def _takes_in(longer: Said, one: Said) -> bool:
    """Whether a time is only a part of what another one says."""
    within = longer.start <= one.start and one.end <= longer.end
    return within and longer.end - longer.start > one.end - one.start and longer.cost <= one.cost + _PART_OF


def _span(year: int, month: int, count: int) -> tuple[datetime, datetime]:
    last = year * 12 + month - 1 + count
    return datetime(year, month, 1), datetime(last // 12, last % 12 + 1, 1)


def _moved(day: datetime, months: int) -> datetime:
    at = max(12, day.year * 12 + day.month - 1 + months)
    year, month = at // 12, at % 12 + 1
    return datetime(year, month, min(day.day, calendar.monthrange(year, month)[1]))
