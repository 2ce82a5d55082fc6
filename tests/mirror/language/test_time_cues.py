"""Words about time -> moments; the clock stands still on Friday, 20 November 2026, 15:24:31 UTC."""

from datetime import datetime

import pytest

from mirror.language.phrases.time_cues import find, in_sql
from mirror.query.errors import Refusal

NOW = datetime(2026, 11, 20, 15, 24, 31, 5)


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("since 2026-11-01", "2026-11-01", None),
        ("since 2026-11-1", "2026-11-01", None),
        ("since 2026-11-01 14:30", "2026-11-01 14:30", None),
        ("since 2026-11-01T14:30:05Z", "2026-11-01 14:30:05", None),
        ("since monday", "2026-11-16", None),
        ("ever since Friday", "2026-11-20", None),  # today
        ("since last friday", "2026-11-13", None),
        ("since yesterday", "2026-11-19", None),
        ("since today", "2026-11-20", None),
        ("since this week", "2026-11-16", None),
        ("since last week", "2026-11-09", None),
        ("since last month", "2026-10-01", None),
        ("since last year", "2025-01-01", None),
        ("since two weeks ago", "2026-11-06 15:24", None),
        ("last week", "2026-11-09", "2026-11-16"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("yesterday", "2026-11-19", "2026-11-20"),
        ("yesterday's", "2026-11-19", "2026-11-20"),
        ("on tuesday", "2026-11-17", "2026-11-18"),
        ("on 2026-11-02", "2026-11-02", "2026-11-03"),
        ("today", "2026-11-20", None),
        ("this month", "2026-11-01", None),
        ("in the last 3 days", "2026-11-17 15:24", None),
        ("over the past 24 hours", "2026-11-19 15:24", None),
        ("in the last week", "2026-11-13 15:24", None),
        ("within the last month", "2026-10-20 15:24", None),
        ("last three months", "2026-08-20 15:24", None),
        ("between 2026-11-01 and 2026-11-10", "2026-11-01", "2026-11-11"),
        ("from 2026-11-01 to 2026-11-10 08:00", "2026-11-01", "2026-11-10 08:00"),
        ("after 2026-11-10", "2026-11-11", None),
        ("in october", "2026-10-01", "2026-11-01"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("in november 2025", "2025-11-01", "2025-12-01"),
        ("in 2025", "2025-01-01", "2026-01-01"),
    ],
)
@pytest.mark.parametrize("question", ["latency {}", "{} latency of hashed", "LATENCY  {}, by method"])
def test_spans(words: str, start: str, end: str | None, question: str) -> None:
    times, rest = find(question.format(words), NOW)
    assert times.start
    assert (in_sql(times.start), in_sql(times.end) if times.end else None, times.course) == (start, end, False)
    assert set(rest.replace(",", "").split()) <= {"latency", "of", "hashed", "by", "method"}
    assert times.phrase == words.lower()


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("since november 1", "2026-11-01", None),
        ("since Nov 1st, 2025", "2025-11-01", None),
        ("since 1 november", "2026-11-01", None),
        ("since the 3rd of december", None, None),
        ("between nov 1 and nov 10", "2026-11-01", "2026-11-11"),
        ("before 2026-11-10", None, "2026-11-10"),
        ("until 2026-11-10", None, "2026-11-11"),
        ("before monday", None, "2026-11-16"),
        ("before last week", None, "2026-11-09"),
        ("before 12 dec", None, "2025-12-12"),
    ],
)
def test_dates_in_words_and_ends(words: str, start: str | None, end: str | None) -> None:
    if (start, end) == (None, None):
        with pytest.raises(Refusal, match="since"):
            find(f"latency {words}", NOW)
        return
    times, _ = find(f"latency {words}", NOW)
    assert (times.start and in_sql(times.start), times.end and in_sql(times.end)) == (start, end)


@pytest.mark.parametrize(
    ("now", "words", "start"),
    [
        (datetime(2026, 3, 31, 12), "in the last month", "2026-02-28 12:00"),
        (datetime(2024, 3, 31, 12), "last 1 month", "2024-02-29 12:00"),
        (datetime(2024, 2, 29), "last 1 year", "2023-02-28"),
        (datetime(2026, 1, 15), "since last month", "2025-12-01"),
        (datetime(2026, 11, 16, 0, 0), "since monday", "2026-11-16"),
        (datetime(2026, 11, 16, 0, 0), "since last monday", "2026-11-09"),
        (datetime(2026, 11, 15, 23, 59), "since last week", "2026-11-02"),  # a Sunday still belongs to its week
    ],
)
def test_ends_of_months_and_weeks(now: datetime, words: str, start: str) -> None:
    times, _ = find(words, now)
    assert times.start
    assert in_sql(times.start) == start


@pytest.mark.parametrize("question", ["latency of hashed over time", "latency trend", "the history of latency"])
def test_a_course_is_asked(question: str) -> None:
    times, rest = find(question, NOW)
    assert times.course
    assert times.start is None
    assert "latency" in rest


def test_a_course_may_have_a_span() -> None:
    times, _ = find("latency over time since monday", NOW)
    assert (times.course, times.start) == (True, datetime(2026, 11, 16))


@pytest.mark.parametrize(
    "question",
    ["latency by method", "the last 3 trials", "top 5 in sweep run-2026-11-01", "sweep my-yesterday", "timeouts", ""],
)
def test_what_says_nothing_of_time_stays_as_it_is(question: str) -> None:
    times, rest = find(question, NOW)
    assert not times.asked
    assert rest == question.lower()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("latency since 2026-13-01", "“2026-13-01” is no date of the calendar"),
        ("latency since 2026-11-01 25:00", "is no date of the calendar"),
        ("latency since the release", "“since the release” is not understood as a time"),
        ("latency since", "“since” is not understood"),
        ("latency yesterday since monday", "are two times: name one"),
        ("latency in the last 999999 years", "there was no calendar"),
        ("latency in the last 999999 weeks", "there was no calendar"),
        ("latency since 0000-01-01", "is no date of the calendar"),
    ],
)
def test_times_that_are_not_understood_are_refused(question: str, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        find(question, NOW)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
