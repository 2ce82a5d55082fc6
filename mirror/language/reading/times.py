"""Times in a question, found among its tokens: "in 2025", "since last march", "the past 3 weeks", "from 2024 on".

Every reading is kept, with the tokens that it takes: a year may be a number too, and a month without a year is the last
one that has begun.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from mirror.language.reading.lexemes import Token
from mirror.language.reading.when.days import BARE, NO_YEAR, PART_OF, SINCE, SURE, Period, in_order
from mirror.language.reading.when.periods import Periods

_IN = frozenset(("in", "during", "for", "of", "on", "within", "over", "throughout", "through", "at", "dated", "by"))
_FROM = SINCE | {"starting", "beginning", "effective"}
_ON = frozenset(("on", "onwards", "onward", "forward", "forth"))
_UNTIL = frozenset(("until", "till", "til", "up", "through", "thru"))
_TO = frozenset(("to", "until", "till", "through", "and", "thru", "til"))
_BOUNDS = SINCE | {"before", "after", "until", "till", "by"}
_WITH_RANGE = frozenset(("between", "from", "in", "for", "during"))
_BEGAN = frozenset(("began", "begun", "started", "starts", "begins"))
_COMPARED: dict[str, Literal["<", "<=", ">", ">="]] = {
    "later than": ">", "newer than": ">", "older than": "<", "no later than": "<=", "not later than": "<=",
    "as of": "<=", "no earlier than": ">=", "not earlier than": ">=", "on or before": "<=", "on or after": ">=",
    ">": ">", ">=": ">=", "≥": ">=", "<": "<", "<=": "<=", "≤": "<=",
}  # fmt: skip
_BESIDE = 0.1  # "nov 1 - nov 15": the dash is no token
_NUMBER_BESIDE = 0.2  # "1-8 nov", which may be a number and a day
_LIST_OF_MONTHS = 0.3


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
    cost: float = SURE


def whole_year(number: object) -> Time | None:
    """The year that a number may be; None for other numbers."""
    if not isinstance(number, int) or not 1900 <= number <= 2100:
        return None
    return Time(datetime(number, 1, 1), datetime(number + 1, 1, 1), str(number), "=", (number,))


def times_in(tokens: Sequence[Token], now: datetime) -> list[Said]:
    """All times that the tokens say, those that begin first in front."""
    return _times(tuple(tokens), now).found()


def days_in(tokens: Sequence[Token], now: datetime) -> list[Said]:
    """Every single day that the tokens say, also within a range and behind a preposition, without that preposition."""
    return _times(tuple(tokens), now).days()


@lru_cache(maxsize=8)  # several look at one question
def _times(tokens: tuple[Token, ...], now: datetime) -> "_Times":
    return _Times(tokens, now)


class _Times(Periods):
    def found(self) -> list[Said]:
        """All of them."""
        said: dict[tuple[int, int, datetime | None, datetime | None], Said] = {}
        for i in range(len(self._words)):
            for one in self._from(i):
                said.setdefault((one.start, one.end, one.time.start, one.time.end), one)
        return _longest(list(said.values()))

    def days(self) -> list[Said]:
        """The single days."""
        pairs: dict[Said, tuple[Said, Said]] = {}
        for i, word in enumerate(self._words):
            for at in (i + 1, i) if word in _WITH_RANGE else (i,):
                for both, ends in self._pairs(i, at):
                    pairs.setdefault(both, ends)
        ranges = _longest(list(pairs))
        found = {(day.start, day.end, day.time.start): day for one in ranges for day in pairs[one]}
        for i, word in enumerate(self._words):
            for period in self._points(i) if word != "the" else ():
                beside = all(period.at <= one.start or one.end <= i for one in ranges)
                around = any(i < one.start and one.end <= period.at for one in ranges)
                if period.one_day and (beside or around):
                    found.setdefault((i, period.at, period.start), self._day_said(i, period, period.cost))
        return _longest(sorted(found.values(), key=lambda day: day.start))

    def _day_said(self, i: int, day: Period, cost: float) -> Said:
        return replace(self._said(i, day.at, day.start, day.end, "=", day), cost=cost)

    # -- bounds ----------------------------------------------------------------------------------------------------

    def _from(self, i: int) -> Iterator[Said]:
        """The times that begin at a token."""
        word = self._word(i)
        if word in _WITH_RANGE:
            yield from self._range(i, i + 1)
        yield from self._range(i, i)
        if word in _FROM and (at := self._bound(i + 1)) is not None:
            first = word in SINCE or self._word(i + 1) in ("from", "in", "with", "on", "of", "at")
            if first:
                for period in self._points(at):
                    yield self._said(i, self._after_on(period.at), period.start, None, ">=", period)
                for period in self._present(self._over(at, frozenset(("this",)))):
                    if self._word(period.at) in _BEGAN:
                        yield self._said(i, period.at + 1, period.start, None, ">=", period)
        if word in ("after", "past"):
            for period in self._points(self._bound(i + 1) or i + 1):
                if word == "past" and period.unsaid == "week":  # "past monday" is the last one
                    continue
                yield self._said(i, period.at, period.end, None, ">", period)
        if word in ("before", "prior", "earlier"):
            for period in self._points(self._bound(i + 1) or i + 1):
                yield self._said(i, period.at, None, period.start, "<", period)
        signed_up = word == "up" and self._word(i + 1) not in _TO  # and not "up to"
        if (word in _UNTIL and not signed_up) or word == "by":
            for period in self._points(self._bound(i + 1) or i + 1):
                if word != "by" or self._is_until(i, period):
                    yield self._said(i, period.at, None, period.end, "<=", period)
        yield from self._compared(i)
        yield from self._plain(i)
        yield from self._to_now(i)

    def _is_until(self, i: int, period: Period) -> bool:
        """Whether "by" is until then: "by march 5", and not "sales by 2024", "by last month" or "expired by today"."""
        if self._word(i + 1) in ("the", "end"):
            return True
        named = not period.years and period.start != self._today
        return named and (period.one_day or self._turn(i + 1) is None)

    def _compared(self, i: int) -> Iterator[Said]:
        """`later than march`, `on or before the 9th`, `no later than friday`, `>= 2025-03-01`."""
        for count in (3, 2, 1):
            operator = _COMPARED.get(" ".join(self._words[i : i + count]))
            if operator is None:
                continue
            for period in self._points(self._over(i + count, frozenset(("the",)))):
                if count == 1 and period.years and period.cost == BARE:
                    continue  # "price > 2000"
                if self._word(i) == "as" and period.start == self._today:
                    continue  # "expired as of today": which things may be before or after
                start = {">": period.end, ">=": period.start}.get(operator)
                end = {"<": period.start, "<=": period.end}.get(operator)
                yield self._said(i, period.at, start, end, operator, period)
            return

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
            if self._word(at - 1) == "over" and period.years and period.cost == BARE:
                continue  # "invoices over 2000"
            if self._word(i) == "by" and self._is_until(i, period):
                continue
            if period.to_now:
                yield self._said(i, period.at, period.start, None, ">=", period)
                continue
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
        yield from (said for said, _ in self._pairs(i, at))
        for first in self._periods(at):
            at = first.at
            if self._word(at) in (",",) or self._word(at) in _TO:
                months = [first]
                while self._word(at) == ",":  # "july, august and september"
                    listed = [p for p in self._periods(at + 1) if p.month_only or p.years]
                    if not listed:
                        break
                    months.append(listed[0])
                    at = listed[0].at
                if self._word(at) not in _TO:
                    continue
                together = self._word(at) == "and" and self._word(i) not in ("between", "from")
                plain = together and len(months) == 1
                at = self._over(at + 1, frozenset(("the", "including", "incl")))
                for last in self._points(at):
                    if first.one_day and last.one_day:
                        continue
                    if together and not _adjoin([*months, last]):
                        continue  # "january and march" leaves february out
                    start = first.start
                    if first.month_only and not last.month_only:
                        start = datetime(last.end.year if last.end.month > 1 else last.end.year - 1, start.month, 1)
                    elif first.month_only and start >= last.end:  # "from january to june", in march
                        start = start.replace(year=start.year - 1)
                    if start < last.end and not (plain and not (first.month_only or first.years)):
                        end = last.end
                        years = (*first.years[:1], *last.years[-1:]) if first.years and last.years else ()
                        cost = max(first.cost, last.cost) + (_LIST_OF_MONTHS if plain else 0.0)
                        if self._word(i) in ("from", "between"):  # "may" is no other word there
                            cost = min(cost, NO_YEAR)
                        yield Said(i, last.at, Time(start, end, self._phrase(i, last.at), "between", years), cost)

    def _pairs(self, i: int, at: int) -> Iterator[tuple[Said, tuple[Said, Said]]]:
        """Ranges from one day to another, with the two: `nov 1-8`, `between the 2nd and the 8th of november`."""
        at = self._over(at, frozenset(("the",)))
        for first, last, place, beside in (*self._numbered_first(at), *self._placed_first(at)):
            end, inclusive = self._inclusive(last.at)
            listed = self._word(first.at) == "and" and self._word(i) not in ("between", "from")
            pair = in_order(first, last)
            if pair and (inclusive or not listed):
                cost = max(pair[0].cost, pair[1].cost) + beside
                time = Time(pair[0].start, pair[1].end, self._phrase(i, end), "between")
                days = self._day_said(at, pair[0], cost), self._day_said(place, pair[1], cost)
                yield Said(i, end, time, cost), days

    def _numbered_first(self, at: int) -> Iterator[tuple[Period, Period, int, float]]:
        """(first day, last day, where that begins, cost) of `1-8 nov`, `the 2nd to the 8th of november`."""
        for first in self._unplaced(at):
            place, joined = self._joined(first.at)
            number = self._word(at).isdigit()
            if number and not (self._word(place)[:1].isdigit() and self._tokens[place].kind != "date"):
                continue  # "5 to november 8"
            if joined or self._word(at)[0].isdigit():
                for last in self._date(place):
                    if last.one_day and (not number or _in_one_month(first, last)):
                        yield first, last, place, 0.0 if joined else _NUMBER_BESIDE

    def _placed_first(self, at: int) -> Iterator[tuple[Period, Period, int, float]]:
        """The same of `nov 1-8`, `nov 1 - nov 8`, `2026-11-01 to the 8th`, `monday to wednesday`."""
        dated = [day for day in self._date(at) if self._word(at - 1) not in _BOUNDS]
        for first in self._points(at):
            place, joined = self._joined(first.at)
            if not first.one_day or not (joined or first in dated):
                continue
            beside = 0.0 if joined else _BESIDE
            for last in self._unplaced(place):
                found = self._year_number(last.at) if first.unsaid == "year" else None
                for day in self._dated(first.start.day, first.start.month, last.at, SURE) if found else (first,):
                    if not self._word(place).isdigit() or _in_one_month(day, last):
                        first_day, last_day = (
                            replace(day, at=first.at),
                            replace(last, at=found[1] if found else last.at),
                        )
                        yield first_day, last_day, place, beside
            for last in self._points(place) if joined else self._date(place):
                if last.one_day:
                    yield first, last, place, beside

    def _joined(self, at: int) -> tuple[int, bool]:
        """Where the end of a range begins, and whether a word says that it is one: a dash is no token."""
        joined = self._word(at) in _TO
        return (self._over(at + 1, frozenset(("the", "including", "incl"))) if joined else at), joined

    def _inclusive(self, at: int) -> tuple[int, bool]:
        place = self._over(at, frozenset(("both",)))
        return (place + 1, True) if self._word(place) in ("inclusive", "inclusively", "included") else (at, False)

    def _phrase(self, i: int, end: int) -> str:
        return " ".join(self._words[i:end])

    def _said(
        self, i: int, at: int, start: datetime | None, end: datetime | None, operator: str, period: Period
    ) -> Said:
        years = period.years if period.years and len(period.years) == 1 else ()
        cost = period.cost
        return Said(i, at, Time(start, end, self._phrase(i, at), operator, years), cost)  # type: ignore[arg-type]


def _longest(said: list[Said]) -> list[Said]:
    return [one for one in said if not any(_takes_in(other, one) for other in said)]


def _in_one_month(first: Period, last: Period) -> bool:
    """Whether two days, one of which is but a number, are of one month and in order."""
    pair = in_order(first, last)
    return pair is not None and pair[0].start < pair[1].start and pair[0].start.month == pair[1].start.month


def _takes_in(longer: Said, one: Said) -> bool:
    """Whether a time is only a part of what another one says."""
    within = longer.start <= one.start and one.end <= longer.end
    return within and longer.end - longer.start > one.end - one.start and longer.cost <= one.cost + PART_OF


def _adjoin(periods: Sequence[Period]) -> bool:
    """Whether each begins where the one before ends; of months without a year, those of the calendar."""
    return all(
        one.end == other.start or (one.month_only and one.end.month == other.start.month)
        for one, other in pairwise(periods)
    )
