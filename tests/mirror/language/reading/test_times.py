"""Times found among the tokens of a question: how far each goes, which words say it, and what is no time."""

from datetime import datetime

import pytest

from mirror.language.reading.lexemes import cut
from mirror.language.reading.times import times_in

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
