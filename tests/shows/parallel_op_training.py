"""Times a training step of an untouched script: python -m tests.shows.parallel_op_training [ROUNDS] [BATCH ...]

A model like DLRM: 26 tables of 100,000 rows, dim 16, one id in a bag, and small layers. Three ways take turns of a few
steps, each in a process of its own, since what one does with memory changes what another finds: the script alone; its
lookups and their gradients as one op each; and its update as one op too. Times are medians of whole steps (zero_grad,
forward, backward, step) in µs. Afterwards the weights of the last two ways are the same, to the bit.
"""

import hashlib
import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op import enable
from bench_engine.kernels.parallel_op.entry import optimizer_step
from bench_engine.kernels.parallel_op.settings import Settings

TABLES, ROWS, DIM, DENSE = 26, 100_000, 16, 13
REQUESTS, STEPS, WARM_UP = 8, 4, 200
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


def train(pipe: Connection, way: str, name: str, batch: int) -> None:
    """A process of one way: told how many steps to take it tells their µs, at 0 its weights' hash and its report."""
    sparse, make = OPTIMIZERS[name]
    if way != "untouched":
        enable(Settings(cache_dir=None))
        optimizer_step.pause(way == "lookups")
    torch.manual_seed(0)
    requests = [
        (torch.randn(batch, DENSE), [torch.randint(0, ROWS, (batch, 1)) for _ in range(TABLES)], torch.rand(batch))
        for _ in range(REQUESTS)
    ]
    model = Model(sparse)
    step = step_of(model, make)
    while count := pipe.recv():
        times = []
        for number in range(count):
            start = perf_counter_ns()
            step(requests[number % REQUESTS])
            times.append((perf_counter_ns() - start) / 1e3)
        pipe.send(times)
    weights = b"".join(hashlib.sha256(p.detach().numpy().tobytes()).digest() for p in model.parameters())
    pipe.send((weights, optimizer_step.report_lines()))


def measured(name: str, batch: int, rounds: int) -> tuple[list[float], bool]:
    """µs of a step by each way, and whether the weights are the same in the end."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    for way in WAYS:
        pipe, theirs = context.Pipe()
        context.Process(target=train, args=(theirs, way, name, batch), daemon=True).start()
        theirs.close()  # that a process which dies is told
        pipes.append(pipe)

    def turn(pipe: Connection, count: int) -> Any:
        pipe.send(count)
        return pipe.recv()

    for pipe in pipes:
        turn(pipe, WARM_UP)
    taken = [[float(np.median(turn(pipe, STEPS))) for pipe in pipes] for _ in range(rounds)]
    (_, _), (weights, _), (updated, lines) = [turn(pipe, 0) for pipe in pipes]
    print("\n".join(f"  {line}" for line in lines), file=sys.stderr)
    return [float(np.median(times)) for times in zip(*taken, strict=True)], weights == updated


def main(rounds: int, batches: list[int]) -> None:
    """Prints a table; exits with 1 where the update changed a bit."""
    print(f"| {torch.get_num_threads()} threads | batch | " + " | ".join(WAYS) + " | same bits |")
    print("|---|---|" + "---|" * (len(WAYS) + 1))
    wrong = False
    for name in OPTIMIZERS:
        for batch in batches:
            times, alike = measured(name, batch, rounds)
            wrong |= not alike
            shown = " | ".join(f"{us:,.0f}" for us in times)
            print(f"| {name} | {batch} | {shown} | {'yes' if alike else 'NO'} |", flush=True)
    sys.exit(int(wrong))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30, [int(word) for word in sys.argv[2:]] or [64, 1024])
