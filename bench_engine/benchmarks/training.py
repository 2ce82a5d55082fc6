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

memory_mb and optimizer_mb are those of the embedding module, the part that methods differ in.
"""

import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine import registry
from bench_engine.benchmarks.modules import DEVICE, DTYPE, OutOfReachError, build, megabytes
from bench_engine.data import ClickData
from bench_engine.data.quality import auc, logloss
from bench_engine.measure import outliers, summarize
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
    data: ClickData = registry.data_set(str(trial.config["dataset"])).load().load()
    batch_size = min(int(trial.config["batch_size"]), len(data.train_ids))
    torch.manual_seed(seed)
    try:
        embedding = build(trial, data.num_rows, "sum")
    except OutOfReachError as error:
        return TrialResult("skipped", error=str(error))
    torch.manual_seed(seed + MLP_STREAM)  # methods draw different numbers of weights, and the MLP must not notice
    model = ClickModel(embedding, data.num_tables, dim)
    groups: list[dict[str, Any]] = [
        {"params": embedding.parameters(), "lr": EMBEDDING_LEARNING_RATE, "eps": EPSILON},
        {"params": model.mlp.parameters(), "lr": MLP_LEARNING_RATE},
    ]
    optimizer = torch.optim.Adagrad(groups)
    training = Training(model, optimizer, data, batch_size, seed)
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

    if any(len(times) > 1 for times in turns):  # else there is nothing but first steps
        turns = [times[1:] for times in turns]
    samples = [step_us for times in turns for step_us in times]
    turn_sizes = tuple(map(len, turns))
    statistics = summarize(samples, turn_sizes, seed)
    return TrialResult(
        "ok",
        metrics={
            **statistics,
            "device": DEVICE,
            "dtype": DTYPE,
            "num_tables": data.num_tables,
            "num_rows": data.num_rows,
            "auc": auc(data.test_labels, training.logits),
            "logloss": logloss(data.test_labels, training.logits),
            "memory_mb": megabytes(embedding),
            "optimizer_mb": optimizer_megabytes(optimizer, embedding),
            "samples_per_s": batch_size / (statistics["latency_us"] / 1e6),
        },
        samples_us=tuple(samples),
        turn_sizes=turn_sizes,
        curves=tuple(training.curves),
        stop_reason="fixed_count",
        environment={
            "data": data.note,
            "bayes_auc": data.bayes_auc,
            "epochs": EPOCHS,
            "warm_up_steps": warm_up_steps,
            "outliers": outliers(samples),
        },
    )


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
    """EPOCHS passes over the training part in batches of equal size; what is left over of a pass is not trained on.

    Attributes:
        total_steps: of all passes.
        curves: ("loss", step, mean since the last point) and ("auc", step, on the test part), in order of the steps.
        logits: (n,) of the test part, after the last pass that is over.
        passes: number of passes that are over.
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, data: ClickData, batch_size: int, seed: int
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.data = data
        self.batch_size = batch_size
        self.steps_per_epoch = len(data.train_ids) // batch_size
        self.total_steps = EPOCHS * self.steps_per_epoch
        self.order = torch.Generator().manual_seed(seed)
        self.curves: list[Curve] = []
        self.logits = np.empty(0)
        self.passes = 0

    @property
    def finished(self) -> bool:
        return self.passes == EPOCHS

    def steps(self) -> Iterator[float]:
        """Trains; yields the µs of each step. Raises DivergedError when the loss or a test logit is not finite."""
        ids, labels = torch.from_numpy(self.data.train_ids), torch.from_numpy(self.data.train_labels)
        point = max(1, self.total_steps // LOSS_POINTS)
        losses: list[float] = []
        step = 0
        for _ in range(EPOCHS):
            shuffled = torch.randperm(len(ids), generator=self.order)
            for batch in shuffled.split(self.batch_size)[: self.steps_per_epoch]:
                start = time.perf_counter_ns()
                losses.append(_step(self.model, self.optimizer, ids[batch], labels[batch]))
                step_us = (time.perf_counter_ns() - start) / 1e3
                step += 1
                if not math.isfinite(losses[-1]):
                    raise DivergedError(f"the loss is {losses[-1]} at step {step}, so training was stopped.")
                if step % point == 0:
                    self.curves.append(("loss", step, float(np.mean(losses))))
                    losses.clear()
                if step % self.steps_per_epoch == 0:
                    self._end_pass(step)
                yield step_us

    def _end_pass(self, step: int) -> None:
        self.logits = predict(self.model, self.data.test_ids)
        if not np.isfinite(self.logits).all():
            raise DivergedError(f"a prediction is not a number after step {step}, so training was stopped.")
        self.curves.append(("auc", step, auc(self.data.test_labels, self.logits)))
        self.passes += 1


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, ids: Tensor, labels: Tensor) -> float:
    optimizer.zero_grad(set_to_none=True)
    loss = F.binary_cross_entropy_with_logits(model(ids), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def predict(model: nn.Module, ids: np.ndarray) -> np.ndarray:
    """Logits (n,) float64 of ids (n, T), TEST_BATCH at a time."""
    return torch.cat([model(part) for part in torch.from_numpy(ids).split(TEST_BATCH)]).double().numpy()


def optimizer_megabytes(optimizer: torch.optim.Optimizer, module: nn.Module) -> float:
    """Bytes of the optimizer's state for a module's parameters / 1e6."""
    states = (optimizer.state[p].values() for p in module.parameters() if p in optimizer.state)
    return sum(value.nbytes for state in states for value in state if isinstance(value, Tensor)) / 1e6
