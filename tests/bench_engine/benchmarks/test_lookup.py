"""The lookup benchmark: right methods are measured, wrong ones fail."""

from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from alone import alone
from torch import Tensor

from bench_engine import registry
from bench_engine.benchmarks import lookup, watch
from bench_engine.data.requests import BATCHES, padded
from bench_engine.kernels.compressed.dense import DenseEmbeddingBag
from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.measure import measure
from bench_engine.methods.own import QUANTIZED
from bench_engine.methods.rivals import LOOKUP_RIVALS
from bench_engine.trial import Stop, Trial, TrialResult
from db.columns import BY_NAME

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = {
    "num_rows": 1000,
    "embedding_dim": 8,
    "compression": 1.0,
    "pooling_mode": "sum",
    "bag_size": 3,
    "batch_size": 16,
    "direction": "forward",
    "zipf_s": 1.05,
    "cache": "warm",
    "output": "fresh",
    "threads": 1,
    "seed": 0,
}
RIVAL_NAMES = {m.name for m in LOOKUP_RIVALS}  # they have tests of their own
QUICK = Stop(min_samples=3, max_seconds=0.005, noise_target=0.5)


class WrongOutput(DenseEmbeddingBag):
    """Takes the neighbour of one id."""

    def forward(self, input, offsets=None):
        ids = input.clone()
        ids[-1, -1] = (ids[-1, -1] + 1) % self.num_embeddings
        return super().forward(ids, offsets)


class NoNumbers(DenseEmbeddingBag):
    def forward(self, input, offsets=None):
        return super().forward(input, offsets) * float("nan")


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return 2 * gradient


class WrongGradient(DenseEmbeddingBag):
    """Right forward, doubled backward."""

    def forward(self, input, offsets=None):
        return _Doubled.apply(super().forward(input, offsets))


class WrongShape(DenseEmbeddingBag):
    def forward(self, input, offsets=None):
        return super().forward(input, offsets)[:, :-1]


def run(method: str = "dense", **config) -> TrialResult:
    own = {a.name: a.default for a in registry.BENCHMARKS["lookup"].axes if a.methods and a.is_of(method)}
    return alone(lookup.run(Trial("lookup", method, {**CONFIG, **own, **config}, stop=QUICK)))


@pytest.mark.usefixtures("built_kernels")
@pytest.mark.parametrize("method", [m for m in registry.BENCHMARKS["lookup"].methods if m not in RIVAL_NAMES])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_every_method_is_right_and_measured(method, mode, direction):
    if reason := registry.method(method).refusal({"pooling_mode": mode, "direction": direction}):
        pytest.skip(reason)
    compression = 1.0 if method == "dense" else 0.5
    result = run(method, pooling_mode=mode, direction=direction, compression=compression)
    assert (result.status, result.error) == ("ok", None)
    assert 0 <= result.metrics["max_abs_error"] < 1e-4
    assert len(result.samples_us) == result.metrics["sample_count"] >= 3
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics


@pytest.mark.parametrize("method", QUANTIZED)
def test_a_table_that_keeps_gradients_for_its_step_is_timed_forward_only(method):
    """A backward that leaves the work to the step would look faster than it is."""
    refusal = registry.method(method).refusal
    assert refusal({"direction": "forward_backward"}) == (
        f"{method} has no direction forward_backward: it runs forward only."
    )
    assert "it runs sum and mean only" in refusal({"pooling_mode": "max"})
    assert not refusal({"direction": "forward", "pooling_mode": "mean"})


PADDED = next(a for a in registry.BENCHMARKS["lookup"].axes if a.name == "padding_idx").methods


@pytest.mark.usefixtures("built_kernels")
@pytest.mark.parametrize("method", PADDED)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [0, 999])
def test_every_method_with_padding_leaves_it_out(method, mode, padding_idx):
    compression = 1.0 if method == "dense" else 0.5
    result = run(
        method, pooling_mode=mode, direction="forward_backward", compression=compression, padding_idx=padding_idx
    )
    assert (result.status, result.error) == ("ok", None)


class PaddingTaken(DenseEmbeddingBag):
    """Takes padding for an id like others."""

    def forward(self, input, offsets=None):
        return F.embedding_bag(input, self.weight, mode=self.mode)


class PaddingHasGradient(DenseEmbeddingBag):
    """Leaves padding out and gives it a gradient nonetheless."""

    def forward(self, input, offsets=None):
        taken = F.embedding_bag(input, self.weight, mode=self.mode)
        return super().forward(input) + taken - taken.detach()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_padding_that_is_not_left_out_fails(stand_in, mode):
    config = {"padding_idx": 0, "pooling_mode": mode}
    assert "its output differs" in run(stand_in(PaddingTaken), **config).error
    assert "its gradient of weight" in run(stand_in(PaddingHasGradient), **config, direction="forward_backward").error


def test_a_padding_that_is_no_row_is_skipped_with_the_methods_sentence():
    result = run(padding_idx=1000)
    assert result.status == "skipped"
    assert result.error.endswith("padding_idx must be a row of the table, of 1000, not 1000")


def test_bags_of_all_lengths_are_filled_up_with_padding():
    ids = np.arange(80_000).reshape(20_000, 4) + 10
    (filled,) = padded([ids], 5, seed=0)
    kept = filled != 5
    assert (filled[kept] == ids[kept]).all()
    assert (kept[:, :-1] >= kept[:, 1:]).all()  # padding is at the end
    shares = np.bincount(kept.sum(1), minlength=5) / len(ids)
    assert shares == pytest.approx([0.2] * 5, abs=0.02)
    assert (padded([ids], 5, seed=0)[0] == filled).all()
    assert (padded([ids], 5, seed=1)[0] != filled).any()


def test_metrics_are_columns_and_fit_together():
    result = run(batch_size=32, bag_size=5)
    metrics = result.metrics
    assert set(metrics) <= set(BY_NAME)
    assert metrics["memory_mb"] == 1000 * 8 * 4 / 1e6
    assert metrics["samples_per_s"] == pytest.approx(32 / metrics["latency_us"] * 1e6)
    # 160 ids of 8 bytes, 160 vectors and 32 outputs of 8 floats
    assert metrics["bandwidth_gb_s"] == pytest.approx((160 * 8 + 192 * 32) / metrics["latency_us"] / 1e3)
    assert metrics["latency_p10_us"] <= metrics["latency_us"] <= metrics["latency_p90_us"]
    assert result.stop_reason in ("noise_target", "noise_stable", "time_cap")


def test_backward_has_no_bandwidth():
    assert run(direction="forward_backward").metrics["bandwidth_gb_s"] is None


@pytest.mark.parametrize("kind", [WrongOutput, NoNumbers, WrongShape])
def test_a_wrong_output_fails(stand_in, kind):
    result = run(stand_in(kind))
    assert result.status == "failed"
    assert result.error.startswith("stand_in is wrong: its output")
    assert result.samples_us == ()


def test_a_wrong_gradient_fails_where_it_is_timed(stand_in):
    method = stand_in(WrongGradient)
    assert run(method).status == "ok"
    result = run(method, direction="forward_backward")
    assert result.status == "failed"
    assert "its gradient of weight differs from the float64 reference" in result.error


def test_a_compression_out_of_reach_is_skipped_with_the_methods_sentence():
    result = run("quotient_remainder", compression=0.001)
    assert result.status == "skipped"
    assert result.error.startswith("quotient_remainder cannot be run here: compression 0.001 leaves too few rows")


@pytest.mark.parametrize(
    "config", [{"num_rows": 1}, {"batch_size": 1, "bag_size": 1}, {"zipf_s": 0.0}, {"bag_size": 200}]
)
def test_edges_of_the_axes(config):
    assert run(**config).status == "ok"


def test_requests_rotate(stand_in, monkeypatch):
    seen = Counter()

    def noted(self, input, offsets=None):
        seen[input.data_ptr()] += 1
        return DenseEmbeddingBag.forward(self, input, offsets)

    monkeypatch.setattr(WrongOutput, "forward", noted)
    monkeypatch.setattr(lookup, "output_error", lambda *_: 0.0)
    assert run(stand_in(WrongOutput)).status == "ok"
    often = [count for count in seen.values() if count > max(seen.values()) / 2]
    assert len(often) == BATCHES


def test_a_cold_call_finds_its_caches_flushed_before_every_sample(monkeypatch):
    flushes = []
    monkeypatch.setattr(lookup.caches, "flusher", lambda: lambda: flushes.append(1))
    monkeypatch.setattr(measure, "PROBE_CHANCE", 0.0)
    monkeypatch.setattr(watch, "PAIRING_S", 0.0)
    result = run(cache="cold")
    assert result.status == "ok"
    counted = result.environment.get("counted_calls", 0)  # calls that are not timed, where the processor counts
    assert len(flushes) == len(result.samples_us) + counted
    assert result.environment["calls_per_sample"] == 1
    flushes.clear()
    assert run(cache="warm").status == "ok"
    assert flushes == []


def test_the_flush_is_larger_than_the_last_level_cache(monkeypatch):
    monkeypatch.setattr(lookup.caches.machine, "machine", lambda: {"l2_kb": 1000, "l3_kb": 50_000, "cores": 8})
    for caches, bytes_at_least in ((1, 100_000_000), (2, 200_000_000)):
        monkeypatch.setattr(lookup.caches.hardware, "caches_in_use", lambda _level, n=caches: n)
        assert lookup.caches.flusher()().nbytes >= bytes_at_least


@pytest.mark.usefixtures("built_kernels")
def test_a_wrong_compiled_gradient_fails(monkeypatch):
    """The compiled kernel is judged by the float64 reference, not by itself."""
    kernel = HashedEmbeddingBag.forward
    monkeypatch.setattr(HashedEmbeddingBag, "forward", lambda self, batch: _Doubled.apply(kernel(self, batch)))
    result = run("hashed", compression=0.5, direction="forward_backward")
    assert result.status == "failed"
    assert "its gradient of hashed_weight differs from the float64 reference" in result.error


@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_rounding_of_long_sums_is_not_taken_for_an_error(direction):
    assert run(bag_size=20_000, batch_size=4, zipf_s=1.5, direction=direction).status == "ok"


def test_ids_that_are_left_out_move_no_vectors():
    full, half = (run(batch_size=512, bag_size=10, padding_idx=p) for p in (-1, 0))
    ids, row = 5120, 32  # D is 8
    assert full.metrics["bytes_moved"] == ids * (8 + row) + 512 * row
    vectors = (half.metrics["bytes_moved"] - ids * 8 - 512 * row) / row
    assert 0.45 * ids < vectors < 0.55 * ids
    assert half.environment["touched_bytes"] < full.environment["touched_bytes"]


class Frozen(DenseEmbeddingBag):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        weight = self.weight.detach()
        del self.weight
        self.register_buffer("weight", weight)


def test_a_table_of_buffers_is_measured_forward(stand_in):
    method = stand_in(Frozen)
    assert run(method).error is None
    told = "stand_in has no parameters to train: take direction forward."
    assert run(method, direction="forward_backward").error == told
