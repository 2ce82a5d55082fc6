"""The benchmark embedding_step: right updates are measured, wrong ones fail, pools are full, events are timed alone."""

import pytest
import torch
from alone import alone

from bench_engine import registry
from bench_engine.benchmarks import embedding_step, step_methods, step_reference
from bench_engine.kernels.fiited import FIITEDEmbeddingBag
from bench_engine.sweep.sweep import expand, parse
from bench_engine.trial import Stop, Trial, TrialResult
from db.columns import BY_NAME

pytestmark = pytest.mark.usefixtures("one_thread", "built_kernels")

BENCHMARK = registry.BENCHMARKS["embedding_step"]
SIZES = {"num_rows": 1000, "embedding_dim": 8, "bag_size": 3, "batch_size": 16, "compression": 0.1}
QUICK = Stop(min_samples=3, max_seconds=0.005, noise_target=0.5)
PRUNED = ("fiited", "fiited_frequency", "adaembed", "frequency_pruned")
RULES = ("sgd", "adagrad", "rowwise_adagrad", "adam")


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Short streams and intervals."""
    monkeypatch.setattr(embedding_step, "LEAST_IDS", 2**14)
    monkeypatch.setattr(embedding_step, "TRAINING_STEPS", 310)
    monkeypatch.setattr(embedding_step, "INTERVAL", 20)


def trial(method: str = "fiited", **config) -> Trial:
    told = {**SIZES, **({"compression": 1.0} if method.startswith("dense") else {}), **config}
    axes = {a.name: a.default for a in BENCHMARK.axes if a.is_of(method)}
    return Trial("embedding_step", method, {**axes, **told}, stop=QUICK)


def run(method: str = "fiited", **config) -> TrialResult:
    return alone(embedding_step.run(trial(method, **config)))


@pytest.mark.parametrize("direction", ["forward", "forward_backward_update"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", ["dense", "dense_gradient", "fiited", "fiited_int8"])
def test_every_optimizer_is_right_and_measured(method, rule, direction):
    reason = registry.method(method).refusal({"optimizer": rule})
    result = run(method, optimizer=rule, direction=direction)
    if reason:
        assert (result.status, result.samples_us) == ("skipped", ())
        return
    assert (result.status, result.error) == ("ok", None)
    error = result.metrics["max_abs_error"]  # sums of a few int8 rows are exact
    assert 0 < error < 1e-3 or (method, error) == ("fiited_int8", 0)
    assert len(result.samples_us) == result.metrics["sample_count"] >= 3
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics


@pytest.mark.parametrize("layout", ["compact", "flat"])
@pytest.mark.parametrize("method", PRUNED)
def test_every_pruned_method_and_layout_is_right(method, layout):
    chunks = {"num_chunks": 2} if "fiited" in method else {}
    result = run(method, layout=layout, direction="forward_backward_update", **chunks)
    assert (result.status, result.error) == ("ok", None)


@pytest.mark.parametrize("dim", [8, 64])
def test_over_quantized_rows_places_are_full_and_updates_are_right(dim):
    result = run("fiited_int8", optimizer="sgd", direction="forward_backward_update", embedding_dim=dim)
    assert (result.status, result.error) == ("ok", None)
    assert result.metrics["memory_mb"] <= 0.1 * 1000 * dim * 4 / 1e6
    said = result.environment
    assert said["live_share"] > 0.1  # bytes of int8
    assert said["live_share_of_lookups"] > said["live_share"]


@pytest.mark.parametrize("part", ["step", "gradient"])
def test_a_wrong_update_of_quantized_rows_fails(monkeypatch, part):
    right = step_methods.LiveBag.update

    def wrong(bag, ids, gradient):
        right(bag, ids, gradient * 1.5 if part == "gradient" else gradient)
        if part == "step":
            right(bag, ids, gradient)

    monkeypatch.setattr(step_methods.LiveBag, "update", wrong)
    result = run("fiited_int8", optimizer="sgd", direction="forward_backward_update")
    assert result.status == "failed"
    assert "is wrong: its update" in result.error


@pytest.mark.parametrize("config", [{"num_rows": 10}, {"batch_size": 1, "bag_size": 1}, {"zipf_s": 0.0}])
def test_edges_of_the_axes(config):
    assert run(**config).status == "ok"


def test_metrics_are_columns_and_fit_together():
    metrics = run("dense").metrics
    assert set(metrics) <= set(BY_NAME)
    assert (metrics["memory_mb"], metrics["metadata_mb"]) == (0.032, 0.0)
    assert metrics["optimizer_mb"] == pytest.approx(0.032, rel=1e-3)  # a number of steps is in it
    assert metrics["latency_p90_us"] <= metrics["latency_p95_us"] <= metrics["latency_p99_us"]
    assert metrics["bandwidth_gb_s"] > 0
    pruned = run().metrics
    assert pruned["optimizer_mb"] == 0.0032
    assert pruned["memory_mb"] == pytest.approx(0.0032 + pruned["metadata_mb"])
    update = run(direction="forward_backward_update").metrics
    assert "bandwidth_gb_s" not in update
    assert update["samples_per_s"] == pytest.approx(16 / update["latency_us"] * 1e6)


def test_a_pool_is_full_of_what_is_looked_up():
    environment = run(compression=0.05).environment
    assert environment["live_share"] == 0.05
    assert environment["live_share_of_lookups"] > 0.4  # an arbitrary twentieth would be a twentieth of them


def test_a_pool_that_is_not_full_fails(monkeypatch):
    monkeypatch.setattr(step_methods.PrunedBag, "budget_share", 0.2)
    result = run()
    assert result.status == "failed"
    assert result.error == "fiited is wrong: 0.1 of its chunks live after training, not 0.2."


def test_an_event_is_timed_after_an_interval_of_steps_that_are_not(monkeypatch):
    happened: list[str] = []
    update, prune = step_methods.PrunedBag.update, step_methods.PrunedBag.prune
    monkeypatch.setattr(step_methods.PrunedBag, "update", lambda *a: (happened.append("step"), update(*a))[1])
    monkeypatch.setattr(step_methods.PrunedBag, "prune", lambda *a: (happened.append("event"), prune(*a))[1])
    result = run(direction="prune")
    assert result.status == "ok"
    said = result.environment
    assert happened.count("event") == said["events"] + 1 > len(result.samples_us)
    trained = embedding_step.TRAINING_STEPS + step_reference.STEPS
    told = "".join(what[0] for what in happened)
    timed = ("s" * 20 + "e") * said["events"]
    assert told == "s" * 310 + "e" + "s" * (trained - 310) + timed + "s" * step_reference.STEPS
    share = result.metrics["latency_us"] / said["median_interval_us"]
    assert result.metrics["prune_share"] == pytest.approx(share)
    assert "samples_per_s" not in result.metrics


def test_no_event_happens_in_a_step_that_is_timed(monkeypatch):
    events = []
    prune = FIITEDEmbeddingBag._prune  # of those in steps and of those called for

    def noted(table, listed):
        events.append(table.step_count)
        return prune(table, listed)

    monkeypatch.setattr(FIITEDEmbeddingBag, "_prune", noted)
    assert run(direction="forward_backward_update").status == "ok"
    assert events == [3, 30, 300, 310]


def test_a_cold_event_finds_its_caches_flushed(monkeypatch):
    flushes = []
    monkeypatch.setattr(embedding_step.caches, "flusher", lambda: lambda: flushes.append(1))
    result = run(direction="prune", cache="cold")
    assert len(flushes) == result.environment["events"]


class Neighbour(step_methods.TorchBag):
    """Takes the neighbour of one id."""

    def __call__(self, ids):
        wrong = ids.clone()
        wrong[-1, -1] = (wrong[-1, -1] + 1) % self.table.num_embeddings
        return super().__call__(wrong)


class Doubled(step_methods.TorchBag):
    """Twice the gradient."""

    def update(self, ids, gradient):
        super().update(ids, 2 * gradient)


class OneRowLess(step_methods.TorchBag):
    """Leaves out the last bag of each step."""

    def update(self, ids, gradient):
        super().update(ids[:-1], gradient[:-1])


@pytest.mark.parametrize(("kind", "what"), [(Neighbour, "output"), (Doubled, "update"), (OneRowLess, "update")])
@pytest.mark.parametrize("rule", ["sgd", "adagrad"])
def test_what_is_wrong_fails(monkeypatch, kind, what, rule):
    monkeypatch.setattr(step_methods, "TorchBag", kind)
    result = run("dense", optimizer=rule, direction="forward_backward_update")
    assert (result.status, result.samples_us) == ("failed", ())
    assert result.error.startswith(f"dense is wrong: its {what} differs from the float64 reference")


def test_a_missing_chunk_that_moves_fails(monkeypatch):
    """The reference leaves missing dimensions alone, so all of them at work is another update."""
    everything = torch.ones(1, 8, dtype=torch.bool)
    monkeypatch.setattr(step_methods.PrunedBag, "live", lambda self, rows: everything.expand(len(rows), 8))
    result = run()
    assert result.status == "failed"
    assert "its update differs" in result.error


def test_what_cannot_be_run_is_skipped_with_a_sentence():
    assert run(embedding_dim=6, num_chunks=4).error.startswith("fiited cannot be run here: embedding_dim 6 is not")
    text = "benchmark: embedding_step\nmethods: [dense, dense_gradient]\nparameters:\n"
    for axis, value in (("direction", "prune"), ("optimizer", "rowwise_adagrad")):
        for planned in expand(parse(f"{text}  {axis}: {{value: {value}}}\n", "s")):
            assert planned.skip_reason.startswith(f"{planned.method} has no {axis} {value}: it runs")


def test_a_stream_holds_two_ids_for_each_row_within_limits():
    batches = embedding_step.stream(20_000, 64, 10, 1.05, 0)
    assert len(batches) == 40_000 // 640
    assert all(batch.shape == (64, 10) for batch in batches)
    assert len(embedding_step.stream(10, 4096, 10, 1.05, 0)) == embedding_step.LEAST_BATCHES
    assert torch.cat(batches).unique().numel() > 3000
