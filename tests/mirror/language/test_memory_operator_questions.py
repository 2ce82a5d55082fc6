"""Questions about memory-bound operators: bandwidth, the copy beside it, and how good a cost model is."""

from collections.abc import Iterator

import pytest
from measured_records import record, stored

from db.record import Record
from mirror import ask
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

# (operator, working set) -> latency of eager, inductor and gir, share of a copy of gir, regret.
CELLS = {
    ("softmax", "in_l3"): (560.0, 920.0, 460.0, 0.6, 0.01),
    ("softmax", "out_of_cache"): (30_000.0, 40_000.0, 25_000.0, 0.5, 0.02),
    ("concat", "in_l3"): (350.0, 400.0, 300.0, 0.9, 0.0),
    ("concat", "out_of_cache"): (50_000.0, 51_000.0, 45_000.0, 0.4, 0.1),
    ("bias_gelu", "in_l3"): (1_000.0, 1_200.0, 700.0, 0.4, 0.25),
    ("bias_gelu", "out_of_cache"): (60_000.0, 61_000.0, 50_000.0, 0.3, 0.3),
}
METHODS = ("eager", "inductor", "gir")


def records() -> Iterator[Record]:
    for (operator, size), (eager, inductor, gir, share, regret) in CELLS.items():
        moved = 7e6 if size == "in_l3" else 1.6e8
        for method, latency in zip(METHODS, (eager, inductor, gir), strict=True):
            axes = {
                "operator": operator, "working_set": size, "direction": "forward", "output": "fresh", "threads": 1,
                "seed": 0,
            }  # fmt: skip
            measured = {
                "latency_us": latency, "bytes_moved": moved, "bandwidth_gb_s": moved / latency / 1e3,
                "bandwidth_share": share * gir / latency, "speedup": eager / latency,
            }  # fmt: skip
            if method == "gir":
                measured |= {"bytes_predicted": 1.5 * moved, "model_regret": regret, "model_rank_correlation": 0.5}
            yield record("memory_ops", method, axes, measured, "eager")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(stored(records(), tmp_path_factory.mktemp("operators"))) as box:
        yield box


def asked(question: str, box: Sandbox) -> Answer:
    answer = ask(question, box, use_model=False)
    assert answer.status == "answered", answer.summary
    return answer


def told(answer: Answer, value: str, *by: str) -> dict[tuple[object, ...], object]:
    """The column `value` for each row's values of the columns `by`."""
    keys = zip(*map(answer.table.values, by), strict=True)
    return dict(zip(keys, answer.table.values(value), strict=True))


def test_bandwidth_of_two_methods_is_told_for_each_size(measured: Sandbox) -> None:
    answer = asked("bandwidth of gir and inductor for softmax", measured)
    found = told(answer, "bandwidth_gb_s", "method", "working_set")
    assert set(found) == {(m, size) for m in ("gir", "inductor") for size in ("in_l3", "out_of_cache")}
    assert found["gir", "in_l3"] == pytest.approx(7e6 / 460 / 1e3)


def test_the_operator_nearest_to_a_copy_has_the_highest_share(measured: Sandbox) -> None:
    for question in ("which operators are closest to the copy bandwidth", "operator nearest to a copy in l3"):
        answer = asked(question, measured)
        best = max(answer.table.rows, key=lambda row: row[answer.table.names.index("bandwidth_share")])
        assert "concat" in best
    assert "bias_gelu" in str(asked("operator furthest from the copy bandwidth in l3 for gir", measured).table.rows[0])


def test_regret_is_that_of_the_cost_model(measured: Sandbox) -> None:
    answer = asked("regret of the cost model by operator", measured)
    assert told(answer, "model_regret", "operator", "working_set")["bias_gelu", "in_l3"] == 0.25


def test_speedup_of_one_over_another_by_operator(measured: Sandbox) -> None:
    answer = asked("speedup of gir over inductor by operator", measured)
    assert set(answer.table.values("operator")) == {"softmax", "concat", "bias_gelu"}
    assert told(answer, "ratio_speedup", "operator", "working_set")["softmax", "in_l3"] == pytest.approx(2.0)


@pytest.mark.parametrize("question", ["memory ops latency by operator and method", "latency of memory operators"])
def test_the_benchmark_is_no_memory(measured: Sandbox, question: str) -> None:
    answer = asked(question, measured)
    assert "latency_us" in answer.table.names
    assert "memory_mb" not in answer.table.names


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("latency of log softmax", "log_softmax"),
        ("latency of layernorm by method", "layer_norm"),
        ("latency of the dot interaction", "interaction"),
        ("bandwidth of gir in l2", "in_l2"),
        ("bandwidth beyond the caches by method", "out_of_cache"),
    ],
)
def test_values_have_the_words_of_the_field(measured: Sandbox, question: str, value: str) -> None:
    answer = ask(question, measured, use_model=False)
    assert value in answer.summary + str(answer.spec)
