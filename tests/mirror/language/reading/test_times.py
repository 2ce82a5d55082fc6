"""Times found among the tokens of a question: how far each goes, which words say it, and what is no time."""

from datetime import datetime

import pytest

from mirror.language.reading.lexemes import cut
from mirror.language.reading.times import days_in, times_in

NOW = datetime(2026, 11, 18, 12)  # a Wednesday


def found(question: str) -> list[tuple[str, str, str]]:
    """Words, first day and first day after, of all times of a question."""
    tokens = cut(question)
    return [
        (
            " ".join(t.text for t in tokens[said.start : said.end]),
            said.time.start.date().isoformat() if said.time.start else "",
            said.time.end.date().isoformat() if said.time.end else "",
        )
        for said in times_in(tokens, NOW)
    ]


def costs(question: str) -> dict[str, float]:
    """What each time of a question costs, by its words."""
    tokens = cut(question)
    return {" ".join(t.text for t in tokens[said.start : said.end]): said.cost for said in times_in(tokens, NOW)}


@pytest.mark.parametrize(
    ("question", "words", "start", "end"),
    [
        ("sales in 2025", "in 2025", "2025-01-01", "2026-01-01"),
        ("sales of FY2025", "of fy2025", "2025-01-01", "2026-01-01"),
        ("sales last year", "last year", "2025-01-01", "2026-01-01"),
        ("sales lst yr", "lst yr", "2025-01-01", "2026-01-01"),
        ("sales of the year before last", "of the year before last", "2024-01-01", "2025-01-01"),
        ("sales last quarter", "last quarter", "2026-07-01", "2026-10-01"),
        ("sales this month", "this month", "2026-11-01", "2026-12-01"),
        ("sales next week", "next week", "2026-11-23", "2026-11-30"),
        ("sales in q1 2025", "in q1 2025", "2025-01-01", "2025-04-01"),
        ("the first quarter of 2025", "first quarter of 2025", "2025-01-01", "2025-04-01"),
        ("the second half of 2025", "second half of 2025", "2025-07-01", "2026-01-01"),
        ("films of the 1990s", "of the 1990s", "1990-01-01", "2000-01-01"),
        ("in october", "in october", "2026-10-01", "2026-11-01"),
        ("in december", "in december", "2025-12-01", "2026-01-01"),  # the last one that has begun
        ("in october last year", "in october last year", "2025-10-01", "2025-11-01"),
        ("on january 5th, 2025", "on january 5th , 2025", "2025-01-05", "2025-01-06"),
        ("on 5 january 2025", "on 5 january 2025", "2025-01-05", "2025-01-06"),
        ("on 2025-01-05", "on 2025-01-05", "2025-01-05", "2025-01-06"),
        ("on 1.2.2025", "on 1.2.2025", "2025-02-01", "2025-02-02"),
        ("yesterday", "yesterday", "2026-11-17", "2026-11-18"),
        ("the last 3 months", "the last 3 months", "2026-08-18", "2026-11-19"),
        ("2 weeks ago", "2 weeks ago", "2026-11-04", "2026-11-05"),
        ("since march 2025", "since march 2025", "2025-03-01", ""),
        ("since the start of 2025", "since the start of 2025", "2025-01-01", ""),
        ("2025 onwards", "2025 onwards", "2025-01-01", ""),
        ("from 1 june 2026 on", "from 1 june 2026 on", "2026-06-01", ""),
        ("2025 or later", "2025 or later", "2025-01-01", ""),
        ("year to date", "year to date", "2026-01-01", ""),
        ("after 2025-01-31", "after 2025-01-31", "2025-02-01", ""),
        ("before july of this year", "before july of this year", "", "2026-07-01"),
        ("until the end of march 2025", "until the end of march 2025", "", "2025-04-01"),
        ("between 2023 and 2025", "between 2023 and 2025", "2023-01-01", "2026-01-01"),
        ("from july to september 2026", "from july to september 2026", "2026-07-01", "2026-10-01"),
        ("july, august and september 2026", "july , august and september 2026", "2026-07-01", "2026-10-01"),
        ("2024-03-01 to 2024-05-31", "2024-03-01 to 2024-05-31", "2024-03-01", "2024-06-01"),
    ],
)
def test_a_time_goes_from_its_first_day_to_before_the_day_after_its_last(
    question: str, words: str, start: str, end: str
) -> None:
    assert (words, start, end) in found(question)


@pytest.mark.parametrize(
    "question",
    ["", "who may go", "the 3 largest", "room 101", "sales by month", "per year", "30 february 2025", "2025-13-45",
     "last 0 days", "first half", "a quarter of all", "q5 2025", "in 1850"],
)  # fmt: skip
def test_what_is_no_time(question: str) -> None:
    assert [f for f in found(question) if f[0] not in ("2025", "february 2025", "may")] == []


def test_parts_of_a_longer_time_are_no_times_of_their_own() -> None:
    assert found("since january 1st 2025") == [("since january 1st 2025", "2025-01-01", "")]


def test_two_years_side_by_side_stay_two() -> None:
    assert {f[0] for f in found("sales 2025 minus 2024")} == {"2025", "2024"}


def test_a_huge_number_of_units_is_bounded() -> None:
    assert all(f[1] >= "0001" for f in found("the last 999 years and the last 999999999 years"))
    assert found("the next 999 decades and the 9th to 0001-01-02 or 9999-12-31") is not None


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("on monday", "2026-11-16", "2026-11-17"),
        ("since monday", "2026-11-16", ""),
        ("since last monday", "2026-11-16", ""),
        ("since this monday", "2026-11-16", ""),
        ("wednesday", "2026-11-18", "2026-11-19"),
        ("last wednesday", "2026-11-11", "2026-11-12"),
        ("past monday", "2026-11-16", "2026-11-17"),
        ("next friday", "2026-11-20", "2026-11-21"),
        ("this friday", "2026-11-20", "2026-11-21"),
        ("before friday", "", "2026-11-13"),
        ("since thurs", "2026-11-12", ""),
        ("on sat", "2026-11-14", "2026-11-15"),
        ("friday of last week", "2026-11-13", "2026-11-14"),
        ("since tuesday, the 17th", "2026-11-17", ""),
        ("last monday, i mean the 9th", "2026-11-09", "2026-11-10"),  # the date wins
        ("wed, november 11", "2026-11-11", "2026-11-12"),
        ("from mon to wed", "2026-11-16", "2026-11-19"),
        ("from last monday to friday", "2026-11-16", "2026-11-21"),
        ("between monday and wednesday", "2026-11-16", "2026-11-19"),
        ("november 17", "2026-11-17", "2026-11-18"),
        ("nov 11", "2026-11-11", "2026-11-12"),
        ("oct 12", "2026-10-12", "2026-10-13"),
        ("dec 3", "2025-12-03", "2025-12-04"),
        ("since nov 11", "2026-11-11", ""),
        ("sinc nov 11", "2026-11-11", ""),
        ("since may 5", "2026-05-05", ""),
        ("after november 17", "2026-11-18", ""),
        ("before november 17", "", "2026-11-17"),
        ("nov 1-8", "2026-11-01", "2026-11-09"),
        ("nov 1-8, 2025", "2025-11-01", "2025-11-09"),
        ("nov 1 - nov 15", "2026-11-01", "2026-11-16"),
        ("2026-11-01 - 2026-11-08", "2026-11-01", "2026-11-09"),
        ("between november 1 and 8", "2026-11-01", "2026-11-09"),
        ("between november 1 and 8, 2025", "2025-11-01", "2025-11-09"),
        ("november 1 to november 8", "2026-11-01", "2026-11-09"),
        ("from oct 12 to nov 1 2025", "2025-10-12", "2025-11-02"),
        ("between 2026-11-01 and the 8th", "2026-11-01", "2026-11-09"),
        ("2026-11-01 and the 8th inclusive", "2026-11-01", "2026-11-09"),
        ("oct 28 to the 3rd", "2026-10-28", "2026-11-04"),
        ("between 1 and 8 november", "2026-11-01", "2026-11-09"),
        ("1st half of nov", "2026-11-01", "2026-11-16"),
        ("second half of last month", "2026-10-16", "2026-11-01"),
        ("eleventh november", "2026-11-11", "2026-11-12"),
        ("twelfth of october", "2026-10-12", "2026-10-13"),
        ("twenty first of october", "2026-10-21", "2026-10-22"),
        ("november the 11th", "2026-11-11", "2026-11-12"),
        ("from first to eighth of november", "2026-11-01", "2026-11-09"),
        ("between the second and the eighth of november", "2026-11-02", "2026-11-09"),
        ("between the 2nd and the 8th of october", "2026-10-02", "2026-10-09"),
        ("on the 17th", "2026-11-17", "2026-11-18"),
        ("on the 25th", "2026-10-25", "2026-10-26"),
        ("on the 31st", "2026-10-31", "2026-11-01"),
        ("since the 9th", "2026-11-09", ""),
        ("since the 5th of last month", "2026-10-05", ""),
        ("after the 1st", "2026-11-02", ""),
        ("between the 10th and the 25th", "2026-10-10", "2026-10-26"),
        ("week before last", "2026-11-02", "2026-11-09"),
        ("month before last", "2026-09-01", "2026-10-01"),
        ("day before yesterday", "2026-11-16", "2026-11-17"),
        ("since the month began", "2026-11-01", ""),
        ("since the beginning of the week", "2026-11-16", ""),
        ("since the beginning of the month", "2026-11-01", ""),
        ("since the start of the year", "2026-01-01", ""),
        ("over the weekend", "2026-11-14", "2026-11-16"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("this morning", "2026-11-18", "2026-11-19"),
        ("last night", "2026-11-17", "2026-11-18"),
        ("last few days", "2026-11-15", "2026-11-19"),
        ("in the last fortnight", "2026-11-04", "2026-11-19"),
        ("the past two weeks", "2026-11-04", "2026-11-19"),
        ("a week ago", "2026-11-11", "2026-11-12"),
    ],
)
def test_days_weeks_and_ranges_as_people_say_them(question: str, start: str, end: str) -> None:
    assert found(question) == [(" ".join(t.text for t in cut(question)), start, end)]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("last 24 hours", datetime(2026, 11, 17, 12), None),
        ("in the past 48 hours", datetime(2026, 11, 16, 12), None),
        ("last twenty four hours", datetime(2026, 11, 17, 12), None),
        ("in the last 24h", datetime(2026, 11, 17, 12), None),
        ("past hour", datetime(2026, 11, 18, 11), None),
        ("last 30 min", datetime(2026, 11, 18, 11, 30), None),
        ("3 hours ago", datetime(2026, 11, 18, 9), datetime(2026, 11, 18, 10)),
        ("an hour ago", datetime(2026, 11, 18, 11), datetime(2026, 11, 18, 12)),
        ("since 3 hours ago", datetime(2026, 11, 18, 9), None),
    ],
)
def test_hours_and_minutes_roll_from_now(question: str, start: datetime, end: datetime | None) -> None:
    (said,) = times_in(cut(question), NOW)
    assert (said.time.start, said.time.end) == (start, end)


@pytest.mark.parametrize(
    "question",
    ["the 99th percentile", "the 5th percentile", "on the 3rd floor", "1 of 3", "mon cher", "5 sun exposed plants",
     "sat scores", "every monday", "between 5 and 10 days", "difference between the first and the second half",
     "last 3 runs", "after the second", "the 3rd customer", "a few days"],
)  # fmt: skip
def test_numbers_ranks_and_words_like_weekdays_are_no_times(question: str) -> None:
    assert found(question) == []


def test_a_month_and_a_number_may_be_no_day() -> None:
    assert set(costs("runs may 5")) == {"may 5", "may"}
    assert set(costs("march 3")) == {"march 3", "march"}
    assert set(costs("in march 20 trials")) == {"in march 20", "in march"}
    assert set(costs("top 5 november runs")) == {"5 november", "november"}
    assert set(costs("top 5 in november")) == {"in november"}
    assert set(costs("nov 5 days")) == {"nov"}


def test_the_less_a_day_is_told_by_its_words_the_more_it_costs() -> None:
    assert costs("since monday")["since monday"] < costs("runs monday")["monday"]
    assert costs("since sun")["since sun"] < costs("since sun exposure")["since sun"]
    assert costs("since the 9th")["since the 9th"] < costs("since the 9th order")["since the 9th"]
    assert costs("the past 3 days")["the past 3 days"] < costs("the past few days")["the past few days"]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("between november 1 and 8", ["november 1: 2026-11-01", "8: 2026-11-08"]),
        ("nov 1 - nov 15", ["nov 1: 2026-11-01", "nov 15: 2026-11-15"]),
        ("between the 2nd and the 8th of october", ["2nd: 2026-10-02", "8th of october: 2026-10-08"]),
        ("2026-11-01 and the 8th inclusive", ["2026-11-01: 2026-11-01", "8th: 2026-11-08"]),
        ("since tuesday, the 17th", ["tuesday , the 17th: 2026-11-17"]),
        ("before and after 2026-11-01", ["2026-11-01: 2026-11-01"]),
        ("nov 17 vs last monday", ["nov 17: 2026-11-17", "last monday: 2026-11-16"]),
        ("after the 1st but before yesterday", ["1st: 2026-11-01", "yesterday: 2026-11-17"]),
        ("since the end of october", ["end of october: 2026-10-31"]),
        ("in november, since last week and for 3 hours", []),
    ],
)
def test_every_single_day_is_told_also_within_a_range(question: str, days: list[str]) -> None:
    tokens = cut(question)
    told = [
        f"{' '.join(t.text for t in tokens[said.start : said.end])}: {said.time.start:%Y-%m-%d}"
        for said in days_in(tokens, NOW)
    ]
    assert told == days
