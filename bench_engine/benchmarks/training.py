"""A DLRM-style click model trained and tested: AUC, logloss, memory, time of a step.

The model (after Naumov et al. 2019, arXiv:1906.00091, without continuous features): the T fields of an example are T
bags of one id in one joint table of the method; the vectors and their pairwise dot products go through an MLP with
HIDDEN units to one logit. Everything but the embedding module is the same for all methods of one seed: the initial
weights of the MLP, the order of the examples, EPOCHS passes, Adagrad and its numbers.

There is no weight decay: Adagrad would normalize it away and take its first steps on rows that no batch holds. The
embedding's EPSILON regularizes instead: a parameter whose gradients are small in sum moves by less than the learning
rate, so ids seen once or twice do not jump to a large random vector. It is the same number for every method, and only
parameters with a gradient move.

How the numbers were chosen: by the AUC on a fifth cut from the training parts (each user's latest ratings for ml-206k,
a random fifth else), never by a test part, for dense and, at compression 0.1, for hashed and quotient_remainder on the
three data sets. An L2 penalty on the looked-up vectors of the batch, alone or beside EPSILON, raised the AUC nowhere
consistently, so there is none. With a usual tiny epsilon the dense table overfits ml-206k after the second pass, and
all methods learn much less of synthetic; with more than EPOCHS passes dense overfits ml-206k with EPSILON too.

The table's gradient is dense, as torch's default is, so each step of Adagrad reads and writes all parameters: rows
outside the batch stay as they are, but the time of a step grows with the parameters that a method keeps.

memory_mb and optimizer_mb are those of the embedding module, the part that methods differ in. A method that brings its
own optimizer (bench_engine.benchmarks.modules) is trained by it at the same learning rate and EPSILON, and the time of
a step has both optimizers in it.

With split validation a trial trains on the earlier part of the training part and is tested on the rest of it, so that
numbers can be chosen without a look at the test part. Data that are planted to change with time are passed over once,
in its order.
"""

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine import plugin, registry
from bench_engine.benchmarks.modules import (
    DEVICE,
    DTYPE,
    OutOfReachError,
    build,
    megabytes,
    metadata_megabytes,
    optimizer_megabytes,
    own_optimizer,
    statistics,
)
from bench_engine.benchmarks.planted_course import PlantedCourse, course
from bench_engine.data import ClickData
from bench_engine.data.planted.truth import regret
from bench_engine.data.quality import auc, logloss
from bench_engine.data.validation import validation_cut
from bench_engine.measure.measure import outliers, summarize
from bench_engine.trial import Run, Trial, TrialResult

HIDDEN = (128, 64)
EMBEDDING_LEARNING_RATE, EPSILON = 0.2, 3e-3
MLP_LEARNING_RATE = 0.05
EPOCHS = 3
MLP_STREAM = 2**32  # above all seeds
WARM_UP_STEPS = 5
TURN_STEPS = 16  # a number and no time, so that all methods have their steps in the same number of turns
LOSS_POINTS = 20
TEST_BATCH = 8192

Curve = tuple[str, int, float]


class DivergedError(ArithmeticError):
    """The loss is no longer a number."""


class ClickModel(nn.Module):
    """Embeddings, their pairwise dot products, an MLP."""

    def __init__(self, embedding: nn.Module, num_fields: int, embedding_dim: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.shape = (-1, num_fields, embedding_dim)
        self.first, self.second = torch.triu_indices(num_fields, num_fields, offset=1)
        widths = (num_fields * embedding_dim + num_fields * (num_fields - 1) // 2, *HIDDEN)
        layers = [m for a, b in itertools.pairwise(widths) for m in (nn.Linear(a, b), nn.ReLU())]
        self.mlp = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T), rows of the joint table."""
        vectors = self.embedding(ids.reshape(-1, 1)).view(self.shape)
        dots = vectors @ vectors.transpose(1, 2)
        return self.mlp(torch.cat([vectors.flatten(1), dots[:, self.first, self.second]], 1)).squeeze(1)


def run(trial: Trial) -> Run:
    """Train and test one trial; `failed` when the loss is not a number, `skipped` when the method cannot be built.

    A turn is some steps of training. The first of a turn is not timed, for others have used the caches since the last.
    """
    seed, dim = int(trial.config["seed"]), int(trial.config["embedding_dim"])
    source = registry.data_set(str(trial.config["dataset"])).load()
    data: ClickData = source.load()
    if trial.config["split"] == "validation":
        data = validation_cut(data)
    if data.test_labels.min() == data.test_labels.max():
        kind, part = "clicks" if data.test_labels[0] else "non-clicks", trial.config["split"]
        told = f"{trial.config['dataset']} has {kind} alone in its {part} part, which has no AUC: give a longer file."
        return TrialResult("failed", error=told)
    batch_size = min(int(trial.config["batch_size"]), len(data.train_ids))
    torch.manual_seed(seed)
    try:
        embedding = build(trial, data.num_rows, "sum", data)
    except OutOfReachError as error:
        return TrialResult("skipped", error=str(error))
    torch.manual_seed(seed + MLP_STREAM)  # methods draw different numbers of weights, and the MLP must not notice
    model = ClickModel(embedding, data.num_tables, dim)
    optimizers = optimizers_of(model)
    training = Training(model, optimizers, data, batch_size, seed, course(source, data, embedding, batch_size))
    warm_up_steps = min(WARM_UP_STEPS, training.total_steps // 2)
    turns: list[list[float]] = []
    yield "more"
    try:
        steps = training.steps()
        for _ in range(warm_up_steps):
            next(steps)
        while not training.finished:
            turns.append(turn(training, steps))
            yield "ended" if training.finished else "more"
    except DivergedError as error:
        return TrialResult("failed", error=f"{trial.method}: {error}")

    if any(len(steps_us) > 1 for steps_us in turns):  # else there is nothing but first steps
        turns = [steps_us[1:] for steps_us in turns]
    samples = [step_us for steps_us in turns for step_us in steps_us]
    turn_sizes = tuple(map(len, turns))
    times = summarize(samples, turn_sizes, seed)
    return TrialResult(
        "ok",
        metrics={
            **times,
            "device": DEVICE,
            "dtype": DTYPE,
            "num_tables": data.num_tables,
            "num_rows": data.num_rows,
            **quality(data, training.logits),
            **(training.course.metrics() if training.course else {}),
            **plugin.measured(trial, data.test_labels, training.logits),
            "memory_mb": megabytes(embedding),
            "metadata_mb": metadata_megabytes(embedding),
            "optimizer_mb": optimizer_megabytes(optimizers[0], embedding),
            "samples_per_s": batch_size / (times["latency_us"] / 1e6),
        },
        samples_us=tuple(samples),
        turn_sizes=turn_sizes,
        curves=tuple(training.curves),
        stop_reason="fixed_count",
        environment={
            "data": data.note,
            "bayes_auc": data.bayes_auc,
            "epochs": training.epochs,
            "warm_up_steps": warm_up_steps,
            "outliers": outliers(samples),
        },
    )


def optimizers_of(model: ClickModel) -> tuple[torch.optim.Optimizer, ...]:
    """What trains the model, that of the embedding first: one for all of it, or one for each part."""
    mlp: dict[str, Any] = {"params": model.mlp.parameters(), "lr": MLP_LEARNING_RATE}
    if own := own_optimizer(model.embedding, EMBEDDING_LEARNING_RATE, EPSILON):
        return own, torch.optim.Adagrad([mlp])
    table = {"params": model.embedding.parameters(), "lr": EMBEDDING_LEARNING_RATE, "eps": EPSILON}
    return (torch.optim.Adagrad([table, mlp]),)


def quality(data: ClickData, logits: np.ndarray) -> dict[str, float]:
    """Metrics of what was predicted on the test part."""
    reached = auc(data.test_labels, logits)
    found = {"auc": reached, "logloss": logloss(data.test_labels, logits)}
    return found if data.bayes_auc is None else {**found, "regret": regret(reached, data.bayes_auc)}


def turn(training: "Training", steps: Iterator[float]) -> list[float]:
    """µs of the steps of one turn. It ends with a pass, since predicting the test part empties the caches too."""
    passes = training.passes
    times = []
    for step_us in itertools.islice(steps, TURN_STEPS):
        times.append(step_us)
        if training.passes != passes:
            break
    return times


class Training:
    """Passes over the training part in batches of equal size; what is left over of a pass is not trained on.

    Attributes:
        epochs: number of passes.
        total_steps: of all passes.
        curves: ("loss", step, mean since the last point), at the same steps the embedding's own statistics,
            "memory_mb" where it has changed and what of a planted truth is kept; and ("auc", step, on the test part).
            In order of the steps.
        logits: (n,) of the test part, after the last pass that is over.
        passes: number of passes that are over.
    """

    def __init__(
        self,
        model: ClickModel,
        optimizers: Sequence[torch.optim.Optimizer],
        data: ClickData,
        batch_size: int,
        seed: int,
        course: PlantedCourse | None = None,
    ) -> None:
        self.model = model
        self.optimizers = optimizers
        self.data = data
        self.batch_size = batch_size
        self.steps_per_epoch = len(data.train_ids) // batch_size
        self.course = course
        self.in_order = data.train_order == "time" and course is not None and course.changes
        self.epochs = 1 if self.in_order else EPOCHS
        self.total_steps = self.epochs * self.steps_per_epoch
        self.order = torch.Generator().manual_seed(seed)
        self.curves: list[Curve] = []
        self.logits = np.empty(0)
        self.passes = 0
        self.memory_mb = megabytes(model.embedding)

    @property
    def finished(self) -> bool:
        """Whether all passes over the training part are done."""
        return self.passes == self.epochs

    def steps(self) -> Iterator[float]:
        """Trains; yields the µs of each step. Raises DivergedError when the loss or a test logit is not finite."""
        ids, labels = torch.from_numpy(self.data.train_ids), torch.from_numpy(self.data.train_labels)
        point = max(1, self.total_steps // LOSS_POINTS)
        losses: list[float] = []
        step = 0
        for _ in range(self.epochs):
            order = torch.arange(len(ids)) if self.in_order else torch.randperm(len(ids), generator=self.order)
            for batch in order.split(self.batch_size)[: self.steps_per_epoch]:
                start = time.perf_counter_ns()
                losses.append(self._step(ids[batch], labels[batch], step + 1))
                step_us = (time.perf_counter_ns() - start) / 1e3
                step += 1
                if not math.isfinite(losses[-1]):
                    raise DivergedError(f"the loss is {losses[-1]} at step {step}, so training was stopped.")
                if step % point == 0:
                    self.curves.append(("loss", step, float(np.mean(losses))))
                    losses.clear()
                    self._tell_of_the_embedding(step)
                if self.course:
                    self.curves += self.course.after_step(step, lambda probe_ids: predict(self.model, probe_ids))
                if step % self.steps_per_epoch == 0:
                    self._end_pass(step)
                yield step_us

    def _step(self, ids: Tensor, labels: Tensor, step: int) -> float:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = F.binary_cross_entropy_with_logits(self.model(ids), labels)
        loss.backward()
        try:
            for optimizer in self.optimizers:
                optimizer.step()
        except FloatingPointError as error:  # of an optimizer that refuses what is no number
            if math.isfinite(loss.item()):
                raise DivergedError(f"{error} at step {step}, so training was stopped.") from error
        return loss.item()

    def _tell_of_the_embedding(self, step: int) -> None:
        told = dict(statistics(self.model.embedding))
        memory_mb = megabytes(self.model.embedding)
        if memory_mb != self.memory_mb:
            told["memory_mb"] = self.memory_mb = memory_mb
        self.curves += ((name, step, float(value)) for name, value in told.items())
        if self.course:
            self.curves += self.course.points(step)

    def _end_pass(self, step: int) -> None:
        self.logits = predict(self.model, self.data.test_ids)
        if not np.isfinite(self.logits).all():
            raise DivergedError(f"a prediction is not a number after step {step}, so training was stopped.")
        self.curves.append(("auc", step, auc(self.data.test_labels, self.logits)))
        self.passes += 1


@torch.no_grad()
def predict(model: nn.Module, ids: np.ndarray) -> np.ndarray:
    """Logits (n,) float64 of ids (n, T), TEST_BATCH at a time."""
    return torch.cat([model(part) for part in torch.from_numpy(ids).split(TEST_BATCH)]).double().numpy()
