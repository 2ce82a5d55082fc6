"""Memory-bound operators: right methods are measured, wrong ones fail; what the bytes, the share and the regret are."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from alone import alone

from bench_engine import registry
from bench_engine.benchmarks import memory_ops
from bench_engine.kernels.native.calling import nothing
from bench_engine.methods.operators import operator_gir
from bench_engine.methods.operators.memory_operators import FEATURES, OPERATORS, SIZES, Operator
from bench_engine.methods.operators.operator_methods import EagerOperator
from bench_engine.registry.methods import OF_BENCHMARK
from bench_engine.sweep import sweep
from bench_engine.trial import Stop, Trial, TrialResult
from db.columns import BY_NAME

pytestmark = pytest.mark.usefixtures("one_thread")

ENTRY = registry.BENCHMARKS["memory_ops"]
CONFIG = {a.name: a.default for a in ENTRY.axes}
QUICK = Stop(min_samples=3, max_seconds=0.005, noise_target=0.5)


class Wrong(EagerOperator):
    def __call__(self, prepared):
        return super().__call__(prepared) + 1e-3


class Cached(EagerOperator):
    """Gives its first output again, whatever comes: fast, and right on what it has seen."""

    first = None

    def __call__(self, prepared):
        if self.first is None:
            self.first = super().__call__(prepared)
        return self.first


class Broken(EagerOperator):
    """Right for a while."""

    calls = 0

    def __call__(self, prepared):
        self.calls += 1
        output = super().__call__(prepared)
        return output if self.calls < 20 else output * float("nan")


class WrongGradient(EagerOperator):
    def __call__(self, prepared):
        x = prepared[0]
        return super().__call__([x.detach() + 2 * (x - x.detach()), *prepared[1:]])


def run(method: str = "eager", **config) -> TrialResult:
    return alone(memory_ops.run(Trial("memory_ops", method, {**CONFIG, **config}, stop=QUICK)))


@pytest.fixture
def eager_is(monkeypatch):
    """Another class in the place of eager."""

    def put(kind: type[EagerOperator]) -> None:
        entry = SimpleNamespace(load=lambda: kind)
        monkeypatch.setattr(registry, "method", lambda name, benchmark: entry)

    return put


@pytest.fixture
def tiny(monkeypatch):
    """A sixteenth of the smallest shapes, where they can be had."""
    whole = {name: o.make for name, o in OPERATORS.items()}

    def small(name: str):
        return lambda factor: [t[: max(1, len(t) // 16)] for t in whole[name](factor)]

    for name in ("softmax", "layer_norm", "sigmoid_bce", "concat"):
        vectors = name == "layer_norm"
        make = (lambda f: [t[:4] if t.dim() > 1 else t for t in whole["layer_norm"](f)]) if vectors else small(name)
        monkeypatch.setitem(OPERATORS, name, replace(OPERATORS[name], make=make))


@pytest.mark.parametrize("operator", OPERATORS)
def test_torch_itself_is_right_and_measured(operator):
    result = run(operator=operator)
    assert (result.status, result.error) == ("ok", None)
    assert set(result.metrics) <= set(BY_NAME)
    assert 0 <= result.metrics["max_abs_error"] < 1e-4
    assert len(result.samples_us) == result.metrics["sample_count"] >= 3
    assert 3e5 < result.metrics["bytes_moved"] < 5e5
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics


@pytest.mark.parametrize("operator", ["layer_norm", "concat", "sigmoid_bce"])
def test_training_steps_are_measured_without_a_bandwidth(tiny, operator):
    result = run(operator=operator, direction="forward_backward")
    assert result.status == "ok"
    assert not {"bytes_moved", "bandwidth_gb_s", "bandwidth_share"} & set(result.metrics)


@pytest.mark.parametrize("kind", [Wrong, Cached, Broken])
def test_a_wrong_output_fails_also_where_it_is_wrong_later(tiny, eager_is, kind):
    eager_is(kind)
    result = run()
    assert result.status == "failed"
    assert result.error.startswith("eager is wrong: its output differs from the float64 reference by")


def test_a_wrong_gradient_fails(tiny, eager_is):
    eager_is(WrongGradient)
    assert run().status == "ok"
    result = run(direction="forward_backward")
    assert result.status == "failed"
    assert "gradient of input 0" in result.error


def test_bytes_are_inputs_and_outputs_once_and_of_tables_the_rows_that_are_named():
    def moved(name: str) -> int:
        inputs = OPERATORS[name].inputs("in_l2", 0)
        return OPERATORS[name].bytes_moved(inputs, OPERATORS[name].call(*inputs))

    row = 832 * 4
    assert moved("softmax") == 2 * 64 * row
    assert moved("layer_norm") == (2 * 64 + 2) * row
    assert moved("sigmoid_bce") == 2 * 64 * row + 4
    inputs = OPERATORS["bags_concat"].inputs("in_l2", 0)
    named = sum(len(ids.unique()) for ids in inputs[:FEATURES])
    assert named < FEATURES * 128, "some rows are named by no id"
    assert moved("bags_concat") == FEATURES * 64 * 10 * 8 + named * 64 + 64 * FEATURES * 64
    table, ids = torch.ones(10, 16), torch.zeros(5, 3, dtype=torch.int64)
    hashed = OPERATORS["hashed_bag"]
    assert hashed.bytes_moved([ids, table], hashed.call(ids, table)) == 15 * 8 + 64 + 5 * 64


def test_bandwidth_and_its_share_come_from_the_same_turns():
    result = run()
    latency, moved = result.metrics["latency_us"], result.metrics["bytes_moved"]
    assert result.metrics["bandwidth_gb_s"] == pytest.approx(moved / latency / 1e3)
    assert result.metrics["bandwidth_share"] == pytest.approx(result.environment["copy_us"] / latency)


def test_every_fourth_turn_is_followed_by_one_of_the_copy():
    order: list[str] = []

    class Turns:
        state, timing = "more", "what was measured"

        def __init__(self, name: str) -> None:
            self.turn = lambda: order.append(name)
            self.count = lambda: order.append(f"{name} counted")

    steps = memory_ops.turns(Turns("own"), Turns("copy"))
    next(steps)
    for _ in range(5):
        steps.send(True)
    assert order == ["own", "copy", "own", "own", "own", "own", "copy"]
    with pytest.raises(StopIteration) as ended:
        steps.send(False)
    assert ended.value.value == "what was measured"
    assert order[7:] == ["own counted"]


def test_a_copy_reads_half_of_the_bytes():
    target = memory_ops.copier(8000)(0)
    assert target.nbytes == 4000
    assert bool((target == 1).all())


def test_gir_tells_how_good_its_cost_model_was_and_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path))
    result = run("gir", operator="softmax")
    assert (result.status, result.error) == ("ok", None)
    (decided,), surveyed = result.environment["gir"], result.environment["gir_surveyed"]
    assert len(surveyed) > len(decided["tried"])
    assert [one["predicted_us"] for one in surveyed] == sorted(one["predicted_us"] for one in surveyed)
    measured = [one["measured_us"] for one in surveyed]
    assert result.metrics["model_regret"] == pytest.approx(measured[0] / min(measured) - 1)
    assert -1 <= result.metrics["model_rank_correlation"] <= 1
    if decided["winner"]:  # the input once, the output twice
        assert result.metrics["bytes_predicted"] == 1.5 * result.metrics["bytes_moved"]
    assert os.environ["MIRROR_CACHE_DIR"] == str(tmp_path)
    entries = [path for path in Path(tmp_path).glob("gir/*/entry.json") if '"tried"' in path.read_text()]
    assert entries == [], "a decision of a trial is nobody else's"


def test_rank_correlation_is_spearmans():
    assert operator_gir.rank_correlation([1, 2, 3, 4], [10, 20, 30, 99]) == pytest.approx(1)
    assert operator_gir.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5 of deviations, squares 4.5 and 5.
    assert operator_gir.rank_correlation([1, 2, 2, 3], [1, 3, 2, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert operator_gir.rank_correlation([1, 2], [1, 2]) is None
    assert operator_gir.rank_correlation([1, 1, 1], [1, 2, 3]) is None


@pytest.mark.usefixtures("built_kernels")
def test_gir_is_entered_in_cpp_though_nothing_is_kept() -> None:
    operator = OPERATORS["concat"]
    with torch.no_grad():
        method = operator_gir.GirOperator(operator, operator.inputs("in_l2", 0))
    (graph,) = method.compiled.graphs.values()
    assert [region.compiled is not nothing for region in graph.regions.values()] == [True]


def test_axes_name_what_there_is():
    assert ENTRY.axis("operator").choices == tuple(OPERATORS)
    assert ENTRY.axis("working_set").choices == tuple(SIZES)
    assert all(isinstance(operator, Operator) and operator.name == name for name, operator in OPERATORS.items())


def test_a_benchmark_may_run_a_method_by_code_of_its_own():
    assert set(ENTRY.methods) == set(OF_BENCHMARK["memory_ops"])
    for name in ("eager", "gir", "inductor", "jax", "onnxruntime"):
        own, other = registry.method(name, "memory_ops"), registry.method(name)
        assert own.implementation != other.implementation
        assert own.source_hash() != other.source_hash()
        assert own.packages == other.packages
    assert registry.method("numba", "lookup") is registry.method("numba", "memory_ops")


def test_the_sweep_has_every_operator_in_every_size():
    def of_operators(name: str) -> list[Trial]:
        """The trials of a sweep but those of whole models."""
        return [trial for trial in sweep.expand(sweep.load(name)) if trial.benchmark == ENTRY.name]

    forward = [t for t in of_operators("memory_ops") if t.config["direction"] == "forward"]
    cells = {tuple(t.config[a] for a in ("operator", "working_set", "threads", "output")) for t in forward}
    assert len(cells) == len(OPERATORS) * 3 * 2 * 2
    assert len(forward) == len(cells) * len(ENTRY.methods)
    assert {t.config["operator"] for t in of_operators("memory_ops_short")} == set(OPERATORS)


class GradientAlmostRight(EagerOperator):
    def __call__(self, prepared):
        x = prepared[0]
        return super().__call__([x.detach() + 1.002 * (x - x.detach()), *prepared[1:]])


def test_a_gradient_of_one_term_is_held_to_the_tolerance_of_one(eager_is):
    eager_is(GradientAlmostRight)
    result = run(operator="sigmoid_chain", working_set="in_l3", direction="forward_backward")
    assert result.status == "failed"
    assert "gradient of input 0" in result.error


class OneGradient(EagerOperator):
    def __call__(self, prepared):
        return super().__call__([prepared[0], *(t.detach() for t in prepared[1:])])


def test_a_gradient_that_is_missing_fails(eager_is):
    eager_is(OneGradient)
    result = run(operator="swiglu", direction="forward_backward")
    assert (result.status, result.error) == ("failed", "eager is wrong: its gradient of input 1 is not there.")
