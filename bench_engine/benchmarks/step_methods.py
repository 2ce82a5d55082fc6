"""The embedding bags of the benchmark embedding_step, each with its optimizer.

All have the same learning rate, and torch's own numbers otherwise but for INITIAL: slots of Adagrad that start at 0
would make the first update of an element as long as the learning rate, whatever its gradient.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine import registry
from bench_engine.benchmarks.modules import OutOfReachError, megabytes, metadata_megabytes, optimizer_megabytes
from bench_engine.kernels.bags import initial_bound
from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, PruneEvent
from bench_engine.kernels.quantized import QuantizedFIITEDEmbeddingBag, QuantizedOptimizer
from bench_engine.trial import Trial

LEARNING_RATE, BETAS, INITIAL = 0.01, (0.9, 0.999), 0.1
EPSILON = {"sgd": 0.0, "adagrad": 1e-10, "rowwise_adagrad": 1e-10, "adam": 1e-8}
NEVER = 2**62  # steps


class StepBag(ABC):
    """What is timed.

    Attributes:
        module: takes ids (B, L) and gives (B, D), sums of a bag's vectors.
        optimizer: trains it.
        chunks: parts of a vector that live one by one.
    """

    module: nn.Module
    optimizer: torch.optim.Optimizer
    chunks: int

    def __call__(self, ids: Tensor) -> Tensor:
        """The pooled vectors (B, D) of ids (B, L)."""
        output: Tensor = self.module(ids)
        return output

    def update(self, ids: Tensor, gradient: Tensor) -> None:
        """One step: the lookup, its backward from a gradient of the output, the optimizer."""
        self.module(ids).backward(gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def memory(self) -> dict[str, float]:
        """memory_mb, metadata_mb and optimizer_mb."""
        return {
            "memory_mb": megabytes(self.module),
            "metadata_mb": metadata_megabytes(self.module),
            "optimizer_mb": optimizer_megabytes(self.optimizer, self.module),
        }

    def settle(self) -> None:
        """What is done once before calls are timed; by default nothing."""
        return

    @contextmanager
    def unmoved(self) -> Iterator[None]:
        """Steps within it let no chunk live that did not, so that updates can be checked; by default none does."""
        yield

    def rounding(self, rows: Tensor) -> Tensor:
        """How far a step may round what it writes to rows (n,), (n, D) float64; by default as float32 does."""
        return torch.zeros(len(rows), 1, dtype=torch.float64)

    @abstractmethod
    def forget_slots(self) -> None:
        """Let the optimizer begin anew."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps that the optimizer has counted."""

    @abstractmethod
    def materialize(self, rows: Tensor) -> Tensor:
        """Vectors (n, D) of rows (n,)."""

    @abstractmethod
    def live(self, rows: Tensor) -> Tensor:
        """Which of their dimensions are there, bool (n, D)."""


class TorchBag(StepBag):
    """torch.nn.EmbeddingBag with torch's optimizer, with sparse gradients or dense ones."""

    chunks = 1

    def __init__(self, num_rows: int, dim: int, rule: str, sparse: bool) -> None:
        self.table = self.module = nn.EmbeddingBag(num_rows, dim, mode="sum", sparse=sparse)
        bound = initial_bound(num_rows)
        nn.init.uniform_(self.table.weight, -bound, bound)
        self._rule, self._sparse = rule, sparse
        self.forget_slots()

    def forget_slots(self) -> None:
        """A new optimizer."""
        weights, rule = [self.table.weight], self._rule
        if rule == "sgd":
            self.optimizer = torch.optim.SGD(weights, LEARNING_RATE)
        elif rule == "adagrad":
            self.optimizer = torch.optim.Adagrad(weights, LEARNING_RATE, initial_accumulator_value=INITIAL)
        elif rule == "adam" and self._sparse:  # that for dense gradients moves all rows, which is something else
            self.optimizer = torch.optim.SparseAdam(weights, LEARNING_RATE, BETAS, EPSILON["adam"])
        else:
            raise OutOfReachError(f"torch has no optimizer {rule} for an embedding bag with such gradients.")

    @property
    def steps(self) -> int:
        """As torch's optimizer has counted them."""
        return int(self.optimizer.state[self.table.weight].get("step", 0))

    def materialize(self, rows: Tensor) -> Tensor:
        """Rows of the weight."""
        return self.table.weight.detach()[rows]

    def live(self, rows: Tensor) -> Tensor:
        """All of them: nothing is pruned."""
        return torch.ones(len(rows), self.table.embedding_dim, dtype=torch.bool)

    def settle(self) -> None:
        """Writes once all that the optimizer keeps: zeros that were never written have no memory yet."""
        for value in self.optimizer.state[self.table.weight].values():
            if isinstance(value, Tensor):
                value.mul_(1)


class TrainedBag(StepBag):
    """A table whose training decides what lives."""

    table: FIITEDEmbeddingBag | QuantizedFIITEDEmbeddingBag

    @property
    @abstractmethod
    def live_share(self) -> float:
        """Share of all chunks that live."""

    @property
    @abstractmethod
    def budget_share(self) -> float:
        """Share of all chunks that may live."""

    def materialize(self, rows: Tensor) -> Tensor:
        """Dense vectors (n, D), zeros where chunks do not live."""
        return self.table.materialize(rows)

    def live(self, rows: Tensor) -> Tensor:
        """Each chunk's, for all of its dimensions."""
        return self.table.live_mask(rows).repeat_interleave(self.table.embedding_dim // self.chunks, 1)


class LiveBag(TrainedBag):
    """FIITED over quantized rows, with its optimizer. Chunks live from their first lookup on where there is room."""

    def __init__(self, table: QuantizedFIITEDEmbeddingBag, rule: str) -> None:
        if rule not in ("sgd", "rowwise_adagrad"):
            raise OutOfReachError(f"there is no optimizer {rule} for quantized rows.")
        self.table = self.module = table
        self._live: QuantizedFIITEDEmbeddingBag = table
        self.chunks, self._rule = table.num_chunks, rule
        self.forget_slots()

    @property
    def steps(self) -> int:
        """As the optimizer has counted them."""
        return int(self.optimizer.state[self._live.anchor]["step"])

    @property
    def live_share(self) -> float:
        """Share of all chunks that live."""
        return self._live.statistics()["live_chunks"] / (self._live.num_embeddings * self.chunks)

    @property
    def budget_share(self) -> float:
        """Share of all chunks that there are places for."""
        return len(self._live.rows) / (self._live.num_embeddings * self.chunks)

    @contextmanager
    def unmoved(self) -> Iterator[None]:
        """No number of lookups is enough."""
        usual, self._live.admission = self._live.admission, 256
        yield
        self._live.admission = usual

    def rounding(self, rows: Tensor) -> Tensor:
        """One of the 126 or 127 steps between zero and a chunk's largest number, whose size is rounded by 2^-8."""
        parts = self._live.materialize(rows).double().view(len(rows), self.chunks, -1)
        steps = parts.abs().amax(2, keepdim=True) / 126 * 1.01
        return steps.expand_as(parts).reshape(len(rows), -1)

    def forget_slots(self) -> None:
        """A new optimizer."""
        if hasattr(self, "optimizer"):
            self.optimizer.release()
        self.optimizer: QuantizedOptimizer = QuantizedOptimizer(
            self._live, self._rule, LEARNING_RATE, EPSILON[self._rule], INITIAL if "adagrad" in self._rule else 0.0
        )


class PrunedBag(TrainedBag):
    """A FIITED table with its optimizer. Events come after the steps 3, 30 and 300 and when `prune` is called.

    None leaves off because too little would move, as one in a training may: those that are timed do all their work.
    """

    def __init__(self, table: FIITEDEmbeddingBag, rule: str) -> None:
        self.table = self.module = self._pruned = table
        self.chunks = table.num_chunks
        self._rule = rule
        self.optimizer: FIITEDOptimizer = self._begin(rule)

    @property
    def steps(self) -> int:
        """As the table has counted them."""
        return self._pruned.step_count

    @property
    def live_share(self) -> float:
        """Share of all chunks that live."""
        return self.table.statistics()["live_chunks"] / (self.table.num_embeddings * self.chunks)

    @property
    def budget_share(self) -> float:
        """Share of all chunks that may live."""
        return self._pruned.capacity / (self.table.num_embeddings * self.chunks)

    def prune(self) -> PruneEvent:
        """An event now; returns what it did."""
        return self._pruned.prune()

    def forget_slots(self) -> None:
        """Let the optimizer begin anew: a table keeps its slots until it is given another rule."""
        self.optimizer.release()
        self._begin("adagrad" if self._rule == "sgd" else "sgd").release()
        self.optimizer = self._begin(self._rule)

    def _begin(self, rule: str) -> FIITEDOptimizer:
        return FIITEDOptimizer(
            self._pruned, rule, LEARNING_RATE, EPSILON[rule], BETAS, INITIAL if "adagrad" in rule else 0.0
        )


def build(trial: Trial) -> StepBag:
    """The bag of a trial, its weights drawn after torch.manual_seed. Raises OutOfReachError."""
    config = trial.config
    num_rows, dim, rule = int(config["num_rows"]), int(config["embedding_dim"]), str(config["optimizer"])
    if trial.method in ("dense", "dense_gradient"):
        return TorchBag(num_rows, dim, rule, sparse=trial.method == "dense")
    entry = registry.method(trial.method)
    keywords: dict[str, Any] = {k: config[axis] for axis, k in entry.arguments.items() if axis in config}
    pruned = bool(entry.arguments)
    keywords |= {**entry.fixed, "interval": NEVER, "min_turnover": 0} if pruned else {"interval": NEVER, "admission": 1}
    try:
        table = entry.load()(num_rows, dim, compression=float(config["compression"]), **keywords)
    except ValueError as error:
        raise OutOfReachError(f"{trial.method} cannot be run here: {error}") from error
    return PrunedBag(table, rule) if pruned else LiveBag(table, rule)
