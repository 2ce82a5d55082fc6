"""Times a training step of an untouched script: python -m tests.shows.parallel_op_training [ROUNDS] [BATCH ...]

A model like DLRM: 26 tables of 100,000 rows, dim 16, one id in a bag, and small layers. Three ways take turns of a few
steps in one process: the script alone; its lookups and their gradients as one op each; and its update as one op too.
Times are medians of whole steps (zero_grad, forward, backward, step) in µs. Afterwards the weights of the last two ways
are the same, to the bit.
"""

import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op import disable, enable
from bench_engine.kernels.parallel_op.entry import optimizer_step
from bench_engine.kernels.parallel_op.settings import Settings

TABLES, ROWS, DIM, DENSE = 26, 100_000, 16, 13
REQUESTS, STEPS, WARM_UP = 8, 4, 120
WAYS = ("untouched", "lookups", "lookups and update")
OPTIMIZERS: dict[str, tuple[bool, Callable[..., Any]]] = {
    "SGD, dense gradients": (False, lambda tables, lr: torch.optim.SGD(tables, lr=lr)),
    "SGD, sparse gradients": (True, lambda tables, lr: torch.optim.SGD(tables, lr=lr)),
    "Adagrad, dense gradients": (False, lambda tables, lr: torch.optim.Adagrad(tables, lr=lr)),
    "Adagrad, sparse gradients": (True, lambda tables, lr: torch.optim.Adagrad(tables, lr=lr)),
    "SparseAdam": (True, lambda tables, lr: torch.optim.SparseAdam(tables, lr=lr)),
}


class Model(nn.Module):
    """The tables one after another, and layers around them."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, DIM, mode="sum", sparse=sparse) for _ in range(TABLES))
        self.bottom = nn.Sequential(nn.Linear(DENSE, 64), nn.ReLU(), nn.Linear(64, DIM), nn.ReLU())
        self.top = nn.Sequential(nn.Linear((TABLES + 1) * DIM, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Tensor, ids: list[Tensor]) -> Tensor:
        looked_up = [table(bags) for table, bags in zip(self.tables, ids, strict=True)]
        return self.top(torch.cat([self.bottom(dense), *looked_up], 1)).squeeze(1)


def step_of(model: Model, make: Callable[..., Any]) -> Callable[[Any], None]:
    """One training step of the model, as a script writes it."""
    tables = list(model.tables.parameters())
    layers = torch.optim.SGD([*model.bottom.parameters(), *model.top.parameters()], lr=0.01)
    optimizers = [make(tables, 0.01), layers]

    def step(request: Any) -> None:
        dense, ids, clicked = request
        for optimizer in optimizers:
            optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(dense, ids), clicked).backward()
        for optimizer in optimizers:
            optimizer.step()

    return step


def measured(sparse: bool, make: Callable[..., Any], batch: int, rounds: int) -> tuple[list[float], bool]:
    """µs of a step by each way, and whether the weights are the same in the end."""
    requests = [
        (torch.randn(batch, DENSE), [torch.randint(0, ROWS, (batch, 1)) for _ in range(TABLES)], torch.rand(batch))
        for _ in range(REQUESTS)
    ]
    models = []
    for way in WAYS:
        if way != "untouched":
            enable(Settings(cache_dir=None))  # models that are made from now on
        torch.manual_seed(0)
        models.append(Model(sparse))
    steps = [step_of(model, make) for model in models]

    def run(way: int, count: int) -> list[float]:
        optimizer_step.pause(way != len(WAYS) - 1)
        times = []
        for number in range(count):
            start = perf_counter_ns()
            steps[way](requests[number % REQUESTS])
            times.append((perf_counter_ns() - start) / 1e3)
        return times

    for way in range(len(WAYS)):
        run(way, WARM_UP)
    taken: list[list[float]] = [[] for _ in WAYS]
    for _ in range(rounds):
        for way, times in enumerate(taken):
            times.append(float(np.median(run(way, STEPS))))
    print("\n".join(f"  {line}" for line in optimizer_step.report_lines()), file=sys.stderr)
    weights = [list(model.tables.parameters()) for model in models]
    alike = all(torch.equal(a, b) for a, b in zip(weights[1], weights[2], strict=True))
    disable()
    return [float(np.median(times)) for times in taken], alike


def main(rounds: int, batches: list[int]) -> None:
    """Prints a table; exits with 1 where the update changed a bit."""
    print(f"| {torch.get_num_threads()} threads | batch | " + " | ".join(WAYS) + " | same bits |")
    print("|---|---|" + "---|" * (len(WAYS) + 1))
    wrong = False
    for name, (sparse, make) in OPTIMIZERS.items():
        for batch in batches:
            times, alike = measured(sparse, make, batch, rounds)
            wrong |= not alike
            shown = " | ".join(f"{us:,.0f}" for us in times)
            print(f"| {name} | {batch} | {shown} | {'yes' if alike else 'NO'} |", flush=True)
    sys.exit(int(wrong))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30, [int(word) for word in sys.argv[2:]] or [64, 1024])
