"""Groups held against one another: ratios and differences to a reference, Pareto fronts, why, and what there is."""

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested


def answered(question: str, box: Sandbox) -> Answer:
    answer = ask(question, sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    assert answer.table
    return answer


def rows(answer: Answer, *columns: str) -> list[tuple[object, ...]]:
    assert answer.table
    return list(zip(*(answer.table.values(c) for c in columns), strict=True))


@pytest.mark.parametrize(
    "question",
    [
        "AUC relative to dense at compression 0.1 on frappe",
        "auc loss of every method at compression 0.1 on frappe",
        "difference in AUC compared to dense by method at 10x compression on frappe",
        "how much AUC do we lose vs dense at compression 0.1 on frappe",
        "quality drop against the baseline at compression 0.1 on frappe",
    ],
)
def test_differences_to_the_baseline(question: str, box: Sandbox) -> None:
    found = dict(rows(answered(question, box), "method", "difference_auc"))
    assert set(found) == {"hashed", "quotient_remainder", "small_dim"}
    for method, cost in (("hashed", 0.02), ("quotient_remainder", 0.01), ("small_dim", 0.03)):
        assert found[method] == pytest.approx(-cost * 0.9)


@pytest.mark.parametrize(
    ("question", "column", "value"),
    [
        ("how many times slower is hashed than dense at dim 16, batch 64, in lookup", "ratio_latency_us", 2.5),
        ("latency of hashed relative to dense at dim 16, batch 64, in lookup", "ratio_latency_us", 2.5),
        ("how many times smaller is hashed than dense at compression 0.1 on frappe", "reduction_memory_mb", 10.0),
        ("how much memory does hashed save at compression 0.1 on frappe in training", "reduction_memory_mb", 10.0),
        ("memory of hashed as a fraction of dense at compression 0.1 on frappe", "ratio_memory_mb", 0.1),
        ("p99 latency of hashed compared to small_dim at dim 16, batch 64, in lookup", "ratio_latency_p99_us", 25 / 15),
    ],
)
def test_ratios(question: str, column: str, value: float, box: Sandbox) -> None:
    answer = answered(question, box)
    assert rows(answer, "method", column) == [("hashed", pytest.approx(value))]
    assert f"{value:.3g}x" in answer.summary


def test_every_group_is_held_against_the_same_work(box: Sandbox) -> None:
    answer = answered("latency relative to dense by batch size for hashed in lookup", box)
    assert len(rows(answer, "batch_size")) == 6, "three batch sizes at two dims"
    assert {round(float(r), 9) for (r,) in rows(answer, "ratio_latency_us")} == {2.5}  # type: ignore[arg-type]


def test_a_reference_that_is_no_method(box: Sandbox) -> None:
    answer = answered("latency of dense at batch size 512 relative to batch size 64, dim 16, in lookup", box)
    assert rows(answer, "batch_size", "ratio_latency_us") == [(512, pytest.approx(8.0))]


@pytest.mark.parametrize(
    ("question", "methods"),
    [
        ("which methods beat small_dim in AUC at compression 0.1 on frappe", {"hashed", "quotient_remainder", "dense"}),
        (
            "which methods have a lower AUC than quotient_remainder at compression 0.1 on frappe",
            {"hashed", "small_dim"},
        ),
        ("which methods are faster than hashed in lookup", {"dense", "small_dim", "quotient_remainder"}),
    ],
)
def test_only_what_is_better_is_left(question: str, methods: set[str], box: Sandbox) -> None:
    found = {m for (m,) in rows(answered(question, box), "method")}
    assert found <= methods
    assert found >= methods - {"dense"}


@pytest.mark.parametrize(
    "question",
    [
        "which methods are not dominated on memory and AUC on frappe",
        "pareto front of memory and AUC on frappe",
        "best tradeoff between AUC and memory on frappe",
        "Which configurations are Pareto-optimal on frappe?",
    ],
)
def test_the_front_holds_what_nothing_beats(question: str, box: Sandbox) -> None:
    answer = answered(question, box)
    everything = box.run(
        "SELECT method, compression, avg(memory_mb), avg(auc) FROM results WHERE dataset = 'frappe' GROUP BY ALL"
    ).rows
    front = {
        (m, c)
        for m, c, memory, auc in everything
        if not any(b <= memory and q >= auc and (b, q) != (memory, auc) for _, _, b, q in everything)  # type: ignore[operator]
    }
    assert set(rows(answer, "method", "compression")) == front
    assert "Beaten by no other" in answer.summary


def test_a_front_for_each_data_set_without_being_asked(box: Sandbox) -> None:
    assert {d for (d,) in rows(answered("pareto front of memory and AUC", box), "dataset")} == {
        "frappe", "ml-206k", "synthetic",
    }  # fmt: skip


@pytest.mark.parametrize("question", ["why is hashed slower than dense at batch size 512 in lookup"])
def test_why_tells_what_differs_and_what_is_alike(question: str, box: Sandbox) -> None:
    answer = answered(question, box)
    assert "latency 2.5x" in answer.summary
    assert "p99 latency 2.5x" in answer.summary
    assert "compression 0.1 against compression 1" in answer.summary
    assert "Alike: memory and largest error." in answer.summary
    assert "do not tell causes" in answer.summary


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how many methods are there", [(4,)]),
        ("how many data sets do we have", [(3,)]),
        ("how many batch sizes were measured in lookup", [(3,)]),
    ],
)
def test_different_values_are_counted(question: str, expected: list[tuple[int]], box: Sandbox) -> None:
    answer = answered(question, box)
    assert answer.table
    assert list(answer.table.rows) == expected
    assert f"{expected[0][0]} different values" in answer.summary


@pytest.mark.parametrize("question", ["which data sets are there?", "list the data sets", "what datasets do we have"])
def test_what_there_is(question: str, box: Sandbox) -> None:
    assert [d for (d,) in rows(answered(question, box), "dataset")] == ["frappe", "ml-206k", "synthetic"]


def test_the_newest_trials(box: Sandbox) -> None:
    answer = answered("latest 3 trials of hashed", box)
    assert answer.table
    assert len(answer.table.rows) == 3
    assert set(answer.table.values("method")) == {"hashed"}
    times = list(answer.table.values("started_at"))
    assert times == sorted(times, key=str, reverse=True)


def test_what_is_averaged_on_purpose_is_said(box: Sandbox) -> None:
    answer = answered("AUC by method averaged over data sets at compression 0.1", box)
    assert answer.table
    assert "dataset" not in answer.table.names
    assert "averaged over data set" in answer.read_as
