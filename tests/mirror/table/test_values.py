"""Values of a column: their kind and their order."""

import pytest

from mirror.table.values import Value, Values, is_number, type_of


def values(*found: Value | None) -> Values:
    return Values(found)


def test_kinds_of_values():
    assert values(1, None).numeric
    assert not values("2026-01-01", "2026-01-02T10:00:00").numeric
    assert not values(True, False).numeric
    assert values("2026-01-01", "2026-01-02T10:00:00").temporal
    assert not values("2026").temporal


def test_distinct_values_have_an_order():
    assert values("b", None, 2, "a", 1, 2).distinct == (1, 2, "a", "b", None)
    assert values(None, 2, 1.5, 2, float("nan")).numbers == (1.5, 2.0)


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (("March", "January", "February", None), ("January", "February", "March", None)),
        (("Tue", "Sun", "Mon"), ("Mon", "Tue", "Sun")),
        (("2025-Q1", "2024-Q4"), ("2024-Q4", "2025-Q1")),
        (("Q2 2024", "Q1 2025"), ("Q2 2024", "Q1 2025")),
        (("May", "April", "a name"), ("April", "May", "a name")),
    ],
)
def test_months_weekdays_and_quarters_have_their_order(found, ordered):
    assert values(*found).distinct == ordered


def test_years_with_months_are_times():
    assert values("2026-01", "2026-12").temporal
    assert not values("2026-13").temporal


def test_text_sorts_its_numbers():
    assert values("part 10", "part 2", "part 1b").distinct == ("part 1b", "part 2", "part 10")


def test_without_a_value_there_is_no_kind():
    for nothing in (values(), values(None, None)):
        assert nothing.empty
        assert not any((nothing.numeric, nothing.temporal, nothing.calendar))


def test_a_truth_value_or_no_finite_number_is_no_number():
    assert [is_number(v) for v in (1, 1.5, True, float("nan"), float("inf"), "1", None)] == [True, True, *[False] * 5]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ((1, None), "integer"), ((1, 1.5), "real"), ((True, None), "boolean"), (("a", 1), "text"), ((), "text"),
        (("2026-01-01", None), "timestamp"), (("2026-01-01", "soon"), "text"), ((True, 1), "text"),
    ],
)  # fmt: skip
def test_types_come_from_values(found, kind):
    assert type_of(found) == kind
