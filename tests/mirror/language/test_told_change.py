"""What a follow-up changed is told in notes; of a question of its own nothing is."""

from dataclasses import replace

import pytest

from mirror.answer.results_follow_up import without_filter
from mirror.language.edit.told_change import changes_told
from mirror.query.spec import Filter, Metric, QuerySpec

TENTH, HASHED = Filter("compression", "=", (0.1,)), Filter("method", "=", ("hashed",))
BEFORE = QuerySpec("groups", (Metric("auc", "avg"),), ("compression",), filters=(TENTH, HASHED))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"filters": (Filter("compression", "=", (0.5,)), HASHED)}, ("compression 0.5 instead of 0.1",)),
        ({"filters": (Filter("compression", "in", (0.1, 0.5)), HASHED)}, ("compression 0.1 and 0.5 instead of 0.1",)),
        (
            {"filters": (Filter("compression", "<", (0.5,)), HASHED)},
            ("compression < 0.5 instead of compression = 0.1",),
        ),
        ({"filters": (TENTH, HASHED, Filter("dataset", "=", ("frappe",)))}, ("data set frappe only",)),
        ({"filters": (TENTH, HASHED, Filter("memory_mb", "<", (5,)))}, ("memory < 5 MB only",)),
        ({"filters": (HASHED,)}, ("any compression",)),
        ({"metrics": (Metric("memory_mb", "avg"),)}, ("memory instead of AUC",)),
        ({"metrics": (Metric("auc", "avg"), Metric("memory_mb", "avg"))}, ("memory as well",)),
        ({"dimensions": ("embedding_dim",)}, ("by dim instead of compression",)),
        ({"dimensions": ("compression", "dataset")}, ("by data set as well",)),
        ({"limit": 3}, ()),
    ],
)
def test_each_change_has_a_note(changed: dict[str, object], told: tuple[str, ...]) -> None:
    assert changes_told(BEFORE, replace(BEFORE, **changed)) == told  # type: ignore[arg-type]


def test_another_question_is_no_change() -> None:
    assert changes_told(BEFORE, QuerySpec("count", source="failures")) == ()
    lookups = (Filter("benchmark", "=", ("lookup",)),)
    assert changes_told(BEFORE, QuerySpec("groups", (Metric("latency_us", "avg"),), ("method",), filters=lookups)) == ()


def test_the_filter_that_is_named_is_lifted() -> None:
    since, fast = Filter("started_at", ">=", ("2026-11-16",)), Filter("latency_us", "<", (5000,))
    before = QuerySpec("groups", (Metric("memory_mb", "avg"),), ("method",), filters=(since, fast), within=0.005)
    for question, filters, within in (
        ("drop the time filter", (fast,), 0.005),
        ("drop the latency filter", (since,), 0.005),
        ("remove the AUC limit", (since, fast), None),
    ):
        lifted = without_filter(question, before)
        assert lifted
        assert (lifted.filters, lifted.within) == (filters, within)
