"""Values of one axis held against one another: they lead the table, the chart and the sentence."""

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.query.contrast import contrasted, held_against
from mirror.query.spec import Filter, Metric, QuerySpec

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

LATENCY = (Metric("latency_us", "avg"),)
CACHES = Filter("cache", "in", ("cold", "warm"))


def answered(question: str, box: Sandbox) -> Answer:
    answer = ask(question, sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.chart
    return answer


@pytest.mark.parametrize(
    ("filters", "axis", "values"),
    [
        ((CACHES,), "cache", ("cold", "warm")),
        ((Filter("embedding_dim", "in", (16, 64)), CACHES), "cache", ("cold", "warm")),
        ((Filter("embedding_dim", "in", (16, 64)),), "embedding_dim", (16, 64)),
        ((Filter("threads", "in", (1, 2, 4)),), "threads", ()),
        ((Filter("pooling_mode", "in", ("sum", "mean", "max")),), "pooling_mode", ("sum", "mean", "max")),
        ((Filter("method", "in", ("dense", "hashed")), CACHES), None, ()),
        ((Filter("dataset", "in", ("frappe", "ml-206k")),), None, ()),
        ((Filter("cache", "=", ("cold",)),), None, ()),
    ],
)
def test_which_axis_leads(filters: tuple[Filter, ...], axis: str | None, values: tuple[object, ...]) -> None:
    spec = QuerySpec("groups", LATENCY, ("method",), filters=filters)
    assert contrasted(spec) == axis
    assert held_against(spec) == values


@pytest.mark.parametrize(
    ("question", "axis", "told"),
    [
        (
            "forward vs forward_backward latency of dense in lookup",
            "direction",
            "Forward against forward_backward: latency 0.333x",
        ),
        (
            "latency of dense in lookup at dim 16 vs dim 64",
            "embedding_dim",
            "Dim 16 against dim 64: latency 0.25x. Rests on 3 pairs",
        ),
        (
            "auc of hashed on frappe at compression 0.1 vs 0.5",
            "compression",
            "Compression 0.1 against compression 0.5: AUC -0.0080",
        ),
    ],
)
def test_the_sentence_tells_of_the_values(question: str, axis: str, told: str, box: Sandbox) -> None:
    answer = answered(question, box)
    assert answer.table
    assert answer.chart
    assert answer.table.names[0] == axis
    assert told in answer.summary
    assert axis in (answer.chart.x, answer.chart.color)
    assert axis not in [c for c, _ in answer.chart.only]


def test_cold_against_warm_for_each_method(again: Sandbox) -> None:
    answer = answered("latency in lookup, cold vs warm cache, by method", again)
    # Cold took three times as long as at first; since then dense became 1.02 and hashed 1.5 times slower.
    assert "cold against warm: dense 2.94x" in answer.summary
    assert "hashed 2x" in answer.summary
    assert answer.chart
    assert "cache" in (answer.chart.x, answer.chart.color, answer.chart.symbol)
    assert "cache" not in [c for c, _ in answer.chart.only]


def test_machines_that_are_named(again: Sandbox) -> None:
    names = again.schema().values("machine")
    answer = answered(f"latency of dense in lookup on {names[0]} vs {names[1]}", again)
    assert " against " in answer.summary
    assert "pairs at equal work" in answer.summary
    assert answer.table
    assert answer.table.names[0] == "machine"


def test_a_comparative_names_its_metric(again: Sandbox) -> None:
    answer = answered("is cold slower than warm for dense in lookup", again)
    assert answer.summary.startswith("Cold against warm: latency 2.94x")


def test_what_was_never_measured_at_the_same_work(box: Sandbox) -> None:
    """Dims 16 and 64 were looked up at the same batch sizes; at compression 0.1 and 1 never with one method."""
    answer = answered("latency in lookup at compression 0.1 vs compression 1", box)
    assert "were never measured at the same work. Lowest latency 10 µs" in answer.summary


def test_a_value_without_rows_is_named(box: Sandbox) -> None:
    answer = answered("auc of hashed vs small_dim at compression 0.02 on frappe", box)
    assert answer.summary.startswith("There is no row for small_dim.")
    both = answered("auc of hashed vs small_dim at compression 0.1 on frappe", box)
    assert "no row" not in both.summary


def test_the_chart_goes_along_what_both_values_share(again: Sandbox) -> None:
    """Batch sizes are shared by both caches; what has but one of them must not be the x axis."""
    answer = answered("latency of dense in lookup, cold vs warm", again)
    assert answer.chart
    assert answer.chart.type == "line"
    assert (answer.chart.x, answer.chart.color) == ("batch_size", "cache")
