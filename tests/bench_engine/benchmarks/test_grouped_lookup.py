"""Grouped lookups: right methods are measured, wrong ones fail; what the models and their requests are."""

from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from alone import alone
from torch import Tensor

from bench_engine import registry
from bench_engine.benchmarks import grouped_lookup
from bench_engine.data.requests import BATCHES
from bench_engine.machine import bandwidth
from bench_engine.methods import grouped_parallel
from bench_engine.methods.grouped_methods import Eager
from bench_engine.methods.grouped_models import MLPERF, GroupedModel, Shape, requests
from bench_engine.methods.rivals import GROUPED_RIVALS, LOOKUP_RIVALS
from bench_engine.run.groups.group import MOST_WORKERS
from bench_engine.sweep import sweep
from bench_engine.trial import Stop, Trial, TrialResult
from db.columns import BY_NAME

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = {a.name: a.default for a in registry.BENCHMARKS["grouped_lookup"].axes} | {
    "num_tables": 4, "num_rows": 300, "embedding_dim": 8, "batch_size": 6, "bag_size": 3,
}  # fmt: skip
QUICK = Stop(min_samples=3, max_seconds=0.005, noise_target=0.5)
STRUCTURES = registry.BENCHMARKS["grouped_lookup"].axis("structure").choices
BACKWARD = {"direction": "forward_backward"}


class WrongOutput(Eager):
    """Takes the tables in another order."""

    def __call__(self, prepared):
        ids, dense = prepared
        return super().__call__((ids[1:] + ids[:1], dense))


class NoNumbers(Eager):
    def __call__(self, prepared):
        return [vector * float("nan") for vector in super().__call__(prepared)]


class WrongShape(Eager):
    def __call__(self, prepared):
        return super().__call__(prepared)[:-1]


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return 2 * gradient


class WrongGradient(Eager):
    """Right forward; of the last output the gradient is doubled."""

    def __call__(self, prepared):
        output = super().__call__(prepared)
        return _Doubled.apply(output) if isinstance(output, Tensor) else [*output[:-1], _Doubled.apply(output[-1])]


class GradientElsewhere(Eager):
    def table_gradients(self):
        return [gradient.roll(1, 0) for gradient in super().table_gradients()]


class WrongHead(Eager):
    """The tables' gradients are right, those of what stands behind them are not."""

    def __init__(self, model):
        super().__init__(model)
        self.model.head.wide.weight.register_hook(lambda gradient: 2 * gradient)


class Unsettled(grouped_parallel._Settling, Eager):
    """Its op needs some calls until it knows its way; counts calls of each request, and which were not timed."""

    def __init__(self, model):
        super().__init__(model)
        self.seen = Counter()

    def __call__(self, prepared):
        self.seen[id(prepared)] += 1
        _Op.calls += 1
        return super().__call__(prepared)

    def settle(self, call):
        checked = self.seen.copy()
        super().settle(call)
        self.to_settle = self.seen - checked

    def environment(self):
        return {**super().environment(), "to_settle": list(self.to_settle.values())}


class _Op:
    """What stands for the op's own choices: a kind that is called, and one that the check alone called."""

    calls, needed = 0, 0

    @classmethod
    def unsettled(cls):
        return {"other": 1} | ({"ours": cls.calls} if cls.calls < cls.needed else {})

    @staticmethod
    def choices():
        return ""


class StandingInAgain(Unsettled):
    """As a model that Parallel OP groups: its own turns take some calls too."""

    def chosen(self):
        return sum(self.seen.values()) > 60


def run(method: str = "eager", **config) -> TrialResult:
    return alone(grouped_lookup.run(Trial("grouped_lookup", method, {**CONFIG, **config}, stop=QUICK)))


@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
@pytest.mark.parametrize(
    "config",
    [
        *({"structure": structure} for structure in STRUCTURES),
        {"pooling_mode": "mean"},
        {"pooling_mode": "max", "structure": "interleaved"},
        {"bag_sizes": "mlperf", "bag_size": 1, "structure": "split_in"},
        {"model": "wide_and_deep"},
        {"model": "dlrm", "structure": "interleaved"},
        {"model": "transformer"},
        {"model": "transformer", "structure": "split_in", "embedding_dim": 8, "batch_size": 1},
        {"model": "dlrm", "structure": "split_in", "batch_size": 1},
        {"num_tables": 1, "num_rows": 1, "bag_size": 1},
    ],
)
def test_torch_itself_is_right_and_measured(config, direction):
    result = run(**config, direction=direction)
    assert (result.status, result.error) == ("ok", None)
    assert 0 <= result.metrics["max_abs_error"] < 1e-4
    assert len(result.samples_us) == result.metrics["sample_count"] >= 3
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics


def test_metrics_are_columns_and_fit_together():
    metrics = run().metrics
    assert set(metrics) <= set(BY_NAME)
    assert metrics["memory_mb"] == 4 * 300 * 8 * 4 / 1e6
    assert metrics["samples_per_s"] == pytest.approx(6 / metrics["latency_us"] * 1e6)
    # 4 tables: 18 ids of 8 bytes, 18 vectors and 6 outputs of 8 floats
    assert metrics["bandwidth_gb_s"] == pytest.approx(4 * (18 * 8 + 24 * 32) / metrics["latency_us"] / 1e3)
    assert run(**BACKWARD).metrics["bandwidth_gb_s"] is None
    whole = run(model="dlrm").metrics
    assert whole["bandwidth_gb_s"] is None
    assert whole["memory_mb"] > metrics["memory_mb"]


def test_bandwidth_is_told_as_a_share_of_what_the_memory_gives(monkeypatch):
    given = bandwidth.Bandwidth(1, 8.0, 2.0, 3.0, 100.0, 1e3, "", 0.0)
    monkeypatch.setattr(bandwidth, "kept", lambda threads: given)
    result = run()
    assert result.metrics["bandwidth_share"] == pytest.approx(result.metrics["bandwidth_gb_s"] / 8.0)
    assert result.environment["gather_gb_s"] == 2.0
    assert result.environment["touched_bytes"] == 4 * (18 * (8 + 64) + 6 * 32)
    assert "bandwidth_share" not in run(**BACKWARD).metrics


@pytest.mark.parametrize("kind", [WrongOutput, NoNumbers, WrongShape])
def test_a_wrong_output_fails(stand_in, kind):
    result = run(stand_in(kind))
    assert result.status == "failed"
    assert result.error.startswith("stand_in is wrong: its output")
    assert result.samples_us == ()


@pytest.mark.parametrize(
    ("kind", "needed", "rotations", "settled"),
    [
        (Unsettled, 0, 1, True),
        (Unsettled, 30, 3, True),
        (StandingInAgain, 30, 7, True),
        (Unsettled, 10**9, grouped_parallel.MOST_CALLS // BATCHES, False),
    ],
)
def test_nothing_is_timed_while_the_op_chooses_and_a_trial_says_if_it_went_on(
    stand_in, monkeypatch, kind, needed, rotations, settled
):
    monkeypatch.setattr(grouped_parallel, "ops", _Op)
    monkeypatch.setattr(_Op, "calls", 0)
    monkeypatch.setattr(_Op, "needed", needed)
    result = run(stand_in(kind))
    assert (result.status, result.environment["parallel_op_settled"]) == ("ok", settled)
    assert result.environment["to_settle"] == [rotations] * BATCHES


def test_what_does_not_settle_ends_after_some_seconds(stand_in, monkeypatch):
    monkeypatch.setattr(grouped_parallel, "ops", _Op)
    monkeypatch.setattr(grouped_parallel, "MOST_SECONDS", 0.0)
    result = run(stand_in(Unsettled))
    assert result.environment["parallel_op_settled"] is False
    assert result.environment["to_settle"] == [1]


@pytest.mark.parametrize("name", ["parallel_op", "parallel_op_inductor"])
def test_what_needs_the_switch_is_skipped_without_it(name):
    result = run(name)
    assert result.status == "skipped"
    assert result.error.startswith(f"{name} cannot be run here: MIRROR_PARALLEL_OP=1 is not heeded")


def test_plain_inductor_is_not_measured_under_the_name_of_parallel_op(monkeypatch):
    monkeypatch.setattr(grouped_parallel, "_check_switched_on", lambda: None)
    monkeypatch.setattr(grouped_parallel.ParallelOpInductor, "transformed", lambda _, model: model)
    monkeypatch.setattr(grouped_parallel, "ops", _Op)
    monkeypatch.setattr(grouped_parallel.report, "reports", list)  # of graphs that other tests compiled
    with pytest.raises(ValueError, match="found no group in the graph that Inductor compiled: use inductor_model"):
        run("parallel_op_inductor")


@pytest.mark.parametrize("config", [{}, {"structure": "concat_out"}, {"structure": "interleaved"}, {"model": "dlrm"}])
def test_a_wrong_gradient_fails_where_it_is_timed(stand_in, config):
    method = stand_in(WrongGradient)
    assert run(method, **config).status == "ok"
    result = run(method, **config, **BACKWARD)
    assert result.status == "failed"
    assert "its gradient of " in result.error


def test_a_gradient_in_other_rows_and_a_wrong_one_behind_the_tables_fail(stand_in):
    result = run(stand_in(GradientElsewhere), **BACKWARD)
    assert result.status == "failed"
    assert "its gradient of table 0 has rows that were not asked for" in result.error
    result = run(stand_in(WrongHead), model="wide_and_deep", **BACKWARD)
    assert result.status == "failed"
    assert "its gradient of wide.weight" in result.error


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"bag_sizes": "mlperf"}, "bag_sizes mlperf has sizes of its own: leave bag_size at 1"),
        (
            {"model": "dlrm", "structure": "concat_out"},
            "a whole model joins its bags by itself: structure concat_out is for model op",
        ),
        (
            {"model": "transformer", "embedding_dim": 5},
            "2 heads of attention share the dimension 5: take an even one",
        ),
    ],
)
def test_axes_that_speak_against_each_other_are_skipped(config, sentence):
    result = run(**config)
    assert (result.status, result.error) == ("skipped", f"eager cannot be run here: {sentence}")


def test_mlperf_sizes_are_cut_and_repeated():
    for tables, sizes in ((3, MLPERF[:3]), (28, (*MLPERF, 3, 2))):
        assert Shape.of({**CONFIG, "num_tables": tables, "bag_sizes": "mlperf", "bag_size": 1}).bag_sizes == sizes
    assert (len(MLPERF), sum(MLPERF)) == (26, 214)


def test_requests_differ_between_tables_and_from_call_to_call():
    shape = Shape.of({**CONFIG, "structure": "split_in", "batch_size": 40})
    first, second = requests(shape, 1.05, 0, 2)
    assert not torch.equal(first.ids[0], first.ids[1])
    assert not torch.equal(first.ids[0], second.ids[0])
    assert torch.equal(first.joined, torch.cat(first.ids, 1))
    assert torch.equal(requests(shape, 1.05, 0, 2)[1].joined, second.joined)
    assert not torch.equal(requests(shape, 1.05, 1, 1)[0].joined, first.joined)


def test_what_the_structures_are():
    torch.manual_seed(0)
    outputs = {}
    for structure in STRUCTURES:
        torch.manual_seed(0)
        shape = Shape.of({**CONFIG, "structure": structure})
        outputs[structure] = GroupedModel(shape)(*requests(shape, 1.05, 0, 1)[0].arguments())
    plain = outputs["plain"]
    assert len(plain) == 4
    assert all(map(torch.equal, outputs["split_in"], plain))
    assert all(map(torch.equal, outputs["interleaved"], map(F.relu, plain)))
    assert torch.equal(outputs["concat_out"], torch.cat(plain, 1))


def test_methods_stand_with_the_benchmark_that_can_run_them():
    grouped, lookup = (set(registry.BENCHMARKS[name].methods) for name in ("grouped_lookup", "lookup"))
    assert not grouped & lookup
    parallel = {"parallel_op", "parallel_op_settled", "parallel_op_backend", "parallel_op_inductor"}
    assert grouped == parallel | {"eager", "grouped_embedding", "gir"} | {m.name for m in GROUPED_RIVALS}
    assert {m.name for m in LOOKUP_RIVALS} <= lookup


def test_the_ready_sweep_has_its_points_and_room_in_memory():
    trials = sweep.expand(sweep.load("parallel_op"))
    found = {}
    for trial in trials:
        found.setdefault(trial.comparison(), []).append(trial)
        config = trial.config
        table = config["num_tables"] * config["num_rows"] * config["embedding_dim"] * 4
        workers = min(MOST_WORKERS, sum(t.comparison() == trial.comparison() for t in trials))
        assert table * workers <= 20e9
    assert all(sum(t.is_baseline for t in group) == 1 for group in found.values())
    assert all({"eager", "parallel_op"} <= {t.method for t in group} for group in found.values())
    points = {(t.config["batch_size"], t.config["bag_size"], t.config["num_rows"], t.config["threads"]) for t in trials}
    for point in ((1, 1), (64, 1), (1024, 1), (2048, 10)):
        assert {(*point, 1_000_000 if point == (2048, 10) else 100_000, threads) for threads in (1, 2)} <= points
    assert (Path(registry.__file__).parents[2] / "sweeps" / "parallel_op.yaml").is_file()
