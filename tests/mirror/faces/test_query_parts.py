"""The parts of a query that are changed in place: every change gives one that runs, in the benchmark of the answer."""

from pathlib import Path

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.answer.proposal import Proposal
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages import chips
from mirror.faces.query_parts import Parts, filter_of, is_way, operator_of
from mirror.query.check import SpecError, check
from mirror.query.in_words import question_of
from mirror.query.spec import Filter, QuerySpec
from mirror.schema.profile import Profile

POINTS = "memory vs AUC at compression 0.1"
GROUPS = "average lookup latency by method and batch size"


@pytest.fixture(scope="module")
def box(results_file: Path) -> Sandbox:
    return Sandbox(str(results_file))


def parts_of(question: str, box: Sandbox) -> tuple[Parts, Answer]:
    answer = ask(question, sandbox=box)
    assert answer.asked
    assert answer.spec
    return Parts(answer.asked, answer.spec, box.schema()), answer


def answered(changed: QuerySpec, before: Answer, box: Sandbox) -> Answer:
    """The answer of a change, as the page asks it."""
    check(changed)
    text = question_of(changed)
    offering = Answer("answered", before.question, proposals=(Proposal(text, None, asked=changed),), teaches=False)
    return ask(text, sandbox=box, after=offering)


def test_a_filter_is_exchanged_added_and_removed(box: Sandbox) -> None:
    parts, before = parts_of(POINTS, box)
    (f,) = (f for f in parts.asked.filters if f.column == "compression")
    exchanged = answered(parts.with_filter(f, filter_of("compression", "=", [0.5])), before, box)
    assert "compression = 0.5" in str(exchanged.sql)
    assert "compression = 0.1" not in str(exchanged.sql)
    added = answered(parts.with_filter(None, filter_of("method", "=", ["hashed", "dense"])), before, box)
    assert "method IN ('hashed', 'dense')" in str(added.sql)
    assert "compression = 0.1" in str(added.sql)
    removed = answered(parts.with_filter(f, None), before, box)
    assert "compression = 0.1" not in str(removed.sql)
    assert removed.table
    assert before.table
    assert len(removed.table.rows) > len(before.table.rows)


def test_a_filter_that_was_chosen_for_the_person_is_exchanged_by_one_of_theirs(box: Sandbox) -> None:
    parts, _ = parts_of(POINTS, box)
    chosen, other = Filter("benchmark", "=", ("training",)), Filter("benchmark", "=", ("lookup",))
    assert chosen in parts.spec.filters
    assert chosen not in parts.asked.filters
    changed = parts.with_filter(chosen, other)
    assert [f for f in changed.filters if f.column == "benchmark"] == [other]


def test_metrics_are_exchanged_and_trials_become_groups_and_back(box: Sandbox) -> None:
    parts, before = parts_of(POINTS, box)
    assert "logloss" in parts.metrics
    assert set(parts.metrics) <= box.schema().metrics("training")
    other = answered(parts.with_metrics(["logloss"]), before, box)
    assert "logloss" in str(other.sql)
    assert is_way(parts.asked) == "trials"
    grouped = answered(parts.as_way("groups"), before, box)
    assert "avg(memory_mb)" in str(grouped.sql)
    assert grouped.asked
    assert grouped.spec
    again = Parts(grouped.asked, grouped.spec, box.schema())
    assert is_way(again.asked) == "groups"
    assert answered(again.as_way("trials"), before, box).sql == before.sql


def test_groups_an_aggregate_order_and_limit(box: Sandbox) -> None:
    parts, before = parts_of(GROUPS, box)
    assert {"method", "batch_size"} <= set(parts.axes)
    median = answered(parts.with_metrics(["latency_us"], "median"), before, box)
    assert "median(latency_us)" in str(median.sql)
    fewer = answered(parts.with_groups(["method"], ["batch_size"]), before, box)
    assert fewer.table
    assert fewer.table.names[0] == "method"
    assert "batch_size" not in str(fewer.sql)
    first = answered(parts.with_order("latency_us", True, 3), before, box)
    assert str(first.sql).endswith("LIMIT 3")
    assert first.table
    assert len(first.table.rows) == 3


def test_the_benchmark_of_the_answer_stays(box: Sandbox) -> None:
    parts, _ = parts_of(POINTS, box)
    assert Filter("benchmark", "=", ("training",)) in parts.with_order("auc", True, None).filters


def test_no_metric_is_said() -> None:
    with pytest.raises(SpecError, match="at least one"):
        Parts(QuerySpec("points"), QuerySpec("points"), Profile()).with_metrics([])


@pytest.mark.parametrize(
    ("column", "operator", "given", "said"),
    [
        ("compression", "=", [], "Choose or type"),
        ("compression", "<", [0.1, 0.5], "takes one value"),
        ("compression", "=", ["a tenth"], "takes a number, not a tenth"),
        ("compression", "=", ["0,5"], "takes a number, not 0,5"),
        ("compression", "=", ["inf"], "takes a number, not inf"),
        ("method", "<", ["hashed"], "holds no numbers"),
        ("compression", "like", [1], "no comparison"),
    ],
)
def test_what_cannot_be_is_one_sentence(column: str, operator: str, given: list[object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        filter_of(column, operator, given)


def test_typed_numbers_are_numbers() -> None:
    assert filter_of("batch_size", "=", ["1,024"]) == Filter("batch_size", "=", (1024,))
    assert filter_of("num_rows", "=", ["1,000,000.0"]) == Filter("num_rows", "=", (1_000_000,))
    assert filter_of("compression", "<>", ["0.1", 0.5]) == Filter("compression", "not in", (0.1, 0.5))
    assert operator_of(Filter("compression", "not in", (0.1, 0.5))) == "<>"


def test_values_of_results_that_hold_nothing() -> None:
    assert chips._listed(()) == "nothing"
    assert chips._listed(("method", "dataset")) == "method and data set"
