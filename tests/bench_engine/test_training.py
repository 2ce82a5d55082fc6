"""The training benchmark on clicks that a small model can learn."""

import copy
import dataclasses
import sys

import numpy as np
import pytest
import torch
from alone import alone

from bench_engine import registry
from bench_engine.benchmarks import training
from bench_engine.data import ClickData
from bench_engine.kernels.dense import DenseEmbeddingBag
from bench_engine.trial import Trial, TrialResult
from db.columns import BY_NAME

ROWS = (20, 10, 5)
EXAMPLES = 2000


def load() -> ClickData:
    """A click where the parities of two fields agree, which no field says alone."""
    rng = np.random.default_rng(0)
    offsets = np.cumsum((0, *ROWS[:-1]))
    values = np.stack([rng.integers(0, rows, EXAMPLES + 500) for rows in ROWS], 1)
    labels = (values[:, 0] % 2 == values[:, 1] % 2).astype(np.float32)
    ids = (values + offsets).astype(np.int32)
    return ClickData("tiny", sum(ROWS), ROWS, ids[:EXAMPLES], labels[:EXAMPLES], ids[EXAMPLES:], labels[EXAMPLES:])


class NoNumbers(DenseEmbeddingBag):
    """Gives NaN from its third call on."""

    calls = 0

    def forward(self, input, offsets=None):
        self.calls += 1
        return super().forward(input, offsets) * (1.0 if self.calls < 3 else float("nan"))


class NoNumbersInTheTest(DenseEmbeddingBag):
    """Gives NaN for the 500 examples of the test part."""

    def forward(self, input, offsets=None):
        return super().forward(input, offsets) * (float("nan") if input.numel() == 500 * len(ROWS) else 1.0)


@pytest.fixture(scope="module", autouse=True)
def tiny():
    """The data set `tiny`, and one thread: two that wait for each other are slow on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.DATA_SETS, "tiny", registry.DataSet("tiny", "", __name__))
        yield
    torch.set_num_threads(threads)


def run(method: str = "dense", **config) -> TrialResult:
    axes = {"dataset": "tiny", "embedding_dim": 8, "compression": 1.0, "batch_size": 50, "threads": 1, "seed": 0}
    return alone(training.run(Trial("training", method, {**axes, **config})))


@pytest.fixture(scope="module")
def result(tiny):
    return run()


def points(result, metric):
    return [(step, value) for name, step, value in result.curves if name == metric]


def test_it_learns(result):
    assert result.status == "ok"
    assert result.metrics["auc"] > 0.9
    assert result.metrics["logloss"] < 0.5


def test_metrics_are_columns_and_survive_json(result):
    assert set(result.metrics) <= set(BY_NAME)
    assert (result.metrics["num_rows"], result.metrics["num_tables"]) == (35, 3)
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics
    assert result.stop_reason == "fixed_count"


def test_memory_is_that_of_the_embedding(result):
    assert result.metrics["memory_mb"] == 35 * 8 * 4 / 1e6
    # Adagrad: one accumulator per weight, and one step count of 4 bytes per tensor
    assert result.metrics["optimizer_mb"] == (35 * 8 * 4 + 4) / 1e6


def test_all_steps_are_timed_but_the_first_ones_and_the_first_of_each_turn(result):
    steps = training.EPOCHS * EXAMPLES // 50
    assert len(result.samples_us) == sum(result.turn_sizes)
    assert len(result.samples_us) == steps - training.WARM_UP_STEPS - len(result.turn_sizes)
    assert max(result.turn_sizes) <= training.TURN_STEPS - 1
    assert result.metrics["sample_count"] == len(result.samples_us)
    assert result.metrics["latency_us"] == np.median(result.samples_us)
    assert result.metrics["samples_per_s"] == pytest.approx(50e6 / result.metrics["latency_us"])


def test_a_turn_has_the_same_steps_for_every_method_and_ends_with_the_pass(result):
    per_pass = EXAMPLES // 50
    expected = []
    for passed in range(training.EPOCHS):
        left = per_pass - (training.WARM_UP_STEPS if passed == 0 else 0)
        while left > 0:
            expected.append(min(left, training.TURN_STEPS) - 1)
            left -= training.TURN_STEPS
    assert list(result.turn_sizes) == expected
    assert run("quotient_remainder", compression=0.5).turn_sizes == result.turn_sizes


def test_curves(result):
    steps = training.EPOCHS * EXAMPLES // 50
    losses = points(result, "loss")
    assert len(losses) == training.LOSS_POINTS
    assert [step for step, _ in losses] == [steps * (i + 1) // 20 for i in range(20)]
    assert losses[-1][1] < 0.8 * losses[0][1]
    aucs = points(result, "auc")
    assert [step for step, _ in aucs] == [steps // 3, 2 * steps // 3, steps]
    assert aucs[-1][1] == result.metrics["auc"]


def test_the_same_seed_repeats_and_another_does_not(result):
    assert run().curves == result.curves
    assert run(seed=1).curves != result.curves


@pytest.mark.usefixtures("built_kernels")
@pytest.mark.parametrize("method", ["small_dim", "hashed", "hashed_reference", "quotient_remainder"])
def test_compressed_methods_train(method):
    result = run(method, compression=0.5, batch_size=100)
    assert result.status == "ok"
    assert result.metrics["memory_mb"] < 0.8 * 35 * 8 * 4 / 1e6
    assert result.metrics["auc"] > 0.55


def test_an_unreachable_compression_is_skipped_with_the_methods_sentence():
    result = run("quotient_remainder", compression=0.01)
    assert result.status == "skipped"
    assert result.error.startswith("quotient_remainder cannot be run here: compression 0.01")


@pytest.mark.parametrize(
    ("kind", "words"),
    [(NoNumbers, "the loss is nan at step 3"), (NoNumbersInTheTest, "a prediction is not a number after step 40")],
)
def test_a_loss_that_is_no_number_fails(monkeypatch, kind, words):
    entry = registry.Method("stand_in", "", f"{__name__}:{kind.__name__}")
    monkeypatch.setitem(registry.METHODS, "stand_in", entry)
    result = run("stand_in")
    assert result.status == "failed"
    assert result.error == f"stand_in: {words}, so training was stopped."


def test_a_batch_larger_than_the_data_is_one_step_per_epoch():
    result = run(batch_size=100_000)
    assert result.status == "ok"
    assert len(result.samples_us) == 2  # three steps, of which one warms up; each is the first of its turn
    assert result.metrics["samples_per_s"] == pytest.approx(EXAMPLES * 1e6 / result.metrics["latency_us"])


def test_the_model_is_embeddings_dots_and_mlp():
    model = training.ClickModel(DenseEmbeddingBag(35, 8), 3, 8)
    assert model.mlp[0].in_features == 3 * 8 + 3
    ids = load().test_ids[:4]
    seen = []
    model.mlp.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    training.predict(model, ids)
    vectors = model.embedding.weight.detach().numpy()[ids]
    dots = [[v[0] @ v[1], v[0] @ v[2], v[1] @ v[2]] for v in vectors]
    assert np.allclose(seen[0].numpy(), np.concatenate([vectors.reshape(4, -1), dots], 1), atol=1e-7)


@pytest.fixture
def models(monkeypatch):
    """Copies of the models that training began with, and the models themselves."""
    seen = []
    begin = training.Training

    def watched(model, *others):
        seen.append((copy.deepcopy(model), model))
        return begin(model, *others)

    monkeypatch.setattr(training, "Training", watched)
    return seen


def test_the_mlp_starts_the_same_whatever_the_embedding_drew(models):
    for method, compression, seed in (("dense", 1.0, 0), ("small_dim", 0.5, 0), ("dense", 1.0, 1)):
        run(method, compression=compression, seed=seed, batch_size=EXAMPLES)
    dense, small, other_seed = ([p.tolist() for p in begun.mlp.parameters()] for begun, _ in models)
    assert dense == small
    assert dense != other_seed


def test_rows_that_no_example_holds_stay_as_they_are(models, monkeypatch):
    lacking = dataclasses.replace(load(), num_rows=sum(ROWS) + 4, field_rows=(*ROWS[:-1], ROWS[-1] + 4))
    monkeypatch.setattr(sys.modules[__name__], "load", lambda: lacking)
    run()
    ((begun, trained),) = models
    assert torch.equal(trained.embedding.weight[-4:], begun.embedding.weight[-4:])
    assert not torch.isclose(trained.embedding.weight[:-4], begun.embedding.weight[:-4]).all(1).any()
