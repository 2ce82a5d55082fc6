"""Periods in a question: single days, "q1 2025", "march", "the 1st half of nov", "the past 3 weeks", "last weekend"."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from mirror.language.reading.when.days import BARE, NO_YEAR, SURE, Days, Period, months, moved

_UNITS = {
    "day": "day", "days": "day", "week": "week", "weeks": "week", "wk": "week", "wks": "week", "month": "month",
    "months": "month", "mnth": "month", "mnths": "month", "mth": "month", "quarter": "quarter", "quarters": "quarter",
    "qtr": "quarter", "qtrs": "quarter", "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "decade": "decade",
}  # fmt: skip
_MINUTES = {"hour": 60, "hours": 60, "hr": 60, "hrs": 60, "minute": 1, "minutes": 1, "min": 1, "mins": 1}
_ROLLING = _UNITS | dict.fromkeys(_MINUTES, "minute") | {"fortnight": "fortnight", "fortnights": "fortnight"}
_GLUED = {"h": "hour", "hr": "hour", "hrs": "hour", "min": "min", "mins": "min", "d": "day", "w": "week", "wk": "week"}
_VAGUE = {"few": 3, "several": 3, "couple": 2}
_TENS = frozenset(("twenty", "thirty", "forty", "fifty", "sixty"))
_MANY = frozenset(("days", "weeks", "months", "years", "quarters"))
_SOON = {"early": 0, "beginning": 0, "start": 0, "begin": 0, "end": 1, "close": 1}
_NTH = {"1st": 1, "first": 1, "2nd": 2, "second": 2, "3rd": 3, "third": 3, "4th": 4, "fourth": 4, "last": 4}
_VAGUELY = 0.2
_MOST_YEARS, _MOST_UNITS = 1_000, 100_000


class Periods(Days):
    """The periods among the tokens of a question, and the days at which they begin and end."""

    def _points(self, at: int) -> Iterator[Period]:
        """Periods, or the day at which one begins or ends: `the start of 2025`, `end of march`."""
        at = self._over(at, frozenset(("the",)))
        if self._word(at) in _SOON:
            inner = self._over(at + 1, frozenset(("of", "the", "in")))
            for period in (*self._periods(inner), *self._present(inner)):
                if _SOON[self._word(at)]:
                    yield Period(period.end - timedelta(days=1), period.end, period.at, period.cost)
                else:
                    yield Period(period.start, period.start + timedelta(days=1), period.at, period.cost)
        yield from self._periods(at)

    def _present(self, at: int) -> Iterator[Period]:
        """The present one: `month`, of "the beginning of the month" and "since the month began"."""
        unit = _UNITS.get(self._word(at))
        if unit and self._word(at) not in _MANY and not self._year_number(at + 1):
            yield Period(*self._calendar(unit, 0), at + 1)

    def _periods(self, at: int) -> tuple[Period, ...]:
        """Days, months, quarters, halves, years and decades that begin at a token."""
        known = self._periods_at.get(at)
        if known is None:
            known = self._periods_at[at] = tuple(self._all_periods(at))
        return known

    def _all_periods(self, at: int) -> Iterator[Period]:
        yield from self._days(at)
        yield from self._quarter(at)
        yield from self._month(at)
        yield from self._relative(at)
        yield from self._ago(at)
        yield from self._weekend(at)
        yield from self._half_month(at)
        yield from self._year(at)

    def _year(self, at: int) -> Iterator[Period]:
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
            yield Period(*_span(year, 1, 12), end, BARE if bare else SURE, (year,))
        half, end = {"h1": 1, "h2": 7}.get(word), at + 1
        if self._word(at + 1) == "half":
            half, end = {"first": 1, "1st": 1, "second": 7, "2nd": 7, "last": 7}.get(word), at + 2
        if half and (found := self._year_number(end)):
            yield Period(*_span(found[0], half, 6), found[1])
        if decade := re.fullmatch(r"((?:19|20)\d)0s", word):
            year = int(decade[1]) * 10
            yield Period(datetime(year, 1, 1), datetime(year + 10, 1, 1), at + 1)

    def _month(self, at: int) -> Iterator[Period]:
        at = self._over(at, frozenset(("month", "months")))
        number = months().get(self._word(at))
        if number is None or (self._word(at) in ("may", "mar") and not self._year_number(at + 1) and at == 0):
            return
        if found := self._year_number(at + 1):
            year, end = found
            yield Period(*_span(year, number, 1), end)
            return
        year = self._now.year if number <= self._now.month else self._now.year - 1
        cost = NO_YEAR + (0.6 if self._word(at) in ("may", "mar", "dec", "jan", "sep") else 0)
        yield Period(*_span(year, number, 1), at + 1, cost, month_only=True)

    def _quarter(self, at: int) -> Iterator[Period]:
        word = self._word(at)
        number, end = None, at
        if match := re.fullmatch(r"q([1-4])", word):
            number, end = int(match[1]), at + 1
        elif word in _NTH and _UNITS.get(self._word(at + 1)) == "quarter":
            number, end = _NTH[word], at + 2
        if number is None:
            return
        if found := self._year_number(end):
            yield Period(*_span(found[0], number * 3 - 2, 3), found[1])
        elif word != "last":
            year = self._now.year if number * 3 - 2 <= self._now.month else self._now.year - 1
            yield Period(*_span(year, number * 3 - 2, 3), end, NO_YEAR)

    def _half_month(self, at: int) -> Iterator[Period]:
        """`1st half of nov`, `the second half of last month`."""
        half = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "last": 2}.get(self._word(at))
        if half is None or self._word(at + 1) != "half":
            return
        inner = self._over(at + 2, frozenset(("of", "the", "in")))
        for period in (*self._month(inner), *self._relative(inner), *self._present(inner)):
            middle = period.start + timedelta(days=15)
            if period.start.day == 1 and period.end == moved(period.start, 1):
                start, end = (period.start, middle) if half == 1 else (middle, period.end)
                yield Period(start, end, period.at, period.cost)

    def _relative(self, at: int) -> Iterator[Period]:
        """`last month`, `the past 3 weeks`, `this year`, `the last 24 hours`, `the week before last`."""
        if self._word(at) == "the" and self._turn(at + 1) is not None:
            at += 1
        word, turn = self._word(at), self._turn(at)
        if turn is not None:
            following = self._word(at + 1)
            unit = _UNITS.get(following)
            amount = self._amount(at + 1)
            if unit and following not in _MANY:
                end = at + 2
                if (month := months().get(self._word(end))) and unit == "month":
                    yield Period(*_span(self._now.year, month, 1), end + 1)  # "the past month October"
                start, stop = self._calendar(unit, turn)
                yield Period(start, stop, end, years=(start.year,) if unit == "year" else ())
            elif amount and turn:
                number, unit, end, cost = amount
                yield replace(self._rolling(unit, turn * number, end), cost=cost)
            elif (month := months().get(following)) and turn:  # "last march"
                year = self._now.year - (turn < 0 and month >= self._now.month)
                year += turn > 0 and month <= self._now.month
                if not self._year_number(at + 2):
                    yield Period(*_span(year, month, 1), at + 2)
        unit = _UNITS.get(word)
        if unit and (self._word(at + 1), self._word(at + 2)) == ("before", "last"):
            start, stop = self._calendar(unit, -2)
            end = at + 3 + (_UNITS.get(self._word(at + 3)) == unit)
            yield Period(start, stop, end, years=(start.year,) if unit == "year" else ())
        elif unit == "year" and self._word(at + 1) in ("before", "earlier"):
            year = self._now.year - 2
            yield Period(*_span(year, 1, 12), at + 2 + (self._word(at + 2) in ("that", "it")), years=(year,))

    def _ago(self, at: int) -> Iterator[Period]:
        """`2 weeks ago`, `an hour ago`, `a few days ago`: that day, or that hour or minute."""
        amount = self._amount(at)
        if not amount or self._word(amount[2]) != "ago":
            return
        number, unit, end, cost = amount
        start = self._rolling(unit, -number, end).start
        length = timedelta(days=1)
        if unit == "minute":
            length = timedelta(hours=1) if number % 60 == 0 else timedelta(minutes=1)
        yield Period(start, start + length, end + 1, cost)

    def _weekend(self, at: int) -> Iterator[Period]:
        """`last weekend`, `over the weekend`: Saturday and Sunday."""
        turn = self._turn(at)
        place = at + (turn is not None)
        if self._word(place) not in ("weekend", "wkend"):
            return
        if turn is None and self._word(at - 1) not in ("the", "over", "on", "since", "at", "before", "after"):
            return
        weekday = self._today.weekday()
        saturday = self._today - timedelta(days=(weekday - 5) % 7)
        weeks = 0
        if turn is not None:
            weeks = -(weekday >= 5) if turn < 0 else turn if weekday >= 5 else 1
        start = saturday + timedelta(days=7 * weeks)
        yield Period(start, start + timedelta(days=2), place + 1)

    def _amount(self, at: int) -> tuple[int, str, int, float] | None:
        """(number, unit, place behind them, cost) of `3 weeks`, `twenty four hours`, `24h`, `a few days`, `hour`.

        Hours are told in minutes.
        """
        at += (some := self._word(at) in ("a", "an"))
        word, cost, number, end = self._word(at), 0.0, None, at + 1
        if glued := re.fullmatch(r"(\d{1,6})([a-z]{1,4})", word):
            unit_word, number = _GLUED.get(glued[2], ""), int(glued[1])
        else:
            if word in _VAGUE:
                number, cost = _VAGUE[word], _VAGUELY
                end = self._over(end, frozenset(("of",)))
            elif at < len(self._tokens) and isinstance(known := self._tokens[at].number, int):
                number = known
                ones = self._tokens[end].number if end < len(self._tokens) else None
                if word in _TENS and isinstance(ones, int) and ones < 10 and self._word(end).isalpha():
                    number, end = number + ones, end + 1
            elif some or word in ("hour", "fortnight", "minute"):
                number, end = 1, at
            unit_word = self._word(end)
            end += 1
        unit = _ROLLING.get(unit_word)
        if number is None or unit is None:
            return None
        number *= _MINUTES.get(unit_word, 1)
        if unit == "fortnight":
            number, unit = 2 * number, "week"
        most = _MOST_UNITS * 60 if unit == "minute" else _MOST_YEARS
        return (number, unit, end, cost) if 0 < number <= most else None

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

    def _rolling(self, unit: str, number: int, at: int) -> Period:
        """The last or next so many units, up to now or from now on."""
        if unit == "minute":
            moment = self._now + timedelta(minutes=number)
            return Period(moment, self._now, at, to_now=True) if number < 0 else Period(self._now, moment, at)
        tomorrow = self._today + timedelta(days=1)
        if unit in ("day", "week"):
            there = self._today + timedelta(days=number * (1 if unit == "day" else 7))
        else:
            there = moved(self._today, number * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit])
        return Period(there, tomorrow, at) if number < 0 else Period(self._today, there, at)


def _span(year: int, month: int, count: int) -> tuple[datetime, datetime]:
    last = year * 12 + month - 1 + count
    return datetime(year, month, 1), datetime(last // 12, last % 12 + 1, 1)
