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
from bench_engine.benchmarks.modules import OutOfReachError, build
from bench_engine.data import ClickData
from bench_engine.data.planted.planted_spec import Spec
from bench_engine.kernels.compressed.dense import DenseEmbeddingBag
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
    axes = {a.name: a.default for a in registry.BENCHMARKS["training"].axes if a.is_of(method)}
    axes |= {"dataset": "tiny", "embedding_dim": 8, "batch_size": 50, "threads": 1}
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
@pytest.mark.parametrize(
    "method", ["small_dim", "hashed", "hashed_reference", "quotient_remainder", "cafe", "memcom", "mde", "cce"]
)
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


class OwnWays(DenseEmbeddingBag):
    """Trains itself by gradient descent, is told how often rows are looked up, and speaks of its state."""

    needs_counts = True

    def __init__(self, rows, dim, compression, mode, counts, every, twice):
        super().__init__(rows, dim, compression=compression, mode=mode)
        self.given = (counts, every, twice)
        self.said = 0

    def training_optimizer(self, lr, eps):
        self.numbers = (lr, eps)
        return torch.optim.SGD(self.parameters(), lr=lr)

    def memory_bytes(self):
        return 3_000_000 - 500_000 * (self.said >= 10)

    def metadata_bytes(self):
        return 1_000_000

    def optimizer_bytes(self, optimizer):
        assert isinstance(optimizer, torch.optim.SGD)
        return 2_000_000

    def statistics(self):
        self.said += 1
        return {"live_dimensions": self.said}


@pytest.fixture
def own_ways(monkeypatch):
    arguments = {"batch_size": "every"}
    entry = registry.Method("stand_in", "", f"{__name__}:{OwnWays.__name__}", arguments=arguments, fixed={"twice": 2})
    monkeypatch.setitem(registry.METHODS, "stand_in", entry)


def test_a_method_is_built_with_its_axes_and_the_counts_of_the_training_part(own_ways, models):
    run("stand_in")
    counts, every, twice = models[0][1].embedding.given
    assert counts.tolist() == np.bincount(load().train_ids.reshape(-1), minlength=sum(ROWS)).tolist()
    assert (every, twice) == (50, 2)


def test_a_method_trains_with_its_own_optimizer_and_counts_its_own_bytes(own_ways, models):
    found = run("stand_in")
    begun, trained = models[0]
    assert trained.embedding.numbers == (training.EMBEDDING_LEARNING_RATE, training.EPSILON)
    assert not torch.equal(begun.embedding.weight, trained.embedding.weight)
    assert not torch.equal(begun.mlp[0].weight, trained.mlp[0].weight)
    told = {name: found.metrics[name] for name in ("memory_mb", "metadata_mb", "optimizer_mb")}
    assert told == {"memory_mb": 2.5, "metadata_mb": 1.0, "optimizer_mb": 2.0}


def test_what_a_method_says_of_itself_is_a_curve_and_memory_where_it_changes(own_ways):
    found = run("stand_in")
    steps = [step for step, _ in points(found, "loss")]
    assert points(found, "live_dimensions") == [(step, n + 1.0) for n, step in enumerate(steps)]
    assert points(found, "memory_mb") == [(steps[9], 2.5)]


def test_a_method_that_needs_counts_is_not_built_without_training(own_ways):
    with pytest.raises(OutOfReachError, match="stand_in needs the frequencies of ids in training"):
        build(Trial("lookup", "stand_in", {"embedding_dim": 8, "compression": 1.0, "batch_size": 5}), 10, "sum")


class Refuses(torch.optim.SGD):
    """Refuses gradients from its third step on, as if they were no numbers."""

    steps = 0

    def step(self, closure=None):
        self.steps += 1
        if self.steps > 2:
            raise FloatingPointError("the gradient of row 3 is nan")


class Refusing(DenseEmbeddingBag):
    def training_optimizer(self, lr, eps):
        return Refuses(self.parameters(), lr=lr)


def test_gradients_that_an_optimizer_refuses_fail_the_trial(monkeypatch):
    monkeypatch.setitem(registry.METHODS, "stand_in", registry.Method("stand_in", "", f"{__name__}:Refusing"))
    result = run("stand_in")
    assert result.status == "failed"
    assert result.error == "stand_in: the gradient of row 3 is nan at step 3, so training was stopped."


def test_planted_truth_tells_the_regret(monkeypatch, result):
    assert "regret" not in result.metrics
    monkeypatch.setattr(sys.modules[__name__], "load", lambda known=load: dataclasses.replace(known(), bayes_auc=0.99))
    found = run()
    assert found.metrics["regret"] == 0.99 - found.metrics["auc"]


def test_data_that_change_with_time_are_passed_over_once_in_its_order(monkeypatch):
    spec = Spec("changing", ROWS, EXAMPLES, 500, swap_at=0.5)
    monkeypatch.setattr(sys.modules[__name__], "SPEC", spec, raising=False)
    seen = []
    step = training.Training._step
    monkeypatch.setattr(
        training.Training, "_step", lambda self, ids, labels, n: seen.append(ids) or step(self, ids, labels, n)
    )
    timed = dataclasses.replace(load(), train_order="time")
    monkeypatch.setattr(sys.modules[__name__], "load", lambda: timed)
    found = run()
    assert np.array_equal(torch.cat(seen).numpy(), timed.train_ids)
    assert [step for step, _ in points(found, "auc")] == [EXAMPLES // 50]
    assert len(points(found, "probe_auc")) == len(points(found, "probe_regret")) == 10
    assert found.environment["epochs"] == 1


def test_validation_trains_and_tests_on_the_training_part(result):
    found = run(split="validation")
    assert found.environment["data"].startswith("validation")
    assert len(found.samples_us) < len(result.samples_us)
    assert found.metrics["logloss"] != result.metrics["logloss"]


def test_a_test_part_of_one_kind_is_told_before_anything_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    one = dataclasses.replace(load(), test_labels=np.zeros_like(load().test_labels))
    monkeypatch.setattr(sys.modules[__name__], "load", lambda: one)
    monkeypatch.setattr(training, "Training", lambda *_: pytest.fail("nothing is to be trained"))
    assert "has non-clicks alone in its test part" in run().error
