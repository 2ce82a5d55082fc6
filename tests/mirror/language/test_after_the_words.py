"""What follows once the words are read: limits on groups, rankings of axes, machines, listings and their sentences."""

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.query.sql import compile_sql

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested


def answered(question: str, box: Sandbox) -> Answer:
    answer = ask(question, sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    assert answer.table is not None
    return answer


def rows(answer: Answer, *columns: str) -> list[tuple[object, ...]]:
    assert answer.table
    return list(zip(*(answer.table.values(c) for c in columns), strict=True)) if answer.table.rows else []


# -- limits on a metric ------------------------------------------------------------------------------------------------


def test_a_limit_keeps_whole_groups(box: Sandbox) -> None:
    """The seeds of dense on frappe have 0.93, 0.9301 and 0.9302: the mean is above 0.93005, one seed is not."""
    answer = answered("AUC by method on frappe with AUC above 0.93005", box)
    assert rows(answer, "method", "n") == [("dense", 3)]
    assert "mean AUC > 0.93005" in answer.read_as


def test_a_limit_that_only_single_trials_keep(box: Sandbox) -> None:
    assert rows(answered("AUC by method on frappe with AUC above 0.93015", box), "method") == []
    trials = answered("trials on frappe with AUC above 0.93015", box)
    assert rows(trials, "method") == [("dense",)], "a listing filters trials"


def test_ends_are_of_the_trials_that_pass() -> None:
    limit = (Filter("auc", ">", (0.93,)),)
    largest = QuerySpec("groups", (Metric("auc", "max"),), ("method",), filters=limit)
    assert "WHERE auc > 0.93" in compile_sql(largest)
    median = QuerySpec("groups", (Metric("auc", "median"),), ("method",), filters=limit)
    assert "HAVING median(auc) > 0.93" in compile_sql(median)


# -- rankings ----------------------------------------------------------------------------------------------------------


def test_an_axis_is_ranked_at_the_same_work(box: Sandbox) -> None:
    answer = answered("which compression gives the highest auc", box)
    found = rows(answer, "dataset", "method", "compression")
    assert {c for *_, c in found} == {0.5}, "dense has one size, which is not the best of several"
    assert len(found) == 9, "three data sets, three methods"
    assert "First of 9: compression 0.5 9 times." in answer.summary


def test_one_row_of_a_ranking_is_named(box: Sandbox) -> None:
    answer = answered("which method has the highest AUC on frappe", box)
    assert answer.summary.startswith("Highest AUC 0.9301")
    assert "for dense" in answer.summary


def test_top_trials_are_trials(box: Sandbox) -> None:
    answer = answered("top 2 trials by AUC", box)
    assert [round(float(a), 4) for (a,) in rows(answer, "auc")] == [0.9302, 0.9301]  # type: ignore[arg-type]
    assert "highest AUC of a single trial: 0.9302; the last of 2 has 0.9301" in answer.summary


# -- references --------------------------------------------------------------------------------------------------------


def test_nothing_better_is_said_as_such(box: Sandbox) -> None:
    answer = answered("which methods beat dense in AUC at compression 0.1 on frappe", box)
    assert answer.summary.startswith("None is better than dense in AUC at equal work")


def test_the_variants_of_a_reference_are_told() -> None:
    spec = QuerySpec(
        "relative",
        (Metric("auc", "avg"),),
        ("method", "dataset", "num_chunks"),
        partitions=("dataset",),
        against=Filter("method", "=", ("fiited",)),
    )
    assert "reference.num_chunks AS reference_num_chunks" in compile_sql(spec)


# -- machines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "fact"),
    [("which machine has the most memory", "memory_gb"), ("which machine has more cores", "cores")],
)
def test_what_machines_are_can_be_ranked(question: str, fact: str, box: Sandbox) -> None:
    answer = answered(question, box)
    assert answer.spec
    assert answer.spec.source == "machines"
    assert answer.spec.order[0].column == fact
    assert answer.spec.order[0].descending


def test_machines_are_still_ranked_by_what_they_measured(box: Sandbox) -> None:
    answer = answered("which machine is fastest in lookup", box)
    assert answer.spec
    assert answer.spec.source == "results"


# -- listings ----------------------------------------------------------------------------------------------------------


def test_the_newest_failures_have_failed(box: Sandbox) -> None:
    answer = answered("newest 5 failures", box)
    assert rows(answer, "status") == [("failed",)], "skipped ones are none"


def test_a_listing_names_its_first_row(box: Sandbox) -> None:
    longest = answered("longest trial", box)
    assert "duration 1.00 s" in longest.summary or "duration 1 s" in longest.summary
    newest = answered("latest 3 trials of hashed", box)
    assert newest.summary.startswith("3 rows, newest first: hashed ")
    assert "2026-11-01" in newest.summary


def test_one_column_is_told_by_its_values(box: Sandbox) -> None:
    assert answered("which sweep ran most recently", box).summary == "10 rows, sweep: lookup."


def test_methods_with_a_verdict_are_counted(again: Sandbox) -> None:
    answer = answered("how many methods are significantly slower than dense in lookup", again)
    assert rows(answer, "count_method") == [(2,)], "hashed and quotient_remainder"
