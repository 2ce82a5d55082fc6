"""Questions about time -> QuerySpec; the clock stands still on Friday, 20 November 2026."""

from datetime import datetime

import pytest

from mirror.data.process.sandbox import Sandbox
from mirror.language.grammar import grammar
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import compile_sql
from mirror.schema.profile import Profile

NOW = datetime(2026, 11, 20, 15, 24)


@pytest.fixture(scope="module")
def results(again: Sandbox) -> Profile:
    return again.schema()


def read(question: str, profile: Profile) -> QuerySpec:
    return grammar.read(question, profile, NOW)


@pytest.mark.parametrize(
    ("question", "metric", "split", "claim"),
    [
        ("did p99 get worse since last week?", "latency_p99_us", "2026-11-09", "worse"),
        ("how has the speedup of hashed changed since 2026-11-01", "speedup", "2026-11-01", None),
        ("did hashed get slower since monday", "latency_us", "2026-11-16", "worse"),
        ("has hashed become faster since yesterday", "latency_us", "2026-11-19", "better"),
        ("has memory gotten larger since monday", "memory_mb", "2026-11-16", "worse"),
        ("did AUC improve in the last 3 days", "auc", "2026-11-17 15:24", "better"),
        ("has latency regressed since 2026-11-10 08:30?", "latency_us", "2026-11-10 08:30", "worse"),
        ("change of throughput since last month", "samples_per_s", "2026-10-01", None),
    ],
)
def test_changes(question: str, metric: str, split: str, claim: str | None, results: Profile, again: Sandbox) -> None:
    spec = read(question, results)
    assert (spec.shape, spec.source, spec.split, spec.claim) == ("change", "history", split, claim)
    assert [m.column for m in spec.metrics] == [metric]
    assert "machine" in spec.dimensions
    assert not any(f.column == "started_at" for f in spec.filters)
    again.run(compile_sql(spec))


def test_a_change_within_a_span_that_is_over_leaves_out_what_came_later(results: Profile) -> None:
    spec = read("did p99 get worse last week", results)
    assert spec.split == "2026-11-09"
    assert Filter("started_at", "<", ("2026-11-16",)) in spec.filters


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("latency of hashed over time", []),
        ("latency trend of hashed", []),
        ("latency of hashed over time since monday", [Filter("started_at", ">=", ("2026-11-16",))]),
        (
            "latency of hashed last week",
            [Filter("started_at", ">=", ("2026-11-09",)), Filter("started_at", "<", ("2026-11-16",))],
        ),
    ],
)
def test_courses_show_every_trial_along_its_start(question: str, filters: list[Filter], results: Profile) -> None:
    spec = read(question, results)
    assert (spec.shape, spec.source, spec.dimensions[0], spec.chart.type) == ("points", "history", "started_at", "line")
    assert [f for f in spec.filters if f.column == "started_at"] == filters
    assert {"machine", "batch_size", "seed"} <= set(spec.dimensions)


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("AUC of hashed since monday", "results"),
        ("fastest method at batch size 512 in the last 3 days", "results"),
        ("how many trials since monday", "history"),
        ("how many trials failed since monday", "failures"),
    ],
)
def test_a_span_up_to_now_only_filters(question: str, source: str, results: Profile) -> None:
    spec = read(question, results)
    assert spec.source == source
    assert any(f.column == "started_at" and f.operator == ">=" for f in spec.filters)
    assert any("from 2026-11-1" in note for note in spec.notes)


@pytest.mark.parametrize("question", ["fastest method last week", "best AUC over time", "how many trials over time"])
def test_what_has_no_course_is_refused_with_a_way_to_ask(question: str, results: Profile) -> None:
    with pytest.raises(Refusal, match="latency of hashed over time"):
        read(question, results)


@pytest.mark.parametrize("question", ["what changed since monday", "did it get worse since monday"])
def test_a_change_of_nothing_asks_back_with_choices_that_answer(question: str, results: Profile) -> None:
    with pytest.raises(Ambiguity) as back:
        read(question, results)
    assert {read(choice, results).shape for choice in back.value.choices} == {"change"}


def test_the_choices_keep_a_moment_to_the_minute(results: Profile) -> None:
    with pytest.raises(Ambiguity) as back:
        read("what changed in the last 3 hours", results)
    assert {read(choice, results).split for choice in back.value.choices} == {"2026-11-20 12:24"}
