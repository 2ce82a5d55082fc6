"""What lookups and updates of an embedding bag should give, in float64, as the rules are written down."""

import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.benchmarks.lookup import difference
from bench_engine.benchmarks.step_methods import BETAS, EPSILON, INITIAL, LEARNING_RATE, StepBag

STEPS = 2  # the second finds something in the slots


def output_error(bag: StepBag, ids: Tensor) -> float:
    """Largest absolute difference between an output and a float64 embedding bag over the rows as they stand.

    Raises WrongResultError of bench_engine.benchmarks.lookup.
    """
    with torch.no_grad():
        return difference("output", bag(ids), expected_output(bag, ids), terms=ids.size(1))


def expected_output(bag: StepBag, ids: Tensor) -> Tensor:
    """A float64 embedding bag (B, D) over the rows as they stand."""
    rows, position = ids.unique(return_inverse=True)
    return F.embedding_bag(position, bag.materialize(rows).double(), mode="sum")


def update_error(bag: StepBag, rule: str, requests: list[Tensor], gradient: Tensor, when: str = "") -> float:
    """Largest absolute difference between what the first STEPS requests change of their rows and what they should.

    The bag's slots must be as at the start. Raises WrongResultError of bench_engine.benchmarks.lookup.
    """
    requests = requests[:STEPS]
    rows = torch.cat([ids.reshape(-1) for ids in requests]).unique()
    reference = Reference(rows, bag, rule)
    before = bag.materialize(rows).double()
    rounded = torch.zeros_like(before)
    with bag.unmoved():
        for ids in requests:
            bag.update(ids, gradient)
            reference.step(ids, gradient)
            rounded += bag.rounding(rows)
    changed = bag.materialize(rows).double() - before
    expected = changed.clamp(reference.changed - rounded, reference.changed + rounded)
    return difference(f"update{when}", changed, expected, terms=sum(ids.numel() for ids in requests))


class Reference:
    """The rules of torch's SGD, Adagrad and SparseAdam, and Adagrad with one slot for each chunk: the mean of squares.

    Attributes:
        changed: (n, D) float64, what steps have changed of the rows; dimensions that are missing stay as they are.
    """

    def __init__(self, rows: Tensor, bag: StepBag, rule: str) -> None:
        self._rows, self._rule, self._step = rows, rule, bag.steps
        self._live = bag.live(rows)
        self._shape = (len(rows), bag.chunks, self._live.size(1) // bag.chunks)
        self._slots = torch.full(self._live.shape, INITIAL if "adagrad" in rule else 0.0, dtype=torch.float64)
        self._squares = torch.zeros_like(self._slots)
        self.changed = torch.zeros_like(self._slots)

    def step(self, ids: Tensor, gradient: Tensor) -> None:
        """One step from the gradient (B, D) of the output for ids (B, L)."""
        self._step += 1
        at = torch.searchsorted(self._rows, ids.reshape(-1))
        per_id = gradient.double().repeat_interleave(ids.size(1), 0)
        summed = torch.zeros_like(self._slots).index_add_(0, at, per_id)
        seen = torch.zeros(len(self._rows), 1, dtype=torch.bool)
        seen[at] = True
        self.changed -= LEARNING_RATE * self._direction(summed, seen) * (seen & self._live)

    def _direction(self, gradient: Tensor, seen: Tensor) -> Tensor:
        eps = EPSILON[self._rule]
        if self._rule == "sgd":
            return gradient
        if self._rule == "adam":
            low, high = BETAS
            self._slots = torch.where(seen, low * self._slots + (1 - low) * gradient, self._slots)
            self._squares = torch.where(seen, high * self._squares + (1 - high) * gradient**2, self._squares)
            corrected = (1 - high**self._step) ** 0.5 / (1 - low**self._step)
            return corrected * self._slots / (self._squares.sqrt() + eps)
        squares = gradient**2
        if self._rule == "rowwise_adagrad":
            squares = squares.view(self._shape).mean(2, keepdim=True).expand(self._shape).reshape(squares.shape)
        self._slots = self._slots + squares
        return gradient / (self._slots.sqrt() + eps)
